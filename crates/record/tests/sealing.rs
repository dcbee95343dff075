//! What stands between a journal and its seal: someone who touches it, a file in the way, another key.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support;

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use reenact_formats::rer::seal::SealError;
use reenact_keys::SecretKey;
use reenact_record::{Ended, Out, RecordError, Recorder, RunStart};
use reenact_testkit::fixture::TestDir;
use support::{DONE, events, judged, key, run_id, runs};

/// A run that has ended, with two events between its first and its last.
fn ended(place: &TestDir) -> Recorder<Ended> {
    let recorder = Recorder::begin(&runs(place), &RunStart::new(run_id()), &key()).unwrap();
    recorder.pen().gap("a", "b").unwrap();
    recorder.pen().error("x", "y", "z").unwrap();
    recorder.end(&DONE).unwrap()
}

/// What becomes of the seal when someone does this to the journal.
fn touched(touch: impl FnOnce(&Path)) {
    let place = TestDir::new();
    let ended = ended(&place);
    let journal = runs(&place).journal(ended.run_id());
    touch(&journal);
    let before = place.names();
    let path = journal.to_str().unwrap().to_owned();
    assert_eq!(ended.seal(&key()), Err(RecordError::JournalChanged { path }));
    assert_eq!(place.names(), before, "nothing is left of an artifact that was not sealed");
}

#[test]
fn a_journal_that_someone_touched_is_not_sealed() {
    touched(|journal| {
        let text = fs::read_to_string(journal).unwrap().replace("\"what\":\"a\"", "\"what\":\"A\"");
        let mut file = OpenOptions::new().write(true).open(journal).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    });
    touched(|journal| {
        OpenOptions::new().append(true).open(journal).unwrap().write_all(b"\n").unwrap();
    });
    touched(|journal| {
        let file = OpenOptions::new().write(true).open(journal).unwrap();
        file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    });
    touched(|journal| {
        OpenOptions::new().write(true).open(journal).unwrap().set_len(0).unwrap();
    });
    touched(|journal| fs::remove_file(journal).unwrap());
}

/// Even if what lies there now is the same to the byte: nobody knows for how long.
#[cfg(unix)]
#[test]
fn a_journal_in_the_place_of_the_journal_is_not_sealed() {
    touched(|journal| {
        let copy = journal.with_extension("copy");
        fs::copy(journal, &copy).unwrap();
        fs::rename(copy, journal).unwrap();
    });
    touched(|journal| {
        let elsewhere = journal.with_extension("elsewhere");
        fs::rename(journal, &elsewhere).unwrap();
        std::os::unix::fs::symlink(elsewhere, journal).unwrap();
    });
}

#[test]
fn every_event_is_on_its_way_to_the_disk_when_the_call_returns() {
    let place = TestDir::new();
    let recorder = Recorder::begin(&runs(&place), &RunStart::new(run_id()), &key()).unwrap();
    let journal = runs(&place).journal(recorder.run_id());
    for count in 2..20 {
        recorder.pen().gap("a", "b").unwrap();
        assert_eq!(events(&journal).len(), count);
    }
}

#[test]
fn another_key_cannot_seal() {
    let place = TestDir::new();
    let ended = ended(&place);
    assert_eq!(ended.seal(&SecretKey::generate().unwrap()), Err(RecordError::OtherSigner));
    assert_eq!(judged(&ended.seal(&key()).unwrap().path, &key()).reasons, [""; 0]);
}

#[test]
fn a_run_is_sealed_once_in_each_place() {
    let place = TestDir::new();
    let ended = ended(&place);
    let first = ended.seal(&key()).unwrap();
    let path = first.path.to_str().unwrap().to_owned();
    assert_eq!(ended.seal(&key()), Err(RecordError::Exists { path }));
    let out = Out { path: place.join("copy.rer.json"), replace: false };
    let second = ended.seal_to(&key(), &out).unwrap();
    assert_eq!((second.digest, &second.path), (first.digest, &out.path));
}

#[test]
fn an_artifact_elsewhere() {
    let place = TestDir::new();
    let out = Out { path: place.join("run.rer.json"), replace: false };
    let start = RunStart { out: Some(out.clone()), ..RunStart::new(run_id()) };
    let recorder = Recorder::begin(&runs(&place), &start, &key()).unwrap();
    let id = recorder.run_id();
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!(sealed.path, out.path);
    assert_eq!(judged(&sealed.path, &key()).reasons, [""; 0]);
    assert!(!runs(&place).artifact(id).exists());
    #[cfg(unix)]
    assert_eq!(mode(&sealed.path), 0o600);
}

#[test]
fn an_existing_file_is_seen_before_the_run_and_left_alone() {
    let place = TestDir::new();
    let out = Out { path: place.join("run.rer.json"), replace: false };
    let path = out.path.to_str().unwrap().to_owned();
    fs::write(&out.path, "mine").unwrap();
    let start = |out: &Out| RunStart { out: Some(out.clone()), ..RunStart::new(run_id()) };
    let refused = Recorder::begin(&runs(&place), &start(&out), &key()).map(|_| ()).unwrap_err();
    assert_eq!(refused, RecordError::Exists { path: path.clone() });
    assert_eq!(place.names(), ["run.rer.json"], "no run was begun");

    // One that comes while the run goes on is left alone as well.
    fs::remove_file(&out.path).unwrap();
    let recorder = Recorder::begin(&runs(&place), &start(&out), &key()).unwrap();
    fs::write(&out.path, "mine").unwrap();
    assert_eq!(recorder.end(&DONE).unwrap().seal(&key()), Err(RecordError::Exists { path }));
    assert_eq!(fs::read(&out.path).unwrap(), b"mine");

    // Unless it is to be replaced.
    let out = Out { replace: true, ..out };
    let recorder = Recorder::begin(&runs(&place), &start(&out), &key()).unwrap();
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!(judged(&sealed.path, &key()).reasons, [""; 0]);
}

#[test]
fn places_where_no_artifact_can_be() {
    let place = TestDir::new();
    let begin = |path: &Path| {
        let out = Some(Out { path: path.to_owned(), replace: true });
        let start = RunStart { out, ..RunStart::new(run_id()) };
        Recorder::begin(&runs(&place), &start, &key()).map(|_| ()).unwrap_err()
    };
    let shown = |path: &Path| path.to_str().unwrap().to_owned();
    assert_eq!(begin(place.path()), RecordError::Exists { path: shown(place.path()) });
    let missing = place.join("no such folder/run.rer.json");
    let refused = begin(&missing);
    assert!(
        matches!(&refused, RecordError::Io { path, kind: ErrorKind::NotFound, .. } if *path == shown(&missing)),
        "{refused}"
    );
}

#[test]
fn two_upstreams_of_one_name_are_refused() {
    let place = TestDir::new();
    let upstreams = [("a", "http://one"), ("a", "http://two")];
    let start = RunStart { upstreams: &upstreams, ..RunStart::new(run_id()) };
    let refused = Recorder::begin(&runs(&place), &start, &key()).map(|_| ()).unwrap_err();
    assert!(matches!(refused, RecordError::Seal(SealError::Syntax(_))), "{refused}");
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o7777
}

#[cfg(unix)]
#[test]
fn everything_is_closed_to_others() {
    let place = TestDir::new();
    let ended = ended(&place);
    ended.seal(&key()).unwrap();
    let (folder, id) = (runs(&place), ended.run_id());
    for path in [folder.path(), &folder.path().join("runs"), &folder.run(id)] {
        assert_eq!(mode(path), 0o700, "{}", path.display());
    }
    for path in [folder.journal(id), folder.artifact(id), folder.path().join(".gitignore")] {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    assert_eq!(fs::read(folder.path().join(".gitignore")).unwrap(), b"*\n");
}
