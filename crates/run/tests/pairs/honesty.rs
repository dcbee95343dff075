//! Honesty of conversions: no outcome is made up, no id is used twice, no loss or doubt about the source is
//! hidden, and no small file becomes a huge one.

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::writer::SessionStatus;
use reenact_json::{Digest, Limits, Value};
use reenact_run::assay_report::AssayReport;
use reenact_run::convert::{ConversionInput, ConvertError, SourceInfo, convert, restore};

use super::sources::{Record, converted, converted_input, repository_path};
use super::support::{KeyRing as _, OpenRun as _, with_import_context};
use reenact_testkit::fixture::{RunBuilder, TestKey};

fn reported_losses(record: &Record, target: FormatId) -> Vec<String> {
    let converted = converted(record, target).unwrap();
    converted
        .losses
        .iter()
        .map(|loss| format!("{} ({}): {}", loss.pattern(), loss.count(), loss.reason))
        .collect()
}

fn converted_text(record: &Record, target: FormatId, at: usize) -> String {
    String::from_utf8(converted(record, target).unwrap().files.swap_remove(at).bytes).unwrap()
}

/// An id that would be made up is in use already.
#[test]
fn ids_that_are_taken() {
    let (mut builder, mut at) = (RunBuilder::started(), 1);
    for id in ["a", "a-5", "a", "a-6"] {
        builder = builder
            .event(
                "rer.tool.called",
                &format!(r#"{{"step_id":"s{at}","tool_call_id":"{id}","tool":"t","input":1}}"#),
            )
            .event(
                "rer.tool.returned",
                &format!(r#"{{"step_id":"s{at}","tool_call_id":"{id}","output":1}}"#),
            );
        at += 2;
    }
    let replay =
        converted_text(&Record::File(builder.ended(0).seal(&TestKey::of(1))), FormatId::ReplayJsonl, 0);
    let calls = replay.lines().map(|line| Value::parse(line.as_bytes(), &Limits::default()).unwrap());
    let calls = calls.filter(|line| line.member("event").unwrap().is_string("ToolCall"));
    let ids: Vec<String> =
        calls.map(|line| line.member("id").unwrap().string().unwrap().into_owned()).collect();
    assert_eq!(ids, ["a", "a-5", "a-6", "a-6-7"]);
}

/// A run whose record does not say how it ended is no success.
#[test]
fn outcomes_that_are_not_recorded() {
    let said = |payload: &str| RunBuilder::started().event("rer.run.ended", payload);
    for (tape, status, told) in [
        (
            RunBuilder::started(),
            SessionStatus::Failed,
            "the source does not tell how it ended; Failed is written",
        ),
        (
            RunBuilder::started().withheld("rer.run.ended", r#"{"status":"completed"}"#),
            SessionStatus::Failed,
            "the source does not tell how it ended; Failed is written",
        ),
        (
            said(r#"{"status":"odd"}"#),
            SessionStatus::Failed,
            "the format does not know the word for how it ended; Failed is written",
        ),
        (said(r#"{"status":"completed"}"#), SessionStatus::Success, ""),
        (said(r#"{"status":"crashed"}"#), SessionStatus::Failed, ""),
    ] {
        let record = Record::File(tape.seal(&TestKey::of(1)));
        let replay = converted_text(&record, FormatId::ReplayJsonl, 0);
        assert!(replay.contains(&format!("\"status\":\"{status:?}\"")), "{replay}");
        let reason = reported_losses(&record, FormatId::ReplayJsonl)
            .into_iter()
            .find(|loss| loss.starts_with("status "));
        assert_eq!(
            reason.unwrap_or_default(),
            if told.is_empty() { String::new() } else { format!("status (1): {told}") }
        );
    }
}

#[test]
fn gates_of_runs_that_crashed() {
    let said = |payload: &str| RunBuilder::started().event("rer.run.ended", payload).run();
    for (run, exit_code, reason_code) in [
        (said(r#"{"status":"completed","exit_code":0}"#), 0, ""),
        (said(r#"{"status":"failed","exit_code":3}"#), 3, ""),
        (said(r#"{"status":"completed"}"#), 0, ""),
        (said(r#"{"status":"crashed"}"#), 1, "E_RUN_FAILED"),
        (RunBuilder::started().run(), 1, "E_OUTCOME_UNKNOWN"),
    ] {
        let gate = AssayReport::of(&run, "0.1.0");
        assert_eq!((gate.exit_code, gate.reason_code), (exit_code, reason_code));
        assert_eq!(gate.message.is_some(), !reason_code.is_empty());
    }
}

/// A truncated replay is aborted, a complete one is not.
#[test]
fn replays_that_were_cut_off() {
    let bytes = std::fs::read(repository_path("examples/runs/invoice.replay/REPLAY.jsonl")).unwrap();
    let whole = String::from_utf8(bytes).unwrap();
    let cut: String = whole
        .lines()
        .filter(|line| !line.contains("SessionEnd"))
        .fold(String::new(), |text, line| text + line + "\n");
    let ended = |text: &str| {
        let record = Record::File(text.as_bytes().to_vec());
        let run = Record::of(converted(&record, FormatId::Rer).unwrap());
        let Record::File(artifact) = run else { unreachable!() };
        let artifact = Value::parse(&artifact, &Limits::default()).unwrap();
        let last = artifact.member("events").unwrap().elements().last().unwrap();
        let payload = last.member("payload").unwrap();
        let word = |name| payload.member(name).unwrap().string().unwrap().into_owned();
        (word("status"), word("reason"))
    };
    assert_eq!(ended(&whole), ("completed".into(), "imported".into()));
    assert_eq!(ended(&cut), ("aborted".into(), "the source does not tell how it ended".into()));
}

#[test]
fn the_summary_shows_the_confidence() {
    let bytes = std::fs::read(repository_path("crates/run/tests/restore/files/typed.jsonl")).unwrap();
    let input = ConversionInput::Foreign(FormatId::TypedReplay, &bytes);
    let files = converted_input(input, Digest::of(&bytes), FormatId::ReplayJsonl).unwrap().files;
    let replay = String::from_utf8(files[0].bytes.clone()).unwrap();
    let summary = String::from_utf8(files[2].bytes.clone()).unwrap();
    let end = Value::parse(replay.lines().last().unwrap().as_bytes(), &Limits::default()).unwrap();
    let confidence: f32 =
        std::str::from_utf8(end.member("confidence").unwrap().text()).unwrap().parse().unwrap();
    assert!(confidence > 0.0);
    assert!(summary.contains(&format!("## Confidence\n\n{confidence:.2}\n")), "{summary}");
}

/// An answer without its request, a result with more members than the format holds, and an empty plan are all
/// listed.
#[test]
fn nothing_vanishes() {
    let builder = RunBuilder::started()
        .returned("s9", "{}")
        .event("rer.tool.called", r#"{"step_id":"t1","tool":"a","input":1}"#)
        .event("rer.tool.returned", r#"{"step_id":"t1","output":1,"exit_code":7,"note":"x"}"#)
        .event("rer.plan.started", r#"{"goal":"x"}"#)
        .event("rer.verification.ran", r#"{"commands":[],"exit_codes":[],"delta":0,"log":"x"}"#)
        .ended(0);
    let record = Record::File(builder.seal(&TestKey::of(1)));
    let orphan = "$.events[1] (1): what it answers is not recorded, and the format wants it";
    for target in [FormatId::ModelIo, FormatId::ReplayBundle] {
        let told = reported_losses(&record, target);
        assert!(told.iter().any(|loss| loss == orphan), "{told:?}");
    }
    let told = reported_losses(&record, FormatId::ReplayJsonl);
    for (path, reason) in [
        ("$.events[3].payload.note", "the format has no place for it"),
        ("$.events[4].payload.goal", "the format has no place for it"),
        ("$.events[4].payload.plan_hash", "the source holds no plan to hash; the hash of null is written"),
        ("$.events[4].payload.step_count", "the source tells no number of steps; 0 is written"),
        ("$.events[5].payload.log", "the format has no place for it"),
    ] {
        assert!(told.contains(&format!("{path} (1): {reason}")), "{path}: {told:?}");
    }
    // The exit code of the run; that of the result has a place.
    assert!(told.contains(&"$.events[6].payload.exit_code (1): the format has no place for it".to_owned()));
    for target in [FormatId::Rpk, FormatId::ModelIo, FormatId::ReplayJsonl, FormatId::ReplayBundle] {
        let told = reported_losses(&record, target);
        for path in ["$.envelope (1): ", "$.runtime (1): "] {
            assert!(told.iter().any(|loss| loss.starts_with(path)), "{path} → {}: {told:?}", target.name());
        }
    }
}

/// Changed values beyond the first 1,000 of a payload are counted.
#[test]
fn what_is_respelled_is_counted() {
    let values = vec!["0.1234567890123456"; 1_500].join(",");
    let builder =
        RunBuilder::started().event("rer.output.final", &format!(r#"{{"output":[{values}]}}"#)).ended(0);
    let told = reported_losses(&Record::File(builder.seal(&TestKey::of(1))), FormatId::Rpk);
    assert!(told.contains(&"elsewhere (500): the format writes it in another way".to_owned()));
}

/// A small run that would become a huge `.rpk` is refused.
#[test]
fn what_lines_would_blow_up() {
    let deep = format!("{}{}1{}", "[".repeat(480), "1,".repeat(600_000), "]".repeat(480));
    let builder =
        RunBuilder::started().event("rer.output.final", &format!(r#"{{"output":{deep}}}"#)).ended(0);
    let fault = converted(&Record::File(builder.seal(&TestKey::of(1))), FormatId::Rpk).unwrap_err();
    assert!(matches!(fault, ConvertError::IndentedTooLarge { limit: 536_870_912, .. }), "{fault}");
}

fn import_record(bytes: &[u8], verified: Option<bool>) -> Record {
    let record = Record::File(bytes.to_vec());
    let run = record.open().run.unwrap();
    let key = TestKey::of(1);
    let found = SourceInfo { digest: Digest::of(bytes), original_bytes: None, verified, keys: &key.keys() };
    let sealed = with_import_context(&key, |context| {
        convert(ConversionInput::Run(&run), found, FormatId::Rer, context)
    });
    Record::of(sealed.unwrap())
}

/// The seal of an imported artifact does not vouch for the original.
#[test]
fn doubts_stay() {
    let good = std::fs::read(repository_path("examples/runs/invoice.rpk")).unwrap();
    let bad = String::from_utf8(good.clone()).unwrap().replacen(
        "\"checksum\": \"sha256:",
        "\"checksum\": \"sha256:0",
        1,
    );
    let doubts = |record: &Record, target| converted(record, target).unwrap().doubts;
    for (verified, said) in [(Some(true), Some(true)), (Some(false), Some(false)), (None, None)] {
        let Record::File(artifact) = import_record(&good, verified) else { unreachable!() };
        assert_eq!(restore(&artifact, &Limits::default()).unwrap().unwrap().verified, said);
    }
    let record = import_record(&good, Some(true));
    assert!(record.open().report.pass());
    for target in [FormatId::Rpk, FormatId::ModelIo] {
        assert_eq!(doubts(&record, target), Vec::<String>::new());
    }
    let record = import_record(&good, Some(false));
    for target in [FormatId::Rpk, FormatId::ModelIo] {
        assert_eq!(doubts(&record, target), ["it did not verify when it was imported"]);
    }
    // An import may claim that its source verified; the original is verified again.
    let record = import_record(bad.as_bytes(), Some(true));
    assert!(record.open().report.pass());
    let doubts = doubts(&record, FormatId::ModelIo);
    assert!(doubts.iter().any(|doubt| doubt.contains("checksum")), "{doubts:?}");
}

/// Views of import-only formats list what they leave out.
#[test]
fn views_tell_what_they_drop() {
    let told = |origin, text: &str, target| {
        let converted =
            converted_input(ConversionInput::Foreign(origin, text.as_bytes()), Digest::of(b""), target)
                .unwrap();
        let losses = converted.losses.iter().map(|loss| format!("{}: {}", loss.pattern(), loss.reason));
        losses.collect::<Vec<String>>()
    };
    let timeline = r#"{"version":"1.0","id":"replay_s","created_at":"2026-03-01T10:00:00Z","receipts":{},"timeline":[
        {"t":0,"type":"tool_call","tool":"Read","cost":1,"data":{"input":{},"why":"x"}},
        {"t":1,"type":"tool_result","tool":"Read","data":{"result":1,"took":2}},
        {"t":2,"type":"tool_call","tool":"Read","data":{"all":"of it"}},
        {"t":3,"type":"tool_result","tool":"Read","data":"text"}]}"#;
    for target in [FormatId::Rpk, FormatId::ReplayJsonl] {
        let told = told(FormatId::SessionTimeline, timeline, target);
        for loss in [
            "$.timeline[0].cost: the format has no place for it",
            "$.timeline[0].data.why: the format has no place for it",
            "$.timeline[1].data.took: the format has no place for it",
            "$.timeline[3].data: it is no JSON object",
        ] {
            assert!(told.iter().any(|told| told == loss), "{loss}: {told:?}");
        }
        assert!(
            !told.iter().any(|told| told.contains("$.runtime") || told.contains(".data.all")),
            "{told:?}"
        );
    }
    let recording = r#"{"format_version":"1.0","model_id":"m","stats":{},"interactions":[
        {"sequence":4,"prompt_hash":"00","result":{"content":"x","latency_ms":1.5,"tokens_input":null}},
        {"sequence":1,"result":{}}]}"#;
    let told = told(FormatId::RecordingSession, recording, FormatId::ModelIo);
    assert_eq!(
        told,
        [
            "$.stats: the format has no place for it",
            "$.interactions[0].sequence: the format counts from 0; the place in the list is written",
            "$.interactions[0].result.latency_ms: it is no whole number; it is left out",
            "$.interactions[1].result.content: it is no text; an empty one is written",
            "$.interactions[1].prompt_hash: it is no text; an empty one is written",
        ]
    );
}
