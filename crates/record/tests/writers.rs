//! Who may write a journal: one recorder at a time, in a file of its own. And which runs wait to be taken up again.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use reenact_record::{
    Exchange, Folder, FolderError, Out, RawRequest, RecordError, Recorder, ResumeError, RunId, RunStart,
};
use reenact_testkit::fixture::TestDir;
use support::{DONE, answer, judged, key, run_id, runs};

/// A run whose recorder is gone.
fn killed(folder: &Folder) -> RunId {
    let recorder = Recorder::begin(folder, &RunStart::new(run_id()), &key()).unwrap();
    recorder.pen().gap("a", "b").unwrap();
    recorder.run_id()
}

fn refused(folder: &Folder, id: RunId) -> ResumeError {
    let error = Recorder::resume(folder, id, &key(), || None).map(|_| ()).unwrap_err();
    assert_eq!(Recorder::resume_ended(folder, id, &key()).map(|_| ()).unwrap_err(), error);
    error
}

fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_run_has_one_recorder_at_a_time() {
    let place = TestDir::new();
    let (folder, run_id) = (runs(&place), run_id());
    let busy = ResumeError::Busy { run_id };
    assert_eq!(busy.to_string(), format!("another reenact is recording this run ({run_id})"));
    let first = Recorder::begin(&folder, &RunStart::new(run_id), &key()).unwrap();
    assert_eq!(refused(&folder, run_id), busy);
    let pen = first.pen();
    drop(first);
    assert_eq!(refused(&folder, run_id), busy, "a pen can still write");
    drop(pen);
    let second = Recorder::resume(&folder, run_id, &key(), || None).unwrap();
    assert_eq!(refused(&folder, run_id), busy);
    let ended = second.end(&DONE).unwrap();
    assert_eq!(refused(&folder, run_id), busy, "it can still be sealed");
    drop(ended);
    let third = Recorder::resume_ended(&folder, run_id, &key()).unwrap();
    assert_eq!(refused(&folder, run_id), busy);
    assert_eq!(judged(&third.seal(&key()).unwrap().path, &key()).reasons, [""; 0]);
}

#[test]
fn what_is_no_journal() {
    let place = TestDir::new();
    let folder = runs(&place);
    let id = run_id();
    let missing = FolderError::NotFound { given: id.to_string() };
    assert_eq!(refused(&folder, id), ResumeError::Record(RecordError::Folder(missing.clone())));
    let id = killed(&folder);
    let journal = folder.journal(id);
    fs::write(&journal, "").unwrap();
    assert_eq!(refused(&folder, id), ResumeError::TornHead { path: shown(&journal) });
    fs::write(&journal, "x".repeat(8 << 20)).unwrap();
    assert_eq!(refused(&folder, id), ResumeError::Head { path: shown(&journal) });
    fs::remove_file(&journal).unwrap();
    assert_eq!(refused(&folder, id), ResumeError::NoJournal { path: shown(&journal) });
    fs::create_dir(&journal).unwrap();
    assert_eq!(refused(&folder, id), ResumeError::NotAFile { path: shown(&journal) });
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let place = TestDir::new();
    let folder = runs(&place);
    let id = killed(&folder);
    let (journal, elsewhere) = (folder.journal(id), place.join("elsewhere"));
    fs::rename(&journal, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &journal).unwrap();
    let before = fs::read(&elsewhere).unwrap();
    let link =
        |path: &Path| ResumeError::Record(RecordError::Folder(FolderError::Link { path: shown(path) }));
    assert_eq!(refused(&folder, id), link(&journal));
    assert_eq!(fs::read(&elsewhere).unwrap(), before);
    assert_eq!(folder.unsealed(), Ok(vec![]));

    // Nor is a folder that is one.
    fs::remove_file(&journal).unwrap();
    fs::rename(&elsewhere, &journal).unwrap();
    fs::rename(folder.run(id), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, folder.run(id)).unwrap();
    assert_eq!(refused(&folder, id), link(&folder.run(id)));
}

#[cfg(unix)]
#[test]
fn a_journal_of_another_user_is_refused() {
    use std::os::unix::fs::MetadataExt;
    let place = TestDir::new();
    let folder = runs(&place);
    let id = killed(&folder);
    let journal = folder.journal(id);
    if journal.metadata().unwrap().uid() != 0 {
        // Only root can give a file away.
        return;
    }
    std::os::unix::fs::chown(&journal, Some(65_534), None).unwrap();
    let foreign = FolderError::Foreign { path: shown(&journal) };
    assert_eq!(refused(&folder, id), ResumeError::Record(RecordError::Folder(foreign)));
}

/// Where nothing can be written, nothing is; elsewhere the run can be sealed.
#[cfg(unix)]
#[test]
fn a_folder_that_is_read_only() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let place = TestDir::new();
    let folder = runs(&place);
    let id = killed(&folder);
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    // Root writes everywhere: what is asked of everyone else cannot be asked of it.
    let is_root = place.path().metadata().unwrap().uid() == 0;
    let before = fs::read(folder.journal(id)).unwrap();
    set(&folder.journal(id), 0o400);
    set(&folder.run(id), 0o500);
    if !is_root {
        let error = refused(&folder, id);
        let kind = std::io::ErrorKind::PermissionDenied;
        assert!(
            matches!(&error, ResumeError::Record(RecordError::Io { kind: found, .. }) if *found == kind),
            "{error:?}"
        );
        assert_eq!(fs::read(folder.journal(id)).unwrap(), before);
    }
    assert_eq!(folder.unsealed(), Ok(vec![id]));
    set(&folder.journal(id), 0o600);
    let ended = Recorder::resume(&folder, id, &key(), || None).unwrap().end(&DONE).unwrap();
    if !is_root {
        assert!(matches!(ended.seal(&key()), Err(RecordError::Io { .. })));
    }
    let out = Out { path: place.join("run.rer.json"), replace: false };
    assert_eq!(judged(&ended.seal_to(&key(), &out).unwrap().path, &key()).reasons, [""; 0]);
    set(&folder.run(id), 0o700);
}

#[test]
fn runs_that_wait_to_be_sealed() {
    let place = TestDir::new();
    let folder = runs(&place);
    assert_eq!(folder.unsealed(), Ok(vec![]), "there is no folder yet");
    let waits = killed(&folder);
    let recorder = Recorder::begin(&folder, &RunStart::new(run_id()), &key()).unwrap();
    assert_eq!(folder.unsealed(), Ok(vec![waits]), "one is under way");
    let id = recorder.run_id();
    recorder.end(&DONE).unwrap();
    // Two of the same millisecond come in any order.
    let mut both = vec![waits, id];
    both.sort();
    assert_eq!(folder.unsealed(), Ok(both), "it has ended, and is not sealed");
    Recorder::resume_ended(&folder, id, &key()).unwrap().seal(&key()).unwrap();
    assert_eq!(folder.unsealed(), Ok(vec![waits]));
    fs::remove_file(folder.journal(waits)).unwrap();
    assert_eq!(folder.unsealed(), Ok(vec![]), "nothing is left to seal");
}

#[test]
fn runs_that_are_sealed_elsewhere() {
    let place = TestDir::new();
    let folder = runs(&place);
    let out = Out { path: place.join("run.rer.json"), replace: true };
    let begin = || {
        let start = RunStart { out: Some(out.clone()), ..RunStart::new(run_id()) };
        Recorder::begin(&folder, &start, &key()).unwrap()
    };
    // Killed before its end, while an older artifact lies where its own is to be.
    fs::write(&out.path, "an older one").unwrap();
    let recorder = begin();
    let id = recorder.run_id();
    drop(recorder);
    assert_eq!(folder.unsealed(), Ok(vec![id]));
    let ended = Recorder::resume(&folder, id, &key(), || None).unwrap().end(&DONE).unwrap();
    assert_eq!(ended.out(), &out);
    let sealed = ended.seal(&key()).unwrap();
    assert_eq!(sealed.path, out.path);
    assert_eq!(judged(&sealed.path, &key()).reasons, [""; 0]);
    drop(ended);
    assert_eq!(folder.unsealed(), Ok(vec![]));
    fs::remove_file(&out.path).unwrap();
    assert_eq!(folder.unsealed(), Ok(vec![id]));
}

/// Two values never have the same mark, though the second recorder does not know what the first one knew.
#[test]
fn the_numbers_of_marks_go_on() {
    let place = TestDir::new();
    let (folder, id) = (runs(&place), run_id());
    let environment: [(OsString, OsString); 2] =
        [("A_KEY".into(), "planted-first-value".into()), ("B_KEY".into(), "planted-second-value".into())];
    let start = RunStart { environment: &environment, ..RunStart::new(id) };
    let recorder = Recorder::begin(&folder, &start, &key()).unwrap();
    let pen = recorder.pen();
    pen.know(b"planted-third-value");
    pen.error("planted-second-value", "planted-first-value", "").unwrap();
    let raw = RawRequest { provider: "p", method: "POST", path: "/", headers: &[], body: b"" };
    let masked = pen.mask_request(&raw);
    let step = pen.called(Exchange::Model, &masked, None, None, &"0".repeat(64)).unwrap();
    // This mark is to be seen in base64 only.
    pen.returned(&step, answer(b"\xffplanted-third-value")).unwrap();
    drop((pen, recorder));
    assert!(!fs::read_to_string(folder.journal(id)).unwrap().contains("[masked:known"));

    let recorder = Recorder::resume(&folder, id, &key(), || None).unwrap();
    let pen = recorder.pen();
    pen.know(b"planted-fourth-value");
    let raw = RawRequest { headers: &[("x-api-key", b"planted-fifth-value")], ..raw };
    let raw = RawRequest { body: b"planted-fourth-value planted-fifth-value", ..raw };
    assert_eq!(pen.mask_request(&raw).body(), b"[masked:known:2] [masked:credential:1]");
    pen.know_again("environment", b"planted-sixth-value");
    let raw = RawRequest { body: b"planted-sixth-value", ..raw };
    assert_eq!(pen.mask_request(&raw).body(), b"[masked:environment:3]");
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!(judged(&sealed.path, &key()).reasons, [""; 0]);
}
