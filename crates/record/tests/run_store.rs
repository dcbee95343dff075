//! The folder of runs: which folders are refused, and which runs are listed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::path::Path;

use reenact_record::{RecordError, Recorder, RunId, RunStart, RunStore, RunStoreError};
use reenact_testkit::fixture::TestDir;
use support::{key, run_id, runs};

fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn begin(folder: &RunStore) -> Result<(), RecordError> {
    Recorder::builder(folder, &key()).begin(&RunStart::new(run_id())).map(|_| ())
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let dir = TestDir::new();
    let elsewhere = dir.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let folder = runs(&dir);
    std::os::unix::fs::symlink(&elsewhere, folder.path()).unwrap();
    let refused = RunStoreError::Link { path: shown(folder.path()) };
    assert_eq!(begin(&folder), Err(RecordError::RunStore(refused.clone())));
    assert_eq!(folder.run_ids(), Err(refused));

    // A dangling link is not followed either, nor one further down.
    fs::remove_dir(&elsewhere).unwrap();
    let refused = RunStoreError::Link { path: shown(folder.path()) };
    assert_eq!(begin(&folder), Err(RecordError::RunStore(refused)));
    fs::remove_file(folder.path()).unwrap();
    fs::create_dir(folder.path()).unwrap();
    let runs = folder.path().join("runs");
    std::os::unix::fs::symlink(&elsewhere, &runs).unwrap();
    assert_eq!(begin(&folder), Err(RecordError::RunStore(RunStoreError::Link { path: shown(&runs) })));
    assert!(!elsewhere.exists());
}

#[cfg(unix)]
#[test]
fn another_users_folder_is_refused() {
    use std::os::unix::fs::MetadataExt;
    let dir = TestDir::new();
    let mut folder = runs(&dir);
    fs::create_dir(folder.path()).unwrap();
    let our_id = folder.path().metadata().unwrap().uid();
    if our_id == 0 {
        std::os::unix::fs::chown(folder.path(), Some(65_534), None).unwrap();
    } else {
        // Without the right to give a folder away, take one that belongs to somebody else already.
        folder = RunStore::new("/");
    }
    let refused = RunStoreError::Foreign { path: shown(folder.path()) };
    assert_eq!(begin(&folder), Err(RecordError::RunStore(refused.clone())));
    assert_eq!(folder.run_ids(), Err(refused));
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_write_to_is_refused_and_one_that_they_read_is_closed() {
    use std::os::unix::fs::PermissionsExt;
    let dir = TestDir::new();
    let folder = runs(&dir);
    fs::create_dir(folder.path()).unwrap();
    let set = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
    set(0o770);
    let refused = RunStoreError::OpenToOthers { path: shown(folder.path()), mode: 0o770 };
    assert_eq!(begin(&folder), Err(RecordError::RunStore(refused.clone())));
    assert_eq!(
        refused.to_string(),
        format!(
            "{path}: others can write to it (mode 0770); close it with: chmod 700 {path}",
            path = shown(folder.path())
        )
    );
    set(0o755);
    begin(&folder).unwrap();
    assert_eq!(folder.path().metadata().unwrap().permissions().mode() & 0o7777, 0o700);
}

#[test]
fn what_is_no_folder_is_refused() {
    let dir = TestDir::new();
    let folder = runs(&dir);
    fs::write(folder.path(), "").unwrap();
    let refused = RunStoreError::NotAFolder { path: shown(folder.path()) };
    assert_eq!(begin(&folder), Err(RecordError::RunStore(refused)));
}

#[test]
fn an_id_names_one_run() {
    let dir = TestDir::new();
    let (folder, id) = (runs(&dir), run_id());
    let start = RunStart::new(id);
    let _recorder = Recorder::builder(&folder, &key()).begin(&start).unwrap();
    let refused = Recorder::builder(&folder, &key()).begin(&start).map(|_| ()).unwrap_err();
    assert_eq!(refused, RecordError::RunStore(RunStoreError::Exists { path: shown(&folder.run_path(id)) }));
}

/// Creates runs of these ids, and entries that are no runs.
fn with_runs(dir: &TestDir, ids: &[&str]) -> RunStore {
    let folder = runs(dir);
    let runs = folder.path().join("runs");
    fs::create_dir_all(&runs).unwrap();
    for id in ids {
        fs::create_dir(runs.join(id)).unwrap();
    }
    fs::create_dir(runs.join("not a run")).unwrap();
    fs::create_dir(runs.join("ffffffff-ffff-4fff-bfff-ffffffffffff")).unwrap();
    fs::write(runs.join("fff022e2-79b0-7cc3-98c4-dc0c0c07398f"), "a file").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("/", runs.join("fff122e2-79b0-7cc3-98c4-dc0c0c07398f")).unwrap();
    folder
}

const OLD: &str = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
const MIDDLE: &str = "017f22e2-79b0-7fff-98c4-dc0c0c07398f";
const NEW: &str = "019a8172-3a80-7d21-9f3e-2b6c5d4e3f2a";

fn id(text: &str) -> RunId {
    text.parse().unwrap()
}

#[test]
fn runs_are_listed_and_nothing_else() {
    let dir = TestDir::new();
    let folder = with_runs(&dir, &[NEW, OLD, MIDDLE]);
    assert_eq!(folder.run_ids(), Ok(vec![id(OLD), id(MIDDLE), id(NEW)]));
    assert_eq!(folder.sealed_artifact(id(NEW)), Err(RunStoreError::Empty { run_id: id(NEW) }));
}

#[test]
fn where_nothing_was_recorded() {
    let dir = TestDir::new();
    let folder = runs(&dir);
    assert_eq!(folder.run_ids(), Ok(vec![]));
    assert_eq!(dir.names(), [""; 0], "looking makes no folder");
}

/// A link in the place of an artifact is none.
#[cfg(unix)]
#[test]
fn a_link_is_no_artifact() {
    let dir = TestDir::new();
    let folder = with_runs(&dir, &[OLD]);
    let artifact = folder.artifact_path(id(OLD));
    std::os::unix::fs::symlink("/etc/passwd", &artifact).unwrap();
    assert_eq!(folder.sealed_artifact(id(OLD)), Err(RunStoreError::Link { path: shown(&artifact) }));
}
