//! `.rpk` artifacts to measure.
//!
//! Two hashes are mandatory here, the checksum and those of the steps: together they cover the file
//! twice. The format's own program reads 15 to 17 MB per second.

use std::hint::black_box;
use std::path::Path;

use reenact_formats::rpk::write::{NewRpkStep, RpkDocumentBuilder, RpkRunHeader};
use reenact_json::Digest;
use reenact_verify::{Keys, Options, verify};

use super::corpus::{self, BenchContent};
use super::{fastest, peak_memory};

/// Rows: name, content of the steps, true if the file is as programs write it, budget.
const ROWS: [(&str, BenchContent, bool, &str); 5] = [
    ("50MB rpk native", BenchContent::Native, true, "5"),
    ("50MB rpk escaped", BenchContent::Escaped, true, "5"),
    ("50MB rpk cjk", BenchContent::Cjk, true, "5"),
    ("50MB rpk not-canonical", BenchContent::Native, false, "7"),
    ("50MB rpk floats", BenchContent::Floats, true, "-"),
];

/// Size of an artifact, in bytes.
const ARTIFACT_BYTES: usize = 50 << 20;

/// Prints the rows that are asked for, under a table head of their own.
///
/// `ratio` is `verify` divided by `sha-256`, `memory` is the peak memory as a multiple of the file
/// size, `rate` is that of `verify`.
///
/// # Errors
/// If a generated artifact does not verify, or if the verifier cannot be run.
pub(super) fn rows(folder: &Path, is_selected: impl Fn(&str) -> bool) -> Result<(), String> {
    let selected: Vec<_> = ROWS.into_iter().filter(|(name, ..)| is_selected(name)).collect();
    if !selected.is_empty() {
        println!(
            "{:<22} {:>9} {:>9} {:>9} {:>7} {:>7} {:>8} {:>9}",
            "rpk", "size", "sha-256", "verify", "ratio", "budget", "memory", "rate"
        );
    }
    for (name, content, is_canonical, budget) in selected {
        let written = artifact(content)?;
        let bytes = if is_canonical { written } else { corpus::reformatted(&written) };
        row(name, &bytes, budget, folder)?;
    }
    Ok(())
}

/// Measures and prints one artifact.
fn row(name: &str, bytes: &[u8], budget: &str, folder: &Path) -> Result<(), String> {
    let (keys, options) = (Keys::default(), Options::default());
    let report = verify(bytes, &keys, &options);
    if !report.pass() || report.format != "rpk/1.0" {
        return Err(format!("{name}: the generated artifact does not verify: {:?}", report.reasons));
    }
    let hash = || {
        black_box(Digest::of(black_box(bytes)));
    };
    let verify = || {
        black_box(verify(black_box(bytes), &keys, &options));
    };
    let (hash, verify) = fastest(hash, verify);
    let path = folder.join("bench.rpk");
    std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    let peak = peak_memory(&path, None)?;
    let size = bytes.len() as f64 / f64::from(1 << 20);
    println!(
        "{name:<22} {size:>6.2} MB {:>6.2} ms {:>6.2} ms {:>7.2} {budget:>7} {:>6.2} x {:>4.0} MB/s",
        hash.as_secs_f64() * 1e3,
        verify.as_secs_f64() * 1e3,
        verify.as_secs_f64() / hash.as_secs_f64(),
        peak / size,
        bytes.len() as f64 / 1e6 / verify.as_secs_f64(),
    );
    Ok(())
}

/// Generates an artifact of about [`ARTIFACT_BYTES`].
fn artifact(content: BenchContent) -> Result<Vec<u8>, String> {
    let mut draft = RpkDocumentBuilder::new();
    let (mut written, mut index) = (0, 0_u64);
    while written < ARTIFACT_BYTES {
        let payload = content.payload(index);
        // Indentation and escapes make the file longer than its payloads.
        written += payload.len() * 2 + 500;
        let id = format!("step-{index:06}");
        let metadata =
            format!(r#"{{"duration_ms":{},"provider":"example","request_id":"{index:x}"}}"#, index % 900);
        let step = NewRpkStep {
            id: &id,
            step_type: "model.response",
            input: br#"{"request_url":"https://api.example.com/v1/messages"}"#,
            output: payload.as_bytes(),
            metadata: metadata.as_bytes(),
            timestamp: Some("2026-02-21T14:00:00.000000Z"),
        };
        draft.append(&step).map_err(|error| error.to_string())?;
        index += 1;
    }
    let run = RpkRunHeader {
        version: "1.0",
        id: "run-bench",
        timestamp: "2026-02-21T14:00:00Z",
        environment_fingerprint: br#"{"os":"linux"}"#,
        runtime_versions: br#"{"reenact":"0"}"#,
        extra_members: &[],
        metadata: &[],
        created_at: "2026-02-21T14:00:00Z",
    };
    draft.finish(&run, None).map_err(|error| error.to_string())
}
