//! Import-only formats, each with a file in `restore/files`; and artifacts that no import writes.

use reenact_formats::FormatId;
use reenact_formats::Profile;
use reenact_formats::recognise_import;
use reenact_json::{Digest, Limits, Value, canonical};
use reenact_run::convert::{ConvertError, ImportSource, restore};

use crate::corpus::{assert_round_trip, import_source, repository_path};
use reenact_testkit::fixture::{RunBuilder, TestKey};

#[test]
fn each_is_known_by_its_content_and_comes_back() {
    for (name, origin) in [
        ("recording-session.json", FormatId::RecordingSession),
        ("session-timeline.json", FormatId::SessionTimeline),
        ("typed.jsonl", FormatId::TypedReplay),
    ] {
        let bytes = std::fs::read(repository_path("crates/run/tests/restore/files").join(name)).unwrap();
        assert_eq!(recognise_import(&bytes, &Limits::default()), Some(origin), "{name}");
        assert_round_trip(origin, &bytes, &[]);
    }
}

fn event_types(artifact: &[u8]) -> Vec<String> {
    let artifact = Value::parse(artifact, &Limits::default()).unwrap();
    let events = artifact.member("events").unwrap();
    events
        .elements()
        .map(|event| event.member("event_type").unwrap().string().unwrap().into_owned())
        .collect()
}

#[test]
fn each_item_is_an_event_of_its_kind() {
    let recording =
        std::fs::read(repository_path("crates/run/tests/restore/files/recording-session.json")).unwrap();
    let artifact = import_source(&ImportSource::of(FormatId::RecordingSession, &recording)).unwrap();
    assert_eq!(
        event_types(&artifact),
        [
            "rer.run.started",
            "rer.model.called",
            "rer.model.returned",
            "rer.model.called",
            "rer.model.returned",
            "rer.run.ended"
        ]
    );
    let typed = std::fs::read(repository_path("crates/run/tests/restore/files/typed.jsonl")).unwrap();
    let artifact = import_source(&ImportSource::of(FormatId::TypedReplay, &typed)).unwrap();
    assert_eq!(
        event_types(&artifact),
        [
            "rer.run.started",
            "reenact.replay_jsonl.line",
            "reenact.replay_jsonl.line",
            "rer.tool.called",
            "rer.tool.returned",
            "rer.verification.ran",
            "reenact.replay_jsonl.line",
            "rer.run.ended"
        ]
    );
}

#[test]
fn an_artifact_that_was_not_imported_is_nothing_to_give_back() {
    let artifact =
        RunBuilder::started().event("rer.run.ended", r#"{"status":"completed"}"#).seal(&TestKey::of(1));
    assert_eq!(restore(&artifact, &Limits::default()), Ok(None));
}

#[test]
fn what_no_import_writes() {
    let import = |document: &str, rest: &str| {
        RunBuilder::empty()
            .event("rer.run.started", &format!(r#"{{"import":{{"format":"rpk"{document}}}}}"#))
            .event("rer.error.raised", rest)
            .seal(&TestKey::of(1))
    };
    let odd = |event, what| Err(ConvertError::NotAnImport { event, what });
    let restored = |artifact: Vec<u8>| restore(&artifact, &Limits::default());
    assert_eq!(restored(import("", "{}")), odd(0, "the document"));
    assert_eq!(restored(import(r#","document":{}"#, "{}")), odd(1, "the payload"));
    assert_eq!(restored(import(r#","document":{}"#, r#"{"import":{}}"#)), odd(0, "the document"));
    let document = r#","document":{"payload":{"run":{"steps":[]}}}"#;
    let restored_text = restored(import(document, r#"{"import":{"$text":"1.0"}}"#)).unwrap().unwrap();
    assert_eq!(
        String::from_utf8(restored_text.main_file).unwrap(),
        "{\n  \"payload\": {\n    \"run\": {\n      \"steps\": [\n        1.0\n      ]\n    }\n  }\n}\n"
    );
    let mark = restored(import(document, r#"{"import":{"$text":"1.0]"}}"#));
    assert!(matches!(&mark, Err(ConvertError::Text { location, .. }) if location == "event 1"), "{mark:?}");
}

/// Kept bytes are restored only if they are those of the imported record.
#[test]
fn a_kept_source_that_is_another() {
    let text = r#"{"version":"1.0","payload":{"run":{"steps":[{"type":"x"}]}}}"#;
    let other = text.replace("\"x\"", "\"y\"");
    let kept = |bytes: &str, digest: &str| {
        let source = ImportSource {
            digest: Digest::of(digest.as_bytes()),
            original_bytes: Some(bytes.as_bytes()),
            ..ImportSource::of(FormatId::Rpk, text.as_bytes())
        };
        restore(&import_source(&source).unwrap(), &Limits::default())
    };
    let odd = |what| Err(ConvertError::NotAnImport { event: 0, what });
    assert_eq!(kept(text, text).unwrap().unwrap().original_bytes, Some(text.as_bytes().to_vec()));
    assert_eq!(kept(&other, text), odd("the digest of the kept source"));
    assert_eq!(kept(&other, &other), odd("the kept source"));
    let session = |kept: &str| {
        let main = r#"{"interactions":[{"i":0}]}"#;
        let source = ImportSource {
            digest: Digest::of(kept.as_bytes()),
            original_bytes: Some(kept.as_bytes()),
            ..ImportSource::of(FormatId::ModelIo, main.as_bytes())
        };
        restore(&import_source(&source).unwrap(), &Limits::default())
    };
    assert!(session(r#"{ "interactions": [ {"i":0} ] }"#).is_ok());
    assert_eq!(session(r#"{"interactions":[{"i":1}]}"#), odd("the kept source"));
}

/// No event may follow the end of an import.
#[test]
fn events_after_the_end() {
    let document = r#"{"import":{"format":"rpk","document":{"payload":{"run":{"steps":[]}}}}}"#;
    let begun = || RunBuilder::empty().event("rer.run.started", document);
    let artifact = begun().event("rer.run.ended", "{}").event("rer.error.raised", r#"{"import":1}"#);
    assert_eq!(
        restore(&artifact.seal(&TestKey::of(1)), &Limits::default()),
        Err(ConvertError::NotAnImport { event: 2, what: "an event after the end" })
    );
    let artifact = begun().event("rer.run.ended", "{}").seal(&TestKey::of(1));
    assert!(restore(&artifact, &Limits::default()).unwrap().is_some());
}

#[test]
fn a_number_that_the_format_cannot_hold_comes_back_as_it_stood() {
    let digits = "123456789012345678901234567890";
    for (format, text) in [
        (
            FormatId::ModelIo,
            r#"{"interactions":[{"i":0,"latency_ms":1e999,"response_content":"x"}],"note":[-1E+400]}"#
                .to_owned(),
        ),
        (
            FormatId::RecordingSession,
            r#"{"format_version":"1.0","interactions":[{"result":{"latency_ms":1e999},"sequence":0}]}"#
                .to_owned(),
        ),
        (FormatId::Rpk, r#"{"note":1e999,"payload":{"run":{"steps":[{"id":"s","x":1e999}]}}}"#.to_owned()),
        (FormatId::ReplayJsonl, format!("{{\"event\":\"ToolCall\",\"n\":{digits},\"x\":1e999}}\n")),
    ] {
        let artifact = import_source(&ImportSource::of(format, text.as_bytes())).unwrap();
        let restored = restore(&artifact, &Limits::default()).unwrap().unwrap();
        let back = String::from_utf8(restored.main_file).unwrap();
        // The files of .rpk are indented.
        let bare = |text: &str| text.replace(char::is_whitespace, "");
        assert_eq!(bare(&back), bare(&text), "{}", format.name());
    }
}

#[test]
fn what_has_no_canonical_form_has_a_reason() {
    let fault = |origin, text: &str| {
        import_source(&ImportSource::of(origin, text.as_bytes())).unwrap_err().to_string()
    };
    assert_eq!(
        fault(FormatId::Rpk, r#"{"metadata":{"timestamp":"0001-01-01T00:00:00+14:00"}}"#),
        "the document: the time \"0001-01-01T00:00:00+14:00\" at $.metadata.timestamp lies outside the years 1 to 9999 in UTC"
    );
    assert_eq!(
        fault(FormatId::Rpk, "{"),
        "it cannot be read: line 1, column 2 ($): the text ends here, a member name in quotes was due"
    );
    let deep = format!("{{\"interactions\":[{}{}]}}", "[".repeat(509), "]".repeat(509));
    assert!(Value::parse(deep.as_bytes(), &Limits::default()).is_ok());
    let canonical =
        canonical::to_vec(Value::parse(deep.as_bytes(), &Limits::default()).unwrap(), Profile::ModelIo);
    assert_eq!(canonical.unwrap(), deep.as_bytes());
    assert!(
        fault(FormatId::ModelIo, &deep).starts_with("the artifact cannot be sealed: is not JSON"),
        "deep"
    );
}
