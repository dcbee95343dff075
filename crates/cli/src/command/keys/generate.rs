//! `reenact keys generate`: a new key to sign with.

use reenact_formats::rer::seal::Signer;
use reenact_record::{KeyName, KeyStoreError, SecretKey};

use super::{not_kept, shown};
use crate::config::Config;
use crate::output::{self, Ending};

/// Make a new key to sign runs with
///
/// The private key is kept in your own folder, readable by you alone. A key that has the name already is left alone.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact keys generate\n  reenact keys generate ci")]
pub(super) struct Generate {
    /// What to call it
    #[arg(default_value = "default", value_parser = super::key_name)]
    name: KeyName,
}

impl Generate {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let Self { name } = self;
        let store = Config::require()?.key_store();
        let key = SecretKey::generate().map_err(|error| Ending::impossible(error.to_string()))?;
        store.create(name, &key).map_err(|error| match error {
            KeyStoreError::Exists { .. } => Ending::impossible(format!(
                "there is a key called {name} already; give another name, or put a new key in its place with: reenact keys rotate {name}"
            )),
            error => not_kept(&error),
        })?;
        output::print(&format!(
            "name    {name}\n\
             key_id  {}\n\
             file    {}\n\
             \n\
             The file is your private key: keep it to yourself. To let others verify what you sign, give them its public half:\n  \
             reenact keys export {name} --out {name}.public.jwk\n",
            key.public_key().id(),
            shown(&store.path(name)),
        ))?;
        Ok(0)
    }
}
