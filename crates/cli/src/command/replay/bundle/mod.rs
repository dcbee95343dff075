//! Replays of Replay Bundles: the outcome in the bundle is part of the verdict, and `--bundle` writes the reports of the format.
//!
//! A bundle holds no command, so that without one nothing is run and nothing passes. Other tools of the format branch on the codes in
//! the reports, which are therefore written even if the replay cannot start: `E_CFG_PARSE` for a bundle that cannot be read,
//! `E_REPLAY_MISSING_DEPENDENCY` for a part that it lacks, `E_TEST_FAILED` for a replay that differed.
//!
//! | module | content |
//! |---|---|
//! | [`args`], [`seeds`] | options, and the seeds that the command is given |
//! | [`location`] | the bundle that is meant if none is named |
//! | [`inputs`] | trace, config, coverage and recorded outcome of a bundle |
//! | [`results`] | results of a replay, and how they compare with the bundle's |
//! | [`command_outputs`] | reports that the command writes itself |
//! | [`reports`] | the four files about the replay |
//!
//! Start reading at `ReplayArgs::run_bundle`.

mod args;
mod command_outputs;
mod inputs;
mod location;
mod reports;
mod results;
mod seeds;

use reenact_formats::replay_bundle::LIMIT_CODE;
use reenact_json::print::PrintObjectWriter;
use reenact_json::{Digest, Shown};
use reenact_record::RunId;
use reenact_replay::{ReplayRecord, ReplayVerdict, miss};
use reenact_run::assay_report::{AssayReport, AssaySeeds, AssayTestResult, AssayTestStatus, ReplayedBundle};
use reenact_run::{OpenedRecord, Run};
use reenact_sandbox::{Isolation, SandboxReport};
use reenact_verify::disk;

use self::command_outputs::CommandOutputs;
use self::inputs::BundleFacts;
use self::reports::ReportFolder;
use super::ReplayArgs;
use super::fork::ForkEnd;
use crate::command::shell_quoted;
use crate::output::{self, CommandError};
use crate::runs::{self, OpenedRun};

pub(super) use args::ReplayBundleArgs;
pub(super) use results::{comparison_notices, differing_phrase, failure_phrase};
pub(super) use seeds::ReplaySeeds;

/// Reason for which a replay did not succeed, with the code that other tools of the format know.
struct BundleReplayError {
    /// Code for programs, such as `E_CFG_PARSE`.
    code: &'static str,
    /// Message for people, safe to print.
    message: String,
}

impl BundleReplayError {
    /// Returns the error for a part that the bundle lacks (`E_REPLAY_MISSING_DEPENDENCY`).
    fn missing_dependency(message: impl Into<String>) -> Self {
        Self { code: miss::CODE, message: message.into() }
    }
}

/// Code for a bundle that cannot be read, or is not what it says.
const PARSE_CODE: &str = "E_CFG_PARSE";
/// Code for a replay that differed from the recorded run.
const DIFFERED_CODE: &str = "E_TEST_FAILED";

/// A bundle that is replayed, and what its reports say.
#[derive(Default)]
struct BundleReplay {
    /// The bundle, safe to print.
    name: String,
    /// Arguments that name the bundle, to be typed again.
    arguments: String,
    facts: BundleFacts,
    /// SHA-256 of the archive; `None` for a folder.
    digest: Option<Digest>,
    /// Folder for the four files, if they are written.
    folder: Option<ReportFolder>,
    /// True if a refusal is printed as JSON, too.
    is_json: bool,
}

/// End of a replay, for its reports.
#[derive(Default)]
struct BundleReplayEnd<'a> {
    exit_code: u8,
    stopped: Option<&'a BundleReplayError>,
    results: Vec<AssayTestResult>,
    message: Option<String>,
    next_step: Option<String>,
    /// Seeds that the command was given.
    seeds: Vec<(&'static str, String)>,
    seed_overrides: Vec<(&'static str, String)>,
    is_hermetic: Option<bool>,
    is_live: bool,
}

impl ReplayArgs {
    /// Returns true if `--bundle` was given.
    pub(super) fn names_bundle(&self) -> bool {
        self.bundle.bundle.is_some()
    }

    /// Replays the bundle of `--bundle`, and writes the four reports.
    ///
    /// # Errors
    ///
    /// If a file of another origin has the name of a report, or the bundle cannot be replayed; the reports
    /// then have the code.
    pub(super) fn run_bundle(&self) -> Result<u8, CommandError> {
        let path = match self.bundle.bundle.as_ref().and_then(Option::as_ref) {
            Some(path) => path.clone(),
            None => {
                let found = location::newest_bundle()?;
                let name = found.to_string_lossy();
                output::print_notice(&format!("the bundle is {}", Shown::whole(&name)));
                found
            }
        };
        let folder = ReportFolder::prepare(self.bundle.reports.as_deref(), self.bundle.outputs.as_deref())?;
        let name = Shown::whole(&path.to_string_lossy()).to_string();
        let mut replay = BundleReplay {
            arguments: format!("--bundle {}", shell_quoted(&name)),
            name,
            digest: path.is_file().then(|| disk::file_digest(&path).ok()).flatten(),
            folder: Some(folder),
            is_json: self.json,
            ..BundleReplay::default()
        };
        let (path, OpenedRecord { run, report }) = runs::open_with_report(path.as_os_str(), &self.keys)?;
        let found = match run {
            Ok(run) => OpenedRun { path, run, report },
            Err(why) => {
                let is_over = report.reasons.iter().any(|reason| reason.contains(LIMIT_CODE));
                let code = if is_over { LIMIT_CODE } else { PARSE_CODE };
                return replay.fail(&BundleReplayError { code, message: why.to_string() }, Vec::new(), None);
            }
        };
        replay.facts = BundleFacts::of(&found.run);
        let run = match self.complete_run(&found) {
            Ok(run) => run,
            Err(stopped) => {
                let results = results::skipped_results(&found.run, &replay.facts);
                return replay.fail(&stopped, results, None);
            }
        };
        self.replay_bundle(&run, &found, &replay)
    }

    /// Replays a bundle that is named as any other record, and writes no reports. `name` is printable.
    ///
    /// # Errors
    ///
    /// If there is no command, or the replay cannot start.
    pub(super) fn run_unreported_bundle(&self, found: &OpenedRun, name: &str) -> Result<u8, CommandError> {
        let replay = BundleReplay {
            name: name.to_owned(),
            arguments: shell_quoted(name),
            facts: BundleFacts::of(&found.run),
            is_json: self.json,
            ..BundleReplay::default()
        };
        match inputs::completed_run(&found.run) {
            Ok(run) => self.replay_bundle(&run, found, &replay),
            Err(stopped) => replay.fail(&stopped, Vec::new(), None),
        }
    }

    /// Runs the command on the answers of a bundle, and compares the outcome with the bundle's.
    fn replay_bundle(&self, run: &Run, found: &OpenedRun, replay: &BundleReplay) -> Result<u8, CommandError> {
        let BundleReplay { name, facts, .. } = replay;
        if self.command.is_empty() {
            return replay.refuse_without_command(run);
        }
        if facts.is_unreadable && !self.force {
            let message = "its run.json and summary.json cannot be read, so that a replay cannot be compared with them; replay it all the same with --force";
            let stopped = BundleReplayError::missing_dependency(message);
            return replay.fail(&stopped, results::skipped_results(run, facts), None);
        }
        if facts.recorded.is_some() || facts.is_unreadable {
            output::print_notice(&facts.recorded_line());
        }
        if let Some(coverage) = facts.coverage_line() {
            output::print_notice(&coverage);
        }
        let seeds = self.seeds(run);
        seeds.notices().for_each(|notice| output::print_notice(&notice));
        if self.fork.is_asked() {
            let found =
                OpenedRun { path: found.path.clone(), run: run.clone(), report: found.report.clone() };
            return self.run_bundle_live(&found, replay);
        }
        let written = self.bundle.outputs.as_deref().map(CommandOutputs::before).transpose()?;
        let (mut record, enforcement) = self.replay_run(run, name, self.command.clone())?;
        let written = written.map(|before| before.after());
        let (results, comparison) =
            results::compare(run, facts, seeds.named(), &record.outcome, record.child_exit, written.as_ref());
        record.bundle = Some(comparison);
        let end =
            BundleReplayEnd { results, seed_overrides: seeds.overrides(), ..BundleReplayEnd::default() };
        let stopped = match record.verdict() {
            ReplayVerdict::Reproduced => None,
            ReplayVerdict::Differed => Some(BundleReplayError {
                code: DIFFERED_CODE,
                message: format!("the replay differed: {}", self.differing_reasons(&record)),
            }),
            ReplayVerdict::MissingDependency => {
                let first = record.outcome.misses.first();
                Some(BundleReplayError::missing_dependency(
                    first.map_or(String::new(), |first| first.miss.to_string()),
                ))
            }
        };
        let end = BundleReplayEnd { stopped: stopped.as_ref(), ..end };
        replay.write_outcome(&record, &enforcement, end)?;
        self.report_result(&record, &enforcement)
    }

    /// Runs the command with requests that the bundle does not answer going to their vendors, and records that as a new run. The exit
    /// code is the command's own.
    fn run_bundle_live(&self, found: &OpenedRun, replay: &BundleReplay) -> Result<u8, CommandError> {
        let ForkEnd { code, exit, outcome } = self.run_fork(found, &replay.name, self.command.clone())?;
        let seeds = self.seeds(&found.run);
        let (results, comparison) =
            results::compare(&found.run, &replay.facts, seeds.named(), &outcome, exit, None);
        let stopped = match (outcome.missed, code) {
            (1.., _) => Some(BundleReplayError::missing_dependency("a request had no recorded answer")),
            (0, 0) => None,
            (0, _) => Some(BundleReplayError {
                code: DIFFERED_CODE,
                message: format!("the command ended with {exit}"),
            }),
        };
        replay.write(BundleReplayEnd {
            exit_code: code,
            stopped: stopped.as_ref(),
            message: Some(match &stopped {
                Some(stopped) => stopped.message.clone(),
                None => "the command ran with answers of its vendors".to_owned(),
            }),
            results,
            seeds: comparison.seeds,
            seed_overrides: seeds.overrides(),
            is_live: true,
            ..BundleReplayEnd::default()
        })?;
        Ok(code)
    }
}

impl BundleReplay {
    /// Refuses to call anything passed where nothing is run: says what was recorded, and what to type.
    fn refuse_without_command(&self, run: &Run) -> Result<u8, CommandError> {
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
    fn fail(
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
    fn write_outcome(
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
        let message = match (end.stopped, super::matching::found_by_phrase(record.outcome.found_by)) {
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
    fn write(&self, end: BundleReplayEnd<'_>) -> Result<(), CommandError> {
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
