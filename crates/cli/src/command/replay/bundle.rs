//! `reenact replay --bundle B`: the replay of a Replay Bundle, with `run.json` and `summary.json` about its result.
//!
//! Other tools of the format branch on the codes in these files, so that they are written even if the replay
//! cannot start: `E_CFG_PARSE` for a bundle that cannot be read, `E_REPLAY_MISSING_DEPENDENCY` for a part
//! that it lacks, `E_TEST_FAILED` for a replay that differed. A bundle may name its config and its trace by
//! digest only; then options supply the files.
//!
//! Start reading at `ReplayArgs::run_bundle`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use reenact_formats::FormatId;
use reenact_formats::replay_bundle::manifest::{OutputsView, SeedsView};
use reenact_formats::replay_bundle::{
    CoverageView, FILES_FOLDER, LIMIT_CODE, MANIFEST, ManifestView, read_digest,
};
use reenact_json::{Digest, Limits, Shown, Value};
use reenact_keys::durable::{self, Readers};
use reenact_record::RunId;
use reenact_replay::{ReplayVerdict, miss};
use reenact_run::assay_report::{AssayReport, AssaySeeds, AssayTestResult, AssayTestStatus, ReplayedBundle};
use reenact_run::{OpenedRecord, Run};
use reenact_verify::disk;

use super::ReplayArgs;
use crate::output::{self, CommandError};
use crate::runs::{self, OpenedRun};

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

/// Names of the two files that are written into the current folder.
const OUTPUT_FILES: [&str; 2] = ["run.json", "summary.json"];

/// Returns true if the content of a file was written by a replay, by this program or by the format's own tool.
fn is_replay_output(bytes: &[u8]) -> bool {
    let Ok(document) = Value::parse(bytes, &Limits::default()) else { return false };
    let replayed =
        document.member("provenance").and_then(|provenance| provenance.member("replay")?.boolean());
    let schema = document.member("schema").and_then(|schema| schema.string());
    replayed == Some(true)
        || document.member("reason_code_version").is_some()
        || schema.is_some_and(|schema| schema.starts_with("assay."))
}

/// Content of `run.json` and `summary.json`, as far as it is known.
#[derive(Default)]
struct BundleReplayOutputs {
    /// SHA-256 of the archive; `None` for a folder.
    bundle_digest: Option<Digest>,
    /// Id of the run from which the bundle was made. Untrusted text.
    source_run_id: Option<String>,
    /// Name of the test suite, from the bundle. Untrusted text.
    suite: Option<String>,
    /// Seeds from the manifest: version, order seed, judge seed.
    seeds: [Option<String>; 3],
    /// Results: one for the replay, or one for each recorded answer.
    results: Vec<AssayTestResult>,
}

impl ReplayArgs {
    /// Replays a bundle, or checks its answers if there is no command, and writes the two output files.
    ///
    /// # Errors
    ///
    /// If a file of another origin has the name of an output, or the bundle cannot be replayed; the files
    /// then have the code.
    pub(super) fn run_bundle(&self, path: &Path) -> Result<u8, CommandError> {
        BundleReplayOutputs::require_replaceable()?;
        let mut outputs =
            BundleReplayOutputs { bundle_digest: digest(path), ..BundleReplayOutputs::default() };
        let name = Shown::whole(&path.to_string_lossy()).to_string();
        let (path, OpenedRecord { run, report }) = runs::open_with_report(path.as_os_str(), &self.keys)?;
        let found = match run {
            Ok(run) => OpenedRun { path, run, report },
            Err(why) => {
                let is_over = report.reasons.iter().any(|reason| reason.contains(LIMIT_CODE));
                let code = if is_over { LIMIT_CODE } else { PARSE_CODE };
                return outputs.fail(&name, &BundleReplayError { code, message: why.to_string() });
            }
        };
        outputs.read_provenance(&found.run);
        let run = match self.complete_run(&found) {
            Ok(run) => run,
            Err(stopped) => return outputs.fail(&name, &stopped),
        };
        if self.command.is_empty() {
            return outputs.check_answers(&name, &run);
        }
        let begun = Instant::now();
        let (record, enforcement) = self.replay_run(&run, &name, self.command.clone())?;
        let (status, stopped) = match record.verdict() {
            ReplayVerdict::Reproduced => (AssayTestStatus::Pass, None),
            ReplayVerdict::Differed => (
                AssayTestStatus::Fail,
                Some(BundleReplayError { code: DIFFERED_CODE, message: "the replay differed".into() }),
            ),
            ReplayVerdict::MissingDependency => {
                let first =
                    record.outcome.misses.first().map_or(String::new(), |first| first.miss.to_string());
                (AssayTestStatus::Error, Some(BundleReplayError::missing_dependency(first)))
            }
        };
        let message = match (&stopped, super::matching::found_by_phrase(record.outcome.found_by)) {
            (Some(stopped), _) => stopped.message.clone(),
            (None, Some(found)) => format!("reproduced, requests were found by {found}"),
            (None, None) => "reproduced".into(),
        };
        let milliseconds = u64::try_from(begun.elapsed().as_millis()).ok();
        outputs.results.push(AssayTestResult { id: "replay".into(), status, message, milliseconds });
        outputs.write(record.verdict().exit_code(), stopped.as_ref())?;
        self.report_result(&record, &enforcement)
    }

    /// Returns the run of a bundle that is complete: verified (or forced), with its config and its trace.
    ///
    /// A trace that an option supplies is added to the run, unless the manifest names a trace file inside the bundle.
    ///
    /// # Errors
    ///
    /// `E_CFG_PARSE` if this is no Replay Bundle or does not verify, `E_REPLAY_MISSING_DEPENDENCY` if a file
    /// or every answer is missing.
    fn complete_run(&self, found: &OpenedRun) -> Result<Run, BundleReplayError> {
        if found.run.payload_format() != FormatId::ReplayBundle {
            let message = "this is no Replay Bundle; leave --bundle out to replay it";
            return Err(BundleReplayError { code: PARSE_CODE, message: message.into() });
        }
        if !found.report.pass() && !self.force {
            let reasons = found.report.reasons.join("\n  ");
            let code = if reasons.contains(LIMIT_CODE) { LIMIT_CODE } else { PARSE_CODE };
            return Err(BundleReplayError {
                code,
                message: format!(
                    "the bundle does not verify\n  {reasons}\nreplay it all the same with --force"
                ),
            });
        }
        let manifest = manifest(&found.run).map(ManifestView::of).unwrap_or_default();
        let is_in_bundle = |digest: &Digest| {
            let files = found.run.files().filter(|(name, _)| name.starts_with(FILES_FOLDER));
            files.into_iter().any(|(_, bytes)| Digest::of(bytes) == *digest)
        };
        let of = |value: Option<Value<'_>>| value.and_then(|value| read_digest(&value.string()?));
        external_file("config", self.config.as_deref(), of(manifest.config_digest), is_in_bundle)?;
        let trace = external_file("trace", self.trace.as_deref(), of(manifest.trace_digest), is_in_bundle)?;
        let run = match trace.filter(|_| manifest.trace_path.is_none()) {
            Some(trace) => found
                .run
                .with_trace(trace)
                .map_err(|error| BundleReplayError { code: PARSE_CODE, message: error.to_string() })?,
            None => found.run.clone(),
        };
        if run.exchanges().next().is_none() {
            return Err(BundleReplayError::missing_dependency(
                "the bundle holds neither a trace with answers nor a cassette",
            ));
        }
        Ok(run)
    }
}

/// Returns a file that the bundle names by its digest only and that an option supplies; `None` if no option does.
///
/// `is_in_bundle` returns true for digests of files inside the bundle. `what` is the option's name.
///
/// # Errors
///
/// If the file is neither in the bundle nor supplied, or the supplied one has another digest.
fn external_file(
    what: &str,
    path: Option<&Path>,
    digest: Option<Digest>,
    is_in_bundle: impl Fn(&Digest) -> bool,
) -> Result<Option<Vec<u8>>, BundleReplayError> {
    let Some(path) = path else {
        return match digest {
            Some(digest) if !is_in_bundle(&digest) => Err(BundleReplayError::missing_dependency(format!(
                "the bundle holds only the digest of its {what} (sha256:{digest}): give the file with --{what}"
            ))),
            _ => Ok(None),
        };
    };
    let bytes = disk::read(path).map_err(|error| BundleReplayError::missing_dependency(error.to_string()))?;
    let found = Digest::of(&bytes);
    match digest {
        Some(digest) if digest != found => {
            let name = path.to_string_lossy();
            Err(BundleReplayError::missing_dependency(format!(
                "{} is not the {what} of this bundle: it has the digest sha256:{found}, the bundle names sha256:{digest}",
                Shown::whole(&name)
            )))
        }
        _ => Ok(Some(bytes)),
    }
}

/// Parses the manifest of a bundle.
fn manifest(run: &Run) -> Option<Value<'_>> {
    Value::parse(run.file(MANIFEST)?, &Limits::default()).ok()
}

/// Returns the SHA-256 of a bundle's archive; a folder has none.
fn digest(path: &Path) -> Option<Digest> {
    path.is_file().then(|| disk::file_digest(path).ok()).flatten()
}

impl BundleReplayOutputs {
    /// Reads from the bundle which run it was made from, its suite and its seeds.
    fn read_provenance(&mut self, run: &Run) {
        let Some(manifest) = manifest(run).map(ManifestView::of) else { return };
        let output = manifest.outputs.map(OutputsView::of).and_then(|outputs| outputs.run?.string());
        let source = run.file(output.as_deref().unwrap_or("outputs/run.json"));
        let source = source.and_then(|bytes| Value::parse(bytes, &Limits::default()).ok());
        let text = |value: Value<'_>| match value.string() {
            Some(text) => text.into_owned(),
            None => String::from_utf8_lossy(value.text()).into_owned(),
        };
        let member =
            |name: &str| source.and_then(|source| source.member(name)).filter(|value| !value.is_null());
        (self.source_run_id, self.suite) = (member("run_id").map(text), member("suite").map(text));
        let seeds = manifest.seeds.map(SeedsView::of).unwrap_or_default();
        self.seeds = [seeds.seed_version, seeds.order_seed, seeds.judge_seed].map(|seed| seed.map(text));
    }

    /// Writes the output files with the error, and returns it with exit code 2.
    fn fail(&self, name: &str, stopped: &BundleReplayError) -> Result<u8, CommandError> {
        self.write(2, Some(stopped))?;
        Err(CommandError::impossible(format!("{name}: {} ({})", stopped.message, stopped.code)))
    }

    /// Checks without running anything that each recorded request has an answer that a replay could give.
    ///
    /// A test that the manifest declares incomplete ends the check, since the bundle itself says that it
    /// cannot be replayed.
    fn check_answers(&mut self, name: &str, run: &Run) -> Result<u8, CommandError> {
        let coverage = manifest(run).and_then(|manifest| ManifestView::of(manifest).replay_coverage);
        let coverage = coverage.map(CoverageView::of).unwrap_or_default();
        if let Some((test, why)) = coverage.incomplete().next() {
            let word = |value: Value<'_>| Shown::new(&value.string().unwrap_or_default()).to_string();
            let (_, incomplete) = coverage.counts();
            let why = why.map_or(String::new(), |why| format!(" ({})", word(why)));
            let message =
                format!("{incomplete} of its tests cannot be replayed, the first is {}{why}", word(test));
            return self.fail(name, &BundleReplayError::missing_dependency(message));
        }
        let mut failed = 0;
        for exchange in run.exchanges() {
            let why = exchange.request().err().or_else(|| exchange.answer().err());
            failed += usize::from(why.is_some());
            self.results.push(AssayTestResult {
                id: exchange.step_id().into_owned(),
                status: if why.is_some() { AssayTestStatus::Error } else { AssayTestStatus::Pass },
                message: why.map_or("its answer is held".into(), |why| why.to_string()),
                milliseconds: Some(0),
            });
        }
        let all = self.results.len();
        if failed > 0 {
            return self.fail(
                name,
                &BundleReplayError::missing_dependency(format!(
                    "{failed} of {all} recorded answers cannot be given"
                )),
            );
        }
        self.write(0, None)?;
        output::print_notice(&format!(
            "{name}: {all} recorded answers can be given; nothing was run: give the command after --"
        ));
        Ok(0)
    }

    /// Refuses to go on if `run.json` or `summary.json` exists and was not written by a replay: the names are common.
    fn require_replaceable() -> Result<(), CommandError> {
        let is_others = |name: &&str| {
            let path = Path::new(name);
            let found = path.symlink_metadata();
            found.is_ok_and(|found| {
                !found.is_file() || !disk::read(path).is_ok_and(|bytes| is_replay_output(&bytes))
            })
        };
        match OUTPUT_FILES.into_iter().find(is_others) {
            None => Ok(()),
            Some(name) => Err(CommandError::impossible(format!(
                "{name}: what is here under this name was not written by a replay, and is not replaced: move it, or replay in another folder"
            ))),
        }
    }

    /// Writes `run.json` and `summary.json` into the current folder.
    fn write(&self, exit_code: u8, stopped: Option<&BundleReplayError>) -> Result<(), CommandError> {
        // The command may have created files of these names meanwhile.
        Self::require_replaceable()?;
        let gate = self.gate(exit_code, stopped);
        for (name, text) in OUTPUT_FILES.into_iter().zip([gate.run_json(), gate.summary_json()]) {
            let path = PathBuf::from(name);
            durable::replace(&path, text.as_bytes(), Readers::Everyone)
                .map_err(|error| CommandError::impossible(format!("{name}: {error}")))?;
        }
        Ok(())
    }

    /// Returns the result in the form of the format's files.
    fn gate(&self, exit_code: u8, stopped: Option<&BundleReplayError>) -> AssayReport {
        let [version, order, judge] = &self.seeds;
        let version = version.as_ref().and_then(|version| version.parse().ok()).unwrap_or(1);
        AssayReport {
            run_id: RunId::generate().map(|id| id.to_string()).ok(),
            suite: self.suite.clone().unwrap_or("replay".to_owned()),
            results: self.results.clone(),
            exit_code: exit_code.into(),
            reason_code: stopped.map_or("", |stopped| stopped.code),
            message: stopped.map(|stopped| stopped.message.clone()),
            producer: concat!("reenact/", env!("CARGO_PKG_VERSION")).to_owned(),
            seeds: AssaySeeds { version, order: order.clone(), judge: judge.clone() },
            replay: Some(ReplayedBundle {
                bundle_digest: self.bundle_digest,
                source_run_id: self.source_run_id.clone(),
            }),
            ..AssayReport::default()
        }
    }
}
