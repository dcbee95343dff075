//! Key files of the options `--key`, `--keys` and `--hmac-key-file`, read from paths.
//!
//! Start reading at [`key_file`] for Ed25519 keys and at [`hmac_key_file`] for shared keys.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use reenact_formats::key::{self, KeyError, KeyFile};
use reenact_formats::rpk::hmac::{self, HmacKey, HmacKeyError};
use reenact_json::Shown;

use super::argument::{PathArgument, look_up};
use super::unreadable_target;
use crate::report::UnreadableTarget;

/// Returns the warning for a key file that holds a private key.
pub fn private_key_warning(path: &Path) -> String {
    let path = path.to_string_lossy();
    format!(
        "{}: this file holds a private key; only its public part is used, and it should not lie around",
        Shown::whole(&path)
    )
}

/// Reason why a key file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyFileError {
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] UnreadableTarget),
    /// The file holds no public key in any known form.
    #[error("{}: {error}", Shown::whole(.path))]
    NoKey {
        /// Path of the file.
        path: String,
        /// Reason why the content is not a key.
        error: KeyError,
    },
    /// The file holds no valid shared key.
    #[error("{}: {error}", Shown::whole(.path))]
    NoSharedKey {
        /// Path of the file.
        path: String,
        /// Reason why the content is not a shared key.
        error: HmacKeyError,
    },
    /// The path is a folder, where a file is needed.
    #[error("{}: this is a folder; give a folder of keys with --keys", Shown::whole(.path))]
    Folder {
        /// Path of the folder.
        path: String,
    },
    /// The folder holds no key.
    #[error("{}: there is no key in this folder", Shown::whole(.path))]
    EmptyFolder {
        /// Path of the folder.
        path: String,
    },
}

/// Reads the public keys of one file: raw bytes, JWK, JWKS, or SPKI in DER or PEM.
///
/// # Errors
/// Fails if the path is a folder, cannot be read, or holds no key.
pub fn key_file(path: &Path) -> Result<KeyFile, KeyFileError> {
    let no_key = |error| KeyFileError::NoKey { path: path.to_string_lossy().into_owned(), error };
    let file = File::open(path).map_err(|error| unreadable_target(path, &error))?;
    if file.metadata().is_ok_and(|found| found.is_dir()) {
        return Err(KeyFileError::Folder { path: path.to_string_lossy().into_owned() });
    }
    let mut bytes = Vec::new();
    let limit = key::MAX_KEY_FILE_BYTES as u64;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| unreadable_target(path, &error))?;
    if bytes.len() > key::MAX_KEY_FILE_BYTES {
        return Err(no_key(KeyError::Unrecognised));
    }
    key::read(&bytes).map_err(no_key)
}

/// Reads the shared key of HMAC signatures, as text. White space around it is ignored.
///
/// # Errors
/// Fails if the file cannot be read, or is not a valid key.
pub fn hmac_key_file(path: &Path) -> Result<HmacKey, KeyFileError> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| unreadable_target(path, &error))?;
    let limit = hmac::MAX_HMAC_KEY_BYTES as u64;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| unreadable_target(path, &error))?;
    let path = || path.to_string_lossy().into_owned();
    HmacKey::from_text(&bytes).map_err(|error| KeyFileError::NoSharedKey { path: path(), error })
}

/// Key files of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFolder {
    /// Key files with their paths; at least one.
    pub files: Vec<(PathBuf, KeyFile)>,
    /// Paths of files that hold no key.
    pub others: Vec<PathBuf>,
}

/// Reads every key file of a folder, or one key file. Files that hold no key are skipped and returned
/// in [`KeyFolder::others`].
///
/// # Errors
/// Fails if a file cannot be read, or if the folder holds no key at all.
pub fn key_folder(path: &Path) -> Result<KeyFolder, KeyFileError> {
    let PathArgument::Folder { records, .. } = look_up(path.as_os_str()) else {
        let files = vec![(path.to_owned(), key_file(path)?)];
        return Ok(KeyFolder { files, others: Vec::new() });
    };
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for file in records.into_iter().map(|record| record.path().to_owned()) {
        match key_file(&file) {
            Ok(keys) => found.push((file, keys)),
            Err(KeyFileError::NoKey { .. }) => others.push(file),
            Err(error) => return Err(error),
        }
    }
    if found.is_empty() {
        return Err(KeyFileError::EmptyFolder { path: path.to_string_lossy().into_owned() });
    }
    Ok(KeyFolder { files: found, others })
}
