//! Removing runs: never one that is recorded, never anything outside of the store.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;

use reenact_record::{Recorder, RunId, RunStart, RunStore, RunStoreError};
use reenact_testkit::fixture::TestDir;
use support::{DONE, key, run_id, runs};

/// Records and seals a run, and returns its id.
fn sealed(store: &RunStore) -> RunId {
    let recorder = Recorder::builder(store, &key()).begin(&RunStart::new(run_id())).unwrap();
    let id = recorder.run_id();
    recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    id
}

#[test]
fn a_run_goes_with_all_that_its_folder_holds() {
    let dir = TestDir::new();
    let store = runs(&dir);
    let (id, other) = (sealed(&store), sealed(&store));
    let folder = store.run_path(id);
    fs::create_dir(folder.join("blobs")).unwrap();
    fs::write(folder.join("blobs/x"), vec![0; 100_000]).unwrap();
    let bytes: u64 = ["journal.jsonl", "artifact.rer.json", "run.json", "blobs/x"]
        .map(|name| folder.join(name).metadata().unwrap().len())
        .iter()
        .sum();
    assert_eq!(store.run_bytes(id), bytes);
    assert_eq!(store.remove_run(id), Ok(bytes));
    assert_eq!(store.run_ids(), Ok(vec![other]));
    assert_eq!(fs::read_dir(folder.parent().unwrap()).unwrap().count(), 1, "nothing is left of it");
    assert_eq!(store.remove_run(id), Err(RunStoreError::NotFound { run_id: id }));
    assert_eq!(runs(&TestDir::new()).remove_run(id), Err(RunStoreError::NotFound { run_id: id }));
}

#[test]
fn a_run_that_is_recorded_stays() {
    let dir = TestDir::new();
    let store = runs(&dir);
    let recorder = Recorder::builder(&store, &key()).begin(&RunStart::new(run_id())).unwrap();
    let id = recorder.run_id();
    let busy = Err(RunStoreError::BeingRecorded { run_id: id });
    assert_eq!(store.remove_run(id), busy);
    let ended = recorder.end(&DONE).unwrap();
    assert_eq!(store.remove_run(id), busy);
    ended.seal(&key()).unwrap();
    assert_eq!(store.remove_run(id), busy, "its journal is about to be removed");
    drop(ended);
    let resumed = Recorder::builder(&store, &key()).resume_ended(id).unwrap();
    assert_eq!(store.remove_run(id), busy, "a recovery has it");
    assert!(store.journal_path(id).exists() && store.artifact_path(id).exists());
    drop(resumed);
    assert!(store.remove_run(id).is_ok());
}

/// The log of a run tells that its recorder lives, when its journal is gone.
#[test]
fn a_run_whose_journal_somebody_removed_stays_while_it_is_recorded() {
    let Some(wal_dir) = reenact_record::wal::WalDir::find() else { return };
    let dir = TestDir::new();
    let store = runs(&dir);
    let recorder = Recorder::builder(&store, &key()).begin(&RunStart::new(run_id())).unwrap();
    let id = recorder.run_id();
    let log = recorder.event_writer().create_wal(&wal_dir, id).unwrap();
    fs::remove_file(store.journal_path(id)).unwrap();
    assert_eq!(store.remove_run(id), Err(RunStoreError::BeingRecorded { run_id: id }));
    log.remove().unwrap();
    drop(log);
    assert!(store.remove_run(id).is_ok());
}

#[test]
fn links_are_removed_and_not_followed() {
    let dir = TestDir::new();
    let store = runs(&dir);
    let id = sealed(&store);
    let outside = dir.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), vec![0; 1 << 20]).unwrap();
    let folder = store.run_path(id);
    symlink(&outside, folder.join("blobs")).unwrap();
    symlink(outside.join("file"), folder.join("link")).unwrap();
    // A recovery of a removal that was killed meets a link as well.
    symlink(&outside, folder.with_extension("gone")).unwrap();
    assert!(store.run_bytes(id) < 1 << 19, "what links lead to is not counted");
    assert!(store.remove_run(id).unwrap() < 1 << 19);
    assert!(outside.join("file").exists());
    // A link in the place of a run, or of the folders above, is none.
    symlink(&outside, &folder).unwrap();
    let link = |path: &std::path::Path| Err(RunStoreError::Link { path: path.to_str().unwrap().to_owned() });
    assert_eq!(store.remove_run(id), link(&folder));
    fs::remove_file(&folder).unwrap();
    let runs_folder = folder.parent().unwrap();
    fs::remove_dir(runs_folder).unwrap();
    fs::create_dir(outside.join(id.to_string())).unwrap();
    symlink(&outside, runs_folder).unwrap();
    assert_eq!(store.remove_run(id), link(runs_folder));
    assert_eq!(store.remove_remains().map(|_| ()), link(runs_folder).map(|_: u64| ()));
    assert!(outside.join("file").exists() && outside.join(id.to_string()).exists());
}

#[test]
fn what_a_killed_removal_left_goes() {
    let dir = TestDir::new();
    let store = runs(&dir);
    assert_eq!(store.remove_remains(), Ok(0));
    let (id, other) = (sealed(&store), sealed(&store));
    let bytes = store.run_bytes(id);
    let folder = store.run_path(id);
    fs::rename(&folder, folder.with_extension("gone")).unwrap();
    let foreign = folder.with_file_name("notes.gone");
    fs::write(&foreign, "not ours").unwrap();
    assert_eq!(store.run_ids(), Ok(vec![other]), "half a run is none");
    assert_eq!(store.remove_remains(), Ok(bytes));
    assert!(!folder.with_extension("gone").exists() && foreign.exists());
    assert_eq!(store.run_ids(), Ok(vec![other]));
}
