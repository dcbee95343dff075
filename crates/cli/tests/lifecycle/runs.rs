//! `reenact runs`: lists of runs, whatever lies in their folders, and their removal.

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

/// Id of a run of 2022.
const OLD: &str = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";

/// Records a run, and gives it the id of an old one.
fn record_old(project: &TestProject, options: &[&str]) {
    let id = record(project, options);
    let run_file = run_folder(project, &id).join("run.json");
    let text = fs::read_to_string(&run_file).unwrap().replace(&id, OLD);
    fs::write(&run_file, text).unwrap();
    fs::rename(run_folder(project, &id), run_folder(project, OLD)).unwrap();
}

#[test]
fn runs_are_removed_by_name() {
    let project = TestProject::new(Script::travel());
    let (one, two, three) =
        (record(&project, &[]), record(&project, &["--out", "run.rer.json"]), record(&project, &[]));
    // Nobody to ask, and a name that means nothing: nothing is removed.
    let unasked = "reenact: there is no terminal to ask on; give --yes\n";
    project.run(&["runs", "rm", &one]).expect(2, "", unasked);
    project.run(&["runs", "rm", "--yes", &one, "ffffff"]).expect(2, "", "reenact: no run's id [..]\n");
    project.run(&["runs", "rm", "--yes", "run.rer.json"]).expect(
        2,
        "",
        "reenact: \"run.rer.json\" names no run: [..]\n",
    );
    assert_eq!(ids(&project), [&one[..], &two, &three]);
    // One run twice, and one whose artifact lies elsewhere.
    project.run(&["runs", "rm", "--yes", "last", &three, &two[30..]]).expect(
        0,
        &format!(
            "removed {} ([..] KB)\nremoved {} ([..] bytes); its artifact stays: [..]/work/run.rer.json\nfreed [..] KB\n",
            &three[30..],
            &two[30..]
        ),
        "",
    );
    assert_eq!(ids(&project), [&one[..]]);
    project.run(&["verify", "run.rer.json"]).expect(0, "...\n", "");
    let json = format!(
        "{{\"run_id\":\"{one}\",\"outcome\":\"removed\",\"bytes\":[..],\"artifact_left\":null}}\n{{\"freed_bytes\":[..]}}\n"
    );
    project.run(&["runs", "rm", "--yes", "--json", &one]).expect(0, &json, "");
    assert_eq!(ids(&project), [""; 0]);
    project.run(&["runs", "rm", "--yes", "last"]).expect(2, "", "reenact: there are no runs yet; [..]\n");
}

/// A run that is recorded is neither removed by its name nor by its age, and `last` of another folder is not guessed.
#[test]
fn runs_that_are_needed_stay() {
    let project = TestProject::new(Script::travel());
    let inner = "\"$0\" runs rm --yes last; echo $?; \"$0\" runs rm --yes --json last; \"$0\" runs prune --older-than 0h --yes";
    project.run(&["record", "-q", "--", "sh", "-c", inner, REENACT]).expect(
        0,
        "freed 0 bytes\n2\n{\"run_id\":\"[..]\",\"outcome\":\"failed\",\"code\":\"E_RUN_BUSY\",\"message\":\"[..]\"}\n{\"freed_bytes\":0}\nfreed 0 bytes\n",
        "reenact: not removed: run [..] is being recorded at this moment\n",
    );
    project.run(&["verify", "last"]).expect(0, "...\n", "");
    let id = &ids(&project)[0];
    let other = project.command(&["runs", "rm", "--yes", "last"]).current_dir(project.folder.home()).output();
    let said = String::from_utf8(other.unwrap().stderr).unwrap();
    assert_eq!(
        said,
        format!(
            "reenact: no run was recorded in this folder; to mean the newest of all, give its id: {id}\n"
        )
    );
    assert_eq!(ids(&project).len(), 1);
}

#[test]
fn old_runs_are_pruned() {
    let project = TestProject::new(Script::travel());
    record_old(&project, &[]);
    let new = record(&project, &[]);
    let line = "07398f  2022-02-22 19:22  sealed  [..]\n1 run would free [..] KB\n";
    project.run(&["runs", "prune", "--older-than", "30d", "--dry-run"]).expect(0, line, "");
    let json = format!(
        "{{\"run_id\":\"{OLD}\",\"outcome\":\"would_be_removed\",[..]}}\n{{\"would_free_bytes\":[..]}}\n"
    );
    project.run(&["runs", "prune", "--older-than", "30d", "--dry-run", "--json"]).expect(0, &json, "");
    project.run(&["runs", "prune", "--older-than", "30d"]).expect(
        2,
        "",
        "reenact: there is no terminal to ask on; give --yes\n",
    );
    assert_eq!(ids(&project), [OLD, &new]);
    project.run(&["runs", "prune", "--older-than", "5000w", "--yes"]).expect(0, "freed 0 bytes\n", "");
    let removed = "removed 07398f ([..] KB)\nfreed [..] KB\n";
    project.run(&["runs", "prune", "--older-than", "30d", "--yes"]).expect(0, removed, "");
    assert_eq!(ids(&project), [&new[..]]);
    // What was never sealed is kept, until it is.
    record_old(&project, &[]);
    fs::rename(run_folder(&project, OLD).join("artifact.rer.json"), project.folder.path().join("aside"))
        .unwrap();
    fs::write(run_folder(&project, OLD).join("journal.jsonl"), "{}\n").unwrap();
    let kept = "reenact: 1 old run never sealed, and kept; seal with: reenact runs recover\n";
    project.run(&["runs", "prune", "--older-than", "30d", "--yes"]).expect(0, "freed 0 bytes\n", kept);
    assert_eq!(ids(&project), [OLD, &new]);
}

/// A file in the place of an artifact that could not be written is not the artifact: the run stays until it is sealed.
#[test]
fn a_run_whose_place_was_taken_is_kept_and_can_be_sealed() {
    let project = TestProject::new(Script::travel());
    record(&project, &["--out", "other.rer.json"]);
    let other = fs::read(project.folder.path().join("other.rer.json")).unwrap();
    project.run(&["runs", "rm", "--yes", "last"]).expect(0, "...\n", "");
    let end = |id: &str| format!(",\"run_id\":\"{id}\",\"runtime\":{{}}}}");
    for names_the_run in [false, true] {
        let agent = "cp other.rer.json run.rer.json";
        let taken = project.run(&["record", "-q", "--out", "run.rer.json", "--", "sh", "-c", agent]);
        assert_eq!(taken.code, Some(125), "{}", taken.stderr);
        let id = ids(&project).pop().unwrap();
        let kept = "reenact: 1 old run never sealed, and kept; seal with: reenact runs recover\n";
        project.run(&["runs", "prune", "--older-than", "0h", "--yes"]).expect(0, "freed 0 bytes\n", kept);
        assert!(run_folder(&project, &id).join("journal.jsonl").is_file());
        // Damaged, with the right name at its end.
        let out = project.folder.path().join("run.rer.json");
        let there = if names_the_run { end(&id).into_bytes() } else { other.clone() };
        fs::write(&out, &there).unwrap();
        let sealed = format!("recovered {id}: [..]\nsealed: [..]/state/runs/{id}/artifact.rer.json ([..])\n");
        project.run(&["runs", "recover"]).expect(0, &sealed, "");
        assert!(fs::read(&out).unwrap() == there);
        project.run(&["verify", &id]).expect(0, "...\n", "");
        fs::remove_file(out).unwrap();
        project.run(&["runs", "prune", "--older-than", "0h", "--yes"]).expect(
            0,
            "removed [..]\nfreed [..]\n",
            "",
        );
        assert_eq!(ids(&project), [""; 0]);
    }
}

/// A person is shown what would go, and asked.
#[cfg(target_os = "linux")]
#[test]
fn a_person_is_asked() {
    use std::io::{Read as _, Write as _};
    use std::process::{Command, Stdio};
    let project = TestProject::new(Script::travel());
    let id = record(&project, &[]);
    for (answer, code, last) in [("n\n", 1, "reenact: nothing was removed\n"), ("y\n", 0, "KB\n")] {
        let (mut ours, theirs) = crate::terminal::open_pty();
        let template = project.command(&["runs", "rm", &id]);
        let mut command = Command::new("setsid");
        command
            .args(["--ctty", "--wait", REENACT])
            .args(template.get_args())
            .current_dir(project.folder.path());
        command.env_clear().envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::from(theirs.try_clone().unwrap()));
        command.stdout(Stdio::from(theirs.try_clone().unwrap())).stderr(Stdio::from(theirs));
        let mut child = command.spawn().unwrap();
        drop(command);
        let (mut seen, mut buffer) = (String::new(), [0; 1024]);
        while let Ok(count @ 1..) = ours.read(&mut buffer) {
            seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
            if seen.ends_with("? [y/N] ") {
                ours.write_all(answer.as_bytes()).unwrap();
            }
        }
        assert_eq!(child.wait().unwrap().code(), Some(code), "{seen}");
        assert!(seen.starts_with(&id[30..]) && seen.contains("Remove 1 run ("), "{seen}");
        assert!(seen.replace("\r\n", "\n").ends_with(last), "{seen}");
    }
    assert_eq!(ids(&project), [""; 0]);
}
