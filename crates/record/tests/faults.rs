//! Disks that fail: promises hold, failures are reported, and nothing is written behind a torn line.
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
    CallKind, EventWriter, ExchangeCall, RawRequest, RecordEnv, RecordError, Recorder, Recording,
    ResumeError, RunId, RunStart,
};
use reenact_testkit::fixture::TestDir;
use support::faulty::{EIO, ENOSPC, EROFS, FaultyStorage};
use support::{DONE, answer, fixed_env, key, runs, verify_artifact};

fn id() -> RunId {
    "017f22e2-79b0-7cc3-98c4-dc0c0c07398f".parse().unwrap()
}

/// Run on a disk that fails.
struct FaultyRun {
    dir: TestDir,
    storage: FaultyStorage,
}

impl FaultyRun {
    fn new() -> Self {
        Self { dir: TestDir::in_memory(), storage: FaultyStorage::default() }
    }

    fn env(&self) -> RecordEnv {
        RecordEnv { storage: Arc::new(self.storage.clone()), ..fixed_env() }
    }

    fn begin(&self) -> Result<Recorder<Recording>, RecordError> {
        Recorder::builder(&runs(&self.dir), &key()).env(self.env().clone()).begin(&RunStart::new(id()))
    }

    fn journal(&self) -> Vec<u8> {
        fs::read(runs(&self.dir).journal_path(id())).unwrap_or_default()
    }

    /// Resumes the run on a disk that works, ends it, seals it and verifies it. Returns the number of events that were
    /// still there.
    fn recover(&self) -> Result<u64, ResumeError> {
        let recorder = Recorder::builder(&runs(&self.dir), &key()).resume(id(), || None)?;
        let events = recorder.counts().events;
        recorder.event_writer().record_gap("after", "the fault").unwrap();
        let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
        assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
        Ok(events)
    }
}

fn ask(writer: &EventWriter, body: &[u8]) -> Result<(), RecordError> {
    let raw = RawRequest { provider: "openai", method: "POST", path: "/v1/x", headers: &[], body };
    let step = writer.record_call(
        &ExchangeCall { model: Some("m"), ..ExchangeCall::new(CallKind::Model, &writer.mask_request(&raw)) },
        None,
    )?;
    writer.record_return(&step, answer(b"ok"))
}

/// Records events until something fails.
fn write(faulty: &FaultyRun) -> Result<Recorder<Recording>, RecordError> {
    let recorder = faulty.begin()?;
    let writer = recorder.event_writer();
    for _ in 0..2 {
        ask(&writer, b"{}").inspect_err(|first| stays_closed(faulty, &writer, first))?;
    }
    Ok(recorder)
}

/// Asserts that every call returns the first error, and that none reaches the disk, though the disk works again.
fn stays_closed(faulty: &FaultyRun, writer: &EventWriter, first: &RecordError) {
    let mut faults = faulty.storage.faults();
    (faults.free_bytes, faults.syncs_until_failure) = (None, None);
    let calls = faults.calls;
    drop(faults);
    let before = faulty.journal();
    assert_eq!(writer.record_gap("a", "b"), Err(first.clone()));
    assert_eq!(writer.sync(), Err(first.clone()));
    assert_eq!(writer.sync(), Err(first.clone()));
    assert_eq!(faulty.storage.faults().calls, calls, "{first}");
    assert!(faulty.journal() == before);
}

#[test]
fn short_and_interrupted_writes_change_nothing() {
    let sealed = |most, interrupts| {
        let faulty = FaultyRun::new();
        (faulty.storage.faults().max_write_bytes, faulty.storage.faults().interrupts_every_second_call) =
            (most, interrupts);
        let sealed = write(&faulty).unwrap().end(&DONE).unwrap().seal(&key()).unwrap();
        (faulty.journal(), fs::read(sealed.path).unwrap())
    };
    let whole = sealed(0, false);
    for most in [1, 2, 3, 1000] {
        assert!(sealed(most, false) == whole && sealed(most, true) == whole, "{most}");
    }
}

/// Half a line may be in the file, and nothing follows it; the complete lines are recovered.
#[test]
fn a_disk_without_room_at_any_byte() {
    let faulty = FaultyRun::new();
    write(&faulty).unwrap();
    let whole = faulty.journal();
    let head = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for (at, errno) in (0..whole.len()).step_by(7).zip([ENOSPC, EIO, EROFS].into_iter().cycle()) {
        let faulty = FaultyRun::new();
        faulty.storage.faults().free_bytes = Some((at, errno));
        let error = write(&faulty).err().unwrap();
        let expected = io::Error::from_raw_os_error(errno);
        let path = runs(&faulty.dir).journal_path(id()).to_str().unwrap().to_owned();
        let journal =
            RecordError::Journal { path: path.clone(), kind: expected.kind(), text: expected.to_string() };
        assert_eq!(error, journal, "{at}");
        assert!(faulty.journal() == whole[..at], "{at}");
        faulty.storage.faults().free_bytes = None;
        if at < head {
            assert_eq!(faulty.recover(), Err(ResumeError::TornHead { path }));
            continue;
        }
        let lines = whole[head..at].iter().filter(|byte| **byte == b'\n').count() as u64;
        assert_eq!(faulty.recover(), Ok(lines.max(1)), "{at}: a run has a first event");
    }
}

/// After a failed sync the state of the disk is unknown, and a second sync would not tell.
#[test]
fn a_sync_that_fails_is_never_tried_again() {
    for sync in 0..4 {
        let faulty = FaultyRun::new();
        let recorder = faulty.begin().unwrap();
        let writer = recorder.event_writer();
        faulty.storage.faults().syncs_until_failure = Some(sync);
        let failed = (0..4).find_map(|_| {
            ask(&writer, b"{}").unwrap();
            writer.sync().err()
        });
        let first = failed.unwrap();
        assert!(
            matches!(&first, RecordError::Journal { text, .. } if text.contains("os error 5")),
            "{first}"
        );
        stays_closed(&faulty, &writer, &first);
        drop(writer);
        assert_eq!(recorder.end(&DONE).map(|_| ()), Err(first));
        // The events are not lost.
        assert_eq!(faulty.recover(), Ok(1 + 2 * (sync as u64 + 1)));
    }
    // The last sync of all counts like the others.
    let faulty = FaultyRun::new();
    let recorder = faulty.begin().unwrap();
    faulty.storage.faults().syncs_until_failure = Some(0);
    assert!(matches!(recorder.end(&DONE), Err(RecordError::Journal { .. })));
}

#[test]
fn a_disk_that_takes_nothing_to_begin_with() {
    let faulty = FaultyRun::new();
    faulty.storage.faults().is_read_only = true;
    let error = faulty.begin().map(|_| ()).unwrap_err();
    assert!(
        matches!(&error, RecordError::Io { kind: io::ErrorKind::ReadOnlyFilesystem, path, .. } if path.ends_with("journal.jsonl")),
        "{error:?}"
    );
    assert_eq!(runs(&faulty.dir).unsealed_runs(), Ok(vec![]), "there is nothing to recover");
}

#[test]
fn a_disk_that_takes_no_artifact() {
    let faulty = FaultyRun::new();
    let ended = write(&faulty).unwrap().end(&DONE).unwrap();
    faulty.storage.faults().is_read_only = true;
    let error = ended.seal(&key()).unwrap_err();
    assert!(matches!(&error, RecordError::Io { kind: io::ErrorKind::ReadOnlyFilesystem, .. }), "{error:?}");
    faulty.storage.faults().is_read_only = false;
    for at in [0, 1, 4000] {
        faulty.storage.faults().free_bytes = Some((at, ENOSPC));
        let error = ended.seal(&key()).unwrap_err();
        assert!(matches!(&error, RecordError::Io { kind: io::ErrorKind::StorageFull, .. }), "{error:?}");
        assert_eq!(faulty.dir.names(), names(), "neither half an artifact nor a temporary file");
    }
    faulty.storage.faults().free_bytes = None;
    assert_eq!(verify_artifact(&ended.seal(&key()).unwrap().path, &key()).reasons, [""; 0]);
}

/// Returns the names of the files of a run that is not sealed.
fn names() -> [String; 2] {
    ["journal.jsonl", "run.json"].map(|name| format!(".reenact/runs/{}/{name}", id()))
}

/// Somebody cleans up the project while its agent runs.
#[test]
fn a_folder_that_is_removed_meanwhile() {
    for synced in [false, true] {
        let faulty = FaultyRun::new();
        let recorder = write(&faulty).unwrap();
        if synced {
            recorder.event_writer().sync().unwrap();
        }
        fs::remove_dir_all(runs(&faulty.dir).path()).unwrap();
        let writer = recorder.event_writer();
        ask(&writer, b"{}").unwrap();
        drop(writer);
        let ended = recorder.end(&DONE).unwrap();
        let refused =
            Recorder::builder(&runs(&faulty.dir), &key()).resume_ended(id()).map(|_| ()).unwrap_err();
        assert_eq!(refused, ResumeError::Busy { run_id: id() });
        let sealed = ended.seal(&key()).unwrap();
        assert_eq!((sealed.counts.events, sealed.counts.model_calls), (8, 3));
        assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
        use std::os::unix::fs::PermissionsExt;
        for path in [runs(&faulty.dir).path(), &runs(&faulty.dir).run_path(id())] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }
}

/// Nothing is written through a link.
#[test]
fn a_link_in_the_place_of_a_removed_folder() {
    let faulty = FaultyRun::new();
    let recorder = write(&faulty).unwrap();
    let (folder, elsewhere) = (runs(&faulty.dir), faulty.dir.join("elsewhere"));
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

/// Another file has the name: it is neither overwritten nor sealed.
#[test]
fn a_journal_that_was_replaced_meanwhile() {
    let faulty = FaultyRun::new();
    let recorder = write(&faulty).unwrap();
    let path = runs(&faulty.dir).journal_path(id());
    fs::rename(&path, path.with_extension("old")).unwrap();
    fs::write(&path, "another").unwrap();
    let ended = recorder.end(&DONE).unwrap();
    let changed = RecordError::JournalChanged { path: path.to_str().unwrap().to_owned() };
    assert_eq!(ended.seal(&key()), Err(changed));
    assert_eq!(fs::read_to_string(&path).unwrap(), "another");
}

/// Clock that is a second later at each call.
#[derive(Default)]
struct SecondsClock(AtomicU64);

impl Clock for SecondsClock {
    fn now(&self) -> Duration {
        Duration::from_secs(1_794_772_946 + self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Records a run of five events, in which time passes.
fn run_of_five_events(faulty: &FaultyRun) -> Recorder<Recording> {
    let env = RecordEnv { clock: Arc::new(SecondsClock::default()), ..faulty.env() };
    let start = RunStart::new(id());
    let recorder = Recorder::builder(&runs(&faulty.dir), &key()).env(env.clone()).begin(&start).unwrap();
    for _ in 0..2 {
        ask(&recorder.event_writer(), b"{}").unwrap();
    }
    recorder
}

/// The next event finds that the journal was removed or moved, and restores it with all its events, so that killing the
/// recorder then loses nothing.
#[test]
fn a_removed_journal_is_back_with_the_next_event() {
    for is_moved in [false, true] {
        let faulty = FaultyRun::new();
        let recorder = run_of_five_events(&faulty);
        let folder = runs(&faulty.dir);
        if is_moved {
            fs::rename(folder.path(), faulty.dir.join("away")).unwrap();
        } else {
            fs::remove_dir_all(folder.path()).unwrap();
        }
        ask(&recorder.event_writer(), b"{}").unwrap();
        recorder.event_writer().sync().unwrap();
        drop(recorder);
        assert_eq!(faulty.recover(), Ok(7));
    }
}

/// A foreign file in the way is left alone, and nothing is recorded any more.
#[test]
fn something_else_in_its_place_is_a_journals_end_with_the_next_event() {
    type PlaceObstacle = fn(&FaultyRun);
    let cases: [(PlaceObstacle, Option<io::ErrorKind>); 3] = [
        (|faulty| fs::write(runs(&faulty.dir).path(), "").unwrap(), Some(io::ErrorKind::NotADirectory)),
        (
            |faulty| {
                fs::create_dir(faulty.dir.join("elsewhere")).unwrap();
                std::os::unix::fs::symlink(faulty.dir.join("elsewhere"), runs(&faulty.dir).path()).unwrap();
            },
            Some(io::ErrorKind::PermissionDenied),
        ),
        (
            |faulty| {
                let path = runs(&faulty.dir).journal_path(id());
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "another").unwrap();
            },
            None,
        ),
    ];
    for (put, due) in cases {
        let faulty = FaultyRun::new();
        let recorder = run_of_five_events(&faulty);
        fs::remove_dir_all(runs(&faulty.dir).path()).unwrap();
        put(&faulty);
        let before = faulty.dir.names();
        let error = ask(&recorder.event_writer(), b"{}").unwrap_err();
        match (&error, due) {
            (RecordError::Journal { kind, .. }, Some(due)) => assert_eq!(*kind, due),
            (RecordError::JournalChanged { .. }, None) => {}
            other => panic!("{other:?}"),
        }
        stays_closed(&faulty, &recorder.event_writer(), &error);
        let is_changed = matches!(error, RecordError::JournalChanged { .. });
        assert_eq!(recorder.end(&DONE).map(|_| ()), Err(error));
        let mut after = faulty.dir.names();
        after.retain(|name| !name.ends_with("/refused.json"));
        assert_eq!(after, before);
        assert_eq!(runs(&faulty.dir).is_refused(id()), is_changed);
    }
}

/// Returns a source of pseudo-random numbers below its argument.
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

    /// The machine stops, and each page that was not synced is lost or not, in any combination: synced events survive,
    /// and the run can be sealed.
    #[test]
    fn what_was_synced_survives_the_machine(
        steps in proptest::collection::vec((0_usize..6000, any::<bool>()), 1..8),
        seeds in any::<[u64; 4]>(),
    ) {
        let faulty = FaultyRun::new();
        let recorder = faulty.begin().unwrap();
        let writer = recorder.event_writer();
        let mut synced = (0, Vec::new());
        for (length, syncs) in steps {
            ask(&writer, "x".repeat(length).as_bytes()).unwrap();
            if syncs {
                writer.sync().unwrap();
                synced = (recorder.counts().events, faulty.journal());
            }
        }
        drop((writer, recorder));
        let written = faulty.journal();
        let (events, bytes) = synced;
        for seed in seeds {
            let path = runs(&faulty.dir).journal_path(id());
            faulty.storage.crash(faulty.dir.path(), &mut chooser(seed));
            match (faulty.journal().is_empty(), events) {
                (true, 0) => {}
                _ => prop_assert!(faulty.journal().starts_with(&bytes)),
            }
            match faulty.recover() {
                Ok(recovered) => prop_assert!(recovered >= events, "{recovered} of {events}"),
                Err(error) => prop_assert!(events == 0, "{error}"),
            }
            // Put the files back as they were before the crash, for the next seed.
            let _ = fs::remove_file(runs(&faulty.dir).artifact_path(id()));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &written).unwrap();
        }
    }
}

/// A sealed artifact survives, however soon the machine stops.
#[test]
fn a_sealed_run_survives_the_machine() {
    for seed in 0..20 {
        let faulty = FaultyRun::new();
        let sealed = write(&faulty).unwrap().end(&DONE).unwrap().seal(&key()).unwrap();
        faulty.storage.crash(faulty.dir.path(), &mut chooser(seed));
        assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
    }
}
