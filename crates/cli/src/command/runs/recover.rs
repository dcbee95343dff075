//! `reenact runs recover`: seals runs whose recorder was killed, with everything that had passed through it.
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
//! What is done with one run is in `recovery`; start reading at [`RecoverArgs::run`].

use std::path::Path;

use reenact_capture::Recovered;
use reenact_json::Shown;
use reenact_json::print::PrintObjectWriter;
use reenact_record::{RunId, RunStore, SealedArtifact, wal};

use super::recovery::{RecoverFailure, RecoverOutcome, RecoveryFacts, recover};
use super::{find_own_run, impossible};
use crate::agent::overlay;
use crate::command::record::{late_secrets_notice, shell_quoted};
use crate::config::UserConfig;
use crate::output::{self, CommandError};
use crate::{quantity, runs};

/// Seal a run whose recorder was killed, with all that had passed through it
///
/// What passes through a recorder is written to memory that outlives it before it is passed on, and from there into the
/// journal. After a kill, this command writes what is missing, notes what broke off, and seals the run with the key that it
/// began under. After the machine itself went down the journal alone is left, and is sealed as far as it goes. Without a name,
/// all runs are looked after; one that is being recorded is left alone.
///
/// The journal is compared with what the recorder's log says of it. A run whose journal someone changed is refused for good;
/// where the journal only became shorter, a gap names the events that are gone. Logs of runs that are sealed, refused or
/// gone are removed, and so are journals of runs whose artifact is there and verifies.
///
/// Exit codes: 0 all that was named is sealed; 1 a run is refused for good; 2 a run could not be recovered.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact runs recover\n  reenact runs recover 0190f3\n  reenact runs recover --json"
)]
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
            Some(given) => vec![find_own_run(given, &store)?],
            None => unfinished_runs(&store)?,
        };
        if found.is_empty() && !self.json {
            output::print("nothing to recover: every run is sealed\n")?;
        }
        let keys = UserConfig::require()?.key_store();
        let mut code = 0;
        for id in found {
            let Some(outcome) = recover(&store, id, &keys) else { continue };
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
                Ok(RecoverOutcome::Sealed { path, removed_journal }) => {
                    let path = path.to_string_lossy();
                    let removed =
                        if removed_journal { "; the journal that was left was removed" } else { "" };
                    output::print(&format!("{id} is sealed: {}{removed}\n", Shown::whole(&path)))?;
                }
                // The message names the run, or its journal.
                Err(failure) if failure.is_refused() => output::print_notice(&failure.message),
                Err(failure) => output::print_notice(&format!("{id}: {}", failure.message)),
            }
        }
        overlay::remove_leftovers(&store);
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

/// Returns the ids of the runs that are not sealed, and of those whose journal is still there, oldest first.
fn unfinished_runs(store: &RunStore) -> Result<Vec<RunId>, CommandError> {
    let mut ids = store.unsealed_runs().map_err(impossible)?;
    ids.extend(store.leftover_journals().map_err(impossible)?);
    ids.sort();
    Ok(ids)
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
        Ok(RecoverOutcome::Sealed { path: artifact, removed_journal }) => {
            object.string("outcome", "sealed");
            object.string("artifact", path(artifact).as_str());
            if *removed_journal {
                object.name("removed_journal").push_str("true");
            }
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
        let torn =
            quantity::count_of(found.torn_bytes, "byte of its journal was", "bytes of its journal were");
        facts.push(format!("the last {torn} torn"));
    }
    if found.lost_events > 0 {
        let lost = quantity::count(found.lost_events, "event");
        let verb = if found.lost_events == 1 { "is" } else { "are" };
        facts.push(format!("{lost} of its journal {verb} gone"));
    }
    let (facts, size) = (facts.join("; "), quantity::size(sealed.size));
    format!("recovered {id}: {facts}\nsealed: {} ({size})\n", Shown::whole(&path))
}
