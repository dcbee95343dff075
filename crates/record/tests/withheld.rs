//! Payloads that are withheld from the beginning: no file ever holds them, and the record passes all the same.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use reenact_json::{Digest, Limits, Value};
use reenact_record::{
    AgentReport, CallKind, EventSource, EventWriter, ExchangeCall, RawAnswer, RawRequest, RawToolCall,
    RawToolResult, Recorder, Redaction, RunStart, StepId, ToolChannel, Withhold,
};
use reenact_testkit::fixture::TestDir;
use support::{DONE, answer, key, run_id, runs, verify_artifact};

fn withhold(events: &[&str], tools: &[&str], models: &[&str]) -> Redaction {
    let owned = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
    let withhold = Withhold { events: owned(events), tools: owned(tools), models: owned(models) };
    Redaction { withhold, ..Redaction::default() }
}

fn begin(dir: &TestDir, redaction: Redaction) -> Recorder<reenact_record::Recording> {
    let start = RunStart { redaction, ..RunStart::new(run_id()) };
    Recorder::builder(&runs(dir), &key()).begin(&start).unwrap()
}

fn ask(writer: &EventWriter, model: &str) -> StepId {
    let body = format!("{{\"model\":\"{model}\",\"words\":\"asked of {model}\"}}");
    let raw = RawRequest { provider: "p", method: "POST", path: "/", headers: &[], body: body.as_bytes() };
    writer
        .record_call(
            &ExchangeCall {
                model: Some(model),
                ..ExchangeCall::new(CallKind::Model, &writer.mask_request(&raw))
            },
            None,
        )
        .unwrap()
}

fn give(writer: &EventWriter, step: &StepId, model: &str) {
    let body = format!("answered by {model}");
    writer.record_return(step, RawAnswer { ..answer(body.as_bytes()) }).unwrap();
}

fn use_tool(writer: &EventWriter, tool: &str) {
    let input = format!("{{\"words\":\"put into {tool}\"}}");
    let call = RawToolCall {
        tool_call_id: tool,
        tool,
        input: &input,
        via: ToolChannel::Conversation,
        source: EventSource::Inferred,
    };
    let step = writer.record_tool_call(&call, None).unwrap();
    let output = format!("got out of {tool}");
    writer
        .record_tool_result(&step, &RawToolResult { output: &output, is_error: false, latency: None })
        .unwrap();
}

fn render(writer: &EventWriter) {
    writer
        .record_report(&AgentReport::PromptRendered {
            template: None,
            variables: None,
            prompt: "rendered words",
        })
        .unwrap();
}

fn holds(dir: &TestDir, words: &str) -> bool {
    dir.files().iter().any(|(_, bytes)| bytes.windows(words.len()).any(|there| there == words.as_bytes()))
}

/// Returns the type of each event in a journal, and true if its payload is withheld.
fn lines(dir: &TestDir, recorder: &Recorder<reenact_record::Recording>) -> Vec<(String, bool)> {
    let journal = std::fs::read_to_string(runs(dir).journal_path(recorder.run_id())).unwrap();
    let event = |line: &str| {
        let event = Value::parse(line.as_bytes(), &Limits::default()).unwrap();
        let flag = event.member("payload_redacted").unwrap().boolean().unwrap();
        assert_eq!(event.member("payload").is_none(), flag);
        (event.member("event_type").unwrap().string().unwrap().into_owned(), flag)
    };
    journal.lines().skip(1).map(event).collect()
}

#[test]
fn what_is_withheld_is_in_no_file_and_the_rest_is() {
    let dir = TestDir::new();
    let redaction = withhold(&["rer.prompt.rendered"], &["pay_*"], &["private-?"]);
    let recorder = begin(&dir, redaction);
    let writer = recorder.event_writer();
    render(&writer);
    // Two calls at once, one of them withheld, returning in either order.
    let (open, secret) = (ask(&writer, "public"), ask(&writer, "private-1"));
    give(&writer, &secret, "private-1");
    give(&writer, &open, "public");
    use_tool(&writer, "pay_invoice");
    use_tool(&writer, "look_up");
    writer.record_error("somewhere", "some_error", "error words").unwrap();
    let expected = [
        ("rer.run.started", false),
        ("rer.prompt.rendered", true),
        ("rer.model.called", false),
        ("rer.model.called", true),
        ("rer.model.returned", true),
        ("rer.model.returned", false),
        ("rer.tool.called", true),
        ("rer.tool.returned", true),
        ("rer.tool.called", false),
        ("rer.tool.returned", false),
        ("rer.error.raised", false),
    ];
    assert_eq!(lines(&dir, &recorder), expected.map(|(name, flag)| (name.to_owned(), flag)));
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    for words in ["rendered words", "asked of private-1", "answered by private-1", "pay_invoice"] {
        assert!(!holds(&dir, words), "{words}");
    }
    for words in ["asked of public", "answered by public", "got out of look_up", "error words"] {
        assert!(holds(&dir, words), "{words}");
    }
    let report = verify_artifact(&sealed.path, &key());
    assert_eq!(report.reasons, [""; 0]);
    let withheld = report.notes.iter().filter(|note| note.contains("payload withheld")).count();
    assert_eq!(withheld, 5, "{:?}", report.notes);
    assert_eq!((sealed.counts.model_calls, sealed.counts.tool_calls), (2, 2));
}

#[test]
fn a_withheld_payload_is_bound_by_its_hash() {
    let dir = TestDir::new();
    let env = support::fixed_env();
    let start = RunStart { redaction: withhold(&["rer.error.raised"], &[], &[]), ..RunStart::new(run_id()) };
    let recorder = Recorder::builder(&runs(&dir), &key()).env(env.clone()).begin(&start).unwrap();
    recorder.event_writer().record_error("a", "b", "c").unwrap();
    let journal = std::fs::read_to_string(runs(&dir).journal_path(recorder.run_id())).unwrap();
    let payload = format!(
        "{{\"boundary\":\"a\",\"error_type\":\"b\",\"message\":\"c\",\"salt\":\"{}\",\"source\":\"observed\"}}",
        support::SALT
    );
    let hash = Digest::of(payload.as_bytes()).to_string();
    let last = journal.lines().last().unwrap();
    assert!(last.contains(&format!("\"payload_hash\":\"{hash}\"")), "{last}");
}

/// Events about the run as a whole, about gaps and about permissions are never withheld.
#[test]
fn what_cannot_be_withheld_is_not() {
    let dir = TestDir::new();
    let recorder = begin(&dir, withhold(&["rer.run.started", "rer.run.ended", "rer.capture.gap"], &[], &[]));
    recorder.event_writer().record_gap("something", "of a reason").unwrap();
    let expected = [("rer.run.started".to_owned(), false), ("rer.capture.gap".to_owned(), false)];
    assert_eq!(lines(&dir, &recorder), expected);
    for name in ["rer.run.started", "rer.run.ended", "rer.capture.gap", "rer.policy.evaluated"] {
        assert!(!Withhold::allowed_events().contains(&name));
    }
}

#[test]
fn a_run_with_withheld_payloads_is_taken_up_again() {
    let dir = TestDir::new();
    let recorder = begin(&dir, withhold(&[], &["pay_*"], &["private-?"]));
    let (writer, id) = (recorder.event_writer(), recorder.run_id());
    let (one, two) = (ask(&writer, "public"), ask(&writer, "private-1"));
    use_tool(&writer, "pay_invoice");
    give(&writer, &two, "private-1");
    let three = ask(&writer, "private-2");
    let counts = recorder.counts();
    drop((recorder, writer));

    let resumed = Recorder::builder(&runs(&dir), &key()).resume(id, || None).unwrap();
    assert_eq!((resumed.truncated_bytes(), resumed.counts()), (0, counts));
    let writer = resumed.event_writer();
    assert_eq!(writer.open_steps(), [one, three]);
    // Withheld steps stay withheld, and new events follow the same settings.
    give(&writer, &three, "private-2");
    give(&writer, &one, "public");
    use_tool(&writer, "pay_again");
    let flags: Vec<bool> = lines(&dir, &resumed).into_iter().map(|(_, withheld)| withheld).collect();
    assert_eq!(flags, [false, false, true, true, true, true, true, true, false, true, true]);
    let sealed = resumed.end(&DONE).unwrap().seal(&key()).unwrap();
    assert!(!holds(&dir, "private-2") && !holds(&dir, "pay_again") && holds(&dir, "answered by public"));
    assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
}

/// A line without its payload is checked like any other.
#[test]
fn a_withheld_line_that_was_changed_is_seen() {
    let dir = TestDir::new();
    let recorder = begin(&dir, withhold(&["rer.error.raised"], &[], &[]));
    let id = recorder.run_id();
    recorder.event_writer().record_error("a", "b", "c").unwrap();
    recorder.event_writer().record_error("d", "e", "f").unwrap();
    drop(recorder);
    let path = runs(&dir).journal_path(id);
    let journal = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = journal.lines().collect();
    let (before, hash) = lines[2].split_once("\"payload_hash\":\"").unwrap();
    let other = if hash.starts_with('0') { "1" } else { "0" };
    let changed = format!("{before}\"payload_hash\":\"{other}{}", &hash[1..]);
    std::fs::write(&path, [lines[0], lines[1], &changed, lines[3], ""].join("\n")).unwrap();
    let error = Recorder::builder(&runs(&dir), &key()).resume(id, || None).err().unwrap();
    assert!(matches!(error, reenact_record::ResumeError::Changed { line: 3, .. }), "{error:?}");
}
