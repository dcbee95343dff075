//! The folder of private keys: one private JWK in each file, `<name>.jwk`, closed to everyone but its owner. Keys of
//! approvers lie among them, encrypted under a passphrase each. Start reading at [`KeyStore`].

use core::fmt;
use core::str::FromStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use reenact_formats::key::PublicKey;
use reenact_formats::rer::approval::Approver;
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::rer::seal::Signer;
use reenact_json::Shown;
use zeroize::Zeroizing;

use crate::durable::{self, Readers};
use crate::ownership;
use crate::protected::{KdfCost, Passphrase, ProtectedKey, ProtectedKeyFault};
use crate::secret::{SecretKey, SecretKeyError};

/// Name of a private key: a letter or digit, then up to 63 letters, digits, dots, underscores and hyphens. Such a name
/// never leads out of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyName(String);

/// Longest name, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Error of a text that is no [`KeyName`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key's name has 1 to 64 letters, digits, `.`, `_` and `-`, and begins with a letter or digit")]
pub struct InvalidKeyName;

impl KeyName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name under which a key is kept after its rotation: `<name>-<first 8 of its id>`.
    fn rotated(&self, key: &SecretKey) -> Self {
        let id = key.public_key().id().to_string();
        let max_bytes = MAX_NAME_BYTES - 9;
        Self(format!("{:.max_bytes$}-{id:.8}", self.0))
    }
}

impl Default for KeyName {
    /// Returns `default`, the name of the key that is used when none is named.
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl FromStr for KeyName {
    type Err = InvalidKeyName;

    fn from_str(text: &str) -> Result<Self, InvalidKeyName> {
        let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        let begins_well = text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
        if begins_well && text.len() <= MAX_NAME_BYTES && text.as_bytes().iter().all(is_inner) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidKeyName)
        }
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reason why a private key cannot be read or kept. Each message says what to do, if something can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyStoreError {
    /// There is no key of that name.
    #[error("{}: there is no such key", Shown::whole(.path))]
    NotFound {
        /// Path at which it would be.
        path: String,
    },
    /// There is a key of that name already; it was not changed.
    #[error("{}: there is a key of that name already; give another name", Shown::whole(.path))]
    Exists {
        /// Path of that key.
        path: String,
    },
    /// Other users can read the file, so they may have the key.
    #[error(
        "{path}: others can read this private key (mode {mode:04o}); if nobody has it, close it with: chmod 600 {path}",
        path = Shown::whole(.path)
    )]
    OpenToOthers {
        /// Path of the file.
        path: String,
        /// Permission bits of the file.
        mode: u32,
    },
    /// Other users can write to the folder, and could put their own keys there.
    #[error(
        "{path}: others can write to this folder of private keys (mode {mode:04o}); close it with: chmod 700 {path}",
        path = Shown::whole(.path)
    )]
    FolderOpenToOthers {
        /// Path of the folder.
        path: String,
        /// Permission bits of the folder.
        mode: u32,
    },
    /// The file is a link, which could lead to a key that other users write.
    #[error("{}: is a link; put the private key itself there", Shown::whole(.path))]
    Link {
        /// Path of the link.
        path: String,
    },
    /// A folder, a pipe or a device.
    #[error("{}: is not a file", Shown::whole(.path))]
    NotAFile {
        /// Path of the thing.
        path: String,
    },
    /// The file holds no private key.
    #[error("{}: {error}", Shown::whole(.path))]
    Key {
        /// Path of the file.
        path: String,
        /// Reason why it holds none.
        error: SecretKeyError,
    },
    /// The key is an approver's, which signs nothing but approvals.
    #[error(
        "{}: is an approver's key, protected by a passphrase: it signs approvals and nothing else; name another key",
        Shown::whole(.path)
    )]
    Protected {
        /// Path of the file.
        path: String,
    },
    /// The key has no passphrase, so it is no approver's.
    #[error("{}: is no approver's key; make one with: reenact keys generate NAME --approver", Shown::whole(.path))]
    NotAnApprover {
        /// Path of the file.
        path: String,
    },
    /// An approver's key that cannot be read, opened or made.
    #[error("{}: {error}", Shown::whole(.path))]
    Approver {
        /// Path of the file.
        path: String,
        /// Reason of the failure.
        error: ProtectedKeyFault,
    },
    /// The operating system returned an error.
    #[error("{}: {text}", Shown::whole(.path))]
    Io {
        /// Path of the file or folder.
        path: String,
        /// Kind of the error.
        kind: io::ErrorKind,
        /// Message of the operating system.
        text: String,
    },
}

impl KeyStoreError {
    fn io(path: &Path, error: &io::Error) -> Self {
        let path = path.to_string_lossy().into_owned();
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            io::ErrorKind::AlreadyExists => Self::Exists { path },
            kind => Self::Io { path, kind, text: error.to_string() },
        }
    }
}

/// Folder of private keys. It need not exist until a key is put there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStore {
    folder: PathBuf,
}

/// Key that is used when none is named.
#[derive(Debug)]
pub struct DefaultKey {
    /// The key itself.
    pub key: SecretKey,
    /// True if the key was made just now; then it is in no trust store yet.
    pub is_new: bool,
}

/// Public facts of a key, known without its passphrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyInfo {
    /// Public half of the key.
    pub key: PublicKey,
    /// Signer type of an approver's key; `None` for other keys.
    pub approver: Option<SignerType>,
}

/// Largest file of a key, in bytes. A longer file is no JWK of one key.
const MAX_FILE_BYTES: usize = 16 * 1024;

impl KeyStore {
    /// Returns the store in that folder. Nothing is read or created.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the path of a key's file, which need not exist.
    pub fn path(&self, name: &KeyName) -> PathBuf {
        self.folder.join(format!("{name}.jwk"))
    }

    /// Returns the names of all keys, sorted. Files that are not named like keys are skipped.
    pub fn list(&self) -> Result<Vec<KeyName>, KeyStoreError> {
        let failed = |error| KeyStoreError::io(&self.folder, &error);
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let file = entry.map_err(failed)?.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(".jwk"));
            names.extend(name.and_then(|name| name.parse().ok()));
        }
        names.sort();
        Ok(names)
    }

    /// Loads a private key.
    ///
    /// # Errors
    /// Fails if other users can read the file or write to its folder, if the file is a link, and if the key is an
    /// approver's.
    pub fn load(&self, name: &KeyName) -> Result<SecretKey, KeyStoreError> {
        let bytes = self.read(name)?;
        let path = || self.path(name).to_string_lossy().into_owned();
        if ProtectedKey::is_protected_key(&bytes) {
            return Err(KeyStoreError::Protected { path: path() });
        }
        SecretKey::from_jwk(&bytes).map_err(|error| KeyStoreError::Key { path: path(), error })
    }

    /// Returns the public facts of a key, of either kind.
    pub fn key_info(&self, name: &KeyName) -> Result<KeyInfo, KeyStoreError> {
        match self.protected_key(name) {
            Ok(closed) => Ok(KeyInfo { key: closed.public_key(), approver: Some(closed.signer_type()) }),
            Err(KeyStoreError::NotAnApprover { .. }) => {
                self.load(name).map(|key| KeyInfo { key: key.public_key(), approver: None })
            }
            Err(error) => Err(error),
        }
    }

    /// Loads an approver's key without opening it.
    ///
    /// # Errors
    /// [`KeyStoreError::NotAnApprover`] for a key without a passphrase.
    pub fn protected_key(&self, name: &KeyName) -> Result<ProtectedKey, KeyStoreError> {
        let bytes = self.read(name)?;
        let path = || self.path(name).to_string_lossy().into_owned();
        if !ProtectedKey::is_protected_key(&bytes) {
            return Err(KeyStoreError::NotAnApprover { path: path() });
        }
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        ProtectedKey::read(text).map_err(|error| KeyStoreError::Approver { path: path(), error })
    }

    /// Loads an approver's key, and opens it with its passphrase. Slow on purpose: see
    /// [`KdfCost`].
    pub fn open_approver(&self, name: &KeyName, passphrase: &Passphrase) -> Result<SecretKey, KeyStoreError> {
        let path = || self.path(name).to_string_lossy().into_owned();
        let opened = self.protected_key(name)?.open(passphrase);
        opened.map_err(|error| KeyStoreError::Approver { path: path(), error })
    }

    /// Returns everyone whose approval counts: the public halves of all approvers' keys, with their signer types. A
    /// file that cannot be used is left out; [`KeyStore::key_info`] says why.
    pub fn approvers(&self) -> Result<Vec<Approver>, KeyStoreError> {
        let names = self.list()?;
        let closed = names.iter().filter_map(|name| self.protected_key(name).ok());
        Ok(closed
            .map(|closed| Approver { key: closed.public_key(), signer_type: closed.signer_type() })
            .collect())
    }

    /// Reads a key's file, if no other user can have read or replaced it.
    fn read(&self, name: &KeyName) -> Result<Zeroizing<Vec<u8>>, KeyStoreError> {
        let path = self.path(name);
        self.check_folder()?;
        let failed = |error| KeyStoreError::io(&path, &error);
        let shown = || path.to_string_lossy().into_owned();
        let named = path.symlink_metadata().map_err(failed)?;
        if named.is_symlink() {
            return Err(KeyStoreError::Link { path: shown() });
        }
        if !named.is_file() {
            return Err(KeyStoreError::NotAFile { path: shown() });
        }
        let file = File::open(&path).map_err(failed)?;
        // The file that was opened must be the one that was checked: the name may have been given to another file
        // meanwhile.
        let opened = file.metadata().map_err(failed)?;
        if !ownership::is_same(&named, &opened) {
            return Err(KeyStoreError::Link { path: shown() });
        }
        if let Some(mode) = ownership::mode_open_to_others(&opened) {
            return Err(KeyStoreError::OpenToOthers { path: shown(), mode });
        }
        read_zeroizing(file).map_err(failed)
    }

    /// Keeps a key under a new name. An existing key is never overwritten.
    pub fn create(&self, name: &KeyName, key: &SecretKey) -> Result<(), KeyStoreError> {
        self.create_folder()?;
        let path = self.path(name);
        durable::create(&path, jwk_line(key).as_bytes(), Readers::Owner)
            .map_err(|error| KeyStoreError::io(&path, &error))
    }

    /// Keeps an approver's key under a new name, encrypted under a passphrase. An existing key is never overwritten.
    pub fn create_approver(
        &self,
        name: &KeyName,
        key: &SecretKey,
        signer_type: SignerType,
        passphrase: &Passphrase,
        cost: KdfCost,
    ) -> Result<(), KeyStoreError> {
        self.create_folder()?;
        let path = self.path(name);
        let closed = ProtectedKey::seal(key, signer_type, passphrase, cost)
            .map_err(|error| KeyStoreError::Approver { path: path.to_string_lossy().into_owned(), error })?;
        let mut text = closed.to_json();
        text.push(b'\n');
        durable::create(&path, &text, Readers::Owner).map_err(|error| KeyStoreError::io(&path, &error))
    }

    /// Replaces a key by `new`, and keeps the old one as `<name>-<first 8 of its id>`. Returns that name and the old
    /// key. There is a complete key under the name at any moment, and an interrupted rotation can be repeated.
    pub fn rotate(&self, name: &KeyName, new: &SecretKey) -> Result<(KeyName, SecretKey), KeyStoreError> {
        let old = self.load(name)?;
        let old_name = name.rotated(&old);
        match self.create(&old_name, &old) {
            // Left over from a rotation that was interrupted here.
            Err(KeyStoreError::Exists { .. })
                if self.load(&old_name).is_ok_and(|key| key.public_key() == old.public_key()) => {}
            result => result?,
        }
        let path = self.path(name);
        durable::replace(&path, jwk_line(new).as_bytes(), Readers::Owner)
            .map_err(|error| KeyStoreError::io(&path, &error))?;
        Ok((old_name, old))
    }

    /// Loads the key `default`, and makes it if there is none. If two processes do so at the same time, both get the
    /// same key.
    pub fn default_key(&self) -> Result<DefaultKey, KeyStoreError> {
        let name = KeyName::default();
        match self.load(&name) {
            Err(KeyStoreError::NotFound { .. }) => {}
            loaded => return loaded.map(|key| DefaultKey { key, is_new: false }),
        }
        let path = || self.path(&name).to_string_lossy().into_owned();
        let key = SecretKey::generate().map_err(|error| KeyStoreError::Key { path: path(), error })?;
        match self.create(&name, &key) {
            // Another process was first.
            Err(KeyStoreError::Exists { .. }) => {
                self.load(&name).map(|key| DefaultKey { key, is_new: false })
            }
            created => created.map(|()| DefaultKey { key, is_new: true }),
        }
    }

    fn create_folder(&self) -> Result<(), KeyStoreError> {
        durable::create_private_folder(&self.folder)
            .map_err(|error| KeyStoreError::io(&self.folder, &error))?;
        self.check_folder()
    }

    fn check_folder(&self) -> Result<(), KeyStoreError> {
        let Ok(found) = self.folder.metadata() else { return Ok(()) };
        match ownership::mode_written_by_others(&found) {
            None => Ok(()),
            Some(mode) => Err(KeyStoreError::FolderOpenToOthers {
                path: self.folder.to_string_lossy().into_owned(),
                mode,
            }),
        }
    }
}

/// Reads a private JWK from a file outside of the store. The flag is true if other users can read that file.
pub fn read_external(file: File) -> Result<(SecretKey, bool), ExternalKeyError> {
    let failed = |error: io::Error| ExternalKeyError::Io { kind: error.kind(), text: error.to_string() };
    let found = file.metadata().map_err(failed)?;
    let is_open = found.is_file() && ownership::mode_open_to_others(&found).is_some();
    let bytes = read_zeroizing(file).map_err(failed)?;
    Ok((SecretKey::from_jwk(&bytes)?, is_open))
}

/// Reason why a key from another file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalKeyError {
    /// The file holds no private key.
    #[error(transparent)]
    Key(#[from] SecretKeyError),
    /// The operating system returned an error.
    #[error("{text}")]
    Io {
        /// Kind of the error.
        kind: io::ErrorKind,
        /// Message of the operating system.
        text: String,
    },
}

/// Returns the text of a key's file: the JWK and a line feed.
fn jwk_line(key: &SecretKey) -> Zeroizing<String> {
    let mut jwk = key.to_jwk();
    jwk.push('\n');
    jwk
}

/// Reads a file into memory that is wiped on drop.
fn read_zeroizing(file: File) -> io::Result<Zeroizing<Vec<u8>>> {
    // Capacity for the largest file and one byte more: a buffer that grows leaves unwiped copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_FILE_BYTES + 64));
    file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "is too large for a key"));
    }
    Ok(bytes)
}
