//! `reenact keys import`: a private key from elsewhere.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use reenact_formats::rer::seal::Signer;
use reenact_keys::keystore::{ForeignKeyError, read_foreign};
use reenact_keys::{KeyName, KeyStoreError, SecretKeyError};

use super::ring::Ring;
use super::{not_kept, shown};
use crate::config::Config;
use crate::output::{self, Ending};

/// Keep a private key from elsewhere, to sign runs with
///
/// The file stays where it is: delete it when its key is kept.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact keys import backup.jwk\n  reenact keys import old.jwk ci")]
pub(super) struct Import {
    /// A private JWK
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// What to call it
    #[arg(default_value = "default", value_parser = super::key_name)]
    name: KeyName,
}

impl Import {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let Self { file, name } = self;
        let failed = |why: &str| Ending::impossible(format!("{}: {why}", shown(file)));
        let opened = File::open(file).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed("there is no such file"),
            _ => failed(&error.to_string()),
        })?;
        let (key, is_open) = read_foreign(opened).map_err(|error| match error {
            ForeignKeyError::Key(error @ SecretKeyError::PublicOnly) => {
                let file = shown(file);
                failed(&format!("{error}; to trust its owner: reenact keys trust {file}"))
            }
            error => failed(&error.to_string()),
        })?;
        let config = Config::require()?;
        let ring = Ring::read(&config)?;
        if let Some(own) = ring.own.iter().find(|own| own.key == key.public_key()) {
            return Err(failed(&format!("this key is kept already, as {}", own.name)));
        }
        let store = config.key_store();
        store.create(name, &key).map_err(|error| match error {
            KeyStoreError::Exists { .. } => {
                let file = shown(file);
                Ending::impossible(format!(
                    "there is a key called {name} already; give another name: reenact keys import {file} NAME"
                ))
            }
            error => not_kept(&error),
        })?;
        if is_open {
            output::complain(&format!(
                "{}: others can read this private key where it lies; delete it, and rotate the key if somebody may have it",
                shown(file)
            ));
        }
        output::print(&format!(
            "name    {name}\nkey_id  {}\nfile    {}\n",
            key.public_key().id(),
            shown(&store.path(name))
        ))?;
        Ok(0)
    }
}
