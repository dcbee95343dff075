//! The trust store on the disk: `trust.json` in the user's folder, which people may edit by hand.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use reenact_formats::trust::{TrustError, TrustStore};
use reenact_json::Shown;

use crate::durable::{self, Readers};
use crate::ownership;

/// Longest trust store that is read, in bytes: far more keys fit into it than anybody trusts.
const MAX_BYTES: u64 = 16 << 20;

/// File of a trust store. It need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustFile {
    folder: PathBuf,
}

/// Reason why a trust store cannot be read or changed. Each message says what to do, if something can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustFileError {
    /// Other users can write to the file, so they decide whom the user trusts.
    #[error(
        "{path}: others can write to this file, so they decide whom you trust; look through it, then: chmod 644 {path}",
        path = Shown::whole(.path)
    )]
    WrittenByOthers {
        /// Path of the file.
        path: String,
    },
    /// The file is longer than any trust store.
    #[error("{}: is too large for a trust store", Shown::whole(.path))]
    TooLarge {
        /// Path of the file.
        path: String,
    },
    /// The file is no trust store.
    #[error("{}: {why} (correct it, or move it away to begin anew)", Shown::whole(.path))]
    Malformed {
        /// Path of the file.
        path: String,
        /// Reason in words.
        why: String,
    },
    /// The operating system refused to write the file.
    #[error("{}: could not be written: {text}", Shown::whole(.path))]
    Unwritable {
        /// Path of the file.
        path: String,
        /// Message of the operating system.
        text: String,
    },
    /// The operating system returned an error.
    #[error("{}: {text}", Shown::whole(.path))]
    Io {
        /// Path of the file or folder.
        path: String,
        /// Message of the operating system.
        text: String,
    },
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl TrustFileError {
    fn io(path: &Path, error: &io::Error) -> Self {
        Self::Io { path: path_text(path), text: error.to_string() }
    }
}

impl TrustFile {
    /// Returns the trust store in that folder. Nothing is read or created.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn path(&self) -> PathBuf {
        self.folder.join("trust.json")
    }

    /// Reads the store; empty if there is no file yet.
    ///
    /// # Errors
    /// A broken file is an error, and not an empty store: it may hold a warning about a key.
    pub fn load(&self) -> Result<TrustStore, TrustFileError> {
        let path = self.path();
        let failed = |error: io::Error| TrustFileError::io(&path, &error);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TrustStore::default()),
            file => file.map_err(failed)?,
        };
        let found = file.metadata().map_err(failed)?;
        if ownership::mode_written_by_others(&found).is_some() {
            return Err(TrustFileError::WrittenByOthers { path: path_text(&path) });
        }
        let mut text = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(TrustFileError::TooLarge { path: path_text(&path) });
        }
        TrustStore::parse(&text).map_err(|error| {
            let why = match error {
                TrustError::Json(error) => format!("is not JSON: {}", error.describe(&text)),
                error => error.to_string(),
            };
            TrustFileError::Malformed { path: path_text(&path), why }
        })
    }

    /// Edits the store. `edit` gets the store as it is now; the result is written if `edit` returns `Ok` and has
    /// changed something. A lock file makes other processes that edit wait.
    ///
    /// # Errors
    /// Those of [`TrustFile::load`], of writing the file, and of `edit`.
    pub fn edit<T, E: From<TrustFileError>>(
        &self,
        edit: impl FnOnce(&mut TrustStore) -> Result<T, E>,
    ) -> Result<T, E> {
        let _lock = self.lock()?;
        let before = self.load()?;
        let mut store = before.clone();
        let result = edit(&mut store)?;
        if store != before {
            // People may keep the file elsewhere, and have a link here: the link's target is replaced, not the link.
            let path = fs::canonicalize(self.path()).unwrap_or_else(|_| self.path());
            durable::replace(&path, store.to_json().as_bytes(), Readers::Everyone).map_err(|error| {
                TrustFileError::Unwritable { path: path_text(&path), text: error.to_string() }
            })?;
        }
        Ok(result)
    }

    /// Locks out other processes that edit, until the returned file is closed.
    fn lock(&self) -> Result<File, TrustFileError> {
        let failed = |error: io::Error| TrustFileError::io(&self.folder, &error);
        durable::create_private_folder(&self.folder).map_err(failed)?;
        let lock = OpenOptions::new().append(true).create(true).open(self.folder.join(".lock"));
        let lock = lock.map_err(failed)?;
        match lock.lock() {
            // A file system without locks belongs to one user.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            locked => locked.map_err(failed)?,
        }
        Ok(lock)
    }
}
