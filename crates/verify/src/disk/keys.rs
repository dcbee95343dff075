//! Key files, as commands are given them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use reenact_formats::key::{self, KeyError, KeyFile};
use reenact_formats::rpk::hmac::{self, HmacKey, HmacKeyError};
use reenact_json::Shown;

use super::place::{Argument, look_up};
use super::unreadable;
use crate::report::Unreadable;

/// What the owner of a key file with a private part in it should hear.
pub fn private_key_warning(path: &Path) -> String {
    let path = path.to_string_lossy();
    format!(
        "{}: this file holds a private key; only its public part is used, and it should not lie around",
        Shown::whole(&path)
    )
}

/// Why a key file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyFileError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// It holds no key.
    #[error("{}: {error}", Shown::whole(.path))]
    NoKey {
        /// The file.
        path: String,
        /// What is wrong with it.
        error: KeyError,
    },
    /// It holds no shared key.
    #[error("{}: {error}", Shown::whole(.path))]
    NoSharedKey {
        /// The file.
        path: String,
        /// What is wrong with it.
        error: HmacKeyError,
    },
    /// A folder, where a file was asked for.
    #[error("{}: this is a folder; give a folder of keys with --keys", Shown::whole(.path))]
    Folder {
        /// The folder.
        path: String,
    },
    /// A folder without any key.
    #[error("{}: there is no key in this folder", Shown::whole(.path))]
    EmptyFolder {
        /// The folder.
        path: String,
    },
}

/// Reads one key file, of any form.
pub fn key_file(path: &Path) -> Result<KeyFile, KeyFileError> {
    let no_key = |error| KeyFileError::NoKey { path: path.to_string_lossy().into_owned(), error };
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    if file.metadata().is_ok_and(|found| found.is_dir()) {
        return Err(KeyFileError::Folder { path: path.to_string_lossy().into_owned() });
    }
    let mut bytes = Vec::new();
    let limit = key::LARGEST_FILE as u64;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() > key::LARGEST_FILE {
        return Err(no_key(KeyError::Unrecognised));
    }
    key::read(&bytes).map_err(no_key)
}

/// Reads the shared key of signatures by HMAC: text, white space around it left out.
pub fn hmac_key_file(path: &Path) -> Result<HmacKey, KeyFileError> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let limit = hmac::LARGEST_KEY as u64;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    let path = || path.to_string_lossy().into_owned();
    HmacKey::from_text(&bytes).map_err(|error| KeyFileError::NoSharedKey { path: path(), error })
}

/// The key files of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFolder {
    /// Each with its path; at least one.
    pub files: Vec<(PathBuf, KeyFile)>,
    /// Files that hold no key.
    pub others: Vec<PathBuf>,
}

/// Reads every key of a folder, or of a JWKS file. Files of a folder that hold no key are passed over; their names are
/// returned.
pub fn key_folder(path: &Path) -> Result<KeyFolder, KeyFileError> {
    let Argument::Folder { places, .. } = look_up(path.as_os_str()) else {
        let files = vec![(path.to_owned(), key_file(path)?)];
        return Ok(KeyFolder { files, others: Vec::new() });
    };
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for file in places.into_iter().map(|place| place.path().to_owned()) {
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
