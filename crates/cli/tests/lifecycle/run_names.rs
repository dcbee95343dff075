//! Names of runs: `last` by the folder, `last~1`, ids by their beginning and their end, and artifacts that lie elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use reenact_testkit::Script;

use super::project::{CommandOutput, REENACT, TestProject};

/// Runs `reenact` in a folder of the project, which is created.
fn run_in(project: &TestProject, folder: &str, arguments: &[&str]) -> CommandOutput {
    let folder = project.folder.path().join(folder);
    fs::create_dir_all(&folder).unwrap();
    let output = project.command(arguments).current_dir(folder).output().unwrap();
    let utf8 = |bytes| String::from_utf8(bytes).unwrap();
    CommandOutput { code: output.status.code(), stdout: utf8(output.stdout), stderr: utf8(output.stderr) }
}

/// Records a run in a folder, and returns its id.
fn record_in(project: &TestProject, folder: &str, options: &[&str]) -> String {
    let before = ids(project);
    let line = [&["record", "-q"], options, &["--", REENACT, "demo-agent"]].concat();
    run_in(project, folder, &line).expect(0, "...\n", "");
    ids(project).into_iter().find(|id| !before.contains(id)).unwrap()
}

/// Returns the ids of all runs, sorted.
fn ids(project: &TestProject) -> Vec<String> {
    let runs = fs::read_dir(project.folder.state().join("runs")).into_iter().flatten();
    let mut ids: Vec<String> = runs.map(|run| run.unwrap().file_name().into_string().unwrap()).collect();
    ids.sort();
    ids
}

/// Checks that a name means a run, from a folder of the project.
#[track_caller]
fn expect_run(project: &TestProject, folder: &str, name: &str, id: &str, notice: &str) {
    let stdout = format!("[..]/state/runs/{id}/artifact.rer.json  rer-artifact/0.2\n...\n");
    run_in(project, folder, &["verify", name]).expect(0, &stdout, notice);
}

#[test]
fn the_last_run_is_that_of_the_folder() {
    let project = TestProject::new(Script::travel());
    let in_a = record_in(&project, "a", &[]);
    let below_a = record_in(&project, "a/deep/er", &[]);
    let in_b = record_in(&project, "b", &[]);
    for (folder, name, id) in [
        ("a", "last", &below_a),
        ("a", "last~0", &below_a),
        ("a", "last~1", &in_a),
        ("a/deep", "last", &below_a),
        ("b", "last", &in_b),
        ("", "last", &in_b),
        ("", "last~1", &below_a),
        ("", "last~2", &in_a),
    ] {
        expect_run(&project, folder, name, id, "");
    }
    let refused = "last~2\n  ERROR  last~2: there are not so many runs of this folder[..] (E_NOT_FOUND)\n";
    run_in(&project, "a", &["verify", "last~2"]).expect(2, refused, "");
    // Beside the folders of the runs, the newest of all is told by name. `ab` is not below `a`.
    let elsewhere = |id: &str, folder: &str| {
        format!(
            "reenact: no run was recorded in this folder; this is the newest of all: {id}, recorded in [..]/work/{folder}\n"
        )
    };
    expect_run(&project, "ab", "last", &in_b, &elsewhere(&in_b, "b"));
    expect_run(&project, "ab", "last~1", &below_a, &elsewhere(&below_a, "a/deep/er"));
    let refused = "last~3\n  ERROR  last~3: there are not so many runs in all[..] (E_NOT_FOUND)\n";
    run_in(&project, "ab", &["verify", "last~3"]).expect(2, refused, "");
}

#[test]
fn a_run_is_named_by_either_end_of_its_id() {
    let project = TestProject::new(Script::travel());
    let (one, two) = (record_in(&project, "", &[]), record_in(&project, "", &[]));
    for id in [&one, &two] {
        for name in [&id[..], &id[30..], &id[..30]] {
            expect_run(&project, "", name, id, "");
        }
        run_in(&project, "", &["show", &id[31..]]).expect(2, "", "reenact: no run's id begins with [..]\n");
    }
    let common = one.chars().zip(two.chars()).take_while(|(one, two)| one == two).count();
    let said = format!("reenact: \"{0}\" means 2 runs: {one}, {two}; give more of the id\n", &one[..common]);
    run_in(&project, "", &["show", &one[..common]]).expect(2, "", &said);
}

/// A broken or foreign `run.json` takes away where the run was recorded, and nothing else.
#[test]
fn a_broken_run_file_hides_no_run() {
    let project = TestProject::new(Script::travel());
    let (good, bad) = (record_in(&project, "a", &[]), record_in(&project, "a", &[]));
    let run_file = |id: &str| project.folder.state().join("runs").join(id).join("run.json");
    let text = fs::read_to_string(run_file(&bad)).unwrap();
    expect_run(&project, "a", "last", &bad, "");
    for hostile in
        ["", "{", "[]", &text.replace(&bad, &good), &text.replace("run/1", "run/2"), &"[".repeat(9999)]
    {
        fs::write(run_file(&bad), hostile).unwrap();
        expect_run(&project, "a", "last", &good, "");
        expect_run(&project, "a", &bad, &bad, "");
    }
    fs::remove_file(run_file(&bad)).unwrap();
    expect_run(&project, "a", "last", &good, "");
    fs::remove_file(run_file(&good)).unwrap();
    let notice = format!("reenact: no run was recorded in this folder; this is the newest of all: {bad}\n");
    expect_run(&project, "a", "last", &bad, &notice);
}

#[test]
fn an_artifact_elsewhere_is_found() {
    let project = TestProject::new(Script::travel());
    let id = record_in(&project, "a", &["--out", "run.rer.json"]);
    let path = |name: &str| -> PathBuf { project.folder.path().join(name) };
    let verify = |name: &str| run_in(&project, "a", &["verify", name]);
    for name in ["last", &id, &id[30..]] {
        verify(name).expect(0, "[..]/work/a/run.rer.json  rer-artifact/0.2\n...\n", "");
    }
    run_in(&project, "a", &["show", "last"]).expect(0, "PASS [..]\n...\n", "");
    fs::rename(path("a/run.rer.json"), path("moved.rer.json")).unwrap();
    let moved = "[..]run [..] was written to [..]/work/a/run.rer.json, and is not there any more: if it was moved, give its path";
    run_in(&project, "a", &["show", "last"]).expect(2, "", &format!("reenact: {moved}\n"));
    verify("last").expect(2, &format!("last\n  ERROR  {moved} (E_NOT_FOUND)\n"), "");
    // A later run of the same name is not taken for it.
    let later = record_in(&project, "a", &["--out", "run.rer.json"]);
    verify("last").expect(0, "[..]/work/a/run.rer.json  rer-artifact/0.2\n...\n", "");
    let other =
        format!("run {id} was written to [..]/work/a/run.rer.json, where there is another run now: {later}");
    run_in(&project, "a", &["show", "last~1"]).expect(2, "", &format!("reenact: {other}\n"));
    // A file that was tampered with is judged, not hidden.
    let text = fs::read_to_string(path("moved.rer.json")).unwrap();
    fs::write(path("a/run.rer.json"), text.replacen("Lisbon", "Athens", 1)).unwrap();
    verify(&id).expect(1, "[..]/work/a/run.rer.json  rer-artifact/0.2\n...\n", "");
    fs::write(path("a/run.rer.json"), "{").unwrap();
    verify(&id).expect(1, "[..]/work/a/run.rer.json  unknown\n...\n", "");
}

#[test]
fn a_file_of_such_a_name_is_given_with_its_folder() {
    let project = TestProject::new(Script::travel());
    let (before, last) = (record_in(&project, "", &[]), record_in(&project, "", &[]));
    let write = |name: &str| fs::write(project.folder.path().join(name), "{}").unwrap();
    for (name, id) in [("last", &last), ("last~1", &before)] {
        write(name);
        expect_run(&project, "", name, id, "");
        run_in(&project, "", &["verify", &format!("./{name}")]).expect(1, "./[..]  unknown\n...\n", "");
    }
    // A path comes before an id.
    write(&last[30..]);
    run_in(&project, "", &["verify", &last[30..]]).expect(1, "[..]  unknown\n...\n", "");
}

/// What the file says is masked, and nobody else can read it.
#[test]
fn the_run_file_holds_no_secret() {
    use std::os::unix::fs::PermissionsExt;
    let project = TestProject::new(Script::travel());
    let secret = super::project::API_KEY;
    run_in(&project, "a", &["record", "-q", "--", "sh", "-c", ":", secret]).expect(0, "", "");
    let path: &Path = &project.folder.state().join("runs").join(&ids(&project)[0]).join("run.json");
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(r#""command":["sh","-c",":","[masked:"#), "{text}");
    assert!(text.contains("/work/a\",\"format\":\"reenact-run/1\""), "{text}");
    assert!(!text.contains(secret), "{text}");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}
