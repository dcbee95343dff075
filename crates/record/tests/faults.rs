//! Disks that fail: what was promised holds, what cannot be kept is said, and nothing is written behind what is torn.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use reenact_record::clock::Clock;
use reenact_record::{
    Exchange, Pen, RawRequest, RecordError, Recorder, Recording, ResumeError, RunId, RunStart, Surroundings,
};
use reenact_testkit::fixture::TestDir;
use support::faulty::{EIO, ENOSPC, EROFS, Faulty};
use support::{DONE, answer, judged, key, known_surroundings, runs};

fn id() -> RunId {
    "017f22e2-79b0-7cc3-98c4-dc0c0c07398f".parse().unwrap()
}

/// A run on a disk that fails.
struct Rig {
    place: TestDir,
    storage: Faulty,
}

impl Rig {
    fn new() -> Self {
        Self { place: TestDir::in_memory(), storage: Faulty::default() }
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings { storage: Arc::new(self.storage.clone()), ..known_surroundings() }
    }

    fn begin(&self) -> Result<Recorder<Recording>, RecordError> {
        Recorder::begin_in(&runs(&self.place), &RunStart::new(id()), &key(), &self.surroundings())
    }

    fn journal(&self) -> Vec<u8> {
        fs::read(runs(&self.place).journal(id())).unwrap_or_default()
    }

    /// The run, taken up again on a disk that works, ended, sealed and found to hold; how many events were still there.
    fn recover(&self) -> Result<u64, ResumeError> {
        let recorder = Recorder::resume(&runs(&self.place), id(), &key(), || None)?;
        let events = recorder.counts().events;
        recorder.pen().gap("after", "the fault").unwrap();
        let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
        assert_eq!(judged(&sealed.path, &key()).reasons, [""; 0]);
        Ok(events)
    }
}

fn ask(pen: &Pen, body: &[u8]) -> Result<(), RecordError> {
    let raw = RawRequest { provider: "openai", method: "POST", path: "/v1/x", headers: &[], body };
    let step = pen.called(Exchange::Model, &pen.mask_request(&raw), Some("m"), None, &"0".repeat(64))?;
    pen.returned(&step, answer(b"ok"))
}

/// Writes until something fails.
fn write(rig: &Rig) -> Result<Recorder<Recording>, RecordError> {
    let recorder = rig.begin()?;
    let pen = recorder.pen();
    for _ in 0..2 {
        ask(&pen, b"{}").inspect_err(|first| stays_closed(rig, &pen, first))?;
    }
    Ok(recorder)
}

/// Every call gets the first error, and none reaches the disk, which is well again.
fn stays_closed(rig: &Rig, pen: &Pen, first: &RecordError) {
    let mut faults = rig.storage.faults();
    (faults.room, faults.sync) = (None, None);
    let calls = faults.calls;
    drop(faults);
    let before = rig.journal();
    assert_eq!(pen.gap("a", "b"), Err(first.clone()));
    assert_eq!(pen.sync(), Err(first.clone()));
    assert_eq!(pen.sync(), Err(first.clone()));
    assert_eq!(rig.storage.faults().calls, calls, "{first}");
    assert!(rig.journal() == before);
}

#[test]
fn short_and_interrupted_writes_change_nothing() {
    let sealed = |most, interrupts| {
        let rig = Rig::new();
        (rig.storage.faults().most, rig.storage.faults().interrupts) = (most, interrupts);
        let sealed = write(&rig).unwrap().end(&DONE).unwrap().seal(&key()).unwrap();
        (rig.journal(), fs::read(sealed.path).unwrap())
    };
    let whole = sealed(0, false);
    for most in [1, 2, 3, 1000] {
        assert!(sealed(most, false) == whole && sealed(most, true) == whole, "{most}");
    }
}

/// Half a line may be there, and nothing comes behind it; what is whole is recovered.
#[test]
fn a_disk_without_room_at_any_byte() {
    let rig = Rig::new();
    write(&rig).unwrap();
    let whole = rig.journal();
    let head = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for (at, errno) in (0..whole.len()).step_by(7).zip([ENOSPC, EIO, EROFS].into_iter().cycle()) {
        let rig = Rig::new();
        rig.storage.faults().room = Some((at, errno));
        let error = write(&rig).err().unwrap();
        let expected = io::Error::from_raw_os_error(errno);
        let path = runs(&rig.place).journal(id()).to_str().unwrap().to_owned();
        let journal =
            RecordError::Journal { path: path.clone(), kind: expected.kind(), text: expected.to_string() };
        assert_eq!(error, journal, "{at}");
        assert!(rig.journal() == whole[..at], "{at}");
        rig.storage.faults().room = None;
        if at < head {
            assert_eq!(rig.recover(), Err(ResumeError::TornHead { path }));
            continue;
        }
        let lines = whole[head..at].iter().filter(|byte| **byte == b'\n').count() as u64;
        assert_eq!(rig.recover(), Ok(lines.max(1)), "{at}: a run has a first event");
    }
}

/// Whatever the disk has then nobody knows, and asking again would not tell.
#[test]
fn a_sync_that_fails_is_never_tried_again() {
    for sync in 0..4 {
        let rig = Rig::new();
        let recorder = rig.begin().unwrap();
        let pen = recorder.pen();
        rig.storage.faults().sync = Some(sync);
        let failed = (0..4).find_map(|_| {
            ask(&pen, b"{}").unwrap();
            pen.sync().err()
        });
        let first = failed.unwrap();
        assert!(
            matches!(&first, RecordError::Journal { text, .. } if text.contains("os error 5")),
            "{first}"
        );
        stays_closed(&rig, &pen, &first);
        drop(pen);
        assert_eq!(recorder.end(&DONE).map(|_| ()), Err(first));
        // What was written is not lost with it.
        assert_eq!(rig.recover(), Ok(1 + 2 * (sync as u64 + 1)));
    }
    // The last of all counts like the others.
    let rig = Rig::new();
    let recorder = rig.begin().unwrap();
    rig.storage.faults().sync = Some(0);
    assert!(matches!(recorder.end(&DONE), Err(RecordError::Journal { .. })));
}

#[test]
fn a_disk_that_takes_nothing_to_begin_with() {
    let rig = Rig::new();
    rig.storage.faults().is_read_only = true;
    let error = rig.begin().map(|_| ()).unwrap_err();
    assert!(
        matches!(&error, RecordError::Io { kind: io::ErrorKind::ReadOnlyFilesystem, path, .. } if path.ends_with("journal.jsonl")),
        "{error:?}"
    );
    assert_eq!(runs(&rig.place).unsealed(), Ok(vec![]), "there is nothing to recover");
}

#[test]
fn a_disk_that_takes_no_artifact() {
    let rig = Rig::new();
    let ended = write(&rig).unwrap().end(&DONE).unwrap();
    rig.storage.faults().is_read_only = true;
    let error = ended.seal(&key()).unwrap_err();
    assert!(matches!(&error, RecordError::Io { kind: io::ErrorKind::ReadOnlyFilesystem, .. }), "{error:?}");
    rig.storage.faults().is_read_only = false;
    for at in [0, 1, 4000] {
        rig.storage.faults().room = Some((at, ENOSPC));
        let error = ended.seal(&key()).unwrap_err();
        assert!(matches!(&error, RecordError::Io { kind: io::ErrorKind::StorageFull, .. }), "{error:?}");
        assert_eq!(rig.place.names(), names(), "neither half an artifact nor a temporary file");
    }
    rig.storage.faults().room = None;
    assert_eq!(judged(&ended.seal(&key()).unwrap().path, &key()).reasons, [""; 0]);
}

/// The files of a run that is not sealed.
fn names() -> [String; 2] {
    [".reenact/.gitignore".into(), format!(".reenact/runs/{}/journal.jsonl", id())]
}

/// As by someone who cleans up the project while its agent runs.
#[test]
fn a_folder_that_is_removed_meanwhile() {
    for synced in [false, true] {
        let rig = Rig::new();
        let recorder = write(&rig).unwrap();
        if synced {
            recorder.pen().sync().unwrap();
        }
        fs::remove_dir_all(runs(&rig.place).path()).unwrap();
        let pen = recorder.pen();
        ask(&pen, b"{}").unwrap();
        drop(pen);
        let ended = recorder.end(&DONE).unwrap();
        let refused = Recorder::resume_ended(&runs(&rig.place), id(), &key()).map(|_| ()).unwrap_err();
        assert_eq!(refused, ResumeError::Busy { run_id: id() });
        let sealed = ended.seal(&key()).unwrap();
        assert_eq!((sealed.counts.events, sealed.counts.model_calls), (8, 3));
        assert_eq!(judged(&sealed.path, &key()).reasons, [""; 0]);
        use std::os::unix::fs::PermissionsExt;
        for path in [runs(&rig.place).path(), &runs(&rig.place).run(id())] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }
}

/// Nothing is written where a link leads.
#[test]
fn a_link_in_the_place_of_a_removed_folder() {
    let rig = Rig::new();
    let recorder = write(&rig).unwrap();
    let (folder, elsewhere) = (runs(&rig.place), rig.place.join("elsewhere"));
    fs::remove_dir_all(folder.path()).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, folder.path()).unwrap();
    let error = recorder.end(&DONE).map(|_| ()).unwrap_err();
    assert!(
        matches!(&error, RecordError::Journal { kind: io::ErrorKind::PermissionDenied, .. }),
        "{error:?}"
    );
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

/// Someone put another file there: that is not ours to write over, nor to seal.
#[test]
fn a_journal_that_was_replaced_meanwhile() {
    let rig = Rig::new();
    let recorder = write(&rig).unwrap();
    let path = runs(&rig.place).journal(id());
    fs::rename(&path, path.with_extension("old")).unwrap();
    fs::write(&path, "another").unwrap();
    let ended = recorder.end(&DONE).unwrap();
    let changed = RecordError::JournalChanged { path: path.to_str().unwrap().to_owned() };
    assert_eq!(ended.seal(&key()), Err(changed));
    assert_eq!(fs::read_to_string(&path).unwrap(), "another");
}

/// A clock that is a second later each time.
#[derive(Default)]
struct Seconds(AtomicU64);

impl Clock for Seconds {
    fn now(&self) -> Duration {
        Duration::from_secs(1_794_772_946 + self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// A run of five events, in which time passes.
fn slow(rig: &Rig) -> Recorder<Recording> {
    let surroundings = Surroundings { clock: Arc::new(Seconds::default()), ..rig.surroundings() };
    let start = RunStart::new(id());
    let recorder = Recorder::begin_in(&runs(&rig.place), &start, &key(), &surroundings).unwrap();
    for _ in 0..2 {
        ask(&recorder.pen(), b"{}").unwrap();
    }
    recorder
}

/// The next event finds that it was removed, or taken away, and puts it back, with all that it held: whoever kills the recorder
/// then takes nothing away.
#[test]
fn a_removed_journal_is_back_with_the_next_event() {
    for is_moved in [false, true] {
        let rig = Rig::new();
        let recorder = slow(&rig);
        let folder = runs(&rig.place);
        if is_moved {
            fs::rename(folder.path(), rig.place.join("away")).unwrap();
        } else {
            fs::remove_dir_all(folder.path()).unwrap();
        }
        ask(&recorder.pen(), b"{}").unwrap();
        recorder.pen().sync().unwrap();
        drop(recorder);
        assert_eq!(rig.recover(), Ok(7));
    }
}

/// What is neither ours nor gone is left alone, and nothing is recorded any more.
#[test]
fn something_else_in_its_place_is_a_journals_end_with_the_next_event() {
    type Put = fn(&Rig);
    let cases: [(Put, Option<io::ErrorKind>); 3] = [
        (|rig| fs::write(runs(&rig.place).path(), "").unwrap(), Some(io::ErrorKind::NotADirectory)),
        (
            |rig| {
                fs::create_dir(rig.place.join("elsewhere")).unwrap();
                std::os::unix::fs::symlink(rig.place.join("elsewhere"), runs(&rig.place).path()).unwrap();
            },
            Some(io::ErrorKind::PermissionDenied),
        ),
        (
            |rig| {
                let path = runs(&rig.place).journal(id());
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "another").unwrap();
            },
            None,
        ),
    ];
    for (put, due) in cases {
        let rig = Rig::new();
        let recorder = slow(&rig);
        fs::remove_dir_all(runs(&rig.place).path()).unwrap();
        put(&rig);
        let before = rig.place.names();
        let error = ask(&recorder.pen(), b"{}").unwrap_err();
        match (&error, due) {
            (RecordError::Journal { kind, .. }, Some(due)) => assert_eq!(*kind, due),
            (RecordError::JournalChanged { .. }, None) => {}
            other => panic!("{other:?}"),
        }
        stays_closed(&rig, &recorder.pen(), &error);
        assert_eq!(recorder.end(&DONE).map(|_| ()), Err(error));
        assert_eq!(rig.place.names(), before);
    }
}

/// Numbers that look like chance and are the same each time.
fn chooser(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed | 1;
    move |of| {
        // xorshift64*
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let number = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap() % of
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// The machine goes down, and pages that were not synced are there or are not, in any order: what was synced is there, and
    /// the run can be sealed.
    #[test]
    fn what_was_synced_survives_the_machine(
        steps in proptest::collection::vec((0_usize..6000, any::<bool>()), 1..8),
        seeds in any::<[u64; 4]>(),
    ) {
        let rig = Rig::new();
        let recorder = rig.begin().unwrap();
        let pen = recorder.pen();
        let mut synced = (0, Vec::new());
        for (length, syncs) in steps {
            ask(&pen, "x".repeat(length).as_bytes()).unwrap();
            if syncs {
                pen.sync().unwrap();
                synced = (recorder.counts().events, rig.journal());
            }
        }
        drop((pen, recorder));
        let written = rig.journal();
        let (events, bytes) = synced;
        for seed in seeds {
            let path = runs(&rig.place).journal(id());
            rig.storage.crash(rig.place.path(), &mut chooser(seed));
            match (rig.journal().is_empty(), events) {
                (true, 0) => {}
                _ => prop_assert!(rig.journal().starts_with(&bytes)),
            }
            match rig.recover() {
                Ok(recovered) => prop_assert!(recovered >= events, "{recovered} of {events}"),
                Err(error) => prop_assert!(events == 0, "{error}"),
            }
            // Once more, from where it went down.
            let _ = fs::remove_file(runs(&rig.place).artifact(id()));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &written).unwrap();
        }
    }
}

/// What is sealed is there, however soon the machine goes down.
#[test]
fn a_sealed_run_survives_the_machine() {
    for seed in 0..20 {
        let rig = Rig::new();
        let sealed = write(&rig).unwrap().end(&DONE).unwrap().seal(&key()).unwrap();
        rig.storage.crash(rig.place.path(), &mut chooser(seed));
        assert_eq!(judged(&sealed.path, &key()).reasons, [""; 0]);
    }
}
