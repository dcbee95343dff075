//! Payloads that are withheld from the beginning: no file ever holds them, and the record holds all the same.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use reenact_json::{Digest, Limits, Value};
use reenact_record::{
    Exchange, Pen, RawAnswer, RawRequest, RawToolCall, RawToolResult, Recorder, Redaction, Report, RunStart,
    Source, StepId, Via, Withhold,
};
use reenact_testkit::fixture::TestDir;
use support::{DONE, answer, judged, key, run_id, runs};

const KEY: &str = "0000000000000000000000000000000000000000000000000000000000000000";

fn withhold(events: &[&str], tools: &[&str], models: &[&str]) -> Redaction {
    let owned = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
    let withhold = Withhold { events: owned(events), tools: owned(tools), models: owned(models) };
    Redaction { withhold, ..Redaction::default() }
}

fn begin(place: &TestDir, redaction: Redaction) -> Recorder<reenact_record::Recording> {
    let start = RunStart { redaction, ..RunStart::new(run_id()) };
    Recorder::begin(&runs(place), &start, &key()).unwrap()
}

fn ask(pen: &Pen, model: &str) -> StepId {
    let body = format!("{{\"model\":\"{model}\",\"words\":\"asked of {model}\"}}");
    let raw = RawRequest { provider: "p", method: "POST", path: "/", headers: &[], body: body.as_bytes() };
    pen.called(Exchange::Model, &pen.mask_request(&raw), Some(model), None, KEY).unwrap()
}

fn give(pen: &Pen, step: &StepId, model: &str) {
    let body = format!("answered by {model}");
    pen.returned(step, RawAnswer { ..answer(body.as_bytes()) }).unwrap();
}

fn use_tool(pen: &Pen, tool: &str) {
    let input = format!("{{\"words\":\"put into {tool}\"}}");
    let call = RawToolCall {
        tool_call_id: tool,
        tool,
        input: &input,
        via: Via::Conversation,
        source: Source::Inferred,
    };
    let step = pen.tool_called(&call).unwrap();
    let output = format!("got out of {tool}");
    pen.tool_returned(&step, &RawToolResult { output: &output, is_error: false, latency: None }).unwrap();
}

fn render(pen: &Pen) {
    pen.report(&Report::PromptRendered { template: None, variables: None, prompt: "rendered words" })
        .unwrap();
}

fn holds(place: &TestDir, words: &str) -> bool {
    place.files().iter().any(|(_, bytes)| bytes.windows(words.len()).any(|there| there == words.as_bytes()))
}

/// The type of each event in a journal, and whether its payload is withheld.
fn lines(place: &TestDir, recorder: &Recorder<reenact_record::Recording>) -> Vec<(String, bool)> {
    let journal = std::fs::read_to_string(runs(place).journal(recorder.run_id())).unwrap();
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
    let place = TestDir::new();
    let redaction = withhold(&["rer.prompt.rendered"], &["pay_*"], &["private-?"]);
    let recorder = begin(&place, redaction);
    let pen = recorder.pen();
    render(&pen);
    // Two at once, of which one is withheld, in either order.
    let (open, secret) = (ask(&pen, "public"), ask(&pen, "private-1"));
    give(&pen, &secret, "private-1");
    give(&pen, &open, "public");
    use_tool(&pen, "pay_invoice");
    use_tool(&pen, "look_up");
    pen.error("somewhere", "some_error", "error words").unwrap();
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
    assert_eq!(lines(&place, &recorder), expected.map(|(name, flag)| (name.to_owned(), flag)));
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    for words in ["rendered words", "asked of private-1", "answered by private-1", "pay_invoice"] {
        assert!(!holds(&place, words), "{words}");
    }
    for words in ["asked of public", "answered by public", "got out of look_up", "error words"] {
        assert!(holds(&place, words), "{words}");
    }
    let report = judged(&sealed.path, &key());
    assert_eq!(report.reasons, [""; 0]);
    let withheld = report.notes.iter().filter(|note| note.contains("payload withheld")).count();
    assert_eq!(withheld, 5, "{:?}", report.notes);
    assert_eq!((sealed.counts.model_calls, sealed.counts.tool_calls), (2, 2));
}

#[test]
fn a_withheld_payload_is_bound_by_its_hash() {
    let place = TestDir::new();
    let surroundings = support::known_surroundings();
    let start = RunStart { redaction: withhold(&["rer.error.raised"], &[], &[]), ..RunStart::new(run_id()) };
    let recorder = Recorder::begin_in(&runs(&place), &start, &key(), &surroundings).unwrap();
    recorder.pen().error("a", "b", "c").unwrap();
    let journal = std::fs::read_to_string(runs(&place).journal(recorder.run_id())).unwrap();
    let payload = format!(
        "{{\"boundary\":\"a\",\"error_type\":\"b\",\"message\":\"c\",\"salt\":\"{}\",\"source\":\"observed\"}}",
        support::SALT
    );
    let hash = Digest::of(payload.as_bytes()).to_string();
    let last = journal.lines().last().unwrap();
    assert!(last.contains(&format!("\"payload_hash\":\"{hash}\"")), "{last}");
}

/// How a run went as a whole, what was not seen, and what was permitted, is never withheld.
#[test]
fn what_cannot_be_withheld_is_not() {
    let place = TestDir::new();
    let recorder =
        begin(&place, withhold(&["rer.run.started", "rer.run.ended", "rer.capture.gap"], &[], &[]));
    recorder.pen().gap("something", "of a reason").unwrap();
    let expected = [("rer.run.started".to_owned(), false), ("rer.capture.gap".to_owned(), false)];
    assert_eq!(lines(&place, &recorder), expected);
    for name in ["rer.run.started", "rer.run.ended", "rer.capture.gap", "rer.policy.evaluated"] {
        assert!(!Withhold::allowed_events().contains(&name));
    }
}

#[test]
fn a_run_with_withheld_payloads_is_taken_up_again() {
    let place = TestDir::new();
    let recorder = begin(&place, withhold(&[], &["pay_*"], &["private-?"]));
    let (pen, id) = (recorder.pen(), recorder.run_id());
    let (one, two) = (ask(&pen, "public"), ask(&pen, "private-1"));
    use_tool(&pen, "pay_invoice");
    give(&pen, &two, "private-1");
    let three = ask(&pen, "private-2");
    let counts = recorder.counts();
    drop((recorder, pen));

    let resumed = Recorder::resume(&runs(&place), id, &key(), || None).unwrap();
    assert_eq!((resumed.cut(), resumed.counts()), (0, counts));
    let pen = resumed.pen();
    assert_eq!(pen.open_steps(), [one, three]);
    // What was withheld stays so, and what comes is judged by the same words.
    give(&pen, &three, "private-2");
    give(&pen, &one, "public");
    use_tool(&pen, "pay_again");
    let flags: Vec<bool> = lines(&place, &resumed).into_iter().map(|(_, withheld)| withheld).collect();
    assert_eq!(flags, [false, false, true, true, true, true, true, true, false, true, true]);
    let sealed = resumed.end(&DONE).unwrap().seal(&key()).unwrap();
    assert!(
        !holds(&place, "private-2") && !holds(&place, "pay_again") && holds(&place, "answered by public")
    );
    assert_eq!(judged(&sealed.path, &key()).reasons, [""; 0]);
}

/// A line without its payload is judged like any other.
#[test]
fn a_withheld_line_that_was_changed_is_seen() {
    let place = TestDir::new();
    let recorder = begin(&place, withhold(&["rer.error.raised"], &[], &[]));
    let id = recorder.run_id();
    recorder.pen().error("a", "b", "c").unwrap();
    recorder.pen().error("d", "e", "f").unwrap();
    drop(recorder);
    let path = runs(&place).journal(id);
    let journal = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = journal.lines().collect();
    let (before, hash) = lines[2].split_once("\"payload_hash\":\"").unwrap();
    let other = if hash.starts_with('0') { "1" } else { "0" };
    let changed = format!("{before}\"payload_hash\":\"{other}{}", &hash[1..]);
    std::fs::write(&path, [lines[0], lines[1], &changed, lines[3], ""].join("\n")).unwrap();
    let error = Recorder::resume(&runs(&place), id, &key(), || None).err().unwrap();
    assert!(matches!(error, reenact_record::ResumeError::Changed { line: 3, .. }), "{error:?}");
}
