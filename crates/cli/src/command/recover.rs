//! `reenact recover`: seals runs whose recorder was killed, with everything that had passed through it.
//!
//! A recorder writes traffic to a log in memory before it passes the traffic on, and from there to the journal.
//! After a kill the log still exists: its events are appended to the journal, and the run is sealed with status
//! `crashed`. After a power failure only the journal is left, and is sealed up to its last whole event.
//!
//! ```text
//! recovered 0198…: 2 model calls and 1 tool call; 1 answer broke off
//! sealed: .reenact/runs/0198…/artifact.rer.json (24.1 KB)
//! ```
//!
//! Start reading at [`recover`].

use std::path::{Path, PathBuf};

use reenact_capture::{LeftoverLog, Recovered};
use reenact_json::Shown;
use reenact_keys::{KeyStore, SecretKey};
use reenact_record::wal::{self, WalDir};
use reenact_record::{
    Recorder, ResumeError, RunEnd, RunId, RunStatus, RunStore, RunStoreError, SealedArtifact,
};
use reenact_verify::{Keys, Options};

use crate::config::UserConfig;
use crate::output::{self, CommandError};
use crate::{quantity, runs};

/// Seal a run whose recorder was killed, with all that had passed through it
///
/// What passes through a recorder is written to memory that outlives it before it is passed on, and from there into the
/// journal. After a kill, this command writes what is missing, notes what broke off, and seals the run with the key that it
/// began under. After the machine itself went down the journal alone is left, and is sealed as far as it goes. Without a name,
/// all runs of this folder are looked after; one that is being recorded is left alone.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact recover\n  reenact recover 0190f3")]
pub(super) struct RecoverArgs {
    /// A run id, the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

impl RecoverArgs {
    /// Recovers the named run, or every unsealed run of the current folder. The exit code is 2 if one of them
    /// cannot be recovered, and 1 if its recorder refused it.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let store = runs::run_store();
        let found = match &self.run {
            Some(given) => store.resolve(given).map(|id| vec![id]),
            None => store.unsealed_runs(),
        };
        let found = found.map_err(impossible)?;
        if found.is_empty() {
            output::print("nothing to recover: every run of this folder is sealed\n")?;
        }
        let keys = UserConfig::require()?.key_store();
        let mut code = 0;
        for id in found {
            if store.is_refused(id) {
                output::print_notice(&RunStoreError::Refused { run_id: id }.to_string());
                code = code.max(1);
                continue;
            }
            let outcome = match store.sealed_artifact(id) {
                Ok(path) => Ok(RecoverOutcome::Sealed(path)),
                Err(_) => recover(&store, id, &keys),
            };
            match outcome {
                Ok(RecoverOutcome::Recovered(found, sealed)) => {
                    output::print(&recovered_text(id, &found, &sealed))?
                }
                Ok(RecoverOutcome::Sealed(path)) => {
                    let path = path.to_string_lossy();
                    output::print(&format!("{id} is sealed: {}\n", Shown::whole(&path)))?;
                }
                Err(why) => {
                    output::print_notice(&format!("{id}: {why}"));
                    code = 2;
                }
            }
        }
        Ok(code)
    }
}

/// Result for one run.
enum RecoverOutcome {
    /// The run is sealed now.
    Recovered(RecoveryFacts, Box<SealedArtifact>),
    /// The run had been sealed before; the path is that of its artifact.
    Sealed(PathBuf),
}

/// Facts about a recovery beside the whole events of the journal.
#[derive(Default)]
struct RecoveryFacts {
    /// Requests and answers that only the log had.
    from_log: Recovered,
    /// Bytes at the journal's end that are no whole event and that no log replaces.
    torn_bytes: u64,
}

/// Completes the journal of a run from its log, and seals it with the key under which it began.
///
/// # Errors
///
/// A message if the key is missing, another process is recording the run, or the journal or the log cannot be read.
fn recover(store: &RunStore, id: RunId, keys: &KeyStore) -> Result<RecoverOutcome, String> {
    let key = recording_key(store, id, keys)?;
    let dir = WalDir::containing(id);
    let mut leftover = Ok(None);
    // `resume` calls this when it holds the lock: no other process writes to the journal or the log then.
    let resumed = Recorder::builder(store, &key).resume(id, || {
        leftover = dir.as_ref().map_or(Ok(None), |dir| LeftoverLog::read(dir, id));
        leftover.as_ref().ok()?.as_ref()?.journal_bytes()
    });
    let leftover = leftover.map_err(|error| format!("its log cannot be read: {error}"))?;
    let (found, ended) = match resumed {
        Ok(recorder) => {
            let mut found = RecoveryFacts::default();
            if leftover.as_ref().and_then(LeftoverLog::journal_bytes).is_none()
                && recorder.truncated_bytes() > 0
            {
                found.torn_bytes = recorder.truncated_bytes();
                let why =
                    format!("its last {} bytes were no whole event, and were cut off", found.torn_bytes);
                recorder.event_writer().record_gap("end of the journal", &why).map_err(to_text)?;
            }
            if let Some(leftover) = leftover {
                let recorded_calls = recorder.resumed_tool_calls();
                let recorded_calls = recorded_calls.iter().map(String::as_str);
                found.from_log =
                    leftover.recover_into(&recorder.event_writer(), recorded_calls).map_err(to_text)?;
            }
            let reason = "its recorder did not come to the end";
            let end = RunEnd { status: RunStatus::Crashed, reason, exit_code: None };
            (found, recorder.end(&end).map_err(to_text)?)
        }
        Err(ResumeError::Ended) => {
            (RecoveryFacts::default(), Recorder::builder(store, &key).resume_ended(id).map_err(to_text)?)
        }
        Err(ResumeError::Busy { .. }) => return Err("another reenact is recording it at this moment".into()),
        Err(error) => return Err(error.to_string()),
    };
    let mut out = ended.target().clone();
    // An existing file is never replaced here, even if the recording had `--force`: it may be another run's.
    out.replace = false;
    if out.path.symlink_metadata().is_ok() {
        if is_artifact_of(&out.path, id) {
            return Ok(RecoverOutcome::Sealed(out.path));
        }
        out.path = store.artifact_path(id);
    }
    let sealed = ended.seal_to(&key, &out).map_err(to_text)?;
    if let Some(dir) = &dir {
        // Everything in the log is sealed now. If the log stays, it only occupies memory.
        let _ = wal::remove_run(dir, id);
    }
    Ok(RecoverOutcome::Recovered(found, Box::new(sealed)))
}

/// Returns true if a file is the artifact of the run `id`. Its signature does not matter for that.
fn is_artifact_of(path: &Path, id: RunId) -> bool {
    let Ok(bytes) = reenact_verify::disk::read(path) else { return false };
    let opened = reenact_run::open(bytes, &Keys::default(), &Options::default());
    opened.run.is_ok_and(|run| run.id() == id.to_string())
}

/// Returns the private key under which a run began; it must be one of the user's own.
fn recording_key(store: &RunStore, id: RunId, keys: &KeyStore) -> Result<SecretKey, String> {
    let key_id = store.key_id(id).map_err(|error| format!("its journal cannot be read: {error}"))?;
    let key_id = key_id.ok_or_else(|| {
        let run = store.run_path(id);
        let run = run.to_string_lossy();
        format!(
            "its journal breaks off in its first line: nothing was recorded; remove {}",
            Shown::whole(&run)
        )
    })?;
    let names = keys.list().map_err(to_text)?;
    names
        .iter()
        .filter_map(|name| keys.load(name).ok())
        .find(|key| reenact_formats::rer::seal::Signer::public_key(key).id().to_string() == key_id)
        .ok_or_else(|| format!("none of your keys is the one that it began under ({})", Shown::new(&key_id)))
}

/// Returns the text about a recovered run: its calls, the origin of its events, and the artifact.
fn recovered_text(id: RunId, found: &RecoveryFacts, sealed: &SealedArtifact) -> String {
    let path = sealed.path.to_string_lossy();
    let counts = sealed.counts;
    let mut calls = vec![quantity::count(counts.model_calls, "model call")];
    if counts.http_calls > 0 {
        calls.push(quantity::count(counts.http_calls, "other request"));
    }
    let mut facts =
        vec![format!("{} and {}", calls.join(", "), quantity::count(counts.tool_calls, "tool call"))];
    let Recovered { requests, answers, cut } = found.from_log;
    let counted = |(count, what)| (count > 0).then(|| quantity::count(count as u64, what));
    let from_log: Vec<String> =
        [(requests, "request"), (answers, "answer")].into_iter().filter_map(counted).collect();
    if !from_log.is_empty() {
        facts.push(format!("{} only from its log", from_log.join(" and ")));
    }
    if let Some(cut) = counted((cut, "answer")) {
        facts.push(format!("{cut} broke off"));
    }
    if found.torn_bytes > 0 {
        facts
            .push(format!("the last {} of its journal were torn", quantity::count(found.torn_bytes, "byte")));
    }
    let (facts, size) = (facts.join("; "), quantity::size(sealed.size));
    format!("recovered {id}: {facts}\nsealed: {} ({size})\n", Shown::whole(&path))
}

/// Converts an error into its message.
fn to_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Converts an error into a message with exit code 2.
fn impossible(error: impl std::fmt::Display) -> CommandError {
    CommandError::impossible(error.to_string())
}
