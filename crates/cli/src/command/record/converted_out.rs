//! `record --out` with the suffix of another format: the sealed run, written in it too.
//!
//! The artifact stays in the state folder, where `last` finds it: it holds all of the run, while the other formats hold what has
//! a place in them. Start reading at [`write()`].

use std::path::Path;

use reenact_formats::FormatId;
use reenact_json::{Digest, Shown};
use reenact_keys::durable::{self, Readers};
use reenact_record::SealedArtifact;
use reenact_run::OpenedRecord;
use reenact_run::convert::ModelIoOptions;
use reenact_verify::Keys;

use super::impossible;
use crate::command::convert::{Conversion, OpenedSource, SourceRecord};
use crate::command::share::{BundleExtras, ReplayBundle, require_intact};
use crate::output::{self, CommandError};

/// File or folder in another format that was written.
pub(super) struct ConvertedOut {
    /// Size of all files, in bytes.
    pub(super) size: u64,
    /// Number of things in the record that have no place in the format.
    pub(super) lost: usize,
}

/// Writes the sealed run, which was read back, in another format, and verifies it before it gets its name.
///
/// # Errors
///
/// If the run has nothing that the format needs, or the output does not verify or cannot be written. A notice then says
/// where the sealed run is.
pub(super) fn write(
    sealed: &SealedArtifact,
    opened: OpenedRecord,
    keys: &Keys,
    to: FormatId,
    path: &Path,
    replaces: bool,
) -> Result<ConvertedOut, CommandError> {
    let written = match to {
        FormatId::ReplayBundle => write_replay_bundle(opened, path, replaces),
        _ => write_converted(sealed, opened, keys.clone(), to, path, replaces),
    };
    written.inspect_err(|_| {
        let artifact = sealed.path.to_string_lossy();
        output::print_notice(&format!("the run is sealed all the same: {}", Shown::whole(&artifact)));
    })
}

/// Writes what `share --as replay` makes of the run.
fn write_replay_bundle(
    opened: OpenedRecord,
    path: &Path,
    replaces: bool,
) -> Result<ConvertedOut, CommandError> {
    let OpenedRecord { run, report } = opened;
    let bundle = ReplayBundle::of(&run.map_err(impossible)?, &report, &BundleExtras::default())?;
    require_intact(&bundle.bytes, &Keys::default())?;
    let write = if replaces { durable::replace } else { durable::create };
    write(path, &bundle.bytes, Readers::Owner).map_err(|error| CommandError::unwritable(path, &error))?;
    Ok(ConvertedOut { size: bundle.bytes.len() as u64, lost: bundle.losses.count() })
}

/// Writes what `reenact convert` makes of the run.
fn write_converted(
    sealed: &SealedArtifact,
    opened: OpenedRecord,
    keys: Keys,
    to: FormatId,
    out: &Path,
    replaces: bool,
) -> Result<ConvertedOut, CommandError> {
    let OpenedRecord { run, report } = opened;
    let run = run.map_err(impossible)?;
    let source = OpenedSource {
        name: Shown::whole(&sealed.path.to_string_lossy()).to_string(),
        digest: Digest::of(run.bytes()),
        record: SourceRecord::Run(Box::new(run), Box::new(report)),
        source_bytes: None,
    };
    let model_io = ModelIoOptions::default();
    let conversion = Conversion { to, out, deny_loss: false, force: false, replaces, model_io };
    // Only an RER artifact is signed, and none is made here.
    let unsigned = || Err(CommandError::impossible("this format is not signed"));
    let report = conversion.write(source, keys, unsigned)?;
    let size: usize = report.converted.files.iter().map(|file| file.bytes.len()).sum();
    Ok(ConvertedOut { size: size as u64, lost: report.converted.losses.count() })
}
