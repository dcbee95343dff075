//! The summary of a recording on standard error, after the sealed file was verified as a reader would.

use reenact_json::Shown;
use reenact_record::RunId;
use reenact_run::{EventType, OpenedRecord, Run};

use super::EXIT_RECORDING_FAILED;
use super::agent::FinishedAgent;
use super::command_words::command_line;
use super::options::RecordArgs;
use super::policy_summary::enforcement_summary;
use super::seal::SealedRun;
use super::start::Preparation;
use crate::output;
use crate::{child, quantity, runs, vendors};

/// Prints the summary to standard error, and returns the exit code: the agent's, or 125 if not everything was recorded.
///
/// With `--quiet` only notes and failures are printed.
pub(super) fn print(
    options: &RecordArgs,
    prepared: &Preparation,
    finished: &FinishedAgent,
    sealed_run: &SealedRun,
) -> u8 {
    let Preparation { signing, prices, .. } = prepared;
    let envelope_file = prepared.envelope_file.as_deref();
    let (sealed, counts) = (&sealed_run.artifact, &sealed_run.counts);
    let path = sealed.path.to_string_lossy();
    let path = Shown::whole(&path);
    let OpenedRecord { run, report } = &sealed_run.opened;
    for note in &finished.notes {
        output::print_notice(note);
    }
    if let Some(unrecorded) = &finished.recording_error {
        output::print_notice(&format!("{unrecorded}; the record in {path} says so"));
    }
    if !options.quiet {
        let summary = run.as_ref().map(|run| run.summary_at(prices)).unwrap_or_default();
        let mut calls = vec![quantity::count(counts.model_calls, "model call")];
        if counts.http_calls > 0 {
            calls.push(quantity::count(counts.http_calls, "other request"));
        }
        let calls = format!("{} and {}", calls.join(", "), quantity::count(counts.tool_calls, "tool call"));
        let tokens = match (summary.input_tokens(), summary.output_tokens()) {
            (0, 0) => String::new(),
            (input, output) => {
                format!(", {} tokens in, {} out", quantity::grouped(input), quantity::grouped(output))
            }
        };
        let cost = summary.cost().map(|cost| format!(", {}", quantity::cost(cost)));
        output::print_notice(&format!(
            "recorded {calls}{tokens}{}, {} ({})",
            cost.unwrap_or_default(),
            quantity::duration(finished.duration),
            finished.exit
        ));
        if let Some(trouble) = run.as_ref().ok().and_then(unanswered_summary) {
            output::print_notice(&trouble);
        }
        if summary.withheld > 0 {
            let count = quantity::count(summary.withheld as u64, "payload");
            output::print_notice(&format!(
                "{count} withheld; what a withheld tool got and gave is still in the requests to its model"
            ));
        }
        let size = quantity::size(sealed.size);
        output::print_notice(&format!("sealed and verified: {path} ({size}, key \"{}\")", signing.name));
        if let Some(made_at) = &signing.created_at_path {
            let made_at = made_at.to_string_lossy();
            output::print_notice(&format!("this key was made for you just now: {}", Shown::whole(&made_at)));
            output::print_notice(&format!(
                "whoever checks your runs needs its public half: reenact keys export {}",
                signing.name
            ));
        }
        let is_denied = |run: &Run| run.events().any(|event| event.kind() == Some(EventType::StepBlocked));
        if counts.model_calls + counts.http_calls == 0 && !run.as_ref().is_ok_and(is_denied) {
            let variables = vendors::base_variables();
            output::print_notice(&format!("no request came through: does the agent read {variables}?"));
        } else if envelope_file.is_none() {
            output::print_notice("no policy was set: every call was let through (observe-only)");
        }
        if let Some(file) = envelope_file {
            let (run, audit) = (run.as_ref().ok(), report.audit.as_ref());
            output::print_notice(&enforcement_summary(file, options.policy_mode, run, audit));
        }
        // Runs that another process is recording at the moment are not among them.
        let unsealed = runs::run_store().ok().and_then(|store| store.unsealed_runs().ok());
        if let Some(advice) = unsealed_notice(&unsealed.unwrap_or_default()) {
            output::print_notice(&advice);
        }
        let (name, command) = (options.run_name(&sealed.path), command_line(&summary.command));
        output::print_notice(&format!("next: reenact show {name}"));
        output::print_notice(&format!("      reenact replay {name} -- {command}"));
    }
    if finished.recording_error.is_some() {
        EXIT_RECORDING_FAILED
    } else {
        child::shell_exit_code(finished.exit)
    }
}

/// Returns a notice on earlier runs that were never sealed; `runs` is sorted, oldest first.
fn unsealed_notice(runs: &[RunId]) -> Option<String> {
    match runs {
        [] => None,
        [run] => Some(format!("run {run} was never sealed; seal it with: reenact runs recover {run}")),
        [oldest, .., newest] => Some(format!(
            "{} were never sealed, from {oldest} to {newest}; seal them all with: reenact runs recover",
            quantity::count(runs.len() as u64, "run")
        )),
    }
}

/// Returns a line on requests without an answer and answers that broke off, with the first error of the run;
/// `None` if there are neither. The agent's result may be worthless then.
fn unanswered_summary(run: &Run) -> Option<String> {
    let (mut unanswered, mut cut) = (0, 0);
    for answer in run.exchanges().filter_map(|exchange| exchange.answer().ok()) {
        match answer.status {
            None => unanswered += 1,
            Some(_) if !answer.complete => cut += 1,
            Some(_) => {}
        }
    }
    let mut problems = Vec::new();
    if unanswered > 0 {
        problems.push(format!("{} got no answer", quantity::count(unanswered, "request")));
    }
    if cut > 0 {
        problems.push(format!("{} broke off", quantity::count(cut, "answer")));
    }
    if problems.is_empty() {
        return None;
    }
    let error = run.events().find(|event| event.kind() == Some(EventType::ErrorRaised));
    let why = error.and_then(|error| error.payload().value()?.member("message")?.string());
    let why = why.map(|why| format!(": {}", Shown::whole(&why))).unwrap_or_default();
    Some(format!("{}{why}", problems.join(", ")))
}
