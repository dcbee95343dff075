//! The summary of a recording on standard error, after the sealed file was verified as a reader would.
//!
//! At most three lines: what was recorded, what was not, what to do next. What went wrong is said before them; a key that is
//! new, once, and a Replay Bundle behind them. Start reading at [`print()`].

use reenact_json::Shown;
use reenact_json::print::PrintObjectWriter;
use reenact_record::RunId;
use reenact_run::{EventType, Run, Summary};

use super::EXIT_RECORDING_FAILED;
use super::agent::FinishedAgent;
use super::command_words::{command_line, replay_words};
use super::missing::{gap_parts, missing_line};
use super::options::RecordArgs;
use super::policy_summary::enforcement_summary;
use super::replay_bundle_out::MadeReplayBundle;
use super::seal::SealedRun;
use super::start::Preparation;
use crate::command::show::json::write_facts;
use crate::output;
use crate::{child, quantity, runs, vendors};

/// Number of digits at the end of an id by which a run is named.
const ID_DIGITS: usize = 6;

/// Prints the summary to standard error, and returns the exit code: the agent's, or 125 if not everything was recorded.
///
/// With `--quiet` only notes and failures are printed.
pub(super) fn print(
    options: &RecordArgs,
    prepared: &Preparation,
    finished: &FinishedAgent,
    sealed: &SealedRun,
    bundle: Option<&MadeReplayBundle>,
    is_emitted: bool,
) -> u8 {
    for note in &finished.notes {
        output::print_notice(note);
    }
    if let Some(unrecorded) = &finished.recording_error {
        let path = sealed.artifact.path.to_string_lossy();
        output::print_notice(&format!("{unrecorded}; the record in {} says so", Shown::whole(&path)));
    }
    if options.agent.json {
        output::print_error_line(&as_json(options, prepared, sealed, bundle, is_emitted));
    } else if !options.quiet {
        let run = sealed.opened.run.as_ref().ok();
        let recording = FinishedRecording { options, prepared, finished, sealed, run, is_emitted };
        recording.lines().iter().for_each(|line| output::print_notice(line));
    }
    // With --quiet only what went wrong is said, and the bundle of a failure belongs to that.
    if let Some(bundle) = bundle.filter(|bundle| !options.agent.json && (!options.quiet || bundle.has_failed))
    {
        output::print_notice(&bundle.line());
    }
    if finished.recording_error.is_some() {
        EXIT_RECORDING_FAILED
    } else {
        child::shell_exit_code(finished.exit)
    }
}

/// Returns the summary as one JSON object: where the record is, and what `show --json` says of it but for the steps.
fn as_json(
    options: &RecordArgs,
    prepared: &Preparation,
    sealed: &SealedRun,
    bundle: Option<&MadeReplayBundle>,
    is_emitted: bool,
) -> String {
    let mut line = String::new();
    let mut object = PrintObjectWriter::open(&mut line);
    object.string("out", sealed.artifact.path.to_string_lossy().as_ref());
    if let Some(emit) = options.emit.as_ref().filter(|_| is_emitted) {
        object.string("emitted", emit.replay().to_string_lossy().as_ref());
    }
    object.name("bytes").push_str(&sealed.artifact.size.to_string());
    if let Ok(run) = &sealed.opened.run {
        write_facts(run, &sealed.opened.report, &prepared.prices, &mut object);
    }
    if let Some(bundle) = bundle {
        bundle.write(&mut object);
    }
    object.close();
    line
}

/// A recording that is over, with all that its summary is made of.
struct FinishedRecording<'r> {
    options: &'r RecordArgs,
    prepared: &'r Preparation,
    finished: &'r FinishedAgent,
    sealed: &'r SealedRun,
    run: Option<&'r Run>,
    /// True if `--emit` was given, and its files are whole.
    is_emitted: bool,
}

impl FinishedRecording<'_> {
    /// Returns the lines: nothing captured comes first.
    fn lines(&self) -> Vec<String> {
        let summary = self.run.map(|run| run.summary_at(&self.prepared.prices)).unwrap_or_default();
        let missing = self.run.and_then(|run| missing_line(run, &summary, self.sealed.unseen_files));
        let mut lines = match self.nothing_line(&summary) {
            Some(nothing) => {
                let rest = missing.map(|missing| format!("; {missing}")).unwrap_or_default();
                vec![nothing, format!("{}{rest}", self.outcome_line(&summary))]
            }
            None => [self.outcome_line(&summary)].into_iter().chain(missing).collect(),
        };
        lines.push(self.next_line(&summary));
        lines.extend(self.new_key_line());
        lines
    }

    /// Returns the line of a run in which no call was recorded: why that may be, and what to do. `None` if there was one, or if the
    /// policy denied what there was.
    fn nothing_line(&self, summary: &Summary) -> Option<String> {
        let counts = &self.sealed.counts;
        let is_denied = |run: &Run| run.events().any(|event| event.kind() == Some(EventType::StepBlocked));
        if counts.model_calls + counts.http_calls > 0 || self.run.is_some_and(is_denied) {
            return None;
        }
        let refused = self.run.map(gap_parts).unwrap_or_default();
        if !refused.is_empty() {
            let is_websocket = refused.iter().any(|part| part.contains("WebSocket upgrade"));
            let advice = if is_websocket { "; set the agent to plain HTTP, if it speaks that" } else { "" };
            return Some(format!(
                "nothing was recorded: the agent did come here, but with what cannot be recorded ({}){advice}",
                refused.join(", ")
            ));
        }
        if let Some(agent) = self.prepared.agent.recorded() {
            let name = Shown::new(agent.name);
            // What is known of this agent as it is set up, with what to do, was said at the start, before all that it printed.
            let known = self.prepared.agent.unrecorded();
            return Some(match known.as_slice() {
                [] => format!(
                    "nothing was recorded: {name} sent no request here, although it was told to; what it was told: reenact record --dry-run {}",
                    command_line(&summary.command)
                ),
                known => format!("nothing was recorded: {name} sent no request here; {}", known.join("; ")),
            });
        }
        let variables = vendors::base_variables();
        Some(format!(
            "nothing was recorded: no request came here; does the agent read {variables}? If another variable, name it: --base-url-var NAME"
        ))
    }

    /// Returns the line on what was recorded: calls, tools, cost, time, under which policy, and the name of the run.
    fn outcome_line(&self, summary: &Summary) -> String {
        let counts = &self.sealed.counts;
        let mut calls = vec![quantity::count(counts.model_calls, "model call")];
        if counts.http_calls > 0 {
            calls.push(quantity::count(counts.http_calls, "other request"));
        }
        let calls = format!("{} and {}", calls.join(", "), quantity::count(counts.tool_calls, "tool call"));
        let tokens = match (summary.input_tokens(), summary.output_tokens()) {
            (0, 0) => String::new(),
            (input, output) => format!(", {}", quantity::tokens(input, output)),
        };
        let cost = quantity::run_cost(summary).map(|cost| format!(", {cost}")).unwrap_or_default();
        format!(
            "recorded {calls}{tokens}{cost}, {} ({}); {} → {}",
            quantity::duration(self.finished.duration),
            self.finished.exit,
            self.policy(),
            self.place()
        )
    }

    /// Returns who authorised the run and what was denied, or that nothing was restricted.
    fn policy(&self) -> String {
        match &self.prepared.envelope_file {
            None => "no policy was set".to_owned(),
            Some(file) => enforcement_summary(
                file,
                self.options.policy_mode,
                self.run,
                self.sealed.opened.report.audit.as_ref(),
            ),
        }
    }

    /// Returns where the record is: the file of `--out`, else the last digits of the run's id, with its size, the key of
    /// `--key`, and how much has no place in the format of `--out`.
    fn place(&self) -> String {
        let artifact = &self.sealed.artifact;
        let mut size = quantity::size(artifact.size);
        if self.options.key.is_some() {
            size.push_str(&format!(", key \"{}\"", self.prepared.signing.name));
        }
        let id = self.run.map(Run::id).unwrap_or_default();
        let digits = id.get(id.len().saturating_sub(ID_DIGITS)..).unwrap_or(id);
        if let lost @ 1.. = self.sealed.lost as u64 {
            let verb = if lost == 1 { "has" } else { "have" };
            size.push_str(&format!(
                "; {} {verb} no place in it, the whole run is {digits}",
                quantity::count(lost, "thing")
            ));
        }
        let mut place = match &self.options.out {
            Some(_) => format!("{} ({size})", Shown::whole(&artifact.path.to_string_lossy())),
            None => format!("{digits} ({size})"),
        };
        if let Some(emit) = self.options.emit.as_ref().filter(|_| self.is_emitted) {
            place.push_str(&format!(", {}", Shown::whole(&emit.replay().to_string_lossy())));
        }
        place
    }

    /// Returns what to do next: runs that were never sealed come first.
    fn next_line(&self, summary: &Summary) -> String {
        let name = self.options.run_name(&self.sealed.artifact.path);
        // An artifact elsewhere may be of another format, whose command is not run unasked.
        let command = match self.options.out {
            Some(_) => format!(" -- {}", command_line(&summary.command)),
            None => replay_words(&summary.command),
        };
        // Runs that another process is recording at the moment are not among them.
        let unsealed = runs::run_store().ok().and_then(|store| store.unsealed_runs().ok());
        let unsealed = unsealed_advice(&unsealed.unwrap_or_default());
        let unsealed = unsealed.map(|advice| format!("{advice}, ")).unwrap_or_default();
        format!("next: {unsealed}reenact show {name}, reenact replay {name}{command}")
    }

    /// Returns the line on a key that this recording created.
    fn new_key_line(&self) -> Option<String> {
        let signing = &self.prepared.signing;
        let path = signing.created_at_path.as_ref()?.to_string_lossy();
        Some(format!(
            "the key \"{}\" was made for you just now ({}); who checks your runs needs its public half: reenact keys export {}",
            signing.name,
            Shown::whole(&path),
            signing.name
        ))
    }
}

/// Returns what to do about earlier runs that were never sealed; `runs` is sorted, oldest first.
fn unsealed_advice(runs: &[RunId]) -> Option<String> {
    match runs {
        [] => None,
        [run] => Some(format!("reenact runs recover {run} (never sealed)")),
        several => Some(format!(
            "reenact runs recover ({} were never sealed)",
            quantity::count(several.len() as u64, "run")
        )),
    }
}
