//! `--as replay`: a Replay Bundle with trace, cassettes, config and results.
//!
//! | member | content |
//! |---|---|
//! | `files/trace.jsonl` | a line with prompt and response for each model call |
//! | `cassettes/…` | one file for each exchange |
//! | `files/eval.*`, `files/baseline` | the files that `--config` and `--baseline` name |
//! | `outputs/…` | run.json, summary.json, and the reports of `--junit` and `--sarif` |
//!
//! The bundle depends on the run and these files alone: no clock, no path of this machine. The same input
//! gives the same bytes. A bundle that is made of a bundle is another matter: `rebundle`.

use std::fmt::Write as _;

use reenact_formats::FormatId;
use reenact_formats::replay_bundle::new_manifest::{
    BundleOutputs, BundleSeeds, BundleToolchain, ReplayCoverage, ToolchainRunner,
};
use reenact_formats::replay_bundle::{
    BundleDocument, DocumentInclusion, MANIFEST, NewBundleFile, NewManifest, write,
};
use reenact_json::print::PrintObjectWriter;
use reenact_json::{Digest, Limits, Shown, Value};
use reenact_run::Run;
use reenact_run::assay_report::AssayReport;
use reenact_run::convert::export::replay_bundle::{TRACE, bundle_parts, new_manifest};
use reenact_run::convert::{ExportContext, Losses, ModelIoOptions};
use reenact_verify::Report;

use super::ShareArgs;
use super::bundle_extras::BundleExtras;
use super::run_folder::RunFolder;
use super::withhold::{WithheldRun, withheld_lines, write_withheld};
use crate::command::out_destination::OutDestination;
use crate::command::record::whole_command_line;
use crate::output::CommandError;
use crate::{quantity, runs};

/// Version of this program, which the manifest names as its writer.
const VERSION: &str = env!("CARGO_PKG_VERSION");

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
    /// If the writer of the format refuses a file.
    pub(in crate::command) fn of(
        run: &Run,
        report: &Report,
        extras: &BundleExtras,
    ) -> Result<Self, CommandError> {
        let mut losses = Losses::new();
        let parts = bundle_parts(run, &mut losses);
        let mut gate = AssayReport::of(run, VERSION);
        gate.trace_digest = Some(Digest::of(&parts.trace));
        let BundleSeeds { order_seed, judge_seed, .. } = &extras.seeds;
        (gate.seeds.order, gate.seeds.judge) = (order_seed.clone(), judge_seed.clone());
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
        add_extras(extras, &mut manifest, &mut files);
        manifest.toolchain = toolchain(run);
        let new: Vec<NewBundleFile<'_>> =
            files.iter().map(|(name, content)| NewBundleFile { name, content }).collect();
        let bytes = write(&manifest, &new, Vec::new())
            .map_err(|error| CommandError::impossible(error.to_string()))?;
        Ok(Self { bytes, losses, coverage: parts.coverage, files: files.len(), cassettes })
    }

    /// Refuses a bundle from which nothing can be replayed.
    ///
    /// # Errors
    ///
    /// If it holds no answer, with the reason.
    pub(in crate::command) fn require_answers(&self) -> Result<(), CommandError> {
        if !self.coverage.complete.is_empty() || self.cassettes > 0 {
            return Ok(());
        }
        let why = match self.coverage.reason.values().next() {
            Some(why) => format!("of no answer of the run enough is recorded ({})", Shown::new(why)),
            None => "the run holds no answers".to_owned(),
        };
        Err(CommandError::impossible(format!("{why}, so there is nothing to replay (E_NOTHING_RECORDED)")))
    }

    /// Returns what of the run can be replayed from the bundle, in words.
    pub(in crate::command) fn contents(&self) -> String {
        format!(
            "{}, {}",
            quantity::count(self.coverage.complete.len() as u64, "answer"),
            quantity::count(self.cassettes as u64, "cassette"),
        )
    }
}

/// Adds the files and the seeds that were given to a bundle.
fn add_extras(extras: &BundleExtras, manifest: &mut NewManifest, files: &mut Vec<(String, Vec<u8>)>) {
    for file in &extras.files {
        match file.document {
            BundleDocument::Config => manifest.config = DocumentInclusion::File(file.name.clone()),
            BundleDocument::Baseline => manifest.baseline_digest = Some(Digest::of(&file.content)),
            BundleDocument::Junit => manifest.outputs.junit = Some(file.name.clone()),
            BundleDocument::Sarif => manifest.outputs.sarif = Some(file.name.clone()),
        }
        files.push((file.name.clone(), file.content.clone()));
    }
    manifest.seeds = Some(BundleSeeds { seed_version: Some(1), ..extras.seeds.clone() });
}

impl ShareArgs {
    /// Packs the run, and prints which answers are in the bundle and which are not.
    ///
    /// # Errors
    ///
    /// If the record does not verify, or was imported from one that did not.
    pub(super) fn share_replay_bundle(&self) -> Result<u8, CommandError> {
        if let Some(folder) = RunFolder::find(&self.run)? {
            return self.share_run_folder(folder);
        }
        let WithheldRun { opened: runs::OpenedRun { path, run, report }, newly_withheld } =
            WithheldRun::open(self)?;
        if run.is_imported() && !was_verified_on_import(&run) {
            let name = path.to_string_lossy();
            return Err(CommandError::refused(format!(
                "{}: what it was imported from did not verify, so nothing was made of it",
                Shown::whole(&name)
            )));
        }
        let extras = self.extras.read()?;
        if run.payload_format() == FormatId::ReplayBundle && run.file(MANIFEST).is_some() {
            return self.share_bundle_again(&path, &run, &extras);
        }
        let bundle = ReplayBundle::of(&run, &report, &extras)?;
        bundle.require_answers()?;
        let written = self.write_bundle(&run, &bundle.bytes)?;

        let ReplayBundle { coverage, files, cassettes, .. } = &bundle;
        let (complete, incomplete) = (coverage.complete.len(), coverage.incomplete.len());
        let reproduce = reproduce_command(&written.place, &run);
        written.place.print_report(&if self.json {
            let mut line = String::new();
            let mut object = PrintObjectWriter::open(&mut line);
            written.write_facts("replay-bundle/1", &mut object);
            object.name("files").push_str(&files.to_string());
            object.name("cassettes").push_str(&cassettes.to_string());
            object.name("complete").push_str(&complete.to_string());
            object.name("incomplete").push_str(&incomplete.to_string());
            object.string("reproduce", reproduce.as_str());
            write_withheld(&newly_withheld, &mut object);
            object.close();
            line + "\n"
        } else {
            let (shown, size) = (written.place.shown(), quantity::size(written.size));
            let withheld = withheld_lines(&newly_withheld);
            let mut text = format!("{shown} ({size}): {}; verified\n{withheld}", bundle.contents());
            for (id, why) in &coverage.reason {
                let _ = writeln!(text, "  not in it: {}: {}", Shown::new(id), Shown::new(why));
            }
            let what = if newly_withheld.is_empty() { "prompts" } else { "all other prompts" };
            let _ = writeln!(
                text,
                "{what} and answers are in it as they were recorded; see `reenact bundle inspect {}`",
                written.place.word()
            );
            let _ = writeln!(text, "reproduce: {reproduce}");
            text
        })?;
        Ok(0)
    }
}

/// Returns the command that replays a bundle, with the recorded command of the run if it is known and can be run.
pub(in crate::command) fn reproduce_command(bundle: &OutDestination, run: &Run) -> String {
    let command = run.summary().command;
    format!("reenact replay --bundle {} -- {}", bundle.word(), whole_command_line(&command))
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

/// Returns what the record knows of the programs that ran, and of the machine.
fn toolchain(run: &Run) -> Option<BundleToolchain> {
    let text = |value: Option<Value<'_>>| value?.string().map(|text| text.into_owned());
    let environment = run.environment()?;
    let member = |name| text(environment.member(name));
    let runner = ToolchainRunner { os: member("os"), arch: member("arch"), ..ToolchainRunner::default() };
    let agent = run.started().and_then(|started| started.member("agent"));
    let agent = agent.and_then(|agent| {
        let name = text(agent.member("name"))?;
        Some(
            text(agent.member("version")).map_or_else(|| name.clone(), |version| format!("{name}/{version}")),
        )
    });
    Some(BundleToolchain {
        runner: Some(runner),
        recorder: member("reenact").map(|version| format!("reenact/{version}")),
        agent,
        ..BundleToolchain::default()
    })
}
