//! Secrets planted in every input: none is ever in a file, during the run and after.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::ffi::OsString;
use std::time::Duration;

use reenact_json::{Limits, Value};
use reenact_record::{
    AgentReport, CallKind, Chunk, EndedBy, EventSource, EventWriter, ExchangeCall, RawAnswer, RawRequest,
    RawToolCall, RawToolResult, Recorder, RunEnd, RunStart, RunStatus, ToolChannel,
};
use reenact_testkit::fixture::TestDir;
use support::{DONE, answer, events, key, run_id, runs, verify_artifact};

/// No rule matches these secrets, and each comes in by one way only, unless stated otherwise.
const BEARER: &str = "planted-bearer-qpwoeiruty";
const HEADER_KEY: &str = "planted-header-alskdjfhg";
const QUERY: &str = "planted-query-zmxncbvalskd";
const ENVIRONMENT: &str = "planted-environment-1029384756";
const OPTION: &str = "planted-option-mznxbcvlaksjd";
const SHORT: &str = "p1ant3d";
/// Matches a rule of the pack.
const KNOWN_SHAPE: &str = "sk-proj-PlantedZm9vYmFyYmF6cXV4MDEyMzQ1Njc4OTAx";
/// Needs escapes in JSON.
const ODD: &str = "planted\"odd\\secret\tvalue";

const ALL: [&str; 8] = [BEARER, HEADER_KEY, QUERY, ENVIRONMENT, OPTION, SHORT, KNOWN_SHAPE, ODD];

/// Asserts that no file below the folder holds any secret, in plain or as JSON spells it.
fn assert_clean(dir: &TestDir) {
    let odd = ODD.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t");
    for (path, bytes) in dir.files() {
        for secret in ALL.iter().copied().chain([odd.as_str()]) {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} in {}:\n{}", path.display(), String::from_utf8_lossy(&bytes));
        }
    }
}

fn begin(dir: &TestDir) -> Recorder<reenact_record::Recording> {
    let command: Vec<OsString> = [
        "agent",
        "--api-key",
        OPTION,
        &format!("--token={SHORT}"),
        "--password",
        SHORT,
        &format!("say {ENVIRONMENT} and {KNOWN_SHAPE} and {OPTION}"),
        "--verbose",
    ]
    .iter()
    .map(OsString::from)
    .collect();
    let environment = [
        ("SERVICE_TOKEN".into(), ENVIRONMENT.into()),
        ("odd_secret".into(), ODD.into()),
        ("HOME".into(), "/home/someone".into()),
    ];
    let start = RunStart { command: &command, environment: &environment, ..RunStart::new(run_id()) };
    Recorder::builder(&runs(dir), &key()).begin(&start).unwrap()
}

/// Returns a text with every secret in it.
fn everything() -> String {
    ALL.iter().filter(|secret| **secret != SHORT).copied().collect::<Vec<_>>().join(" and ")
}

/// Returns [`everything`] as a JSON string.
fn everything_quoted() -> String {
    let quoted = everything().replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t");
    format!("\"{quoted}\"")
}

fn plant(dir: &TestDir, writer: &EventWriter) {
    let bearer = format!("Bearer {BEARER}");
    let headers: [(&str, &[u8]); 4] = [
        ("Authorization", bearer.as_bytes()),
        ("X-Api-Key", HEADER_KEY.as_bytes()),
        ("user-agent", BEARER.as_bytes()),
        ("content-type", b"application/json"),
    ];
    let body = format!("{{\"model\":{},\"n\":1}}", everything_quoted());
    let path = format!("/v1/x?a=b&api_key={QUERY}");
    let raw = RawRequest {
        provider: "openai",
        method: "POST",
        path: &path,
        headers: &headers,
        body: body.as_bytes(),
    };
    let masked = writer.mask_request(&raw);
    for secret in ALL {
        let seen =
            format!("{:?}{}{:?}", masked.headers(), masked.path(), String::from_utf8_lossy(masked.body()));
        assert!(!seen.contains(secret), "{seen}");
    }
    let all = everything();
    let step = writer
        .record_call(
            &ExchangeCall {
                model: Some(&all),
                endpoint: Some(&all),
                ..ExchangeCall::new(CallKind::Model, &masked)
            },
            None,
        )
        .unwrap();
    assert_clean(dir);

    let split = all.find(KNOWN_SHAPE).unwrap() + 5;
    let chunks = [
        Chunk { at: Duration::ZERO, length: split },
        Chunk { at: Duration::ZERO, length: 7 },
        Chunk { at: Duration::ZERO, length: all.len() - split - 7 },
    ];
    let answered = RawAnswer {
        headers: &[
            ("set-cookie", all.as_bytes()),
            ("x-request-id", all.as_bytes()),
            ("content-type", all.as_bytes()),
        ],
        trailers: &[("x-trailer", all.as_bytes())],
        version: Some(&all),
        content_encoding: Some(&all),
        chunks: &chunks,
        ended_by: EndedBy::Client,
        delivered: Some(&all.as_bytes()[..split]),
        ..answer(all.as_bytes())
    };
    writer.record_return(&step, answered).unwrap();
    assert_clean(dir);

    // As JSON, as JSON with odd spelling, in a name, in the place of a number, as text.
    let escaped: String = KNOWN_SHAPE.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    for input in [
        everything_quoted(),
        format!("{{\"a\":[\"{escaped}\"]}}"),
        format!("{{\"{escaped}\":1,{}:2}}", everything_quoted()),
        all.clone(),
    ] {
        let call = RawToolCall {
            tool_call_id: &all,
            tool: &all,
            input: &input,
            via: ToolChannel::Mcp(&all),
            source: EventSource::Inferred,
        };
        let step = writer.record_tool_call(&call, None).unwrap();
        let output = format!("[{input}]");
        writer
            .record_tool_result(&step, &RawToolResult { output: &output, is_error: false, latency: None })
            .unwrap();
        writer.record_tool_call(&RawToolCall { input: &output, ..call }, None).unwrap();
        assert_clean(dir);
    }
    writer.record_error(&all, &all, &all).unwrap();
    writer.record_gap(&all, &all).unwrap();
    let quoted = everything_quoted();
    for report in [
        AgentReport::PromptRendered { template: Some(&all), variables: Some(&quoted), prompt: &all },
        AgentReport::PlanStarted { plan_hash: None, steps: &quoted },
        AgentReport::StepCompleted { step_id: &all, status: &all, iterations: None, utility: None },
        AgentReport::VerificationRan { commands: &[&all], exit_codes: &[0], delta: &all },
        AgentReport::ArtifactWritten {
            artifact_hash: [0; 32],
            name: &all,
            size_bytes: 0,
            media_type: Some(&all),
        },
        AgentReport::OutputFinal { output: &all },
    ] {
        writer.record_report(&report).unwrap();
        assert_clean(dir);
    }
}

#[test]
fn no_secret_reaches_the_disk() {
    let dir = TestDir::new();
    let recorder = begin(&dir);
    assert_clean(&dir);
    plant(&dir, &recorder.event_writer());
    let reason = everything();
    let end = RunEnd::new(RunStatus::Failed, &reason);
    let ended = recorder.end(&end).unwrap();
    assert_clean(&dir);
    let sealed = ended.seal(&key()).unwrap();
    assert_clean(&dir);
    assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
    assert!(!sealed.path.to_str().unwrap().contains("planted"));
}

/// Each value is secret by its place in the command or by the name of its variable, and is masked in what follows.
#[test]
fn commands_and_variables_give_their_secrets_away() {
    const COMMANDS: [(&str, &str); 16] = [
        ("agent -u ada:planted-pair", "agent -u ada:[masked:argument:1]"),
        ("curl --user=ada:planted-pair", "curl --user=ada:[masked:argument:1]"),
        ("mysql -pplanted-word shop", "mysql -p[masked:argument:1] shop"),
        ("sshpass -p planted-word ssh", "sshpass -p [masked:argument:1] ssh"),
        ("docker login -p planted-word", "docker login -p [masked:argument:1]"),
        ("redis-cli -a planted-word ping", "redis-cli -a [masked:argument:1] ping"),
        ("agent --pass planted-word", "agent --pass [masked:argument:1]"),
        ("agent --passwd=planted-word", "agent --passwd=[masked:argument:1]"),
        ("agent --pwd planted-word", "agent --pwd [masked:argument:1]"),
        ("agent --passphrase planted-word", "agent --passphrase [masked:argument:1]"),
        ("agent --auth planted-word", "agent --auth [masked:argument:1]"),
        ("agent --bearer planted-word", "agent --bearer [masked:argument:1]"),
        ("agent --credentials planted-word", "agent --credentials [masked:argument:1]"),
        ("agent --pat planted-word", "agent --pat [masked:argument:1]"),
        ("agent --sas planted-word", "agent --sas [masked:argument:1]"),
        ("agent -p 8080 --cookie a=planted-word", "agent -p 8080 --cookie [masked:argument:1]"),
    ];
    for (command, expected) in COMMANDS {
        let dir = TestDir::new();
        let command: Vec<OsString> = command.split(' ').map(OsString::from).collect();
        let environment = [
            ("ADO_PAT".into(), "planted-variable-1".into()),
            ("SMTP_PASS".into(), "planted-variable-2".into()),
            ("SERVICE_CREDENTIALS".into(), "planted-variable-3".into()),
            ("PWD".into(), "/home/ada/shop".into()),
            ("SSH_ASKPASS".into(), "/usr/bin/ask".into()),
            ("GOOGLE_APPLICATION_CREDENTIALS".into(), "/home/ada/gcp.json".into()),
        ];
        let start = RunStart { command: &command, environment: &environment, ..RunStart::new(run_id()) };
        let recorder = Recorder::builder(&runs(&dir), &key()).begin(&start).unwrap();
        let (writer, id) = (recorder.event_writer(), recorder.run_id());
        let text = "planted-variable-1 planted-variable-2 planted-variable-3 /home/ada/shop /usr/bin/ask /home/ada/gcp.json";
        writer.record_error("a", "b", text).unwrap();
        recorder.end(&DONE).unwrap();
        let events = events(&runs(&dir).journal_path(id));
        let command = payload(&events[0].1).member("command").unwrap();
        let command: Vec<_> = command.elements().map(|argument| argument.string().unwrap()).collect();
        assert_eq!(command.join(" "), expected);
        let message = payload(&events[1].1).member("message").unwrap().string().unwrap();
        let marks = "[masked:environment:1] [masked:environment:2] [masked:environment:3]";
        assert_eq!(message, format!("{marks} /home/ada/shop /usr/bin/ask /home/ada/gcp.json"));
    }
}

/// The text that an approver is asked about is the one that is recorded, whatever kind of JSON the input is.
#[test]
fn an_approver_sees_the_input_as_it_is_recorded() {
    let dir = TestDir::new();
    let recorder = begin(&dir);
    let writer = recorder.event_writer();
    for (input, shown) in [
        ("1.0", "1"),
        (r#""\u0061""#, r#""a""#),
        (r#"{"b":1, "a":2}"#, r#"{"a":2,"b":1}"#),
        ("no JSON", "no JSON"),
    ] {
        assert_eq!(writer.mask_tool_input(input), shown);
    }
}

fn payload(text: &str) -> Value<'_> {
    Value::parse(text.as_bytes(), &Limits::default()).unwrap()
}

#[test]
fn the_same_secret_has_the_same_mark_everywhere() {
    let dir = TestDir::new();
    let recorder = begin(&dir);
    let (writer, id) = (recorder.event_writer(), recorder.run_id());
    let bearer = format!("Bearer {BEARER}");
    let headers: [(&str, &[u8]); 1] = [("authorization", bearer.as_bytes())];
    let body = format!("{BEARER} {ENVIRONMENT}");
    let raw =
        RawRequest { provider: "p", method: "POST", path: "/", headers: &headers, body: body.as_bytes() };
    let masked = writer.mask_request(&raw);
    assert_eq!(masked.body(), b"[masked:credential:1] [masked:environment:1]");
    assert_eq!(writer.mask_request(&raw), masked);
    writer.record_error("a", BEARER, &format!("{ENVIRONMENT}{BEARER}")).unwrap();
    recorder.end(&DONE).unwrap();
    let events = events(&runs(&dir).journal_path(id));
    let error = payload(&events[1].1);
    assert!(error.member("error_type").unwrap().is_string("[masked:credential:1]"));
    assert!(error.member("message").unwrap().is_string("[masked:environment:1][masked:credential:1]"));
    let command: Vec<String> = payload(&events[0].1)
        .member("command")
        .unwrap()
        .elements()
        .map(|argument| argument.string().unwrap().into_owned())
        .collect();
    assert_eq!(
        command[..6],
        [
            "agent",
            "--api-key",
            "[masked:argument:1]",
            "--token=[masked:argument]",
            "--password",
            "[masked:argument]"
        ]
    );
    assert!(command[6].starts_with("say [masked:environment:1] and [masked:"), "{}", command[6]);
    assert!(command[6].ends_with("] and [masked:argument:1]"), "{}", command[6]);
    assert_eq!(command[7], "--verbose");
}

#[test]
fn chunks_end_where_they_did_and_sum_to_the_body() {
    let dir = TestDir::new();
    let recorder = begin(&dir);
    let (writer, id) = (recorder.event_writer(), recorder.run_id());
    let raw = RawRequest { provider: "p", method: "POST", path: "/", headers: &[], body: b"" };
    let masked = writer.mask_request(&raw);
    let body = format!("before {ENVIRONMENT} after");
    let chunk = |at, length| Chunk { at: Duration::from_millis(at), length };
    let cases: [(&[Chunk], &str, Option<&str>); 5] = [
        // A chunk that ends within the secret ends behind its mark; a chunk that lies within the secret is dropped.
        (
            &[chunk(1, 7 + 4), chunk(2, 5), chunk(3, body.len() - 16)],
            "[[1,29],[3,6]]",
            Some("before [masked:environment:1]"),
        ),
        (&[chunk(1, 3), chunk(2, body.len() - 3)], "[[1,3],[2,32]]", Some("bef")),
        // Whatever was counted, the lengths sum to the body's.
        (&[chunk(1, 3), chunk(2, 1)], "[[1,3],[2,32]]", None),
        (&[chunk(1, usize::MAX), chunk(2, usize::MAX)], "[[1,35]]", None),
        (&[chunk(5, 0)], "[[5,35]]", None),
    ];
    for (chunks, _, delivered) in cases {
        let step = writer.record_call(&ExchangeCall::new(CallKind::Model, &masked), None).unwrap();
        let delivered = delivered.map(|_| &body.as_bytes()[..chunks[0].length]);
        writer.record_return(&step, RawAnswer { chunks, delivered, ..answer(body.as_bytes()) }).unwrap();
    }
    recorder.end(&DONE).unwrap();
    let events = events(&runs(&dir).journal_path(id));
    let returned = events.iter().filter(|(event_type, _)| event_type == "rer.model.returned");
    for ((_, text), (_, chunks, delivered)) in returned.zip(cases) {
        let returned = payload(text);
        let http = returned.member("http").unwrap();
        let body = http.member("body").unwrap().member("text").unwrap();
        assert!(body.is_string("before [masked:environment:1] after"));
        assert_eq!(http.member("chunks").unwrap().text(), chunks.as_bytes());
        let found = returned.member("delivered").map(|body| body.member("text").unwrap().string().unwrap());
        assert_eq!(found.as_deref(), delivered);
    }
}
