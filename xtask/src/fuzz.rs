//! `cargo xtask fuzz`: hostile bytes for every reader, for a stated time.
//!
//! cargo-fuzz needs sanitizer flags that only nightly compilers take; `RUSTC_BOOTSTRAP=1` makes the stable one take them,
//! so that no second toolchain is needed. The corpus begins with the published vectors and grows in `fuzz/corpus`, which
//! is not committed; a finding worth keeping becomes a test.
//!
//! The step `fuzz` of `cargo xtask test` gives each target the seeds and nothing else: it shows that every target builds and that
//! its properties hold on them. What libFuzzer makes of them differs from run to run, even with a fixed seed, and a commit is not to
//! fail because of what chance finds in another.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::Ending;
use crate::context::Context;
use crate::failure::Failure;

/// Seconds for each target when none are given.
const SECONDS: u32 = 60;

/// What starts a corpus, under `vectors/`.
const SEEDS: &[&str] = &[
    "rer/valid",
    "rer/invalid",
    "model_io/files",
    "replay_jsonl/valid/r02_document_example_shape",
    "replay_jsonl/valid/r17_runtime_dialect_receipt_v1",
];

/// The flags of a stable compiler are those of a nightly one.
const BOOTSTRAP: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");

/// No code of ours is unsafe, so that a sanitizer would have nothing to watch but the clock.
const SANITIZER: &str = "--sanitizer none";

/// Bytes of the longest input: every vector but the two that test size. Without a limit libFuzzer takes the largest seed
/// for it, and spends its time on length.
const LONGEST: u32 = 16 * 1024;

/// How long a target runs.
#[derive(Debug, Clone, Copy)]
enum Length {
    Seconds(u32),
    /// The seeds, once each.
    Seeds,
}

impl Length {
    /// The folder of the inputs that a target begins with, below the root: what grew in earlier runs, or the seeds alone.
    fn corpus(self, target: &str) -> String {
        match self {
            Self::Seconds(_) => format!("fuzz/corpus/{target}"),
            Self::Seeds => format!("fuzz/corpus/seeds/{target}"),
        }
    }

    /// The options of libFuzzer.
    fn options(self) -> String {
        match self {
            Self::Seconds(seconds) => format!("-max_total_time={seconds}"),
            Self::Seeds => "-runs=0".to_owned(),
        }
    }
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    target: Option<String>,
    seconds: u32,
}

/// Runs the named target, or all, each for its time. A crash in one does not keep the others from running.
pub(crate) fn run(context: &Context, args: &[String]) -> Result<(), Ending> {
    let request = request(args).map_err(Ending::Usage)?;
    let targets = chosen(&context.root().join("fuzz/fuzz_targets"), request.target)?;
    let failed = fuzz_all(context, &targets, Length::Seconds(request.seconds)).map_err(failed)?;
    if failed > 0 {
        return Err(Ending::Failed(format!("{failed} of the fuzz runs failed")));
    }
    println!("no crash: {} for {} s each", targets.join(", "), request.seconds);
    Ok(())
}

/// The step of `cargo xtask test`.
pub(crate) fn seeds(context: &Context) -> Result<(), Failure> {
    let targets = chosen(&context.root().join("fuzz/fuzz_targets"), None);
    let targets = targets.map_err(|_| Failure::LeftOut { tests: vec!["the fuzz targets".to_owned()] })?;
    match fuzz_all(context, &targets, Length::Seeds)? {
        0 => Ok(()),
        failed => Err(Failure::Fuzz { failed }),
    }
}

/// Runs targets one after the other; says how many runs failed.
fn fuzz_all(context: &Context, targets: &[String], length: Length) -> Result<usize, Failure> {
    let fuzz = context.root().join("fuzz");
    if !context.has("fuzz") {
        println!("cargo-fuzz is not installed: installing it");
        context.cargo("install cargo-fuzz --locked")?;
    }

    let (mut findings, mut broken) = (Vec::new(), Vec::new());
    for target in targets {
        let corpus = context.root().join(length.corpus(target));
        if matches!(length, Length::Seeds) {
            // It may not be there.
            let _ = fs::remove_dir_all(&corpus);
        }
        seed(&context.root().join("vectors"), &corpus)
            .map_err(|error| Failure::NotStarted { line: format!("seeding {}", corpus.display()), error })?;
        let artifacts = fuzz.join("artifacts").join(target);
        let before = dated(&artifacts);
        println!("\n{target}");
        let result = context.cargo_with(&words(target, length), &[BOOTSTRAP]);
        let new: Vec<PathBuf> = dated(&artifacts).difference(&before).map(|(file, _)| file.clone()).collect();
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

fn failed(failure: Failure) -> Ending {
    Ending::Failed(failure.to_string())
}

fn request(args: &[String]) -> Result<Request, String> {
    let mut request = Request { target: None, seconds: SECONDS };
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        let seconds = match arg {
            "--seconds" => Some(args.next().unwrap_or_default()),
            _ => arg.strip_prefix("--seconds="),
        };
        if let Some(text) = seconds {
            // libFuzzer takes 0 for no end.
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

/// The named target, or every one: each is a file in `fuzz_targets`.
fn chosen(folder: &Path, name: Option<String>) -> Result<Vec<String>, Ending> {
    let files = files(folder)
        .map_err(|error| Ending::Failed(format!("no fuzz targets in {}: {error}", folder.display())))?;
    let known: Vec<String> = files
        .iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|file| file.file_stem()?.to_str().map(str::to_owned))
        .collect();
    match name {
        None => Ok(known),
        Some(name) if known.contains(&name) => Ok(vec![name]),
        Some(name) => Err(Ending::Usage(format!(
            "there is no fuzz target `{name}`; the targets are: {}",
            known.join(", ")
        ))),
    }
}

/// The words after `cargo` that run one target; fuzz/README.md explains them.
fn words(target: &str, length: Length) -> String {
    let (corpus, length) = (length.corpus(target), length.options());
    format!("fuzz run {SANITIZER} {target} {corpus} -- {length} -max_len={LONGEST} -dict=fuzz/json.dict")
}

/// Copies the vectors into a corpus, under names that say whence, unless they are there.
fn seed(vectors: &Path, corpus: &Path) -> io::Result<()> {
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

/// The files in a folder with the time of their last writing: a crash known from an earlier run is written again under
/// the same name.
fn dated(folder: &Path) -> BTreeSet<(PathBuf, Option<SystemTime>)> {
    let written = |file: &Path| file.metadata().and_then(|metadata| metadata.modified()).ok();
    let files = files(folder).unwrap_or_default();
    files.into_iter().map(|file| (file.clone(), written(&file))).collect()
}

/// The files directly in a folder.
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

    fn asked(words: &[&str]) -> Result<Request, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        request(&words)
    }

    #[test]
    fn arguments() {
        assert_eq!(asked(&[]), Ok(Request { target: None, seconds: 60 }));
        let scan = Request { target: Some("scan".to_owned()), seconds: 5 };
        assert_eq!(asked(&["scan", "--seconds", "5"]), Ok(scan));
        assert_eq!(asked(&["--seconds=7"]), Ok(Request { target: None, seconds: 7 }));
    }

    #[test]
    fn wrong_arguments() {
        let bad_number = |text: &str| Err(format!("`--seconds` needs a whole number above 0, not `{text}`"));
        assert_eq!(asked(&["--seconds"]), bad_number(""));
        assert_eq!(asked(&["--seconds", "0"]), bad_number("0"));
        assert_eq!(asked(&["--seconds=x"]), bad_number("x"));
        assert_eq!(asked(&["-j4"]), Err("`fuzz` has no option `-j4`".to_owned()));
        assert_eq!(asked(&["a", "b"]), Err("`fuzz` takes one target or none, not `a` and `b`".to_owned()));
    }
}
