//! Resuming runs whose recorder was killed: wherever the journal breaks off, and whatever was done to it meanwhile.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reenact_formats::rer::RerVersion;
use reenact_formats::rer::seal::{EventHashChain, NewEvent, Signer};
use reenact_json::{Digest, Limits, Value};
use reenact_keys::SecretKey;
use reenact_record::clock::Clock;
use reenact_record::observation::JournalPosition;
use reenact_record::wal::{LoggedJournal, WalDir};
use reenact_record::{
    CallKind, EventSource, EventWriter, ExchangeCall, RawAnswer, RawRequest, RawToolCall, RawToolResult,
    RecordEnv, RecordError, Recorder, Recording, ResumeError, RunCounts, RunId, RunStart, StepId,
    ToolChannel,
};
use reenact_testkit::fixture::TestDir;
use support::{DONE, SALT, answer, events, fixed_env, key, run_id, runs, verify_artifact};

fn call(writer: &EventWriter, kind: CallKind, body: &[u8]) -> StepId {
    let raw = RawRequest { provider: "openai", method: "POST", path: "/v1/x", headers: &[], body };
    writer
        .record_call(
            &ExchangeCall { model: Some("m"), ..ExchangeCall::new(kind, &writer.mask_request(&raw)) },
            None,
        )
        .unwrap()
}

const LOOKUP: RawToolCall<'_> = RawToolCall {
    tool_call_id: "call_1",
    tool: "lookup",
    input: "{}",
    via: ToolChannel::Conversation,
    source: EventSource::Inferred,
};

/// Records five events, with two steps that do not return.
fn write_some(writer: &EventWriter) {
    let first = call(writer, CallKind::Model, b"{}");
    writer.record_tool_call(&LOOKUP, None).unwrap();
    writer.record_return(&first, answer(b"ok")).unwrap();
    call(writer, CallKind::Http, b"");
}

/// Run of a killed recorder, whose journal can be replaced before each resume.
struct KilledRun {
    dir: TestDir,
    id: RunId,
    journal: Vec<u8>,
}

impl KilledRun {
    /// Records what `write` writes, and kills the recorder.
    fn killed_after(write: impl FnOnce(Recorder<Recording>)) -> Self {
        let (dir, id) = (TestDir::in_memory(), run_id());
        let recorder = Recorder::builder(&runs(&dir), &key())
            .env(fixed_env().clone())
            .begin(&RunStart::new(id))
            .unwrap();
        write(recorder);
        let journal = fs::read(runs(&dir).journal_path(id)).unwrap();
        Self { dir, id, journal }
    }

    fn path(&self) -> PathBuf {
        runs(&self.dir).journal_path(self.id)
    }

    fn shown(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }

    /// Resumes the run with these bytes as its journal.
    fn resume(&self, journal: &[u8], log: Option<LoggedJournal>) -> Result<Recorder<Recording>, ResumeError> {
        fs::write(self.path(), journal).unwrap();
        Recorder::builder(&runs(&self.dir), &key()).resume(self.id, || log)
    }

    /// Returns the error of resuming, and asserts that the file was not changed.
    fn resume_error(&self, journal: &[u8], log: Option<LoggedJournal>) -> ResumeError {
        let error = self.resume(journal, log).map(|_| ()).unwrap_err();
        assert!(fs::read(self.path()).unwrap() == journal, "{error}: the journal was changed");
        error
    }

    /// Returns the lines with their line feeds, the head first.
    fn lines(&self) -> Vec<&[u8]> {
        self.journal.split_inclusive(|byte| *byte == b'\n').collect()
    }

    fn head(&self) -> &[u8] {
        self.lines()[0]
    }
}

/// Records one more event, ends the run, seals and verifies it. Returns the number of events in the artifact.
fn finish(recorder: Recorder<Recording>) -> usize {
    recorder.event_writer().record_error("a", "b", "c").unwrap();
    let open = recorder.event_writer().open_steps().len();
    let before = recorder.counts().events;
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!(
        sealed.counts.events,
        before + open as u64 + 2,
        "the recovery, a gap for each open step, the end"
    );
    let report = verify_artifact(&sealed.path, &key());
    assert_eq!((report.reasons.as_slice(), report.pass()), ([].as_slice(), true));
    let bytes = fs::read(&sealed.path).unwrap();
    fs::remove_file(&sealed.path).unwrap();
    let artifact = Value::parse(&bytes, &Limits::default()).unwrap();
    artifact.member("events").unwrap().elements().count()
}

#[test]
fn every_prefix_of_a_journal_can_be_gone_on_with() {
    let killed = KilledRun::killed_after(|recorder| write_some(&recorder.event_writer()));
    let (head, lines) = (killed.head().len(), killed.lines());
    assert_eq!(lines.len(), 6);
    for length in 0..=killed.journal.len() {
        let prefix = &killed.journal[..length];
        if length < head {
            assert_eq!(killed.resume_error(prefix, None), ResumeError::TornHead { path: killed.shown() });
            continue;
        }
        let whole = prefix.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        let events = prefix.iter().filter(|byte| **byte == b'\n').count() - 1;
        let recorder = killed.resume(prefix, None).unwrap();
        assert_eq!(recorder.truncated_bytes(), (length - whole) as u64);
        let now = fs::read(killed.path()).unwrap();
        if events == 0 {
            // A resumed run always has a first event.
            assert_eq!(&now[..head], killed.head());
            assert_eq!(events_of(&killed), ["rer.run.started"]);
        } else {
            assert!(now == prefix[..whole], "{length}");
        }
        let events = events.max(1);
        let open = [0, 0, 1, 2, 1, 2][events];
        assert_eq!(
            (recorder.counts().events, recorder.event_writer().open_steps().len()),
            (events as u64, open)
        );
        assert_eq!(recorder.counts().bytes, (now.len() - head) as u64);
        assert_eq!(finish(recorder), events + 1 + open + 2, "{length}");
    }
}

fn events_of(killed: &KilledRun) -> Vec<String> {
    events(&killed.path()).into_iter().map(|(event_type, _)| event_type).collect()
}

/// Wherever the recorder was killed, the artifact is the one of a run without a kill, but for the event that says so.
#[test]
fn what_is_sealed_is_what_would_have_been_sealed() {
    struct FixedClock;
    impl Clock for FixedClock {
        fn now(&self) -> Duration {
            Duration::from_secs(1_794_772_946)
        }
    }
    let env = RecordEnv { clock: Arc::new(FixedClock), ..fixed_env() };
    let artifact = |is_killed: bool| {
        let (dir, id) = (TestDir::new(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f".parse().unwrap());
        let command = ["agent".into()];
        let start = RunStart { command: &command, upstreams: &[("a", "http://a")], ..RunStart::new(id) };
        let mut recorder = Recorder::builder(&runs(&dir), &key()).env(env.clone()).begin(&start).unwrap();
        write_some(&recorder.event_writer());
        let before = recorder.counts();
        if is_killed {
            drop(recorder);
            recorder = Recorder::builder(&runs(&dir), &key()).env(env.clone()).resume(id, || None).unwrap();
        }
        assert_eq!(recorder.counts(), before);
        let writer = recorder.event_writer();
        assert_eq!(writer.open_steps().iter().map(StepId::to_string).collect::<Vec<_>>(), ["s2", "s3"]);
        let [tool, http] = writer.open_steps().try_into().unwrap();
        let result = RawToolResult { output: "1", is_error: false, latency: None };
        assert_eq!(writer.record_tool_result(&http, &result), Err(RecordError::NotOpen { step: http }));
        writer.record_tool_result(&tool, &result).unwrap();
        assert_eq!(call(&writer, CallKind::Model, b"").to_string(), "s4");
        writer.record_return(&http, RawAnswer::default()).unwrap();
        writer.record_gap("a", "b").unwrap();
        writer.record_error("a", "b", "c").unwrap();
        let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
        (fs::read(&sealed.path).unwrap(), sealed.counts)
    };
    let payloads = |artifact: &[u8]| -> Vec<(String, Vec<u8>)> {
        let artifact = Value::parse(artifact, &Limits::default()).unwrap();
        let event = |event: Value<'_>| {
            let event_type = event.member("event_type").unwrap().string().unwrap().into_owned();
            (event_type, event.member("payload").unwrap().text().to_vec())
        };
        artifact.member("events").unwrap().elements().map(event).collect()
    };
    let (killed, counts) = artifact(true);
    let mut killed = payloads(&killed);
    let recovered = format!(r#"{{"from":"journal","salt":"{SALT}","source":"observed"}}"#);
    assert_eq!(killed.remove(10), ("rer.run.recovered".to_owned(), recovered.into_bytes()));
    assert_eq!(killed, payloads(&artifact(false).0));
    let expected =
        RunCounts { model_calls: 2, http_calls: 1, tool_calls: 1, errors: 1, gaps: 2, events: 13, ..counts };
    assert_eq!(counts, expected);
}

/// Returns copies of the journal with one bit flipped, one for each byte.
fn flipped(journal: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..journal.len()).map(|at| {
        let mut flipped = journal.to_vec();
        flipped[at] ^= 1 << (at % 8);
        (at, flipped)
    })
}

#[test]
fn a_changed_line_is_refused_if_others_stand_behind_it() {
    let killed = KilledRun::killed_after(|recorder| write_some(&recorder.event_writer()));
    let lines = killed.lines();
    let head = killed.head().len();
    let last = killed.journal.len() - lines.last().unwrap().len();
    for (at, flipped) in flipped(&killed.journal).skip(head) {
        let line = 1 + killed.journal[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
        let changed = ResumeError::Changed { path: killed.shown(), line };
        if at < last - 1 || at > last && flipped[at] == b'\n' && at + 1 < flipped.len() {
            assert_eq!(killed.resume_error(&flipped, None), changed, "{at}");
            continue;
        }
        // A wrong last line may be a torn one, so it is truncated; so is a line before it that lost its line feed.
        let recorder = killed.resume(&flipped, None).unwrap();
        let events = if at < last { 3 } else { 4 };
        assert_eq!(recorder.counts().events, events, "{at}");
    }
}

#[test]
fn a_changed_head_is_refused() {
    let killed = KilledRun::killed_after(|recorder| write_some(&recorder.event_writer()));
    let head = killed.head();
    let find = |text: &str| str::from_utf8(head).unwrap().find(text).unwrap();
    let (key_id, version) = (find("\"key_id\":\"") + 10, find("_version\":\"0") + 11);
    let key_id = key_id..key_id + key().public_key().id().to_string().len();
    let version = version..version + env!("CARGO_PKG_VERSION").len();
    for (at, flipped) in flipped(&killed.journal).take(head.len()) {
        if version.contains(&at) {
            // The version of the program is informative only.
            continue;
        }
        let error = killed.resume_error(&flipped, None);
        let is_other = error == ResumeError::Record(RecordError::OtherSigner) && key_id.contains(&at);
        assert!(is_other || error == ResumeError::Head { path: killed.shown() }, "{at}: {error:?}");
    }
    // The head of another run is refused, and so is a journal without a head.
    let other = KilledRun::killed_after(|recorder| write_some(&recorder.event_writer()));
    assert_eq!(killed.resume_error(&other.journal, None), ResumeError::Head { path: killed.shown() });
    let headless = &killed.journal[head.len()..];
    assert_eq!(killed.resume_error(headless, None), ResumeError::Head { path: killed.shown() });
    // A valid envelope, but not the one that the run began under.
    let other =
        str::from_utf8(&killed.journal).unwrap().replacen("\"limits\":{}", "\"limits\":{\"max_steps\":9}", 1);
    assert_eq!(killed.resume_error(other.as_bytes(), None), ResumeError::Head { path: killed.shown() });
}

#[test]
fn lines_that_are_gone_twice_there_or_in_another_order_are_refused() {
    let killed = KilledRun::killed_after(|recorder| write_some(&recorder.event_writer()));
    let lines = killed.lines();
    let journal = |order: &[usize]| order.iter().flat_map(|at| lines[*at]).copied().collect::<Vec<u8>>();
    for (order, line) in [
        ([0, 1, 3, 4, 5].as_slice(), 3),
        (&[0, 2, 3, 4], 2),
        (&[0, 1, 2, 2, 3, 4], 4),
        (&[0, 1, 3, 2, 4], 3),
        (&[0, 0, 1, 2], 2),
    ] {
        let changed = ResumeError::Changed { path: killed.shown(), line };
        assert_eq!(killed.resume_error(&journal(order), None), changed, "{order:?}");
    }
    // An empty line counts as a line.
    let empty = [&journal(&[0, 1]), b"\n".as_slice(), &journal(&[2])].concat();
    assert_eq!(killed.resume_error(&empty, None), ResumeError::Changed { path: killed.shown(), line: 3 });
}

/// Zeros, as a file system leaves them after a crash: a line of any length, which is never buffered.
#[test]
fn zeros_at_the_end_are_cut_off() {
    let killed = KilledRun::killed_after(|recorder| write_some(&recorder.event_writer()));
    fs::write(killed.path(), &killed.journal).unwrap();
    let zeros = 64 << 20;
    let file = fs::OpenOptions::new().write(true).open(killed.path()).unwrap();
    file.set_len(killed.journal.len() as u64 + zeros).unwrap();
    let recorder = Recorder::builder(&runs(&killed.dir), &key()).resume(killed.id, || None).unwrap();
    assert_eq!((recorder.truncated_bytes(), recorder.counts().events), (zeros, 5));
    assert!(fs::read(killed.path()).unwrap() == killed.journal);
    // A file that is longer than any journal is not read at all.
    drop(recorder);
    file.set_len(1 << 33).unwrap();
    let refused =
        Recorder::builder(&runs(&killed.dir), &key()).resume(killed.id, || None).map(|_| ()).unwrap_err();
    let bytes = (1 << 33) - killed.head().len() as u64;
    assert_eq!(refused, ResumeError::Record(RecordError::Full { bytes }));
}

#[test]
fn a_run_that_has_ended_is_sealed_as_recovered() {
    let killed = KilledRun::killed_after(|recorder| {
        write_some(&recorder.event_writer());
        recorder.end(&DONE).unwrap();
    });
    assert_eq!(killed.resume_error(&killed.journal, None), ResumeError::Ended);
    let ended = Recorder::builder(&runs(&killed.dir), &key()).resume_ended(killed.id).unwrap();
    assert_eq!(ended.target().path, runs(&killed.dir).artifact_path(killed.id));
    let sealed = ended.seal(&key()).unwrap();
    assert_eq!((sealed.counts.events, sealed.counts.gaps), (9, 2));
    assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
    // Nobody vouches for the journal any more, so the last event is written anew, behind one that says so.
    let last = events(&killed.path()).split_off(7);
    assert_eq!(last[0].0, "rer.run.recovered");
    let end = |salted: &(String, String)| {
        Value::parse(salted.1.as_bytes(), &Limits::default()).map(|it| {
            ["exit_code", "reason", "status"]
                .map(|name| String::from_utf8_lossy(it.member(name).unwrap().text()).into_owned())
        })
    };
    assert_eq!(
        (last[1].0.as_str(), end(&last[1]).unwrap()),
        ("rer.run.ended", ["0", "\"exit\"", "\"completed\""].map(str::to_owned))
    );
    fs::remove_file(&sealed.path).unwrap();
    drop(ended);
    // A second recovery does not say it twice.
    let ended = Recorder::builder(&runs(&killed.dir), &key()).resume_ended(killed.id).unwrap();
    assert_eq!(ended.counts().events, 9);
    drop(ended);

    // Bytes behind the last event are not part of the run.
    let more = [&killed.journal, killed.lines()[5]].concat();
    fs::write(killed.path(), &more).unwrap();
    let ended = Recorder::builder(&runs(&killed.dir), &key()).resume_ended(killed.id).unwrap();
    assert_eq!(ended.counts().events, 9);
    drop(ended);

    // Killed while it ended: the gaps are recorded, and are not recorded again.
    let lines = killed.lines();
    let without_end = killed.journal.len() - lines.last().unwrap().len();
    let unfinished = killed.resume(&killed.journal[..without_end], None).unwrap();
    assert_eq!((unfinished.event_writer().open_steps(), unfinished.counts().gaps), (vec![], 2));
    let sealed = unfinished.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!((sealed.counts.events, sealed.counts.gaps), (9, 2));
    let one_gap = without_end - lines[7].len();
    fs::remove_file(&sealed.path).unwrap();
    let unfinished = killed.resume(&killed.journal[..one_gap], None).unwrap();
    assert_eq!(
        unfinished.event_writer().open_steps().iter().map(StepId::to_string).collect::<Vec<_>>(),
        ["s3"]
    );
    fs::write(killed.path(), &killed.journal[..one_gap]).unwrap();
    drop(unfinished);
    let refused =
        Recorder::builder(&runs(&killed.dir), &key()).resume_ended(killed.id).map(|_| ()).unwrap_err();
    assert_eq!(refused, ResumeError::NotEnded);
}

#[test]
fn another_key_cannot_go_on() {
    let killed = KilledRun::killed_after(|recorder| write_some(&recorder.event_writer()));
    let other = SecretKey::generate().unwrap();
    let folder = runs(&killed.dir);
    let refused = Recorder::builder(&folder, &other).resume(killed.id, || None).map(|_| ()).unwrap_err();
    assert_eq!(refused, ResumeError::Record(RecordError::OtherSigner));
    let refused = Recorder::builder(&folder, &other).resume_ended(killed.id).map(|_| ()).unwrap_err();
    assert_eq!(refused, ResumeError::Record(RecordError::OtherSigner));
    assert!(fs::read(killed.path()).unwrap() == killed.journal);
}

/// Returns the marks of a log whose last one is at so many bytes, in the form of version 0.1: without a hash.
fn log_without_hash(bytes: u64) -> LoggedJournal {
    log_of(&[JournalPosition { bytes, head: None }])
}

/// Returns the marks of a log that holds all jobs after the first mark.
fn log_of(positions: &[JournalPosition]) -> LoggedJournal {
    let mut log = LoggedJournal::default();
    for (job, position) in (1..).zip(positions) {
        log.add_mark(job, *position);
    }
    log.set_complete_from(1);
    log
}

impl KilledRun {
    /// Returns the position behind each event, by the hashes in the journal.
    fn positions(&self) -> Vec<JournalPosition> {
        let mut bytes = 0;
        let lines = self.lines();
        let position = |(events, line): (u64, &&[u8])| {
            bytes += line.len() as u64;
            let event = Value::parse(line.trim_ascii_end(), &Limits::default()).unwrap();
            let hash = event.member("event_hash").unwrap().string().unwrap();
            JournalPosition { bytes, head: Some((events, Digest::from_hex(&hash).unwrap())) }
        };
        (1..).zip(&lines[1..]).map(position).collect()
    }
}

#[test]
fn only_as_much_is_kept_as_the_log_says() {
    let killed = KilledRun::killed_after(|recorder| {
        write_some(&recorder.event_writer());
        recorder.end(&DONE).unwrap();
    });
    let (head, lines, positions) = (killed.head().len(), killed.lines(), killed.positions());
    let all = positions.last().unwrap().bytes;
    for position in &positions {
        for log in [log_without_hash(position.bytes), log_of(&[*position])] {
            let resumed = killed.resume(&killed.journal, Some(log));
            if position.bytes == all {
                assert_eq!(resumed.map(|_| ()).unwrap_err(), ResumeError::Ended);
                continue;
            }
            let recorder = resumed.unwrap();
            let (events, _) = position.head.unwrap();
            assert_eq!(
                (recorder.truncated_bytes(), recorder.counts().events),
                (all - position.bytes, events)
            );
            assert_eq!(recorder.event_writer().resumed_job(), Some(1));
            let kept = head + usize::try_from(position.bytes).unwrap();
            assert!(fs::read(killed.path()).unwrap() == killed.journal[..kept]);
            finish(recorder);
        }
    }
    // Lines that will be truncated are checked all the same, if others follow.
    let at = head + lines[1].len() + lines[2].len() + 100;
    let mut changed = killed.journal.clone();
    changed[at] ^= 1;
    assert_eq!(
        killed.resume_error(&changed, Some(log_of(&positions[..1]))),
        ResumeError::Changed { path: killed.shown(), line: 4 }
    );
}

/// Returns a journal with the same events and the same lengths, but for one letter of one payload: its chain is made anew,
/// as whoever may write the file can do.
fn forged(journal: &[u8]) -> Vec<u8> {
    let mut lines = journal.split_inclusive(|byte| *byte == b'\n');
    let mut forged = lines.next().unwrap().to_vec();
    let mut chain = EventHashChain::new(RerVersion::V02);
    for line in lines {
        let event = Value::parse(line.trim_ascii_end(), &Limits::default()).unwrap();
        let text = |name: &str| event.member(name).unwrap().string().unwrap().into_owned();
        let (event_type, timestamp) = (text("event_type"), text("timestamp"));
        let payload = String::from_utf8(event.member("payload").unwrap().text().to_vec()).unwrap();
        let payload = payload.replace("\"text\":\"ok\"", "\"text\":\"no\"");
        let step_index = event.member("step_index").unwrap().text();
        let event = NewEvent {
            step_index: std::str::from_utf8(step_index).unwrap().parse().unwrap(),
            event_type: &event_type,
            timestamp: &timestamp,
            payload: Some(payload.as_bytes()),
            redacted: false,
        };
        chain.append(&event, &mut forged).unwrap();
        forged.push(b'\n');
    }
    assert!(forged.len() == journal.len() && forged != journal);
    forged
}

/// The hash in the log tells a journal that was made anew from the one that was written, also if both have one length.
/// The refusal outlives the mark in the folder of the run.
#[test]
fn a_journal_that_the_log_contradicts_is_refused_for_good() {
    let killed = KilledRun::killed_after(|recorder| write_some(&recorder.event_writer()));
    let (positions, forged) = (killed.positions(), forged(&killed.journal));
    // Without a log nothing tells, and neither does a log of version 0.1.
    drop(killed.resume(&forged, None).unwrap());
    drop(killed.resume(&forged, Some(log_without_hash(positions[4].bytes))).unwrap());
    // The event that was changed is behind this mark.
    drop(killed.resume(&forged, Some(log_of(&positions[..1]))).unwrap());
    let refused = ResumeError::NotAsWritten { path: killed.shown() };
    assert_eq!(killed.resume_error(&forged, Some(log_of(&positions))), refused);
    let mark = killed.path().with_file_name("refused.json");
    let (_, head) = positions[4].head.unwrap();
    assert_eq!(
        fs::read_to_string(&mark).unwrap(),
        format!(
            "{{\"events\":5,\"head\":\"{head}\",\"refused\":\"reenact-refused/1\",\"run_id\":\"{}\"}}\n",
            killed.id
        )
    );
    let store = runs(&killed.dir);
    for _ in 0..2 {
        assert!(store.is_refused(killed.id));
        assert_eq!(killed.resume_error(&killed.journal, None), ResumeError::Refused { run_id: killed.id });
        assert_eq!(store.unsealed_runs(), Ok(vec![]));
        // The second time only the mark beside the logs is left, where there is a place for logs.
        fs::remove_file(&mark).unwrap_or_default();
        if WalDir::find().is_none() {
            return;
        }
    }
}

/// A mark in the middle of an event, another first line, and an end that the recorder cannot have written.
#[test]
fn whatever_contradicts_the_log_is_refused() {
    let refused = |killed: &KilledRun, log: LoggedJournal| {
        let error = killed.resume_error(&killed.journal, Some(log));
        assert_eq!(error, ResumeError::NotAsWritten { path: killed.shown() });
        assert!(runs(&killed.dir).is_refused(killed.id));
    };
    let fresh = || KilledRun::killed_after(|recorder| write_some(&recorder.event_writer()));
    let killed = fresh();
    refused(&killed, log_without_hash(killed.positions()[2].bytes - 1));
    let killed = fresh();
    refused(&killed, log_without_hash(1));
    let ended = KilledRun::killed_after(|recorder| {
        write_some(&recorder.event_writer());
        recorder.end(&DONE).unwrap();
    });
    let end = ended.positions().pop().unwrap();
    refused(&ended, log_of(&[JournalPosition { bytes: end.bytes + 1, head: None }]));
}

/// A journal that is shorter than its log, at every byte: continued from the last mark that it has, or else with a gap for
/// exactly the events that are lost.
#[test]
fn every_prefix_that_is_shorter_than_the_log_can_be_gone_on_with() {
    let killed = KilledRun::killed_after(|recorder| write_some(&recorder.event_writer()));
    let (head, positions) = (killed.head().len(), killed.positions());
    let last = positions.last().unwrap().bytes;
    for length in head..killed.journal.len() {
        let whole = positions.iter().take_while(|at| at.bytes <= (length - head) as u64).count();
        // Of the first log nothing before the last mark is left; the second one has all jobs after the third event.
        for first in [4, 2] {
            let log = log_of(&positions[first..]);
            let recorder = killed.resume(&killed.journal[..length], Some(log)).unwrap();
            let payloads = events(&killed.path());
            let gaps: Vec<_> =
                payloads.iter().filter(|(event_type, _)| event_type == "rer.capture.gap").collect();
            let is_healed = whole > first;
            assert_eq!(gaps.len(), usize::from(!is_healed), "{length}");
            if is_healed {
                let kept = (positions[whole - 1].bytes, Some((whole - first) as u64));
                assert_eq!((recorder.counts().bytes, recorder.event_writer().resumed_job()), kept);
                continue;
            }
            let lost = first + 1 - whole;
            let named = match lost {
                1 => format!("event {whole} of the journal"),
                _ => format!("events {whole} to {first} of the journal"),
            };
            assert!(gaps[0].1.contains(&format!("\"what\":\"{named}\"")), "{length}: {}", gaps[0].1);
            assert_eq!(recorder.event_writer().resumed_job(), Some(1));
            finish(recorder);
            let recovered = events(&killed.path()).into_iter().find(|(kind, _)| kind == "rer.run.recovered");
            let recovered = recovered.unwrap().1;
            assert!(recovered.contains(&format!("\"from\":\"log\",\"lost\":{lost},")), "{recovered}");
        }
    }
    // How many are lost is unknown to a log of version 0.1.
    let log = log_without_hash(last);
    let recorder = killed.resume(&killed.journal[..killed.journal.len() - 1], Some(log)).unwrap();
    let gap = events(&killed.path()).pop().unwrap();
    assert!(gap.1.contains("\"what\":\"events of the journal, from event 4 on\""), "{}", gap.1);
    finish(recorder);
}

/// A clock that is an hour behind the first recorder's.
#[test]
fn time_does_not_go_back() {
    struct PastClock;
    impl Clock for PastClock {
        fn now(&self) -> Duration {
            Duration::from_secs(1_794_772_946 - 3_600)
        }
    }
    let killed = KilledRun::killed_after(|recorder| write_some(&recorder.event_writer()));
    let env = RecordEnv { clock: Arc::new(PastClock), ..fixed_env() };
    let folder = runs(&killed.dir);
    let recorder = Recorder::builder(&folder, &key()).env(env.clone()).resume(killed.id, || None).unwrap();
    recorder.event_writer().record_gap("a", "b").unwrap();
    let journal = fs::read_to_string(killed.path()).unwrap();
    let last_two: Vec<&str> =
        journal.lines().rev().take(2).map(|line| line.rsplit("\"timestamp\":").next().unwrap()).collect();
    assert_eq!(last_two, ["\"2026-11-15T20:02:26.004000Z\"}"; 2]);
}
