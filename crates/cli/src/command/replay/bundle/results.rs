//! Results of a replayed bundle, one for each recorded answer and test, and their comparison with the bundle's.
//!
//! Two kinds of tests are in bundles. Those of a bundle that reenact made stand for recorded answers, so that a replay runs each of them
//! again. Those of other tools ran in these tools, so that nothing is known of them unless the command writes reports of its own.
//! Start reading at [`compare`].

use std::collections::BTreeMap;

use reenact_formats::replay_bundle::ManifestView;
use reenact_formats::replay_bundle::manifest::OutputsView;
use reenact_json::Shown;
use reenact_replay::{BundleComparison, ReplayOutcome};
use reenact_run::assay_report::{AssayTestResult, AssayTestStatus};
use reenact_run::bundled_outcome::{
    BundledTest, OutcomeDifference, differences, junit_cases, sarif_results, test_differences,
};
use reenact_run::{BundledOutcome, Exchange, Exit, Run};

use super::command_outputs::WrittenOutputs;
use super::inputs::{BundleFacts, manifest};

/// Place of the difference in how the command ended, which the line of the verdict tells.
pub(super) const COMMAND_EXIT: &str = "exit of the command";
/// Beginning of the place of an answer that was not asked for, which the lines about requests tell.
pub(super) const ANSWER: &str = "answer";
/// Place of the difference that the command wrote no reports that can be read.
pub(super) const REPORTS: &str = "run.json and summary.json";

/// Compares the outcome of a replay with that in its bundle, and returns the results of the replay with the comparison.
///
/// `written` are the reports that the command wrote, if they were asked for.
pub(super) fn compare(
    run: &Run,
    facts: &BundleFacts,
    seeds: Vec<(&'static str, String)>,
    outcome: &ReplayOutcome,
    child_exit: Exit,
    written: Option<&WrittenOutputs>,
) -> (Vec<AssayTestResult>, BundleComparison) {
    let mut comparison = facts.comparison(seeds);
    comparison.differences = exit_differences(facts.recorded.as_ref(), child_exit);
    let mut results = Vec::new();
    match &facts.recorded {
        Some(recorded) if recorded.is_of_exchanges => {
            compare_answers(run, recorded, outcome, &mut results, &mut comparison);
        }
        recorded => {
            // Ids of tests and of answers are often the same words.
            let prefix = if recorded.is_some() { "answer " } else { "" };
            results.extend(answer_results(run, prefix, outcome));
            compare_tests(recorded.as_ref(), written, &mut results, &mut comparison);
        }
    }
    compare_reports(run, written, &mut comparison);
    results.extend(missed_results(outcome));
    (results, comparison)
}

/// Returns one result that was not run for each recorded test, or for each recorded answer if there are no tests.
pub(super) fn skipped_results(run: &Run, facts: &BundleFacts) -> Vec<AssayTestResult> {
    let recorded = facts.recorded.iter().flat_map(|recorded| &recorded.tests);
    let mut results: Vec<AssayTestResult> = recorded.map(not_run).collect();
    results.extend(facts.recorded.iter().flat_map(unnamed_tests));
    if results.is_empty() {
        results.extend(run.exchanges().map(|exchange| {
            result(exchange.step_id().into_owned(), AssayTestStatus::Skipped, "nothing was run".into())
        }));
    }
    results
}

impl BundleFacts {
    /// Returns the comparison of a replay of which nothing is known yet.
    pub(super) fn comparison(&self, seeds: Vec<(&'static str, String)>) -> BundleComparison {
        BundleComparison {
            recorded: self.recorded.clone(),
            complete_tests: self.complete_tests,
            incomplete_tests: self.incomplete_tests.clone(),
            seeds,
            ..BundleComparison::default()
        }
    }
}

/// Returns in what the end of the command differs from the recorded one.
fn exit_differences(recorded: Option<&BundledOutcome>, now: Exit) -> Vec<OutcomeDifference> {
    let Some(recorded) = recorded else { return Vec::new() };
    let failed = recorded.failed_without_code && now == Exit::Code(0);
    let recorded_exits = recorded.exit.into_iter().chain(recorded.other_exit);
    let others = recorded_exits.filter(|recorded| *recorded != now).map(|recorded| recorded.to_string());
    let others = others.chain(failed.then(|| "a failure without an exit code".to_owned()));
    others
        .map(|recorded| OutcomeDifference {
            at: COMMAND_EXIT.to_owned(),
            recorded: Some(recorded),
            now: Some(now.to_string()),
        })
        .collect()
}

/// Compares the answers that a report of ours lists with those that were given again.
fn compare_answers(
    run: &Run,
    recorded: &BundledOutcome,
    outcome: &ReplayOutcome,
    results: &mut Vec<AssayTestResult>,
    comparison: &mut BundleComparison,
) {
    let unused = unused_events(outcome);
    let mut events: BTreeMap<String, usize> = BTreeMap::new();
    for exchange in run.exchanges() {
        events.entry(exchange.step_id().into_owned()).or_insert(exchange.called.index());
    }
    let (mut before, mut now, mut absent) = (Vec::new(), Vec::new(), 0);
    for test in &recorded.tests {
        let Some(event) = events.get(&test.id) else {
            comparison.tests_not_run += 1;
            let message = "the bundle holds no answer for it".to_owned();
            results.push(result(test.id.clone(), AssayTestStatus::Skipped, message));
            absent += 1;
            continue;
        };
        let (status, message) = match unused.get(event) {
            None => (status_of(test), "answered as recorded"),
            Some(is_side_call) => not_asked_for(*is_side_call),
        };
        // Calls that may be left out make no difference.
        if unused.get(event) != Some(&true) {
            before.push(test.clone());
            now.push(BundledTest { id: test.id.clone(), status: status.name().to_owned() });
        }
        results.push(result(test.id.clone(), status, message.to_owned()));
    }
    comparison.differences.extend(test_differences(ANSWER, &before, &now));
    let count = recorded.tests.len();
    let mut differ = |at: &str, now: String| {
        let (at, recorded) = (at.to_owned(), Some(count.to_string()));
        comparison.differences.push(OutcomeDifference { at, recorded, now: Some(now) });
    };
    if absent > 0 {
        // Another answer may have been given in the place of each.
        differ("answers", format!("{absent} not in the bundle"));
    }
    if let Some(again) = outcome.repeated.checked_sub(absent).filter(|again| *again > 0) {
        differ("requests", (count + again).to_string());
    }
    if !recorded.tests.is_empty() {
        comparison.compared.push("run");
    }
}

/// Largest number of results for tests of which only the number is known.
const MAX_UNNAMED: u64 = 1000;

/// Returns a result that was not run for each test that a summary counts and no report names.
fn unnamed_tests(recorded: &BundledOutcome) -> Vec<AssayTestResult> {
    let total = recorded.totals.filter(|_| recorded.tests.is_empty()).map_or(0, |totals| totals.total);
    let of = |number: u64| {
        let message = "only counted in the bundle, and not run again here".to_owned();
        result(format!("test {number} of {total}"), AssayTestStatus::Skipped, message)
    };
    (1..=total.min(MAX_UNNAMED)).map(of).collect()
}

/// Returns the results of all recorded answers.
fn answer_results(run: &Run, prefix: &str, outcome: &ReplayOutcome) -> Vec<AssayTestResult> {
    let unused = unused_events(outcome);
    let of = |exchange: Exchange<'_>| {
        let (status, message) = match unused.get(&exchange.called.index()) {
            None => (AssayTestStatus::Pass, "answered as recorded"),
            Some(is_side_call) => not_asked_for(*is_side_call),
        };
        result(format!("{prefix}{}", exchange.step_id()), status, message.to_owned())
    };
    run.exchanges().map(of).collect()
}

/// Returns the events of recorded requests that were not made again, each with whether it may be left out.
fn unused_events(outcome: &ReplayOutcome) -> BTreeMap<usize, bool> {
    outcome.unused.iter().map(|unused| (unused.event_index, unused.is_side_call)).collect()
}

/// Returns the status of an answer that was not asked for.
fn not_asked_for(is_side_call: bool) -> (AssayTestStatus, &'static str) {
    match is_side_call {
        true => (AssayTestStatus::Skipped, "not asked for, which it need not be"),
        false => (AssayTestStatus::Fail, "not asked for"),
    }
}

/// Compares the tests of another tool with those that the command ran, if it wrote reports.
fn compare_tests(
    recorded: Option<&BundledOutcome>,
    written: Option<&WrittenOutputs>,
    results: &mut Vec<AssayTestResult>,
    comparison: &mut BundleComparison,
) {
    let Some(recorded) = recorded else { return };
    let Some(written) = written else {
        let counted = recorded.totals.map_or(0, |totals| usize::try_from(totals.total).unwrap_or(usize::MAX));
        comparison.tests_not_run += recorded.tests.len().max(counted);
        results.extend(recorded.tests.iter().map(not_run));
        results.extend(unnamed_tests(recorded));
        return;
    };
    match BundledOutcome::read(written.summary.as_deref(), written.run.as_deref()) {
        Some(now) => {
            comparison.differences.extend(differences(recorded, &now));
            let read = [("summary", written.summary.is_some()), ("run", written.run.is_some())];
            comparison
                .compared
                .extend(read.into_iter().filter(|(_, is_read)| *is_read).map(|(name, _)| name));
            results.extend(now.tests.iter().map(|test| {
                let before = recorded.tests.iter().find(|before| before.id == test.id);
                let before = before.map_or("not there", |before| before.status.as_str());
                result(test.id.clone(), status_of(test), format!("recorded: {}", Shown::new(before)))
            }));
        }
        None => {
            let why = match written.summary.is_some() || written.run.is_some() {
                true => "no report that can be read",
                false => "not written by the command",
            };
            comparison.tests_not_run += recorded.tests.len();
            comparison.differences.push(OutcomeDifference {
                at: REPORTS.to_owned(),
                recorded: Some("there".to_owned()),
                now: Some(why.to_owned()),
            });
            results.extend(recorded.tests.iter().map(not_run));
        }
    }
}

/// Compares the JUnit and SARIF reports in a bundle with those that the command wrote.
fn compare_reports(run: &Run, written: Option<&WrittenOutputs>, comparison: &mut BundleComparison) {
    let Some(outputs) = manifest(run).and_then(|manifest| ManifestView::of(manifest).outputs) else { return };
    let outputs = OutputsView::of(outputs);
    let Some(written) = written else { return };
    type ReadCases = fn(&[u8]) -> Option<Vec<BundledTest>>;
    let kinds: [(_, _, _, &Option<Vec<u8>>, ReadCases); 2] = [
        ("junit", "junit.xml", outputs.junit, &written.junit, |bytes| junit_cases(bytes).ok()),
        ("sarif", "sarif.json", outputs.sarif, &written.sarif, sarif_results),
    ];
    for (what, name, recorded, now, read) in kinds {
        let recorded = recorded.and_then(|path| run.file(&path.string()?));
        // A report of the bundle that cannot be read cannot be compared.
        let Some(recorded) = recorded.and_then(read) else { continue };
        match now.as_deref().map(read) {
            Some(Some(now)) => {
                comparison.compared.push(what);
                comparison.differences.extend(test_differences(what, &recorded, &now));
            }
            other => comparison.differences.push(OutcomeDifference {
                at: name.to_owned(),
                recorded: Some("there".to_owned()),
                now: Some(
                    match other {
                        Some(_) => "no report that can be read",
                        None => "not written by the command",
                    }
                    .to_owned(),
                ),
            }),
        }
    }
}

/// Returns one result for each request without a recorded answer.
fn missed_results(outcome: &ReplayOutcome) -> impl Iterator<Item = AssayTestResult> {
    outcome.misses.iter().enumerate().map(|(at, missed)| {
        let id = format!("request {} without a recorded answer", at + 1);
        result(id, AssayTestStatus::Error, missed.miss.to_string())
    })
}

/// Returns the result of a recorded test that was not run again.
fn not_run(test: &BundledTest) -> AssayTestResult {
    let message = format!("recorded: {}; not run again here", Shown::new(&test.status));
    result(test.id.clone(), AssayTestStatus::Skipped, message)
}

/// Returns the status of a test; one that is unknown did not pass.
fn status_of(test: &BundledTest) -> AssayTestStatus {
    AssayTestStatus::of_name(&test.status).unwrap_or(AssayTestStatus::Error)
}

fn result(id: String, status: AssayTestStatus, message: String) -> AssayTestResult {
    AssayTestResult { id, status, message, milliseconds: None }
}
