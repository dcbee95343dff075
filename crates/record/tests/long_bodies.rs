//! Bodies that are too long for memory: the events are the same whether a body was in memory or in a spool.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use reenact_json::{Digest, Limits, Value};
use reenact_record::{
    CallKind, Chunk, EventWriter, ExchangeCall, RawAnswer, RawRequest, RecordEnv, RecordError, Recorder,
    Recording, Redaction, RunId, RunStart, StepId, Withhold,
};
use reenact_testkit::fixture::TestDir;
use support::faulty::{EIO, ENOSPC, FaultyStorage};
use support::{DONE, answer, events, fixed_env, key, runs, verify_artifact};

/// Made-up secret.
const SECRET: &str = "ghp_1aB2cD3eF4gH5iJ6kL7mN8oP9qR0sT1uV2wX";
const MEGABYTE: usize = 1 << 20;

fn id() -> RunId {
    "017f22e2-79b0-7cc3-98c4-dc0c0c07398f".parse().unwrap()
}

fn begin(dir: &TestDir, redaction: Redaction, env: &RecordEnv) -> Recorder<Recording> {
    let start = RunStart { redaction, ..RunStart::new(id()) };
    Recorder::builder(&runs(dir), &key()).env(env.clone()).begin(&start).unwrap()
}

fn ask(writer: &EventWriter, body: &[u8]) -> Result<StepId, RecordError> {
    let raw = RawRequest { provider: "p", method: "POST", path: "/", headers: &[], body };
    writer.record_call(&ExchangeCall::new(CallKind::Http, &writer.mask_request(&raw)), None)
}

/// Records an answer through a spool, in pieces of varying length.
fn spooled(
    writer: &EventWriter,
    step: &StepId,
    body: &[u8],
    answer: RawAnswer<'_>,
) -> Result<(), RecordError> {
    let mut spool = writer.spool(step)?;
    for (at, piece) in body.chunks(70_001).enumerate() {
        let (first, second) = piece.split_at(at % 5);
        spool.push(first)?;
        spool.push(second)?;
    }
    assert_eq!(spool.received_bytes(), body.len() as u64);
    writer.record_spooled_return(step, answer, &mut spool)
}

/// Returns text of about `length` bytes with everything that needs an escape or a mark.
fn prose(length: usize) -> Vec<u8> {
    let line = format!("{{\"word\": \"a\\tbc é 中 \u{1}\", \"token\": \"{SECRET}\"}}\n");
    let mut text = line.repeat(length / line.len() + 1).into_bytes();
    text.truncate(length);
    // Cut at the end of a character.
    while str::from_utf8(&text).is_err() {
        text.pop();
    }
    text
}

fn noise(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect()
}

/// Records a run with this body as request and answer. Returns its events and the artifact, which was verified.
fn recorded(body: &[u8], is_spooled: bool, has_chunks: bool) -> (Vec<(String, String)>, Vec<u8>) {
    let dir = TestDir::in_memory();
    let recorder = begin(&dir, Redaction::default(), &fixed_env());
    let writer = recorder.event_writer();
    let step = ask(&writer, body).unwrap();
    let half = body.len() / 2;
    let chunks = [half, body.len() - half].map(|length| Chunk { at: Duration::from_millis(3), length });
    let chunks = if has_chunks { &chunks[..] } else { &[] };
    let said = RawAnswer { chunks, ..answer(if is_spooled { b"" } else { body }) };
    match is_spooled {
        true => spooled(&writer, &step, body, said).unwrap(),
        false => writer.record_return(&step, said).unwrap(),
    }
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
    let artifact = fs::read(&sealed.path).unwrap();
    // The spool file is removed.
    let names = dir.names();
    assert!(!names.iter().any(|name| name.ends_with(".spool")), "{names:?}");
    (events(&runs(&dir).journal_path(id())), artifact)
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
        // The recorded body is the masked input.
        let payload = Value::parse(held[2].1.as_bytes(), &Limits::default()).unwrap();
        let http = payload.member("http").unwrap();
        let said = http.member("body").unwrap();
        if is_text {
            let due = String::from_utf8(body).unwrap().replace(SECRET, "[masked:github-token:1]");
            let text = said.member("text").unwrap().string().unwrap();
            // A truncated secret at the end of the body is no secret, and stays.
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
    let dir = TestDir::in_memory();
    let events = vec!["rer.http.returned".to_owned(), "rer.http.called".to_owned()];
    let redaction =
        Redaction { withhold: Withhold { events, ..Withhold::default() }, ..Redaction::default() };
    let recorder = begin(&dir, redaction, &fixed_env());
    let writer = recorder.event_writer();
    let body = prose(2 * MEGABYTE);
    let step = ask(&writer, &body).unwrap();
    let mut spool = writer.spool(&step).unwrap();
    spool.push(&body).unwrap();
    // No file holds any part of it at any time.
    assert!(dir.files().iter().all(|(_, bytes)| bytes.len() < 10_000));
    writer.record_spooled_return(&step, answer(b""), &mut spool).unwrap();
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
    let artifact = fs::read(&sealed.path).unwrap();
    assert!(artifact.len() < 10_000);
    // The hashes are those of the payloads of a run that withholds nothing.
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
    let dir = TestDir::in_memory();
    let recorder = begin(&dir, Redaction::default(), &fixed_env());
    let writer = recorder.event_writer();
    let step = ask(&writer, b"").unwrap();
    let before = fs::read(runs(&dir).journal_path(id())).unwrap().len();
    let left = runs(&dir).run_path(id()).join("1-0.spool");
    fs::write(&left, b"what a kill leaves").unwrap();
    spooled(&writer, &step, &prose(2 * MEGABYTE), answer(b"")).unwrap();
    drop((writer, recorder));
    let journal = fs::read(runs(&dir).journal_path(id())).unwrap();
    for end in [before, before + 1, before + 200, before + MEGABYTE, journal.len() - 1, journal.len()] {
        fs::write(runs(&dir).journal_path(id()), &journal[..end]).unwrap();
        let recorder = Recorder::builder(&runs(&dir), &key()).resume(id(), || None).unwrap();
        assert_eq!(recorder.counts().events, if end == journal.len() { 3 } else { 2 });
        assert!(!left.exists());
    }
    let recorder = Recorder::builder(&runs(&dir), &key()).resume(id(), || None).unwrap();
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
}

/// A disk without room for a spool closes nothing; one without room for the line closes the journal.
#[test]
fn disks_that_fail() {
    let (dir, storage) = (TestDir::in_memory(), FaultyStorage::default());
    let env = RecordEnv { storage: Arc::new(storage.clone()), ..fixed_env() };
    let recorder = begin(&dir, Redaction::default(), &env);
    let writer = recorder.event_writer();
    let step = ask(&writer, b"").unwrap();
    let body = prose(4 * MEGABYTE);

    storage.faults().free_bytes = Some((MEGABYTE, ENOSPC));
    let lost = spooled(&writer, &step, &body, answer(b"")).unwrap_err();
    assert!(matches!(&lost, RecordError::Io { kind: std::io::ErrorKind::StorageFull, .. }), "{lost:?}");
    storage.faults().free_bytes = None;
    assert_eq!(writer.record_gap("a", "b"), Ok(()));
    let names = dir.names();
    assert!(!names.iter().any(|name| name.ends_with(".spool")), "{names:?}");

    // Short and interrupted writes are no failures.
    (storage.faults().max_write_bytes, storage.faults().interrupts_every_second_call) = (100_000, true);
    spooled(&writer, &step, &body, answer(b"")).unwrap();
    (storage.faults().max_write_bytes, storage.faults().interrupts_every_second_call) = (0, false);

    let step = ask(&writer, b"").unwrap();
    let whole = fs::read(runs(&dir).journal_path(id())).unwrap();
    storage.faults().free_bytes = Some((MEGABYTE, EIO));
    let lost = writer.record_return(&step, answer(&body)).unwrap_err();
    assert!(matches!(&lost, RecordError::Journal { .. }), "{lost:?}");
    storage.faults().free_bytes = None;
    assert_eq!(writer.record_gap("a", "b"), Err(lost));
    drop((writer, recorder));
    // Half a line is in the file; resuming truncates it.
    assert!(fs::read(runs(&dir).journal_path(id())).unwrap().len() > whole.len());
    let recorder = Recorder::builder(&runs(&dir), &key()).resume(id(), || None).unwrap();
    assert_eq!(fs::read(runs(&dir).journal_path(id())).unwrap(), whole);
    assert_eq!(recorder.counts().events, 5);
}

/// The spool file was changed: the answer is not recorded, and the journal goes on.
#[test]
fn a_spool_that_someone_changed() {
    for body in [prose(2 * MEGABYTE), prose(MEGABYTE + MEGABYTE / 3)] {
        let dir = TestDir::in_memory();
        let recorder = begin(&dir, Redaction::default(), &fixed_env());
        let writer = recorder.event_writer();
        let step = ask(&writer, b"").unwrap();
        let mut spool = writer.spool(&step).unwrap();
        spool.push(&body).unwrap();
        let (path, spooled) = dir
            .files()
            .into_iter()
            .find(|(path, _)| path.extension().is_some_and(|it| it == "spool"))
            .unwrap();
        assert!(!spooled.is_empty());
        fs::write(&path, &spooled[..spooled.len() / 2]).unwrap();
        let before = fs::read(runs(&dir).journal_path(id())).unwrap();
        let lost = writer.record_spooled_return(&step, answer(b""), &mut spool).unwrap_err();
        assert!(matches!(&lost, RecordError::Io { kind: std::io::ErrorKind::InvalidData, .. }), "{lost:?}");
        assert_eq!(fs::read(runs(&dir).journal_path(id())).unwrap(), before);
        writer.record_return(&step, answer(b"short")).unwrap();
        let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
        assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
    }
}
