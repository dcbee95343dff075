//! REPLAY.jsonl files to measure: calls with some text in their params, and their results. Memory
//! does not grow with the file.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reenact_json::Digest;
use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;
use reenact_verify::disk::{self, RecordPath};
use reenact_verify::{Keys, Options};

use super::peak_memory;

/// Prints the rows that are asked for, under a table head of their own.
///
/// `ratio` is `verify` divided by `sha-256`, `memory` is the peak memory of the verifier.
///
/// # Errors
/// If a generated file does not verify, or if the verifier cannot be run.
pub(super) fn rows(folder: &Path, is_selected: impl Fn(&str) -> bool) -> Result<(), String> {
    let rows = [("1GB REPLAY.jsonl", 1 << 30, "3"), ("200MB REPLAY.jsonl floats", 200 << 20, "8")];
    let selected: Vec<_> = rows.into_iter().filter(|(name, ..)| is_selected(name)).collect();
    if !selected.is_empty() {
        println!(
            "{:<26} {:>8} {:>9} {:>9} {:>7} {:>7} {:>8}",
            "replay", "size", "sha-256", "verify", "ratio", "budget", "memory"
        );
    }
    for (name, size, budget) in selected {
        let replay =
            ReplayFile::write(folder, size, name.ends_with("floats")).map_err(|error| error.to_string())?;
        row(name, budget, &replay)?;
    }
    Ok(())
}

/// Measures and prints one file.
fn row(name: &str, budget: &str, replay: &ReplayFile) -> Result<(), String> {
    let record = RecordPath::File(replay.path.clone());
    let verify = || {
        let content = disk::open(&record).map_err(|error| error.to_string())?;
        let report = content.verify(&Keys::default(), &Options::default());
        if report.pass() { Ok(()) } else { Err(format!("{name} does not verify: {:?}", report.reasons)) }
    };
    let hash = || replay.hash().map_err(|error| error.to_string());
    // In turn, so that both meet the same load of the machine.
    let mut best = [Duration::MAX; 2];
    for _ in 0..3 {
        best[0] = best[0].min(timed(hash)?);
        best[1] = best[1].min(timed(verify)?);
    }
    let [hash, verify] = best.map(|time| time.as_secs_f64() * 1e3);
    let peak = peak_memory(&replay.path, None)?;
    let size = record.size() as f64 / f64::from(1 << 20);
    println!(
        "{name:<26} {size:>5.0} MB {hash:>6.0} ms {verify:>6.0} ms {:>7.2} {budget:>7} {peak:>5.1} MB",
        verify / hash
    );
    Ok(())
}

/// Returns the time that the closure takes.
fn timed(work: impl Fn() -> Result<(), String>) -> Result<Duration, String> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// File on disk, removed on drop.
struct ReplayFile {
    path: PathBuf,
}

impl Drop for ReplayFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl ReplayFile {
    /// Writes a session of about `size` bytes.
    fn write(folder: &Path, size: u64, floats: bool) -> io::Result<Self> {
        let replay = Self { path: folder.join("bench-REPLAY.jsonl") };
        let mut out = BufWriter::new(File::create(&replay.path)?);
        writeln!(
            out,
            r#"{{"created_at":"2026-01-13T10:00:00Z","event":"ReplayHeader","producer":"bench@1","replay_version":1}}"#
        )?;
        writeln!(
            out,
            r#"{{"event":"SessionStart","issue_number":42,"policy_version":"v1","session_id":"sess_bench","t":"2026-01-13T10:00:00Z"}}"#
        )?;
        let (mut calls, mut written) = (0_u64, 0);
        while written < size {
            let t = format!(
                "2026-01-13T{:02}:{:02}:{:02}Z",
                10 + calls / 3_600_000,
                calls / 60_000 % 60,
                calls / 1000 % 60
            );
            let text = "The quick brown fox jumps over the lazy dog; line after line of a file. ".repeat(10);
            let number = if floats { "[0.5,1.0,2.25,1e21]" } else { "[1,2,3]" };
            let params =
                format!(r#"{{"content":"{text}","line":{calls},"list":{number},"path":"src/{calls}.rs"}}"#);
            let call = format!(
                r#"{{"event":"ToolCall","id":"tc_{calls}","params":{params},"params_hash":"sha256:{}","step_id":"step-1","t":"{t}","tool":"write"}}"#,
                Digest::of(params.as_bytes())
            );
            let result = format!(
                r#"{{"event":"ToolResult","exit_code":null,"id":"tc_{calls}","latency_ms":1,"output_hash":"sha256:{}","step_utility":0.5,"t":"{t}"}}"#,
                Digest::of(b"")
            );
            writeln!(out, "{call}\n{result}")?;
            written += (call.len() + result.len() + 2) as u64;
            calls += 1;
        }
        writeln!(
            out,
            r#"{{"confidence":0.875,"event":"SessionEnd","status":"Success","t":"2026-01-13T23:59:59Z","total_latency_ms":{calls},"total_tool_calls":{calls}}}"#
        )?;
        // Pending writes of the system would slow down the reads that are measured.
        out.into_inner()?.sync_all()?;
        Ok(replay)
    }

    /// Hashes as many bytes as the file has, all from memory: reading the file is part of what is
    /// measured.
    fn hash(&self) -> io::Result<()> {
        let mut chunk = vec![0; 256 << 10];
        File::open(&self.path)?.read_exact(&mut chunk)?;
        let mut hasher = Hasher::new();
        for _ in 0..self.path.metadata()?.len() / chunk.len() as u64 {
            hasher.put(black_box(&chunk));
        }
        black_box(hasher.finish());
        Ok(())
    }
}
