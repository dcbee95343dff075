//! The user's own folder: private keys in `keys/`, and in `trust.json` whom the user believes.
//!
//! It is `$XDG_CONFIG_HOME/reenact`, else `$HOME/.config/reenact`. What is missing is empty; what is broken is an error:
//! a trust store that cannot be read may hold a warning.

use std::ffi::OsString;
use std::path::PathBuf;

use reenact_formats::key::PublicKey;
use reenact_formats::rer::approval::Approver;
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::rer::seal::Signer;
use reenact_formats::trust::{Standing, TrustStore};
use reenact_keys::{KeyName, KeyStore, KeyStoreError, SecretKey, TrustFile};
use reenact_verify::{Keys, Trust};

use crate::output::{self, Ending};

/// The user's folder. It need not exist.
pub(crate) struct Config {
    folder: PathBuf,
}

/// The public half of one of the user's own keys.
pub(crate) struct OwnKey {
    pub(crate) name: KeyName,
    pub(crate) key: PublicKey,
    /// What it approves as, if it is an approver's.
    pub(crate) approver: Option<SignerType>,
}

/// A file of the user's own keys that cannot be used.
pub(crate) struct BrokenKey {
    pub(crate) name: KeyName,
    pub(crate) error: KeyStoreError,
}

impl Config {
    /// The folder that the environment names; `None` if it names none.
    pub(crate) fn find() -> Option<Self> {
        Self::of(std::env::var_os("XDG_CONFIG_HOME"), std::env::var_os("HOME"))
    }

    /// The XDG base directory specification has paths that are not absolute ignored.
    fn of(config_home: Option<OsString>, home: Option<OsString>) -> Option<Self> {
        let absolute = |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
        let parent = absolute(config_home).or_else(|| absolute(home).map(|home| home.join(".config")))?;
        Some(Self { folder: parent.join("reenact") })
    }

    /// The folder, for a command that needs it.
    pub(crate) fn require() -> Result<Self, Ending> {
        Self::find().ok_or_else(|| {
            Ending::impossible(
                "there is no place for keys: set HOME or XDG_CONFIG_HOME to a folder, by its whole path",
            )
        })
    }

    /// The user's private keys.
    pub(crate) fn key_store(&self) -> KeyStore {
        KeyStore::new(self.folder.join("keys"))
    }

    /// The user's own private key of that id, if there is one.
    pub(crate) fn signing_key(&self, key_id: &str) -> Result<Option<SecretKey>, Ending> {
        let store = self.key_store();
        let names = store.list().map_err(|error| Ending::impossible(error.to_string()))?;
        let is_it = |key: &SecretKey| key.public_key().id().to_string() == key_id;
        Ok(names.iter().filter_map(|name| store.load(name).ok()).find(is_it))
    }

    /// The public halves of the user's own keys, by name, and the files that cannot be used.
    pub(crate) fn own_keys(&self) -> Result<(Vec<OwnKey>, Vec<BrokenKey>), Ending> {
        let store = self.key_store();
        let (mut own, mut broken) = (Vec::new(), Vec::new());
        for name in store.list().map_err(|error| Ending::impossible(error.to_string()))? {
            match store.known(&name) {
                Ok(known) => own.push(OwnKey { name, key: known.key, approver: known.approver }),
                Err(error) => broken.push(BrokenKey { name, error }),
            }
        }
        Ok((own, broken))
    }

    /// Whose approval counts: the user's own approver keys, but those that are marked as superseded or compromised.
    pub(crate) fn approvers(&self) -> Result<Vec<(KeyName, Approver)>, Ending> {
        let (marks, (own, _)) = (self.trust_store()?, self.own_keys()?);
        let counts =
            |key: &PublicKey| marks.find(&key.id()).is_none_or(|entry| entry.standing == Standing::Trusted);
        let approver = |own: OwnKey| {
            let approver = Approver { key: own.key, signer_type: own.approver? };
            counts(&own.key).then_some((own.name, approver))
        };
        Ok(own.into_iter().filter_map(approver).collect())
    }

    /// What the user knows of keys; empty if there is no such file yet.
    pub(crate) fn trust_store(&self) -> Result<TrustStore, Ending> {
        Ok(TrustFile::new(&self.folder).load()?)
    }

    /// Changes what the user knows of keys, as [`TrustFile::edit`] does.
    pub(crate) fn edit_trust<T>(
        &self,
        edit: impl FnOnce(&mut TrustStore) -> Result<T, Ending>,
    ) -> Result<T, Ending> {
        TrustFile::new(&self.folder).edit(edit)
    }

    /// Adds what the user knows of keys to those of a verification.
    pub(crate) fn add_to(&self, keys: &mut Keys) -> Result<(), Ending> {
        let store = self.trust_store()?;
        let (own, broken) = self.own_keys()?;
        for OwnKey { name, key, .. } in own {
            // A mark on a key of one's own is the only word on it: else it would always be trusted.
            let trust = store.find(&key.id()).map_or(Trust::Trusted, |entry| trust_of(&entry.standing));
            keys.know(key, trust, Some(name.to_string()));
        }
        for entry in store.entries() {
            let label = entry.label.as_ref().map(|label| label.as_str().to_owned());
            keys.know(entry.key, trust_of(&entry.standing), label);
        }
        for BrokenKey { error, .. } in broken {
            output::complain(&format!("{error}; until then this key is not used"));
        }
        Ok(())
    }
}

fn trust_of(standing: &Standing) -> Trust {
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
        Config::of(config_home.map(Into::into), home.map(Into::into)).map(|config| config.folder)
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
