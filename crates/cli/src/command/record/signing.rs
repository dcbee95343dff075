//! The key that signs a run, and the keys by which the run is judged afterwards.

use std::path::PathBuf;

use reenact_formats::rer::seal::Signer as _;
use reenact_keys::{KeyName, SecretKey};
use reenact_verify::Keys;

use super::impossible;
use crate::config::UserConfig;
use crate::output::CommandError;

/// Key that signs the run.
pub(in crate::command) struct RecordingKey {
    /// Name in the key store, for the summary.
    pub(super) name: KeyName,
    pub(super) key: SecretKey,
    /// Path of the key file if this recording created it, for the note to the user.
    pub(super) created_at_path: Option<PathBuf>,
    /// Keys by which the run is judged: this one, and for an authorization or approvals all that the user has or trusts.
    pub(super) known: Keys,
}

impl RecordingKey {
    fn new(name: KeyName, key: SecretKey, created_at_path: Option<PathBuf>) -> Self {
        let mut known = Keys::default();
        known.add_supplied(key.public_key());
        Self { name, key, created_at_path, known }
    }

    /// Loads the key of `--key`, or the default key, which is created if there is none yet.
    pub(in crate::command) fn load(name: Option<&KeyName>) -> Result<Self, CommandError> {
        let store = UserConfig::require()?.key_store();
        if let Some(name) = name {
            let key = store.load(name).map_err(impossible)?;
            return Ok(Self::new(name.clone(), key, None));
        }
        let name = KeyName::default();
        let default = store.default_key().map_err(impossible)?;
        let made_at = default.is_new.then(|| store.path(&name));
        Ok(Self::new(name, default.key, made_at))
    }
}
