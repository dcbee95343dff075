//! A run that is recorded and sealed: the payloads in its journal, and the verifier's report on its artifact.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;

use reenact_formats::rer::payload::AgentLogin;
use reenact_formats::rer::seal::Signer;
use reenact_json::{Digest, Limits, Value};
use reenact_record::{
    AgentReport, AgentSetting, ArtifactTarget, CallKind, ChangedFiles, Chunk, EndedBy, EventSource,
    EventWriter, ExchangeCall, ForkMode, RawAnswer, RawRequest, RawToolCall, RawToolResult, RecordError,
    RecordedAgent, RecordedParent, Recorder, RepositoryState, RunCounts, RunEnd, RunPlaces, RunStart,
    ToolChannel,
};
use reenact_secrets::RulePack;
use reenact_testkit::fixture::TestDir;
use reenact_verify::audit::AuditVerdict;
use support::{DONE, SALT, answer, events, fixed_env, key, run_id, runs, verify_artifact};

const MATCH_KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn request(body: &[u8]) -> RawRequest<'_> {
    RawRequest {
        provider: "openai",
        method: "POST",
        path: "/v1/chat/completions",
        headers: &[("content-type", b"application/json")],
        body,
    }
}

/// Records one event of each kind.
fn write_all(writer: &EventWriter) {
    let masked = writer.mask_request(&request(b"{\"model\":\"gpt-5\"}"));
    let model = writer
        .record_call(
            &ExchangeCall {
                model: Some("gpt-5"),
                endpoint: Some("chat.completions"),
                match_key: Digest::from_hex(MATCH_KEY).unwrap(),
                ..ExchangeCall::new(CallKind::Model, &masked)
            },
            None,
        )
        .unwrap();
    assert_eq!(model.to_string(), "s1");
    let list =
        writer.mask_request(&RawRequest { method: "GET", path: "/v1/models", headers: &[], ..request(b"") });
    let http = writer
        .record_call(
            &ExchangeCall {
                match_key: Digest::from_hex(MATCH_KEY).unwrap(),
                ..ExchangeCall::new(CallKind::Http, &list)
            },
            None,
        )
        .unwrap();
    assert_eq!(http.to_string(), "s2");
    let whole = RawAnswer {
        version: Some("1.1"),
        headers: &[("content-type", b"text/event-stream")],
        trailers: &[("content-type", b"x")],
        content_encoding: Some("gzip"),
        wire_sha256: *Digest::of(b"wire").as_bytes(),
        chunks: &[
            Chunk { at: Duration::from_micros(1_999), length: 2 },
            Chunk { at: Duration::from_millis(7), length: 4 },
        ],
        ended_by: EndedBy::Eof,
        ttft: Some(Duration::from_millis(1)),
        latency: Duration::from_millis(9),
        ..answer(b"data:x")
    };
    writer.record_return(&http, whole).unwrap();
    let cut = RawAnswer {
        ended_by: EndedBy::Client,
        complete: false,
        delivered: Some(b"\xff"),
        ..answer(b"\xff\x00")
    };
    writer.record_return(&model, cut).unwrap();
    let call = RawToolCall {
        tool_call_id: "call_1",
        tool: "lookup",
        input: "{ \"n\": 1.0 }",
        via: ToolChannel::Conversation,
        source: EventSource::Inferred,
    };
    let tool = writer.record_tool_call(&call, None).unwrap();
    writer.record_tool_result(&tool, &RawToolResult { output: "42", is_error: true, latency: None }).unwrap();
    let mcp = RawToolCall {
        via: ToolChannel::Mcp("files"),
        source: EventSource::Observed,
        input: "not JSON",
        ..call
    };
    let tool = writer.record_tool_call(&mcp, None).unwrap();
    let result = RawToolResult { output: "[1]", is_error: false, latency: Some(Duration::from_millis(3)) };
    writer.record_tool_result(&tool, &result).unwrap();
    writer.record_error("upstream", "connect", "refused").unwrap();
    writer.record_gap("body", "unknown content encoding").unwrap();
}

fn report_all(writer: &EventWriter) {
    for report in [
        AgentReport::PromptRendered { template: Some("t"), variables: Some("{\"a\":1}"), prompt: "p" },
        AgentReport::PlanStarted { plan_hash: Some([0; 32]), steps: "[\"one\"]" },
        AgentReport::StepCompleted {
            step_id: "a",
            status: "success",
            iterations: Some(2),
            utility: Some(0.5),
        },
        AgentReport::VerificationRan { commands: &["cargo test"], exit_codes: &[0, -1], delta: "{}" },
        AgentReport::ArtifactWritten {
            artifact_hash: [1; 32],
            name: "n",
            size_bytes: 3,
            media_type: Some("text/plain"),
        },
        AgentReport::OutputFinal { output: "done" },
    ] {
        writer.record_report(&report).unwrap();
    }
}

#[test]
fn every_payload_is_as_agreed() {
    let dir = TestDir::new();
    let (folder, id) = (runs(&dir), run_id());
    let command = ["python".into(), "agent.py".into()];
    let start = RunStart {
        command: &command,
        upstreams: &[("openai", "https://api.openai.com/v1"), ("anthropic", "https://api.anthropic.com")],
        ..RunStart::new(id)
    };
    let recorder = Recorder::builder(&folder, &key()).env(fixed_env().clone()).begin(&start).unwrap();
    write_all(&recorder.event_writer());
    report_all(&recorder.event_writer());
    recorder.end(&DONE).unwrap();

    let (os, arch, version) = (std::env::consts::OS, std::env::consts::ARCH, env!("CARGO_PKG_VERSION"));
    let envelope = concat!(
        r#"{"envelope_version":"rer-envelope/0.2","limits":{},"metadata":{"reenact":{"enforcement":"observe","#,
        r#""upstreams":{"anthropic":"https://api.anthropic.com","openai":"https://api.openai.com/v1"}}},"#,
        r#""permissions":{"allowed_models":["*"],"allowed_tools":["*"]}}"#
    );
    let (envelope, pack) = (Digest::of(envelope.as_bytes()), RulePack::standard());
    let (digest, pack) = (Digest::of(pack.rules_text().as_bytes()), pack.name());
    let (empty, wire) = (Digest::of(b""), Digest::of(b"wire"));
    let (zeros, ones) = ("00".repeat(32), "01".repeat(32));
    let expected: Vec<(&str, String)> = vec![
        (
            "rer.run.started",
            format!(
                r#"{{"capture":"cooperative","command":["python","agent.py"],"enforcement":"observe","envelope_hash":"{envelope}","environment":{{"arch":"{arch}","os":"{os}","reenact":"{version}","runtimes":{{}}}},"payloads":2,"redaction":{{"digest":"{digest}","pack":"{pack}"}},"runtime_version":"{version}","salt":"{SALT}","source":"observed"}}"#
            ),
        ),
        (
            "rer.model.called",
            format!(
                r#"{{"endpoint":"chat.completions","http":{{"body":{{"text":"{{\"model\":\"gpt-5\"}}"}},"headers":[["content-type","application/json"]],"method":"POST","path":"/v1/chat/completions"}},"match_key":"{MATCH_KEY}","model":"gpt-5","provider":"openai","salt":"{SALT}","source":"observed","step_id":"s1"}}"#
            ),
        ),
        (
            "rer.http.called",
            format!(
                r#"{{"endpoint":null,"http":{{"body":{{"text":""}},"headers":[],"method":"GET","path":"/v1/models"}},"match_key":"{MATCH_KEY}","model":null,"provider":"openai","salt":"{SALT}","source":"observed","step_id":"s2"}}"#
            ),
        ),
        (
            "rer.http.returned",
            format!(
                r#"{{"complete":true,"ended_by":"eof","http":{{"body":{{"text":"data:x"}},"chunks":[[1,2],[7,4]],"content_encoding":"gzip","headers":[["content-type","text/event-stream"]],"trailers":[["content-type","x"]],"version":"1.1","wire_sha256":"{wire}"}},"latency_ms":9,"salt":"{SALT}","source":"observed","status":200,"step_id":"s2","ttft_ms":1}}"#
            ),
        ),
        (
            "rer.model.returned",
            format!(
                r#"{{"complete":false,"delivered":{{"base64":"/w=="}},"ended_by":"client","http":{{"body":{{"base64":"/wA="}},"headers":[],"version":null,"wire_sha256":"{empty}"}},"latency_ms":0,"salt":"{SALT}","source":"observed","status":200,"step_id":"s1","ttft_ms":null}}"#
            ),
        ),
        (
            "rer.tool.called",
            format!(
                r#"{{"input":{{"n":1}},"salt":"{SALT}","source":"inferred","step_id":"s3","tool":"lookup","tool_call_id":"call_1","via":"conversation"}}"#
            ),
        ),
        (
            "rer.tool.returned",
            format!(
                r#"{{"is_error":true,"output":"42","salt":"{SALT}","source":"inferred","step_id":"s3","tool":"lookup","tool_call_id":"call_1"}}"#
            ),
        ),
        (
            "rer.tool.called",
            format!(
                r#"{{"input":"not JSON","salt":"{SALT}","source":"observed","step_id":"s4","tool":"lookup","tool_call_id":"call_1","via":"mcp:files"}}"#
            ),
        ),
        (
            "rer.tool.returned",
            format!(
                r#"{{"is_error":false,"latency_ms":3,"output":[1],"salt":"{SALT}","source":"observed","step_id":"s4","tool":"lookup","tool_call_id":"call_1"}}"#
            ),
        ),
        (
            "rer.error.raised",
            format!(
                r#"{{"boundary":"upstream","error_type":"connect","message":"refused","salt":"{SALT}","source":"observed"}}"#
            ),
        ),
        (
            "rer.capture.gap",
            format!(
                r#"{{"salt":"{SALT}","source":"observed","what":"body","why":"unknown content encoding"}}"#
            ),
        ),
        (
            "rer.prompt.rendered",
            format!(
                r#"{{"prompt":"p","salt":"{SALT}","source":"reported","template":"t","variables":{{"a":1}}}}"#
            ),
        ),
        (
            "rer.plan.started",
            format!(r#"{{"plan_hash":"{zeros}","salt":"{SALT}","source":"reported","steps":["one"]}}"#),
        ),
        (
            "rer.step.completed",
            format!(
                r#"{{"iterations":2,"salt":"{SALT}","source":"reported","status":"success","step_id":"a","utility":0.5}}"#
            ),
        ),
        (
            "rer.verification.ran",
            format!(
                r#"{{"commands":["cargo test"],"delta":{{}},"exit_codes":[0,-1],"salt":"{SALT}","source":"reported"}}"#
            ),
        ),
        (
            "rer.artifact.written",
            format!(
                r#"{{"artifact_hash":"{ones}","media_type":"text/plain","name":"n","salt":"{SALT}","size_bytes":3,"source":"reported"}}"#
            ),
        ),
        ("rer.output.final", format!(r#"{{"output":"done","salt":"{SALT}","source":"reported"}}"#)),
        (
            "rer.run.ended",
            format!(
                r#"{{"exit_code":0,"reason":"exit","salt":"{SALT}","source":"observed","status":"completed","total_model_calls":1,"total_spend_usd":null,"total_tool_calls":2}}"#
            ),
        ),
    ];
    let found = events(&folder.journal_path(id));
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!((found.0.as_str(), &found.1), (expected.0, &expected.1));
    }
    assert_eq!(found.len(), expected.len());
}

/// Agent, folders, repository, input, connections and outcome; a secret of the environment is masked in each text.
#[test]
fn surroundings_and_outcome_are_as_agreed() {
    let dir = TestDir::new();
    let (folder, id) = (runs(&dir), run_id());
    let environment = [("A_TOKEN".into(), "planted-secret".into())];
    let start = RunStart {
        environment: &environment,
        places: RunPlaces {
            folder: Some(Path::new("/work/planted-secret")),
            home: Some(Path::new("/home/me")),
            temp: Some(Path::new("/tmp")),
        },
        agent: Some(RecordedAgent { name: "codex", version: Some("0.166.0"), login: AgentLogin::OAuth }),
        settings: &[AgentSetting { set: "-c x=planted-secret", why: "its calls come here" }],
        repository: Some(RepositoryState { commit: Some("00c0ffee"), is_clean: Some(true) }),
        parent: Some(RecordedParent {
            run_id: "0198-planted-secret",
            digest: Some(Digest::of(b"1")),
            step_id: "s4",
            mode: ForkMode::Live,
        }),
        ..RunStart::new(id)
    };
    let recorder = Recorder::builder(&folder, &key()).env(fixed_env().clone()).begin(&start).unwrap();
    let writer = recorder.event_writer();
    writer.record_stdin(b"diff planted-secret", true).unwrap();
    writer.record_stdin(b"\xff\x00", false).unwrap();
    let addresses = ["192.0.2.7:443", "[2001:db8::1]:8443", "192.0.2.7:443", "192.0.2.7:80"];
    writer.record_net_seen(addresses.map(|address| address.parse().unwrap())).unwrap();
    let (one, two) = (Digest::of(b"1"), Digest::of(b"2"));
    let files = ChangedFiles {
        added: vec![("a/planted-secret.txt".into(), one)],
        changed: vec![("b".into(), two)],
        removed: vec!["c".into()],
        more: 0,
    };
    recorder.end(&RunEnd { stdout_sha256: Some(one), files: Some(&files), ..DONE }).unwrap();

    let found = events(&folder.journal_path(id));
    let payload = |at: usize| found.get(at).map(|(name, payload)| (name.as_str(), payload.as_str())).unwrap();
    let (name, started) = payload(0);
    assert_eq!(name, "rer.run.started");
    for part in [
        r#"{"agent":{"login":"oauth","name":"codex","version":"0.166.0"},"capture":"cooperative","#,
        r#""folder":"/work/[masked:environment:1]","home":"/home/me","#,
        r#""runtimes":{},"temp":"/tmp"},"files":{"clean":true,"commit":"00c0ffee"},"#,
        r#""observer":[{"set":"-c x=[masked:environment:1]","why":"its calls come here"}],"parent":{"digest":"#,
        r#","mode":"live","run_id":"0198-[masked:environment:1]","step_id":"s4"},"payloads":2,"#,
        &one.to_string(),
    ] {
        assert!(started.contains(part), "{part} is not in {started}");
    }
    let rest = [
        (
            "rer.stdin.read",
            format!(
                r#"{{"body":{{"text":"diff [masked:environment:1]"}},"complete":true,"salt":"{SALT}","source":"observed"}}"#
            ),
        ),
        (
            "rer.stdin.read",
            format!(r#"{{"body":{{"base64":"/wA="}},"complete":false,"salt":"{SALT}","source":"observed"}}"#),
        ),
        (
            "rer.net.seen",
            format!(
                r#"{{"addresses":[["192.0.2.7",80],["192.0.2.7",443],["2001:db8::1",8443]],"salt":"{SALT}","sampled":true,"source":"observed"}}"#
            ),
        ),
        (
            "rer.run.ended",
            format!(
                r#"{{"exit_code":0,"files":{{"added":[["a/[masked:environment:1].txt","{one}"]],"changed":[["b","{two}"]],"removed":["c"]}},"reason":"exit","salt":"{SALT}","source":"observed","status":"completed","stdout_sha256":"{one}","total_model_calls":0,"total_spend_usd":null,"total_tool_calls":0}}"#
            ),
        ),
    ];
    for (at, (name, expected)) in rest.iter().enumerate() {
        assert_eq!(payload(at + 1), (*name, expected.as_str()));
    }
    assert_eq!(found.len(), 5);

    drop(writer);
    // A recovery writes the end anew, with all that it said.
    let ended = Recorder::builder(&folder, &key()).env(fixed_env().clone()).resume_ended(id).unwrap();
    ended.seal(&key()).unwrap();
    let recovered = events(&folder.journal_path(id));
    assert_eq!(recovered.last(), found.last());
    assert_eq!(recovered.len(), 6);
}

/// The journal file alone is enough to seal the run.
#[test]
fn the_first_line_of_the_journal_names_the_run() {
    let dir = TestDir::new();
    let (folder, id) = (runs(&dir), run_id());
    let out = ArtifactTarget { path: dir.join("run.rer.json"), replace: true };
    let envelope = br#"{"permissions":{"allowed_tools":[], "allowed_models":["gpt-5"]},
        "limits":{"max_steps":3.0}, "envelope_version":"rer-envelope/0.2"}"#;
    let start = RunStart { envelope: Some(envelope), target: Some(out), ..RunStart::new(id) };
    let _recorder = Recorder::builder(&folder, &key()).begin(&start).unwrap();
    let journal = fs::read_to_string(folder.journal_path(id)).unwrap();
    let (key_id, version) = (key().public_key().id(), env!("CARGO_PKG_VERSION"));
    let path = dir.join("run.rer.json").to_str().unwrap().to_owned();
    assert_eq!(
        journal.lines().next().unwrap(),
        format!(
            r#"{{"envelope":{{"envelope_version":"rer-envelope/0.2","limits":{{"max_steps":3}},"permissions":{{"allowed_models":["gpt-5"],"allowed_tools":[]}}}},"journal":"reenact-journal/1","key_id":"{key_id}","out":{{"path":"{path}","replace":true}},"run_id":"{id}","runtime_version":"{version}"}}"#
        )
    );
}

#[test]
fn a_sealed_run_passes_all_seven_checks() {
    let dir = TestDir::new();
    let (folder, id) = (runs(&dir), run_id());
    let upstreams = [("openai", "https://api.openai.com/v1")];
    let start = RunStart { upstreams: &upstreams, ..RunStart::new(id) };
    let recorder = Recorder::builder(&folder, &key()).begin(&start).unwrap();
    assert_eq!((recorder.run_id(), recorder.folder()), (id, folder.run_path(id).as_path()));
    write_all(&recorder.event_writer());
    report_all(&recorder.event_writer());
    let ended = recorder.end(&DONE).unwrap();
    let sealed = ended.seal(&key()).unwrap();

    assert_eq!(sealed.path, folder.artifact_path(id));
    assert_eq!(folder.sealed_artifact(id), Ok(sealed.path.clone()));
    let bytes = fs::read(&sealed.path).unwrap();
    assert_eq!((sealed.digest, sealed.size), (Digest::of(&bytes), bytes.len() as u64));
    let journal = fs::read_to_string(folder.journal_path(id)).unwrap();
    let head = journal.lines().next().unwrap().len() + 1;
    let counts = RunCounts {
        model_calls: 1,
        http_calls: 1,
        tool_calls: 2,
        errors: 1,
        gaps: 1,
        events: 18,
        bytes: (journal.len() - head) as u64,
    };
    assert_eq!((sealed.run_id, sealed.counts), (id, counts));

    let report = verify_artifact(&sealed.path, &key());
    assert_eq!((report.reasons.as_slice(), report.pass()), ([].as_slice(), true));
    assert_eq!(report.checks.iter().map(|check| check.holds).collect::<Vec<_>>(), [Some(true); 7]);
    assert_eq!(report.notes, [""; 0]);
    assert_eq!(report.run.unwrap().run_id, id.to_string());
    let audit = report.audit.unwrap();
    assert_eq!(audit.ok(), None, "nothing was restricted");
    let failed: Vec<_> = audit.rules.iter().filter(|rule| rule.verdict == AuditVerdict::Fail).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(audit.rules[0].reason, "nothing was restricted (observe-only)");

    let artifact = Value::parse(&bytes, &Limits::default()).unwrap();
    assert!(artifact.is_canonical());
    let runtime = artifact.member("runtime").unwrap();
    assert!(runtime.member("implementation").unwrap().is_string("reenact"));
    assert!(runtime.member("version").unwrap().is_string(env!("CARGO_PKG_VERSION")));
    assert!(runtime.member("key_id").unwrap().is_string(&key().public_key().id().to_string()));
    // The envelope hash in the first event is correct.
    let started = artifact.member("events").unwrap().elements().next().unwrap().member("payload").unwrap();
    assert_eq!(
        started.member("envelope_hash").unwrap().text(),
        artifact.member("envelope_hash").unwrap().text()
    );
}

#[test]
fn the_same_run_twice_is_the_same_artifact() {
    let artifact = || {
        let (dir, id) = (TestDir::new(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f".parse().unwrap());
        let env = fixed_env();
        let recorder =
            Recorder::builder(&runs(&dir), &key()).env(env.clone()).begin(&RunStart::new(id)).unwrap();
        write_all(&recorder.event_writer());
        let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
        let bytes = fs::read(&sealed.path).unwrap();
        assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
        bytes
    };
    let first = artifact();
    assert!(first == artifact());
    let text = String::from_utf8(first).unwrap();
    assert!(text.contains(r#""step_index":1,"timestamp":"2026-11-15T20:02:26.001000Z""#), "{text}");
}

#[test]
fn an_envelope_that_was_given_is_the_one_that_is_sealed() {
    let dir = TestDir::new();
    let envelope = br#"{"envelope_version":"rer-envelope/0.2", "limits":{"max_steps":3},
        "permissions":{"allowed_tools":[], "allowed_models":["gpt-5"]}}"#;
    let start = RunStart { envelope: Some(envelope), ..RunStart::new(run_id()) };
    let recorder = Recorder::builder(&runs(&dir), &key()).begin(&start).unwrap();
    let id = recorder.run_id();
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    let report = verify_artifact(&sealed.path, &key());
    assert_eq!(report.reasons, [""; 0]);
    let audit = report.audit.unwrap();
    assert_eq!(audit.rules[2].reason, "the limit was kept");
    assert!(events(&runs(&dir).journal_path(id))[0].1.contains(r#""enforcement":"enforce""#));
}

#[test]
fn envelopes_that_cannot_be_sealed() {
    let dir = TestDir::new();
    let begin = |envelope: &str| {
        let start = RunStart { envelope: Some(envelope.as_bytes()), ..RunStart::new(run_id()) };
        Recorder::builder(&runs(&dir), &key()).begin(&start).map(|_| ()).unwrap_err()
    };
    let secret = "sk-proj-Zm9vYmFyYmF6cXV4MDEyMzQ1Njc4OTAx";
    let with_secret = format!(r#"{{"metadata":{{"note":"{secret}"}}}}"#);
    let rule = RulePack::standard().scan(secret.as_bytes())[0].rule.clone();
    assert_eq!(begin(&with_secret), RecordError::SecretInEnvelope { rule });
    assert!(matches!(begin("{}"), RecordError::Envelope(_)));
    assert!(matches!(begin("[]"), RecordError::Seal(_)));
    assert!(matches!(begin("{"), RecordError::Seal(_)));
    assert_eq!(dir.names(), [""; 0], "nothing is written for a run that cannot begin");
}

#[test]
fn upstreams_hold_no_secrets() {
    let dir = TestDir::new();
    for url in [
        "https://user:pass@example.com/v1",
        "https://example.com/v1?key=x",
        "https://example.com/#x",
        "file:///etc/passwd",
        "https://",
        "",
    ] {
        let upstreams = [("one", url)];
        let start = RunStart { upstreams: &upstreams, ..RunStart::new(run_id()) };
        let refused = Recorder::builder(&runs(&dir), &key()).begin(&start).map(|_| ()).unwrap_err();
        assert_eq!(refused, RecordError::Upstream { name: "one".into() }, "{url}");
    }
}

#[test]
fn each_step_returns_once_and_as_what_it_is() {
    let dir = TestDir::new();
    let recorder = Recorder::builder(&runs(&dir), &key()).begin(&RunStart::new(run_id())).unwrap();
    let writer = recorder.event_writer();
    let masked = writer.mask_request(&request(b""));
    let step = writer.record_call(&ExchangeCall::new(CallKind::Model, &masked), None).unwrap();
    let result = RawToolResult { output: "", is_error: false, latency: None };
    assert_eq!(writer.record_tool_result(&step, &result), Err(RecordError::NotOpen { step }));
    writer.record_return(&step, answer(b"")).unwrap();
    assert_eq!(writer.record_return(&step, answer(b"")), Err(RecordError::NotOpen { step }));
    assert_eq!(writer.counts().events, 3);
}

#[test]
fn a_pen_that_outlives_its_run_writes_nothing() {
    let dir = TestDir::new();
    let recorder = Recorder::builder(&runs(&dir), &key()).begin(&RunStart::new(run_id())).unwrap();
    let (writer, id) = (recorder.event_writer(), recorder.run_id());
    let masked = writer.mask_request(&request(b""));
    let step = writer
        .record_call(&ExchangeCall { model: Some("m"), ..ExchangeCall::new(CallKind::Model, &masked) }, None)
        .unwrap();
    let ended = recorder.end(&DONE).unwrap();
    let before = fs::read(runs(&dir).journal_path(id)).unwrap();
    assert_eq!(writer.record_gap("a", "b"), Err(RecordError::Ended));
    assert_eq!(writer.record_return(&step, answer(b"")), Err(RecordError::Ended));
    assert_eq!(
        writer.record_call(&ExchangeCall::new(CallKind::Model, &masked), None),
        Err(RecordError::Ended)
    );
    assert_eq!(fs::read(runs(&dir).journal_path(id)).unwrap(), before);

    // The call that never returned is a gap, and breaks no rule.
    let sealed = ended.seal(&key()).unwrap();
    assert_eq!(sealed.counts.gaps, 1);
    let gap = format!(
        r#""source":"observed","step_id":"{step}","what":"return","why":"the run ended before this step returned"}}"#
    );
    let events = events(&runs(&dir).journal_path(id));
    assert_eq!(events[2].0, "rer.capture.gap");
    assert!(events[2].1.ends_with(&gap), "{}", events[2].1);
    let report = verify_artifact(&sealed.path, &key());
    assert_eq!(report.reasons, [""; 0]);
    assert!(report.audit.unwrap().rules.iter().all(|rule| rule.verdict != AuditVerdict::Fail));
}
