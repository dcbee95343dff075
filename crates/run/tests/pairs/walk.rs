//! Conversion of each record to each other format: the result verifies.

use reenact_formats::FormatId;
use reenact_formats::model_io::ModelIoWriteFault;
use reenact_formats::recognise_import;
use reenact_json::{Digest, Limits};
use reenact_run::ExchangeRequestBody;
use reenact_run::convert::{ConversionInput, ConvertError};

use super::sources::{Record, all, converted, converted_input, repository_path};

#[test]
fn twenty_ways() {
    let mut ways = std::collections::BTreeSet::new();
    for (dialect, name, record) in all() {
        assert_eq!(record.open().run.unwrap().payload_format(), dialect, "{name}");
        for target in FormatId::targets().filter(|target| *target != dialect) {
            let way = format!("{} ({name}) → {}", dialect.name(), target.name());
            let converted = converted(&record, target).unwrap_or_else(|error| panic!("{way}: {error}"));
            assert_eq!(converted.losses.is_empty(), target == FormatId::Rer, "{way}");
            let back = Record::of(converted).open();
            assert!(back.report.pass(), "{way}: {:?}", back.report.reasons);
            let run = back.run.unwrap();
            let expected = if target == FormatId::Rer { dialect } else { target };
            assert_eq!(
                (run.payload_format(), run.is_imported()),
                (expected, target == FormatId::Rer),
                "{way}"
            );
            ways.insert((dialect.name(), target.name()));
        }
    }
    assert_eq!(ways.len(), 20);
}

/// A record that goes through RER and back has its canonical form; and an export of the artifact has the losses
/// of an export of the original.
#[test]
fn through_rer() {
    for (dialect, name, record) in all().into_iter().filter(|(dialect, ..)| *dialect != FormatId::Rer) {
        let rer = Record::of(converted(&record, FormatId::Rer).unwrap());
        let back = converted(&rer, dialect).unwrap();
        assert!(back.losses.is_empty(), "{name}");
        let again = Record::of(converted(&Record::of(back.clone()), FormatId::Rer).unwrap());
        let twice = converted(&again, dialect).unwrap();
        assert_eq!(twice.files, back.files, "{} {name}", dialect.name());
        for target in FormatId::targets().filter(|target| ![dialect, FormatId::Rer].contains(target)) {
            let direct = converted(&record, target).unwrap();
            let through = converted(&rer, target).unwrap();
            let paths = |converted: &reenact_run::convert::Converted| -> Vec<String> {
                let losses = converted.losses.iter();
                // Members of the original may be in any order.
                let mut paths: Vec<String> =
                    losses.flat_map(|loss| loss.paths().collect::<Vec<_>>()).collect();
                paths.sort();
                paths
            };
            assert_eq!(paths(&direct), paths(&through), "{} {name} → {}", dialect.name(), target.name());
        }
    }
}

/// An exported `.rpk` holds the exchanges as they were recorded, so that it replays as the run does.
#[test]
fn an_rpk_of_ours_answers_as_the_run_does() {
    let record = Record::File(super::sources::rich_rer());
    let (run, rpk) = (record.open().run.unwrap(), Record::of(converted(&record, FormatId::Rpk).unwrap()));
    let again = rpk.open().run.unwrap();
    let (before, after): (Vec<_>, Vec<_>) = (run.exchanges().collect(), again.exchanges().collect());
    assert_eq!((before.len(), after.len()), (2, 2));
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.kind, after.kind);
        assert_eq!(before.request(), after.request());
        assert_eq!(before.answer(), after.answer());
        assert_eq!(before.message(), after.message());
    }
    let model_io = Record::of(converted(&record, FormatId::ModelIo).unwrap()).open().run.unwrap();
    let (asked, said) =
        model_io.exchanges().map(|exchange| (exchange.request(), exchange.message())).next().unwrap();
    assert_eq!(asked.unwrap().body, ExchangeRequestBody::Hash(Digest::of("Grüße, 世界 😀".as_bytes())));
    let (said, message) = (said.unwrap(), before[0].message().unwrap());
    assert_eq!(
        (said.text, said.usage.unwrap().input_tokens),
        (message.text, message.usage.unwrap().input_tokens)
    );
}

#[test]
fn the_same_format_is_no_conversion() {
    for (dialect, _, record) in all() {
        let same = converted(&record, dialect);
        assert_eq!(same, Err(ConvertError::SameFormat { format: dialect.name() }));
    }
}

#[test]
fn what_only_conversion_knows() {
    for name in ["recording-session.json", "session-timeline.json", "typed.jsonl"] {
        let bytes = std::fs::read(repository_path("crates/run/tests/restore/files").join(name)).unwrap();
        let origin = recognise_import(&bytes, &Limits::default()).unwrap();
        let input = ConversionInput::Foreign(origin, &bytes);
        let rer = Record::of(converted_input(input, Digest::of(&bytes), FormatId::Rer).unwrap());
        assert!(rer.open().report.pass());
        for target in FormatId::targets().filter(|target| *target != FormatId::Rer) {
            let direct = converted_input(input, Digest::of(&bytes), target).unwrap();
            let report = Record::of(direct.clone()).open().report;
            assert!(report.pass(), "{name} → {}: {:?}", target.name(), report.reasons);
            assert!(!direct.losses.is_empty());
            let through = converted(&rer, target).unwrap();
            assert_eq!(through.losses.count(), direct.losses.count(), "{name} → {}", target.name());
        }
    }
}

/// A run of a hundred thousand events is converted to each format that can hold it.
#[test]
fn a_long_run() {
    let line = |at: usize| {
        let (id, t) = (format!("call-{at}"), "2026-02-21T18:30:01Z");
        let hash = Digest::of(format!("{{\"n\":{at}.0}}").as_bytes());
        let zero = Digest::of(b"x");
        format!(
            "{{\"event\":\"ToolCall\",\"id\":\"{id}\",\"params\":{{\"n\":{at}.0}},\"params_hash\":\"sha256:{hash}\",\"step_id\":\"\",\"t\":\"{t}\",\"tool\":\"t\"}}\n{{\"event\":\"ToolResult\",\"exit_code\":null,\"id\":\"{id}\",\"latency_ms\":1,\"output_hash\":\"sha256:{zero}\",\"step_utility\":0.5,\"t\":\"{t}\"}}\n"
        )
    };
    let mut text = String::from(
        "{\"created_at\":\"2026-02-21T18:30:00Z\",\"event\":\"ReplayHeader\",\"producer\":\"p\",\"replay_version\":1}\n{\"event\":\"SessionStart\",\"issue_number\":null,\"policy_version\":\"p\",\"session_id\":\"s\",\"t\":\"2026-02-21T18:30:00Z\"}\n",
    );
    text.extend((0..50_000).map(line));
    text.push_str("{\"confidence\":0.5,\"event\":\"SessionEnd\",\"status\":\"Success\",\"t\":\"2026-02-21T18:31:00Z\",\"total_latency_ms\":50000,\"total_tool_calls\":50000}\n");
    let record = Record::File(text.clone().into_bytes());
    assert!(record.open().report.pass());
    let rer = converted(&record, FormatId::Rer).unwrap();
    let Record::File(artifact) = Record::of(rer) else { unreachable!() };
    let restored = reenact_run::convert::restore(&artifact, &Limits::default()).unwrap().unwrap();
    let is_same = restored.main_file == text.as_bytes();
    assert!(is_same, "a line changed");
    let bundle = converted(&record, FormatId::ReplayBundle).unwrap();
    assert_eq!(bundle.losses.count(), 100_003);
    let rpk = converted(&record, FormatId::Rpk).unwrap();
    assert!(Record::of(rpk).open().report.pass());
}

/// Errors name the limits of Model IO.
#[test]
fn more_than_a_session_holds() {
    let steps = |count: usize, response: &str| {
        let mut draft = reenact_formats::rpk::write::RpkDocumentBuilder::new();
        for at in 0..count {
            let output = format!("{{\"output\":\"{response}\"}}");
            for (step_type, input, output) in [
                ("model.request", r#"{"model":"m","prompt":"p"}"#, "null"),
                ("model.response", "{}", output.as_str()),
            ] {
                let step = reenact_formats::rpk::write::NewRpkStep {
                    id: &format!("{at}"),
                    step_type,
                    input: input.as_bytes(),
                    output: output.as_bytes(),
                    metadata: b"{}",
                    timestamp: None,
                };
                draft.append(&step).unwrap();
            }
        }
        let header = reenact_formats::rpk::write::RpkRunHeader {
            version: "1.0",
            id: "r",
            timestamp: "2026-02-21T18:30:00Z",
            environment_fingerprint: b"{}",
            runtime_versions: b"{}",
            extra_members: &[],
            metadata: &[],
            created_at: "2026-02-21T18:30:00Z",
        };
        Record::File(draft.finish(&header, None).unwrap())
    };
    let many = converted(&steps(10_001, "x"), FormatId::ModelIo);
    assert_eq!(many, Err(ConvertError::ModelIo { interaction: 10_000, fault: ModelIoWriteFault::TooMany }));
    let large = converted(&steps(2, &"x".repeat(1_000_001)), FormatId::ModelIo);
    let fault = ModelIoWriteFault::ResponseTooLarge { bytes: 1_000_001 };
    assert_eq!(large, Err(ConvertError::ModelIo { interaction: 0, fault }));
}
