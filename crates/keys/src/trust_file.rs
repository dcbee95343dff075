//! The trust store on disk: `trust.json` in the user's folder, which people may edit by hand.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use reenact_formats::trust::{TrustError, TrustStore};
use reenact_json::Shown;

use crate::durable::{self, Readers};
use crate::ownership;

/// Longest trust store that is read, in bytes: nobody trusts more keys than fit into it.
const MAX_BYTES: u64 = 16 << 20;

/// The file of a trust store. It need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustFile {
    folder: PathBuf,
}

/// Why a trust store cannot be read or changed. Each text says what to do, where something can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustFileError {
    /// Others decide whom the user trusts.
    #[error(
        "{path}: others can write to this file, so they decide whom you trust; look through it, then: chmod 644 {path}",
        path = Shown::whole(.path)
    )]
    WrittenByOthers {
        /// The file.
        path: String,
    },
    /// Longer than any trust store.
    #[error("{}: is too large for a trust store", Shown::whole(.path))]
    TooLarge {
        /// The file.
        path: String,
    },
    /// Not a trust store.
    #[error("{}: {why} (correct it, or move it away to begin anew)", Shown::whole(.path))]
    Malformed {
        /// The file.
        path: String,
        /// Reason in words.
        why: String,
    },
    /// The operating system refused to write it.
    #[error("{}: could not be written: {text}", Shown::whole(.path))]
    Unwritable {
        /// The file.
        path: String,
        /// The system's own words.
        text: String,
    },
    /// The operating system refused.
    #[error("{}: {text}", Shown::whole(.path))]
    Io {
        /// The file or folder.
        path: String,
        /// The system's own words.
        text: String,
    },
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl TrustFileError {
    fn io(path: &Path, error: &io::Error) -> Self {
        Self::Io { path: shown(path), text: error.to_string() }
    }
}

impl TrustFile {
    /// The trust store in that folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn path(&self) -> PathBuf {
        self.folder.join("trust.json")
    }

    /// Reads the store; empty if there is no such file yet. What is broken is an error: it may hold a warning.
    pub fn load(&self) -> Result<TrustStore, TrustFileError> {
        let path = self.path();
        let failed = |error: io::Error| TrustFileError::io(&path, &error);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TrustStore::default()),
            file => file.map_err(failed)?,
        };
        let found = file.metadata().map_err(failed)?;
        if ownership::mode_written_by_others(&found).is_some() {
            return Err(TrustFileError::WrittenByOthers { path: shown(&path) });
        }
        let mut text = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(TrustFileError::TooLarge { path: shown(&path) });
        }
        TrustStore::parse(&text).map_err(|error| {
            let why = match error {
                TrustError::Json(error) => format!("is not JSON: {}", error.describe(&text)),
                error => error.to_string(),
            };
            TrustFileError::Malformed { path: shown(&path), why }
        })
    }

    /// Changes the store: `edit` works on the store as it is now, and what it leaves is written if it succeeds. Another process
    /// that wants the same waits.
    pub fn edit<T, E: From<TrustFileError>>(
        &self,
        edit: impl FnOnce(&mut TrustStore) -> Result<T, E>,
    ) -> Result<T, E> {
        let _lock = self.lock()?;
        let before = self.load()?;
        let mut store = before.clone();
        let result = edit(&mut store)?;
        if store != before {
            // Where a link leads, the file lies that people edit.
            let path = fs::canonicalize(self.path()).unwrap_or_else(|_| self.path());
            durable::replace(&path, store.to_json().as_bytes(), Readers::Everyone).map_err(|error| {
                TrustFileError::Unwritable { path: shown(&path), text: error.to_string() }
            })?;
        }
        Ok(result)
    }

    /// Keeps other processes from editing until the file is closed.
    fn lock(&self) -> Result<File, TrustFileError> {
        let failed = |error: io::Error| TrustFileError::io(&self.folder, &error);
        durable::create_private_folder(&self.folder).map_err(failed)?;
        let lock = OpenOptions::new().append(true).create(true).open(self.folder.join(".lock"));
        let lock = lock.map_err(failed)?;
        match lock.lock() {
            // A file system without locks is one user's own.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            locked => locked.map_err(failed)?,
        }
        Ok(lock)
    }
}
