//! `reenact keys`: the user's own keys, and the public keys that the user trusts.
//!
//! | module | commands |
//! |---|---|
//! | `generate`, `import`, `rotate` | change the key store, which holds private keys |
//! | `trust` | `trust`, `supersede`, `compromise`, `forget`: change the trust store |
//! | `list`, `export` | `list`, `show`, `export`, `jwks`: print what there is |
//!
//! Start reading at `known_keys`, which joins both stores and finds the key that an argument names.

mod export;
mod generate;
mod import;
mod key_format;
pub(super) mod known_keys;
mod list;
mod rotate;
mod trust;

use clap::Subcommand;
use reenact_formats::key::{KeyId, PublicKey};
use reenact_json::Shown;
use reenact_keys::{KeyName, KeyStoreError};

use crate::output::CommandError;

/// Make keys to sign runs with, and say whose keys you trust
///
/// Your own private keys and the public keys that you trust lie in $XDG_CONFIG_HOME/reenact, or in ~/.config/reenact.
/// `reenact verify` uses them; `reenact-verify` uses only what it is given. KEY is the name of a key of your own, a
/// label, a key id, or the beginning of one.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  reenact keys generate\n  reenact keys jwks > published.jwks\n  reenact keys trust --label ci their.jwks"
)]
pub(super) struct KeysArgs {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Subcommand)]
#[command(disable_help_subcommand = true)]
enum KeysCommand {
    Generate(generate::KeysGenerateArgs),
    List(list::KeysListArgs),
    Show(list::KeysShowArgs),
    Export(export::KeysExportArgs),
    Import(import::KeysImportArgs),
    Rotate(rotate::KeysRotateArgs),
    Trust(trust::KeysTrustArgs),
    Supersede(trust::KeysSupersedeArgs),
    Compromise(trust::KeysCompromiseArgs),
    Forget(trust::KeysForgetArgs),
    Jwks(export::KeysJwksArgs),
}

impl KeysArgs {
    /// Runs the subcommand.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        match &self.command {
            KeysCommand::Generate(command) => command.run(),
            KeysCommand::List(command) => command.run(),
            KeysCommand::Show(command) => command.run(),
            KeysCommand::Export(command) => command.run(),
            KeysCommand::Import(command) => command.run(),
            KeysCommand::Rotate(command) => command.run(),
            KeysCommand::Trust(command) => command.run(),
            KeysCommand::Supersede(command) => command.run(),
            KeysCommand::Compromise(command) => command.run(),
            KeysCommand::Forget(command) => command.run(),
            KeysCommand::Jwks(command) => command.run(),
        }
    }
}

/// Parses the name of a key, for clap.
pub(super) fn key_name(text: &str) -> Result<KeyName, String> {
    text.parse().map_err(|error: reenact_keys::keystore::InvalidKeyName| error.to_string())
}

/// Converts an error of the key store into a message with exit code 2.
fn key_store_error(error: &KeyStoreError) -> CommandError {
    CommandError::impossible(error.to_string())
}

/// Returns a path that is safe to print.
fn shown_path(path: &std::path::Path) -> String {
    Shown::whole(&path.to_string_lossy()).to_string()
}

/// Returns the first eight characters of a key id, enough for a person to tell two apart.
fn short_id(id: &KeyId) -> String {
    format!("{:.8}", id.to_string())
}

/// Returns a key for messages: its name or label with its id in parentheses, or the id alone.
fn name_and_id(name: Option<&str>, key: &PublicKey) -> String {
    match name {
        Some(name) => format!("{} ({})", Shown::new(name), key.id()),
        None => key.id().to_string(),
    }
}
