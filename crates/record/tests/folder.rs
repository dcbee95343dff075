//! The folder of runs: what is refused, and which run a person means.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::path::Path;

use reenact_record::{Folder, FolderError, RecordError, Recorder, RunId, RunStart};
use reenact_testkit::fixture::TestDir;
use support::{key, run_id, runs};

fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn begin(folder: &Folder) -> Result<(), RecordError> {
    Recorder::begin(folder, &RunStart::new(run_id()), &key()).map(|_| ())
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let place = TestDir::new();
    let elsewhere = place.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let folder = runs(&place);
    std::os::unix::fs::symlink(&elsewhere, folder.path()).unwrap();
    let refused = FolderError::Link { path: shown(folder.path()) };
    assert_eq!(begin(&folder), Err(RecordError::Folder(refused.clone())));
    assert_eq!(folder.runs(), Err(refused.clone()));
    assert_eq!(folder.resolve("last"), Err(refused));

    // Nor is one that leads nowhere yet, or that stands deeper.
    fs::remove_dir(&elsewhere).unwrap();
    let refused = FolderError::Link { path: shown(folder.path()) };
    assert_eq!(begin(&folder), Err(RecordError::Folder(refused)));
    fs::remove_file(folder.path()).unwrap();
    fs::create_dir(folder.path()).unwrap();
    let runs = folder.path().join("runs");
    std::os::unix::fs::symlink(&elsewhere, &runs).unwrap();
    assert_eq!(begin(&folder), Err(RecordError::Folder(FolderError::Link { path: shown(&runs) })));
    assert!(!elsewhere.exists());
}

#[cfg(unix)]
#[test]
fn another_users_folder_is_refused() {
    use std::os::unix::fs::MetadataExt;
    let place = TestDir::new();
    let mut folder = runs(&place);
    fs::create_dir(folder.path()).unwrap();
    let our_id = folder.path().metadata().unwrap().uid();
    if our_id == 0 {
        std::os::unix::fs::chown(folder.path(), Some(65_534), None).unwrap();
    } else {
        // Whoever cannot give a folder away takes one that always was another's.
        folder = Folder::new("/");
    }
    let refused = FolderError::Foreign { path: shown(folder.path()) };
    assert_eq!(begin(&folder), Err(RecordError::Folder(refused.clone())));
    assert_eq!(folder.runs(), Err(refused));
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_write_to_is_refused_and_one_that_they_read_is_closed() {
    use std::os::unix::fs::PermissionsExt;
    let place = TestDir::new();
    let folder = runs(&place);
    fs::create_dir(folder.path()).unwrap();
    let set = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
    set(0o770);
    let refused = FolderError::OpenToOthers { path: shown(folder.path()), mode: 0o770 };
    assert_eq!(begin(&folder), Err(RecordError::Folder(refused.clone())));
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
    let place = TestDir::new();
    let folder = runs(&place);
    fs::write(folder.path(), "").unwrap();
    let refused = FolderError::NotAFolder { path: shown(folder.path()) };
    assert_eq!(begin(&folder), Err(RecordError::Folder(refused)));
}

#[test]
fn an_id_names_one_run() {
    let place = TestDir::new();
    let (folder, id) = (runs(&place), run_id());
    let start = RunStart::new(id);
    let _recorder = Recorder::begin(&folder, &start, &key()).unwrap();
    let refused = Recorder::begin(&folder, &start, &key()).map(|_| ()).unwrap_err();
    assert_eq!(refused, RecordError::Folder(FolderError::Exists { path: shown(&folder.run(id)) }));
}

/// Runs of these ids, and things that are none.
fn with_runs(place: &TestDir, ids: &[&str]) -> Folder {
    let folder = runs(place);
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
fn the_run_that_is_meant() {
    let place = TestDir::new();
    let folder = with_runs(&place, &[NEW, OLD, MIDDLE]);
    assert_eq!(folder.runs(), Ok(vec![id(OLD), id(MIDDLE), id(NEW)]));
    for (given, meant) in [
        ("last", NEW),
        (OLD, OLD),
        ("017f22e2-79b0-7c", OLD),
        ("017f22e2-79b0-7f", MIDDLE),
        ("019", NEW),
        (NEW, NEW),
    ] {
        assert_eq!(folder.resolve(given), Ok(id(meant)), "{given}");
    }
    let several = FolderError::Ambiguous { given: "017f".into(), found: vec![id(OLD), id(MIDDLE)] };
    assert_eq!(several.to_string(), format!("\"017f\" begins 2 ids: {OLD}, {MIDDLE}; give more of it"));
    assert_eq!(folder.resolve("017f"), Err(several));
    assert_eq!(folder.resolve("02"), Err(FolderError::NotFound { given: "02".into() }));
    assert_eq!(
        folder.resolve("fff"),
        Err(FolderError::NotFound { given: "fff".into() }),
        "these are no runs"
    );
    assert_eq!(folder.sealed(id(NEW)), Err(FolderError::NotSealed { run_id: id(NEW) }));
}

#[test]
fn what_names_no_run() {
    let place = TestDir::new();
    let folder = with_runs(&place, &[OLD]);
    let long = format!("{OLD}0");
    for given in
        ["", ".", "..", "../x", "/etc/passwd", "\u{1b}[2J", "LAST", "017F", "017f\0", "é", " last", &long]
    {
        let refused = FolderError::NotAnId { given: given.into() };
        let said = refused.to_string();
        assert!(!said.contains(char::is_control), "{said:?}");
        assert_eq!(folder.resolve(given), Err(refused), "{given:?}");
    }
}

#[test]
fn many_that_begin_alike_are_not_all_listed() {
    let found: Vec<RunId> = (0..9).map(|at| id(&OLD.replace("017f", &format!("01{at}f")))).collect();
    let said = FolderError::Ambiguous { given: "01".into(), found }.to_string();
    assert!(said.starts_with("\"01\" begins 9 ids: 010f22e2-"), "{said}");
    assert!(said.ends_with("017f22e2-79b0-7cc3-98c4-dc0c0c07398f, …; give more of it"), "{said}");
}

#[test]
fn where_nothing_was_recorded() {
    let place = TestDir::new();
    let folder = runs(&place);
    let nothing = FolderError::NoRuns { path: shown(folder.path()) };
    assert_eq!(folder.runs(), Ok(vec![]));
    assert_eq!(folder.resolve("last"), Err(nothing.clone()));
    assert_eq!(folder.resolve("01"), Err(nothing));
    assert_eq!(place.names(), [""; 0], "looking makes no folder");
}

/// What is there of a link in the place of an artifact is not a record of ours.
#[cfg(unix)]
#[test]
fn a_link_is_no_artifact() {
    let place = TestDir::new();
    let folder = with_runs(&place, &[OLD]);
    let artifact = folder.artifact(id(OLD));
    std::os::unix::fs::symlink("/etc/passwd", &artifact).unwrap();
    assert_eq!(folder.sealed(id(OLD)), Err(FolderError::Link { path: shown(&artifact) }));
}
