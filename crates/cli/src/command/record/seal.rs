//! The end of a recording: the journal is closed, and sealed into an artifact or packed into a bundle.

use reenact_json::Shown;
use reenact_record::recorder::Recording;
use reenact_record::{LateSecrets, RecordError, Recorder, RunCounts, RunEnd, SealedArtifact};

use super::agent::{FinishedAgent, run_status};
use super::bundle_out;
use super::options::RecordArgs;
use super::signing::RecordingKey;
use crate::output::CommandError;

/// A run that is sealed.
pub(super) struct SealedRun {
    /// File that was written.
    pub(super) artifact: SealedArtifact,
    /// Counts of the run.
    pub(super) counts: RunCounts,
    /// Events that hold credentials which became known later.
    pub(super) late_secrets: Result<LateSecrets, RecordError>,
}

/// Ends the run as the agent ended, seals it, and makes a bundle of it if `--out` asks for one.
///
/// # Errors
///
/// If the run cannot be sealed. The journal stays, and `reenact recover` seals it later.
pub(super) fn seal(
    recorder: Recorder<Recording>,
    finished: &FinishedAgent,
    signing: &RecordingKey,
    options: &RecordArgs,
) -> Result<SealedRun, CommandError> {
    let (status, reason) = run_status(finished.exit);
    let counts = recorder.counts();
    let journal = recorder.folder().to_owned();
    let mut late_secrets = Ok(LateSecrets::default());
    let sealed = recorder
        .end(&RunEnd { exit_code: finished.exit.code(), ..RunEnd::new(status, &reason) })
        .and_then(|ended| {
            late_secrets = ended.late_secrets();
            ended.seal(&signing.key)
        })
        .map_err(|error| {
            let journal = journal.to_string_lossy();
            if matches!(error, RecordError::JournalChanged { .. }) {
                return CommandError::impossible(format!(
                    "{error}; what is left of it is in {}",
                    Shown::whole(&journal)
                ));
            }
            CommandError::impossible(format!(
                "the run is over, but could not be sealed: {error}; its journal is in {}; when that is mended: reenact recover",
                Shown::whole(&journal)
            ))
        })?;
    let artifact = match options.bundle_path() {
        Some(bundle) => bundle_out::write(sealed, &signing.key, bundle, options.force)?,
        None => sealed,
    };
    Ok(SealedRun { artifact, counts, late_secrets })
}
