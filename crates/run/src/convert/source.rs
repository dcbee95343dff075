//! Sources of imports: the main file of a record, and the files beside it.

use reenact_formats::FormatId;
use reenact_formats::replay_bundle::MANIFEST;
use reenact_json::Digest;
use reenact_verify::{Keys, Options};

use super::error::ConvertError;
use crate::open::open;

/// File of a record, with its name in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordFile {
    /// Name in the record, such as `RECEIPT.json`. Names from archives are untrusted, and never become paths.
    pub name: String,
    /// Content of the file.
    pub bytes: Vec<u8>,
}

/// Record to import.
#[derive(Debug, Clone, Copy)]
pub struct ImportSource<'a> {
    /// Format of the record.
    pub format: FormatId,
    /// Main file: of a Replay Bundle the manifest, of a Model IO pack the session.
    pub main_file: &'a [u8],
    /// All other files, sorted by name.
    pub other_files: &'a [RecordFile],
    /// SHA-256 of the record's file as it was found; of a folder, that of its main file.
    pub digest: Digest,
    /// Bytes of that file, if the artifact is to keep them as they are.
    pub original_bytes: Option<&'a [u8]>,
    /// True if the record verified, false if it failed; `None` if no verifier knows its format.
    pub verified: Option<bool>,
}

impl<'a> ImportSource<'a> {
    /// Makes the source of a record that is one file, not verified.
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

/// Unpacks the archive of a Replay Bundle. Returns the manifest, and all other files sorted by name.
///
/// # Errors
/// [`ConvertError::Unreadable`] if the bytes are no Replay Bundle.
pub fn unpack_replay_bundle(archive: &[u8]) -> Result<(Vec<u8>, Vec<RecordFile>), ConvertError> {
    let opened = open(archive.to_vec(), &Keys::default(), &Options::default());
    let run = opened.run.map_err(|error| ConvertError::Unreadable(error.to_string()))?;
    let manifest = run.file(MANIFEST).filter(|_| run.payload_format() == FormatId::ReplayBundle);
    let manifest = manifest.ok_or_else(|| ConvertError::Unreadable("it is no Replay Bundle".into()))?;
    let file = |(name, bytes): (&str, &[u8])| RecordFile { name: name.into(), bytes: bytes.to_vec() };
    Ok((manifest.to_vec(), run.files().filter(|(name, _)| *name != MANIFEST).map(file).collect()))
}
