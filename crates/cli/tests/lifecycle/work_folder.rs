//! The folder that an agent works in: the commit that it began at, and the files that it left changed.

use std::fs;
use std::process::Command;

use reenact_json::Digest;
use reenact_run::{Run, Surroundings};
use reenact_testkit::Script;
use reenact_verify::{Keys, Options};

use super::project::TestProject;

fn recorded(project: &TestProject) -> Run {
    let bytes = fs::read(project.artifact()).unwrap();
    reenact_run::open(bytes, &Keys::default(), &Options::default()).run.unwrap()
}

fn git(project: &TestProject, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(arguments);
    let output = command.current_dir(project.folder.path()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn changed_files_are_named_with_their_digests() {
    let project = TestProject::new(Script::travel());
    for (name, text) in [("changed", "one"), ("gone", "one"), ("kept", "one"), (".gitignore", "*.log\n")] {
        fs::write(project.folder.path().join(name), text).unwrap();
    }
    git(&project, &["init", "-q"]);
    let agent =
        "echo two > changed; rm gone; mkdir sub; echo new > sub/file; echo x > a.log; ln -s kept link";
    let json = project.run(&["record", "-q", "--", "sh", "-c", agent]);
    json.expect(0, "", "");
    let run = recorded(&project);
    let files = run.surroundings().files.unwrap();
    let digest = |text: &str| Digest::of(text.as_bytes()).to_string();
    assert_eq!(files.added, [("sub/file".into(), digest("new\n").into())]);
    assert_eq!(files.changed, [("changed".into(), digest("two\n").into())]);
    assert_eq!((files.removed, files.more), (vec!["gone".into()], 0));
    let shown = "...\nfiles   1 added, 1 changed, 1 removed: sub/file, changed, gone\n...\n";
    project.run(&["show", "last"]).expect(0, shown, "");
}

#[test]
fn the_commit_and_whether_it_was_changed() {
    let project = TestProject::new(Script::travel());
    git(&project, &["init", "-q"]);
    fs::write(project.folder.path().join("file"), "one").unwrap();
    git(&project, &["add", "file"]);
    git(&project, &["commit", "-q", "-m", "one"]);
    let commit = git(&project, &["rev-parse", "HEAD"]);
    project.run(&["record", "-q", "--", "sh", "-c", "echo two > file"]).expect(0, "", "");
    let run = recorded(&project);
    let Surroundings { commit: found, is_clean, .. } = run.surroundings();
    assert_eq!((found.as_deref(), is_clean), (Some(commit.as_str()), Some(true)));
    project.run(&["show", "last"]).expect(
        0,
        &format!("...\nfolder  [..], at {} (clean)\nfiles   1 changed: file\n...\n", &commit[..12]),
        "",
    );
    project.run(&["record", "-q", "--", "true"]).expect(0, "", "");
    project.run(&["show", "last"]).expect(0, "...\nfolder  [..] (with changes)\n...\n", "");
}

#[test]
fn a_home_is_not_looked_through_and_that_is_said() {
    let project = TestProject::new(Script::travel());
    let mut record = project.command(&["record", "--", "touch", "here"]);
    let output = record.env("HOME", project.folder.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let why = "; not recorded: which files changed (the working folder is your home, or above it)\n";
    assert!(said.contains(why), "{said}");
    assert_eq!(recorded(&project).surroundings().files, None);
}
