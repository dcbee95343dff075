//! The seal: the journal, read back and found unchanged, in a signed frame.

use std::io::{self, Write};
use std::path::PathBuf;

use reenact_formats::rer::seal::{RunHeader, Signer};
use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Limits};

use crate::durable::{self, Pending, Readers};
use crate::error::RecordError;
use crate::journal::{Journal, Written};
use crate::ledger::Counts;
use crate::run_id::RunId;
use crate::start::Out;

/// A run that is sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The run.
    pub run_id: RunId,
    /// The artifact.
    pub path: PathBuf,
    /// SHA-256 of the artifact.
    pub digest: Digest,
    /// The artifact's length in bytes.
    pub size: u64,
    /// What the run consists of.
    pub counts: Counts,
}

/// What there is to seal, beside the journal.
pub(crate) struct Draft<'a> {
    pub(crate) run_id: RunId,
    pub(crate) envelope: &'a [u8],
    pub(crate) written: Written,
    pub(crate) counts: Counts,
}

/// Whether an artifact can be written there, as far as can be told beforehand.
pub(crate) fn check(out: &Out) -> Result<(), RecordError> {
    durable::check(&out.path, out.replace).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => RecordError::Exists { path: out.path.to_string_lossy().into_owned() },
        _ => RecordError::io(&out.path, &error),
    })
}

/// Writes the artifact: all of it, or nothing.
pub(crate) fn seal(
    journal: &mut Journal,
    draft: &Draft<'_>,
    signer: &dyn Signer,
    out: &Out,
) -> Result<Sealed, RecordError> {
    let run_id = draft.run_id.to_string();
    let header = RunHeader {
        run_id: &run_id,
        implementation: "reenact",
        version: env!("CARGO_PKG_VERSION"),
        envelope: draft.envelope,
        manifest_hash: None,
    };
    let frame = journal.links().seal(&header, signer)?;
    let size = draft.written.bytes + (frame.before.len() + frame.after.len()) as u64;
    if size > Limits::LARGEST as u64 {
        return Err(RecordError::Full { bytes: size });
    }
    let failed = |error: io::Error| RecordError::io(&out.path, &error);
    let mut file = Hashed {
        file: Pending::new_in(journal.storage(), &out.path, Readers::Owner).map_err(failed)?,
        hasher: Hasher::new(),
        size: 0,
    };
    file.put(&frame.before).map_err(failed)?;
    journal.read_back(&draft.written, |events| file.put(events).map_err(failed))?;
    file.put(&frame.after).map_err(failed)?;
    let Hashed { file, mut hasher, size } = file;
    if out.replace { file.replace() } else { file.create() }.map_err(failed)?;
    Ok(Sealed {
        run_id: draft.run_id,
        path: out.path.clone(),
        digest: hasher.finish(),
        size,
        counts: draft.counts,
    })
}

/// A file that is hashed while it is written.
struct Hashed {
    file: Pending,
    hasher: Hasher,
    size: u64,
}

impl Hashed {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.put(bytes);
        self.size += bytes.len() as u64;
        self.file.write_all(bytes)
    }
}
