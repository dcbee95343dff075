//! Records to convert, each way as a ratio to hashing the source. Opening and verifying are not part of it: those have rows of
//! their own.

use std::hint::black_box;

use reenact_formats::model_io::SessionWriter;
use reenact_formats::model_io::writer::{Interaction, Mode, Prompt, Session};
use reenact_formats::replay_bundle::{Held, NewFile, NewManifest, write};
use reenact_formats::replay_jsonl::ReplayWriter;
use reenact_formats::replay_jsonl::writer::{Event, Session as ReplaySession, SessionStatus};
use reenact_formats::rer::Version;
use reenact_formats::rer::seal::{Chain, NewEvent, RunHeader as RerHeader, Signer};
use reenact_formats::rpk::write::{Draft, NewStep, RunHeader};
use reenact_json::{Digest, print};
use reenact_run::convert::{Converted, Found, Input, Sealing, convert};
use reenact_run::{Dialect, Run, open};
use reenact_verify::{Keys, Options};

use super::corpus::Content;
use super::fastest;
use reenact_testkit::fixture::TestKey;

const SIZE: usize = 20 << 20;

/// The rows: a name, what is converted, and to what. What goes back goes through RER first.
const ROWS: [(&str, Source, &[Dialect]); 11] = [
    ("convert rpk to rer", Source::Rpk(Content::Native), &[Dialect::Rer]),
    ("convert rpk floats to rer", Source::Rpk(Content::Floats), &[Dialect::Rer]),
    ("convert rer back to rpk", Source::Rpk(Content::Native), &[Dialect::Rer, Dialect::Rpk]),
    ("convert model-io to rer", Source::ModelIo, &[Dialect::Rer]),
    ("convert rer back to model-io", Source::ModelIo, &[Dialect::Rer, Dialect::ModelIo]),
    ("convert replay-jsonl to rer", Source::ReplayJsonl, &[Dialect::Rer]),
    ("convert replay-bundle to rer", Source::ReplayBundle, &[Dialect::Rer]),
    ("convert rer to rpk", Source::Rer, &[Dialect::Rpk]),
    ("convert rer to model-io", Source::Rer, &[Dialect::ModelIo]),
    ("convert rer to replay-bundle", Source::Rer, &[Dialect::ReplayBundle]),
    ("convert model-io to rpk", Source::ModelIo, &[Dialect::Rpk]),
];

/// Every row that is asked for, under a head of their own.
pub(super) fn rows(is_asked_for: impl Fn(&str) -> bool) -> Result<(), String> {
    let asked: Vec<_> = ROWS.into_iter().filter(|(name, ..)| is_asked_for(name)).collect();
    if !asked.is_empty() {
        println!(
            "{:<28} {:>9} {:>9} {:>9} {:>7} {:>9}",
            "conversion", "size", "sha-256", "convert", "ratio", "rate"
        );
    }
    for (name, source, way) in asked {
        row(name, source.record()?, way)?;
    }
    Ok(())
}

fn row(name: &str, record: Vec<u8>, way: &[Dialect]) -> Result<(), String> {
    let signer = TestKey::of(9);
    let (target, before) = way.split_last().ok_or("a way without an end")?;
    let mut bytes = record;
    for through in before {
        bytes = one_file(converted(&opened(name, bytes, &signer)?, *through, &signer)?)?;
    }
    let run = opened(name, bytes, &signer)?;
    // Of an archive, what is in it.
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

fn one_file(mut converted: Converted) -> Result<Vec<u8>, String> {
    converted.files.pop().map(|file| file.bytes).ok_or_else(|| "nothing was converted".into())
}

fn opened(name: &str, bytes: Vec<u8>, signer: &TestKey) -> Result<Run, String> {
    let mut keys = Keys::default();
    keys.supply(signer.public_key());
    let opened = open(bytes, &keys, &Options::default());
    if !opened.report.pass() {
        return Err(format!("{name}: the source does not verify: {:?}", opened.report.reasons));
    }
    opened.run.map_err(|error| error.to_string())
}

fn converted(run: &Run, target: Dialect, signer: &TestKey) -> Result<Converted, String> {
    let mut count = 0_u128;
    let mut salts = || {
        count += 1;
        Some(count.to_le_bytes())
    };
    let mut sealing =
        Sealing { run_id: "bench", version: "0", now: "2026-01-01T00:00:00.0Z", salts: &mut salts, signer };
    let keys = Keys::default();
    let found = Found { digest: Digest::of(b""), kept: None, verified: Some(true), keys: &keys };
    convert(Input::Run(run), found, target, &mut sealing).map_err(|error| error.to_string())
}

/// What is converted.
#[derive(Clone, Copy)]
enum Source {
    Rer,
    Rpk(Content),
    ModelIo,
    ReplayJsonl,
    ReplayBundle,
}

impl Source {
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

/// Text as an answer holds it.
fn text(seed: usize) -> String {
    format!("Step {seed}: the invoice is open, and the agent says so in a line of its own.\n").repeat(40)
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    print::string(text, &mut out);
    out
}

/// A run as we record it: one exchange after the other.
fn rer() -> Result<Vec<u8>, String> {
    let mut chain = Chain::new(Version::V02);
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
        let asked =
            quoted(&format!("{{\"messages\":[{{\"content\":{}}}],\"model\":\"m\"}}", quoted(&text(seed))));
        let said =
            quoted(&format!("{{\"choices\":[{{\"message\":{{\"content\":{}}}}}]}}", quoted(&text(seed + 1))));
        written += push(
            "rer.model.called",
            format!(
                "{{\"endpoint\":\"chat.completions\",\"http\":{{\"body\":{{\"text\":{asked}}},\"headers\":[],\"method\":\"POST\",\"path\":\"/v1/chat/completions\"}},\"model\":\"m\",\"provider\":\"openai\",\"source\":\"observed\",\"step_id\":\"s{seed}\"}}"
            ),
        )?;
        written += push(
            "rer.model.returned",
            format!(
                "{{\"complete\":true,\"ended_by\":\"eof\",\"http\":{{\"body\":{{\"text\":{said}}},\"headers\":[[\"content-type\",\"application/json\"]]}},\"source\":\"observed\",\"status\":200,\"step_id\":\"s{seed}\"}}"
            ),
        )?;
        if written > SIZE {
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

fn rpk(content: Content) -> Result<Vec<u8>, String> {
    let mut draft = Draft::new();
    let (mut written, mut index) = (0, 0_u64);
    while written < SIZE {
        let payload = content.payload(index);
        written += payload.len() * 2 + 500;
        let step = NewStep {
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
    let run = RunHeader {
        version: "1.0",
        id: "run-bench",
        timestamp: "2026-02-21T14:00:00Z",
        environment_fingerprint: b"{}",
        runtime_versions: b"{}",
        more: &[],
        metadata: &[],
        created_at: "2026-02-21T14:00:00Z",
    };
    draft.finish(&run, None).map_err(|error| error.to_string())
}

fn session() -> Result<Vec<u8>, String> {
    let about = Session {
        adapter_id: "reenact/bench",
        model_id: "bench",
        mode: Mode::Record,
        created_at_utc: None,
        ended_at_utc: None,
        stats: true,
    };
    let mut file = Vec::new();
    let mut writer = SessionWriter::begin(about, &mut file).map_err(|fault| fault.to_string())?;
    for seed in 0..SIZE / text(0).len() {
        let (prompt, response) = (seed.to_string(), text(seed));
        let interaction = Interaction {
            prompt: Prompt::Text(&prompt),
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

fn replay() -> Result<Vec<u8>, String> {
    let failed = |error: reenact_formats::replay_jsonl::WriteError| error.to_string();
    let at = "2026-02-21T14:00:00Z";
    let session = ReplaySession {
        producer: "bench@0",
        session_id: "bench",
        issue_number: None,
        policy: "p",
        started_at: at,
    };
    let mut writer = ReplayWriter::start(Vec::new(), &session).map_err(failed)?;
    for seed in 0..SIZE / (text(0).len() + 500) {
        let (id, params) =
            (format!("call-{seed}"), format!("{{\"text\":{},\"n\":{seed}.5}}", quoted(&text(seed))));
        let call = Event::ToolCall { id: &id, tool: "t", params: params.as_bytes(), step_id: "s" };
        writer.emit(at, &call).map_err(failed)?;
        let result = Event::ToolResult {
            id: &id,
            output_hash: Digest::of(b"x"),
            exit_code: None,
            step_utility: 0.5,
            latency_ms: 1,
        };
        writer.emit(at, &result).map_err(failed)?;
    }
    writer.end(at, SessionStatus::Success, 1.0).map(|(bytes, _)| bytes).map_err(failed)
}

fn bundle() -> Result<Vec<u8>, String> {
    let mut trace = String::new();
    for seed in 0..SIZE / (text(0).len() + 200) {
        trace.push_str(&format!(
            "{{\"schema_version\":1,\"type\":\"assay.trace\",\"request_id\":\"r{seed}\",\"prompt\":\"{seed}\",\"response\":{},\"meta\":{{}}}}\n",
            quoted(&text(seed))
        ));
    }
    let manifest = NewManifest {
        assay_version: "bench/0".into(),
        trace: Held::File("files/trace.jsonl".into()),
        ..NewManifest::default()
    };
    let files = [NewFile { name: "files/trace.jsonl", content: &trace }];
    write(&manifest, &files, Vec::new()).map_err(|error| error.to_string())
}
