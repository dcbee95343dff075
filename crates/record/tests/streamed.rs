//! Secrets that are split over the events of a stream, and rules of a project's own: masked before anything is written.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::time::Duration;

use reenact_json::{Digest, Limits, Value};
use reenact_record::{
    CallKind, Chunk, EventWriter, ExchangeCall, RawAnswer, RawRequest, Recorder, Redaction, RunStart,
};
use reenact_secrets::{Alphabet, CustomRule};
use reenact_testkit::fixture::TestDir;
use support::{DONE, answer, events, key, run_id, runs, verify_artifact};

const SECRET: &str = "sk-proj-PlantedZm9vYmFyYmF6cXV4MDEyMzQ1Njc4OTAx";
const BEARER: &str = "planted-bearer-qpwoeiruty";

/// Returns a stream with an event for each piece, and a chunk for each event.
fn stream(pieces: &[&str]) -> (String, Vec<Chunk>) {
    let event = |piece: &&str| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{piece}\"}}}}]}}\n\n")
    };
    let mut events: Vec<String> = pieces.iter().map(event).collect();
    events.push("data: [DONE]\n\n".into());
    let chunk =
        |(at, event): (usize, &String)| Chunk { at: Duration::from_millis(at as u64), length: event.len() };
    let chunks = events.iter().enumerate().map(chunk).collect();
    (events.concat(), chunks)
}

fn record(writer: &EventWriter, answer: RawAnswer<'_>) {
    let bearer = format!("Bearer {BEARER}");
    let headers: [(&str, &[u8]); 1] = [("authorization", bearer.as_bytes())];
    let raw = RawRequest { provider: "p", method: "POST", path: "/", headers: &headers, body: b"" };
    let step =
        writer.record_call(&ExchangeCall::new(CallKind::Model, &writer.mask_request(&raw)), None).unwrap();
    writer.record_return(&step, answer).unwrap();
}

fn begin(dir: &TestDir, redaction: Redaction) -> Recorder<reenact_record::Recording> {
    let start = RunStart { redaction, ..RunStart::new(run_id()) };
    Recorder::builder(&runs(dir), &key()).begin(&start).unwrap()
}

fn assert_clean(dir: &TestDir, secret: &str) {
    for (path, bytes) in dir.files() {
        for part in secret.as_bytes().windows(8) {
            assert!(!bytes.windows(8).any(|there| there == part), "{}", path.display());
        }
    }
}

#[test]
fn no_part_of_a_cut_secret_is_written_and_chunks_sum_to_the_body() {
    let dir = TestDir::new();
    let recorder = begin(&dir, Redaction::default());
    let (writer, id) = (recorder.event_writer(), recorder.run_id());
    let pieces = [
        "take ",
        &SECRET[..10],
        &SECRET[10..11],
        "",
        &SECRET[11..40],
        &SECRET[40..],
        " and ",
        &BEARER[..9],
        &BEARER[9..],
        "!",
    ];
    let (body, chunks) = stream(&pieces);
    record(&writer, RawAnswer { chunks: &chunks, ..answer(body.as_bytes()) });
    // Split anywhere by reads, and truncated: no part of the secret is recorded.
    for cut in (0..body.len()).step_by(7) {
        let ends = [cut / 2, cut - cut / 2].map(|length| Chunk { at: Duration::ZERO, length });
        let delivered = Some(&body.as_bytes()[..cut / 2]);
        record(&writer, RawAnswer { chunks: &ends, delivered, ..answer(body.as_bytes()) });
    }
    assert_clean(&dir, &SECRET[8..]);
    assert_clean(&dir, BEARER);
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_clean(&dir, &SECRET[8..]);
    assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);

    let masked =
        ["take ", "[masked:openai-key:1]", "", "", "", "", " and ", "[masked:credential:1]", "", "!"];
    let (expected, expected_chunks) = stream(&masked);
    let events = events(&runs(&dir).journal_path(id));
    let mut seen = 0;
    for (_, text) in events.iter().filter(|(event_type, _)| event_type == "rer.model.returned") {
        let payload = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
        let http = payload.member("http").unwrap();
        assert!(http.member("body").unwrap().member("text").unwrap().is_string(&expected));
        let lengths = http.member("chunks").unwrap().elements().map(|pair| {
            let length = pair.elements().nth(1).unwrap();
            std::str::from_utf8(length.text()).unwrap().parse::<usize>().unwrap()
        });
        let lengths: Vec<usize> = lengths.collect();
        assert_eq!(lengths.iter().sum::<usize>(), expected.len());
        if seen == 0 {
            assert_eq!(lengths, expected_chunks.iter().map(|chunk| chunk.length).collect::<Vec<_>>());
        }
        if let Some(delivered) = payload.member("delivered") {
            let delivered = delivered.member("text").unwrap().string().unwrap().into_owned();
            assert!(expected.starts_with(&delivered));
        }
        seen += 1;
    }
    assert_eq!(seen, body.len().div_ceil(7) + 1);
}

fn acme() -> Redaction {
    let rule = CustomRule::new("acme-key", "acme_", Alphabet::Alnum, 12).unwrap();
    Redaction { rules: vec![rule], known_env: vec!["DATABASE_URL".into()], ..Redaction::default() }
}

#[test]
fn a_projects_own_rules_and_variables_are_masked_and_named() {
    let dir = TestDir::new();
    let environment = [
        ("DATABASE_URL".into(), "postgres-somewhere-internal".into()),
        ("HOME".into(), "/home/of-somebody-else".into()),
    ];
    let start = RunStart { environment: &environment, redaction: acme(), ..RunStart::new(run_id()) };
    let recorder = Recorder::builder(&runs(&dir), &key()).begin(&start).unwrap();
    let (writer, id) = (recorder.event_writer(), recorder.run_id());
    writer
        .record_error("a", "b", "acme_0123456789ab postgres-somewhere-internal /home/of-somebody-else")
        .unwrap();
    let (body, chunks) = stream(&["acme_01", "2345", "6789ab."]);
    record(&writer, RawAnswer { chunks: &chunks, ..answer(body.as_bytes()) });
    drop((recorder, writer));

    // A resumed run masks the same, without being told.
    let resumed = Recorder::builder(&runs(&dir), &key()).resume(id, || None).unwrap();
    resumed.event_writer().record_error("a", "b", "acme_0123456789ac").unwrap();
    let sealed = resumed.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_clean(&dir, "0123456789ab");
    assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
    let events = events(&runs(&dir).journal_path(id));
    let started = Value::parse(events[0].1.as_bytes(), &Limits::default()).unwrap();
    let redaction = started.member("redaction").unwrap();
    assert!(redaction.member("pack").unwrap().is_string("reenact-1+custom"));
    let digest = Digest::of(acme().pack().rules_text().as_bytes()).to_string();
    assert!(redaction.member("digest").unwrap().is_string(&digest));
    let messages: Vec<&str> =
        events.iter().filter_map(|(_, text)| text.split("\"message\":\"").nth(1)).collect();
    let said = |text: &str| text.split('"').next().unwrap().to_owned();
    assert_eq!(said(messages[0]), "[masked:acme-key:1] [masked:environment:1] /home/of-somebody-else");
    assert_eq!(said(messages[1]), "[masked:acme-key:2]");
}
