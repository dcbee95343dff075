//! The recovery of one run: its journal is completed from its log, and sealed with the key under which it began.
//!
//! Start reading at [`recover`].

use std::path::{Path, PathBuf};

use reenact_capture::{LeftoverLog, Recovered};
use reenact_json::{Digest, Limits, Shown, Value};
use reenact_keys::{KeyStore, SecretKey};
use reenact_record::wal::{self, WalDir};
use reenact_record::{
    LateSecrets, RecordError, Recorder, ResumeError, RunEnd, RunId, RunStatus, RunStore, RunStoreError,
    SealedArtifact,
};
use reenact_verify::{Keys, Options};

use crate::quantity;

/// Result for one run.
pub(super) enum RecoverOutcome {
    /// The run is sealed now.
    Recovered(RecoveryFacts, Box<SealedArtifact>),
    /// The run had been sealed before.
    Sealed {
        /// Path of the artifact.
        path: PathBuf,
        /// True if the journal that a killed recorder had left was removed.
        removed_journal: bool,
    },
}

/// Reason why a run is not sealed.
pub(super) struct RecoverFailure {
    /// Code for programs.
    pub(super) code: &'static str,
    /// Reason for people, safe to print.
    pub(super) message: String,
}

impl RecoverFailure {
    /// Code of a run that is refused for good.
    const REFUSED: &str = "E_RUN_REFUSED";

    /// Code of a run that another process records or recovers.
    const BUSY: &str = "E_RUN_BUSY";

    /// Returns the failure of a run that is refused for good.
    pub(super) fn refused(error: impl std::fmt::Display) -> Self {
        Self { code: Self::REFUSED, message: error.to_string() }
    }

    /// Returns any other failure.
    pub(super) fn of(error: impl std::fmt::Display) -> Self {
        Self { code: "E_NOT_RECOVERED", message: error.to_string() }
    }

    pub(super) fn is_refused(&self) -> bool {
        self.code == Self::REFUSED
    }

    pub(super) fn exit_code(&self) -> u8 {
        if self.is_refused() { 1 } else { 2 }
    }
}

impl From<ResumeError> for RecoverFailure {
    fn from(error: ResumeError) -> Self {
        match error {
            ResumeError::Busy { .. } => {
                Self { code: Self::BUSY, message: "another reenact is recording it at this moment".into() }
            }
            ResumeError::Refused { .. } | ResumeError::NotAsWritten { .. } => Self::refused(error),
            _ => Self::of(error),
        }
    }
}

/// Facts about a recovery beside the whole events of the journal.
#[derive(Default)]
pub(super) struct RecoveryFacts {
    /// Requests and answers that only the log had.
    pub(super) from_log: Recovered,
    /// Bytes at the journal's end that are no whole event and that no log replaces.
    pub(super) torn_bytes: u64,
    /// Number of events that the journal once had, by the log, and that are gone.
    pub(super) lost_events: u64,
    /// Events that hold a value which became known as a secret later.
    pub(super) late_secrets: Option<Result<LateSecrets, RecordError>>,
}

/// Recovers one run: seals it, or if it is sealed, removes the journal that a killed recorder left. `None` if the run is
/// sealed and its recorder is not done yet.
pub(super) fn recover(
    store: &RunStore,
    id: RunId,
    keys: &KeyStore,
) -> Option<Result<RecoverOutcome, RecoverFailure>> {
    let path = match store.sealed_artifact(id) {
        Ok(path) => path,
        Err(error @ RunStoreError::Refused { .. }) => return Some(Err(RecoverFailure::refused(error))),
        Err(error @ (RunStoreError::Moved { .. } | RunStoreError::Empty { .. })) => {
            return Some(Err(RecoverFailure::of(error)));
        }
        Err(_) => return Some(seal(store, id, keys)),
    };
    if store.journal_path(id).symlink_metadata().is_err() {
        return Some(Ok(RecoverOutcome::Sealed { path, removed_journal: false }));
    }
    match remove_leftover_journal(store, id, &path, keys) {
        Ok(true) => Some(Ok(RecoverOutcome::Sealed { path, removed_journal: true })),
        Ok(false) => Some(seal(store, id, keys)),
        Err(failure) if failure.code == RecoverFailure::BUSY => None,
        Err(failure) => Some(Err(failure)),
    }
}

/// Removes the journal of a run that is sealed, once its artifact was read and verified. Returns false if the file is not that
/// artifact and lies outside of the run's folder, so that the run can still be sealed into its folder.
fn remove_leftover_journal(
    store: &RunStore,
    id: RunId,
    artifact: &Path,
    keys: &KeyStore,
) -> Result<bool, RecoverFailure> {
    let key = recording_key(store, id, keys)?;
    let Some(found) = read_back(artifact, id, &key) else {
        if artifact != store.artifact_path(id) {
            return Ok(false);
        }
        let (path, run) = (artifact.to_string_lossy(), store.run_path(id));
        let run = run.to_string_lossy();
        return Err(RecoverFailure::of(format!(
            "{} is not the intact artifact of this run, so its journal stays in {}",
            Shown::whole(&path),
            Shown::whole(&run)
        )));
    };
    store.remove_leftover_journal(id, found.log_head)?;
    Ok(true)
}

/// Completes the journal of a run from its log, and seals it with the key under which it began.
///
/// # Errors
///
/// A message if the key is missing, another process is recording the run, or the journal or the log cannot be read.
fn seal(store: &RunStore, id: RunId, keys: &KeyStore) -> Result<RecoverOutcome, RecoverFailure> {
    let key = recording_key(store, id, keys)?;
    let dir = WalDir::containing(id);
    let mut leftover = Ok(None);
    // `resume` calls this when it holds the lock: no other process writes to the journal or the log then.
    let resumed = Recorder::builder(store, &key).resume(id, || {
        leftover = dir.as_ref().map_or(Ok(None), |dir| LeftoverLog::read(dir, id));
        Some(leftover.as_ref().ok()?.as_ref()?.journal())
    });
    let leftover =
        leftover.map_err(|error| RecoverFailure::of(format!("its log cannot be read: {error}")))?;
    let (mut found, ended) = match resumed {
        Ok(recorder) => {
            let lost_events = recorder.lost_events().unwrap_or_default();
            let mut found = RecoveryFacts { lost_events, ..RecoveryFacts::default() };
            if !leftover.as_ref().is_some_and(LeftoverLog::has_marks) && recorder.truncated_bytes() > 0 {
                found.torn_bytes = recorder.truncated_bytes();
                let torn = quantity::count_of(found.torn_bytes, "byte was", "bytes were");
                let why = format!("its last {torn} no whole event: cut off");
                recorder.event_writer().record_gap("end of the journal", &why).map_err(RecoverFailure::of)?;
            }
            if let Some(leftover) = leftover {
                let recorded_calls = recorder.resumed_tool_calls();
                let recorded_calls = recorded_calls.iter().map(String::as_str);
                found.from_log = leftover
                    .recover_into(&recorder.event_writer(), recorded_calls)
                    .map_err(RecoverFailure::of)?;
            }
            let reason = "its recorder did not come to the end";
            let end = RunEnd::new(RunStatus::Crashed, reason);
            (found, recorder.end(&end).map_err(RecoverFailure::of)?)
        }
        Err(ResumeError::Ended) => {
            (RecoveryFacts::default(), Recorder::builder(store, &key).resume_ended(id)?)
        }
        Err(error) => return Err(error.into()),
    };
    found.late_secrets = Some(ended.late_secrets());
    let mut out = ended.target().clone();
    // An existing file is never replaced here, even if the recording had `--force`: it may be another run's.
    out.replace = false;
    if out.path.symlink_metadata().is_ok() {
        if read_back(&out.path, id, &key).is_some() {
            return Ok(RecoverOutcome::Sealed { path: out.path, removed_journal: false });
        }
        out.path = store.artifact_path(id);
    }
    let sealed = ended.seal_to(&key, &out).map_err(RecoverFailure::of)?;
    let found_again = read_back(&sealed.path, id, &key).ok_or_else(|| {
        let path = sealed.path.to_string_lossy();
        RecoverFailure::of(format!(
            "{}: what was written does not verify; the journal stays",
            Shown::whole(&path)
        ))
    })?;
    ended.remove_journal(&sealed, found_again.digest).map_err(RecoverFailure::of)?;
    if let Some(dir) = &dir {
        // Everything in the log is sealed now. If the log stays, it only occupies memory.
        let _ = wal::remove_run(dir, id);
    }
    Ok(RecoverOutcome::Recovered(found, Box::new(sealed)))
}

/// Artifact that was read from its file and verified.
struct ReadBack {
    /// SHA-256 of the file.
    digest: Digest,
    /// Hash of the last event.
    log_head: Digest,
}

/// Reads the artifact of the run `id`; `None` unless it is intact and signed by the key that the run began under.
fn read_back(path: &Path, id: RunId, key: &SecretKey) -> Option<ReadBack> {
    let bytes = reenact_verify::disk::read(path).ok()?;
    let digest = Digest::of(&bytes);
    let mut keys = Keys::default();
    keys.add_supplied(reenact_formats::rer::seal::Signer::public_key(key));
    let opened = reenact_run::open(bytes, &keys, &Options::default());
    let run = opened.run.ok().filter(|run| opened.report.pass() && run.id() == id.to_string())?;
    let document = Value::parse(run.document(), &Limits::default()).ok()?;
    let log_head = Digest::from_hex(&document.member("log_head_hash")?.string()?)?;
    Some(ReadBack { digest, log_head })
}

/// Returns the private key under which a run began; it must be one of the user's own.
fn recording_key(store: &RunStore, id: RunId, keys: &KeyStore) -> Result<SecretKey, RecoverFailure> {
    let key_id = store
        .key_id(id)
        .map_err(|error| RecoverFailure::of(format!("its journal cannot be read: {error}")))?;
    let key_id = key_id.ok_or_else(|| {
        let run = store.run_path(id);
        let run = run.to_string_lossy();
        RecoverFailure::of(format!(
            "its journal breaks off in its first line: nothing was recorded; remove {}",
            Shown::whole(&run)
        ))
    })?;
    let names = keys.list().map_err(RecoverFailure::of)?;
    names
        .iter()
        .filter_map(|name| keys.load(name).ok())
        .find(|key| reenact_formats::rer::seal::Signer::public_key(key).id().to_string() == key_id)
        .ok_or_else(|| RecoverFailure {
            code: "E_NO_KEY",
            message: format!("none of your keys is the one that it began under ({})", Shown::new(&key_id)),
        })
}
