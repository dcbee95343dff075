//! `reenact keys generate`: a new key to sign runs with, or an approver's key.
//!
//! A key for runs is stored in plain text, readable by its owner only, because recordings sign without a
//! person. An approver's key is encrypted with a passphrase, because each signature is a person's decision.

use std::path::PathBuf;

use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::rer::seal::Signer;
use reenact_keys::protected::KdfCost;
use reenact_keys::{KeyName, KeyStoreError, SecretKey};

use super::list::print_json;
use super::{key_store_error, shown_path};
use crate::config::UserConfig;
use crate::output::{self, CommandError};
use crate::passphrase;

/// Make a new key to sign runs with, or approvals
///
/// The private key is kept in your own folder, readable by you alone. A key that has the name already is left alone. With
/// --approver it is protected by a passphrase, which is asked for twice on the terminal, and signs approvals and nothing else:
/// `reenact policy approve` uses it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact keys generate\n  reenact keys generate ci\n  reenact keys generate alice --approver\n  reenact keys generate bot --approver --signer-type automated --passphrase-file bot.passphrase"
)]
pub(super) struct KeysGenerateArgs {
    /// What to call it
    #[arg(default_value = "default", value_parser = super::key_name)]
    name: KeyName,

    /// Make an approver's key, protected by a passphrase
    #[arg(long)]
    approver: bool,

    /// What the approver is: human, delegate or automated; rules of an envelope may ask for one of them
    #[arg(long, value_name = "TYPE", requires = "approver", default_value = "human", value_parser = signer_type)]
    signer_type: SignerType,

    /// Take the passphrase from this file instead of the terminal; one line feed at its end is not part of it
    #[arg(long, value_name = "FILE", requires = "approver")]
    passphrase_file: Option<PathBuf>,

    /// The key as one JSON object, as `reenact keys list` prints it
    #[arg(long)]
    json: bool,
}

/// Parses a signer type, for clap.
fn signer_type(text: &str) -> Result<SignerType, String> {
    let all = [SignerType::Human, SignerType::Delegate, SignerType::Automated];
    let found = all.into_iter().find(|known| known.name() == text);
    found.ok_or_else(|| "a signer is human, delegate or automated".to_owned())
}

impl KeysGenerateArgs {
    /// Generates a key and stores it. An existing key is never replaced.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let Self { name, .. } = self;
        let config = UserConfig::require()?;
        let store = config.key_store();
        if self.approver {
            return self.generate_approver(&config);
        }
        let key = SecretKey::generate().map_err(|error| CommandError::impossible(error.to_string()))?;
        store.create(name, &key).map_err(|error| match error {
            KeyStoreError::Exists { .. } => CommandError::impossible(format!(
                "there is a key called {name} already; give another name, or put a new key in its place with: reenact keys rotate {name}"
            )),
            error => key_store_error(&error),
        })?;
        if self.json {
            print_json(&config, &[key.public_key()])?;
            return Ok(0);
        }
        output::print(&format!(
            "name    {name}\n\
             key_id  {}\n\
             file    {}\n\
             \n\
             The file is your private key: keep it to yourself. To let others verify what you sign, give them its public half:\n  \
             reenact keys export {name} --out {name}.public.jwk\n",
            key.public_key().id(),
            shown_path(&store.path(name)),
        ))?;
        Ok(0)
    }

    /// Generates an approver's key, encrypted with a passphrase.
    ///
    /// It cannot be the default key, which must sign runs without a passphrase.
    fn generate_approver(&self, config: &UserConfig) -> Result<u8, CommandError> {
        let Self { name, signer_type, .. } = self;
        let store = config.key_store();
        if *name == KeyName::default() {
            return Err(CommandError::impossible(
                "the key called default signs runs; give the approver's key another name: reenact keys generate NAME --approver",
            ));
        }
        let exists =
            || CommandError::impossible(format!("there is a key called {name} already; give another name"));
        // Checked before the passphrase is asked for; `create_approver` checks again.
        if store.path(name).symlink_metadata().is_ok() {
            return Err(exists());
        }
        let passphrase = passphrase::ask_new(self.passphrase_file.as_deref(), name.as_str())?;
        let key = SecretKey::generate().map_err(|error| CommandError::impossible(error.to_string()))?;
        store.create_approver(name, &key, *signer_type, &passphrase, KdfCost::default()).map_err(
            |error| match error {
                KeyStoreError::Exists { .. } => exists(),
                error => key_store_error(&error),
            },
        )?;
        if self.json {
            print_json(config, &[key.public_key()])?;
            return Ok(0);
        }
        output::print(&format!(
            "name      {name}\n\
             key_id    {}\n\
             approves  as {}\n\
             file      {}\n\
             \n\
             Runs that you record from now on know this approver. To answer what waits for one: reenact policy approve\n\
             Nobody can open the key without its passphrase, and nobody can bring a lost one back.\n",
            key.public_key().id(),
            signer_type.name(),
            shown_path(&store.path(name)),
        ))?;
        Ok(0)
    }
}
