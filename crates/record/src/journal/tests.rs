use super::*;
use crate::ledger::Ledger;
use std::fs::{File, OpenOptions};

/// The path of a journal in a folder of its own.
struct Fresh(PathBuf, #[expect(dead_code, reason = "removed on drop")] tempfile::TempDir);

impl Fresh {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self(folder.path().join(name), folder)
    }
}

fn gap(payload: &mut Payload<'_>) {
    payload.salt();
}

/// A clock that someone turns back.
struct Erratic(std::sync::Mutex<Vec<u64>>);

impl Clock for Erratic {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.lock().unwrap().pop().unwrap())
    }
}

#[test]
fn time_does_not_go_back() {
    let fresh = Fresh::new("clock");
    let clock = Arc::new(Erratic(std::sync::Mutex::new(vec![4, 2, 3])));
    let surroundings = Surroundings { clock, ..Surroundings::default() };
    let mut journal = Journal::create(&fresh.0, b"", &surroundings).unwrap();
    for _ in 0..3 {
        journal.append(EventType::CaptureGap, Room::Common, gap).unwrap();
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
    let mut journal = Journal::over(Box::new(file), path, 0, &Surroundings::default());
    let first = journal.append(EventType::CaptureGap, Room::Common, gap).unwrap_err();
    assert!(
        matches!(&first, RecordError::Journal { kind: io::ErrorKind::StorageFull, path, .. } if path == "/dev/full"),
        "{first:?}"
    );
    // The first error is told again, though the disk may have room by now.
    journal.file = Box::new(OpenOptions::new().append(true).open("/dev/null").unwrap());
    assert_eq!(journal.append(EventType::CaptureGap, Room::Common, gap), Err(first.clone()));
    assert_eq!((journal.events(), journal.bytes()), (0, 0));
    assert_eq!(journal.finish(), Err(first.clone()));
    let mut ledger = Ledger::new(journal);
    assert_eq!(ledger.append(EventType::CaptureGap, gap), Err(first.clone()));
    assert_eq!(ledger.end(|_, payload| payload.salt()), Err(first));
}

/// A pipe takes everything, and has no disk behind it.
#[cfg(unix)]
#[test]
fn a_sync_that_fails_closes_the_journal() {
    let (_reader, writer) = io::pipe().unwrap();
    let file = File::from(std::os::fd::OwnedFd::from(writer));
    let mut journal = Journal::over(Box::new(file), Path::new("pipe"), 0, &Surroundings::default());
    journal.append(EventType::RunStarted, Room::Common, gap).unwrap();
    let first = journal.sync().unwrap_err();
    assert!(matches!(&first, RecordError::Journal { kind: io::ErrorKind::InvalidInput, .. }), "{first:?}");
    let fresh = Fresh::new("synced-later");
    journal.file = Box::new(OpenOptions::new().append(true).create_new(true).open(&fresh.0).unwrap());
    assert_eq!(journal.sync(), Err(first.clone()), "it is not tried again");
    assert_eq!(journal.append(EventType::CaptureGap, Room::Common, gap), Err(first.clone()));
    assert_eq!(journal.finish(), Err(first));
}

#[test]
fn a_journal_is_synced_with_its_name() {
    let fresh = Fresh::new("synced");
    let mut journal = Journal::create(&fresh.0, b"", &Surroundings::default()).unwrap();
    journal.append(EventType::RunStarted, Room::Common, gap).unwrap();
    assert_eq!((journal.sync(), journal.is_name_synced), (Ok(()), true));
    assert_eq!(journal.sync(), Ok(()));
}

#[test]
fn a_journal_that_is_full_says_so_once_and_can_end() {
    let fresh = Fresh::new("full");
    let mut journal = Journal::create(&fresh.0, b"", &Surroundings::default()).unwrap();
    journal.append(EventType::RunStarted, Room::Common, gap).unwrap();
    let bytes = journal.bytes();
    journal.longest = bytes;
    let mut ledger = Ledger::new(journal);
    assert_eq!(ledger.append(EventType::ErrorRaised, gap), Err(RecordError::Full { bytes }));
    let with_gap = ledger.counts();
    assert_eq!((with_gap.events, with_gap.gaps, with_gap.errors), (2, 1, 0));
    let bytes = with_gap.bytes;
    assert_eq!(ledger.append(EventType::ErrorRaised, gap), Err(RecordError::Full { bytes }));
    assert_eq!(ledger.counts(), with_gap);
    ledger.end(|_, payload| payload.salt()).unwrap();
    assert_eq!(ledger.counts().events, 3);
}

/// Whoever takes up a journal that is full does not say so a second time.
#[test]
fn a_full_journal_stays_full() {
    let fresh = Fresh::new("full-again");
    let mut journal = Journal::create(&fresh.0, b"", &Surroundings::default()).unwrap();
    journal.append(EventType::RunStarted, Room::Common, gap).unwrap();
    journal.longest = journal.bytes();
    let mut ledger = Ledger::new(journal);
    ledger.append(EventType::ErrorRaised, gap).unwrap_err();
    let counts = ledger.counts();
    drop(ledger);

    let file = OpenOptions::new().read(true).append(true).open(&fresh.0).unwrap();
    let mut again = Ledger::new(Journal::over(Box::new(file), &fresh.0, 0, &Surroundings::default()));
    let mut end = ChainEnd::new();
    for line in std::fs::read(&fresh.0).unwrap().split_inclusive(|byte| *byte == b'\n') {
        let (event_type, payload) = end.advance(line.trim_ascii_end()).unwrap();
        again.take_up(&event_type, payload).unwrap();
        again.journal.take_up(line, &end);
    }
    assert_eq!(again.counts(), counts);
    again.journal.longest = counts.bytes;
    let full = RecordError::Full { bytes: counts.bytes };
    assert_eq!(again.append(EventType::ErrorRaised, gap), Err(full));
    assert_eq!(again.counts(), counts);
}

#[test]
fn only_timestamps_of_ours_name_a_moment() {
    let moment_of = |text| moment(text).map(|moment| moment.as_micros());
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
    let fresh = Fresh::new("back");
    let mut journal = Journal::create(&fresh.0, b"", &Surroundings::default()).unwrap();
    for _ in 0..2_000 {
        journal.append(EventType::CaptureGap, Room::Common, gap).unwrap();
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
