//! `--as replay` of a folder in which the tool of the format left a run: `run.json` with its config and its trace.
//!
//! Such a folder is no record: nothing in it vouches for anything. The files are looked for where that tool writes them,
//! and packed as they are; links are not followed. Start reading at [`RunFolder::find`].

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use reenact_formats::replay_bundle::new_manifest::{BundleOutputs, BundleSeeds, ReplayCoverage, ScrubPolicy};
use reenact_formats::replay_bundle::{
    BundleDocument, CASSETTES_FOLDER, DocumentInclusion, FILES_FOLDER, NewBundleFile, NewManifest,
    read_digest, write,
};
use reenact_json::print::PrintObjectWriter;
use reenact_json::{Digest, Limits, Shown, Value};
use reenact_verify::disk::{self, record_folder};
use reenact_verify::{Keys, Options};

use super::ShareArgs;
use super::bundle_extras::BundleExtras;
use super::replay::reproduce_command;
use crate::output::CommandError;
use crate::{quantity, runs};

/// Places of the results; the first that is there counts. Each has its name in the bundle.
const OUTPUTS: [(&str, [&str; 2]); 4] = [
    ("outputs/run.json", ["run.json", ".assay/run.json"]),
    ("outputs/summary.json", ["summary.json", ".assay/summary.json"]),
    ("outputs/junit.xml", ["junit.xml", ".assay/reports/junit.xml"]),
    ("outputs/sarif.json", ["sarif.json", ".assay/reports/sarif.json"]),
];

/// Places of the config.
const CONFIGS: [&str; 2] = ["eval.yaml", "assay.yaml"];

/// Places of the trace.
const TRACES: [&str; 4] = ["trace.jsonl", "traces/ci.jsonl", "traces/run.jsonl", "traces/trace.jsonl"];

/// Folders of cassettes.
const CASSETTE_FOLDERS: [&str; 3] = ["cassettes", ".assay/cassettes", ".assay/vcr"];

/// Largest number of cassettes.
const MAX_CASSETTES: usize = 10_000;

/// Largest number of folders inside one another that are looked through for cassettes.
const MAX_CASSETTE_DEPTH: usize = 8;

/// Longest reason for a test that cannot be replayed, in characters, as the tool of the format cuts it.
const MAX_REASON_CHARS: usize = 240;

/// Reason for tests whose config is not in the bundle, in the words of the tool of the format.
const NO_CONFIG: &str = "config snapshot missing from bundle";

/// A run's folder, read.
pub(super) struct RunFolder {
    /// Files by their names in the bundle.
    files: BTreeMap<String, Vec<u8>>,
    config: Option<String>,
    trace: Option<String>,
}

impl RunFolder {
    /// Reads the folder that is given; `None` if it is a record, or no folder with a `run.json`.
    ///
    /// # Errors
    ///
    /// If there is no trace, or a file is a link or cannot be read.
    pub(super) fn find(given: &OsStr) -> Result<Option<Self>, CommandError> {
        let root = Path::new(given);
        if runs::find_last(given).is_some() || !root.is_dir() || is_record(root)? {
            return Ok(None);
        }
        let mut folder = Self { files: BTreeMap::new(), config: None, trace: None };
        for (name, places) in OUTPUTS {
            if let Some((_, content)) = first_file(root, &places)? {
                folder.files.insert(name.to_owned(), content);
            }
        }
        if !folder.files.contains_key("outputs/run.json") {
            return Ok(None);
        }
        folder.trace = folder.add_input(root, &TRACES)?;
        if folder.trace.is_none() {
            let name = root.to_string_lossy();
            return Err(CommandError::impossible(format!(
                "{}: there is a run.json and no trace beside it, so there is nothing to replay (E_NOTHING_RECORDED); looked for: {}",
                Shown::whole(&name),
                TRACES.join(", ")
            )));
        }
        folder.config = folder.add_input(root, &CONFIGS)?;
        for place in CASSETTE_FOLDERS {
            folder.add_cassettes(&root.join(place), CASSETTES_FOLDER, MAX_CASSETTE_DEPTH)?;
        }
        Ok(Some(folder))
    }

    /// Adds the first file that is there, and returns its name in the bundle.
    fn add_input(&mut self, root: &Path, places: &[&str]) -> Result<Option<String>, CommandError> {
        let Some((place, content)) = first_file(root, places)? else { return Ok(None) };
        let base = place.rsplit('/').next().unwrap_or(place);
        let name = format!("{FILES_FOLDER}{base}");
        self.files.insert(name.clone(), content);
        Ok(Some(name))
    }

    /// Adds the files of a folder of cassettes and of those in it. Of files with the same name the first is kept.
    fn add_cassettes(&mut self, folder: &Path, name: &str, depth: usize) -> Result<(), CommandError> {
        // A link is not followed, wherever it leads.
        if !folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Ok(());
        }
        let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        for path in paths {
            let Some(base) = path.file_name().and_then(OsStr::to_str) else { continue };
            let name = format!("{name}{base}");
            let Ok(found) = path.symlink_metadata() else { continue };
            if found.is_dir() && depth > 0 {
                self.add_cassettes(&path, &format!("{name}/"), depth - 1)?;
            } else if found.is_file() && !self.files.contains_key(&name) {
                if self.cassette_count() == MAX_CASSETTES {
                    return Err(CommandError::impossible(format!(
                        "there are more than {MAX_CASSETTES} cassettes"
                    )));
                }
                self.files.insert(name, read_file(&path)?);
            }
        }
        Ok(())
    }

    fn cassette_count(&self) -> usize {
        self.files.keys().filter(|name| name.starts_with(CASSETTES_FOLDER)).count()
    }

    /// Packs the folder with what was given beside it, and returns the archive with what can be replayed from it. A document that was
    /// given takes the place of the folder's own.
    ///
    /// # Errors
    ///
    /// If the writer of the format refuses a file.
    pub(super) fn pack(&mut self, extras: BundleExtras) -> Result<(Vec<u8>, ReplayCoverage), CommandError> {
        let mut baseline = None;
        for file in extras.files {
            match file.document {
                BundleDocument::Config => {
                    if let Some(own) = self.config.replace(file.name.clone()) {
                        self.files.remove(&own);
                    }
                }
                BundleDocument::Baseline => baseline = Some(Digest::of(&file.content)),
                BundleDocument::Junit | BundleDocument::Sarif => {}
            }
            self.files.insert(file.name, file.content);
        }
        let limits = Limits::default();
        let parsed = |name: &str| Value::parse(self.files.get(name)?, &limits).ok();
        let (run, summary) = (parsed("outputs/run.json"), parsed("outputs/summary.json"));
        let provenance = |name: &str| {
            let of = |document: Option<Value<'_>>| {
                document?.member("provenance")?.member(name)?.string().map(|text| text.into_owned())
            };
            of(run).or_else(|| of(summary))
        };
        let coverage = coverage(run, self.config.is_some());
        let output = |name: &str| self.files.contains_key(name).then(|| name.to_owned());
        let manifest = NewManifest {
            assay_version: provenance("assay_version")
                .filter(|version| !version.is_empty())
                .unwrap_or_else(|| concat!("reenact/", env!("CARGO_PKG_VERSION")).to_owned()),
            selection_method: Some("explicit-from".into()),
            config: self.config.clone().map_or(DocumentInclusion::Absent, DocumentInclusion::File),
            policy_digest: provenance("policy_pack_digest").and_then(|digest| read_digest(&digest)),
            baseline_digest: baseline.or_else(|| read_digest(&provenance("baseline_digest")?)),
            trace: self.trace.clone().map_or(DocumentInclusion::Absent, DocumentInclusion::File),
            outputs: BundleOutputs {
                run: output("outputs/run.json"),
                summary: output("outputs/summary.json"),
                junit: output("outputs/junit.xml"),
                sarif: output("outputs/sarif.json"),
            },
            seeds: Some(seeds(&extras.seeds, run, summary)),
            coverage: coverage.clone(),
            scrub_policy: Some(ScrubPolicy {
                include_prompts: Some(true),
                scrub_cassettes: Some(false),
                name: Some("none".into()),
            }),
            ..NewManifest::default()
        };
        let files: Vec<NewBundleFile<'_>> =
            self.files.iter().map(|(name, content)| NewBundleFile { name, content }).collect();
        let bytes = write(&manifest, &files, Vec::new())
            .map_err(|error| CommandError::impossible(error.to_string()))?;
        Ok((bytes, coverage.unwrap_or_default()))
    }
}

impl ShareArgs {
    /// Packs a run's folder, and prints what is in the bundle.
    ///
    /// # Errors
    ///
    /// If nothing of it can be replayed, or what was made does not verify.
    pub(super) fn share_run_folder(&self, mut folder: RunFolder) -> Result<u8, CommandError> {
        if !self.withhold.is_empty() {
            return Err(CommandError::impossible(
                "--withhold is for RER records: a folder of files has no events",
            ));
        }
        let (bytes, coverage) = folder.pack(self.extras.read()?)?;
        let opened = reenact_run::open(bytes.clone(), &Keys::default(), &Options::default());
        let run = opened.run.map_err(|error| CommandError::refused(error.to_string()))?;
        if run.exchanges().next().is_none() {
            return Err(CommandError::impossible(
                "the trace holds no answers, so there is nothing to replay (E_NOTHING_RECORDED)",
            ));
        }
        let written = self.write_bundle(&run, &bytes)?;
        let reproduce = reproduce_command(&written.place, &run);
        written.place.print_report(&if self.json {
            let mut line = String::new();
            let mut object = PrintObjectWriter::open(&mut line);
            written.write_facts("replay-bundle/1", &mut object);
            object.name("files").push_str(&folder.files.len().to_string());
            object.name("cassettes").push_str(&folder.cassette_count().to_string());
            object.name("complete").push_str(&coverage.complete.len().to_string());
            object.name("incomplete").push_str(&coverage.incomplete.len().to_string());
            object.string("reproduce", reproduce.as_str());
            object.close();
            line + "\n"
        } else {
            let (shown, size) = (written.place.shown(), quantity::size(written.size));
            let files = quantity::count(folder.files.len() as u64, "file");
            let names: Vec<String> = folder.files.keys().map(|name| Shown::new(name).to_string()).collect();
            let mut text = format!(
                "{shown} ({size}): made of a run's folder; {files}, verified\n  {}\n",
                names.join(", ")
            );
            for (test, why) in &coverage.reason {
                let _ = writeln!(text, "  cannot be replayed: {}: {}", Shown::new(test), Shown::new(why));
            }
            let _ = writeln!(text, "prompts and answers are in it as they were recorded");
            let _ = writeln!(text, "reproduce: {reproduce}");
            text
        })?;
        Ok(0)
    }
}

/// Returns true for the folder of a record.
fn is_record(folder: &Path) -> Result<bool, CommandError> {
    let format =
        record_folder::format_of(folder).map_err(|fault| CommandError::impossible(fault.to_string()))?;
    Ok(format.is_some() || runs::contains_file(folder, "artifact.rer.json")?)
}

/// Returns the first file that is there, with its place.
///
/// # Errors
///
/// If it is a link, or cannot be read.
fn first_file<'p>(root: &Path, places: &[&'p str]) -> Result<Option<(&'p str, Vec<u8>)>, CommandError> {
    for place in places {
        if runs::contains_file(root, place)? {
            return Ok(Some((place, read_file(&root.join(place))?)));
        }
    }
    Ok(None)
}

/// Reads a file whole.
fn read_file(path: &Path) -> Result<Vec<u8>, CommandError> {
    disk::read(path).map_err(|error| CommandError::impossible(format!("{error} ({})", error.code)))
}

/// Returns the tests of `run.json` that can be replayed, and those that cannot. As the tool of the format has it, these are the
/// ones that ended with an error, and all of them without the config, which defines them. `None` if it lists no tests.
fn coverage(run: Option<Value<'_>>, has_config: bool) -> Option<ReplayCoverage> {
    let mut coverage = ReplayCoverage::default();
    for result in run?.member("results")?.elements() {
        let text = |name| result.member(name).and_then(|value| value.string()).unwrap_or_default();
        let test = text("test_id").into_owned();
        let is_error = text("status").eq_ignore_ascii_case("error");
        if !is_error && has_config {
            coverage.complete.push(test);
            continue;
        }
        let reason = match is_error {
            true => text("message").trim().chars().take(MAX_REASON_CHARS).collect(),
            false => NO_CONFIG.to_owned(),
        };
        coverage.reason.insert(test.clone(), reason);
        coverage.incomplete.push(test);
    }
    (!coverage.complete.is_empty() || !coverage.incomplete.is_empty()).then_some(coverage)
}

/// Returns the seeds that were given, else those of `run.json`, else those of `summary.json`.
fn seeds(given: &BundleSeeds, run: Option<Value<'_>>, summary: Option<Value<'_>>) -> BundleSeeds {
    let found = |name: &str| {
        let text = |value: Value<'_>| match value.string() {
            Some(text) => text.into_owned(),
            None => String::from_utf8_lossy(value.text()).into_owned(),
        };
        let in_run = || run?.member(name).filter(|value| !value.is_null());
        let in_summary = || summary?.member("seeds")?.member(name).filter(|value| !value.is_null());
        in_run().or_else(in_summary).map(text)
    };
    BundleSeeds {
        seed_version: Some(found("seed_version").and_then(|version| version.parse().ok()).unwrap_or(1)),
        order_seed: given.order_seed.clone().or_else(|| found("order_seed")),
        judge_seed: given.judge_seed.clone().or_else(|| found("judge_seed")),
    }
}
