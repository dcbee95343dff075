//! The end of a recording: the journal is closed, and sealed into an artifact, and made into what `--out` asks for.
//!
//! The artifact is read back from the disk and verified, as a reader would; only then does the journal go.

use std::path::Path;

use reenact_json::{Digest, Shown};
use reenact_record::recorder::Recording;
use reenact_record::{ChangedFiles, LateSecrets, RecordError, Recorder, RunCounts, RunEnd, SealedArtifact};
use reenact_run::OpenedRecord;
use reenact_verify::{Keys, Options};

use super::agent::{FinishedAgent, run_status};
use super::out_path::{OutForm, OutPath};
use super::signing::RecordingKey;
use super::{bundle_out, converted_out};
use crate::output::{self, CommandError};
use crate::work_folder::NotSeen;

/// A run that is sealed.
pub(in crate::command) struct SealedRun {
    /// File or folder that was written last: the artifact, or what `--out` asks for.
    pub(in crate::command) artifact: SealedArtifact,
    /// The artifact or the bundle of it, read back and verified.
    pub(in crate::command) opened: OpenedRecord,
    /// Counts of the run.
    pub(in crate::command) counts: RunCounts,
    /// Number of things in the record that have no place in the format of `--out`.
    pub(in crate::command) lost: usize,
    /// Events that hold credentials which became known later.
    pub(in crate::command) late_secrets: Result<LateSecrets, RecordError>,
    /// Reason for which changed files are not in the record, if they are not.
    pub(in crate::command) unseen_files: Option<NotSeen>,
}

/// Ends the run as the agent ended, seals it, verifies it, and makes of it what `out` asks for. With `replace` a file of that name is
/// overwritten.
///
/// # Errors
///
/// If the run cannot be sealed, or what was written does not verify. The journal stays, and `reenact runs recover` seals it later.
pub(in crate::command) fn seal(
    recorder: Recorder<Recording>,
    finished: &FinishedAgent,
    files: Result<ChangedFiles, NotSeen>,
    signing: &RecordingKey,
    out: Option<&OutPath>,
    replace: bool,
) -> Result<SealedRun, CommandError> {
    let (status, reason) = run_status(finished.exit);
    let counts = recorder.counts();
    let journal = recorder.folder().to_owned();
    let failed = |error: RecordError| unsealed(&error, &journal);
    let end = RunEnd {
        exit_code: finished.exit.code(),
        stdout_sha256: finished.stdout_sha256,
        files: files.as_ref().ok(),
        ..RunEnd::new(status, &reason)
    };
    let ended = recorder.end(&end).map_err(failed)?;
    let unseen_files = files.err();
    let late_secrets = ended.late_secrets();
    let sealed = ended.seal(&signing.key).map_err(failed)?;
    let (opened, digest) = read_back(&sealed, &signing.known)?;
    if let Err(error) = ended.remove_journal(&sealed, digest) {
        output::print_notice(&format!(
            "the run is sealed and verified, and its journal is still there: {error}"
        ));
    }
    let (artifact, opened, lost) = match out {
        Some(OutPath { path, form: OutForm::Bundle }) => {
            let artifact = bundle_out::write(sealed, opened, &signing.key, path, replace)?;
            let (opened, _) = read_back(&artifact, &signing.known)?;
            (artifact, opened, 0)
        }
        Some(OutPath { path, form: OutForm::Converted(to) }) => {
            let written = converted_out::write(&sealed, opened, &signing.known, *to, path, replace)?;
            // The summary is that of the whole run, which the conversion has used up.
            let (opened, _) = read_back(&sealed, &signing.known)?;
            let artifact = SealedArtifact { path: path.clone(), size: written.size, ..sealed };
            (artifact, opened, written.lost)
        }
        Some(OutPath { form: OutForm::Artifact, .. }) | None => (sealed, opened, 0),
    };
    Ok(SealedRun { artifact, opened, counts, lost, late_secrets, unseen_files })
}

/// Reads a file that was written back from the disk, and verifies it. Returns it with the digest of its bytes.
///
/// # Errors
///
/// If it cannot be read, or does not verify.
fn read_back(sealed: &SealedArtifact, keys: &Keys) -> Result<(OpenedRecord, Digest), CommandError> {
    let path = sealed.path.to_string_lossy();
    let failed = |why: String| {
        CommandError::impossible(format!("{}: what was written does not verify: {why}", Shown::whole(&path)))
    };
    let bytes = reenact_verify::disk::read(&sealed.path).map_err(|error| failed(error.to_string()))?;
    let digest = Digest::of(&bytes);
    let opened = reenact_run::open(bytes, keys, &Options::default());
    match opened.report.pass() {
        true => Ok((opened, digest)),
        false => Err(failed(opened.report.reasons.join("; "))),
    }
}

/// Returns the message about a run that is over and could not be sealed. `folder` is that of the run.
fn unsealed(error: &RecordError, folder: &Path) -> CommandError {
    let journal = folder.to_string_lossy();
    let journal = Shown::whole(&journal);
    CommandError::impossible(match error {
        RecordError::JournalChanged { .. } => format!("{error}; what is left of it is in {journal}"),
        _ => format!(
            "the run is over, but could not be sealed: {error}; its journal is in {journal}; when that is mended: reenact runs recover"
        ),
    })
}
