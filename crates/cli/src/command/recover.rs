//! `reenact recover`: seals runs whose recorder was killed, with everything that had passed through it.
//!
//! A recorder writes traffic to a log in memory before it passes the traffic on, and from there to the journal.
//! After a kill the log still exists: its events are appended to the journal, and the run is sealed with status
//! `crashed`. After a power failure only the journal is left, and is sealed up to its last whole event.
//!
//! ```text
//! recovered 0198…: 2 model calls and 1 tool call; 1 answer broke off
//! sealed: /home/me/.local/state/reenact/runs/0198…/artifact.rer.json (24.1 KB)
//! ```
//!
//! Start reading at [`recover`].

use std::path::{Path, PathBuf};

use reenact_capture::{LeftoverLog, Recovered};
use reenact_json::Shown;
use reenact_json::print::PrintObjectWriter;
use reenact_keys::{KeyStore, SecretKey};
use reenact_record::wal::{self, WalDir};
use reenact_record::{
    LateSecrets, RecordError, Recorder, ResumeError, RunEnd, RunId, RunStatus, RunStore, RunStoreError,
    SealedArtifact,
};
use reenact_verify::{Keys, Options};

use super::record::{late_secrets_notice, shell_quoted};
use crate::config::UserConfig;
use crate::output::{self, CommandError};
use crate::quantity;
use crate::runs::run_name::RunName;
use crate::runs::{self, RunStores};

/// Seal a run whose recorder was killed, with all that had passed through it
///
/// What passes through a recorder is written to memory that outlives it before it is passed on, and from there into the
/// journal. After a kill, this command writes what is missing, notes what broke off, and seals the run with the key that it
/// began under. After the machine itself went down the journal alone is left, and is sealed as far as it goes. Without a name,
/// all runs are looked after; one that is being recorded is left alone.
///
/// The journal is compared with what the recorder's log says of it. A run whose journal someone changed is refused for good;
/// where the journal only became shorter, a gap names the events that are gone. Logs of runs that are sealed, refused or
/// gone are removed.
///
/// Exit codes: 0 all that was named is sealed; 1 a run is refused for good; 2 a run could not be recovered.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact recover\n  reenact recover 0190f3\n  reenact recover --json")]
pub(super) struct RecoverArgs {
    /// A run id, the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    run: Option<String>,

    /// One JSON object a line for each run
    #[arg(long)]
    json: bool,
}

impl RecoverArgs {
    /// Recovers the named run, or every unsealed run of the current folder. The exit code is 2 if one of them
    /// cannot be recovered, and 1 if one is refused.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let store = runs::run_store()?;
        let found = match &self.run {
            Some(given) => vec![find_run(given, &store)?],
            None => store.unsealed_runs().map_err(impossible)?,
        };
        if found.is_empty() && !self.json {
            output::print("nothing to recover: every run is sealed\n")?;
        }
        let keys = UserConfig::require()?.key_store();
        let mut code = 0;
        for id in found {
            let outcome = match store.sealed_artifact(id) {
                Ok(path) => Ok(RecoverOutcome::Sealed(path)),
                Err(error @ RunStoreError::Refused { .. }) => Err(RecoverFailure::refused(error)),
                Err(_) => recover(&store, id, &keys),
            };
            if let Err(failure) = &outcome {
                code = code.max(failure.exit_code());
            }
            if self.json {
                output::print(&outcome_as_json(id, &outcome))?;
                continue;
            }
            match outcome {
                Ok(RecoverOutcome::Recovered(found, sealed)) => {
                    output::print(&recovered_text(id, &found, &sealed))?;
                    let path = shell_quoted(&sealed.path.to_string_lossy());
                    let late_secrets = found.late_secrets.as_ref();
                    let notice = late_secrets.and_then(|found| late_secrets_notice(found, &path, false));
                    notice.iter().for_each(|notice| output::print_notice(notice));
                }
                Ok(RecoverOutcome::Sealed(path)) => {
                    let path = path.to_string_lossy();
                    output::print(&format!("{id} is sealed: {}\n", Shown::whole(&path)))?;
                }
                // The message names the run, or its journal.
                Err(failure) if failure.is_refused() => output::print_notice(&failure.message),
                Err(failure) => output::print_notice(&format!("{id}: {}", failure.message)),
            }
        }
        // Last, so that the logs of the runs that were sealed just now are gone for certain.
        let removed = wal::remove_orphans(&store).len() as u64;
        if removed > 0 {
            output::print(&match self.json {
                true => format!("{{\"removed_logs\":{removed}}}\n"),
                false => format!("removed {} of runs that are over\n", quantity::count(removed, "log")),
            })?;
        }
        Ok(code)
    }
}

/// Returns the id of the run of `store` that a name means.
///
/// # Errors
///
/// If there is no such run, or it is one that an earlier version left in the current folder, where nothing is written.
fn find_run(given: &str, store: &RunStore) -> Result<RunId, CommandError> {
    let name = RunName::parse(given).ok_or_else(|| {
        let given = Shown::new(given);
        impossible(format!("\"{given}\" names no run: give an id, the beginning of one, or `last`"))
    })?;
    let found = RunStores::open()?.find_run(name)?;
    if found.store != *store {
        let (from, to) = (found.store.run_path(found.id), store.run_path(found.id));
        let (from, to) = (from.to_string_lossy(), to.to_string_lossy());
        return Err(impossible(format!(
            "{}: runs of earlier versions are only read; move it to {} first",
            Shown::whole(&from),
            Shown::whole(&to)
        )));
    }
    Ok(found.id)
}

/// Result for one run.
enum RecoverOutcome {
    /// The run is sealed now.
    Recovered(RecoveryFacts, Box<SealedArtifact>),
    /// The run had been sealed before; the path is that of its artifact.
    Sealed(PathBuf),
}

/// Reason why a run is not sealed.
struct RecoverFailure {
    /// Code for programs.
    code: &'static str,
    /// Reason for people, safe to print.
    message: String,
}

impl RecoverFailure {
    /// Code of a run that is refused for good.
    const REFUSED: &str = "E_RUN_REFUSED";

    /// Returns the failure of a run that is refused for good.
    fn refused(error: impl std::fmt::Display) -> Self {
        Self { code: Self::REFUSED, message: error.to_string() }
    }

    /// Returns any other failure.
    fn of(error: impl std::fmt::Display) -> Self {
        Self { code: "E_NOT_RECOVERED", message: error.to_string() }
    }

    fn is_refused(&self) -> bool {
        self.code == Self::REFUSED
    }

    fn exit_code(&self) -> u8 {
        if self.is_refused() { 1 } else { 2 }
    }
}

impl From<ResumeError> for RecoverFailure {
    fn from(error: ResumeError) -> Self {
        match error {
            ResumeError::Busy { .. } => {
                Self { code: "E_RUN_BUSY", message: "another reenact is recording it at this moment".into() }
            }
            ResumeError::Refused { .. } | ResumeError::NotAsWritten { .. } => Self::refused(error),
            _ => Self::of(error),
        }
    }
}

/// Facts about a recovery beside the whole events of the journal.
#[derive(Default)]
struct RecoveryFacts {
    /// Requests and answers that only the log had.
    from_log: Recovered,
    /// Bytes at the journal's end that are no whole event and that no log replaces.
    torn_bytes: u64,
    /// Number of events that the journal once had, by the log, and that are gone.
    lost_events: u64,
    /// Events that hold a value which became known as a secret later.
    late_secrets: Option<Result<LateSecrets, RecordError>>,
}

/// Completes the journal of a run from its log, and seals it with the key under which it began.
///
/// # Errors
///
/// A message if the key is missing, another process is recording the run, or the journal or the log cannot be read.
fn recover(store: &RunStore, id: RunId, keys: &KeyStore) -> Result<RecoverOutcome, RecoverFailure> {
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
                let why =
                    format!("its last {} bytes were no whole event, and were cut off", found.torn_bytes);
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
        if is_artifact_of(&out.path, id, &key) {
            return Ok(RecoverOutcome::Sealed(out.path));
        }
        out.path = store.artifact_path(id);
    }
    let sealed = ended.seal_to(&key, &out).map_err(RecoverFailure::of)?;
    if let Some(dir) = &dir {
        // Everything in the log is sealed now. If the log stays, it only occupies memory.
        let _ = wal::remove_run(dir, id);
    }
    Ok(RecoverOutcome::Recovered(found, Box::new(sealed)))
}

/// Returns true if a file is the artifact of the run `id`, intact and signed by the key that the run began under.
fn is_artifact_of(path: &Path, id: RunId, key: &SecretKey) -> bool {
    let Ok(bytes) = reenact_verify::disk::read(path) else { return false };
    let mut keys = Keys::default();
    keys.add_supplied(reenact_formats::rer::seal::Signer::public_key(key));
    let opened = reenact_run::open(bytes, &keys, &Options::default());
    opened.report.pass() && opened.run.is_ok_and(|run| run.id() == id.to_string())
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

/// Returns one JSON object, with a line feed, about one run.
fn outcome_as_json(id: RunId, outcome: &Result<RecoverOutcome, RecoverFailure>) -> String {
    let mut line = String::new();
    let mut object = PrintObjectWriter::open(&mut line);
    object.string("run_id", id.to_string().as_str());
    let path = |path: &Path| path.to_string_lossy().into_owned();
    match outcome {
        Ok(RecoverOutcome::Recovered(found, sealed)) => {
            object.string("outcome", "recovered");
            object.string("artifact", path(&sealed.path).as_str());
            let (counts, Recovered { requests, answers, cut }) = (sealed.counts, found.from_log);
            for (name, count) in [
                ("bytes", sealed.size),
                ("events", counts.events),
                ("model_calls", counts.model_calls),
                ("http_calls", counts.http_calls),
                ("tool_calls", counts.tool_calls),
                ("gaps", counts.gaps),
                ("requests_from_log", requests as u64),
                ("answers_from_log", answers as u64),
                ("answers_cut", cut as u64),
                ("torn_bytes", found.torn_bytes),
                ("lost_events", found.lost_events),
            ] {
                object.name(name).push_str(&count.to_string());
            }
            if let Some(Ok(late)) = &found.late_secrets {
                let events: Vec<String> = late.events.iter().map(u64::to_string).collect();
                object.name("late_secret_events").push_str(&format!("[{}]", events.join(",")));
            }
        }
        Ok(RecoverOutcome::Sealed(artifact)) => {
            object.string("outcome", "sealed");
            object.string("artifact", path(artifact).as_str());
        }
        Err(failure) => {
            object.string("outcome", if failure.is_refused() { "refused" } else { "failed" });
            object.string("code", failure.code);
            object.string("message", failure.message.as_str());
        }
    }
    object.close();
    line + "\n"
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
    if found.lost_events > 0 {
        let lost = quantity::count(found.lost_events, "event");
        let verb = if found.lost_events == 1 { "is" } else { "are" };
        facts.push(format!("{lost} of its journal {verb} gone"));
    }
    let (facts, size) = (facts.join("; "), quantity::size(sealed.size));
    format!("recovered {id}: {facts}\nsealed: {} ({size})\n", Shown::whole(&path))
}

/// Converts an error into a message with exit code 2.
fn impossible(error: impl std::fmt::Display) -> CommandError {
    CommandError::impossible(error.to_string())
}
