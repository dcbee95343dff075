//! Choice of the payloads that are withheld: by index, by type, and by content, even if a stream cuts it into
//! pieces.
#![allow(clippy::unwrap_used)]

mod support;

use reenact_json::{Digest, Limits, print};
use reenact_run::redact::{RedactedArtifact, RedactionChoice, RedactionReason, redact};
use reenact_testkit::fixture::{RunBuilder, TestKey};
use reenact_verify::{Options, verify};
use support::KeyRing as _;

/// Stream with "Lisbon" as its content in two pieces, and "Porto" as its thinking in two others.
const STREAM: &str = "event: a\ndata: {\"choices\":[{\"delta\":{\"content\":\"Lis\",\"thinking\":\"Por\"}}]}\n\n\
                      data: {\"choices\":[{\"delta\":{\"content\":\"bon\",\"thinking\":\"to\"}}]}\n\ndata: [DONE]\n\n";

fn artifact() -> Vec<u8> {
    let mut body = String::new();
    print::write_string(STREAM, &mut body);
    let file = |content: &[u8]| format!(r#"{{"artifact_hash":"{}","name":"f"}}"#, Digest::of(content));
    RunBuilder::started()
        .event("rer.tool.called", r#"{"tool":"search","input":{"to":"Lisbon"}}"#)
        .event("rer.model.returned", &format!(r#"{{"http":{{"body":{{"text":{body}}}}}}}"#))
        .event("rer.http.returned", r#"{"http":{"body":{"base64":"TGlzYm9uIQ=="}}}"#)
        .withheld("rer.tool.returned", r#""Lisbon""#)
        .event("rer.artifact.written", &file(b"one"))
        .event("rer.artifact.written", &file(b"two"))
        .event("rer.x", r#"{"Lisbon":1}"#)
        .bare("rer.tool.empty")
        .ended(0)
        .seal(&TestKey::of(1))
}

/// Returns the events that a choice withholds, with the reason. The artifact must verify.
fn withheld_events(choice: &RedactionChoice) -> Vec<(usize, RedactionReason)> {
    let key = TestKey::of(1);
    let RedactedArtifact { artifact, newly_withheld: gone, withheld_before: before, events, .. } =
        redact(&artifact(), choice, &Limits::default(), |_| None).unwrap();
    assert_eq!((before, events), (1, 10));
    let report = verify(&artifact, &key.keys(), &Options::default());
    assert!(report.pass(), "{:?}", report.reasons);
    gone.into_iter().map(|gone| (gone.event, gone.reason)).collect()
}

fn choice_of_texts(texts: &[&str]) -> RedactionChoice {
    RedactionChoice {
        texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        ..RedactionChoice::default()
    }
}

#[test]
fn by_what_is_in_them() {
    let all = [1, 2, 3, 7].map(|event| (event, RedactionReason::Text));
    assert_eq!(withheld_events(&choice_of_texts(&["Lisbon"])), all);
    assert_eq!(withheld_events(&choice_of_texts(&["lisbon"])), [], "as it is written");
    assert_eq!(withheld_events(&choice_of_texts(&["Porto", "nothing"])), [(2, RedactionReason::Text)]);
    assert_eq!(withheld_events(&choice_of_texts(&["python"])), [(0, RedactionReason::Text)]);
}

#[test]
fn by_number_and_by_type() {
    let choice = |kinds: &[&str], events: &[usize]| RedactionChoice {
        kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        events: events.to_vec(),
        ..RedactionChoice::default()
    };
    assert_eq!(
        withheld_events(&choice(&["tool.*"], &[])),
        [(1, RedactionReason::Kind)],
        "nothing is taken twice, or from nothing"
    );
    assert_eq!(
        withheld_events(&choice(&["rer.model.returned", "http.?eturned"], &[])),
        [(2, RedactionReason::Kind), (3, RedactionReason::Kind)]
    );
    assert_eq!(withheld_events(&choice(&["model"], &[4, 7])), [(7, RedactionReason::Event)]);
    assert!(RedactionChoice::default().is_empty() && !choice(&[], &[0]).is_empty());
}

#[test]
fn however_it_is_spelled_and_wherever_it_lies() {
    let file: &[u8] = br#"{"who":"Zo\u00eb"}"#;
    let blob = Digest::of(file);
    let body = r#"{"text":"{\"said\":\"Zo\\u00eb \\\"Zed\\\"\"}"}"#;
    let artifact = RunBuilder::started()
        .event("rer.model.called", &format!(r#"{{"http":{{"body":{body}}}}}"#))
        .event("rer.model.returned", &format!(r#"{{"http":{{"body":{{"blob":"{blob}","size":17}}}}}}"#))
        .event(
            "rer.artifact.written",
            &format!(r#"{{"artifact_hash":"{}","name":"other"}}"#, Digest::of(b"x")),
        )
        .ended(0)
        .seal(&TestKey::of(1));
    let found = |text: &str| {
        let content = |digest| (digest == blob).then_some(file);
        let redacted = redact(&artifact, &choice_of_texts(&[text]), &Limits::default(), content).unwrap();
        (redacted.newly_withheld.iter().map(|gone| gone.event).collect::<Vec<_>>(), redacted.orphaned_files)
    };
    assert_eq!(found("Zoë"), (vec![1, 2], vec![blob]));
    assert_eq!(found("\"Zed\""), (vec![1], vec![]));
    assert_eq!(found("retry"), (vec![], vec![]));
}

#[test]
fn a_file_that_was_kept_is_named() {
    let artifact = RunBuilder::empty()
        .event("rer.run.started", r#"{"import":{"format":"rpk","source":{"text":"all of it"}}}"#)
        .event("rer.tool.called", r#"{"import":{"id":"s1"}}"#)
        .ended(0)
        .seal(&TestKey::of(1));
    let source_in = |events: &[usize]| {
        let choice = RedactionChoice { events: events.to_vec(), ..RedactionChoice::default() };
        redact(&artifact, &choice, &Limits::default(), |_| None).unwrap().source_event
    };
    assert_eq!((source_in(&[1]), source_in(&[0, 1])), (Some(0), None));
}

#[test]
fn files_that_nobody_speaks_of_any_more() {
    let orphans = |events: &[usize]| {
        let choice = RedactionChoice { events: events.to_vec(), ..RedactionChoice::default() };
        redact(&artifact(), &choice, &Limits::default(), |_| None).unwrap().orphaned_files
    };
    assert_eq!(orphans(&[1]), []);
    assert_eq!(orphans(&[5]), [Digest::of(b"one")]);
    assert_eq!(orphans(&[5, 6]).len(), 2);
}
