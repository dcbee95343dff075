//! The standing index of verified runs: a second record of a run is found, on another day and by another process.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use reenact_formats::rer::seal::Signer as _;
use reenact_json::Digest;
use reenact_testkit::Script;
use reenact_testkit::fixture::{RunBuilder, TestKey};

use super::project::TestProject;

/// Returns a project without records.
fn empty_project() -> TestProject {
    TestProject::new(Script::travel())
}

/// Writes a record of the one run id that all built runs have, and the key that signed it.
fn write_record(project: &TestProject, name: &str, seed: u8, said: &str) {
    let key = TestKey::of(seed);
    let run = RunBuilder::started().event("rer.output.final", &format!("{{\"output\":\"{said}\"}}")).ended(0);
    let folder = project.folder.path();
    fs::write(folder.join(name), run.seal(&key)).unwrap();
    fs::create_dir_all(folder.join("keys")).unwrap();
    fs::write(folder.join(format!("keys/{seed}.bin")), key.public_key().as_bytes()).unwrap();
}

fn read_index(project: &TestProject) -> String {
    fs::read_to_string(project.folder.path().join("runs.index")).unwrap()
}

const INDEXED: [&str; 6] = ["verify", "--keys", "keys", "--index", "runs.index", "--deny-duplicates"];

/// Verifies with the index, and returns the exit code and what stands on standard error.
fn verify(project: &TestProject, targets: &[&str]) -> (Option<i32>, String) {
    let output = project.run(&[&INDEXED[..], targets].concat());
    (output.code, output.stderr)
}

#[test]
fn another_record_of_a_run_is_refused_later() {
    let project = empty_project();
    write_record(&project, "a.rer.json", 1, "one");
    write_record(&project, "b.rer.json", 1, "two");
    write_record(&project, "c.rer.json", 2, "one");
    let added = |added: &str| (Some(0), format!("reenact: index: {added} in all\n"));
    assert_eq!(verify(&project, &["a.rer.json"]), added("1 run added, 1"));
    let mode = fs::metadata(project.folder.path().join("runs.index")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The same record again, also under another name, is no other record; nor is a run of another key.
    fs::copy(project.folder.path().join("a.rer.json"), project.folder.path().join("copy.json")).unwrap();
    assert_eq!(verify(&project, &["a.rer.json", "copy.json"]), added("0 runs added, 1"));
    assert_eq!(verify(&project, &["c.rer.json"]), added("1 run added, 2"));
    let before = read_index(&project);
    assert_eq!(
        verify(&project, &["b.rer.json"]),
        (
            Some(1),
            "reenact: b.rer.json: --deny-duplicates: this run comes in more than one version\n\
             reenact: index: 0 runs added, 2 in all\n"
                .into()
        )
    );
    // Without the demand it is a note, and still not entered.
    let noted = project.run(&["verify", "--keys", "keys", "--index", "runs.index", "b.rer.json", "--json"]);
    assert_eq!(noted.code, Some(0));
    assert!(
        noted.stdout.contains("the index has another record of the same run by the same key"),
        "{}",
        noted.stdout
    );
    assert_eq!(read_index(&project), before);
    assert_eq!(before.lines().next(), Some("{\"reenact_index\":1}"));
    assert_eq!(before.lines().count(), 3);
}

#[test]
fn only_what_holds_is_entered() {
    let project = empty_project();
    write_record(&project, "a.rer.json", 1, "one");
    write_record(&project, "b.rer.json", 1, "two");
    let path = project.folder.path().join("changed.rer.json");
    let text = fs::read_to_string(project.folder.path().join("a.rer.json")).unwrap();
    fs::write(&path, text.replace("\"one\"", "\"0ne\"")).unwrap();
    // One that fails, and two versions at once, of which neither comes first.
    assert_eq!(verify(&project, &["changed.rer.json"]).0, Some(1));
    assert_eq!(verify(&project, &["a.rer.json", "b.rer.json"]).0, Some(1));
    // A key that was asked for did not sign.
    write_record(&project, "c.rer.json", 2, "one");
    let other = ["verify", "--key", "keys/1.bin", "--index", "runs.index", "c.rer.json"];
    assert_eq!(project.run(&other).code, Some(1));
    assert!(!project.folder.path().join("runs.index").exists());
}

/// A bundle of a run and the run itself are one record.
#[test]
fn a_run_and_its_own_bundle_are_one() {
    let project = empty_project();
    project.run(&["record", "-q", "--", "true"]).expect(0, "", "");
    project.run(&["share", "last", "--as", "rer", "--out", "run.rer.tar.gz"]).expect(0, "...\n", "");
    let verify =
        |target: &str| project.run(&["verify", "--index", "runs.index", "--deny-duplicates", target]);
    verify("last").expect(0, "...\n", "reenact: index: 1 run added, 1 in all\n");
    verify("run.rer.tar.gz").expect(0, "...\n", "reenact: index: 0 runs added, 1 in all\n");
}

#[test]
fn a_damaged_index_is_an_error_and_stays() {
    let project = empty_project();
    write_record(&project, "a.rer.json", 1, "one");
    let path = project.folder.path().join("runs.index");
    let digest = Digest::of(b"");
    for (damaged, reason) in [
        (String::new(), "it does not begin with"),
        ("{\"reenact_index\":2}\n".into(), "it does not begin with"),
        (format!("{{\"reenact_index\":1}}\n{{\"digest\":\"{digest}\"}}\n"), "line 2 is not an entry"),
        ("{\"reenact_index\":1}\n{\"digest\":".into(), "its last line has no end"),
    ] {
        fs::write(&path, &damaged).unwrap();
        let output = project.run(&[&INDEXED[..], &["a.rer.json"]].concat());
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
        assert!(
            output.stderr.starts_with("reenact: runs.index: the index is damaged: "),
            "{}",
            output.stderr
        );
        assert!(output.stderr.contains(reason), "{}", output.stderr);
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
    }
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let project = empty_project();
    let count = 8;
    for seed in 1..=count {
        write_record(&project, &format!("{seed}.rer.json"), seed, "one");
    }
    let children: Vec<_> = (1..=count)
        .map(|seed| {
            let target = format!("{seed}.rer.json");
            let mut command = project.command(&[&INDEXED[..], &[target.as_str()]].concat());
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    assert_eq!(read_index(&project).lines().count(), 1 + usize::from(count));
}
