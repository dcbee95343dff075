//! Exclusive access to a journal: one recorder at a time, in a file of its own. And the list of runs that wait to be
//! resumed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use reenact_record::{
    ArtifactTarget, CallKind, ExchangeCall, RawRequest, RecordError, Recorder, ResumeError, RunId, RunStart,
    RunStore, RunStoreError,
};
use reenact_testkit::fixture::TestDir;
use support::{DONE, answer, key, run_id, runs, verify_artifact};

/// Begins a run, and drops its recorder.
fn begin_and_drop(folder: &RunStore) -> RunId {
    let recorder = Recorder::builder(folder, &key()).begin(&RunStart::new(run_id())).unwrap();
    recorder.event_writer().record_gap("a", "b").unwrap();
    recorder.run_id()
}

fn resume_error(folder: &RunStore, id: RunId) -> ResumeError {
    let error = Recorder::builder(folder, &key()).resume(id, || None).map(|_| ()).unwrap_err();
    assert_eq!(Recorder::builder(folder, &key()).resume_ended(id).map(|_| ()).unwrap_err(), error);
    error
}

fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_run_has_one_recorder_at_a_time() {
    let dir = TestDir::new();
    let (folder, run_id) = (runs(&dir), run_id());
    let busy = ResumeError::Busy { run_id };
    assert_eq!(busy.to_string(), format!("another reenact is recording this run ({run_id})"));
    let first = Recorder::builder(&folder, &key()).begin(&RunStart::new(run_id)).unwrap();
    assert_eq!(resume_error(&folder, run_id), busy);
    let writer = first.event_writer();
    drop(first);
    assert_eq!(resume_error(&folder, run_id), busy, "an event writer can still write");
    drop(writer);
    let second = Recorder::builder(&folder, &key()).resume(run_id, || None).unwrap();
    assert_eq!(resume_error(&folder, run_id), busy);
    let ended = second.end(&DONE).unwrap();
    assert_eq!(resume_error(&folder, run_id), busy, "it can still be sealed");
    drop(ended);
    let third = Recorder::builder(&folder, &key()).resume_ended(run_id).unwrap();
    assert_eq!(resume_error(&folder, run_id), busy);
    assert_eq!(verify_artifact(&third.seal(&key()).unwrap().path, &key()).reasons, [""; 0]);
}

#[test]
fn what_is_no_journal() {
    let dir = TestDir::new();
    let folder = runs(&dir);
    let id = run_id();
    let missing = RunStoreError::NotFound { run_id: id };
    assert_eq!(resume_error(&folder, id), ResumeError::Record(RecordError::RunStore(missing.clone())));
    let id = begin_and_drop(&folder);
    let journal = folder.journal_path(id);
    fs::write(&journal, "").unwrap();
    assert_eq!(resume_error(&folder, id), ResumeError::TornHead { path: shown(&journal) });
    fs::write(&journal, "x".repeat(8 << 20)).unwrap();
    assert_eq!(resume_error(&folder, id), ResumeError::Head { path: shown(&journal) });
    fs::remove_file(&journal).unwrap();
    assert_eq!(resume_error(&folder, id), ResumeError::NoJournal { path: shown(&journal) });
    fs::create_dir(&journal).unwrap();
    assert_eq!(resume_error(&folder, id), ResumeError::NotAFile { path: shown(&journal) });
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let dir = TestDir::new();
    let folder = runs(&dir);
    let id = begin_and_drop(&folder);
    let (journal, elsewhere) = (folder.journal_path(id), dir.join("elsewhere"));
    fs::rename(&journal, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &journal).unwrap();
    let before = fs::read(&elsewhere).unwrap();
    let link =
        |path: &Path| ResumeError::Record(RecordError::RunStore(RunStoreError::Link { path: shown(path) }));
    assert_eq!(resume_error(&folder, id), link(&journal));
    assert_eq!(fs::read(&elsewhere).unwrap(), before);
    assert_eq!(folder.unsealed_runs(), Ok(vec![]));

    // A run's folder that is a link is refused as well.
    fs::remove_file(&journal).unwrap();
    fs::rename(&elsewhere, &journal).unwrap();
    fs::rename(folder.run_path(id), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, folder.run_path(id)).unwrap();
    assert_eq!(resume_error(&folder, id), link(&folder.run_path(id)));
}

#[cfg(unix)]
#[test]
fn a_journal_of_another_user_is_refused() {
    use std::os::unix::fs::MetadataExt;
    let dir = TestDir::new();
    let folder = runs(&dir);
    let id = begin_and_drop(&folder);
    let journal = folder.journal_path(id);
    if journal.metadata().unwrap().uid() != 0 {
        // Only root can give a file away.
        return;
    }
    std::os::unix::fs::chown(&journal, Some(65_534), None).unwrap();
    let foreign = RunStoreError::Foreign { path: shown(&journal) };
    assert_eq!(resume_error(&folder, id), ResumeError::Record(RecordError::RunStore(foreign)));
}

/// On a read-only folder nothing is written; the run can be sealed into another one.
#[cfg(unix)]
#[test]
fn a_folder_that_is_read_only() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let dir = TestDir::new();
    let folder = runs(&dir);
    let id = begin_and_drop(&folder);
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    // Root can write everywhere, so root gets no error here.
    let is_root = dir.path().metadata().unwrap().uid() == 0;
    let before = fs::read(folder.journal_path(id)).unwrap();
    set(&folder.journal_path(id), 0o400);
    set(&folder.run_path(id), 0o500);
    if !is_root {
        let error = resume_error(&folder, id);
        let kind = std::io::ErrorKind::PermissionDenied;
        assert!(
            matches!(&error, ResumeError::Record(RecordError::Io { kind: found, .. }) if *found == kind),
            "{error:?}"
        );
        assert_eq!(fs::read(folder.journal_path(id)).unwrap(), before);
    }
    assert_eq!(folder.unsealed_runs(), Ok(vec![id]));
    set(&folder.journal_path(id), 0o600);
    let ended = Recorder::builder(&folder, &key()).resume(id, || None).unwrap().end(&DONE).unwrap();
    if !is_root {
        assert!(matches!(ended.seal(&key()), Err(RecordError::Io { .. })));
    }
    let out = ArtifactTarget { path: dir.join("run.rer.json"), replace: false };
    assert_eq!(verify_artifact(&ended.seal_to(&key(), &out).unwrap().path, &key()).reasons, [""; 0]);
    set(&folder.run_path(id), 0o700);
}

#[test]
fn runs_that_wait_to_be_sealed() {
    let dir = TestDir::new();
    let folder = runs(&dir);
    assert_eq!(folder.unsealed_runs(), Ok(vec![]), "there is no folder yet");
    let waits = begin_and_drop(&folder);
    let recorder = Recorder::builder(&folder, &key()).begin(&RunStart::new(run_id())).unwrap();
    assert_eq!(folder.unsealed_runs(), Ok(vec![waits]), "one is under way");
    let id = recorder.run_id();
    recorder.end(&DONE).unwrap();
    // Two runs of the same millisecond come in any order.
    let mut both = vec![waits, id];
    both.sort();
    assert_eq!(folder.unsealed_runs(), Ok(both), "it has ended, and is not sealed");
    Recorder::builder(&folder, &key()).resume_ended(id).unwrap().seal(&key()).unwrap();
    assert_eq!(folder.unsealed_runs(), Ok(vec![waits]));
    fs::remove_file(folder.journal_path(waits)).unwrap();
    assert_eq!(folder.unsealed_runs(), Ok(vec![]), "nothing is left to seal");
}

#[test]
fn runs_that_are_sealed_elsewhere() {
    let dir = TestDir::new();
    let folder = runs(&dir);
    let out = ArtifactTarget { path: dir.join("run.rer.json"), replace: true };
    let begin = || {
        let start = RunStart { target: Some(out.clone()), ..RunStart::new(run_id()) };
        Recorder::builder(&folder, &key()).begin(&start).unwrap()
    };
    // Killed before its end, while an older artifact has the name of its own.
    fs::write(&out.path, "an older one").unwrap();
    let recorder = begin();
    let id = recorder.run_id();
    drop(recorder);
    assert_eq!(folder.unsealed_runs(), Ok(vec![id]));
    let ended = Recorder::builder(&folder, &key()).resume(id, || None).unwrap().end(&DONE).unwrap();
    assert_eq!(ended.target(), &out);
    let sealed = ended.seal(&key()).unwrap();
    assert_eq!(sealed.path, out.path);
    assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
    drop(ended);
    assert_eq!(folder.unsealed_runs(), Ok(vec![]));
    fs::remove_file(&out.path).unwrap();
    assert_eq!(folder.unsealed_runs(), Ok(vec![id]));
}

/// Two secrets never get the same mark, though the second recorder does not know the secrets of the first.
#[test]
fn the_numbers_of_marks_go_on() {
    let dir = TestDir::new();
    let (folder, id) = (runs(&dir), run_id());
    let environment: [(OsString, OsString); 2] =
        [("A_KEY".into(), "planted-first-value".into()), ("B_KEY".into(), "planted-second-value".into())];
    let start = RunStart { environment: &environment, ..RunStart::new(id) };
    let recorder = Recorder::builder(&folder, &key()).begin(&start).unwrap();
    let writer = recorder.event_writer();
    writer.add_secret(b"planted-third-value");
    writer.record_error("planted-second-value", "planted-first-value", "").unwrap();
    let raw = RawRequest { provider: "p", method: "POST", path: "/", headers: &[], body: b"" };
    let masked = writer.mask_request(&raw);
    let step = writer.record_call(&ExchangeCall::new(CallKind::Model, &masked), None).unwrap();
    // This mark is visible in base64 only.
    writer.record_return(&step, answer(b"\xffplanted-third-value")).unwrap();
    drop((writer, recorder));
    assert!(!fs::read_to_string(folder.journal_path(id)).unwrap().contains("[masked:known"));

    let recorder = Recorder::builder(&folder, &key()).resume(id, || None).unwrap();
    let writer = recorder.event_writer();
    writer.add_secret(b"planted-fourth-value");
    let raw = RawRequest { headers: &[("x-api-key", b"planted-fifth-value")], ..raw };
    let raw = RawRequest { body: b"planted-fourth-value planted-fifth-value", ..raw };
    assert_eq!(writer.mask_request(&raw).body(), b"[masked:known:2] [masked:credential:1]");
    writer.restore_secret("environment", b"planted-sixth-value");
    let raw = RawRequest { body: b"planted-sixth-value", ..raw };
    assert_eq!(writer.mask_request(&raw).body(), b"[masked:environment:3]");
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
}
