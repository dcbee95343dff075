//! `reenact runs`: lists of runs, whatever lies in their folders.

use std::fs;
use std::path::PathBuf;

use reenact_testkit::Script;

use super::project::{REENACT, TestProject};

/// Records the demo's agent, and returns the run's id.
fn record(project: &TestProject, options: &[&str]) -> String {
    let before = ids(project);
    let line = [&["record", "-q"], options, &["--", REENACT, "demo-agent"]].concat();
    project.run(&line).expect(0, "...\n", "");
    ids(project).into_iter().find(|id| !before.contains(id)).unwrap()
}

/// Returns the ids of all runs, sorted.
fn ids(project: &TestProject) -> Vec<String> {
    let runs = fs::read_dir(project.folder.state().join("runs")).into_iter().flatten();
    let mut ids: Vec<String> = runs.map(|run| run.unwrap().file_name().into_string().unwrap()).collect();
    ids.sort();
    ids
}

/// Returns the folder of a run.
fn run_folder(project: &TestProject, id: &str) -> PathBuf {
    project.folder.state().join("runs").join(id)
}

#[test]
fn runs_are_listed_with_what_became_of_them() {
    let project = TestProject::new(Script::travel());
    let sealed = record(&project, &[]);
    let moved = record(&project, &["--out", "run.rer.json"]);
    fs::remove_file(project.folder.path().join("run.rer.json")).unwrap();
    let empty = record(&project, &[]);
    fs::remove_file(run_folder(&project, &empty).join("artifact.rer.json")).unwrap();
    let name = |id: &str| id[30..].to_owned();
    let lines = format!(
        "{}  20[..]  empty  [..]/work  [..] demo-agent\n\
         {}  20[..]  moved  [..]/work  [..] demo-agent\n\
         {}  20[..]  sealed  [..] KB  [..]/work  [..] demo-agent\n",
        name(&empty),
        name(&moved),
        name(&sealed)
    );
    project.run(&["runs", "list"]).expect(0, &lines, "");
    let line = format!(
        "{{\"run_id\":\"{sealed}\",\"name\":\"{}\",\"started\":\"20[..]Z\",\"state\":\"sealed\",\"artifact\":\"[..]/state/runs/{sealed}/artifact.rer.json\",\"bytes\":[..],\"folder\":\"[..]/work\",\"command\":[\"[..]\",\"demo-agent\"],\"more_arguments\":0,\"problem\":null}}\n",
        name(&sealed)
    );
    project.run(&["runs", "list", "--json"]).expect(0, &format!("...\n{line}"), "");
    // Those of the folder alone, and a run while it is recorded.
    let inner = "cd sub && \"$0\" runs list --here && cd .. && \"$0\" runs list --here | head -n 1";
    fs::create_dir(project.folder.path().join("sub")).unwrap();
    let said = "no run was recorded in this folder\n[..]  20[..]  recording  [..]/work  sh -c [..]\n";
    project.run(&["record", "-q", "--", "sh", "-c", inner, REENACT]).expect(0, said, "");
}

/// Whatever lies in the folder of a run, the other runs are listed, and nothing that acts on a terminal is printed.
#[test]
fn a_hostile_run_breaks_no_list() {
    let project = TestProject::new(Script::travel());
    let (good, bad) = (record(&project, &[]), record(&project, &[]));
    let folder = run_folder(&project, &bad);
    let run_file = fs::read_to_string(folder.join("run.json")).unwrap();
    let listed = |state: &str, rest: &str, problem: &str| {
        let lines =
            format!("{}  20[..]  {state}  [..]{rest}\n{}  20[..]  sealed  [..]\n", &bad[30..], &good[30..]);
        let output = project.run(&["runs", "list"]);
        output.expect(0, &lines, &format!("reenact: run {bad}: {problem}\n"));
        let unsafe_character = |c: char| c.is_control() && c != '\n';
        assert!(!output.stdout.contains(unsafe_character) && !output.stderr.contains(unsafe_character));
    };
    for (hostile, problem) in [
        (String::new(), "run.json is broken"),
        ("\u{1b}[2J".into(), "run.json is broken"),
        (run_file.replace("reenact-run/1", "reenact-run/\\u001b[2J"), "run.json is of a form that [..]"),
        (run_file.replace(&bad, &good), "run.json is that of another run: [..]"),
        ("x".repeat(300 << 10), "run.json is longer than 256 KB"),
    ] {
        fs::write(folder.join("run.json"), hostile).unwrap();
        listed("sealed", "", problem);
    }
    // A command that would act on a terminal is well-formed, and escaped.
    let command = run_file.replace("\"demo-agent\"", "\"\\u001b[2J\"");
    assert_ne!(command, run_file);
    fs::write(folder.join("run.json"), command).unwrap();
    let output = project.run(&["runs", "list"]);
    assert!(!output.stdout.contains('\u{1b}'), "{}", output.stdout);
    assert_eq!(output.stdout.lines().count(), 2);
    // Links in the place of its files are not followed.
    fs::remove_file(folder.join("run.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.join("run.json")).unwrap();
    listed("sealed", "", "run.json is not a file");
    fs::remove_file(folder.join("artifact.rer.json")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.join("artifact.rer.json")).unwrap();
    listed("broken", "", "[..]/artifact.rer.json: is a link; [..]");
}
