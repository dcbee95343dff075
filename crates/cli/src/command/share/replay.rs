//! `--as replay`: a Replay Bundle with trace, cassettes, config and results.
//!
//! | member | content |
//! |---|---|
//! | `files/trace.jsonl` | a line with prompt and response for each model call |
//! | `cassettes/…` | one file for each exchange |
//! | `files/eval.*` | the config that `--config` names |
//! | `outputs/…` | run.json, summary.json, and the reports of `--junit` and `--sarif` |
//!
//! The bundle depends on the run and these files alone: no clock, no path of this machine. The same input
//! gives the same bytes.

use std::fmt::Write as _;
use std::path::Path;

use reenact_formats::replay_bundle::new_manifest::{
    BundleOutputs, BundleSeeds, BundleToolchain, ReplayCoverage, ToolchainRunner,
};
use reenact_formats::replay_bundle::{DocumentInclusion, NewBundleFile, write};
use reenact_json::print::PrintObjectWriter;
use reenact_json::{Digest, Limits, Shown, Value};
use reenact_run::Run;
use reenact_run::assay_report::AssayReport;
use reenact_run::convert::export::replay_bundle::{TRACE, bundle_parts, new_manifest};
use reenact_run::convert::{ExportContext, Losses, ModelIoOptions};
use reenact_verify::{Report, disk};

use super::ShareArgs;
use crate::output::{self, CommandError};
use crate::sealed_record::require_verified;
use crate::{quantity, runs};

/// Version of this program, which the manifest names as its writer.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Files that go into a Replay Bundle beside the run's own.
#[derive(Default)]
pub(in crate::command) struct BundleExtras<'a> {
    config: Option<&'a Path>,
    junit: Option<&'a Path>,
    sarif: Option<&'a Path>,
}

/// A Replay Bundle in memory.
pub(in crate::command) struct ReplayBundle {
    /// The archive.
    pub(in crate::command) bytes: Vec<u8>,
    /// Parts of the record that have no place in it.
    pub(in crate::command) losses: Losses,
    coverage: ReplayCoverage,
    files: usize,
    cassettes: usize,
}

impl ReplayBundle {
    /// Packs the run.
    ///
    /// # Errors
    ///
    /// If a file of `extras` cannot be read, or the writer of the format refuses one.
    pub(in crate::command) fn of(
        run: &Run,
        report: &Report,
        extras: &BundleExtras<'_>,
    ) -> Result<Self, CommandError> {
        let mut losses = Losses::new();
        let parts = bundle_parts(run, &mut losses);
        let mut gate = AssayReport::of(run, VERSION);
        gate.trace_digest = Some(Digest::of(&parts.trace));
        let how = ExportContext {
            version: VERSION,
            now: "",
            source: (&report.format, source_digest(run)),
            model_io: ModelIoOptions::default(),
        };
        let mut manifest = new_manifest(run, &how, parts.coverage.clone());
        let mut files: Vec<(String, Vec<u8>)> = vec![
            (TRACE.to_owned(), parts.trace),
            ("outputs/run.json".to_owned(), gate.run_json().into_bytes()),
            ("outputs/summary.json".to_owned(), gate.summary_json().into_bytes()),
        ];
        manifest.outputs = BundleOutputs {
            run: Some("outputs/run.json".to_owned()),
            summary: Some("outputs/summary.json".to_owned()),
            ..BundleOutputs::default()
        };
        let cassettes = parts.cassettes.len();
        files.extend(parts.cassettes);
        for (given, name, slot) in [
            (extras.junit, "outputs/junit.xml", &mut manifest.outputs.junit),
            (extras.sarif, "outputs/sarif.json", &mut manifest.outputs.sarif),
        ] {
            if let Some(given) = given {
                files.push((name.to_owned(), read_file(given)?));
                *slot = Some(name.to_owned());
            }
        }
        if let Some(config) = extras.config {
            let name = config_member_name(config);
            files.push((name.clone(), read_file(config)?));
            manifest.config = DocumentInclusion::File(name);
        }
        manifest.toolchain = toolchain(run);
        manifest.seeds = Some(BundleSeeds { seed_version: Some(1), ..BundleSeeds::default() });
        let new: Vec<NewBundleFile<'_>> =
            files.iter().map(|(name, content)| NewBundleFile { name, content }).collect();
        let bytes = write(&manifest, &new, Vec::new())
            .map_err(|error| CommandError::impossible(error.to_string()))?;
        Ok(Self { bytes, losses, coverage: parts.coverage, files: files.len(), cassettes })
    }
}

impl ShareArgs {
    /// Packs the run, and prints which answers are in the bundle and which are not.
    ///
    /// # Errors
    ///
    /// If the record does not verify, or was imported from one that did not.
    pub(super) fn share_replay_bundle(&self) -> Result<u8, CommandError> {
        let runs::OpenedRun { path, run, report } = runs::open(&self.run, &self.keys)?;
        require_verified(&path, &report)?;
        if run.is_imported() && !was_verified_on_import(&run) {
            let name = path.to_string_lossy();
            return Err(CommandError::refused(format!(
                "{}: what it was imported from did not verify, so nothing was made of it",
                Shown::whole(&name)
            )));
        }
        let extras = BundleExtras {
            config: self.config.as_deref(),
            junit: self.junit.as_deref(),
            sarif: self.sarif.as_deref(),
        };
        let ReplayBundle { bytes, coverage, files, cassettes, .. } =
            ReplayBundle::of(&run, &report, &extras)?;
        let written = self.write_bundle(&run, &bytes)?;

        let (complete, incomplete) = (coverage.complete.len(), coverage.incomplete.len());
        let name = written.path.to_string_lossy();
        output::print(&if self.json {
            let mut line = String::new();
            let mut object = PrintObjectWriter::open(&mut line);
            object.string("out", name.as_ref());
            object.string("format", "replay-bundle/1");
            object.string("digest", format!("sha256:{}", written.digest).as_str());
            object.name("bytes").push_str(&written.size.to_string());
            object.name("files").push_str(&files.to_string());
            object.name("cassettes").push_str(&cassettes.to_string());
            object.name("complete").push_str(&complete.to_string());
            object.name("incomplete").push_str(&incomplete.to_string());
            object.close();
            line + "\n"
        } else {
            let shown = Shown::whole(&name);
            let mut text = format!(
                "{shown} ({}): {}, {}; verified\n",
                quantity::size(written.size),
                quantity::count(complete as u64, "answer"),
                quantity::count(cassettes as u64, "cassette"),
            );
            for (id, why) in &coverage.reason {
                let _ = writeln!(text, "  not in it: {}: {}", Shown::new(id), Shown::new(why));
            }
            let _ = writeln!(
                text,
                "prompts and answers are in it as they were recorded; see `reenact bundle inspect {shown}`"
            );
            text
        })?;
        Ok(0)
    }
}

/// Returns true if an imported record verified when it was imported, or was of a kind that has no proof.
fn was_verified_on_import(run: &Run) -> bool {
    let Ok(document) = Value::parse(run.document(), &Limits::default()) else { return false };
    let first = document.member("events").and_then(|events| events.elements().next());
    let import = first.and_then(|first| first.member("payload")?.member("import"));
    import
        .and_then(|import| import.member("verified"))
        .is_some_and(|verified| verified.boolean() != Some(false))
}

/// Returns the digest by which the bundle names its source: that of the signed content, or else that of all bytes.
fn source_digest(run: &Run) -> Digest {
    run.digest().unwrap_or_else(|| Digest::of(run.bytes()))
}

/// Reads a file whole.
fn read_file(path: &Path) -> Result<Vec<u8>, CommandError> {
    disk::read(path).map_err(|error| CommandError::impossible(format!("{error} ({})", error.code)))
}

/// Returns the name of the config in the bundle. Its extension is kept, as readers go by it; its folder is not.
fn config_member_name(path: &Path) -> String {
    let extension =
        path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase();
    match extension.as_str() {
        "json" => "files/eval.json".into(),
        "toml" => "files/eval.toml".into(),
        _ => "files/eval.yaml".into(),
    }
}

/// Returns operating system and architecture of the recording machine, as far as the record has them.
fn toolchain(run: &Run) -> Option<BundleToolchain> {
    let environment = run.environment()?;
    let text = |name| environment.member(name).and_then(|value| value.string()).map(|text| text.into_owned());
    let runner = ToolchainRunner { os: text("os"), arch: text("arch"), ..ToolchainRunner::default() };
    Some(BundleToolchain { runner: Some(runner), ..BundleToolchain::default() })
}
