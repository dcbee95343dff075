//! `reenact keys rotate`: a new key under the name of an old one.
//!
//! The old private key is kept under the name with the first eight characters of its key id, so that bundles
//! of old runs can still be signed.

use reenact_formats::key::KeyId;
use reenact_formats::rer::seal::Signer;
use reenact_formats::trust::TrustRefusal;
use reenact_keys::{KeyName, KeyStoreError, SecretKey};

use super::key_store_error;
use super::list::print_json;
use crate::config::UserConfig;
use crate::output::{self, CommandError};

/// Put a new key in the place of one of your own
///
/// The old one is kept as NAME-<first 8 of its key id> and marked as superseded: what it signed still verifies. One that
/// is marked as compromised stays so.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact keys rotate\n  reenact keys rotate ci")]
pub(super) struct KeysRotateArgs {
    /// The key to replace
    #[arg(default_value = "default", value_parser = super::key_name)]
    name: KeyName,

    /// The new key and the old one as a JSON object a line each, as `reenact keys list` prints them
    #[arg(long)]
    json: bool,
}

impl KeysRotateArgs {
    /// Replaces a key, keeps the old one under another name, and marks the old one as superseded.
    ///
    /// Both happen under the lock of the trust store. If the mark cannot be written, the new key stays, and
    /// the message says how to set the mark by hand.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let Self { name, json } = self;
        let config = UserConfig::require()?;
        let new = SecretKey::generate().map_err(|error| CommandError::impossible(error.to_string()))?;
        let new_id = new.public_key().id();
        let mut done = None;
        let marked = config.edit_trust(|trust| {
            let (old_name, old) = config.key_store().rotate(name, &new).map_err(|error| match error {
                KeyStoreError::NotFound { .. } => CommandError::impossible(format!(
                    "you have no key called {name}; make it: reenact keys generate {name}"
                )),
                error => key_store_error(&error),
            })?;
            let word = match trust.supersede(old.public_key(), new_id) {
                Err(TrustRefusal::Compromised) => "still compromised",
                _ => "superseded",
            };
            done = Some((old_name, old.public_key(), word));
            Ok(())
        });
        let Some((old_name, old, word)) = done else { return marked.map(|()| 0) };
        if *json {
            print_json(&config, &[new.public_key(), old])?;
        } else {
            output::print(&rotated_text(name, &new_id, &old_name, &old.id(), word))?;
        }
        if let Err(CommandError::Failed { message, .. }) = marked {
            return Err(CommandError::impossible(format!(
                "{message}\nThe new key is in place, but the old one is not marked; do it with: reenact keys supersede {old_name} --by {name}"
            )));
        }
        Ok(0)
    }
}

/// Returns the new key and the old one, with `word` for the standing of the old one, and what to do next.
fn rotated_text(name: &KeyName, new_id: &KeyId, old_name: &KeyName, old_id: &KeyId, word: &str) -> String {
    let next = match word {
        "superseded" => {
            "What the old key signed still verifies. Publish both, so that it does for others too:"
        }
        _ => "Nothing that the old key signed can be believed. Publish the new one:",
    };
    format!(
        "new  {name}  {new_id}\n\
             old  {old_name}  {old_id}  {word}\n\
             \n\
             {next}\n  reenact keys jwks\n"
    )
}
