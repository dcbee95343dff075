//! Where runs are kept: in the user's state folder, and never in the agent's.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use reenact_testkit::Script;

use super::project::{CommandOutput, REENACT, TestProject};

/// Runs a command with these values of variables, without `REENACT_HOME` if it is not among them.
fn run_with(project: &TestProject, variables: &[(&str, &Path)], arguments: &[&str]) -> CommandOutput {
    let mut command = project.command(arguments);
    command.env_remove("REENACT_HOME").env_remove("HOME").envs(variables.iter().copied());
    let output = command.output().unwrap();
    let utf8 = |bytes| String::from_utf8(bytes).unwrap();
    CommandOutput { code: output.status.code(), stdout: utf8(output.stdout), stderr: utf8(output.stderr) }
}

/// Returns the paths of everything below a folder, sorted.
fn all_below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

#[test]
fn nothing_is_written_in_the_folder_of_the_agent() {
    let project = TestProject::new(Script::travel());
    let agent = "ls -A; \"$0\" demo-agent > /dev/null";
    project.run(&["record", "-q", "--", "sh", "-c", agent, REENACT]).expect(0, "", "");
    project.run(&["verify", "last"]).expect(0, "...\n", "");
    project.run(&["replay", "last", "--", "sh", "-c", agent, REENACT]).expect(0, "", "...\n");
    project.run(&["share", "--as", "rer"]).expect(0, "...\n", "");
    assert_eq!(all_below(&project.folder.path()), Vec::<PathBuf>::new());
    let mut names: Vec<_> =
        fs::read_dir(project.folder.state()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["bundles", "replays", "runs"]);
}

#[test]
fn the_folder_follows_the_variables_and_is_closed_to_others() {
    let project = TestProject::new(Script::travel());
    let home = project.folder.home();
    let (state, own) = (&home.join("s"), &home.join("own"));
    let (state, own, relative): (&Path, &Path, &Path) = (state, own, Path::new("s"));
    for (variables, folder) in [
        (&[("HOME", home.as_path())][..], home.join(".local/state/reenact")),
        (&[("HOME", home.as_path()), ("XDG_STATE_HOME", relative)][..], home.join(".local/state/reenact")),
        (&[("HOME", home.as_path()), ("XDG_STATE_HOME", state)][..], state.join("reenact")),
        (&[("XDG_STATE_HOME", state), ("REENACT_HOME", own)][..], own.to_owned()),
    ] {
        run_with(&project, variables, &["record", "-q", "--", "true"]).expect(0, "", "");
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
        run_with(&project, variables, &["verify", "last"]).expect(
            0,
            &format!("{}/runs/[..]/artifact.rer.json[..]\n...\n", folder.display()),
            "",
        );
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn without_a_place_for_runs_no_agent_starts() {
    let project = TestProject::new(Script::travel());
    let record = ["record", "--", "touch", "started"];
    let whole = "set it to a folder such as /home/me/runs, or unset it";
    let file = project.folder.home().join("file");
    fs::write(&file, "").unwrap();
    for (variables, said) in [
        (&[][..], "there is no place for runs: set REENACT_HOME to a folder, by its whole path".to_owned()),
        (&[("REENACT_HOME", Path::new(""))][..], format!("REENACT_HOME is no whole path: \"\"; {whole}")),
        (&[("REENACT_HOME", Path::new("r"))][..], format!("REENACT_HOME is no whole path: \"r\"; {whole}")),
        (
            &[("REENACT_HOME", file.as_path())][..],
            "runs cannot be kept: [..]/file: is not a folder; move it away; or set REENACT_HOME to another folder"
                .to_owned(),
        ),
        (
            &[("HOME", file.as_path())][..],
            "runs cannot be kept: [..]; or set REENACT_HOME to another folder".to_owned(),
        ),
    ] {
        run_with(&project, variables, &record).expect(125, "", &format!("reenact: {said}\n"));
        assert_eq!(all_below(&project.folder.path()), Vec::<PathBuf>::new());
    }
}

/// Without a home there is no place for a key either; the place for runs is named, as what one variable mends.
#[test]
fn without_any_home_the_place_for_runs_is_named() {
    let project = TestProject::new(Script::travel());
    let mut command = project.command(&["record", "--", "touch", "started"]);
    for name in ["REENACT_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "reenact: there is no place for runs: set REENACT_HOME to a folder, by its whole path\n"
    );
    assert_eq!(all_below(&project.folder.path()), Vec::<PathBuf>::new());
}

/// Earlier versions kept runs in `.reenact` of the project. They are found, and nothing is written there.
#[test]
fn runs_of_earlier_versions_are_only_read() {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "-q", "--", REENACT, "demo-agent"]).expect(0, "...\n", "");
    let earlier = project.folder.path().join(".reenact");
    fs::rename(project.folder.state(), &earlier).unwrap();
    let id = fs::read_dir(earlier.join("runs")).unwrap().next().unwrap().unwrap().file_name();
    let id = id.to_str().unwrap();
    let before = all_below(&earlier);
    for name in ["last", id, &id[..20], &id[30..]] {
        project.run(&["verify", name]).expect(0, ".reenact/runs/[..]\n...\n", "");
    }
    project.run(&["replay", "last", "--", REENACT, "demo-agent"]).expect(0, "...\n", "...\n");
    project.run(&["runs", "recover", "last"]).expect(
        2,
        "",
        "reenact: .reenact/runs/[..]: runs of earlier versions are only read; move it to [..]/state/runs/[..] first\n",
    );
    assert_eq!(all_below(&earlier), before);
    // A run of one's own comes first.
    project.run(&["record", "-q", "--", "true"]).expect(0, "", "");
    project.run(&["verify", "last"]).expect(0, "[..]/state/runs/[..]\n...\n", "");
    assert_eq!(all_below(&earlier), before);
}
