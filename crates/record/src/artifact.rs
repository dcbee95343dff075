//! The seal: the journal, read back and found unchanged, inside of a signed frame.
//!
//! The artifact is written to a temporary file and gets its name last, so that it is there whole or not at all.

use std::io::{self, Write};
use std::path::PathBuf;

use reenact_formats::rer::seal::{RerRunHeader, Signer};
use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Limits};

use crate::durable::{self, PendingFile, Readers};
use crate::error::RecordError;
use crate::journal::{Journal, JournalDigest};
use crate::run_id::RunId;
use crate::run_state::RunCounts;
use crate::start::ArtifactTarget;

/// Result of sealing a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedArtifact {
    /// Id of the run.
    pub run_id: RunId,
    /// Path of the artifact.
    pub path: PathBuf,
    /// SHA-256 of the artifact.
    pub digest: Digest,
    /// Length of the artifact in bytes.
    pub size: u64,
    /// Counts of the run.
    pub counts: RunCounts,
}

/// Everything that goes into a seal beside the journal.
pub(crate) struct SealInput<'a> {
    pub(crate) run_id: RunId,
    pub(crate) envelope: &'a [u8],
    pub(crate) journal_digest: JournalDigest,
    pub(crate) counts: RunCounts,
}

/// Checks as far as possible that an artifact can be written there, before the run begins.
pub(crate) fn check_target(out: &ArtifactTarget) -> Result<(), RecordError> {
    durable::check_writable(&out.path, out.replace).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => RecordError::Exists { path: out.path.to_string_lossy().into_owned() },
        _ => RecordError::io(&out.path, &error),
    })
}

/// Writes the artifact, whole or not at all, and returns its digest and size. The journal is compared with its digest
/// while it is copied.
pub(crate) fn seal(
    journal: &mut Journal,
    input: &SealInput<'_>,
    signer: &dyn Signer,
    out: &ArtifactTarget,
) -> Result<SealedArtifact, RecordError> {
    let run_id = input.run_id.to_string();
    let header = RerRunHeader {
        run_id: &run_id,
        implementation: "reenact",
        version: env!("CARGO_PKG_VERSION"),
        envelope: input.envelope,
        manifest_hash: None,
    };
    let frame = journal.links().seal(&header, signer)?;
    let size = input.journal_digest.bytes + (frame.before.len() + frame.after.len()) as u64;
    if size > Limits::MAX_BYTES as u64 {
        return Err(RecordError::Full { bytes: size });
    }
    let failed = |error: io::Error| RecordError::io(&out.path, &error);
    let mut file = HashingFile {
        file: PendingFile::new(journal.storage(), &out.path, Readers::Owner).map_err(failed)?,
        hasher: Hasher::new(),
        size: 0,
    };
    file.put(&frame.before).map_err(failed)?;
    journal.read_back(&input.journal_digest, |events| file.put(events).map_err(failed))?;
    file.put(&frame.after).map_err(failed)?;
    let HashingFile { file, mut hasher, size } = file;
    if out.replace { file.replace() } else { file.create() }.map_err(failed)?;
    Ok(SealedArtifact {
        run_id: input.run_id,
        path: out.path.clone(),
        digest: hasher.finish(),
        size,
        counts: input.counts,
    })
}

/// File that is hashed while it is written.
struct HashingFile {
    file: PendingFile,
    hasher: Hasher,
    size: u64,
}

impl HashingFile {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.put(bytes);
        self.size += bytes.len() as u64;
        self.file.write_all(bytes)
    }
}
