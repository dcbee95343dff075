//! Obstacles between a journal and its seal: a changed file, a file in the way, another key.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support;

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use reenact_formats::rer::seal::SealError;
use reenact_keys::SecretKey;
use reenact_record::{ArtifactTarget, Ended, RecordError, Recorder, ResumeError, RunStart, RunStoreError};
use reenact_testkit::fixture::TestDir;
use support::{DONE, events, key, run_id, runs, verify_artifact};

/// Returns a run that has ended, with two events between its first and its last.
fn ended_run(dir: &TestDir) -> Recorder<Ended> {
    let recorder = Recorder::builder(&runs(dir), &key()).begin(&RunStart::new(run_id())).unwrap();
    recorder.event_writer().record_gap("a", "b").unwrap();
    recorder.event_writer().record_error("x", "y", "z").unwrap();
    recorder.end(&DONE).unwrap()
}

/// Asserts that a run is not sealed after `touch` changed its journal.
fn assert_refused_after(touch: impl FnOnce(&Path)) {
    let dir = TestDir::new();
    let ended = ended_run(&dir);
    let journal = runs(&dir).journal_path(ended.run_id());
    touch(&journal);
    let (before, id) = (dir.names(), ended.run_id());
    let path = journal.to_str().unwrap().to_owned();
    assert_eq!(ended.seal(&key()), Err(RecordError::JournalChanged { path }));
    let mut after = dir.names();
    after.retain(|name| !name.ends_with("/refused.json"));
    assert_eq!(after, before, "nothing is left of an artifact that was not sealed");

    // No later process seals it either.
    drop(ended);
    let (store, key) = (runs(&dir), key());
    let builder = || Recorder::builder(&store, &key);
    assert_eq!(builder().resume(id, || None).map(|_| ()), Err(ResumeError::Refused { run_id: id }));
    assert_eq!(builder().resume_ended(id).map(|_| ()), Err(ResumeError::Refused { run_id: id }));
    assert_eq!(runs(&dir).unsealed_runs(), Ok(Vec::new()));
    assert_eq!(runs(&dir).sealed_artifact(id), Err(RunStoreError::Refused { run_id: id }));
}

/// The agent makes the chain anew: each line is right by itself, and only the recorder knows that it is false.
#[test]
fn a_journal_with_a_new_chain_is_not_sealed() {
    let false_journal = |id| {
        let dir = TestDir::new();
        let recorder = Recorder::builder(&runs(&dir), &key()).begin(&RunStart::new(id)).unwrap();
        recorder.event_writer().record_gap("a", "false").unwrap();
        recorder.end(&DONE).unwrap();
        fs::read(runs(&dir).journal_path(id)).unwrap()
    };
    assert_refused_after(|journal| {
        let id = journal.parent().unwrap().file_name().unwrap().to_str().unwrap().parse().unwrap();
        fs::write(journal, false_journal(id)).unwrap();
    });
}

#[test]
fn a_journal_that_someone_touched_is_not_sealed() {
    assert_refused_after(|journal| {
        let text = fs::read_to_string(journal).unwrap().replace("\"what\":\"a\"", "\"what\":\"A\"");
        let mut file = OpenOptions::new().write(true).open(journal).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    });
    assert_refused_after(|journal| {
        OpenOptions::new().append(true).open(journal).unwrap().write_all(b"\n").unwrap();
    });
    assert_refused_after(|journal| {
        let file = OpenOptions::new().write(true).open(journal).unwrap();
        file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    });
    assert_refused_after(|journal| {
        OpenOptions::new().write(true).open(journal).unwrap().set_len(0).unwrap();
    });
    assert_refused_after(|journal| fs::remove_file(journal).unwrap());
}

/// Refused even if the contents are the same to the byte: the file was replaced, and may be replaced again.
#[cfg(unix)]
#[test]
fn a_journal_in_the_place_of_the_journal_is_not_sealed() {
    assert_refused_after(|journal| {
        let copy = journal.with_extension("copy");
        fs::copy(journal, &copy).unwrap();
        fs::rename(copy, journal).unwrap();
    });
    assert_refused_after(|journal| {
        let elsewhere = journal.with_extension("elsewhere");
        fs::rename(journal, &elsewhere).unwrap();
        std::os::unix::fs::symlink(elsewhere, journal).unwrap();
    });
}

#[test]
fn every_event_is_on_its_way_to_the_disk_when_the_call_returns() {
    let dir = TestDir::new();
    let recorder = Recorder::builder(&runs(&dir), &key()).begin(&RunStart::new(run_id())).unwrap();
    let journal = runs(&dir).journal_path(recorder.run_id());
    for count in 2..20 {
        recorder.event_writer().record_gap("a", "b").unwrap();
        assert_eq!(events(&journal).len(), count);
    }
}

#[test]
fn another_key_cannot_seal() {
    let dir = TestDir::new();
    let ended = ended_run(&dir);
    assert_eq!(ended.seal(&SecretKey::generate().unwrap()), Err(RecordError::OtherSigner));
    assert_eq!(verify_artifact(&ended.seal(&key()).unwrap().path, &key()).reasons, [""; 0]);
}

#[test]
fn a_run_is_sealed_once_in_each_place() {
    let dir = TestDir::new();
    let ended = ended_run(&dir);
    let first = ended.seal(&key()).unwrap();
    let path = first.path.to_str().unwrap().to_owned();
    assert_eq!(ended.seal(&key()), Err(RecordError::Exists { path }));
    let out = ArtifactTarget { path: dir.join("copy.rer.json"), replace: false };
    let second = ended.seal_to(&key(), &out).unwrap();
    assert_eq!((second.digest, &second.path), (first.digest, &out.path));
}

#[test]
fn an_artifact_elsewhere() {
    let dir = TestDir::new();
    let out = ArtifactTarget { path: dir.join("run.rer.json"), replace: false };
    let start = RunStart { target: Some(out.clone()), ..RunStart::new(run_id()) };
    let recorder = Recorder::builder(&runs(&dir), &key()).begin(&start).unwrap();
    let id = recorder.run_id();
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!(sealed.path, out.path);
    assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
    assert!(!runs(&dir).artifact_path(id).exists());
    #[cfg(unix)]
    assert_eq!(mode(&sealed.path), 0o600);
}

#[test]
fn an_existing_file_is_seen_before_the_run_and_left_alone() {
    let dir = TestDir::new();
    let out = ArtifactTarget { path: dir.join("run.rer.json"), replace: false };
    let path = out.path.to_str().unwrap().to_owned();
    fs::write(&out.path, "mine").unwrap();
    let start = |out: &ArtifactTarget| RunStart { target: Some(out.clone()), ..RunStart::new(run_id()) };
    let refused = Recorder::builder(&runs(&dir), &key()).begin(&start(&out)).map(|_| ()).unwrap_err();
    assert_eq!(refused, RecordError::Exists { path: path.clone() });
    assert_eq!(dir.names(), ["run.rer.json"], "no run was begun");

    // A file that appears during the run is left alone as well.
    fs::remove_file(&out.path).unwrap();
    let recorder = Recorder::builder(&runs(&dir), &key()).begin(&start(&out)).unwrap();
    fs::write(&out.path, "mine").unwrap();
    assert_eq!(recorder.end(&DONE).unwrap().seal(&key()), Err(RecordError::Exists { path }));
    assert_eq!(fs::read(&out.path).unwrap(), b"mine");

    // Unless it is to be replaced.
    let out = ArtifactTarget { replace: true, ..out };
    let recorder = Recorder::builder(&runs(&dir), &key()).begin(&start(&out)).unwrap();
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!(verify_artifact(&sealed.path, &key()).reasons, [""; 0]);
}

#[test]
fn places_where_no_artifact_can_be() {
    let dir = TestDir::new();
    let begin = |path: &Path| {
        let out = Some(ArtifactTarget { path: path.to_owned(), replace: true });
        let start = RunStart { target: out, ..RunStart::new(run_id()) };
        Recorder::builder(&runs(&dir), &key()).begin(&start).map(|_| ()).unwrap_err()
    };
    let shown = |path: &Path| path.to_str().unwrap().to_owned();
    assert_eq!(begin(dir.path()), RecordError::Exists { path: shown(dir.path()) });
    let missing = dir.join("no such folder/run.rer.json");
    let refused = begin(&missing);
    assert!(
        matches!(&refused, RecordError::Io { path, kind: ErrorKind::NotFound, .. } if *path == shown(&missing)),
        "{refused}"
    );
}

#[test]
fn two_upstreams_of_one_name_are_refused() {
    let dir = TestDir::new();
    let upstreams = [("a", "http://one"), ("a", "http://two")];
    let start = RunStart { upstreams: &upstreams, ..RunStart::new(run_id()) };
    let refused = Recorder::builder(&runs(&dir), &key()).begin(&start).map(|_| ()).unwrap_err();
    assert!(matches!(refused, RecordError::Seal(SealError::Syntax(_))), "{refused}");
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o7777
}

#[cfg(unix)]
#[test]
fn everything_is_closed_to_others() {
    let dir = TestDir::new();
    let ended = ended_run(&dir);
    ended.seal(&key()).unwrap();
    let (folder, id) = (runs(&dir), ended.run_id());
    for path in [folder.path(), &folder.path().join("runs"), &folder.run_path(id)] {
        assert_eq!(mode(path), 0o700, "{}", path.display());
    }
    for path in [folder.journal_path(id), folder.artifact_path(id)] {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}
