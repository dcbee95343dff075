//! `cargo xtask fuzz`: hostile bytes for every reader, for a given time.
//!
//! cargo-fuzz needs sanitizer flags that only nightly compilers take; `RUSTC_BOOTSTRAP=1` makes the
//! stable one take them, so that no second toolchain is needed. The corpus begins with the
//! published vectors and grows in `fuzz/corpus`, which is not committed; a finding worth keeping
//! becomes a test.
//!
//! The step `fuzz` of `cargo xtask test` runs each target on the seeds and on nothing else: it
//! shows that every target builds and that its properties hold on them. What libFuzzer makes of the
//! seeds differs from run to run, even with a fixed seed, and a commit must not fail by chance.
//!
//! | folder | content |
//! |---|---|
//! | `fuzz/fuzz_targets` | the targets, one file each |
//! | `fuzz/corpus/TARGET` | inputs that grew in earlier runs, and the seeds |
//! | `fuzz/corpus/seeds/TARGET` | the seeds alone, for the step `fuzz` |
//! | `fuzz/artifacts/TARGET` | inputs that crashed the target |

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::TaskError;
use crate::context::TaskContext;
use crate::failure::TaskFailure;

/// Seconds for each target if none are given.
const DEFAULT_SECONDS: u32 = 60;

/// Folders of the initial corpus, below `vectors/`.
const SEEDS: &[&str] = &[
    "rer/valid",
    "rer/invalid",
    "model_io/files",
    "replay_jsonl/valid/r02_document_example_shape",
    "replay_jsonl/valid/r17_runtime_dialect_receipt_v1",
];

/// Variable that makes a stable compiler accept the flags of a nightly one.
const BOOTSTRAP: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");

/// Option of cargo-fuzz: no code of ours is unsafe, so a sanitizer would only cost time.
const SANITIZER: &str = "--sanitizer none";

/// Longest input, in bytes: every vector but the two that test size. Without a limit libFuzzer
/// takes the largest seed for it, and spends its time on length.
const MAX_INPUT_BYTES: u32 = 16 * 1024;

/// Duration of a run.
#[derive(Debug, Clone, Copy)]
enum FuzzLength {
    /// This many seconds.
    Seconds(u32),
    /// The seeds, once each.
    Seeds,
}

impl FuzzLength {
    /// Returns the folder of the initial inputs, relative to the root: what grew in earlier runs,
    /// or the seeds alone.
    fn corpus(self, target: &str) -> String {
        match self {
            Self::Seconds(_) => format!("fuzz/corpus/{target}"),
            Self::Seeds => format!("fuzz/corpus/seeds/{target}"),
        }
    }

    /// Returns the options of libFuzzer.
    fn options(self) -> String {
        match self {
            Self::Seconds(seconds) => format!("-max_total_time={seconds}"),
            Self::Seeds => "-runs=0".to_owned(),
        }
    }
}

/// Parsed arguments.
#[derive(Debug, PartialEq, Eq)]
struct FuzzArgs {
    /// Name of one target; `None` runs all.
    target: Option<String>,
    /// Seconds for each target.
    seconds: u32,
}

/// Runs the named target, or all, each for its time. A crash in one does not keep the others from
/// running.
///
/// # Errors
/// [`TaskError::Usage`] for wrong arguments; [`TaskError::Failed`] if a target crashes, or cannot
/// be built.
pub(crate) fn run(context: &TaskContext, args: &[String]) -> Result<(), TaskError> {
    let request = parse_args(args).map_err(TaskError::Usage)?;
    let targets = selected_targets(&context.root().join("fuzz/fuzz_targets"), request.target)?;
    let failed =
        fuzz_all(context, &targets, FuzzLength::Seconds(request.seconds)).map_err(into_task_error)?;
    if failed > 0 {
        return Err(TaskError::Failed(format!("{failed} of the fuzz runs failed")));
    }
    println!("no crash: {} for {} s each", targets.join(", "), request.seconds);
    Ok(())
}

/// Runs the step `fuzz` of `cargo xtask test`: every target on the seeds, once each.
///
/// # Errors
/// If a target does not build, or fails on a seed.
pub(crate) fn seeds(context: &TaskContext) -> Result<(), TaskFailure> {
    let targets = selected_targets(&context.root().join("fuzz/fuzz_targets"), None);
    let targets =
        targets.map_err(|_| TaskFailure::TestsNotRun { tests: vec!["the fuzz targets".to_owned()] })?;
    match fuzz_all(context, &targets, FuzzLength::Seeds)? {
        0 => Ok(()),
        failed => Err(TaskFailure::Fuzz { failed }),
    }
}

/// Runs targets one after the other; returns how many runs failed.
///
/// Prints the inputs that crash a target, with commands that reproduce and shrink them.
fn fuzz_all(context: &TaskContext, targets: &[String], length: FuzzLength) -> Result<usize, TaskFailure> {
    let fuzz = context.root().join("fuzz");
    context.ensure_cargo_tool("fuzz")?;

    let (mut findings, mut broken) = (Vec::new(), Vec::new());
    for target in targets {
        let corpus = context.root().join(length.corpus(target));
        if matches!(length, FuzzLength::Seeds) {
            // The folder may not exist.
            let _ = fs::remove_dir_all(&corpus);
        }
        copy_seeds(&context.root().join("vectors"), &corpus).map_err(|error| TaskFailure::NotStarted {
            line: format!("seeding {}", corpus.display()),
            error,
        })?;
        let artifacts = fuzz.join("artifacts").join(target);
        let before = files_with_mtime(&artifacts);
        println!("\n{target}");
        let result = context.cargo_with(&cargo_words(target, length), &[BOOTSTRAP]);
        let new: Vec<PathBuf> =
            files_with_mtime(&artifacts).difference(&before).map(|(file, _)| file.clone()).collect();
        match result {
            Ok(()) => {}
            Err(failure) if new.is_empty() => broken.push(format!("{target}: {failure}")),
            Err(_) => findings.extend(new.into_iter().map(|file| (target.as_str(), file))),
        }
    }

    println!();
    let (name, value) = BOOTSTRAP;
    for (target, file) in &findings {
        let file = file.strip_prefix(context.root()).unwrap_or(file).display();
        println!("{target}: this input crashes it: {file}");
        for (purpose, verb) in [("reproduce", "run"), ("shrink", "tmin")] {
            println!("  {purpose}: {name}={value} cargo fuzz {verb} {SANITIZER} {target} {file}");
        }
    }
    for message in &broken {
        println!("{message}");
    }
    Ok(findings.len() + broken.len())
}

fn into_task_error(failure: TaskFailure) -> TaskError {
    TaskError::Failed(failure.to_string())
}

/// Parses the arguments.
fn parse_args(args: &[String]) -> Result<FuzzArgs, String> {
    let mut request = FuzzArgs { target: None, seconds: DEFAULT_SECONDS };
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        let seconds = match arg {
            "--seconds" => Some(args.next().unwrap_or_default()),
            _ => arg.strip_prefix("--seconds="),
        };
        if let Some(text) = seconds {
            // 0 would mean no limit to libFuzzer.
            request.seconds = text
                .parse()
                .ok()
                .filter(|&seconds| seconds > 0)
                .ok_or_else(|| format!("`--seconds` needs a whole number above 0, not `{text}`"))?;
        } else if arg.starts_with('-') {
            return Err(format!("`fuzz` has no option `{arg}`"));
        } else if let Some(first) = request.target.replace(arg.to_owned()) {
            return Err(format!("`fuzz` takes one target or none, not `{first}` and `{arg}`"));
        }
    }
    Ok(request)
}

/// Returns the named target, or all: each is a file in `fuzz_targets`.
fn selected_targets(folder: &Path, name: Option<String>) -> Result<Vec<String>, TaskError> {
    let files = files(folder)
        .map_err(|error| TaskError::Failed(format!("no fuzz targets in {}: {error}", folder.display())))?;
    let known: Vec<String> = files
        .iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|file| file.file_stem()?.to_str().map(str::to_owned))
        .collect();
    match name {
        None => Ok(known),
        Some(name) if known.contains(&name) => Ok(vec![name]),
        Some(name) => Err(TaskError::Usage(format!(
            "there is no fuzz target `{name}`; the targets are: {}",
            known.join(", ")
        ))),
    }
}

/// Returns the words after `cargo` that run one target; fuzz/README.md explains them.
fn cargo_words(target: &str, length: FuzzLength) -> String {
    let (corpus, length) = (length.corpus(target), length.options());
    format!(
        "fuzz run {SANITIZER} {target} {corpus} -- {length} -max_len={MAX_INPUT_BYTES} -dict=fuzz/json.dict"
    )
}

/// Copies the vectors into a corpus, unless they are there. Their names say where they come from.
fn copy_seeds(vectors: &Path, corpus: &Path) -> io::Result<()> {
    fs::create_dir_all(corpus)?;
    for folder in SEEDS {
        for file in files(&vectors.join(folder))? {
            let Some(name) = file.file_name() else { continue };
            let seed = corpus.join(format!("{}-{}", folder.replace('/', "-"), name.to_string_lossy()));
            if !seed.exists() {
                fs::copy(&file, seed)?;
            }
        }
    }
    Ok(())
}

/// Returns the files of a folder with their modification times: a crash known from an earlier run
/// is written again under the same name.
fn files_with_mtime(folder: &Path) -> BTreeSet<(PathBuf, Option<SystemTime>)> {
    let written = |file: &Path| file.metadata().and_then(|metadata| metadata.modified()).ok();
    let files = files(folder).unwrap_or_default();
    files.into_iter().map(|file| (file.clone(), written(&file))).collect()
}

/// Returns the files directly in a folder.
fn files(folder: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            files.insert(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<FuzzArgs, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        parse_args(&words)
    }

    #[test]
    fn arguments() {
        assert_eq!(parsed(&[]), Ok(FuzzArgs { target: None, seconds: 60 }));
        let scan = FuzzArgs { target: Some("scan".to_owned()), seconds: 5 };
        assert_eq!(parsed(&["scan", "--seconds", "5"]), Ok(scan));
        assert_eq!(parsed(&["--seconds=7"]), Ok(FuzzArgs { target: None, seconds: 7 }));
    }

    #[test]
    fn wrong_arguments() {
        let bad_number = |text: &str| Err(format!("`--seconds` needs a whole number above 0, not `{text}`"));
        assert_eq!(parsed(&["--seconds"]), bad_number(""));
        assert_eq!(parsed(&["--seconds", "0"]), bad_number("0"));
        assert_eq!(parsed(&["--seconds=x"]), bad_number("x"));
        assert_eq!(parsed(&["-j4"]), Err("`fuzz` has no option `-j4`".to_owned()));
        assert_eq!(parsed(&["a", "b"]), Err("`fuzz` takes one target or none, not `a` and `b`".to_owned()));
    }
}
