//! Reading of every format as a run: exchanges, tool calls and summaries of the published examples.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use reenact_formats::FormatId;
use reenact_json::Digest;
use reenact_run::{
    AnswerDetail, EventType, ExchangeRequestBody, NamedFiles, OpenedRecord, Run, UnreadablePayload, open,
    open_files,
};
use reenact_verify::replay_jsonl::RECEIPT;
use reenact_verify::{Keys, Options};
use reenact_wire::Endpoint;

fn path(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/runs").join(name)
}

/// Opens a run, of which every check must hold.
fn opened(bytes: Vec<u8>) -> Run {
    let OpenedRecord { run, report } = open(bytes, &Keys::default(), &Options::default());
    assert!(report.pass(), "{:?}", report.reasons);
    run.unwrap()
}

fn example(name: &str) -> Run {
    opened(std::fs::read(path(name)).unwrap())
}

/// Returns the files of a folder that has no folders in it.
fn folder(name: &str) -> NamedFiles {
    let entries = std::fs::read_dir(path(name)).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    entries.map(|path| (name(&path), std::fs::read(path).unwrap())).collect()
}

fn rpk(steps: &str) -> Run {
    let text = format!(
        r#"{{"version":"1.0","metadata":{{}},"payload":{{"run":{{"id":"r","steps":[{steps}]}}}},"checksum":""}}"#
    );
    open(text.into_bytes(), &Keys::default(), &Options::default()).run.unwrap()
}

fn kinds(run: &Run) -> Vec<Option<EventType>> {
    run.events().map(|event| event.kind()).collect()
}

#[test]
fn rpk_of_a_wrapped_sdk() {
    let run = example("invoice.rpk");
    assert_eq!(
        (run.payload_format(), run.id(), run.is_imported()),
        (FormatId::Rpk, "run-invoice-1042", false)
    );
    assert_eq!(run.started_at().as_deref(), Some("2026-11-14T08:30:00.000000Z"));
    assert!(run.environment().unwrap().member("os").unwrap().is_string("linux"));
    assert_eq!(
        kinds(&run),
        [
            Some(EventType::PromptRendered),
            Some(EventType::ModelCalled),
            Some(EventType::ModelReturned),
            Some(EventType::ToolCalled),
            Some(EventType::ToolReturned),
            Some(EventType::ErrorRaised),
            Some(EventType::OutputFinal)
        ]
    );
    let exchange = run.exchanges().next().unwrap();
    assert_eq!(exchange.step_id(), "step-000002");
    let request = exchange.request().unwrap();
    assert_eq!((&*request.provider, request.model.as_deref()), ("anthropic", Some("claude-sonnet-4-5")));
    let ExchangeRequestBody::Members(members) = &request.body else { panic!("{:?}", request.body) };
    assert!(members.starts_with(b"{") && members.ends_with(b"}"));
    let answer = exchange.answer().unwrap();
    assert_eq!(
        (answer.detail, answer.status, answer.latency),
        (AnswerDetail::Message, Some(200), Some(Duration::from_micros(812_500)))
    );
    let message = exchange.message().unwrap();
    assert_eq!(
        (message.stop_reason.as_deref(), message.usage.unwrap().input_tokens),
        (Some("tool_use"), 112)
    );
    let tool = run.tool_calls().next().unwrap();
    let call = tool.call().unwrap();
    assert_eq!((&*call.tool, call.step_id.as_deref()), ("lookup_invoice", Some("step-000004")));
    assert!(call.input.unwrap().value().unwrap().member("id").unwrap().is_string("INV-1042"));
    assert!(tool.result().unwrap().output.unwrap().value().unwrap().member("contact").is_some());
}

#[test]
fn rpk_of_every_capture() {
    let listener = r#"{"id":"a","type":"model.request","input":{"provider":"openai","path":"/v1/responses","request_id":"q1","model":"gpt-5",
        "stream":true,"headers":{"x":"y"},"payload":{"model":"gpt-5","input":"hi"}},"output":{"status":"captured"},"metadata":{}},
        {"id":"b","type":"model.response","input":{"request_id":"q1"},"output":{"status_code":200,"assembled_text":"Hello",
        "output":{"object":"response","model":"gpt-5","output":[{"type":"message","content":[{"type":"output_text","text":"Hello"}]}]}},"metadata":{}}"#;
    let run = rpk(listener);
    let exchange = run.exchanges().next().unwrap();
    let request = exchange.request().unwrap();
    assert_eq!(
        (request.endpoint, &*request.path, &*request.method),
        (Some(Endpoint::RESPONSES), "/v1/responses", "POST")
    );
    assert_eq!(request.headers, [("x".to_owned(), "y".to_owned())]);
    assert_eq!(request.body, ExchangeRequestBody::Json(br#"{"model":"gpt-5","input":"hi"}"#.into()));
    assert_eq!(
        (exchange.answer().unwrap().detail, exchange.message().unwrap().text.as_str()),
        (AnswerDetail::Json, "Hello")
    );

    let one_shot = r#"{"id":"a","type":"model.request","input":{"model":"m","input":{"provider":"openai","model":"m","stream":true,
        "url":"https://api.openai.com/v1/chat/completions","headers":{},"payload":{"messages":[]}}},"output":{},"metadata":{}},
        {"id":"b","type":"model.response","input":{},"output":{"output":{"provider":"openai","stream":true,"assembled_text":"Hello",
        "chunks":[{"chunk":{"choices":[{"delta":{"content":"Hel"}}]}},{"chunk":{"choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}}]}},"metadata":{}}"#;
    let run = rpk(one_shot);
    let exchange = run.exchanges().next().unwrap();
    assert_eq!(exchange.request().unwrap().endpoint, Some(Endpoint::CHAT_COMPLETIONS));
    let message = exchange.message().unwrap();
    assert_eq!(
        (message.text.as_str(), message.stop_reason.as_deref(), message.is_complete),
        ("Hello", Some("stop"), true)
    );

    let http = r#"{"id":"a","type":"tool.request","input":{"method":"POST","url":"https://api.anthropic.com/v1/messages","headers":{},"body":"{\"model\":\"c\"}"},"output":{},"metadata":{"boundary":"http"}},
        {"id":"b","type":"tool.response","input":{"method":"POST","url":"https://api.anthropic.com/v1/messages"},"output":{"status_code":429,"headers":{"content-type":"application/json"},"body":"<omitted by policy>"},"metadata":{}},
        {"id":"c","type":"tool.request","input":{"method":"GET","url":"https://rates.example.com/eur","headers":{},"body":"<omitted by policy>"},"output":{},"metadata":{}},
        {"id":"d","type":"tool.response","input":{"method":"GET","url":"https://rates.example.com/eur"},"output":{"status_code":200,"headers":{"Content-Encoding":"gzip"},"body":"1.08"},"metadata":{}}"#;
    let run = rpk(http);
    assert_eq!(
        kinds(&run),
        [
            Some(EventType::ModelCalled),
            Some(EventType::ModelReturned),
            Some(EventType::HttpCalled),
            Some(EventType::HttpReturned)
        ]
    );
    let exchanges: Vec<_> = run.exchanges().collect();
    let request = exchanges[0].request().unwrap();
    assert_eq!((request.endpoint, request.model.as_deref()), (Some(Endpoint::MESSAGES), Some("c")));
    assert_eq!(request.body, ExchangeRequestBody::Bytes(br#"{"model":"c"}"#.into()));
    assert_eq!(exchanges[0].answer().unwrap_err(), UnreadablePayload::Omitted { member: "the body" });
    assert_eq!(exchanges[1].request().unwrap_err(), UnreadablePayload::Omitted { member: "the body" });
    assert_eq!(exchanges[1].answer().unwrap().content_encoding.as_deref(), Some("gzip"));
    assert_eq!(
        (exchanges[1].answer().unwrap().detail, &*exchanges[1].answer().unwrap().body),
        (AnswerDetail::Http, &b"1.08"[..])
    );
}

#[test]
fn rpk_that_we_wrote() {
    let ours = r#"{"id":"step-000001","type":"model.request","input":{"step_id":"s7","provider":"openai","model":"gpt-5","endpoint":"chat.completions",
        "http":{"method":"POST","path":"/v1/chat/completions","headers":[],"body":{"text":"{}"}},"source":"observed"},"output":{},"metadata":{}},
        {"id":"step-000002","type":"model.response","input":{},"output":{"step_id":"s7","status":200,"complete":true,"ended_by":"eof",
        "http":{"headers":[["content-type","application/json"]],"body":{"base64":"e30="}}},"metadata":{}}"#;
    let run = rpk(ours);
    let exchange = run.exchanges().next().unwrap();
    assert_eq!(exchange.request().unwrap().body, ExchangeRequestBody::Bytes(b"{}".into()));
    let answer = exchange.answer().unwrap();
    assert_eq!((answer.detail, &*answer.body), (AnswerDetail::Http, &b"{}"[..]));
}

#[test]
fn model_io_alone_and_in_a_pack() {
    let OpenedRecord { run, report } =
        open_files(folder("invoice.pack"), &Keys::default(), &Options::default());
    assert!(report.pass(), "{:?}", report.reasons);
    for run in [example("invoice.model_io.json"), run.unwrap()] {
        assert_eq!((run.payload_format(), run.len(), run.id()), (FormatId::ModelIo, 4, ""));
        assert_eq!(run.ended_at().as_deref(), Some("2026-11-14T09:30:02.310Z"));
        assert_eq!(run.summary().duration, Some(Duration::from_millis(2310)));
        let exchange = run.exchanges().nth(1).unwrap();
        assert_eq!(exchange.step_id(), "1");
        let request = exchange.request().unwrap();
        assert_eq!((&*request.provider, request.model.as_deref()), ("anthropic", Some("claude-sonnet-4-5")));
        let hash =
            Digest::from_hex("1d87635654695a88ec5f6d0026a46b70a54408806ad2c01c0a0330dbc1bc29da").unwrap();
        assert_eq!(request.body, ExchangeRequestBody::Hash(hash));
        let message = exchange.message().unwrap();
        assert_eq!(message.text, "No. Invoice 2041 over 1,240.00 EUR is open.\n");
        assert_eq!(message.usage.unwrap().output_tokens, 19);
        assert_eq!(exchange.answer().unwrap().latency, Some(Duration::from_millis(612)));
    }
}

#[test]
fn replay_jsonl_with_its_receipt() {
    let OpenedRecord { run, report } =
        open_files(folder("invoice.replay"), &Keys::default(), &Options::default());
    assert_eq!((report.pass(), report.check(RECEIPT)), (true, Some(true)));
    let run = run.unwrap();
    assert_eq!(
        (run.payload_format(), run.id()),
        (FormatId::ReplayJsonl, "019a8172-3a80-7d21-9f3e-2b6c5d4e3f2a")
    );
    assert_eq!(
        (run.producer().name.as_deref(), run.producer().version.as_deref()),
        (Some("reenact"), Some("0.1.0"))
    );
    assert_eq!(
        kinds(&run),
        [
            None,
            Some(EventType::RunStarted),
            Some(EventType::ToolCalled),
            Some(EventType::ToolReturned),
            Some(EventType::StepCompleted),
            Some(EventType::VerificationRan),
            Some(EventType::RunEnded)
        ]
    );
    let tool = run.tool_calls().next().unwrap();
    assert_eq!(tool.called.step_id(), "toolu_01");
    assert_eq!(tool.call().unwrap().input.unwrap().text(), br#"{"number":2041,"tolerance":0.5}"#);
    let result = tool.result().unwrap();
    assert!(result.output.is_none());
    assert_eq!(
        result.output_hash.as_deref(),
        Some("sha256:5a0912a1434071155fd072872d58c3efd94015867cf937e5f64c9a84dc1627bd")
    );
    assert_eq!((result.utility, result.exit_code, result.is_error), (Some(0.8), None, false));
    let summary = run.summary();
    let figures = summary.figures.unwrap();
    assert_eq!((figures.tool_calls, figures.total_latency_ms()), (1, Some(57)));
    assert_eq!(figures.average_step_utility(), Some(f64::from(0.8_f32)));
    assert_eq!(summary.status.as_deref(), Some("Success"));
    assert_eq!(run.exchanges().count(), 0);
}

#[test]
fn replay_bundle_with_trace_and_cassettes() {
    let run = example("invoice.tar.gz");
    assert_eq!(run.payload_format(), FormatId::ReplayBundle);
    assert_eq!(
        (run.producer().name.as_deref(), run.producer().version.as_deref()),
        (Some("reenact"), Some("0.1.0"))
    );
    let names: Vec<&str> = run.files().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 6);
    assert!(run.file("files/eval.yaml").unwrap().starts_with(b"suite: invoices"));
    let exchanges: Vec<_> = run.exchanges().collect();
    assert_eq!(
        exchanges[0].request().unwrap().body,
        ExchangeRequestBody::Prompt("Is invoice 2041 paid?".into())
    );
    assert_eq!(exchanges[0].message().unwrap().text, "No. Invoice 2041 over 1,240.00 EUR is open.");
    assert_eq!((exchanges[0].step_id().as_ref(), exchanges[0].called.index()), ("r1", 1));
    let judged = exchanges[1].request().unwrap();
    assert_eq!((&*judged.path, judged.endpoint), ("/v1/chat/completions", Some(Endpoint::CHAT_COMPLETIONS)));
    assert!(matches!(judged.body, ExchangeRequestBody::Json(_)));
    assert_eq!(exchanges[1].called.name(), "cassettes/example/judge/49779c8bc98e59de.json");
    assert_eq!(exchanges[1].message().unwrap().text, "{\"score\": 1.0}");
}

#[test]
fn traces_of_both_versions() {
    let trace = "{\"type\":\"episode_start\",\"episode_id\":\"t1\",\"timestamp\":1000,\"input\":{\"prompt\":\"hi\"}}\n\
        {\"type\":\"step\",\"episode_id\":\"t1\",\"step_id\":\"x\",\"kind\":\"llm\"}\n\
        {\"type\":\"tool_call\",\"episode_id\":\"t1\",\"step_id\":\"y\",\"tool_name\":\"now\",\"args\":{},\"error\":\"no clock\"}\n\
        not JSON\n\
        {\"type\":\"episode_end\",\"episode_id\":\"t1\",\"final_output\":\"passed\"}\n\
        {\"schema_version\":1,\"type\":\"assay.trace\",\"request_id\":\"r2\",\"prompt\":\"p\",\"response\":\"a\"}\n";
    let files = vec![
        ("files/trace.jsonl".to_owned(), trace.as_bytes().to_vec()),
        ("manifest.json".to_owned(), br#"{"trace_path":"files/trace.jsonl"}"#.to_vec()),
    ];
    let run = open_files(files, &Keys::default(), &Options::default()).run.unwrap();
    assert_eq!(
        kinds(&run),
        [
            Some(EventType::RunStarted),
            Some(EventType::ModelCalled),
            None,
            Some(EventType::ToolCalled),
            None,
            Some(EventType::ModelReturned),
            Some(EventType::ModelCalled)
        ]
    );
    let said: Vec<_> = run
        .exchanges()
        .map(|exchange| (exchange.request().unwrap().body, exchange.message().unwrap().text))
        .collect();
    assert_eq!(
        said,
        [
            (ExchangeRequestBody::Prompt("hi".into()), "passed".into()),
            (ExchangeRequestBody::Prompt("p".into()), "a".into())
        ]
    );
    let tool = run.tool_calls().next().unwrap();
    assert_eq!(tool.call().unwrap().tool, "now");
    let result = tool.result().unwrap();
    assert_eq!((result.output.unwrap().text(), result.is_error), (&b"\"no clock\""[..], true));
}

#[test]
fn what_is_no_run_of_any_format() {
    let error = |text: &str| {
        open(text.as_bytes().to_vec(), &Keys::default(), &Options::default()).run.unwrap_err().to_string()
    };
    assert_eq!(
        error(r#"{"model_io_schema_version":"1.0.0","interactions":7}"#),
        "the record has no list of events"
    );
    assert_eq!(error(r#"{"version":"1.0","metadata":{},"payload":{}}"#), "the record has no list of events");
    assert_eq!(
        error(r#"{"model_io_schema_version":"1.0.0","interactions":["#),
        "the record cannot be read: line 1, column 52 ($.interactions[0]): the text ends here, a value was due"
    );
    let none = open_files(vec![("a".into(), Vec::new())], &Keys::default(), &Options::default());
    assert_eq!(none.report.format, "unknown");
    assert!(none.run.is_err());
    let broken =
        open_files(vec![("manifest.json".into(), b"{".to_vec())], &Keys::default(), &Options::default());
    assert!(!broken.report.pass() && broken.run.is_err());
}
