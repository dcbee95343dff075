//! `cargo xtask bench`: the time of verification as a ratio to hashing the same bytes, and the
//! times of recording and replaying.
//!
//! Ratios are comparable between machines, milliseconds are not. Nothing here passes or fails: a
//! budget is printed beside each number. Peak memory is that of a child process that does one
//! thing: `reenact-verify`, as users run it, verifies a file; or this program records a run.
//!
//! Each submodule prints the rows of one format. Start reading at [`optimised`].

mod bundle;
#[cfg(feature = "gateway")]
mod convert;
mod corpus;
#[cfg(feature = "gateway")]
mod end_to_end;
mod peak;
mod replay;
mod replay_bundle;
mod rpk;
mod session;
mod shuffled;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use reenact_json::Digest;
use reenact_verify::{Keys, Options, verify};

use corpus::{BenchArtifact, BenchContent};
use peak::peak_memory;
#[cfg(feature = "gateway")]
pub(crate) use peak::record as memory;

/// Builds this program and the verifier with optimisations, and runs [`optimised`] in a child
/// process.
///
/// # Errors
/// If a child process cannot be started, or fails.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let cargo = |words: &[&str], arguments: &[String]| {
        let status = Command::new(env!("CARGO"))
            .args(words)
            .args(arguments)
            .status()
            .map_err(|error| format!("cargo did not start: {error}"))?;
        if status.success() { Ok(()) } else { Err("the benchmark did not finish".to_owned()) }
    };
    cargo(&["build", "--quiet", "--release", "--package", "reenact-verify", "--bin", peak::VERIFIER], &[])?;
    let words = [
        "run",
        "--quiet",
        "--release",
        "--package",
        "xtask",
        "--features",
        "gateway",
        "--",
        "bench-optimised",
    ];
    cargo(&words, arguments)
}

/// Measures and prints the rows whose names contain all of `arguments`, such as `10MB`, `cjk`,
/// `bundle`, `convert`, `gateway`, `policy`, `replay`, `record` or `shuffled`.
///
/// In the table of artifacts, `sha-256` is the time of one hash of the file, `ratio` is `verify`
/// divided by it, and `memory` is the peak memory of the verifier as a multiple of the file size
/// (for small files in MB).
///
/// # Errors
/// If a generated record does not verify, or if a child process fails.
pub(crate) fn optimised(arguments: &[String]) -> Result<(), String> {
    let folder = folder()?;
    let is_selected = |name: &str| arguments.iter().all(|word| name.contains(word.as_str()));
    let mut selected = Vec::new();
    for (size_name, size) in [("10KB", 10 << 10), ("10MB", 10 << 20), ("200MB", 200 << 20)] {
        let rows =
            BenchContent::ALL.map(|content| (format!("{size_name} {}", content.name()), content, size));
        selected.extend(rows.into_iter().filter(|(name, ..)| is_selected(name)));
    }
    if !selected.is_empty() {
        println!(
            "{:<22} {:>9} {:>9} {:>9} {:>7} {:>7} {:>8}",
            "artifact", "size", "sha-256", "verify", "ratio", "budget", "memory"
        );
    }
    for (name, content, size) in selected {
        row(&name, &BenchArtifact::artifact(content, size)?, content, &folder)?;
    }
    bundle::rows(&folder, is_selected)?;
    rpk::rows(&folder, is_selected)?;
    session::rows(&folder, is_selected)?;
    shuffled::rows(is_selected)?;
    replay::rows(&folder, is_selected)?;
    replay_bundle::rows(&folder, is_selected)?;
    #[cfg(feature = "gateway")]
    convert::rows(is_selected)?;
    #[cfg(feature = "gateway")]
    end_to_end::rows(&folder, is_selected)?;
    Ok(())
}

/// Measures and prints one artifact.
fn row(name: &str, corpus: &BenchArtifact, content: BenchContent, folder: &Path) -> Result<(), String> {
    let BenchArtifact { bytes, key } = corpus;
    let mut keys = Keys::default();
    keys.add_supplied(*key);
    let options = Options::default();
    if !verify(bytes, &keys, &options).pass() {
        return Err(format!("{name}: the generated artifact does not verify"));
    }
    let hash = || {
        black_box(Digest::of(black_box(bytes)));
    };
    let verify = || {
        black_box(verify(black_box(bytes), &keys, &options));
    };
    let (hash, verify) = fastest(hash, verify);
    let path = folder.join("bench.rer.json");
    std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    std::fs::write(folder.join("bench.key"), key.as_bytes()).map_err(|error| error.to_string())?;
    let peak = peak_memory(&path, Some(&folder.join("bench.key")))?;
    let ratio = verify.as_secs_f64() / hash.as_secs_f64();
    let size = bytes.len() as f64 / f64::from(1 << 20);
    println!(
        "{name:<22} {size:>6.2} MB {:>6.2} ms {:>6.2} ms {ratio:>7.2} {:>7} {:>8}",
        hash.as_secs_f64() * 1e3,
        verify.as_secs_f64() * 1e3,
        content.budget(),
        // For a small file, the memory of the program itself dominates.
        if size > 1.0 { format!("{:.2} x", peak / size) } else { format!("{peak:.1} MB") },
    );
    Ok(())
}

/// Returns the shortest times of both closures, measured in turn so that both meet the same load of
/// the machine.
///
/// Runs at least 5 times, then until 1.5 seconds or 5,000 runs are over.
fn fastest(mut a: impl FnMut(), mut b: impl FnMut()) -> (Duration, Duration) {
    let mut best = (Duration::MAX, Duration::MAX);
    let started = Instant::now();
    let mut turns = 0;
    while turns < 5 || (started.elapsed() < Duration::from_millis(1500) && turns < 5_000) {
        best = (best.0.min(timed(&mut a)), best.1.min(timed(&mut b)));
        turns += 1;
    }
    best
}

/// Returns the time that the closure takes.
fn timed(work: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Creates the folder for generated files.
fn folder() -> Result<PathBuf, String> {
    let folder = std::env::temp_dir().join("reenact-bench");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}
