//! `reenact keys import`: stores a private key that was made elsewhere.
//!
//! The file must be a private JWK. It stays where it is; a notice says so if other users can read it.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use reenact_formats::rer::seal::Signer;
use reenact_keys::keystore::{ExternalKeyError, read_external};
use reenact_keys::{KeyName, KeyStoreError, SecretKeyError};

use super::known_keys::KnownKeys;
use super::list::print_json;
use super::{key_store_error, shown_path};
use crate::config::UserConfig;
use crate::output::{self, CommandError};

/// Keep a private key from elsewhere, to sign runs with
///
/// The file stays where it is: delete it when its key is kept.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact keys import backup.jwk\n  reenact keys import old.jwk ci")]
pub(super) struct KeysImportArgs {
    /// A private JWK
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// What to call it
    #[arg(default_value = "default", value_parser = super::key_name)]
    name: KeyName,

    /// The key as one JSON object, as `reenact keys list` prints it
    #[arg(long)]
    json: bool,
}

impl KeysImportArgs {
    /// Reads a private JWK and stores it.
    ///
    /// # Errors
    ///
    /// If the file holds no private key, the key is stored already under any name, or the name is taken.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let Self { file, name, json: _ } = self;
        let failed = |why: &str| CommandError::impossible(format!("{}: {why}", shown_path(file)));
        let opened = File::open(file).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed("there is no such file"),
            _ => failed(&error.to_string()),
        })?;
        let (key, is_open) = read_external(opened).map_err(|error| match error {
            ExternalKeyError::Key(error @ SecretKeyError::PublicOnly) => {
                let file = shown_path(file);
                failed(&format!("{error}; to trust its owner: reenact keys trust {file}"))
            }
            error => failed(&error.to_string()),
        })?;
        let config = UserConfig::require()?;
        let ring = KnownKeys::load(&config)?;
        if let Some(own) = ring.own.iter().find(|own| own.key == key.public_key()) {
            return Err(failed(&format!("this key is kept already, as {}", own.name)));
        }
        let store = config.key_store();
        store.create(name, &key).map_err(|error| match error {
            KeyStoreError::Exists { .. } => {
                let file = shown_path(file);
                CommandError::impossible(format!(
                    "there is a key called {name} already; give another name: reenact keys import {file} NAME"
                ))
            }
            error => key_store_error(&error),
        })?;
        if is_open {
            output::print_notice(&format!(
                "{}: others can read this private key where it lies; delete it, and rotate the key if somebody may have it",
                shown_path(file)
            ));
        }
        if self.json {
            print_json(&config, &[key.public_key()])?;
            return Ok(0);
        }
        output::print(&format!(
            "name    {name}\nkey_id  {}\nfile    {}\n",
            key.public_key().id(),
            shown_path(&store.path(name))
        ))?;
        Ok(0)
    }
}
