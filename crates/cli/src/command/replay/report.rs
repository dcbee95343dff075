//! Words for the result of a replay, and the file that keeps it.
//!
//! Start reading at `ReplayArgs::report_result`.

use std::path::PathBuf;

use reenact_json::Shown;
use reenact_keys::durable::{self, Readers};
use reenact_record::RunId;
use reenact_replay::{self as replay, ReplayOutcome, ReplayRecord, ReplayVerdict, UnusedExchange};
use reenact_run::FormatId;
use reenact_sandbox::{Isolation, SandboxReport};

use super::matching::{self, found_by_phrase};
use super::{ReplayArgs, bundle};
use crate::output::{self, CommandError};
use crate::{child, quantity, runs};

/// Largest number of misses that are shown without `--diff`: what follows the first often follows from it.
const MAX_SHOWN_MISSES: usize = 3;

impl ReplayArgs {
    /// Saves the record of the replay, prints the result, and returns the exit code.
    ///
    /// With `--pass-exit` it is that of the agent, unless a request had no answer. A record that cannot be
    /// saved is only a notice.
    pub(super) fn report_result(
        &self,
        record: &ReplayRecord,
        enforcement: &SandboxReport,
    ) -> Result<u8, CommandError> {
        let saved = save_record(record);
        if self.json {
            output::print(&(record.to_json() + "\n"))?;
        } else {
            self.print_result(record, enforcement);
        }
        match saved {
            Ok(path) if !self.json => {
                output::print_notice(&format!(
                    "report of this replay: {}",
                    Shown::whole(&path.to_string_lossy())
                ));
            }
            Ok(_) => {}
            Err(error) => {
                output::print_notice(&format!("the record of this replay could not be kept: {error}"))
            }
        }
        let verdict = record.verdict();
        Ok(match verdict {
            ReplayVerdict::Reproduced | ReplayVerdict::Differed if self.pass_exit => {
                child::shell_exit_code(record.child_exit)
            }
            verdict => verdict.exit_code(),
        })
    }

    /// Prints the requests without a recorded answer.
    pub(super) fn print_misses(&self, outcome: &ReplayOutcome) {
        let misses = &outcome.misses;
        let shown = if self.diff { misses.len() } else { misses.len().min(MAX_SHOWN_MISSES) };
        for miss in misses.iter().take(shown) {
            output::print_notice(&if self.diff { format!("{miss:#}") } else { miss.to_string() });
        }
        if let Some(more) = misses.len().checked_sub(shown).filter(|more| *more > 0) {
            let requests = quantity::count(more as u64, "other request");
            output::print_notice(&format!(
                "{requests} without a recorded answer: --diff shows all, the report has them, too"
            ));
        }
    }

    /// Returns why a replay differed, as part of a line.
    pub(super) fn differing_reasons(&self, record: &ReplayRecord) -> String {
        let (outcome, exit) = (&record.outcome, record.child_exit);
        let mut why = Vec::new();
        let unused = outcome.unused.iter().filter(|unused| !unused.is_side_call).count();
        if unused > 0 {
            why.push(format!("{} not asked for", quantity::count(unused as u64, "exchange")));
        }
        if !outcome.is_reproduction() {
            why.push(format!("results of tools are others, {} found", hits_phrase(outcome)));
        }
        if let Some(recorded) = record.recorded_exit.filter(|recorded| *recorded != exit) {
            why.push(format!("{exit}, recorded was {recorded}"));
        }
        why.extend(record.bundle.as_ref().and_then(bundle::failure_phrase));
        why.extend(record.bundle.as_ref().and_then(bundle::differing_phrase));
        if self.same_output && record.has_other_output() {
            why.push("the output is not the recorded one".to_owned());
        }
        why.join("; ")
    }

    /// Prints the result to standard error: misses, unused exchanges, the verdict and the isolation.
    fn print_result(&self, record: &ReplayRecord, enforcement: &SandboxReport) {
        let outcome = &record.outcome;
        let ReplayOutcome { missed, unused, ambiguous, rebuilt, found_by, .. } = outcome;
        self.print_misses(outcome);
        for notice in matching::differing_notices(outcome) {
            output::print_notice(&notice);
        }
        if let Some(unused) = unused_notice(unused) {
            output::print_notice(&unused);
        }
        for notice in record.bundle.iter().flat_map(bundle::comparison_notices) {
            output::print_notice(&notice);
        }
        if *ambiguous > 0 {
            output::print_notice(&ambiguous_notice(*ambiguous, &record.format));
        }
        if let Some(note) = rebuilt_notice(*rebuilt, *found_by) {
            output::print_notice(&note);
        }
        let (hits, exit) = (hits_phrase(outcome), record.child_exit);
        let line = match record.verdict() {
            ReplayVerdict::Reproduced => {
                let how =
                    reproduced_line(&hits, *found_by, &exit.to_string(), record.recorded_exit.is_some());
                match enforcement.isolation {
                    Isolation::None => format!("reproduced, NOT hermetic: {how}"),
                    _ => format!("reproduced: {how}"),
                }
            }
            ReplayVerdict::Differed => format!("differed: {}", self.differing_reasons(record)),
            ReplayVerdict::MissingDependency => format!(
                "could not be reproduced: {} with no recorded answer (E_REPLAY_MISSING_DEPENDENCY), {hits} as recorded",
                quantity::count(*missed as u64, "request")
            ),
        };
        output::print_notice(&line);
        if record.verdict() == ReplayVerdict::Reproduced && record.has_other_output() {
            output::print_notice(
                "its output is not the recorded one, byte for byte (--same-output: that differs)",
            );
        }
        output::print_notice(&match enforcement.isolation {
            Isolation::None => "hermetic: not enforced, the agent had the whole network".to_owned(),
            Isolation::Landlock => {
                "hermetic: the kernel let it connect to the gateway's port alone (landlock), which any host may have".to_owned()
            }
            rung => format!("hermetic: the kernel cut off the network ({rung})"),
        });
    }
}

/// Returns the number of answers that were given, with the levels of their requests.
fn hits_phrase(outcome: &ReplayOutcome) -> String {
    let hits = quantity::count(outcome.hits() as u64, "exchange");
    match matching::levels_phrase(outcome) {
        Some(levels) => format!("{hits} ({levels})"),
        None => hits,
    }
}

/// Returns the words for a reproduced run: how its requests were matched, and whether its exit code was recorded.
fn reproduced_line(
    hits: &str,
    found_by: Option<replay::FoundBy>,
    exit: &str,
    is_exit_recorded: bool,
) -> String {
    match (found_by_phrase(found_by), is_exit_recorded) {
        (None, true) => format!("{hits}, {exit}, as recorded"),
        (None, false) => {
            format!("{hits} as recorded, {exit} (how the recorded run ended is not in the record)")
        }
        (Some(found), true) => format!("{hits} found by {found}, {exit} as recorded"),
        (Some(found), false) => {
            format!("{hits} found by {found}, {exit} (how the recorded run ended is not in the record)")
        }
    }
}

/// Returns a notice for a record without HTTP bytes: requests that were matched by a part, answers that were rebuilt.
fn rebuilt_notice(rebuilt: usize, found_by: Option<replay::FoundBy>) -> Option<String> {
    let found = found_by_phrase(found_by).map(|found| format!("requests were found by {found}"));
    let written = (rebuilt > 0).then(|| {
        let answers = quantity::count(rebuilt as u64, "answer");
        let were = if rebuilt == 1 { "was" } else { "were" };
        format!("{answers} {were} written anew in the vendor's shape")
    });
    let notes: Vec<String> = found.into_iter().chain(written).collect();
    (!notes.is_empty()).then(|| format!("the record holds no bytes of HTTP: {}", notes.join(", ")))
}

/// Returns a notice on requests of which the record of a format holds several answers.
fn ambiguous_notice(ambiguous: usize, format: &str) -> String {
    let requests = quantity::count(ambiguous as u64, "request");
    if FormatId::of_report(format) == Some(FormatId::ReplayBundle) {
        return format!(
            "for {requests} the bundle holds answers that contradict each other; the one with the most detail was given"
        );
    }
    let were = if ambiguous == 1 { "was" } else { "were" };
    format!(
        "{requests} {were} recorded more than once, each time with another answer; the answers were given in their recorded order"
    )
}

/// Returns a notice on recorded exchanges that the agent never asked for; `None` if there are none.
fn unused_notice(unused: &[UnusedExchange]) -> Option<String> {
    /// Number of steps that are named; the rest is counted.
    const NAMED: usize = 5;
    if let [UnusedExchange { step_id, label, model, .. }] = unused {
        let model = model.as_ref().map(|model| format!(", {model}")).unwrap_or_default();
        return Some(format!("never asked for: step {step_id} ({label}{model})"));
    }
    let named: Vec<String> = unused.iter().take(NAMED).map(|unused| unused.step_id.clone()).collect();
    let more = match unused.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| format!("never asked for: steps {}{more}", named.join(", ")))
}

/// Saves the record of a replay as `replays/<id>.json` in the state folder, and returns its path.
fn save_record(record: &ReplayRecord) -> Result<PathBuf, String> {
    let store = runs::run_store().map_err(CommandError::into_message)?;
    let id = RunId::generate().map_err(|error| error.to_string())?;
    let path = store.create_replay_path(id).map_err(|error| error.to_string())?;
    durable::create(&path, (record.to_json() + "\n").as_bytes(), Readers::Owner)
        .map_err(|error| error.to_string())?;
    Ok(path)
}
