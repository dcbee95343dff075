//! The folder in which private keys are kept: one private JWK a file, `<name>.jwk`, closed to everyone but its owner. The
//! keys of approvers lie among them, under a passphrase each.

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
use crate::protected::{Cost, Passphrase, ProtectedFault, ProtectedKey};
use crate::secret::{SecretKey, SecretKeyError};

/// What a private key is called: a letter or digit, then up to 63 letters, digits, dots, underscores and hyphens. No such
/// name leads out of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyName(String);

/// The longest name.
const LONGEST_NAME: usize = 64;

/// A text that is no name for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key's name has 1 to 64 letters, digits, `.`, `_` and `-`, and begins with a letter or digit")]
pub struct NotAName;

impl KeyName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name under which a key is kept when another takes its place: `<name>-<first 8 of its id>`.
    fn of_old(&self, key: &SecretKey) -> Self {
        let id = key.public_key().id().to_string();
        let longest = LONGEST_NAME - 9;
        Self(format!("{:.longest$}-{id:.8}", self.0))
    }
}

impl Default for KeyName {
    /// `default`: the key that is used when none is named.
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl FromStr for KeyName {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        let begins_well = text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
        if begins_well && text.len() <= LONGEST_NAME && text.as_bytes().iter().all(is_inner) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NotAName)
        }
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a private key cannot be read or kept. Each text says what to do, where something can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyStoreError {
    /// No key of that name.
    #[error("{}: there is no such key", Shown::whole(.path))]
    NotFound {
        /// Where it would be.
        path: String,
    },
    /// A key of that name is there already; it was left alone.
    #[error("{}: there is a key of that name already; give another name", Shown::whole(.path))]
    Exists {
        /// Where it is.
        path: String,
    },
    /// Others can read the file, so they may have the key.
    #[error(
        "{path}: others can read this private key (mode {mode:04o}); if nobody has it, close it with: chmod 600 {path}",
        path = Shown::whole(.path)
    )]
    OpenToOthers {
        /// The file.
        path: String,
        /// Its permissions.
        mode: u32,
    },
    /// Others can put their own keys in the place of ours.
    #[error(
        "{path}: others can write to this folder of private keys (mode {mode:04o}); close it with: chmod 700 {path}",
        path = Shown::whole(.path)
    )]
    FolderOpenToOthers {
        /// The folder.
        path: String,
        /// Its permissions.
        mode: u32,
    },
    /// A link could lead to a key that others write.
    #[error("{}: is a link; put the private key itself there", Shown::whole(.path))]
    Link {
        /// The link.
        path: String,
    },
    /// A folder, a pipe, a device.
    #[error("{}: is not a file", Shown::whole(.path))]
    NotAFile {
        /// What is there.
        path: String,
    },
    /// A file that holds no private key.
    #[error("{}: {error}", Shown::whole(.path))]
    Key {
        /// The file.
        path: String,
        /// What is wrong with it.
        error: SecretKeyError,
    },
    /// An approver's key signs approvals, and those only.
    #[error(
        "{}: is an approver's key, protected by a passphrase: it signs approvals and nothing else; name another key",
        Shown::whole(.path)
    )]
    Protected {
        /// The file.
        path: String,
    },
    /// A key that is not protected by a passphrase approves nothing.
    #[error("{}: is no approver's key; make one with: reenact keys generate NAME --approver", Shown::whole(.path))]
    NotAnApprover {
        /// The file.
        path: String,
    },
    /// An approver's key that cannot be read, opened or made.
    #[error("{}: {error}", Shown::whole(.path))]
    Approver {
        /// The file.
        path: String,
        /// What is wrong.
        error: ProtectedFault,
    },
    /// The operating system refused.
    #[error("{}: {text}", Shown::whole(.path))]
    Io {
        /// What it was about.
        path: String,
        /// The kind of refusal.
        kind: io::ErrorKind,
        /// The system's own words.
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

/// A folder of private keys. It need not exist until a key is put there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStore {
    folder: PathBuf,
}

/// The key that is used when none is named.
#[derive(Debug)]
pub struct DefaultKey {
    /// The key.
    pub key: SecretKey,
    /// Whether it was made just now: then nobody trusts it yet.
    pub is_new: bool,
}

/// What is known of a key without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its public half.
    pub key: PublicKey,
    /// What its owner approves as, if it is an approver's.
    pub approver: Option<SignerType>,
}

/// No JWK of one key is larger; a file that is may be anything.
const LARGEST_FILE: usize = 16 * 1024;

impl KeyStore {
    /// The keys in that folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where the key of that name is, or would be.
    pub fn path(&self, name: &KeyName) -> PathBuf {
        self.folder.join(format!("{name}.jwk"))
    }

    /// The names of all keys, in order. Files that are not named like keys are passed over.
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

    /// The key of that name. Refused if others could have read it, or could have put it there.
    pub fn load(&self, name: &KeyName) -> Result<SecretKey, KeyStoreError> {
        let bytes = self.read(name)?;
        let path = || self.path(name).to_string_lossy().into_owned();
        if ProtectedKey::is_one(&bytes) {
            return Err(KeyStoreError::Protected { path: path() });
        }
        SecretKey::from_jwk(&bytes).map_err(|error| KeyStoreError::Key { path: path(), error })
    }

    /// What is known of the key of that name without a passphrase, whichever kind it is.
    pub fn known(&self, name: &KeyName) -> Result<Known, KeyStoreError> {
        match self.closed(name) {
            Ok(closed) => Ok(Known { key: closed.public_key(), approver: Some(closed.signer_type()) }),
            Err(KeyStoreError::NotAnApprover { .. }) => {
                self.load(name).map(|key| Known { key: key.public_key(), approver: None })
            }
            Err(error) => Err(error),
        }
    }

    /// The approver's key of that name, closed.
    pub fn closed(&self, name: &KeyName) -> Result<ProtectedKey, KeyStoreError> {
        let bytes = self.read(name)?;
        let path = || self.path(name).to_string_lossy().into_owned();
        if !ProtectedKey::is_one(&bytes) {
            return Err(KeyStoreError::NotAnApprover { path: path() });
        }
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        ProtectedKey::read(text).map_err(|error| KeyStoreError::Approver { path: path(), error })
    }

    /// The approver's key of that name, opened with its passphrase.
    pub fn open(&self, name: &KeyName, passphrase: &Passphrase) -> Result<SecretKey, KeyStoreError> {
        let path = || self.path(name).to_string_lossy().into_owned();
        let opened = self.closed(name)?.open(passphrase);
        opened.map_err(|error| KeyStoreError::Approver { path: path(), error })
    }

    /// Everyone whose approval counts: the public halves of all approvers' keys, with what each approves as. A file that
    /// cannot be used is no approver's; [`KeyStore::known`] says why.
    pub fn approvers(&self) -> Result<Vec<Approver>, KeyStoreError> {
        let names = self.list()?;
        let closed = names.iter().filter_map(|name| self.closed(name).ok());
        Ok(closed
            .map(|closed| Approver { key: closed.public_key(), signer_type: closed.signer_type() })
            .collect())
    }

    /// The bytes of a key's file, if nobody else could have read or written it.
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
        // What was opened is what is judged: the name may have been given to another file meanwhile.
        let opened = file.metadata().map_err(failed)?;
        if !ownership::is_same(&named, &opened) {
            return Err(KeyStoreError::Link { path: shown() });
        }
        if let Some(mode) = ownership::mode_open_to_others(&opened) {
            return Err(KeyStoreError::OpenToOthers { path: shown(), mode });
        }
        read_wiped(file).map_err(failed)
    }

    /// Keeps a key under a new name. A key that has the name already is left alone.
    pub fn create(&self, name: &KeyName, key: &SecretKey) -> Result<(), KeyStoreError> {
        self.make_folder()?;
        let path = self.path(name);
        durable::create(&path, text(key).as_bytes(), Readers::Owner)
            .map_err(|error| KeyStoreError::io(&path, &error))
    }

    /// Keeps an approver's key under a new name, closed with a passphrase. A key that has the name already is left alone.
    pub fn create_approver(
        &self,
        name: &KeyName,
        key: &SecretKey,
        signer_type: SignerType,
        passphrase: &Passphrase,
        cost: Cost,
    ) -> Result<(), KeyStoreError> {
        self.make_folder()?;
        let path = self.path(name);
        let closed = ProtectedKey::seal(key, signer_type, passphrase, cost)
            .map_err(|error| KeyStoreError::Approver { path: path.to_string_lossy().into_owned(), error })?;
        let mut text = closed.to_json();
        text.push(b'\n');
        durable::create(&path, &text, Readers::Owner).map_err(|error| KeyStoreError::io(&path, &error))
    }

    /// Puts `new` in the place of the key of that name, which is kept as `<name>-<first 8 of its id>`; returns that name
    /// and the old key. At no moment is a key not there, and what was interrupted can be done again.
    pub fn rotate(&self, name: &KeyName, new: &SecretKey) -> Result<(KeyName, SecretKey), KeyStoreError> {
        let old = self.load(name)?;
        let kept = name.of_old(&old);
        match self.create(&kept, &old) {
            // Left by a rotation that was interrupted here.
            Err(KeyStoreError::Exists { .. })
                if self.load(&kept).is_ok_and(|key| key.public_key() == old.public_key()) => {}
            result => result?,
        }
        let path = self.path(name);
        durable::replace(&path, text(new).as_bytes(), Readers::Owner)
            .map_err(|error| KeyStoreError::io(&path, &error))?;
        Ok((kept, old))
    }

    /// The key `default`, which is made when it is first asked for. Of two who ask at the same time, both get the same.
    pub fn default_key(&self) -> Result<DefaultKey, KeyStoreError> {
        let name = KeyName::default();
        match self.load(&name) {
            Err(KeyStoreError::NotFound { .. }) => {}
            loaded => return loaded.map(|key| DefaultKey { key, is_new: false }),
        }
        let path = || self.path(&name).to_string_lossy().into_owned();
        let key = SecretKey::generate().map_err(|error| KeyStoreError::Key { path: path(), error })?;
        match self.create(&name, &key) {
            // Someone else was faster.
            Err(KeyStoreError::Exists { .. }) => {
                self.load(&name).map(|key| DefaultKey { key, is_new: false })
            }
            created => created.map(|()| DefaultKey { key, is_new: true }),
        }
    }

    fn make_folder(&self) -> Result<(), KeyStoreError> {
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

/// Reads a private JWK from elsewhere, to be kept; also says whether others can read it there.
pub fn read_foreign(file: File) -> Result<(SecretKey, bool), ForeignKeyError> {
    let failed = |error: io::Error| ForeignKeyError::Io { kind: error.kind(), text: error.to_string() };
    let found = file.metadata().map_err(failed)?;
    let is_open = found.is_file() && ownership::mode_open_to_others(&found).is_some();
    let bytes = read_wiped(file).map_err(failed)?;
    Ok((SecretKey::from_jwk(&bytes)?, is_open))
}

/// Why a key from elsewhere cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForeignKeyError {
    /// It is no private key.
    #[error(transparent)]
    Key(#[from] SecretKeyError),
    /// The operating system refused.
    #[error("{text}")]
    Io {
        /// The kind of refusal.
        kind: io::ErrorKind,
        /// The system's own words.
        text: String,
    },
}

/// The file's text: the JWK and a line feed.
fn text(key: &SecretKey) -> Zeroizing<String> {
    let mut jwk = key.to_jwk();
    jwk.push('\n');
    jwk
}

/// Reads a file into memory that is wiped after use.
fn read_wiped(file: File) -> io::Result<Zeroizing<Vec<u8>>> {
    // Room for all of it, and for the question whether there is more: a buffer that grows leaves a copy behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(LARGEST_FILE + 64));
    file.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > LARGEST_FILE {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "is too large for a key"));
    }
    Ok(bytes)
}
