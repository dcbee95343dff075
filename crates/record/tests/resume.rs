//! Runs whose recorder was killed, taken up again: wherever the journal breaks off, whatever was done to it meanwhile.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reenact_formats::rer::seal::Signer;
use reenact_json::{Limits, Value};
use reenact_record::clock::Clock;
use reenact_record::{
    Counts, Exchange, Pen, RawAnswer, RawRequest, RawToolCall, RawToolResult, RecordError, Recorder,
    Recording, ResumeError, RunId, RunStart, SecretKey, Source, StepId, Surroundings, Via,
};
use reenact_testkit::fixture::TestDir;
use support::{DONE, answer, events, judged, key, known_surroundings, run_id, runs};

const MATCH_KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn call(pen: &Pen, kind: Exchange, body: &[u8]) -> StepId {
    let raw = RawRequest { provider: "openai", method: "POST", path: "/v1/x", headers: &[], body };
    pen.called(kind, &pen.mask_request(&raw), Some("m"), None, MATCH_KEY).unwrap()
}

const LOOKUP: RawToolCall<'_> = RawToolCall {
    tool_call_id: "call_1",
    tool: "lookup",
    input: "{}",
    via: Via::Conversation,
    source: Source::Inferred,
};

/// A run with one of each that matters: five events, of which two steps have not returned.
fn write_some(pen: &Pen) {
    let first = call(pen, Exchange::Model, b"{}");
    pen.tool_called(&LOOKUP).unwrap();
    pen.returned(&first, answer(b"ok")).unwrap();
    call(pen, Exchange::Http, b"");
}

/// A journal that can be put in its place again and again.
struct Killed {
    place: TestDir,
    id: RunId,
    journal: Vec<u8>,
}

impl Killed {
    /// A run in which `write` was written before the recorder was killed.
    fn after(write: impl FnOnce(Recorder<Recording>)) -> Self {
        let (place, id) = (TestDir::in_memory(), run_id());
        let recorder =
            Recorder::begin_in(&runs(&place), &RunStart::new(id), &key(), &known_surroundings()).unwrap();
        write(recorder);
        let journal = fs::read(runs(&place).journal(id)).unwrap();
        Self { place, id, journal }
    }

    fn path(&self) -> PathBuf {
        runs(&self.place).journal(self.id)
    }

    fn shown(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }

    /// What becomes of it with these bytes as its journal.
    fn resume(&self, journal: &[u8], keep: Option<u64>) -> Result<Recorder<Recording>, ResumeError> {
        fs::write(self.path(), journal).unwrap();
        Recorder::resume(&runs(&self.place), self.id, &key(), || keep)
    }

    /// The same, of which nothing but an error is expected, and that the file stays as it is.
    fn refused(&self, journal: &[u8], keep: Option<u64>) -> ResumeError {
        let error = self.resume(journal, keep).map(|_| ()).unwrap_err();
        assert!(fs::read(self.path()).unwrap() == journal, "{error}: the journal was changed");
        error
    }

    /// The lines, with their line feeds; the head is the first.
    fn lines(&self) -> Vec<&[u8]> {
        self.journal.split_inclusive(|byte| *byte == b'\n').collect()
    }

    fn head(&self) -> &[u8] {
        self.lines()[0]
    }
}

/// Records one more event, ends the run, seals it, has it judged; gives the number of events in the artifact.
fn finish(recorder: Recorder<Recording>) -> usize {
    recorder.pen().error("a", "b", "c").unwrap();
    let open = recorder.pen().open_steps().len();
    let before = recorder.counts().events;
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!(sealed.counts.events, before + open as u64 + 1, "a gap for each open step, and the end");
    let report = judged(&sealed.path, &key());
    assert_eq!((report.reasons.as_slice(), report.pass()), ([].as_slice(), true));
    let bytes = fs::read(&sealed.path).unwrap();
    fs::remove_file(&sealed.path).unwrap();
    let artifact = Value::parse(&bytes, &Limits::default()).unwrap();
    artifact.member("events").unwrap().elements().count()
}

#[test]
fn every_prefix_of_a_journal_can_be_gone_on_with() {
    let killed = Killed::after(|recorder| write_some(&recorder.pen()));
    let (head, lines) = (killed.head().len(), killed.lines());
    assert_eq!(lines.len(), 6);
    for length in 0..=killed.journal.len() {
        let prefix = &killed.journal[..length];
        if length < head {
            assert_eq!(killed.refused(prefix, None), ResumeError::TornHead { path: killed.shown() });
            continue;
        }
        let whole = prefix.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        let events = prefix.iter().filter(|byte| **byte == b'\n').count() - 1;
        let recorder = killed.resume(prefix, None).unwrap();
        assert_eq!(recorder.cut(), (length - whole) as u64);
        let now = fs::read(killed.path()).unwrap();
        if events == 0 {
            // A run has a first event, whatever else it has.
            assert_eq!(&now[..head], killed.head());
            assert_eq!(events_of(&killed), ["rer.run.started"]);
        } else {
            assert!(now == prefix[..whole], "{length}");
        }
        let events = events.max(1);
        let open = [0, 0, 1, 2, 1, 2][events];
        assert_eq!((recorder.counts().events, recorder.pen().open_steps().len()), (events as u64, open));
        assert_eq!(recorder.counts().bytes, (now.len() - head) as u64);
        assert_eq!(finish(recorder), events + 1 + open + 1, "{length}");
    }
}

fn events_of(killed: &Killed) -> Vec<String> {
    events(&killed.path()).into_iter().map(|(event_type, _)| event_type).collect()
}

/// Whatever was written before the kill: the artifact is the one that would have been.
#[test]
fn what_is_sealed_is_what_would_have_been_sealed() {
    struct Still;
    impl Clock for Still {
        fn now(&self) -> Duration {
            Duration::from_secs(1_794_772_946)
        }
    }
    let surroundings = Surroundings { clock: Arc::new(Still), ..known_surroundings() };
    let artifact = |is_killed: bool| {
        let (place, id) = (TestDir::new(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f".parse().unwrap());
        let command = ["agent".into()];
        let start = RunStart { command: &command, upstreams: &[("a", "http://a")], ..RunStart::new(id) };
        let mut recorder = Recorder::begin_in(&runs(&place), &start, &key(), &surroundings).unwrap();
        write_some(&recorder.pen());
        let before = recorder.counts();
        if is_killed {
            drop(recorder);
            recorder = Recorder::resume_in(&runs(&place), id, &key(), || None, &surroundings).unwrap();
        }
        assert_eq!(recorder.counts(), before);
        let pen = recorder.pen();
        assert_eq!(pen.open_steps().iter().map(StepId::to_string).collect::<Vec<_>>(), ["s2", "s3"]);
        let [tool, http] = pen.open_steps().try_into().unwrap();
        let result = RawToolResult { output: "1", is_error: false, latency: None };
        assert_eq!(pen.tool_returned(&http, &result), Err(RecordError::NotOpen { step: http }));
        pen.tool_returned(&tool, &result).unwrap();
        assert_eq!(call(&pen, Exchange::Model, b"").to_string(), "s4");
        pen.returned(&http, RawAnswer::default()).unwrap();
        pen.gap("a", "b").unwrap();
        pen.error("a", "b", "c").unwrap();
        let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
        (fs::read(&sealed.path).unwrap(), sealed.counts)
    };
    let (killed, counts) = artifact(true);
    assert!(killed == artifact(false).0);
    let expected =
        Counts { model_calls: 2, http_calls: 1, tool_calls: 1, errors: 1, gaps: 2, events: 12, ..counts };
    assert_eq!(counts, expected);
}

/// One bit of each byte of the journal.
fn flipped(journal: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..journal.len()).map(|at| {
        let mut flipped = journal.to_vec();
        flipped[at] ^= 1 << (at % 8);
        (at, flipped)
    })
}

#[test]
fn a_changed_line_is_refused_if_others_stand_behind_it() {
    let killed = Killed::after(|recorder| write_some(&recorder.pen()));
    let lines = killed.lines();
    let head = killed.head().len();
    let last = killed.journal.len() - lines.last().unwrap().len();
    for (at, flipped) in flipped(&killed.journal).skip(head) {
        let line = 1 + killed.journal[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
        let changed = ResumeError::Changed { path: killed.shown(), line };
        if at < last - 1 || at > last && flipped[at] == b'\n' && at + 1 < flipped.len() {
            assert_eq!(killed.refused(&flipped, None), changed, "{at}");
            continue;
        }
        // The last line, and one that runs into it, may be what was being written: it goes.
        let recorder = killed.resume(&flipped, None).unwrap();
        let events = if at < last { 3 } else { 4 };
        assert_eq!(recorder.counts().events, events, "{at}");
    }
}

#[test]
fn a_changed_head_is_refused() {
    let killed = Killed::after(|recorder| write_some(&recorder.pen()));
    let head = killed.head();
    let find = |text: &str| str::from_utf8(head).unwrap().find(text).unwrap();
    let (key_id, version) = (find("\"key_id\":\"") + 10, find("_version\":\"0") + 11);
    let key_id = key_id..key_id + key().public_key().id().to_string().len();
    let version = version..version + env!("CARGO_PKG_VERSION").len();
    for (at, flipped) in flipped(&killed.journal).take(head.len()) {
        if version.contains(&at) {
            // It says who wrote this, and nothing hangs on it.
            continue;
        }
        let error = killed.refused(&flipped, None);
        let is_other = error == ResumeError::Record(RecordError::OtherSigner) && key_id.contains(&at);
        assert!(is_other || error == ResumeError::Head { path: killed.shown() }, "{at}: {error:?}");
    }
    // Nor does that of another run do, nor a journal without one.
    let other = Killed::after(|recorder| write_some(&recorder.pen()));
    assert_eq!(killed.refused(&other.journal, None), ResumeError::Head { path: killed.shown() });
    let headless = &killed.journal[head.len()..];
    assert_eq!(killed.refused(headless, None), ResumeError::Head { path: killed.shown() });
    // An envelope that is good, but not the one that the run began under.
    let other =
        str::from_utf8(&killed.journal).unwrap().replacen("\"limits\":{}", "\"limits\":{\"max_steps\":9}", 1);
    assert_eq!(killed.refused(other.as_bytes(), None), ResumeError::Head { path: killed.shown() });
}

#[test]
fn lines_that_are_gone_twice_there_or_in_another_order_are_refused() {
    let killed = Killed::after(|recorder| write_some(&recorder.pen()));
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
        assert_eq!(killed.refused(&journal(order), None), changed, "{order:?}");
    }
    // An empty line is a line.
    let empty = [&journal(&[0, 1]), b"\n".as_slice(), &journal(&[2])].concat();
    assert_eq!(killed.refused(&empty, None), ResumeError::Changed { path: killed.shown(), line: 3 });
}

/// As a file system leaves them behind when the machine stops: a line of any length, of which nothing is held in memory.
#[test]
fn zeros_at_the_end_are_cut_off() {
    let killed = Killed::after(|recorder| write_some(&recorder.pen()));
    fs::write(killed.path(), &killed.journal).unwrap();
    let zeros = 64 << 20;
    let file = fs::OpenOptions::new().write(true).open(killed.path()).unwrap();
    file.set_len(killed.journal.len() as u64 + zeros).unwrap();
    let recorder = Recorder::resume(&runs(&killed.place), killed.id, &key(), || None).unwrap();
    assert_eq!((recorder.cut(), recorder.counts().events), (zeros, 5));
    assert!(fs::read(killed.path()).unwrap() == killed.journal);
    // More than a journal can ever be is not read at all.
    drop(recorder);
    file.set_len(1 << 33).unwrap();
    let refused = Recorder::resume(&runs(&killed.place), killed.id, &key(), || None).map(|_| ()).unwrap_err();
    let bytes = (1 << 33) - killed.head().len() as u64;
    assert_eq!(refused, ResumeError::Record(RecordError::Full { bytes }));
}

#[test]
fn a_run_that_has_ended_is_sealed_as_it_is() {
    let killed = Killed::after(|recorder| {
        write_some(&recorder.pen());
        recorder.end(&DONE).unwrap();
    });
    assert_eq!(killed.refused(&killed.journal, None), ResumeError::Ended);
    let ended = Recorder::resume_ended(&runs(&killed.place), killed.id, &key()).unwrap();
    assert_eq!(ended.out().path, runs(&killed.place).artifact(killed.id));
    let sealed = ended.seal(&key()).unwrap();
    assert_eq!((sealed.counts.events, sealed.counts.gaps), (8, 2));
    assert_eq!(judged(&sealed.path, &key()).reasons, [""; 0]);
    fs::remove_file(&sealed.path).unwrap();
    drop(ended);

    // What was written behind the end is not part of the run.
    let more = [&killed.journal, killed.lines()[5]].concat();
    fs::write(killed.path(), &more).unwrap();
    let ended = Recorder::resume_ended(&runs(&killed.place), killed.id, &key()).unwrap();
    assert_eq!(ended.counts().events, 8);
    assert!(fs::read(killed.path()).unwrap() == killed.journal);
    drop(ended);

    // Killed while it ended: the gaps are there, and are not noted again.
    let lines = killed.lines();
    let without_end = killed.journal.len() - lines.last().unwrap().len();
    let unfinished = killed.resume(&killed.journal[..without_end], None).unwrap();
    assert_eq!((unfinished.pen().open_steps(), unfinished.counts().gaps), (vec![], 2));
    let sealed = unfinished.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!((sealed.counts.events, sealed.counts.gaps), (8, 2));
    let one_gap = without_end - lines[7].len();
    fs::remove_file(&sealed.path).unwrap();
    let unfinished = killed.resume(&killed.journal[..one_gap], None).unwrap();
    assert_eq!(unfinished.pen().open_steps().iter().map(StepId::to_string).collect::<Vec<_>>(), ["s3"]);
    fs::write(killed.path(), &killed.journal[..one_gap]).unwrap();
    drop(unfinished);
    let refused = Recorder::resume_ended(&runs(&killed.place), killed.id, &key()).map(|_| ()).unwrap_err();
    assert_eq!(refused, ResumeError::NotEnded);
}

#[test]
fn another_key_cannot_go_on() {
    let killed = Killed::after(|recorder| write_some(&recorder.pen()));
    let other = SecretKey::generate().unwrap();
    let folder = runs(&killed.place);
    let refused = Recorder::resume(&folder, killed.id, &other, || None).map(|_| ()).unwrap_err();
    assert_eq!(refused, ResumeError::Record(RecordError::OtherSigner));
    let refused = Recorder::resume_ended(&folder, killed.id, &other).map(|_| ()).unwrap_err();
    assert_eq!(refused, ResumeError::Record(RecordError::OtherSigner));
    assert!(fs::read(killed.path()).unwrap() == killed.journal);
}

#[test]
fn only_as_much_is_kept_as_is_asked_for() {
    let killed = Killed::after(|recorder| {
        write_some(&recorder.pen());
        recorder.end(&DONE).unwrap();
    });
    let (head, lines) = (killed.head().len(), killed.lines());
    let mut borders = vec![0_u64];
    for line in &lines[1..] {
        borders.push(borders.last().unwrap() + line.len() as u64);
    }
    let all = *borders.last().unwrap();
    for keep in 0..all + 3 {
        let Ok(events) = borders.binary_search(&keep) else {
            assert_eq!(
                killed.refused(&killed.journal, Some(keep)),
                ResumeError::Keep { path: killed.shown(), keep }
            );
            continue;
        };
        if keep == all {
            assert_eq!(killed.refused(&killed.journal, Some(keep)), ResumeError::Ended);
            continue;
        }
        let recorder = killed.resume(&killed.journal, Some(keep)).unwrap();
        assert_eq!((recorder.cut(), recorder.counts().events), (all - keep, events.max(1) as u64));
        if events > 0 {
            let kept = head + usize::try_from(keep).unwrap();
            assert!(fs::read(killed.path()).unwrap() == killed.journal[..kept]);
        }
        finish(recorder);
    }
    // What is to be cut is looked at all the same, as long as something stands behind it.
    let at = head + lines[1].len() + lines[2].len() + 100;
    let mut changed = killed.journal.clone();
    changed[at] ^= 1;
    assert_eq!(
        killed.refused(&changed, Some(borders[1])),
        ResumeError::Changed { path: killed.shown(), line: 4 }
    );
}

/// A clock that is an hour behind the one before.
#[test]
fn time_does_not_go_back() {
    struct Behind;
    impl Clock for Behind {
        fn now(&self) -> Duration {
            Duration::from_secs(1_794_772_946 - 3_600)
        }
    }
    let killed = Killed::after(|recorder| write_some(&recorder.pen()));
    let surroundings = Surroundings { clock: Arc::new(Behind), ..known_surroundings() };
    let folder = runs(&killed.place);
    let recorder = Recorder::resume_in(&folder, killed.id, &key(), || None, &surroundings).unwrap();
    recorder.pen().gap("a", "b").unwrap();
    let journal = fs::read_to_string(killed.path()).unwrap();
    let last_two: Vec<&str> =
        journal.lines().rev().take(2).map(|line| line.rsplit("\"timestamp\":").next().unwrap()).collect();
    assert_eq!(last_two, ["\"2026-11-15T20:02:26.004000Z\"}"; 2]);
}
