//! Replays of Replay Bundles: the outcome in the bundle is part of the verdict, and `--bundle` writes the reports of the format.
//!
//! A bundle holds no command, so that without one nothing is run and nothing passes. Other tools of the format branch on the codes in
//! the reports, which are therefore written even if the replay cannot start: `E_CFG_PARSE` for a bundle that cannot be read,
//! `E_REPLAY_MISSING_DEPENDENCY` for a part that it lacks, `E_TEST_FAILED` for a replay that differed, `E_REPLAY_FAILED` for one that could
//! not be made. Reports of an earlier replay never stand for this one.
//!
//! | module | content |
//! |---|---|
//! | [`args`], [`seeds`] | options, and the seeds that the command is given |
//! | [`location`] | the bundle that is meant if none is named |
//! | [`inputs`] | trace, config, coverage and recorded outcome of a bundle |
//! | [`bundle_replay`] | refusals, and the content of the reports |
//! | [`results`], [`words`] | results of a replay, how they compare with the bundle's, and that in words |
//! | [`command_outputs`] | reports that the command writes itself |
//! | [`reports`] | the four files about the replay |
//!
//! Start reading at `ReplayArgs::run_bundle`.

mod args;
mod bundle_replay;
mod command_outputs;
mod inputs;
mod location;
mod reports;
mod results;
mod seeds;
mod words;

use reenact_formats::replay_bundle::LIMIT_CODE;
use reenact_json::Shown;
use reenact_replay::ReplayVerdict;
use reenact_run::{OpenedRecord, Run};
use reenact_verify::disk;

use self::bundle_replay::{BundleReplay, BundleReplayEnd, BundleReplayError};
use self::command_outputs::CommandOutputs;
use self::inputs::BundleFacts;
use self::reports::ReportFolder;
use super::ReplayArgs;
use super::fork::ForkEnd;
use crate::command::shell_quoted;
use crate::output::{self, CommandError};
use crate::runs::{self, OpenedRun};

pub(super) use args::ReplayBundleArgs;
pub(super) use seeds::ReplaySeeds;
pub(super) use words::{comparison_notices, differing_phrase, failure_phrase};

/// Code for a bundle that cannot be read, or is not what it says.
const PARSE_CODE: &str = "E_CFG_PARSE";
/// Code for a replay that differed from the recorded run.
const DIFFERED_CODE: &str = "E_TEST_FAILED";
/// Code for a replay that could not be made: no sandbox, a command that cannot be started.
const FAILED_CODE: &str = "E_REPLAY_FAILED";

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
        let opened = runs::open_with_report(path.as_os_str(), &self.keys);
        let (path, OpenedRecord { run, report }) = replay.reported(opened, PARSE_CODE, Vec::new)?;
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
        let skipped = || results::skipped_results(run, facts);
        let replayed = self.replay_run(run, name, self.command.clone());
        let (mut record, enforcement) = replay.reported(replayed, FAILED_CODE, skipped)?;
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
        let skipped = || results::skipped_results(&found.run, &replay.facts);
        let forked = self.run_fork(found, &replay.name, self.command.clone());
        let ForkEnd { code, exit, outcome } = replay.reported(forked, FAILED_CODE, skipped)?;
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
