//! Outcome of the run that a Replay Bundle was made from: its exit code and its tests, as `run.json` and `summary.json` in the
//! bundle tell them.
//!
//! A replay reproduces a run only if it ends as the run did, so that readers, `show` and `replay` all ask here how that was. The same
//! files of another folder, which a command wrote while it was replayed, are read by the same code and compared. Start reading at
//! [`BundledOutcome::of`] and [`differences`].

mod difference;
mod junit_cases;
mod sarif_results;

use std::fmt;

use reenact_formats::replay_bundle::manifest::OutputsView;
use reenact_formats::replay_bundle::{MANIFEST, ManifestView, manifest_limits};
use reenact_json::print::{self, PrintObjectWriter};
use reenact_json::{Limits, Shown, Value, ValueKind};

use crate::assay_report::SUITE;
use crate::exit::Exit;
use crate::reported_outcome::{owned_string, read_exit_code};
use crate::run::Run;

pub use difference::{OutcomeDifference, differences, test_differences};
pub use junit_cases::{JunitFault, junit_cases};
pub use sarif_results::sarif_results;

/// Reason code of a report by reenact on a run whose record does not tell how it ended.
pub const OUTCOME_UNKNOWN: &str = "E_OUTCOME_UNKNOWN";
/// Reason code of a report by reenact on a run that failed, and whose exit code is not recorded.
pub const RUN_FAILED: &str = "E_RUN_FAILED";
/// Reason code of a run whose command a signal ended; the message names the signal.
pub const RUN_KILLED: &str = "E_RUN_KILLED";

/// Outcome of a run by the word of the reports in its bundle. All texts are untrusted; the [`Display`](fmt::Display) form is safe
/// to print.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BundledOutcome {
    /// Exit of the run; `None` if it is not known.
    pub exit: Option<Exit>,
    /// True if the run failed without an exit code, such as by a signal.
    pub failed_without_code: bool,
    /// Exit code of `run.json`, if `summary.json` has another one.
    pub other_exit: Option<Exit>,
    /// Code for programs, such as `E_TEST_FAILED`; empty for a success, `None` if the reports have none.
    pub reason_code: Option<String>,
    /// Message for people.
    pub message: Option<String>,
    /// Numbers of tests, if the reports have any.
    pub totals: Option<BundledTotals>,
    /// Tests with their status, in the order of `run.json`.
    pub tests: Vec<BundledTest>,
    /// True if the tests stand for recorded exchanges: the reports were written by reenact.
    pub is_of_exchanges: bool,
}

/// Numbers of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BundledTotals {
    /// Number of tests that passed.
    pub passed: u64,
    /// Number of tests that failed.
    pub failed: u64,
    /// Number of all tests.
    pub total: u64,
}

/// One test, or one case of another report, with its status. The texts are untrusted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BundledTest {
    /// Id of the test.
    pub id: String,
    /// Status, such as `pass`.
    pub status: String,
}

impl BundledTest {
    /// Returns true for a status that counts as a failure.
    fn is_failure(&self) -> bool {
        matches!(self.status.as_str(), "fail" | "error" | "unstable")
    }
}

impl BundledOutcome {
    /// Returns the outcome that the reports of a Replay Bundle tell, also of one that was imported; `None` for other records, and for
    /// a bundle without reports.
    pub fn of(run: &Run) -> Option<Self> {
        let manifest = Value::parse(run.file(MANIFEST)?, &manifest_limits()).ok()?;
        let outputs = ManifestView::of(manifest).outputs.map(OutputsView::of).unwrap_or_default();
        let file = |name: Option<Value<'_>>| run.file(&owned_string(name)?);
        Self::read(file(outputs.summary), file(outputs.run))
    }

    /// Reads `summary.json` and `run.json`, whichever are there; `None` if neither can be read as a report.
    ///
    /// The summary comes before the run where both tell the same thing.
    pub fn read(summary: Option<&[u8]>, run: Option<&[u8]>) -> Option<Self> {
        let [summary, run] = [summary, run].map(parse_object);
        if summary.is_none() && run.is_none() {
            return None;
        }
        let [in_summary, in_run] = [summary, run].map(|report| match report {
            Some(report) => report.select_members(["exit_code", "reason_code"]),
            None => [None; 2],
        });
        let exits = [in_summary, in_run].map(|[exit, _]| exit.and_then(read_exit_code));
        let reason_code = owned_string(in_summary[1]).or_else(|| owned_string(in_run[1]));
        let tests: Vec<BundledTest> = run.map(tests).unwrap_or_default();
        let is_known =
            reason_code.as_deref().is_none_or(|code| !matches!(code, OUTCOME_UNKNOWN | RUN_FAILED));
        let message = summary.and_then(message).or_else(|| message(run?.member("resolution")?));
        let killed = message.as_deref().filter(|_| reason_code.as_deref() == Some(RUN_KILLED));
        let mut exits = exits;
        if let Some(killed) = killed.and_then(Exit::read_signal) {
            exits = exits.map(|exit| exit.map(|_| killed));
        }
        let exit = exits[0].or(exits[1]).filter(|_| is_known);
        Some(Self {
            exit,
            failed_without_code: reason_code.as_deref() == Some(RUN_FAILED),
            other_exit: exits[1].filter(|other| exit.is_some_and(|exit| exit != *other)),
            message,
            totals: summary.and_then(totals).or_else(|| counted(&tests)),
            is_of_exchanges: is_by_reenact(summary, run),
            reason_code,
            tests,
        })
    }

    /// Returns the ids of the tests that failed, with their statuses.
    fn failed_tests(&self) -> impl Iterator<Item = &BundledTest> {
        self.tests.iter().filter(|test| test.is_failure())
    }

    /// Returns the tests in words, such as `1 of 2 tests failed: t2`; `None` if there are none.
    fn tests_phrase(&self) -> Option<String> {
        let totals = self.totals.filter(|totals| totals.total > 0)?;
        let what = match self.is_of_exchanges {
            true => "answer",
            false => "test",
        };
        let s = if totals.total == 1 { "" } else { "s" };
        let failed = self.failed_tests_phrase();
        if totals.failed > 0 {
            let text = format!("{} of {} {what}{s} failed", totals.failed, totals.total);
            return Some(failed.map_or(text.clone(), |failed| format!("{text}: {failed}")));
        }
        let of = match totals.passed == totals.total {
            true => totals.total.to_string(),
            false => format!("{} of {}", totals.passed, totals.total),
        };
        let passed = if self.is_of_exchanges { "given" } else { "passed" };
        // A summary may count a test that could not be run among none.
        let not = failed.map_or(String::new(), |failed| format!(", not {failed}"));
        Some(format!("{of} {what}{s} {passed}{not}"))
    }

    /// Returns the ids of the tests that failed, in words; `None` if there are none.
    fn failed_tests_phrase(&self) -> Option<String> {
        let word = |test: &BundledTest| match test.status.as_str() {
            "fail" => Shown::new(&test.id).to_string(),
            status => format!("{} ({})", Shown::new(&test.id), Shown::new(status)),
        };
        let named: Vec<String> = self.failed_tests().take(MAX_NAMED).map(word).collect();
        let more = match self.failed_tests().count().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!named.is_empty()).then(|| format!("{}{more}", named.join(", ")))
    }

    /// Appends the outcome as a JSON object.
    pub fn write_json(&self, out: &mut String) {
        let mut object = PrintObjectWriter::open(out);
        let code = self.exit.and_then(Exit::code);
        object.name("exit_code").push_str(&code.map_or("null".to_owned(), |code| code.to_string()));
        object.boolean("failed", self.is_failure());
        object.string("reason_code", self.reason_code.as_deref());
        object.string("message", self.message.as_deref());
        match self.totals {
            Some(BundledTotals { passed, failed, total }) => object
                .name("results")
                .push_str(&format!("{{\"passed\":{passed},\"failed\":{failed},\"total\":{total}}}")),
            None => object.string("results", None),
        }
        print::write_list(&self.tests, object.name("tests"), |test, out| {
            let mut object = PrintObjectWriter::open(out);
            object.string("id", test.id.as_str());
            object.string("status", test.status.as_str());
            object.close();
        });
        object.close();
    }

    /// Returns true if the run failed, false if it succeeded; `None` if that is not known.
    pub fn is_failure(&self) -> Option<bool> {
        match (self.failed_without_code, self.exit) {
            (true, _) => Some(true),
            (false, exit) => Some(exit? != Exit::Code(0)),
        }
    }
}

/// Largest number of failed tests that are named in words.
const MAX_NAMED: usize = 5;

/// Longest message in words, in characters.
const MAX_MESSAGE_CHARS: usize = 160;

impl fmt::Display for BundledOutcome {
    /// Writes the outcome in one line, such as `exit 1, E_TEST_FAILED, 1 of 2 tests failed: t2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.exit, self.failed_without_code) {
            (Some(exit), _) => write!(f, "{exit}")?,
            (None, true) => f.write_str("failed, without an exit code")?,
            (None, false) => f.write_str("how it ended is not known")?,
        }
        if let Some(other) = self.other_exit {
            write!(f, " (its run.json says {other})")?;
        }
        let code = self.reason_code.as_deref().filter(|code| !code.is_empty());
        if let Some(code) = code.filter(|_| self.exit.is_some()) {
            write!(f, ", {}", Shown::new(code))?;
        }
        let tests = self.tests_phrase();
        if let Some(tests) = &tests {
            write!(f, ", {tests}")?;
        }
        // The message of a run with tests only counts them.
        let message = self.message.as_deref().filter(|_| tests.is_none() && self.exit.is_some());
        if let Some(message) = message.and_then(|message| message.lines().next()) {
            let cut = message.char_indices().nth(MAX_MESSAGE_CHARS).map(|(cut, _)| cut);
            let whole = message.get(..cut.unwrap_or(message.len())).unwrap_or_default();
            write!(f, ": {}{}", Shown::new(whole), if cut.is_some() { "…" } else { "" })?;
        }
        Ok(())
    }
}

/// Parses a report; `None` unless it is a JSON object.
fn parse_object(bytes: Option<&[u8]>) -> Option<Value<'_>> {
    Value::parse(bytes?, &Limits::default()).ok().filter(|report| report.kind() == ValueKind::Object)
}

/// Returns the message of a report.
fn message(report: Value<'_>) -> Option<String> {
    owned_string(report.member("message"))
}

/// Returns the numbers of tests that a summary states.
fn totals(summary: Value<'_>) -> Option<BundledTotals> {
    let [passed, failed, total] = summary.member("results")?.select_members(["passed", "failed", "total"]);
    let number = |value: Option<Value<'_>>| value?.unsigned_integer();
    Some(BundledTotals { passed: number(passed)?, failed: number(failed)?, total: number(total)? })
}

/// Counts tests; `None` if there are none.
fn counted(tests: &[BundledTest]) -> Option<BundledTotals> {
    let count = |is: fn(&BundledTest) -> bool| tests.iter().filter(|test| is(test)).count() as u64;
    (!tests.is_empty()).then(|| BundledTotals {
        passed: count(|test| test.status == "pass"),
        failed: count(BundledTest::is_failure),
        total: tests.len() as u64,
    })
}

/// Returns the tests of a `run.json`; those without an id are left out.
fn tests(run: Value<'_>) -> Vec<BundledTest> {
    let results = run.member("results").into_iter().flat_map(|results| results.elements());
    results
        .filter_map(|result| {
            let [id, status] = result.select_members(["test_id", "status"]);
            Some(BundledTest { id: owned_string(id)?, status: owned_string(status).unwrap_or_default() })
        })
        .collect()
}

/// Returns true if reports were written by reenact: the summary names its writer, a run without one its suite.
fn is_by_reenact(summary: Option<Value<'_>>, run: Option<Value<'_>>) -> bool {
    let writer =
        summary.and_then(|summary| owned_string(summary.member("provenance")?.member("assay_version")));
    match writer {
        Some(writer) => writer.starts_with("reenact/"),
        None => run.and_then(|run| run.member("suite")).is_some_and(|suite| suite.is_string(SUITE)),
    }
}

#[cfg(test)]
mod outcome_tests {
    use super::*;

    const RUN: &[u8] = br#"{"suite":"s","results":[{"test_id":"t1","status":"pass"},{"test_id":"t2","status":"fail"},{"test_id":"t3","status":"error"}],"exit_code":1,"reason_code":"E_TEST_FAILED"}"#;

    fn shown(summary: Option<&[u8]>, run: Option<&[u8]>) -> String {
        BundledOutcome::read(summary, run).unwrap().to_string()
    }

    #[test]
    fn a_failed_run_in_words() {
        assert_eq!(shown(None, Some(RUN)), "exit 1, E_TEST_FAILED, 2 of 3 tests failed: t2, t3 (error)");
        let summary = br#"{"exit_code":0,"reason_code":"","results":{"passed":3,"failed":0,"total":3}}"#;
        assert_eq!(shown(Some(summary), None), "exit 0, 3 tests passed");
        assert_eq!(
            shown(Some(summary), Some(RUN)),
            "exit 0 (its run.json says exit 1), 3 tests passed, not t2, t3 (error)"
        );
        let one = br#"{"exit_code":0,"results":{"passed":1,"failed":0,"total":1}}"#;
        assert_eq!(shown(Some(one), None), "exit 0, 1 test passed");
        let config = br#"{"exit_code":2,"reason_code":"E_CFG_PARSE","message":"bad \u001b[2Jyaml\nline 2"}"#;
        assert_eq!(shown(Some(config), None), "exit 2, E_CFG_PARSE: bad \\u{1b}[2Jyaml");
    }

    #[test]
    fn an_unknown_outcome_claims_no_exit_code() {
        let unknown = br#"{"exit_code":1,"reason_code":"E_OUTCOME_UNKNOWN","results":{"passed":2,"failed":0,"total":2},"provenance":{"assay_version":"reenact/9"}}"#;
        let outcome = BundledOutcome::read(Some(unknown), None).unwrap();
        assert_eq!((outcome.exit, outcome.is_failure()), (None, None));
        assert_eq!(outcome.to_string(), "how it ended is not known, 2 answers given");
        let failed = br#"{"exit_code":1,"reason_code":"E_RUN_FAILED"}"#;
        let outcome = BundledOutcome::read(Some(failed), None).unwrap();
        assert_eq!((outcome.exit, outcome.is_failure()), (None, Some(true)));
        assert_eq!(outcome.to_string(), "failed, without an exit code");
    }

    #[test]
    fn reports_that_are_none() {
        for bytes in [&b"[]"[..], b"", b"{\"a\":1,\"a\":2}", b"\xff"] {
            assert_eq!(BundledOutcome::read(Some(bytes), Some(bytes)), None);
        }
        let odd = BundledOutcome::read(Some(br#"{"exit_code":1e9,"results":[1]}"#), None).unwrap();
        assert_eq!((odd.exit, odd.totals), (Some(Exit::Code(1_000_000_000)), None));
        assert_eq!(BundledOutcome::read(Some(br#"{"exit_code":1e10}"#), None).unwrap().exit, None);
    }

    #[test]
    fn many_failures_are_named_in_part() {
        let results: Vec<String> =
            (1..=7).map(|at| format!(r#"{{"test_id":"t{at}","status":"fail"}}"#)).collect();
        let run = format!(r#"{{"exit_code":1,"results":[{}]}}"#, results.join(","));
        let words = "exit 1, 7 of 7 tests failed: t1, t2, t3, t4, t5 and 2 more";
        assert_eq!(shown(None, Some(run.as_bytes())), words);
    }
}
