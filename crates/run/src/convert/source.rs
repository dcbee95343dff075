//! What is to be converted: the bytes of one record, and what lies beside them.

use reenact_formats::FormatId;
use reenact_formats::replay_bundle::MANIFEST;
use reenact_json::Digest;
use reenact_verify::{Keys, Options};

use super::error::ConvertError;
use crate::open::open;

/// A file by its name inside a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordFile {
    /// Such as `RECEIPT.json`. Names from archives are untrusted, and never become paths.
    pub name: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// A record to import.
#[derive(Debug, Clone, Copy)]
pub struct ImportSource<'a> {
    /// What it is.
    pub format: FormatId,
    /// Its main file: of a Replay Bundle the manifest, of a pack the session.
    pub main_file: &'a [u8],
    /// All other files, in the order of their names.
    pub other_files: &'a [RecordFile],
    /// SHA-256 of the file as it was found; of a folder, of its main file.
    pub digest: Digest,
    /// The bytes of that file, if they are to be kept as they are.
    pub original_bytes: Option<&'a [u8]>,
    /// Whether it verifies; `None` of what no verifier knows.
    pub verified: Option<bool>,
}

impl<'a> ImportSource<'a> {
    /// A record that is one file.
    pub fn of(format: FormatId, main_file: &'a [u8]) -> Self {
        Self {
            format,
            main_file,
            other_files: &[],
            digest: Digest::of(main_file),
            original_bytes: None,
            verified: None,
        }
    }
}

/// What the archive of a Replay Bundle holds: the manifest, and all other files in the order of their names.
pub fn unpack_replay_bundle(archive: &[u8]) -> Result<(Vec<u8>, Vec<RecordFile>), ConvertError> {
    let opened = open(archive.to_vec(), &Keys::default(), &Options::default());
    let run = opened.run.map_err(|error| ConvertError::Unreadable(error.to_string()))?;
    let manifest = run.file(MANIFEST).filter(|_| run.payload_format() == FormatId::ReplayBundle);
    let manifest = manifest.ok_or_else(|| ConvertError::Unreadable("it is no Replay Bundle".into()))?;
    let file = |(name, bytes): (&str, &[u8])| RecordFile { name: name.into(), bytes: bytes.to_vec() };
    Ok((manifest.to_vec(), run.files().filter(|(name, _)| *name != MANIFEST).map(file).collect()))
}
