//! `record --out NAME.rer.tar.gz`: the sealed run as a bundle, or as an artifact where no bundle can be made of it.
//!
//! A bundle holds every file that its events say was written (§9.2, check 7), and its manifest has no way to call one
//! absent. An agent may report a file that nobody gave to the recorder. The artifact is then written as `NAME.rer.json`,
//! since a bundle of that run would fail at its reader's. Start reading at [`write()`].

use std::path::{Path, PathBuf};

use reenact_formats::rer::rewrite;
use reenact_json::{Limits, Shown};
use reenact_keys::SecretKey;
use reenact_keys::durable::{self, Readers};
use reenact_record::SealedArtifact;
use reenact_run::OpenedRecord;

use super::{impossible, shell_quoted};
use crate::output::{self, CommandError};
use crate::quantity;
use crate::sealed_record::SealedRecord;

/// Packs the sealed artifact, which was read back, into a bundle, and returns the seal with the path of the file that was written. The artifact
/// stays in the state folder. If a reported file is absent, the artifact is written beside, and a notice says so.
///
/// # Errors
///
/// If no bundle can be made of the artifact, or it cannot be written.
pub(super) fn write(
    sealed: SealedArtifact,
    opened: OpenedRecord,
    key: &SecretKey,
    bundle: &Path,
    replaces: bool,
) -> Result<SealedArtifact, CommandError> {
    let OpenedRecord { run, report } = opened;
    let record = SealedRecord::new(sealed.path.clone(), run.map_err(impossible)?, report)?;
    let absent = record.missing_files();
    if !absent.is_empty() {
        return Ok(write_artifact_beside(sealed, &record, &absent, bundle));
    }
    let bound = rewrite::bind(&record.artifact, &[], &Limits::default(), key).map_err(impossible)?;
    let bytes = bound.pack(&[], |_| None, Vec::new()).map_err(impossible)?;
    let write = if replaces { durable::replace } else { durable::create };
    write(bundle, &bytes, Readers::Owner).map_err(|error| {
        let path = sealed.path.to_string_lossy();
        output::print_notice(&format!("the run is sealed all the same: {}", Shown::whole(&path)));
        CommandError::unwritable(bundle, &error)
    })?;
    Ok(SealedArtifact { path: bundle.to_owned(), size: bytes.len() as u64, ..sealed })
}

/// Writes the artifact beside the place of the bundle. Nothing is replaced there, even with `--force`, which was given for
/// another name; the artifact in the state folder is then the only one.
fn write_artifact_beside(
    sealed: SealedArtifact,
    record: &SealedRecord,
    absent: &[(String, String)],
    bundle: &Path,
) -> SealedArtifact {
    let beside = artifact_path(bundle);
    let written = durable::create(&beside, &record.artifact, Readers::Owner);
    let path = if written.is_ok() { beside } else { sealed.path.clone() };
    let size = if written.is_ok() { record.artifact.len() as u64 } else { sealed.size };
    let (out, artifact) = (bundle.to_string_lossy(), path.to_string_lossy());
    let (first, hash) = absent.first().map_or(("", ""), |(name, hash)| (name, hash));
    let more = match absent.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    output::print_notice(&format!(
        "{}: no bundle was made: the agent reported {} that {} not here, {} (sha256 {}){more}; the run is in {}",
        Shown::whole(&out),
        quantity::count(absent.len() as u64, "file"),
        if absent.len() == 1 { "is" } else { "are" },
        Shown::new(first),
        Shown::new(hash),
        Shown::whole(&artifact),
    ));
    output::print_notice(&format!(
        "with {}: reenact share {} --as rer --blob FILE --out {}",
        if absent.len() == 1 { "that file" } else { "those files" },
        shell_quoted(&artifact),
        shell_quoted(&out),
    ));
    SealedArtifact { path, size, ..sealed }
}

/// Returns the path for the artifact of a run that was to be a bundle: `x.rer.json` for `x.rer.tar.gz`.
fn artifact_path(bundle: &Path) -> PathBuf {
    // Two suffixes go, and come back as one: the name may be no UTF-8, which `with_extension` keeps.
    bundle.with_extension("").with_extension("json")
}
