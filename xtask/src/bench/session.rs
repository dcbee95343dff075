//! Model IO sessions to measure.
//!
//! Two hashes of each byte are mandatory: of the response, and of the session around it. The last
//! row is a session at all limits, in the longest spelling that JSON has.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use reenact_formats::model_io::ModelIoWriter;
use reenact_formats::model_io::writer::{ModelIoMode, ModelIoPrompt, ModelIoSession, NewInteraction};
use reenact_json::Digest;
use reenact_verify::model_io::{self, ModelIoFindings, ModelIoJob};
use reenact_verify::{FormatId, Keys, Options, verify};

use super::{corpus, peak_memory};

/// Content of the responses.
#[derive(Clone, Copy)]
enum SessionResponses {
    /// English text with a line feed on every line.
    Text,
    /// Text in CJK characters.
    Unicode,
    /// JSON inside of a string: an escape every few bytes.
    Escaped,
    /// [`SessionResponses::Text`], each response as large as is allowed.
    Large,
    /// [`SessionResponses::Text`] as other programs write it: indented, members in another order.
    NotCanonical,
    /// Control characters up to the limit of size, each written as an escape of six bytes.
    AtTheLimits,
}

impl SessionResponses {
    /// Rows: name, content, budget.
    const ALL: [(&str, Self, &str); 6] = [
        ("50MB session text", Self::Text, "4"),
        ("50MB session unicode", Self::Unicode, "4"),
        ("50MB session escaped", Self::Escaped, "4"),
        ("50MB session large", Self::Large, "4"),
        ("50MB session not-canon.", Self::NotCanonical, "7"),
        ("600MB session limits", Self::AtTheLimits, "4"),
    ];

    /// Returns one response.
    fn response(self, seed: usize) -> String {
        let line = format!("Step {seed}: the invoice is open, and the agent says so in a line of its own.\n");
        match self {
            Self::Text | Self::NotCanonical => line.repeat(68),
            Self::Large => {
                let mut text = line.repeat(1_000_000 / line.len());
                text.truncate(1_000_000);
                text
            }
            Self::Unicode => format!("{seed} 発票はまだ支払われていません。").repeat(100),
            Self::Escaped => format!(
                "{{\"step\":{seed},\"tool\":\"lookup\",\"input\":{{\"number\":\"2041\"}},\"ok\":true}},"
            )
            .repeat(80),
            Self::AtTheLimits => "\u{1}".repeat(1_000_000),
        }
    }

    /// Generates the session.
    fn session(self) -> Result<Vec<u8>, String> {
        let about = ModelIoSession {
            adapter_id: "reenact/bench",
            model_id: "bench",
            mode: ModelIoMode::Record,
            created_at_utc: None,
            ended_at_utc: None,
            stats: true,
        };
        let mut file = Vec::new();
        let mut writer = ModelIoWriter::begin(about, &mut file).map_err(|fault| fault.to_string())?;
        let mut bytes = 0;
        let max_bytes = if matches!(self, Self::AtTheLimits) { 100_000_000 } else { 48_000_000 };
        for seed in 0..10_000 {
            let response = self.response(seed);
            bytes += response.len();
            if bytes > max_bytes {
                break;
            }
            let interaction = NewInteraction {
                prompt: ModelIoPrompt::Text("?"),
                response: &response,
                tokens_input: Some(7),
                tokens_output: Some(9),
                latency_ms: Some(120),
            };
            writer.add(&interaction).map_err(|fault| fault.to_string())?;
        }
        writer.finish();
        Ok(if matches!(self, Self::NotCanonical) { corpus::reformatted(&file) } else { file })
    }
}

/// Prints the rows that are asked for, under a table head of their own.
///
/// `ratio` is `verify` on one core divided by `sha-256`; `all cores` is the time on all of them,
/// and `MB/s` the rate of that; `memory` is a multiple of the file size.
///
/// # Errors
/// If a generated session does not verify, or if the verifier cannot be run.
pub(super) fn rows(folder: &Path, is_selected: impl Fn(&str) -> bool) -> Result<(), String> {
    let selected: Vec<_> = SessionResponses::ALL.into_iter().filter(|(name, ..)| is_selected(name)).collect();
    if selected.is_empty() {
        return Ok(());
    }
    println!(
        "{:<24} {:>8} {:>9} {:>9} {:>6} {:>6} {:>9} {:>9} {:>7}",
        "session", "size", "sha-256", "verify", "ratio", "budget", "all cores", "MB/s", "memory"
    );
    for (name, responses, budget) in selected {
        row(name, &responses.session()?, budget, folder)?;
    }
    Ok(())
}

/// Measures and prints one session.
fn row(name: &str, bytes: &[u8], budget: &str, folder: &Path) -> Result<(), String> {
    let options = Options { format: Some(FormatId::ModelIo), ..Options::default() };
    let report = verify(bytes, &Keys::default(), &options);
    if !report.pass() {
        return Err(format!("{name} does not verify: {:?}", report.reasons));
    }
    // In turn, so that all three meet the same load of the machine.
    let mut best = [Duration::MAX; 3];
    for _ in 0..5 {
        best[0] = best[0].min(timed(|| {
            black_box(Digest::of(black_box(bytes)));
        }));
        best[1] =
            best[1].min(timed(|| drop(black_box(verify(black_box(bytes), &Keys::default(), &options)))));
        best[2] =
            best[2].min(timed(|| drop(black_box(model_io::verify_with(bytes, &options, on_all_cores)))));
    }
    let session = folder.join("bench.model_io.json");
    fs::write(&session, bytes).map_err(|error| error.to_string())?;
    let peak = peak_memory(&session, None)?;
    fs::remove_file(&session).map_err(|error| error.to_string())?;
    let size = bytes.len() as f64 / f64::from(1 << 20);
    let [hash, one, all] = best.map(|time| time.as_secs_f64());
    println!(
        "{name:<24} {size:>5.0} MB {:>6.0} ms {:>6.0} ms {:>6.2} {budget:>6} {:>6.0} ms {:>9.0} {:>5.2} x",
        hash * 1e3,
        one * 1e3,
        one / hash,
        all * 1e3,
        bytes.len() as f64 / 1e6 / all,
        peak / size,
    );
    Ok(())
}

/// Returns the time that the closure takes.
fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Runs jobs on all processors, as the command does.
fn on_all_cores(jobs: &[ModelIoJob<'_, '_>]) -> Vec<ModelIoFindings> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let finding = job.run();
                    if let Ok(mut done) = done.lock() {
                        done.push(finding);
                    }
                }
            });
        }
    });
    done.into_inner().unwrap_or_default()
}
