//! Bodies that are too long to be held: written as short ones are, whether they were in memory or in a spool.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use reenact_json::{Digest, Limits, Value};
use reenact_record::{
    Chunk, Exchange, Pen, RawAnswer, RawRequest, RecordError, Recorder, Recording, Redaction, RunId,
    RunStart, StepId, Surroundings, Withhold,
};
use reenact_testkit::fixture::TestDir;
use support::faulty::{EIO, ENOSPC, Faulty};
use support::{DONE, answer, events, judged, key, known_surroundings, runs};

const KEY: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// Made up.
const SECRET: &str = "ghp_1aB2cD3eF4gH5iJ6kL7mN8oP9qR0sT1uV2wX";
const MEGABYTE: usize = 1 << 20;

fn id() -> RunId {
    "017f22e2-79b0-7cc3-98c4-dc0c0c07398f".parse().unwrap()
}

fn begin(place: &TestDir, redaction: Redaction, surroundings: &Surroundings) -> Recorder<Recording> {
    let start = RunStart { redaction, ..RunStart::new(id()) };
    Recorder::begin_in(&runs(place), &start, &key(), surroundings).unwrap()
}

fn ask(pen: &Pen, body: &[u8]) -> Result<StepId, RecordError> {
    let raw = RawRequest { provider: "p", method: "POST", path: "/", headers: &[], body };
    pen.called(Exchange::Http, &pen.mask_request(&raw), None, None, KEY)
}

/// Has an answer recorded by way of a spool, in pieces of any length.
fn spooled(pen: &Pen, step: &StepId, body: &[u8], answer: RawAnswer<'_>) -> Result<(), RecordError> {
    let mut spool = pen.spool(step)?;
    for (at, piece) in body.chunks(70_001).enumerate() {
        let (first, second) = piece.split_at(at % 5);
        spool.push(first)?;
        spool.push(second)?;
    }
    assert_eq!(spool.came(), body.len() as u64);
    pen.returned_spooled(step, answer, &mut spool)
}

/// Words with all that needs an escape or a mark.
fn prose(length: usize) -> Vec<u8> {
    let line = format!("{{\"word\": \"a\\tbc é 中 \u{1}\", \"token\": \"{SECRET}\"}}\n");
    let mut text = line.repeat(length / line.len() + 1).into_bytes();
    text.truncate(length);
    // Not in the middle of a character.
    while str::from_utf8(&text).is_err() {
        text.pop();
    }
    text
}

fn noise(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect()
}

/// The payloads of a run with this body asked and answered; and the artifact, which was judged.
fn recorded(body: &[u8], is_spooled: bool, has_chunks: bool) -> (Vec<(String, String)>, Vec<u8>) {
    let place = TestDir::in_memory();
    let recorder = begin(&place, Redaction::default(), &known_surroundings());
    let pen = recorder.pen();
    let step = ask(&pen, body).unwrap();
    let half = body.len() / 2;
    let chunks = [half, body.len() - half].map(|length| Chunk { at: Duration::from_millis(3), length });
    let chunks = if has_chunks { &chunks[..] } else { &[] };
    let said = RawAnswer { chunks, ..answer(if is_spooled { b"" } else { body }) };
    match is_spooled {
        true => spooled(&pen, &step, body, said).unwrap(),
        false => pen.returned(&step, said).unwrap(),
    }
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!(judged(&sealed.path, &key()).reasons, [""; 0]);
    let artifact = fs::read(&sealed.path).unwrap();
    // Nothing is left of the spool.
    let names = place.names();
    assert!(!names.iter().any(|name| name.ends_with(".spool")), "{names:?}");
    (events(&runs(&place).journal(id())), artifact)
}

#[test]
fn held_or_spooled_it_is_the_same() {
    let edges = [0, 1, 2, 3 << 16, MEGABYTE - 1, MEGABYTE, MEGABYTE + 1, 3 * MEGABYTE + 12_345];
    let bodies = edges.into_iter().flat_map(|length| [prose(length), noise(length)]);
    for body in bodies {
        let is_text = str::from_utf8(&body).is_ok();
        let (held, artifact) = recorded(&body, false, true);
        let (spooled, same_artifact) = recorded(&body, true, true);
        assert_eq!(held.len(), 4);
        assert!(held == spooled && artifact == same_artifact, "{} {is_text}", body.len());
        // And it is what came, under the masks.
        let payload = Value::parse(held[2].1.as_bytes(), &Limits::default()).unwrap();
        let http = payload.member("http").unwrap();
        let said = http.member("body").unwrap();
        if is_text {
            let due = String::from_utf8(body).unwrap().replace(SECRET, "[masked:github-token:1]");
            let text = said.member("text").unwrap().string().unwrap();
            // A mark may be cut off at the end, where no more than a part of the secret was.
            assert!(text == due, "{} {}", text.len(), due.len());
            let Some(chunks) = http.member("chunks") else {
                assert_eq!(text, "");
                continue;
            };
            let length = |pair: Value<'_>| pair.elements().nth(1).unwrap().text().to_vec();
            let lengths = chunks.elements().map(|pair| String::from_utf8(length(pair)).unwrap());
            assert_eq!(lengths.map(|length| length.parse::<usize>().unwrap()).sum::<usize>(), text.len());
        } else {
            use base64ct::Encoding as _;
            let text = said.member("base64").unwrap().string().unwrap();
            assert!(base64ct::Base64::decode_vec(&text).unwrap() == body);
        }
    }
}

#[test]
fn what_is_withheld_is_bound_by_its_hash() {
    let place = TestDir::in_memory();
    let events = vec!["rer.http.returned".to_owned(), "rer.http.called".to_owned()];
    let redaction =
        Redaction { withhold: Withhold { events, ..Withhold::default() }, ..Redaction::default() };
    let recorder = begin(&place, redaction, &known_surroundings());
    let pen = recorder.pen();
    let body = prose(2 * MEGABYTE);
    let step = ask(&pen, &body).unwrap();
    let mut spool = pen.spool(&step).unwrap();
    spool.push(&body).unwrap();
    // No file holds any of it at any time.
    assert!(place.files().iter().all(|(_, bytes)| bytes.len() < 10_000));
    pen.returned_spooled(&step, answer(b""), &mut spool).unwrap();
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!(judged(&sealed.path, &key()).reasons, [""; 0]);
    let artifact = fs::read(&sealed.path).unwrap();
    assert!(artifact.len() < 10_000);
    // The hashes are those of the payloads, as a run has them that withholds nothing.
    let (plain, _) = recorded(&body, false, false);
    let artifact = Value::parse(&artifact, &Limits::default()).unwrap();
    for (at, withheld) in artifact.member("events").unwrap().elements().enumerate().skip(1).take(2) {
        assert!(withheld.member("payload").is_none());
        let hash = Digest::of(plain[at].1.as_bytes()).to_string();
        assert_eq!(withheld.member("payload_hash").unwrap().string().unwrap(), hash, "{at}");
    }
}

#[test]
fn wherever_a_long_line_breaks_off_the_run_goes_on() {
    let place = TestDir::in_memory();
    let recorder = begin(&place, Redaction::default(), &known_surroundings());
    let pen = recorder.pen();
    let step = ask(&pen, b"").unwrap();
    let before = fs::read(runs(&place).journal(id())).unwrap().len();
    let left = runs(&place).run(id()).join("1-0.spool");
    fs::write(&left, b"what a kill leaves").unwrap();
    spooled(&pen, &step, &prose(2 * MEGABYTE), answer(b"")).unwrap();
    drop((pen, recorder));
    let journal = fs::read(runs(&place).journal(id())).unwrap();
    for end in [before, before + 1, before + 200, before + MEGABYTE, journal.len() - 1, journal.len()] {
        fs::write(runs(&place).journal(id()), &journal[..end]).unwrap();
        let recorder = Recorder::resume(&runs(&place), id(), &key(), || None).unwrap();
        assert_eq!(recorder.counts().events, if end == journal.len() { 3 } else { 2 });
        assert!(!left.exists());
    }
    let recorder = Recorder::resume(&runs(&place), id(), &key(), || None).unwrap();
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!(judged(&sealed.path, &key()).reasons, [""; 0]);
}

/// A disk that has no room for a spool closes nothing; one that has none for the line closes the journal.
#[test]
fn disks_that_fail() {
    let (place, storage) = (TestDir::in_memory(), Faulty::default());
    let surroundings = Surroundings { storage: Arc::new(storage.clone()), ..known_surroundings() };
    let recorder = begin(&place, Redaction::default(), &surroundings);
    let pen = recorder.pen();
    let step = ask(&pen, b"").unwrap();
    let body = prose(4 * MEGABYTE);

    storage.faults().room = Some((MEGABYTE, ENOSPC));
    let lost = spooled(&pen, &step, &body, answer(b"")).unwrap_err();
    assert!(matches!(&lost, RecordError::Io { kind: std::io::ErrorKind::StorageFull, .. }), "{lost:?}");
    storage.faults().room = None;
    assert_eq!(pen.gap("a", "b"), Ok(()));
    let names = place.names();
    assert!(!names.iter().any(|name| name.ends_with(".spool")), "{names:?}");

    // Short writes and interruptions are none.
    (storage.faults().most, storage.faults().interrupts) = (100_000, true);
    spooled(&pen, &step, &body, answer(b"")).unwrap();
    (storage.faults().most, storage.faults().interrupts) = (0, false);

    let step = ask(&pen, b"").unwrap();
    let whole = fs::read(runs(&place).journal(id())).unwrap();
    storage.faults().room = Some((MEGABYTE, EIO));
    let lost = pen.returned(&step, answer(&body)).unwrap_err();
    assert!(matches!(&lost, RecordError::Journal { .. }), "{lost:?}");
    storage.faults().room = None;
    assert_eq!(pen.gap("a", "b"), Err(lost));
    drop((pen, recorder));
    // Half a line is there; whoever goes on cuts it off.
    assert!(fs::read(runs(&place).journal(id())).unwrap().len() > whole.len());
    let recorder = Recorder::resume(&runs(&place), id(), &key(), || None).unwrap();
    assert_eq!(fs::read(runs(&place).journal(id())).unwrap(), whole);
    assert_eq!(recorder.counts().events, 5);
}

/// What was spooled is not what comes back: nothing of it is recorded, and the journal goes on.
#[test]
fn a_spool_that_someone_changed() {
    for body in [prose(2 * MEGABYTE), prose(MEGABYTE + MEGABYTE / 3)] {
        let place = TestDir::in_memory();
        let recorder = begin(&place, Redaction::default(), &known_surroundings());
        let pen = recorder.pen();
        let step = ask(&pen, b"").unwrap();
        let mut spool = pen.spool(&step).unwrap();
        spool.push(&body).unwrap();
        let (path, spooled) = place
            .files()
            .into_iter()
            .find(|(path, _)| path.extension().is_some_and(|it| it == "spool"))
            .unwrap();
        assert!(!spooled.is_empty());
        fs::write(&path, &spooled[..spooled.len() / 2]).unwrap();
        let before = fs::read(runs(&place).journal(id())).unwrap();
        let lost = pen.returned_spooled(&step, answer(b""), &mut spool).unwrap_err();
        assert!(matches!(&lost, RecordError::Io { kind: std::io::ErrorKind::InvalidData, .. }), "{lost:?}");
        assert_eq!(fs::read(runs(&place).journal(id())).unwrap(), before);
        pen.returned(&step, answer(b"short")).unwrap();
        let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
        assert_eq!(judged(&sealed.path, &key()).reasons, [""; 0]);
    }
}
