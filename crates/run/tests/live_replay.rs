//! A REPLAY.jsonl that is written while its run is recorded is the one that a conversion of the sealed run gives.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::writer::ReplayStore;
use reenact_json::{Digest, Limits, Value};
use reenact_run::convert::{ExportContext, LiveReplay, ModelIoOptions, ReplayCompanions, export};
use reenact_run::{open, open_files};
use reenact_testkit::fixture::{ModelRequest, RunBuilder, TestKey};
use reenact_verify::{Keys, Options};
use support::KeyRing as _;

/// File that is looked at while it is written.
#[derive(Clone, Default)]
struct SharedFile(Rc<RefCell<Vec<u8>>>);

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ReplayStore for SharedFile {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sealed run, whose events are given to a live export one by one.
struct Sealed {
    artifact: Vec<u8>,
    run_id: String,
}

impl Sealed {
    fn new(builder: RunBuilder) -> Self {
        let artifact = builder.seal(&TestKey::of(1));
        let document = Value::parse(&artifact, &Limits::default()).unwrap();
        let run_id = document.member("run_id").unwrap().string().unwrap().into_owned();
        Self { artifact, run_id }
    }

    /// Returns the events as the lines of a journal.
    fn lines(&self) -> Vec<Vec<u8>> {
        let document = Value::parse(&self.artifact, &Limits::default()).unwrap();
        let events = document.member("events").unwrap();
        events.elements().map(|event| event.text().to_vec()).collect()
    }

    /// Exports the run live. Returns the events that the file had after each event of the run, and the files.
    fn live(&self) -> (Vec<usize>, Vec<u8>, ReplayCompanions) {
        let file = SharedFile::default();
        let mut live = LiveReplay::new(file.clone(), self.run_id.clone(), "9.9.9");
        let mut counts = Vec::new();
        for line in self.lines() {
            assert!(!live.has_ended());
            live.take_line(&line).unwrap();
            counts.push(file.0.borrow().iter().filter(|byte| **byte == b'\n').count());
        }
        assert!(live.has_ended());
        let companions = live.end().unwrap();
        let replay = file.0.take();
        (counts, replay, companions)
    }

    /// Exports the run as a conversion does.
    fn converted(&self) -> [Vec<u8>; 3] {
        let opened = open(self.artifact.clone(), &TestKey::of(1).keys(), &Options::default());
        let context = ExportContext {
            version: "9.9.9",
            now: "2026-01-01T00:00:00Z",
            source: ("rer", Digest::of(b"")),
            model_io: ModelIoOptions::default(),
        };
        let files = export(&opened.run.unwrap(), FormatId::ReplayJsonl, &context).unwrap().files;
        files.into_iter().map(|file| file.bytes).collect::<Vec<_>>().try_into().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn call(builder: RunBuilder, id: &str) -> RunBuilder {
    let payload = format!(
        r#"{{"step_id":"{id}-s","tool_call_id":"{id}","tool":"t","input":{{"b":1,"a":2}},"source":"observed"}}"#
    );
    builder.event("rer.tool.called", &payload)
}

fn result(builder: RunBuilder, id: &str) -> RunBuilder {
    let payload =
        format!(r#"{{"step_id":"{id}-s","tool_call_id":"{id}","output":{{"x":1.0}},"latency_ms":3}}"#);
    builder.event("rer.tool.returned", &payload)
}

fn done(builder: RunBuilder, step: &str, utility: &str) -> RunBuilder {
    let payload = format!(r#"{{"step_id":"{step}","status":"ok","utility":{utility}}}"#);
    builder.event("rer.step.completed", &payload)
}

fn plan(builder: RunBuilder) -> RunBuilder {
    builder.event("rer.plan.started", r#"{"steps":["look","book"]}"#)
}

#[test]
fn the_files_are_those_of_a_conversion() {
    let mut builder = RunBuilder::started().called("m1", &ModelRequest::CHAT).returned("m1", "{}");
    builder = call(plan(builder), "a");
    builder = call(builder, "open");
    builder = done(result(builder, "a"), "look", "0.5");
    builder = builder
        .event("rer.verification.ran", r#"{"commands":["check"],"exit_codes":[1],"delta":-1}"#)
        .withheld("rer.tool.called", r#"{"step_id":"w","tool":"secret"}"#)
        .event("rer.tool.returned", r#"{"step_id":"w","output":1}"#)
        .event("rer.tool.called", r#"{"step_id":"r","tool_call_id":"r","tool":"t","input":1}"#)
        .withheld("rer.tool.returned", r#"{"step_id":"r","output":1}"#)
        .event("rer.output.final", r#"{"output":"done"}"#);
    let ended =
        r#"{"status":"failed","exit_code":2,"files":{"added":[["a","00"]],"changed":[],"removed":[]}}"#;
    let sealed = Sealed::new(builder.event("rer.run.ended", ended));
    let (_, replay, companions) = sealed.live();
    let [converted, receipt, summary] = sealed.converted();
    assert_eq!(text(&replay), text(&converted));
    assert_eq!(text(&companions.receipt), text(&receipt));
    assert_eq!(companions.summary, text(&summary));
    let files = vec![("REPLAY.jsonl".to_owned(), replay), ("RECEIPT.json".to_owned(), companions.receipt)];
    let report = open_files(files, &Keys::default(), &Options::default()).report;
    assert!(report.pass(), "{:?}", report.reasons);
    assert_eq!(report.notes, Vec::<String>::new());
    assert!(report.summary.contains("3 tool calls"), "{}", report.summary);
}

#[test]
fn without_reports_every_event_is_a_line_at_once() {
    let sealed = Sealed::new(result(call(result(call(RunBuilder::started(), "a"), "a"), "b"), "b").ended(0));
    let (counts, replay, _) = sealed.live();
    // The header and the start, two calls with their results; the end waits for the seal.
    assert_eq!(counts, [2, 3, 4, 5, 6, 6]);
    assert_eq!(text(&replay).lines().count(), 7);
}

#[test]
fn results_of_an_agent_with_a_plan_wait_for_its_step() {
    let builder = call(result(call(plan(RunBuilder::started()), "a"), "a"), "b");
    let builder = done(result(builder, "b"), "look", "0.25");
    let sealed = Sealed::new(result(call(builder, "c"), "c").ended(0));
    let (counts, replay, _) = sealed.live();
    // Behind the first result all lines wait, so that their order is that of the run.
    assert_eq!(counts, [2, 3, 4, 4, 4, 4, 8, 9, 9, 9]);
    assert_eq!(text(&replay), text(&sealed.converted()[0]));
    let utilities: Vec<&str> = text(&replay)
        .lines()
        .filter(|line| line.contains("ToolResult"))
        .map(|line| match line {
            line if line.contains("\"step_utility\":0.25") => "0.25",
            line if line.contains("\"unknown\":[\"step_utility\"]") => "unknown",
            line => panic!("{line}"),
        })
        .collect();
    assert_eq!(utilities, ["0.25", "0.25", "unknown"]);
}

#[test]
fn a_utility_that_comes_before_its_result_needs_no_waiting() {
    let sealed = Sealed::new(result(call(done(RunBuilder::started(), "a", "1"), "a"), "a").ended(0));
    let (counts, replay, _) = sealed.live();
    assert_eq!(counts, [2, 3, 4, 5, 5]);
    assert!(text(&replay).contains("\"step_utility\":1.0"));
    assert_eq!(text(&replay), text(&sealed.converted()[0]));
}

#[test]
fn no_more_than_sixteen_results_wait() {
    let mut builder = plan(RunBuilder::started());
    for at in 0..20 {
        let id = format!("c{at}");
        builder = result(call(builder, &id), &id);
    }
    let sealed = Sealed::new(done(builder, "look", "0.5").ended(0));
    let (counts, replay, _) = sealed.live();
    // The seventeenth result lets the first go, and the call behind it.
    let at = |index: usize| (counts[index - 1], counts[index]);
    assert_eq!((at(2 + 2 * 16 - 1), at(2 + 2 * 17 - 1)), ((4, 4), (4, 6)));
    let known = |replay: &[u8]| text(replay).matches("\"step_utility\":0.5").count();
    assert_eq!((known(&replay), known(&sealed.converted()[0])), (16, 20));
}

#[test]
fn a_utility_that_comes_too_late_is_in_the_conversion_alone() {
    let sealed = Sealed::new(done(result(call(RunBuilder::started(), "a"), "a"), "a", "0.5").ended(0));
    let (_, replay, companions) = sealed.live();
    assert!(text(&replay).contains("\"unknown\":[\"step_utility\"]"), "{}", text(&replay));
    assert!(companions.summary.contains("- Average utility: unknown\n"), "{}", companions.summary);
    assert!(text(&sealed.converted()[0]).contains("\"step_utility\":0.5"));
}

/// The name of a step may turn out to be the id of a call: a label is not given before that is known.
#[test]
fn a_name_that_may_be_a_call_labels_no_other_call() {
    let builder = result(call(done(RunBuilder::started(), "x", "0"), "a"), "a");
    let builder = done(builder, "b", "0.5");
    let sealed = Sealed::new(result(call(builder, "b"), "b").ended(0));
    let (_, replay, _) = sealed.live();
    assert_eq!(text(&replay), text(&sealed.converted()[0]));
    assert_eq!(text(&replay).matches("\"step_utility\":0.5").count(), 1);
}

#[test]
fn a_run_without_an_end_has_no_end_in_the_replay() {
    let file = SharedFile::default();
    let sealed = Sealed::new(call(RunBuilder::started(), "a"));
    let mut live = LiveReplay::new(file.clone(), sealed.run_id.clone(), "9.9.9");
    for line in sealed.lines() {
        live.take_line(&line).unwrap();
    }
    assert_eq!(live.end().unwrap_err().to_string(), "it cannot be read: the run has not ended");
    let written = text(&file.0.borrow());
    assert!(written.ends_with('\n') && !written.contains("SessionEnd"), "{written}");
}

/// Store that has room for some bytes.
struct FullStore(usize);

impl Write for FullStore {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ReplayStore for FullStore {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_and_stays_one() {
    let sealed = Sealed::new(result(call(RunBuilder::started(), "a"), "a").ended(0));
    let mut live = LiveReplay::new(FullStore(300), sealed.run_id.clone(), "9.9.9");
    let outcomes: Vec<bool> = sealed.lines().iter().map(|line| live.take_line(line).is_ok()).collect();
    assert_eq!(
        outcomes,
        [true, false, true, true],
        "a result without its call is lost, and the end is kept for later"
    );
    let error = live.end().unwrap_err().to_string();
    assert!(error.contains("an earlier line could not be written"), "{error}");
}

#[test]
fn lines_that_are_no_events_are_passed_over() {
    let sealed = Sealed::new(result(call(RunBuilder::started(), "a"), "a").ended(0));
    let file = SharedFile::default();
    let mut live = LiveReplay::new(file.clone(), sealed.run_id.clone(), "9.9.9");
    let hash = "0".repeat(64);
    let cut = format!(r#"{{"event_hash":"{hash}","event_type":"rer.tool.called","payl"#);
    for line in sealed.lines() {
        live.take_line(&line).unwrap();
        for odd in [b"".as_slice(), b"{", b"\xff", cut.as_bytes(), b"{\"event_hash\":\"\""] {
            live.take_line(odd).unwrap();
        }
    }
    live.end().unwrap();
    assert_eq!(text(&file.0.take()), text(&sealed.converted()[0]));
}
