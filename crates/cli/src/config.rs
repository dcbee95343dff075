//! The user's configuration folder: private keys in `keys/`, and the trust store in `trust.json`.
//!
//! The folder is `$XDG_CONFIG_HOME/reenact`, else `$HOME/.config/reenact`. A missing file counts as an empty
//! one; a broken one is an error, because a trust store that cannot be read may hold a warning. Start reading
//! at [`UserConfig::add_keys_to`], which decides what a verification believes.

use std::ffi::OsString;
use std::path::PathBuf;

use reenact_formats::key::PublicKey;
use reenact_formats::rer::approval::Approver;
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::rer::seal::Signer;
use reenact_formats::trust::{KeyRole, KeyRoles, Standing, TrustStore};
use reenact_keys::{KeyName, KeyStore, KeyStoreError, SecretKey, TrustFile};
use reenact_verify::{Keys, Trust};

use crate::output::{self, CommandError};

/// The user's configuration folder. It need not exist.
pub(crate) struct UserConfig {
    /// Path of the folder, which ends in `reenact`.
    folder: PathBuf,
}

/// Public half of one of the user's own keys.
pub(crate) struct OwnKey {
    /// Name of the key file without its extension.
    pub(crate) name: KeyName,
    pub(crate) key: PublicKey,
    /// Signer type of an approver's key; `None` for a key that signs runs.
    pub(crate) approver: Option<SignerType>,
}

/// Key file of the user's own that cannot be used, such as one that other users can read.
pub(crate) struct BrokenKey {
    pub(crate) name: KeyName,
    pub(crate) error: KeyStoreError,
}

impl OwnKey {
    /// Returns the purposes for which its owner believes the key: an approver's key approves, any other one seals runs and
    /// authorises envelopes.
    pub(crate) fn roles(&self) -> KeyRoles {
        match self.approver {
            Some(_) => KeyRole::Approver.into(),
            None => [KeyRole::Runtime, KeyRole::Platform].into_iter().collect(),
        }
    }
}

impl UserConfig {
    /// Returns the folder that `XDG_CONFIG_HOME` or `HOME` name; `None` if neither holds an absolute path.
    pub(crate) fn find() -> Option<Self> {
        Self::from_variables(std::env::var_os("XDG_CONFIG_HOME"), std::env::var_os("HOME"))
    }

    /// Returns the folder for these values of the two variables.
    ///
    /// A path that is not absolute is ignored, as the XDG base directory specification asks.
    fn from_variables(config_home: Option<OsString>, home: Option<OsString>) -> Option<Self> {
        let absolute = |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
        let parent = absolute(config_home).or_else(|| absolute(home).map(|home| home.join(".config")))?;
        Some(Self { folder: parent.join("reenact") })
    }

    /// Returns the folder, for a command that cannot do without it.
    ///
    /// # Errors
    ///
    /// If no environment variable names the folder.
    pub(crate) fn require() -> Result<Self, CommandError> {
        Self::find().ok_or_else(|| {
            CommandError::impossible(
                "there is no place for keys: set HOME or XDG_CONFIG_HOME to a folder, by its whole path",
            )
        })
    }

    /// Returns the path of a file in the folder.
    pub(crate) fn file(&self, name: &'static str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the store of the user's private keys.
    pub(crate) fn key_store(&self) -> KeyStore {
        KeyStore::new(self.folder.join("keys"))
    }

    /// Returns the user's own private key with that key id; `None` if there is none that can be used.
    ///
    /// # Errors
    ///
    /// If the folder of keys cannot be listed.
    pub(crate) fn signing_key(&self, key_id: &str) -> Result<Option<SecretKey>, CommandError> {
        let store = self.key_store();
        let names = store.list().map_err(|error| CommandError::impossible(error.to_string()))?;
        let is_it = |key: &SecretKey| key.public_key().id().to_string() == key_id;
        Ok(names.iter().filter_map(|name| store.load(name).ok()).find(is_it))
    }

    /// Returns the public halves of the user's own keys by name, and separately the key files that cannot be used.
    ///
    /// # Errors
    ///
    /// If the folder of keys cannot be listed.
    pub(crate) fn own_keys(&self) -> Result<(Vec<OwnKey>, Vec<BrokenKey>), CommandError> {
        let store = self.key_store();
        let (mut own, mut broken) = (Vec::new(), Vec::new());
        for name in store.list().map_err(|error| CommandError::impossible(error.to_string()))? {
            match store.key_info(&name) {
                Ok(known) => own.push(OwnKey { name, key: known.key, approver: known.approver }),
                Err(error) => broken.push(BrokenKey { name, error }),
            }
        }
        Ok((own, broken))
    }

    /// Returns the approvers whose signatures count: the user's own approver keys, without those that the
    /// trust store marks as superseded or compromised.
    pub(crate) fn approvers(&self) -> Result<Vec<(KeyName, Approver)>, CommandError> {
        let (marks, (own, _)) = (self.trust_store()?, self.own_keys()?);
        let counts =
            |key: &PublicKey| marks.find(&key.id()).is_none_or(|entry| entry.standing == Standing::Trusted);
        let approver = |own: OwnKey| {
            let approver = Approver { key: own.key, signer_type: own.approver? };
            counts(&own.key).then_some((own.name, approver))
        };
        Ok(own.into_iter().filter_map(approver).collect())
    }

    /// Loads the trust store; it is empty if there is no file yet.
    ///
    /// # Errors
    ///
    /// If the file is broken, or other users can write to it.
    pub(crate) fn trust_store(&self) -> Result<TrustStore, CommandError> {
        Ok(TrustFile::new(&self.folder).load()?)
    }

    /// Changes the trust store under a lock, as [`TrustFile::edit`] does: the file is written only if `edit`
    /// returns `Ok`.
    pub(crate) fn edit_trust<T>(
        &self,
        edit: impl FnOnce(&mut TrustStore) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        TrustFile::new(&self.folder).edit(edit)
    }

    /// Adds the user's own keys and the trust store to the keys of a verification.
    ///
    /// An own key is trusted unless the trust store marks it, and has the roles of its kind: a mark adds none. A key file that
    /// cannot be used is left out, with a notice.
    ///
    /// # Errors
    ///
    /// If the trust store cannot be read.
    pub(crate) fn add_keys_to(&self, keys: &mut Keys) -> Result<(), CommandError> {
        let store = self.trust_store()?;
        let (own, broken) = self.own_keys()?;
        for own in &own {
            let (key, roles) = (own.key, own.roles());
            // A mark in the trust store decides alone; otherwise a compromised key of one's own would still be trusted.
            let trust =
                store.find(&key.id()).map_or(Trust::Trusted, |entry| trust_from_standing(&entry.standing));
            keys.add(key, trust, roles, Some(own.name.to_string()));
        }
        for entry in store.entries() {
            let label = entry.label.as_ref().map(|label| label.as_str().to_owned());
            if !own.iter().any(|own| own.key == entry.key) {
                keys.add(entry.key, trust_from_standing(&entry.standing), entry.roles, label);
            }
        }
        for BrokenKey { error, .. } in broken {
            output::print_notice(&format!("{error}; until then this key is not used"));
        }
        Ok(())
    }
}

/// Converts the standing of a key in the trust store into the verifier's level of trust.
fn trust_from_standing(standing: &Standing) -> Trust {
    match standing {
        Standing::Trusted => Trust::Trusted,
        Standing::Superseded { .. } => Trust::Superseded,
        Standing::Compromised { .. } => Trust::Compromised,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn folder(config_home: Option<&str>, home: Option<&str>) -> Option<PathBuf> {
        UserConfig::from_variables(config_home.map(Into::into), home.map(Into::into))
            .map(|config| config.folder)
    }

    #[test]
    fn where_it_is() {
        let at = |path: &str| Some(PathBuf::from(path));
        assert_eq!(folder(Some("/c"), Some("/h")), at("/c/reenact"));
        assert_eq!(folder(Some("/c"), None), at("/c/reenact"));
        for ignored in [None, Some(""), Some("c"), Some("./c")] {
            assert_eq!(folder(ignored, Some("/h")), at("/h/.config/reenact"));
            assert_eq!(folder(ignored, None), None);
            assert_eq!(folder(ignored, Some("h")), None);
        }
    }
}
