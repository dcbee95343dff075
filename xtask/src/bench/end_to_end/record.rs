//! The recorder alone: events per second, the time of a seal, the memory of a long run.
//!
//! An event counts when the call that records it has returned: then the operating system has it
//! (`--durability process`). In the row `durable` an event counts when the disk has it
//! (`--durability machine`): one by one, and in groups of 64, as a gateway flushes the events of
//! concurrent calls. The end of a run, which waits for the disk, is not measured. A seal does wait
//! for the disk.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use reenact_json::Digest;
use reenact_record::{CallKind, Chunk, EndedBy, EventWriter, ExchangeCall, RawAnswer, RawRequest};
use reenact_testkit::{ScriptStep, ScriptedAnswer};

use super::calls::{BenchCallKind, BenchRun, CREDENTIAL, PATH};
use super::error_text;
use crate::bench::peak::peak_memory_of_recording;

/// Duration of a repetition, of which the fastest counts.
const TURN_DURATION: Duration = Duration::from_secs(1);
/// Number of repetitions.
const TURNS: usize = 3;

/// Prints the rows that are asked for, each as a sentence.
///
/// # Errors
/// If the recorder fails, or if the child process for the memory cannot be run.
pub(super) fn rows(folder: &Path, is_selected: impl Fn(&str) -> bool) -> Result<(), String> {
    let row = |name: &str, row: fn(&Path) -> Result<String, String>| {
        if is_selected(name) {
            println!("{name:<34} {}", row(folder)?);
        }
        Ok::<_, String>(())
    };
    row("record small events", small_events)?;
    row("record durable events", durable_events)?;
    row("record exchanges", exchanges)?;
    row("record seal 64MB", seal)?;
    row("record 200MB memory", memory)
}

/// Measures events that hold hardly more than their own frame.
fn small_events(folder: &Path) -> Result<String, String> {
    let (rate, bytes) = fastest(folder, |writer, _| {
        writer.record_gap("request trailers", "they are not recorded").map_err(error_text)
    })?;
    Ok(format!("{rate:>9.0} events/s of {bytes:.0} bytes, budget 200000"))
}

/// Measures events with a flush of the disk after each, and after every 64.
fn durable_events(folder: &Path) -> Result<String, String> {
    let after = |group: u64| {
        fastest(folder, move |writer, turn| {
            writer.record_gap("request trailers", "they are not recorded").map_err(error_text)?;
            if (turn + 1).is_multiple_of(group) { writer.sync().map_err(error_text) } else { Ok(()) }
        })
    };
    let ((alone, _), (grouped, bytes)) = (after(1)?, after(64)?);
    Ok(format!("{alone:>9.0} events/s of {bytes:.0} bytes one by one, {grouped:.0} in groups of 64"))
}

/// Measures requests and answers of 4 KB, with a credential to mask in each.
fn exchanges(folder: &Path) -> Result<String, String> {
    let answer = ScriptedAnswer::json(200, BenchCallKind::Answer.prompt(0));
    let (rate, bytes) =
        fastest(folder, |writer, turn| exchange(writer, &BenchCallKind::Answer.prompt(turn), &answer))?;
    Ok(format!("{rate:>9.0} events/s of {bytes:.0} bytes, masked, with match keys"))
}

/// Repeats an action in fresh runs; returns the best number of events per second, and the bytes of
/// each event.
fn fastest(
    folder: &Path,
    act: impl Fn(&EventWriter, u64) -> Result<(), String>,
) -> Result<(f64, f64), String> {
    let mut best = (0.0, 0.0);
    for _ in 0..TURNS {
        let run = BenchRun::start(folder)?;
        let writer = run.event_writer();
        let before = writer.counts();
        let begun = Instant::now();
        let mut turn = 0;
        let mut elapsed = Duration::ZERO;
        while elapsed < TURN_DURATION {
            // The clock is read every 64 actions only.
            for _ in 0..64 {
                act(&writer, turn)?;
                turn += 1;
            }
            elapsed = begun.elapsed();
        }
        let after = writer.counts();
        let events = (after.events - before.events) as f64;
        let rate = events / elapsed.as_secs_f64();
        if rate > best.0 {
            best = (rate, (after.bytes - before.bytes) as f64 / events);
        }
    }
    Ok(best)
}

/// Records exchanges until the journal has this many bytes.
fn long_run(folder: &Path, bytes: u64) -> Result<BenchRun, String> {
    let run = BenchRun::start(folder)?;
    let (writer, answers) = (run.event_writer(), BenchCallKind::ALL.map(BenchCallKind::answer));
    let mut turn = 0;
    while writer.counts().bytes < bytes {
        for (kind, answer) in BenchCallKind::ALL.iter().zip(&answers) {
            exchange(&writer, &kind.prompt(turn), answer)?;
        }
        turn += 1;
    }
    Ok(run)
}

/// Measures the seal of a run of 64 MB against one hash of the artifact.
fn seal(folder: &Path) -> Result<String, String> {
    let (mut sealed, mut hash) = (Duration::MAX, Duration::MAX);
    long_run(folder, 64 << 20)?.seal(TURNS, |artifact, took| {
        sealed = sealed.min(took);
        let bytes = fs::read(&artifact.path).map_err(error_text)?;
        let begun = Instant::now();
        let digest = black_box(Digest::of(black_box(&bytes)));
        hash = hash.min(begun.elapsed());
        if digest == artifact.digest { Ok(()) } else { Err("the seal names another digest".into()) }
    })?;
    let [sealed, hash] = [sealed, hash].map(|time| time.as_secs_f64() * 1e3);
    Ok(format!("{sealed:>6.0} ms, sha-256 {hash:.0} ms, ratio {:.2}, budget 6", sealed / hash))
}

/// Measures the peak memory of a child process that records and seals 200 MB.
fn memory(folder: &Path) -> Result<String, String> {
    let peak = peak_memory_of_recording(folder)?;
    Ok(format!("{peak:>6.1} MB at most while it is recorded and sealed"))
}

/// Records and seals a run of 200 MB: the work of the child process whose memory is measured.
pub(in crate::bench) fn write_run(folder: &Path) -> Result<(), String> {
    long_run(folder, 200 << 20)?.seal(1, |_, _| Ok(()))
}

/// Records a request and its answer as a gateway does.
pub(super) fn exchange(writer: &EventWriter, prompt: &[u8], answer: &ScriptedAnswer) -> Result<(), String> {
    let headers: [(&str, &[u8]); 5] = [
        ("host", b"127.0.0.1"),
        ("authorization", CREDENTIAL.as_bytes()),
        ("content-type", b"application/json"),
        ("accept", b"application/json"),
        ("user-agent", b"OpenAI/Python 2.8.0"),
    ];
    let (provider, method) = ("openai", "POST");
    let masked =
        writer.mask_request(&RawRequest { provider, method, path: PATH, headers: &headers, body: prompt });
    let endpoint = Some("chat.completions");
    let step = writer
        .record_call(
            &ExchangeCall { model: Some("gpt-5"), endpoint, ..ExchangeCall::new(CallKind::Model, &masked) },
            None,
        )
        .map_err(error_text)?;
    let body = answer.body();
    let headers: Vec<(&str, &[u8])> =
        answer.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let lengths = answer.steps.iter().filter_map(|step| match step {
        ScriptStep::Send(bytes) => Some(bytes.len()),
        ScriptStep::Wait(_) => None,
    });
    let chunks: Vec<Chunk> = lengths.map(|length| Chunk { at: Duration::from_millis(300), length }).collect();
    let answer = RawAnswer {
        status: answer.status,
        version: Some("1.1"),
        headers: &headers,
        body: &body,
        wire_sha256: *Digest::of(&body).as_bytes(),
        chunks: if answer.is_stream() { &chunks } else { &[] },
        complete: true,
        ended_by: EndedBy::Eof,
        ttft: Some(Duration::from_millis(300)),
        latency: Duration::from_millis(900),
        ..RawAnswer::default()
    };
    writer.record_return(&step, answer).map_err(error_text)
}
