//! Opening of records: which bytes are a run, and the errors of those that are none.
#![allow(clippy::unwrap_used)]

mod support;

use reenact_json::Digest;
use reenact_run::{
    EventPayload, EventSource, EventType, Exit, NotARun, OpenedRecord, UnreadablePayload, open, open_files,
};
use reenact_testkit::fixture::{ModelRequest, RunBuilder, TestKey, text_body};
use reenact_verify::rer::PAYLOAD_HASHES;
use reenact_verify::{Keys, Options, Unrecognised};
use support::{KeyRing as _, OpenRun as _};

fn opened(bytes: &[u8]) -> OpenedRecord {
    open(bytes.to_vec(), &Keys::default(), &Options::default())
}

#[test]
fn a_run_says_who_when_and_what() {
    let key = TestKey::of(3);
    let bytes = RunBuilder::started().event("rer.made.up", r#"{"source":"reported"}"#).ended(3).seal(&key);
    let OpenedRecord { run, report } = open(bytes, &key.keys(), &Options::default());
    let run = run.unwrap();
    assert!(report.pass());
    assert_eq!(run.id(), "0196c9a2-0000-7000-8000-000000000001");
    assert_eq!(run.format(), "rer-artifact/0.2");
    assert_eq!(run.digest(), Some(report.run.unwrap().digest));
    assert_eq!(run.producer().name.as_deref(), Some("reenact"));
    assert_eq!(run.producer().version.as_deref(), Some("0.1.0"));
    assert_eq!(run.producer().key_id, report.signer.unwrap().key_id);
    assert_eq!(run.started_at().as_deref(), Some("2026-05-13T12:34:00.5Z"));
    assert_eq!(run.ended_at().as_deref(), Some("2026-05-13T12:34:02.5Z"));
    assert_eq!(run.environment().unwrap().text(), br#"{"os":"linux"}"#);
    assert_eq!(run.metadata().unwrap().text(), br#"{"reenact":{"enforcement":"observe"}}"#);
    let kinds: Vec<Option<EventType>> = run.events().map(|event| event.kind()).collect();
    assert_eq!(kinds, [Some(EventType::RunStarted), None, Some(EventType::RunEnded)]);
    let odd = run.event(1).unwrap();
    assert_eq!(
        (odd.index(), odd.name().as_ref(), odd.source()),
        (1, "rer.made.up", Some(EventSource::Reported))
    );
    assert!(run.event(3).is_none());
    // A clone is a handle of the same run.
    assert_eq!(run.clone().len(), 3);
}

#[test]
fn payloads_are_there_or_withheld_or_none() {
    let run = RunBuilder::started().bare("a.b").withheld("a.c", "{\"secret\":1}").event("a.d", "null").run();
    let seen: Vec<&str> = run
        .events()
        .map(|event| match event.payload() {
            EventPayload::Present(_) => "present",
            EventPayload::Withheld => "withheld",
            EventPayload::None => "none",
        })
        .collect();
    assert_eq!(seen, ["present", "none", "withheld", "none"]);
    assert_eq!(run.event(2).unwrap().source(), None);
}

#[test]
fn what_fails_verification_is_opened_with_its_report() {
    let key = TestKey::of(3);
    let text = String::from_utf8(RunBuilder::started().ended(0).seal(&key)).unwrap();
    let OpenedRecord { run, report } =
        open(text.replace("agent.py", "other.py").into_bytes(), &key.keys(), &Options::default());
    assert_eq!(report.failed().collect::<Vec<_>>(), [PAYLOAD_HASHES]);
    assert_eq!(run.unwrap().summary().command, ["python", "other.py"]);
    // The same record in another spelling, opened without a key.
    let spaced = text.replace(",\"", " ,\n \"").replace("\":", "\" : ");
    let OpenedRecord { run, report } = opened(spaced.as_bytes());
    assert!(!report.pass());
    let run = run.unwrap();
    assert_eq!(run.summary().exit, Some(Exit::Code(0)));
    assert_eq!(run.digest(), opened(text.as_bytes()).run.unwrap().digest());
}

#[test]
fn members_of_any_type_are_no_reason_to_stop() {
    let text = r#"{"artifact_version":"rer-artifact/0.2","run_id":7,"runtime":[],"envelope":null,
        "events":[1,null,{},{"event_type":"rer.run.started","timestamp":5,"payload":[]},
        {"event_type":"rer.model.called","payload":{"step_id":"s1"},"payload_redacted":"yes"}]}"#;
    let OpenedRecord { run, report } = opened(text.as_bytes());
    assert!(!report.pass());
    let run = run.unwrap();
    assert_eq!((run.id(), run.len(), run.started_at(), run.digest()), ("", 5, None, None::<Digest>));
    assert!(run.envelope().unwrap().is_null());
    assert_eq!(run.exchanges().count(), 1);
    assert_eq!(run.summary().events, 5);
}

#[test]
fn what_is_no_run_says_why() {
    let error = |bytes: &[u8]| opened(bytes).run.unwrap_err();
    assert_eq!(error(b""), NotARun::Unrecognised(Unrecognised::Empty));
    assert_eq!(error(b"[]"), NotARun::Unrecognised(Unrecognised::OtherKind("an array")));
    assert_eq!(error(br#"{"artifact_version":"rer-artifact/0.2"}"#), NotARun::NoEvents);
    assert_eq!(error(br#"{"artifact_version":"rer-artifact/0.2","events":{}}"#), NotARun::NoEvents);
    assert_eq!(
        error(br#"{"artifact_version":"rer-artifact/0.2","events":[{"#).to_string(),
        "the record cannot be read: line 1, column 51 ($.events[0]): the text ends here, a member name in quotes was due"
    );
    // An archive with the two documents of a bundle, both empty.
    let mut tar = Vec::new();
    for name in ["artifact.json", "manifest.json"] {
        let mut header = [0_u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..108].copy_from_slice(b"0000644\0");
        header[124..136].copy_from_slice(b"00000000000\0");
        header[136..148].copy_from_slice(b"00000000000\0");
        header[148..156].copy_from_slice(b"        ");
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend_from_slice(&header);
    }
    tar.resize(tar.len() + 1024, 0);
    assert_eq!(error(&tar), NotARun::Unreadable("line 1, column 1 ($): the text is empty".into()));
}

#[test]
fn bodies_that_lie_in_blobs_of_the_same_bundle() {
    let body = r#"{"model":"gpt-5"}"#;
    let digest = Digest::of(body.as_bytes());
    let payload = ModelRequest::CHAT
        .payload("s1")
        .replace(&text_body(""), &format!("{{\"blob\":\"{digest}\",\"size\":{}}}", body.len()));
    let artifact = RunBuilder::started().event("rer.model.called", &payload).seal(&TestKey::of(1));
    let request = |blob: &[u8]| {
        let files = vec![
            ("artifact.json".to_owned(), artifact.clone()),
            ("manifest.json".to_owned(), b"{}".to_vec()),
            (format!("blobs/{digest}.bin"), blob.to_vec()),
        ];
        let run = open_files(files, &Keys::default(), &Options::default()).run.unwrap();
        run.exchanges().next().unwrap().request().map(|request| request.body.bytes().to_vec())
    };
    assert_eq!(request(body.as_bytes()), Ok(body.as_bytes().to_vec()));
    // The name of a file proves nothing about its content.
    assert_eq!(request(b"other"), Err(UnreadablePayload::BlobMissing { member: "http.body", digest }));
    let alone = open(artifact.clone(), &Keys::default(), &Options::default()).run.unwrap();
    assert!(matches!(
        alone.exchanges().next().unwrap().request(),
        Err(UnreadablePayload::BlobMissing { .. })
    ));
}
