//! The journal goes when the artifact is sealed and was read back, and a crash at any moment between loses nothing.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use reenact_json::{Digest, Limits, Value};
use reenact_record::{
    ArtifactTarget, Ended, RecordEnv, RecordError, Recorder, ResumeError, RunId, RunStart, RunStore,
    RunStoreError, SealedArtifact, StoredRun,
};
use reenact_testkit::fixture::TestDir;
use support::faulty::FaultyStorage;
use support::{DONE, fixed_env, key, run_id, runs, verify_artifact};

/// Returns a run that has ended, on storage that may fail.
fn ended_run(dir: &TestDir, storage: &FaultyStorage, target: Option<ArtifactTarget>) -> Recorder<Ended> {
    let env = RecordEnv { storage: Arc::new(storage.clone()), ..fixed_env() };
    let start = RunStart { target, ..RunStart::new(run_id()) };
    let recorder = Recorder::builder(&runs(dir), &key()).env(env).begin(&start).unwrap();
    recorder.event_writer().record_gap("a", "b").unwrap();
    recorder.end(&DONE).unwrap()
}

/// Returns the digest of a file.
fn digest(path: &Path) -> Digest {
    Digest::of(&fs::read(path).unwrap())
}

/// Returns the hash of the last event of an artifact.
fn log_head(path: &Path) -> Digest {
    let text = fs::read(path).unwrap();
    let document = Value::parse(&text, &Limits::default()).unwrap();
    Digest::from_hex(&document.member("log_head_hash").unwrap().string().unwrap()).unwrap()
}

/// Checks that a run is whole: it has a good artifact, or a journal that can be sealed into one.
fn assert_nothing_is_lost(store: &RunStore, id: RunId) {
    let artifact = match store.state(id).unwrap() {
        StoredRun::Sealed { artifact } => artifact,
        state => {
            assert_eq!(state, StoredRun::Unsealed);
            let ended = Recorder::builder(store, &key()).resume_ended(id).unwrap();
            let sealed = ended.seal(&key()).unwrap();
            ended.remove_journal(&sealed, digest(&sealed.path)).unwrap();
            sealed.path
        }
    };
    assert_eq!(verify_artifact(&artifact, &key()).reasons, [""; 0]);
    if store.journal_path(id).exists() {
        assert_eq!(store.leftover_journals(), Ok(vec![id]));
        store.remove_leftover_journal(id, log_head(&artifact)).unwrap();
    }
    assert_eq!(store.leftover_journals(), Ok(vec![]));
    assert_eq!(store.unsealed_runs(), Ok(vec![]));
    assert!(!store.journal_path(id).exists());
    assert_eq!(verify_artifact(&store.sealed_artifact(id).unwrap(), &key()).reasons, [""; 0]);
}

#[test]
fn the_journal_goes_when_the_artifact_was_read_back() {
    let (dir, storage) = (TestDir::new(), FaultyStorage::default());
    let ended = ended_run(&dir, &storage, None);
    let (store, id) = (runs(&dir), ended.run_id());
    assert_eq!(store.state(id), Ok(StoredRun::Recording));
    let sealed = ended.seal(&key()).unwrap();
    assert!(store.journal_path(id).is_file(), "the seal alone removes nothing");
    ended.remove_journal(&sealed, digest(&sealed.path)).unwrap();
    let folder = store.run_path(id);
    let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["artifact.rer.json", "run.json"]);
    assert_nothing_is_lost(&store, id);
}

#[test]
fn the_journal_stays_unless_these_very_bytes_were_read_back() {
    let (dir, storage) = (TestDir::new(), FaultyStorage::default());
    let (store, other) = (runs(&dir), TestDir::new());
    let seal = || {
        let ended = ended_run(&dir, &storage, None);
        let sealed = ended.seal(&key()).unwrap();
        (ended, sealed)
    };
    let refused = |(ended, sealed): (Recorder<Ended>, SealedArtifact), read: Digest| {
        let id = ended.run_id();
        let path = sealed.path.to_str().unwrap().to_owned();
        assert_eq!(ended.remove_journal(&sealed, read), Err(RecordError::NotReadBack { path }));
        assert!(store.journal_path(id).is_file());
        id
    };
    // A file that is not what was sealed.
    let (ended, sealed) = seal();
    let text = fs::read(&sealed.path).unwrap();
    fs::write(&sealed.path, &text[..text.len() - 1]).unwrap();
    let read = digest(&sealed.path);
    let id = refused((ended, sealed), read);
    fs::write(store.artifact_path(id), text).unwrap();
    assert_nothing_is_lost(&store, id);
    // The artifact of another run.
    let (ended, _) = seal();
    let foreign = ended_run(&other, &storage, None).seal(&key()).unwrap();
    let read = digest(&foreign.path);
    let id = refused((ended, foreign), read);
    assert_nothing_is_lost(&store, id);
}

#[test]
fn a_journal_that_cannot_be_removed_stays() {
    let (dir, storage) = (TestDir::new(), FaultyStorage::default());
    let ended = ended_run(&dir, &storage, None);
    let (store, id) = (runs(&dir), ended.run_id());
    let sealed = ended.seal(&key()).unwrap();
    storage.faults().keeps_files = true;
    let error = ended.remove_journal(&sealed, digest(&sealed.path)).unwrap_err();
    assert!(matches!(error, RecordError::Io { kind: ErrorKind::ReadOnlyFilesystem, .. }), "{error:?}");
    assert!(store.journal_path(id).is_file());
    assert_nothing_is_lost(&store, id);
}

/// The name of the journal may belong to another file by now, which is not ours to remove.
#[test]
fn another_file_in_its_place_is_not_removed() {
    let (dir, storage) = (TestDir::new(), FaultyStorage::default());
    let ended = ended_run(&dir, &storage, None);
    let journal = runs(&dir).journal_path(ended.run_id());
    let sealed = ended.seal(&key()).unwrap();
    fs::rename(&journal, dir.join("aside")).unwrap();
    fs::write(&journal, "another").unwrap();
    ended.remove_journal(&sealed, digest(&sealed.path)).unwrap();
    assert_eq!(fs::read_to_string(&journal).unwrap(), "another");
}

#[test]
fn a_leftover_is_removed_only_if_the_artifact_ends_as_it_does() {
    let (dir, storage) = (TestDir::new(), FaultyStorage::default());
    let ended = ended_run(&dir, &storage, None);
    let (store, id) = (runs(&dir), ended.run_id());
    let sealed = ended.seal(&key()).unwrap();
    let head = log_head(&sealed.path);
    assert_eq!(store.remove_leftover_journal(id, head), Err(ResumeError::Busy { run_id: id }));
    drop(ended);
    let journal = store.journal_path(id);
    let other_end = ResumeError::OtherEnd { path: journal.to_str().unwrap().to_owned() };
    assert_eq!(store.remove_leftover_journal(id, Digest::of(b"other")), Err(other_end.clone()));
    let text = fs::read(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 1]).unwrap();
    assert_eq!(store.remove_leftover_journal(id, head), Err(other_end));
    fs::write(&journal, &text).unwrap();
    assert_nothing_is_lost(&store, id);
}

/// The artifact that was written elsewhere is found by `run.json` when the journal is gone.
#[test]
fn an_artifact_elsewhere_is_found_without_the_journal() {
    let (dir, storage) = (TestDir::new(), FaultyStorage::default());
    let path = dir.join("run.rer.json");
    let ended = ended_run(&dir, &storage, Some(ArtifactTarget { path: path.clone(), replace: false }));
    let (store, id) = (runs(&dir), ended.run_id());
    let sealed = ended.seal(&key()).unwrap();
    ended.remove_journal(&sealed, digest(&path)).unwrap();
    assert_eq!(store.run_file(id).unwrap().artifact.as_ref(), Some(&path));
    assert_nothing_is_lost(&store, id);
    fs::rename(&path, dir.join("moved")).unwrap();
    let shown = path.to_str().unwrap().to_owned();
    assert_eq!(store.sealed_artifact(id), Err(RunStoreError::Moved { run_id: id, path: shown }));
    fs::remove_file(store.run_path(id).join("run.json")).unwrap();
    assert_eq!(store.sealed_artifact(id), Err(RunStoreError::Empty { run_id: id }));
}

/// Sealed into another file than planned: `run.json` says where, also if somebody had removed it.
#[test]
fn the_place_of_the_artifact_is_noted() {
    let (dir, storage) = (TestDir::new(), FaultyStorage::default());
    let planned = ArtifactTarget { path: dir.join("planned.rer.json"), replace: false };
    let ended = ended_run(&dir, &storage, Some(planned));
    let (store, id) = (runs(&dir), ended.run_id());
    let target = |path| ArtifactTarget { path, replace: false };
    fs::remove_file(store.run_path(id).join("run.json")).unwrap();
    let other = ended.seal_to(&key(), &target(dir.join("other.rer.json"))).unwrap();
    assert_eq!(store.run_file(id).unwrap().artifact, Some(other.path));
    let beside = ended.seal_to(&key(), &target(store.artifact_path(id))).unwrap();
    assert_eq!(store.run_file(id).unwrap().artifact, None);
    ended.remove_journal(&beside, digest(&beside.path)).unwrap();
    assert_nothing_is_lost(&store, id);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    /// The machine stops at any moment from the end of the run to the removal of its journal.
    #[test]
    fn a_machine_that_stops_loses_nothing(stage in 0..3_u8, choices in prop::collection::vec(any::<usize>(), 32)) {
        let (dir, storage) = (TestDir::in_memory(), FaultyStorage::default());
        let ended = ended_run(&dir, &storage, None);
        let (store, id) = (runs(&dir), ended.run_id());
        if stage > 0 {
            let sealed = ended.seal(&key()).unwrap();
            if stage > 1 {
                ended.remove_journal(&sealed, digest(&sealed.path)).unwrap();
            } else {
                drop(ended);
            }
        } else {
            drop(ended);
        }
        let mut choices = choices.into_iter().cycle();
        // The folder that the run lies in was there before.
        storage.crash(store.path(), &mut |below| choices.next().unwrap() % below);
        assert_nothing_is_lost(&store, id);
    }
}
