//! Conversions between formats, each as a ratio to hashing the source.
//!
//! Opening and verifying are not part of the time: those have rows of their own.

use std::hint::black_box;

use reenact_formats::FormatId;
use reenact_formats::model_io::ModelIoWriter;
use reenact_formats::model_io::writer::{ModelIoMode, ModelIoPrompt, ModelIoSession, NewInteraction};
use reenact_formats::replay_bundle::{DocumentInclusion, NewBundleFile, NewManifest, write};
use reenact_formats::replay_jsonl::ReplayJsonlWriter;
use reenact_formats::replay_jsonl::writer::{
    ReplayJsonlEvent, ReplayJsonlSession as ReplaySession, SessionStatus,
};
use reenact_formats::rer::RerVersion;
use reenact_formats::rer::seal::{ArtifactBuilder, NewEvent, RerRunHeader as RerHeader, Signer};
use reenact_formats::rpk::write::{NewRpkStep, RpkDocumentBuilder, RpkRunHeader};
use reenact_json::{Digest, print};
use reenact_run::convert::{ConversionInput, Converted, ImportContext, SourceInfo, convert};
use reenact_run::{Run, open};
use reenact_verify::{Keys, Options};

use super::corpus::BenchContent;
use super::fastest;
use reenact_testkit::fixture::TestKey;

/// Size of a source, in bytes.
const SOURCE_BYTES: usize = 20 << 20;

/// Rows: name, source, and the formats it is converted to one after the other. A conversion back
/// goes through RER first; only the last one is measured.
const ROWS: [(&str, ConvertSource, &[FormatId]); 11] = [
    ("convert rpk to rer", ConvertSource::Rpk(BenchContent::Native), &[FormatId::Rer]),
    ("convert rpk floats to rer", ConvertSource::Rpk(BenchContent::Floats), &[FormatId::Rer]),
    ("convert rer back to rpk", ConvertSource::Rpk(BenchContent::Native), &[FormatId::Rer, FormatId::Rpk]),
    ("convert model-io to rer", ConvertSource::ModelIo, &[FormatId::Rer]),
    ("convert rer back to model-io", ConvertSource::ModelIo, &[FormatId::Rer, FormatId::ModelIo]),
    ("convert replay-jsonl to rer", ConvertSource::ReplayJsonl, &[FormatId::Rer]),
    ("convert replay-bundle to rer", ConvertSource::ReplayBundle, &[FormatId::Rer]),
    ("convert rer to rpk", ConvertSource::Rer, &[FormatId::Rpk]),
    ("convert rer to model-io", ConvertSource::Rer, &[FormatId::ModelIo]),
    ("convert rer to replay-bundle", ConvertSource::Rer, &[FormatId::ReplayBundle]),
    ("convert model-io to rpk", ConvertSource::ModelIo, &[FormatId::Rpk]),
];

/// Prints the rows that are asked for, under a table head of their own.
///
/// `ratio` is `convert` divided by `sha-256` of the source, `rate` is that of `convert`.
///
/// # Errors
/// If a source does not verify, or cannot be converted.
pub(super) fn rows(is_selected: impl Fn(&str) -> bool) -> Result<(), String> {
    let selected: Vec<_> = ROWS.into_iter().filter(|(name, ..)| is_selected(name)).collect();
    if !selected.is_empty() {
        println!(
            "{:<28} {:>9} {:>9} {:>9} {:>7} {:>9}",
            "conversion", "size", "sha-256", "convert", "ratio", "rate"
        );
    }
    for (name, source, route) in selected {
        row(name, source.record()?, route)?;
    }
    Ok(())
}

/// Measures and prints one conversion.
fn row(name: &str, record: Vec<u8>, route: &[FormatId]) -> Result<(), String> {
    let signer = TestKey::of(9);
    let (target, before) = route.split_last().ok_or("a way without an end")?;
    let mut bytes = record;
    for through in before {
        bytes = one_file(converted(&opened(name, bytes, &signer)?, *through, &signer)?)?;
    }
    let run = opened(name, bytes, &signer)?;
    // Of an archive, the content is hashed.
    let hashed = run.bytes().to_vec();
    converted(&run, *target, &signer)?;
    let hash = || {
        black_box(Digest::of(black_box(&hashed)));
    };
    let convert = || {
        black_box(converted(black_box(&run), *target, &signer)).ok();
    };
    let (hash, convert) = fastest(hash, convert);
    println!(
        "{name:<28} {:>6.2} MB {:>6.2} ms {:>6.1} ms {:>7.2} {:>4.0} MB/s",
        hashed.len() as f64 / f64::from(1 << 20),
        hash.as_secs_f64() * 1e3,
        convert.as_secs_f64() * 1e3,
        convert.as_secs_f64() / hash.as_secs_f64(),
        hashed.len() as f64 / 1e6 / convert.as_secs_f64(),
    );
    Ok(())
}

/// Returns the bytes of the last file of a conversion.
fn one_file(mut converted: Converted) -> Result<Vec<u8>, String> {
    converted.files.pop().map(|file| file.bytes).ok_or_else(|| "nothing was converted".into())
}

/// Opens and verifies a record.
fn opened(name: &str, bytes: Vec<u8>, signer: &TestKey) -> Result<Run, String> {
    let mut keys = Keys::default();
    keys.add_supplied(signer.public_key());
    let opened = open(bytes, &keys, &Options::default());
    if !opened.report.pass() {
        return Err(format!("{name}: the source does not verify: {:?}", opened.report.reasons));
    }
    opened.run.map_err(|error| error.to_string())
}

/// Converts a run, with made-up salts.
fn converted(run: &Run, target: FormatId, signer: &TestKey) -> Result<Converted, String> {
    let mut count = 0_u128;
    let mut salts = || {
        count += 1;
        Some(count.to_le_bytes())
    };
    let mut sealing = ImportContext {
        run_id: "bench",
        version: "0",
        now: "2026-01-01T00:00:00.0Z",
        salts: &mut salts,
        signer,
    };
    let keys = Keys::default();
    let found =
        SourceInfo { digest: Digest::of(b""), original_bytes: None, verified: Some(true), keys: &keys };
    convert(ConversionInput::Run(run), found, target, &mut sealing).map_err(|error| error.to_string())
}

/// Record to convert.
#[derive(Clone, Copy)]
enum ConvertSource {
    /// RER artifact of recorded exchanges.
    Rer,
    /// `.rpk` artifact with this content.
    Rpk(BenchContent),
    /// Model IO session.
    ModelIo,
    /// REPLAY.jsonl of tool calls.
    ReplayJsonl,
    /// Replay Bundle with one trace.
    ReplayBundle,
}

impl ConvertSource {
    /// Generates the record.
    fn record(self) -> Result<Vec<u8>, String> {
        match self {
            Self::Rer => rer(),
            Self::Rpk(content) => rpk(content),
            Self::ModelIo => session(),
            Self::ReplayJsonl => replay(),
            Self::ReplayBundle => bundle(),
        }
    }
}

/// Returns text as an answer holds it, about 3 KB.
fn text(seed: usize) -> String {
    format!("Step {seed}: the invoice is open, and the agent says so in a line of its own.\n").repeat(40)
}

/// Returns a text as a JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    print::write_string(text, &mut out);
    out
}

/// Returns a run as we record it: one exchange after the other.
fn rer() -> Result<Vec<u8>, String> {
    let mut chain = ArtifactBuilder::new(RerVersion::V02);
    let (mut written, mut index) = (0, 0_u64);
    let mut push = |event_type: &str, payload: String| {
        let event = NewEvent {
            step_index: index,
            event_type,
            timestamp: "2026-01-01T00:00:00.5Z",
            payload: Some(payload.as_bytes()),
            redacted: false,
        };
        index += 1;
        chain.append(&event).map(|_| payload.len() + 400).map_err(|error| error.to_string())
    };
    push("rer.run.started", "{\"environment\":{\"os\":\"linux\"}}".into())?;
    for seed in 0.. {
        let request =
            quoted(&format!("{{\"messages\":[{{\"content\":{}}}],\"model\":\"m\"}}", quoted(&text(seed))));
        let answer =
            quoted(&format!("{{\"choices\":[{{\"message\":{{\"content\":{}}}}}]}}", quoted(&text(seed + 1))));
        written += push(
            "rer.model.called",
            format!(
                "{{\"endpoint\":\"chat.completions\",\"http\":{{\"body\":{{\"text\":{request}}},\"headers\":[],\"method\":\"POST\",\"path\":\"/v1/chat/completions\"}},\"model\":\"m\",\"provider\":\"openai\",\"source\":\"observed\",\"step_id\":\"s{seed}\"}}"
            ),
        )?;
        written += push(
            "rer.model.returned",
            format!(
                "{{\"complete\":true,\"ended_by\":\"eof\",\"http\":{{\"body\":{{\"text\":{answer}}},\"headers\":[[\"content-type\",\"application/json\"]]}},\"source\":\"observed\",\"status\":200,\"step_id\":\"s{seed}\"}}"
            ),
        )?;
        if written > SOURCE_BYTES {
            break;
        }
    }
    let run = RerHeader {
        run_id: "bench",
        implementation: "reenact",
        version: "0",
        envelope: br#"{"envelope_version":"rer-envelope/0.2","limits":{},"metadata":{},"permissions":{"allowed_models":["*"],"allowed_tools":["*"]}}"#,
        manifest_hash: None,
    };
    chain.seal(&run, &TestKey::of(9)).map_err(|error| error.to_string())
}

/// Returns an `.rpk` artifact.
fn rpk(content: BenchContent) -> Result<Vec<u8>, String> {
    let mut draft = RpkDocumentBuilder::new();
    let (mut written, mut index) = (0, 0_u64);
    while written < SOURCE_BYTES {
        let payload = content.payload(index);
        written += payload.len() * 2 + 500;
        let step = NewRpkStep {
            id: &format!("step-{index:06}"),
            step_type: "model.response",
            input: b"{}",
            output: payload.as_bytes(),
            metadata: b"{}",
            timestamp: Some("2026-02-21T14:00:00.000000Z"),
        };
        draft.append(&step).map_err(|error| error.to_string())?;
        index += 1;
    }
    let run = RpkRunHeader {
        version: "1.0",
        id: "run-bench",
        timestamp: "2026-02-21T14:00:00Z",
        environment_fingerprint: b"{}",
        runtime_versions: b"{}",
        extra_members: &[],
        metadata: &[],
        created_at: "2026-02-21T14:00:00Z",
    };
    draft.finish(&run, None).map_err(|error| error.to_string())
}

/// Returns a Model IO session.
fn session() -> Result<Vec<u8>, String> {
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
    for seed in 0..SOURCE_BYTES / text(0).len() {
        let (prompt, response) = (seed.to_string(), text(seed));
        let interaction = NewInteraction {
            prompt: ModelIoPrompt::Text(&prompt),
            response: &response,
            tokens_input: Some(1),
            tokens_output: Some(2),
            latency_ms: Some(3),
        };
        writer.add(&interaction).map_err(|fault| fault.to_string())?;
    }
    writer.finish();
    Ok(file)
}

/// Returns a REPLAY.jsonl.
fn replay() -> Result<Vec<u8>, String> {
    let failed = |error: reenact_formats::replay_jsonl::ReplayJsonlWriteError| error.to_string();
    let at = "2026-02-21T14:00:00Z";
    let session = ReplaySession {
        producer: "bench@0",
        session_id: "bench",
        issue_number: None,
        policy: "p",
        started_at: at,
    };
    let mut writer = ReplayJsonlWriter::start(Vec::new(), &session).map_err(failed)?;
    for seed in 0..SOURCE_BYTES / (text(0).len() + 500) {
        let (id, params) =
            (format!("call-{seed}"), format!("{{\"text\":{},\"n\":{seed}.5}}", quoted(&text(seed))));
        let call = ReplayJsonlEvent::ToolCall { id: &id, tool: "t", params: params.as_bytes(), step_id: "s" };
        writer.emit(at, &call).map_err(failed)?;
        let result = ReplayJsonlEvent::ToolResult {
            id: &id,
            output_hash: Some(Digest::of(b"x")),
            exit_code: None,
            step_utility: Some(0.5),
            latency_ms: Some(1),
        };
        writer.emit(at, &result).map_err(failed)?;
    }
    writer.end(at, SessionStatus::Success, 1.0).map(|(bytes, _)| bytes).map_err(failed)
}

/// Returns a Replay Bundle.
fn bundle() -> Result<Vec<u8>, String> {
    let mut trace = String::new();
    for seed in 0..SOURCE_BYTES / (text(0).len() + 200) {
        trace.push_str(&format!(
            "{{\"schema_version\":1,\"type\":\"assay.trace\",\"request_id\":\"r{seed}\",\"prompt\":\"{seed}\",\"response\":{},\"meta\":{{}}}}\n",
            quoted(&text(seed))
        ));
    }
    let manifest = NewManifest {
        assay_version: "bench/0".into(),
        trace: DocumentInclusion::File("files/trace.jsonl".into()),
        ..NewManifest::default()
    };
    let files = [NewBundleFile { name: "files/trace.jsonl", content: &trace }];
    write(&manifest, &files, Vec::new()).map_err(|error| error.to_string())
}
