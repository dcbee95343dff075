//! `reenact keys`: the keys that one signs with, and those that one believes.

mod export;
mod form;
mod generate;
mod import;
mod list;
mod ring;
mod rotate;
mod trust;

use clap::Subcommand;
use reenact_formats::key::{KeyId, PublicKey};
use reenact_json::Shown;
use reenact_keys::{KeyName, KeyStoreError};

use crate::output::Ending;

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
pub(super) struct Keys {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
#[command(disable_help_subcommand = true)]
enum Command {
    Generate(generate::Generate),
    List(list::List),
    Show(list::Show),
    Export(export::Export),
    Import(import::Import),
    Rotate(rotate::Rotate),
    Trust(trust::Trust),
    Supersede(trust::Supersede),
    Compromise(trust::Compromise),
    Forget(trust::Forget),
    Jwks(export::Jwks),
}

impl Keys {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        match &self.command {
            Command::Generate(command) => command.run(),
            Command::List(command) => command.run(),
            Command::Show(command) => command.run(),
            Command::Export(command) => command.run(),
            Command::Import(command) => command.run(),
            Command::Rotate(command) => command.run(),
            Command::Trust(command) => command.run(),
            Command::Supersede(command) => command.run(),
            Command::Compromise(command) => command.run(),
            Command::Forget(command) => command.run(),
            Command::Jwks(command) => command.run(),
        }
    }
}

/// The name of a key, for clap.
pub(super) fn key_name(text: &str) -> Result<KeyName, String> {
    text.parse().map_err(|error: reenact_keys::keystore::NotAName| error.to_string())
}

/// What a command says when the key store refuses.
fn not_kept(error: &KeyStoreError) -> Ending {
    Ending::impossible(error.to_string())
}

/// A path, safe to print.
fn shown(path: &std::path::Path) -> String {
    Shown::whole(&path.to_string_lossy()).to_string()
}

/// Enough of a key id for a person to tell two apart.
fn short(id: &KeyId) -> String {
    format!("{:.8}", id.to_string())
}

/// A key in the lines that commands print: its name or label, and its id.
fn named(name: Option<&str>, key: &PublicKey) -> String {
    match name {
        Some(name) => format!("{} ({})", Shown::new(name), key.id()),
        None => key.id().to_string(),
    }
}
