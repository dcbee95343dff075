//! `reenact keys rotate`: a new key in the place of an old one.

use reenact_formats::rer::seal::Signer;
use reenact_formats::trust::Refusal;
use reenact_keys::{KeyName, KeyStoreError, SecretKey};

use super::not_kept;
use crate::config::Config;
use crate::output::{self, Ending};

/// Put a new key in the place of one of your own
///
/// The old one is kept as NAME-<first 8 of its key id> and marked as superseded: what it signed still verifies. One that
/// is marked as compromised stays so.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact keys rotate\n  reenact keys rotate ci")]
pub(super) struct Rotate {
    /// The key to replace
    #[arg(default_value = "default", value_parser = super::key_name)]
    name: KeyName,
}

impl Rotate {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let Self { name } = self;
        let config = Config::require()?;
        let new = SecretKey::generate().map_err(|error| Ending::impossible(error.to_string()))?;
        let new_id = new.public_key().id();
        let mut done = None;
        let marked = config.edit_trust(|trust| {
            let (kept, old) = config.key_store().rotate(name, &new).map_err(|error| match error {
                KeyStoreError::NotFound { .. } => Ending::impossible(format!(
                    "you have no key called {name}; make it: reenact keys generate {name}"
                )),
                error => not_kept(&error),
            })?;
            let old_id = old.public_key().id();
            let word = match trust.supersede(old.public_key(), new_id) {
                Err(Refusal::Compromised) => "still compromised",
                _ => "superseded",
            };
            done = Some((kept, old_id, word));
            Ok(())
        });
        let Some((kept, old_id, word)) = done else { return marked.map(|()| 0) };
        let next = match word {
            "superseded" => {
                "What the old key signed still verifies. Publish both, so that it does for others too:"
            }
            _ => "Nothing that the old key signed can be believed. Publish the new one:",
        };
        output::print(&format!(
            "new  {name}  {new_id}\n\
             old  {kept}  {old_id}  {word}\n\
             \n\
             {next}\n  reenact keys jwks\n"
        ))?;
        if let Err(Ending::Failed { message, .. }) = marked {
            return Err(Ending::impossible(format!(
                "{message}\nThe new key is in place, but the old one is not marked; do it with: reenact keys supersede {kept} --by {name}"
            )));
        }
        Ok(0)
    }
}
