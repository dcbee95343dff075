use super::*;
use crate::run_state::RunState;
use std::fs::{File, OpenOptions};

/// Path of a journal in a temporary folder.
struct TempJournal(PathBuf, #[expect(dead_code, reason = "removed on drop")] tempfile::TempDir);

impl TempJournal {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self(folder.path().join(name), folder)
    }
}

/// Writes no member but the salt.
fn gap(_: &mut MaskedPayloadWriter<'_>) {}

/// Clock that is set back between events: returns the seconds of a list, last first.
struct BackwardClock(std::sync::Mutex<Vec<u64>>);

impl Clock for BackwardClock {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.lock().unwrap().pop().unwrap())
    }
}

#[test]
fn time_does_not_go_back() {
    let fresh = TempJournal::new("clock");
    let clock = Arc::new(BackwardClock(std::sync::Mutex::new(vec![4, 2, 3])));
    let env = RecordEnv { clock, ..RecordEnv::default() };
    let mut journal = Journal::create(&fresh.0, b"", &env).unwrap();
    for _ in 0..3 {
        journal.append(EventType::CaptureGap, JournalSpace::Common, gap).unwrap();
    }
    let text = std::fs::read_to_string(&fresh.0).unwrap();
    let seconds: Vec<&str> =
        text.lines().map(|line| line.rsplit("T00:00:").next().unwrap().split('.').next().unwrap()).collect();
    assert_eq!(seconds, ["03", "03", "04"]);
    for line in text.lines() {
        let timestamp = line.rsplit("\"timestamp\":\"").next().unwrap().trim_end_matches("\"}");
        assert!(time::is_event_timestamp(timestamp.as_bytes()), "{timestamp}");
    }
}

/// Every write to this device fails, as on a disk without room.
#[cfg(target_os = "linux")]
#[test]
fn a_write_that_fails_closes_the_journal() {
    let path = Path::new("/dev/full");
    let file = OpenOptions::new().read(true).append(true).open(path).unwrap();
    let mut journal = Journal::from_file(Box::new(file), path, b"", &RecordEnv::default());
    let first = journal.append(EventType::CaptureGap, JournalSpace::Common, gap).unwrap_err();
    assert!(
        matches!(&first, RecordError::Journal { kind: io::ErrorKind::StorageFull, path, .. } if path == "/dev/full"),
        "{first:?}"
    );
    // The first error is returned again, though the disk may have room by now.
    journal.file = Box::new(OpenOptions::new().append(true).open("/dev/null").unwrap());
    assert_eq!(journal.append(EventType::CaptureGap, JournalSpace::Common, gap), Err(first.clone()));
    assert_eq!((journal.events(), journal.bytes()), (0, 0));
    assert_eq!(journal.finish(), Err(first.clone()));
    let mut state = RunState::new(journal);
    assert_eq!(state.append(EventType::CaptureGap, gap), Err(first.clone()));
    assert_eq!(state.end_run(None, |_, _| {}), Err(first));
}

/// A pipe takes everything, and has no disk behind it.
#[cfg(unix)]
#[test]
fn a_sync_that_fails_closes_the_journal() {
    let (_reader, writer) = io::pipe().unwrap();
    let file = File::from(std::os::fd::OwnedFd::from(writer));
    let mut journal = Journal::from_file(Box::new(file), Path::new("pipe"), b"", &RecordEnv::default());
    journal.append(EventType::RunStarted, JournalSpace::Common, gap).unwrap();
    let first = journal.sync().unwrap_err();
    assert!(matches!(&first, RecordError::Journal { kind: io::ErrorKind::InvalidInput, .. }), "{first:?}");
    let fresh = TempJournal::new("synced-later");
    journal.file = Box::new(OpenOptions::new().append(true).create_new(true).open(&fresh.0).unwrap());
    assert_eq!(journal.sync(), Err(first.clone()), "it is not tried again");
    assert_eq!(journal.append(EventType::CaptureGap, JournalSpace::Common, gap), Err(first.clone()));
    assert_eq!(journal.finish(), Err(first));
}

#[test]
fn a_journal_is_synced_with_its_name() {
    let fresh = TempJournal::new("synced");
    let mut journal = Journal::create(&fresh.0, b"", &RecordEnv::default()).unwrap();
    journal.append(EventType::RunStarted, JournalSpace::Common, gap).unwrap();
    assert_eq!((journal.sync(), journal.is_name_synced), (Ok(()), true));
    assert_eq!(journal.sync(), Ok(()));
}

#[test]
fn a_journal_that_is_full_says_so_once_and_can_end() {
    let fresh = TempJournal::new("full");
    let mut journal = Journal::create(&fresh.0, b"", &RecordEnv::default()).unwrap();
    journal.append(EventType::RunStarted, JournalSpace::Common, gap).unwrap();
    let bytes = journal.bytes();
    journal.max_bytes = bytes;
    let mut state = RunState::new(journal);
    assert_eq!(state.append(EventType::ErrorRaised, gap), Err(RecordError::Full { bytes }));
    let with_gap = state.counts();
    assert_eq!((with_gap.events, with_gap.gaps, with_gap.errors), (2, 1, 0));
    let bytes = with_gap.bytes;
    assert_eq!(state.append(EventType::ErrorRaised, gap), Err(RecordError::Full { bytes }));
    assert_eq!(state.counts(), with_gap);
    state.end_run(None, |_, _| {}).unwrap();
    assert_eq!(state.counts().events, 3);
}

/// The gap that says that the journal is full is recorded once, even if the journal is resumed.
#[test]
fn a_full_journal_stays_full() {
    let fresh = TempJournal::new("full-again");
    let mut journal = Journal::create(&fresh.0, b"", &RecordEnv::default()).unwrap();
    journal.append(EventType::RunStarted, JournalSpace::Common, gap).unwrap();
    journal.max_bytes = journal.bytes();
    let mut state = RunState::new(journal);
    state.append(EventType::ErrorRaised, gap).unwrap_err();
    let counts = state.counts();
    drop(state);

    let file = OpenOptions::new().read(true).append(true).open(&fresh.0).unwrap();
    let mut again = RunState::new(Journal::from_file(Box::new(file), &fresh.0, b"", &RecordEnv::default()));
    let mut end = ChainEnd::new();
    for line in std::fs::read(&fresh.0).unwrap().split_inclusive(|byte| *byte == b'\n') {
        let (event_type, payload) = end.advance(line.trim_ascii_end()).unwrap();
        again.resume_event(&event_type, payload).unwrap();
        again.journal.resume_event(line, &end);
    }
    assert_eq!(again.counts(), counts);
    again.journal.max_bytes = counts.bytes;
    let full = RecordError::Full { bytes: counts.bytes };
    assert_eq!(again.append(EventType::ErrorRaised, gap), Err(full));
    assert_eq!(again.counts(), counts);
}

#[test]
fn only_timestamps_of_ours_name_a_moment() {
    let moment_of = |text| timestamp_instant(text).map(|moment| moment.as_micros());
    assert_eq!(moment_of("1970-01-01T00:00:01.000002Z"), Some(1_000_002));
    assert_eq!(moment_of("9999-12-31T23:59:59.999999Z"), Some(253_402_300_799_999_999));
    for other in [
        "1970-01-01T00:00:01.0000020Z",
        "1970-01-01T00:00:01.00000Z",
        "1970-01-01T00:00:01.000002z",
        "1969-12-31T23:59:59.000000Z",
        "1970-01-01T00:00:60.000000Z",
        "1970-01-01T01:00:01.000002+01:00",
        "",
    ] {
        assert_eq!(moment_of(other), None, "{other}");
    }
}

#[test]
fn what_is_read_back_is_what_was_written() {
    let fresh = TempJournal::new("back");
    let mut journal = Journal::create(&fresh.0, b"", &RecordEnv::default()).unwrap();
    for _ in 0..2_000 {
        journal.append(EventType::CaptureGap, JournalSpace::Common, gap).unwrap();
    }
    let written = journal.finish().unwrap();
    let text = std::fs::read_to_string(&fresh.0).unwrap();
    assert!(text.len() > 512 << 10, "more than one piece");
    let mut events = Vec::new();
    journal
        .read_back(&written, |piece| {
            events.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
    assert_eq!(String::from_utf8(events).unwrap(), text.trim_end().replace('\n', ","));
}
