//! A bundle that is replayed: what it says, what is refused, and what its reports say at the end.
//!
//! Start reading at [`BundleReplay`].

use reenact_json::Digest;
use reenact_json::print::PrintObjectWriter;
use reenact_record::RunId;
use reenact_replay::{ReplayRecord, miss};
use reenact_run::Run;
use reenact_run::assay_report::{AssayReport, AssaySeeds, AssayTestResult, AssayTestStatus, ReplayedBundle};
use reenact_sandbox::{Isolation, SandboxReport};

use super::super::matching;
use super::inputs::BundleFacts;
use super::reports::ReportFolder;
use super::{DIFFERED_CODE, results};
use crate::output::{self, CommandError};

/// Reason for which a replay did not succeed, with the code that other tools of the format know.
pub(super) struct BundleReplayError {
    /// Code for programs, such as `E_CFG_PARSE`.
    pub(super) code: &'static str,
    /// Message for people, safe to print.
    pub(super) message: String,
}

impl BundleReplayError {
    /// Returns the error for a part that the bundle lacks (`E_REPLAY_MISSING_DEPENDENCY`).
    pub(super) fn missing_dependency(message: impl Into<String>) -> Self {
        Self { code: miss::CODE, message: message.into() }
    }
}

/// A bundle that is replayed, and what its reports say.
#[derive(Default)]
pub(super) struct BundleReplay {
    /// The bundle, safe to print.
    pub(super) name: String,
    /// Arguments that name the bundle, to be typed again.
    pub(super) arguments: String,
    pub(super) facts: BundleFacts,
    /// SHA-256 of the archive; `None` for a folder.
    pub(super) digest: Option<Digest>,
    /// Folder for the four files, if they are written.
    pub(super) folder: Option<ReportFolder>,
    /// True if a refusal is printed as JSON, too.
    pub(super) is_json: bool,
}

/// End of a replay, for its reports.
#[derive(Default)]
pub(super) struct BundleReplayEnd<'a> {
    pub(super) exit_code: u8,
    pub(super) stopped: Option<&'a BundleReplayError>,
    pub(super) results: Vec<AssayTestResult>,
    pub(super) message: Option<String>,
    pub(super) next_step: Option<String>,
    /// Seeds that the command was given.
    pub(super) seeds: Vec<(&'static str, String)>,
    pub(super) seed_overrides: Vec<(&'static str, String)>,
    pub(super) is_hermetic: Option<bool>,
    pub(super) is_live: bool,
}

impl BundleReplay {
    /// Refuses to call anything passed where nothing is run: says what was recorded, and what to type.
    pub(super) fn refuse_without_command(&self, run: &Run) -> Result<u8, CommandError> {
        let broken = run
            .exchanges()
            .filter_map(|exchange| exchange.request().err().or_else(|| exchange.answer().err()))
            .count();
        let mut message = "nothing was run: a bundle names no command".to_owned();
        if broken > 0 {
            message.push_str(&format!("; {broken} of its recorded answers cannot be given"));
        }
        let stopped = BundleReplayError::missing_dependency(message);
        let next_step = format!("reenact replay {} -- CMD", self.arguments);
        self.fail(&stopped, results::skipped_results(run, &self.facts), Some(next_step))
    }

    /// Writes the reports with the error, and returns it with exit code 2. What was recorded, and what to do, follows.
    pub(super) fn fail(
        &self,
        stopped: &BundleReplayError,
        results: Vec<AssayTestResult>,
        next_step: Option<String>,
    ) -> Result<u8, CommandError> {
        let mut advice = Vec::new();
        if self.facts.recorded.is_some() || next_step.is_some() {
            advice.push(self.facts.recorded_line());
        }
        advice.extend(self.facts.coverage_line());
        advice.extend(next_step.iter().map(|next_step| format!("to run it again: {next_step}")));
        self.write(BundleReplayEnd {
            exit_code: 2,
            stopped: Some(stopped),
            results,
            message: Some(match &self.facts.recorded {
                Some(_) => format!("{}; {}", stopped.message, self.facts.recorded_line()),
                None => stopped.message.clone(),
            }),
            next_step,
            ..BundleReplayEnd::default()
        })?;
        if self.is_json {
            output::print(&(self.refusal_json(stopped, &advice) + "\n"))?;
        }
        let advice: String = advice.iter().map(|line| format!("\n{line}")).collect();
        Err(CommandError::impossible(format!(
            "{}: {} ({}){advice}",
            self.name, stopped.message, stopped.code
        )))
    }

    /// Passes a result on; of an error, the reports are written before.
    ///
    /// # Errors
    ///
    /// That of the result, or that a report cannot be written.
    pub(super) fn reported<T>(
        &self,
        result: Result<T, CommandError>,
        code: &'static str,
        skipped: impl FnOnce() -> Vec<AssayTestResult>,
    ) -> Result<T, CommandError> {
        if let Err(CommandError::Failed { message, .. }) = &result {
            self.write(BundleReplayEnd {
                exit_code: 2,
                stopped: Some(&BundleReplayError { code, message: message.clone() }),
                message: Some(message.clone()),
                results: skipped(),
                ..BundleReplayEnd::default()
            })?;
        }
        result
    }

    /// Returns a refusal as one JSON object, without a line feed.
    fn refusal_json(&self, stopped: &BundleReplayError, advice: &[String]) -> String {
        let mut text = String::new();
        let mut object = PrintObjectWriter::open(&mut text);
        object.string("code", stopped.code);
        object.string("message", format!("{}: {}", self.name, stopped.message).as_str());
        object.strings("advice", advice);
        match &self.facts.recorded {
            Some(recorded) => recorded.write_json(object.name("recorded")),
            None => object.string("recorded", None),
        }
        self.facts.comparison(Vec::new()).write_coverage(object.name("coverage"));
        object.close();
        text
    }

    /// Writes the reports on a replay that ran.
    pub(super) fn write_outcome(
        &self,
        record: &ReplayRecord,
        enforcement: &SandboxReport,
        mut end: BundleReplayEnd<'_>,
    ) -> Result<(), CommandError> {
        // Readers of JUnit and SARIF see results alone: one of them must have failed.
        end.results.extend(end.stopped.map(|stopped| AssayTestResult {
            id: "replay".to_owned(),
            status: match stopped.code {
                DIFFERED_CODE => AssayTestStatus::Fail,
                _ => AssayTestStatus::Error,
            },
            message: stopped.message.clone(),
            milliseconds: None,
        }));
        let message = match (end.stopped, matching::found_by_phrase(record.outcome.found_by)) {
            (Some(stopped), _) => stopped.message.clone(),
            (None, Some(found)) => format!("reproduced, requests were found by {found}"),
            (None, None) => "reproduced".into(),
        };
        self.write(BundleReplayEnd {
            exit_code: record.verdict().exit_code(),
            message: Some(match &self.facts.recorded {
                Some(_) => format!("{message}; {}", self.facts.recorded_line()),
                None => message,
            }),
            seeds: record.bundle.as_ref().map(|bundle| bundle.seeds.clone()).unwrap_or_default(),
            is_hermetic: Some(enforcement.isolation != Isolation::None),
            ..end
        })
    }

    /// Writes the four files, if there is a folder for them.
    pub(super) fn write(&self, end: BundleReplayEnd<'_>) -> Result<(), CommandError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let seed =
            |name: &str| end.seeds.iter().find(|(known, _)| *known == name).map(|(_, seed)| seed.clone());
        folder.write(&AssayReport {
            run_id: RunId::generate().map(|id| id.to_string()).ok(),
            suite: self.facts.suite.clone().unwrap_or("replay".to_owned()),
            exit_code: end.exit_code.into(),
            reason_code: end.stopped.map_or("", |stopped| stopped.code),
            message: end.message.clone(),
            next_step: end.next_step.clone(),
            producer: concat!("reenact/", env!("CARGO_PKG_VERSION")).to_owned(),
            seeds: AssaySeeds {
                version: self.facts.seed_version.unwrap_or(1),
                order: seed("order_seed"),
                judge: seed("judge_seed"),
            },
            replay: Some(ReplayedBundle {
                bundle_digest: self.digest,
                source_run_id: self.facts.source_run_id.clone(),
                is_live: end.is_live,
                is_hermetic: end.is_hermetic,
                seed_overrides: end.seed_overrides.clone(),
            }),
            results: end.results,
            ..AssayReport::default()
        })
    }
}
