//! Records of all five formats to convert: an example of each, an empty one, and one with odd content.

use std::fs;
use std::path::{Path, PathBuf};

use reenact_formats::FormatId;
use reenact_formats::model_io::writer::{
    ModelIoMode, ModelIoPrompt, ModelIoSession, ModelIoWriter, NewInteraction,
};
use reenact_formats::replay_bundle::new_manifest::BundleOutputs;
use reenact_formats::replay_bundle::{DocumentInclusion, NewBundleFile, NewManifest, write};
use reenact_formats::replay_jsonl::writer::{
    ReplayJsonlEvent, ReplayJsonlSession as ReplaySession, ReplayJsonlWriter, SessionStatus,
};
use reenact_formats::rpk::write::{NewRpkStep, RpkDocumentBuilder, RpkRunHeader};
use reenact_json::Digest;
use reenact_run::convert::{ConversionInput, ConvertError, Converted, SourceInfo, convert};
use reenact_run::open::{NamedFiles, OpenedRecord, open, open_files};
use reenact_verify::Options;

use super::support::{KeyRing as _, with_import_context};
use reenact_testkit::fixture::{ModelRequest, RunBuilder, TestKey};

/// Record on disk: a file, or a folder.
#[derive(Clone)]
pub(crate) enum Record {
    File(Vec<u8>),
    Folder(NamedFiles),
}

impl Record {
    pub(crate) fn open(&self) -> OpenedRecord {
        let (keys, options) = (TestKey::of(1).keys(), Options::default());
        match self.clone() {
            Self::File(bytes) => open(bytes, &keys, &options),
            Self::Folder(files) => open_files(files, &keys, &options),
        }
    }

    pub(crate) fn of(converted: Converted) -> Self {
        let mut files: NamedFiles = converted.files.into_iter().map(|file| (file.name, file.bytes)).collect();
        if converted.is_folder { Self::Folder(files) } else { Self::File(files.remove(0).1) }
    }

    fn digest(&self) -> Digest {
        match self {
            Self::File(bytes) => Digest::of(bytes),
            Self::Folder(files) => Digest::of(&files[0].1),
        }
    }
}

/// Converts a record as the command line does.
pub(crate) fn converted(record: &Record, target: FormatId) -> Result<Converted, ConvertError> {
    let run = record.open().run.unwrap();
    converted_input(ConversionInput::Run(&run), record.digest(), target)
}

pub(crate) fn converted_input(
    input: ConversionInput<'_>,
    digest: Digest,
    target: FormatId,
) -> Result<Converted, ConvertError> {
    let key = TestKey::of(1);
    let found = SourceInfo { digest, original_bytes: None, verified: Some(true), keys: &key.keys() };
    with_import_context(&key, |context| convert(input, found, target, context))
}

pub(crate) fn repository_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn example_file(name: &str) -> Record {
    Record::File(fs::read(repository_path(name)).unwrap())
}

fn example_folder(name: &str) -> Record {
    let mut files: NamedFiles = fs::read_dir(repository_path(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    Record::Folder(files)
}

/// Returns every record with its format and name.
pub(crate) fn all() -> Vec<(FormatId, &'static str, Record)> {
    vec![
        (FormatId::Rer, "rich", Record::File(rich_rer())),
        (FormatId::Rer, "odd", Record::File(odd_rer())),
        (FormatId::Rer, "empty", Record::File(RunBuilder::started().ended(0).seal(&TestKey::of(1)))),
        (FormatId::Rpk, "example", example_file("examples/runs/invoice.rpk")),
        (FormatId::Rpk, "odd", Record::File(odd_rpk())),
        (FormatId::Rpk, "empty", Record::File(rpk(RpkDocumentBuilder::new()))),
        (FormatId::ModelIo, "example", example_file("examples/runs/invoice.model_io.json")),
        (FormatId::ModelIo, "pack", example_folder("examples/runs/invoice.pack")),
        (FormatId::ModelIo, "odd", Record::File(odd_session())),
        (FormatId::ModelIo, "empty", Record::File(session(|_| {}))),
        (FormatId::ReplayJsonl, "example", example_folder("examples/runs/invoice.replay")),
        (FormatId::ReplayJsonl, "odd", Record::File(odd_replay())),
        (
            FormatId::ReplayJsonl,
            "floats",
            example_file("vectors/replay_jsonl/valid/r14_float_params_serde_hash/REPLAY.jsonl"),
        ),
        (FormatId::ReplayJsonl, "empty", Record::File(replay(|_| {}))),
        (FormatId::ReplayBundle, "example", example_file("examples/runs/invoice.tar.gz")),
        (FormatId::ReplayBundle, "odd", Record::File(odd_bundle())),
        (
            FormatId::ReplayBundle,
            "summary only",
            example_file("vectors/replay_bundle/valid/summary_only.tar.gz"),
        ),
    ]
}

/// Returns a request whose body is text.
fn chat() -> ModelRequest<'static> {
    ModelRequest {
        body: r#"{"model":"gpt-5","messages":[{"role":"user","content":"Grüße, 世界 😀"}]}"#,
        ..ModelRequest::CHAT
    }
}

const ANSWER: &str = r#"{"id":"1","object":"chat.completion","model":"gpt-5","choices":[{"index":0,"message":{"role":"assistant","content":"Guten Tag, 世界"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17}}"#;

/// Returns a sealed run with an event of nearly every type.
pub(crate) fn rich_rer() -> Vec<u8> {
    RunBuilder::started()
        .event("rer.prompt.rendered", r#"{"prompt":"Grüße","template":"t","source":"reported"}"#)
        .event("rer.plan.started", r#"{"steps":[{"id":"a"},{"id":"b"}],"source":"reported"}"#)
        .event("rer.policy.evaluated", r#"{"action":"model.call","decision":"allow","model":"gpt-5","rule":"x","step_id":"s1"}"#)
        .called("s1", &chat())
        .returned("s1", ANSWER)
        .event("rer.tool.called", r#"{"step_id":"t1","tool_call_id":"call_1","tool":"lookup","input":{"path":"./C:/x","n":0.1234567890123456,"at":[1,2]},"via":"sdk","source":"observed"}"#)
        .event("rer.tool.returned", r#"{"step_id":"t1","tool_call_id":"call_1","tool":"lookup","output":{"rows":[1,"é"]},"is_error":false,"latency_ms":12,"source":"observed"}"#)
        .event("rer.step.completed", r#"{"step_id":"a","status":"completed","iterations":2,"utility":0.5}"#)
        .event("rer.verification.ran", r#"{"commands":["cargo test"],"exit_codes":[0],"delta":3}"#)
        .event("rer.error.raised", r#"{"boundary":"tool","error_type":"E","message":"no\r\nluck"}"#)
        .event("rer.artifact.written", r#"{"name":"a.txt","artifact_hash":"00","size_bytes":1}"#)
        .event("rer.capture.gap", r#"{"what":"x","why":"y"}"#)
        .event("rer.output.final", r#"{"output":"done"}"#)
        .event(
            "rer.http.called",
            r#"{"step_id":"h1","provider":"openai","http":{"method":"GET","path":"/v1/models","headers":[],"body":{"text":""}},"source":"observed"}"#,
        )
        .event(
            "rer.http.returned",
            r#"{"step_id":"h1","status":200,"http":{"headers":[["content-type","application/json"]],"body":{"text":"{\"data\":[]}"}},"complete":true,"ended_by":"eof","source":"observed"}"#,
        )
        .ended(0)
        .seal(&TestKey::of(1))
}

/// Returns a run with withheld payloads, binary bodies, requests without answers, calls without results, and
/// ids that are used twice.
fn odd_rer() -> Vec<u8> {
    let binary =
        chat().payload("s1").replacen("\"body\":{\"text\":", "\"body\":{\"base64\":\"AP/+gA==\",\"x\":", 1);
    RunBuilder::started()
        .event("rer.model.called", &binary)
        .returned("s1", "not JSON \u{0} \u{1f600}")
        .called("s2", &chat())
        .withheld("rer.model.returned", r#"{"step_id":"s2"}"#)
        .called("s3", &chat())
        .returned("s3", ANSWER)
        .called("s4", &chat())
        .event("rer.tool.called", r#"{"step_id":"t1","tool":"a"}"#)
        .event("rer.tool.returned", r#"{"step_id":"t1","is_error":true}"#)
        .event("rer.tool.called", r#"{"step_id":"t1","tool":"a","input":9007199254740992}"#)
        .event("rer.tool.returned", r#"{"step_id":"t1","output":"x"}"#)
        .event("rer.tool.called", r#"{"step_id":"t2","tool":"never"}"#)
        .withheld("rer.tool.called", r#"{"step_id":"t3","tool":"b"}"#)
        .event("rer.tool.returned", r#"{"step_id":"t9","output":null}"#)
        .event("rer.plan.started", "{}")
        .event("rer.step.completed", r#"{"status":"perhaps"}"#)
        .event("rer.verification.ran", r#"{"commands":["a","b"],"exit_codes":[0],"delta":"much"}"#)
        .event("rer.http.called", "[]")
        .event("com.example.other", "7")
        .bare("rer.output.final")
        .seal(&TestKey::of(1))
}

fn rpk(draft: RpkDocumentBuilder) -> Vec<u8> {
    let header = RpkRunHeader {
        version: "1.0",
        id: "../not/a folder",
        timestamp: "2026-02-21T18:30:00.000001Z",
        environment_fingerprint: br#"{"os":"linux"}"#,
        runtime_versions: br#"{"python":"3.12"}"#,
        extra_members: &[("provider", br#""openai""#)],
        metadata: &[("seed", b"9007199254740993")],
        created_at: "2026-02-21T18:30:00.000001Z",
    };
    draft.finish(&header, None).unwrap()
}

/// Returns an `.rpk` with odd numbers, unordered lists, steps that are paired by order, and steps without a
/// partner.
fn odd_rpk() -> Vec<u8> {
    let mut draft = RpkDocumentBuilder::new();
    let steps: [(&str, &str, &str, &str); 9] = [
        (
            "model.request",
            r#"{"model":"m","input":"Grüße, 世界"}"#,
            r#"{"status":"sent"}"#,
            r#"{"model":"m","provider":"p"}"#,
        ),
        ("model.response", r#"{"model":"m"}"#, r#"{"output":"héllo 😀"}"#, r#"{"latency_ms":12.5}"#),
        (
            "tool.request",
            r#"{"tool":"t","args":[1.0,9007199254740993],"kwargs":{}}"#,
            r#"{"status":"called"}"#,
            r#"{"tags":["b","a"]}"#,
        ),
        ("tool.response", r#"{"tool":"t"}"#, r#"{"result":{"big":18446744073709551615,"float":1e16}}"#, "{}"),
        (
            "tool.request",
            r#"{"tool":"t","args":[1e300,123456789012345678901234567890],"kwargs":{}}"#,
            "null",
            "{}",
        ),
        ("tool.response", r#"{"tool":"t"}"#, "null", "{}"),
        ("model.request", "[]", "7", "{}"),
        ("error.event", r#"{"boundary":"tool"}"#, r#"{"message":"x"}"#, "{}"),
        ("output.final", "{}", r#""""#, "{}"),
    ];
    for (at, (step_type, input, output, metadata)) in steps.iter().enumerate() {
        let id = format!("step-{at}");
        let timestamp = (at % 2 == 0).then_some("2026-02-21T18:30:01+01:00");
        let step = NewRpkStep {
            id: &id,
            step_type,
            input: input.as_bytes(),
            output: output.as_bytes(),
            metadata: metadata.as_bytes(),
            timestamp,
        };
        draft.append(&step).unwrap();
    }
    rpk(draft)
}

fn session(fill: impl FnOnce(&mut ModelIoWriter<'_, Vec<u8>>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let about = ModelIoSession {
        adapter_id: "a",
        model_id: "é",
        mode: ModelIoMode::Replay,
        created_at_utc: Some("2026-02-21T18:30:00Z"),
        ended_at_utc: None,
        stats: true,
    };
    let mut writer = ModelIoWriter::begin(about, &mut bytes).unwrap();
    fill(&mut writer);
    writer.finish();
    bytes
}

fn odd_session() -> Vec<u8> {
    let written = session(|writer| {
        for (at, response) in ["", "\u{0}\u{1f600}\r\n", "{\"$text\":\"1.0\"}"].iter().enumerate() {
            let interaction = NewInteraction {
                prompt: ModelIoPrompt::Digest(Digest::of(&at.to_le_bytes())),
                response,
                tokens_input: Some(1 << 40),
                tokens_output: None,
                latency_ms: Some(0),
            };
            writer.add(&interaction).unwrap();
        }
    });
    // Unknown members, and numbers that ECMAScript spells in another way.
    let text = String::from_utf8(written).unwrap();
    let text = text.replacen(
        "{\"adapter_id\"",
        "{\"zz\":{\"$text\":1},\"n\":[1.0,9007199254740993],\"adapter_id\"",
        1,
    );
    text.replacen("{\"i\":0", "{\"extra\":1e21,\"i\":0.0", 1).into_bytes()
}

fn replay(fill: impl FnOnce(&mut ReplayJsonlWriter<Vec<u8>>)) -> Vec<u8> {
    let session = ReplaySession {
        producer: "example@1",
        session_id: "s-1",
        issue_number: Some(-1),
        policy: "p",
        started_at: "2026-02-21T18:30:00Z",
    };
    let mut writer = ReplayJsonlWriter::start(Vec::new(), &session).unwrap();
    fill(&mut writer);
    writer.end("2026-02-21T18:31:00Z", SessionStatus::Timeout, 0.25).unwrap().0
}

fn odd_replay() -> Vec<u8> {
    replay(|writer| {
        let params = [
            r#"{"b":1.0,"a":[18446744073709551615,-9223372036854775808,1e300],"é":"😀"}"#,
            "null",
            r#"{"$text":"1.0"}"#,
        ];
        for (at, params) in params.iter().enumerate() {
            let id = format!("call {at}");
            let call =
                ReplayJsonlEvent::ToolCall { id: &id, tool: "t\"", params: params.as_bytes(), step_id: "" };
            writer.emit("2026-02-21T18:30:01.5+02:00", &call).unwrap();
        }
        for at in 0..3 {
            let id = format!("call {at}");
            let result = ReplayJsonlEvent::ToolResult {
                id: &id,
                output_hash: Some(Digest::of(b"x")),
                exit_code: (at == 1).then_some(-1),
                step_utility: Some(-0.1),
                latency_ms: Some(1 << 50),
            };
            writer.emit("2026-02-21T18:30:01Z", &result).unwrap();
        }
        writer
            .emit(
                "2026-02-21T18:30:02Z",
                &ReplayJsonlEvent::PlanStart { plan_hash: Digest::of(b"p"), step_count: 7 },
            )
            .unwrap();
    })
}

fn odd_bundle() -> Vec<u8> {
    let trace = concat!(
        r#"{"schema_version":1,"type":"assay.trace","request_id":"r1","prompt":"Grüße","response":"世界","meta":{"n":1.0,"model":"m"}}"#,
        "\n\n",
        r#"{"schema_version":1,"type":"assay.trace","request_id":"r1","prompt":"Grüße","response":"again","meta":{}}"#,
        "\nnot JSON\n",
        r#"{"type":"tool_call","episode_id":"e","step_id":"s","tool_name":"t","args":{"x":9007199254740993},"result":1.0}"#,
        "\n",
    );
    let cassette = r#"{"schema_version":2,"fingerprint":"00","method":"POST","url":"https://api.openai.com/v1/chat/completions","request_body":{"model":"m","messages":[]},"status":200,"response_body":{"choices":[]},"meta":{}}"#;
    let binary: &[u8] = &[0, 255, 254, 128];
    let files = [
        NewBundleFile { name: "files/trace.jsonl", content: &trace },
        NewBundleFile { name: "cassettes/openai/judge/00.json", content: &cassette },
        NewBundleFile { name: "cassettes/other.bin", content: &binary },
        NewBundleFile { name: "outputs/empty", content: &"" },
    ];
    let manifest = NewManifest {
        assay_version: "example/1".into(),
        trace: DocumentInclusion::File("files/trace.jsonl".into()),
        outputs: BundleOutputs { run: Some("outputs/empty".into()), ..BundleOutputs::default() },
        ..NewManifest::default()
    };
    write(&manifest, &files, Vec::new()).unwrap()
}
