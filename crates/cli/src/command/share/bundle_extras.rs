//! Files and seeds that go into a Replay Bundle beside the run's own, as options and as they are packed.

use std::path::{Path, PathBuf};

use reenact_formats::replay_bundle::new_manifest::BundleSeeds;
use reenact_formats::replay_bundle::{AddedBundleFile, BundleDocument};
use reenact_verify::disk;

use crate::output::CommandError;

/// Options of `--as replay`.
#[derive(Debug, Default, clap::Args)]
pub(super) struct BundleExtraArgs {
    /// The config of the run, for a Replay Bundle
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// The baseline that the run is compared with, for a Replay Bundle
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// A report of the run in JUnit's format, for a Replay Bundle
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// A report of the run in SARIF, for a Replay Bundle
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,

    /// A seed that the run was started with, for a Replay Bundle: order=N (the order of tests) or judge=N
    #[arg(long, value_name = "NAME=N", value_parser = recorded_seed)]
    seed: Vec<RecordedSeed>,
}

/// Value of `--seed`.
#[derive(Debug, Clone, Copy)]
enum RecordedSeed {
    /// Seed of the order of tests.
    Order(u64),
    /// Seed of the judge.
    Judge(u64),
}

/// Parses a seed, for clap.
fn recorded_seed(text: &str) -> Result<RecordedSeed, String> {
    let number = |digits: &str| {
        digits.parse::<u64>().map_err(|_| format!("\"{digits}\" is no number from 0 to {}", u64::MAX))
    };
    match text.split_once('=') {
        Some(("order", digits)) => Ok(RecordedSeed::Order(number(digits)?)),
        Some(("judge", digits)) => Ok(RecordedSeed::Judge(number(digits)?)),
        _ => Err("a seed is order=N or judge=N".into()),
    }
}

impl BundleExtraArgs {
    /// Returns the name of the first option that is given.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--config", self.config.is_some()),
            ("--baseline", self.baseline.is_some()),
            ("--junit", self.junit.is_some()),
            ("--sarif", self.sarif.is_some()),
            ("--seed", !self.seed.is_empty()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }

    /// Reads the files.
    ///
    /// # Errors
    ///
    /// If one cannot be read.
    pub(super) fn read(&self) -> Result<BundleExtras, CommandError> {
        let mut extras = BundleExtras::default();
        for (document, path) in [
            (BundleDocument::Config, &self.config),
            (BundleDocument::Baseline, &self.baseline),
            (BundleDocument::Junit, &self.junit),
            (BundleDocument::Sarif, &self.sarif),
        ] {
            let Some(path) = path else { continue };
            let name = member_name(document, path);
            extras.files.push(AddedBundleFile { document, name, content: read_file(path)? });
        }
        // Of a seed that is given more than once, the last one counts, as for other options.
        for seed in &self.seed {
            match seed {
                RecordedSeed::Order(seed) => extras.seeds.order_seed = Some(seed.to_string()),
                RecordedSeed::Judge(seed) => extras.seeds.judge_seed = Some(seed.to_string()),
            }
        }
        Ok(extras)
    }
}

/// Files and seeds that go into a Replay Bundle beside the run's own.
#[derive(Debug, Default)]
pub(in crate::command) struct BundleExtras {
    pub(super) files: Vec<AddedBundleFile>,
    pub(super) seeds: BundleSeeds,
}

/// Returns the name of a document in the bundle. An extension that readers know is kept; the folder is not.
fn member_name(document: BundleDocument, path: &Path) -> String {
    let extension =
        path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase();
    match (document, extension.as_str()) {
        (BundleDocument::Junit, _) => "outputs/junit.xml".into(),
        (BundleDocument::Sarif, _) => "outputs/sarif.json".into(),
        (BundleDocument::Config, "json") => "files/eval.json".into(),
        (BundleDocument::Config, "toml") => "files/eval.toml".into(),
        (BundleDocument::Config, _) => "files/eval.yaml".into(),
        // Tools of the format take the first .yaml, .yml or .json of this folder for the config, and the first .jsonl for the
        // trace: a baseline must end in none of these.
        (BundleDocument::Baseline, _) => "files/baseline".into(),
    }
}

/// Reads a file whole.
fn read_file(path: &Path) -> Result<Vec<u8>, CommandError> {
    disk::read(path).map_err(|error| CommandError::impossible(format!("{error} ({})", error.code)))
}
