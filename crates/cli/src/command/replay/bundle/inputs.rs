//! What a replay takes from a bundle, and from files that the bundle holds only the digests of.
//!
//! Start reading at `ReplayArgs::complete_run` and [`BundleFacts::of`].

use std::path::Path;

use reenact_formats::FormatId;
use reenact_formats::replay_bundle::manifest::{OutputsView, SeedsView};
use reenact_formats::replay_bundle::{
    CoverageView, LIMIT_CODE, MANIFEST, ManifestView, manifest_limits, read_digest,
};
use reenact_json::{Digest, Limits, Shown, Value};
use reenact_run::{BundledOutcome, Run};
use reenact_verify::disk;

use super::super::ReplayArgs;
use super::{BundleReplayError, PARSE_CODE};
use crate::output;
use crate::quantity;
use crate::runs::OpenedRun;

/// Facts in a bundle about its run, beside the answers. All texts are untrusted.
#[derive(Default)]
pub(super) struct BundleFacts {
    /// Outcome of the run.
    pub(super) recorded: Option<BundledOutcome>,
    /// True if the bundle has reports on that, none of which can be read.
    pub(super) is_unreadable: bool,
    /// Number of tests that the bundle holds all of.
    pub(super) complete_tests: usize,
    /// Tests that cannot be replayed, with the reasons of the producer.
    pub(super) incomplete_tests: Vec<(String, Option<String>)>,
    /// Id of the run from which the bundle was made.
    pub(super) source_run_id: Option<String>,
    /// Name of the test suite.
    pub(super) suite: Option<String>,
    /// Version of the way in which seeds are used.
    pub(super) seed_version: Option<u32>,
}

/// Parses the manifest of a bundle.
pub(super) fn manifest(run: &Run) -> Option<Value<'_>> {
    Value::parse(run.file(MANIFEST)?, &manifest_limits()).ok()
}

impl BundleFacts {
    /// Reads the facts of a bundle; a part that cannot be read is absent.
    pub(super) fn of(run: &Run) -> Self {
        let Some(manifest) = manifest(run).map(ManifestView::of) else { return Self::default() };
        let output = manifest.outputs.map(OutputsView::of).and_then(|outputs| outputs.run?.string());
        let source = run.file(output.as_deref().unwrap_or("outputs/run.json"));
        let source = source.and_then(|bytes| Value::parse(bytes, &Limits::default()).ok());
        let text = |value: Value<'_>| match value.string() {
            Some(text) => text.into_owned(),
            None => String::from_utf8_lossy(value.text()).into_owned(),
        };
        let member =
            |name: &str| source.and_then(|source| source.member(name)).filter(|value| !value.is_null());
        let seeds = manifest.seeds.map(SeedsView::of).unwrap_or_default();
        let coverage = manifest.replay_coverage.map(CoverageView::of).unwrap_or_default();
        let recorded = BundledOutcome::of(run);
        let outputs = manifest.outputs.map(OutputsView::of).unwrap_or_default();
        Self {
            is_unreadable: recorded.is_none() && (outputs.summary.is_some() || outputs.run.is_some()),
            recorded,
            complete_tests: coverage.counts().0,
            incomplete_tests: coverage.incomplete().map(|(test, why)| (text(test), why.map(text))).collect(),
            source_run_id: member("run_id").map(text),
            suite: member("suite").map(text),
            seed_version: seeds.seed_version.and_then(|version| version.unsigned_integer()?.try_into().ok()),
        }
    }

    /// Returns how the run ended, in words.
    pub(super) fn recorded_line(&self) -> String {
        match &self.recorded {
            Some(recorded) => format!("recorded: {recorded}"),
            None if self.is_unreadable => {
                "recorded: the reports in the bundle cannot be read, so that nothing tells how its run ended"
                    .to_owned()
            }
            None => "recorded: the bundle does not tell how its run ended".to_owned(),
        }
    }

    /// Returns which tests cannot be replayed, in words; `None` if all can be.
    pub(super) fn coverage_line(&self) -> Option<String> {
        /// Number of tests that are named; the rest is counted.
        const NAMED: usize = 3;
        let incomplete = self.incomplete_tests.len();
        let word = |(test, why): &(String, Option<String>)| match why {
            Some(why) => format!("{} ({})", Shown::new(test), first_line(why)),
            None => Shown::new(test).to_string(),
        };
        let named: Vec<String> = self.incomplete_tests.iter().take(NAMED).map(word).collect();
        let more = match incomplete.saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let is_ours = self.recorded.as_ref().is_some_and(|recorded| recorded.is_of_exchanges);
        (incomplete > 0).then(|| {
            format!(
                "{incomplete} of {} cannot be replayed from this bundle: {}{more}",
                quantity::count(
                    (self.complete_tests + incomplete) as u64,
                    if is_ours { "answer" } else { "test" }
                ),
                named.join(", ")
            )
        })
    }
}

/// Returns the first line of a reason, which may be a long message of several.
fn first_line(why: &str) -> String {
    let mut lines = why.lines().filter(|line| !line.trim().is_empty());
    let first = Shown::new(lines.next().unwrap_or_default()).to_string();
    if lines.next().is_some() { format!("{first} …") } else { first }
}

impl ReplayArgs {
    /// Returns the run of a bundle that is complete: verified (or forced), with its trace.
    ///
    /// A trace that an option supplies is added to the run, unless the manifest names a trace file inside the bundle. The config is
    /// used by nothing here, so that none is asked for; one that is given must be the bundle's.
    ///
    /// # Errors
    ///
    /// `E_CFG_PARSE` if this is no Replay Bundle or does not verify, `E_REPLAY_MISSING_DEPENDENCY` if the trace
    /// or every answer is missing, or a given file is another one.
    pub(super) fn complete_run(&self, found: &OpenedRun) -> Result<Run, BundleReplayError> {
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
        let digest = |value: Option<Value<'_>>| value.and_then(|value| read_digest(&value.string()?));
        if let Some(config) = &self.bundle.config {
            match digest(manifest.config_digest) {
                Some(digest) => drop(external_file("config", config, Some(digest))?),
                None => output::print_notice("the bundle names no config, so that --config was not checked"),
            }
        }
        let run = match (manifest.trace_path, digest(manifest.trace_digest), &self.bundle.trace) {
            (Some(_), _, None) | (None, None, None) => found.run.clone(),
            (Some(_), digest, Some(given)) => {
                external_file("trace", given, digest)?;
                found.run.clone()
            }
            (None, digest, Some(given)) => with_trace(&found.run, external_file("trace", given, digest)?)?,
            (None, Some(digest), None) => with_held_trace(&found.run, digest)?.ok_or_else(|| {
                BundleReplayError::missing_dependency(format!(
                    "the bundle holds only the digest of its trace (sha256:{digest}): give the file with --trace"
                ))
            })?,
        };
        require_answers(&run)?;
        Ok(run)
    }
}

/// Returns the run of a bundle with the trace that it holds under another name than the manifest says. Its record was checked before.
///
/// # Errors
///
/// `E_REPLAY_MISSING_DEPENDENCY` if it holds no answers.
pub(super) fn completed_run(run: &Run) -> Result<Run, BundleReplayError> {
    let manifest = manifest(run).map(ManifestView::of).unwrap_or_default();
    let digest = manifest.trace_digest.and_then(|digest| read_digest(&digest.string()?));
    let held = match digest.filter(|_| manifest.trace_path.is_none()) {
        Some(digest) => with_held_trace(run, digest)?,
        None => None,
    };
    let run = held.unwrap_or_else(|| run.clone());
    require_answers(&run)?;
    Ok(run)
}

/// Checks that a run holds answers: one without reproduces nothing.
fn require_answers(run: &Run) -> Result<(), BundleReplayError> {
    let message = "the bundle holds neither a trace with answers nor a cassette";
    run.exchanges().next().map(drop).ok_or_else(|| BundleReplayError::missing_dependency(message))
}

/// Returns the run with the file that has the digest of its trace; `None` if the bundle holds none.
fn with_held_trace(run: &Run, digest: Digest) -> Result<Option<Run>, BundleReplayError> {
    let held = run.files().find(|(_, bytes)| Digest::of(bytes) == digest);
    held.map(|(_, held)| with_trace(run, held.to_vec())).transpose()
}

/// Returns the run with a trace that its manifest does not name.
fn with_trace(run: &Run, trace: Vec<u8>) -> Result<Run, BundleReplayError> {
    run.with_trace(trace).map_err(|error| BundleReplayError { code: PARSE_CODE, message: error.to_string() })
}

/// Reads a file that an option supplies. `what` is the option's name.
///
/// # Errors
///
/// If the file cannot be read, or has another digest than the bundle names.
fn external_file(what: &str, path: &Path, digest: Option<Digest>) -> Result<Vec<u8>, BundleReplayError> {
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
        _ => Ok(bytes),
    }
}
