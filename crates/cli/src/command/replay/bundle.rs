//! `reenact replay --bundle B`: a Replay Bundle, and run.json and summary.json of what became of it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use reenact_formats::FormatId;
use reenact_formats::replay_bundle::manifest::{OutputsView, SeedsView};
use reenact_formats::replay_bundle::{CoverageView, FILES, LIMIT_CODE, MANIFEST, ManifestView, read_digest};
use reenact_json::{Digest, Limits, Shown, Value};
use reenact_keys::durable::{self, Readers};
use reenact_record::RunId;
use reenact_replay::{Verdict, miss};
use reenact_run::gate::{Gate, Outcome, Replayed, Seeds, Status};
use reenact_run::{Opened, Run};
use reenact_verify::disk;

use super::Replay;
use crate::output::{self, Ending};
use crate::runs::{self, Found};

/// Why a replay did not come to its end, or not to a good one. The codes are those that other tools of the format branch on.
struct Stopped {
    code: &'static str,
    message: String,
}

impl Stopped {
    fn missing(message: impl Into<String>) -> Self {
        Self { code: miss::CODE, message: message.into() }
    }
}

/// The code of what cannot be read, or is not what it says.
const NOT_READ: &str = "E_CFG_PARSE";
/// The code of a replay that went another way.
const DIFFERED: &str = "E_TEST_FAILED";

/// The files that are written.
const NAMES: [&str; 2] = ["run.json", "summary.json"];

/// Whether a file is what a replay writes, here or by the tool of the format.
fn is_output(bytes: &[u8]) -> bool {
    let Ok(document) = Value::parse(bytes, &Limits::default()) else { return false };
    let replayed =
        document.member("provenance").and_then(|provenance| provenance.member("replay")?.boolean());
    let schema = document.member("schema").and_then(|schema| schema.string());
    replayed == Some(true)
        || document.member("reason_code_version").is_some()
        || schema.is_some_and(|schema| schema.starts_with("assay."))
}

/// What is written.
#[derive(Default)]
struct Outputs {
    bundle_digest: Option<Digest>,
    source_run_id: Option<String>,
    suite: Option<String>,
    seeds: [Option<String>; 3],
    rows: Vec<Outcome>,
}

impl Replay {
    pub(super) fn run_bundle(&self, path: &Path) -> Result<u8, Ending> {
        Outputs::check()?;
        let mut outputs = Outputs { bundle_digest: digest(path), ..Outputs::default() };
        let name = Shown::whole(&path.to_string_lossy()).to_string();
        let (path, Opened { run, report }) = runs::examine(path.as_os_str(), &self.keys)?;
        let found = match run {
            Ok(run) => Found { path, run, report },
            Err(why) => {
                let is_over = report.reasons.iter().any(|reason| reason.contains(LIMIT_CODE));
                let code = if is_over { LIMIT_CODE } else { NOT_READ };
                return outputs.stop(&name, &Stopped { code, message: why.to_string() });
            }
        };
        outputs.read(&found.run);
        let run = match self.checked(&found) {
            Ok(run) => run,
            Err(stopped) => return outputs.stop(&name, &stopped),
        };
        if self.command.is_empty() {
            return outputs.look_through(&name, &run);
        }
        let begun = Instant::now();
        let (record, enforcement) = self.replayed(&run, &name)?;
        let (status, stopped) = match record.verdict() {
            Verdict::Reproduced => (Status::Pass, None),
            Verdict::Differed => {
                (Status::Fail, Some(Stopped { code: DIFFERED, message: "the replay differed".into() }))
            }
            Verdict::MissingDependency => {
                let first = record.outcome.misses.first().map_or(String::new(), |miss| miss.to_string());
                (Status::Error, Some(Stopped::missing(first)))
            }
        };
        let message = match (&stopped, super::found_by(record.outcome.rung)) {
            (Some(stopped), _) => stopped.message.clone(),
            (None, Some(found)) => format!("reproduced, requests were found by {found}"),
            (None, None) => "reproduced".into(),
        };
        let milliseconds = u64::try_from(begun.elapsed().as_millis()).ok();
        outputs.rows.push(Outcome { id: "replay".into(), status, message, milliseconds });
        outputs.write(record.verdict().exit_code(), stopped.as_ref())?;
        self.tell(&record, &enforcement)
    }

    /// The run of a bundle that is whole: verified, with its config, and with its trace.
    fn checked(&self, found: &Found) -> Result<Run, Stopped> {
        if found.run.dialect() != FormatId::ReplayBundle {
            let message = "this is no Replay Bundle; leave --bundle out to replay it";
            return Err(Stopped { code: NOT_READ, message: message.into() });
        }
        if !found.report.pass() && !self.force {
            let reasons = found.report.reasons.join("\n  ");
            let code = if reasons.contains(LIMIT_CODE) { LIMIT_CODE } else { NOT_READ };
            return Err(Stopped {
                code,
                message: format!(
                    "the bundle does not verify\n  {reasons}\nreplay it all the same with --force"
                ),
            });
        }
        let manifest = manifest(&found.run).map(ManifestView::of).unwrap_or_default();
        let held = |digest: &Digest| {
            let files = found.run.files().filter(|(name, _)| name.starts_with(FILES));
            files.into_iter().any(|(_, bytes)| Digest::of(bytes) == *digest)
        };
        let of = |value: Option<Value<'_>>| value.and_then(|value| read_digest(&value.string()?));
        given("config", self.config.as_deref(), of(manifest.config_digest), held)?;
        let trace = given("trace", self.trace.as_deref(), of(manifest.trace_digest), held)?;
        let run = match trace.filter(|_| manifest.trace_path.is_none()) {
            Some(trace) => found
                .run
                .with_trace(trace)
                .map_err(|error| Stopped { code: NOT_READ, message: error.to_string() })?,
            None => found.run.clone(),
        };
        if run.exchanges().next().is_none() {
            return Err(Stopped::missing("the bundle holds neither a trace with answers nor a cassette"));
        }
        Ok(run)
    }
}

/// A file that a bundle names by its digest: from the bundle, or else as it is given, and then it must be the one.
fn given(
    what: &str,
    path: Option<&Path>,
    digest: Option<Digest>,
    is_held: impl Fn(&Digest) -> bool,
) -> Result<Option<Vec<u8>>, Stopped> {
    let Some(path) = path else {
        return match digest {
            Some(digest) if !is_held(&digest) => Err(Stopped::missing(format!(
                "the bundle holds only the digest of its {what} (sha256:{digest}): give the file with --{what}"
            ))),
            _ => Ok(None),
        };
    };
    let bytes = disk::read(path).map_err(|error| Stopped::missing(error.to_string()))?;
    let found = Digest::of(&bytes);
    match digest {
        Some(digest) if digest != found => {
            let name = path.to_string_lossy();
            Err(Stopped::missing(format!(
                "{} is not the {what} of this bundle: it has the digest sha256:{found}, the bundle names sha256:{digest}",
                Shown::whole(&name)
            )))
        }
        _ => Ok(Some(bytes)),
    }
}

fn manifest(run: &Run) -> Option<Value<'_>> {
    Value::parse(run.file(MANIFEST)?, &Limits::default()).ok()
}

/// The digest of a bundle's archive; a folder has none.
fn digest(path: &Path) -> Option<Digest> {
    path.is_file().then(|| disk::file_digest(path).ok()).flatten()
}

impl Outputs {
    /// What the bundle says of the run that it was made from.
    fn read(&mut self, run: &Run) {
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

    fn stop(&self, name: &str, stopped: &Stopped) -> Result<u8, Ending> {
        self.write(2, Some(stopped))?;
        Err(Ending::impossible(format!("{name}: {} ({})", stopped.message, stopped.code)))
    }

    /// Without a command nothing is run: each recorded request is looked at, whether its answer could be given.
    fn look_through(&mut self, name: &str, run: &Run) -> Result<u8, Ending> {
        let coverage = manifest(run).and_then(|manifest| ManifestView::of(manifest).replay_coverage);
        let coverage = coverage.map(CoverageView::of).unwrap_or_default();
        if let Some((test, why)) = coverage.incomplete().next() {
            let word = |value: Value<'_>| Shown::new(&value.string().unwrap_or_default()).to_string();
            let (_, incomplete) = coverage.counts();
            let why = why.map_or(String::new(), |why| format!(" ({})", word(why)));
            let message =
                format!("{incomplete} of its tests cannot be replayed, the first is {}{why}", word(test));
            return self.stop(name, &Stopped::missing(message));
        }
        let mut failed = 0;
        for exchange in run.exchanges() {
            let why = exchange.request().err().or_else(|| exchange.answer().err());
            failed += usize::from(why.is_some());
            self.rows.push(Outcome {
                id: exchange.step_id().into_owned(),
                status: if why.is_some() { Status::Error } else { Status::Pass },
                message: why.map_or("its answer is held".into(), |why| why.to_string()),
                milliseconds: Some(0),
            });
        }
        let all = self.rows.len();
        if failed > 0 {
            return self.stop(
                name,
                &Stopped::missing(format!("{failed} of {all} recorded answers cannot be given")),
            );
        }
        self.write(0, None)?;
        output::complain(&format!(
            "{name}: {all} recorded answers can be given; nothing was run: give the command after --"
        ));
        Ok(0)
    }

    /// Whether run.json and summary.json may be written: the names are common, and files of others are not replaced.
    fn check() -> Result<(), Ending> {
        let is_others = |name: &&str| {
            let path = Path::new(name);
            let found = path.symlink_metadata();
            found
                .is_ok_and(|found| !found.is_file() || !disk::read(path).is_ok_and(|bytes| is_output(&bytes)))
        };
        match NAMES.into_iter().find(is_others) {
            None => Ok(()),
            Some(name) => Err(Ending::impossible(format!(
                "{name}: what is here under this name was not written by a replay, and is not replaced: move it, or replay in another folder"
            ))),
        }
    }

    /// Writes run.json and summary.json into the folder that we stand in.
    fn write(&self, exit_code: u8, stopped: Option<&Stopped>) -> Result<(), Ending> {
        // The command may have written there.
        Self::check()?;
        let gate = self.gate(exit_code, stopped);
        for (name, text) in NAMES.into_iter().zip([gate.run_json(), gate.summary_json()]) {
            let path = PathBuf::from(name);
            durable::replace(&path, text.as_bytes(), Readers::Everyone)
                .map_err(|error| Ending::impossible(format!("{name}: {error}")))?;
        }
        Ok(())
    }

    fn gate(&self, exit_code: u8, stopped: Option<&Stopped>) -> Gate {
        let [version, order, judge] = &self.seeds;
        let version = version.as_ref().and_then(|version| version.parse().ok()).unwrap_or(1);
        Gate {
            run_id: RunId::generate().map(|id| id.to_string()).ok(),
            suite: self.suite.clone().unwrap_or("replay".to_owned()),
            results: self.rows.clone(),
            exit_code: exit_code.into(),
            reason_code: stopped.map_or("", |stopped| stopped.code),
            message: stopped.map(|stopped| stopped.message.clone()),
            producer: concat!("reenact/", env!("CARGO_PKG_VERSION")).to_owned(),
            seeds: Seeds { version, order: order.clone(), judge: judge.clone() },
            replay: Some(Replayed {
                bundle_digest: self.bundle_digest,
                source_run_id: self.source_run_id.clone(),
            }),
            ..Gate::default()
        }
    }
}
