//! Manual pages and completions, as the programs read them that they are made for.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::folder::Folder;

/// Runs `reenact` in a folder; returns what it printed, after checking that it ended with 0.
fn reenact(folder: &Folder, arguments: &[&str]) -> String {
    let mut command = support::command(Path::new(env!("CARGO_BIN_EXE_reenact")), folder);
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a program; `None` if it is not installed.
fn run_if_installed(program: &str, arguments: &[&str], folder: &Folder) -> Option<Output> {
    match Command::new(program).args(arguments).current_dir(folder.path()).output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => panic!("{program}: {error}"),
    }
}

#[test]
fn every_command_has_a_page_that_troff_reads() {
    let folder = Folder::empty();
    let listed = reenact(&folder, &["help", "--all"]);
    let printed = reenact(&folder, &["man", "--out", "share/man1"]);
    let pages = folder.path().join("share/man1");
    let mut names: Vec<String> = fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(printed, format!("{} pages in share/man1\n", names.len()));
    // Each command that is listed has its page.
    let commands = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    let mut count = 0;
    for (words, _) in commands {
        let page = format!("reenact-{}.1", words.trim().replace(' ', "-"));
        assert!(names.contains(&page), "{page} is not among {names:?}");
        count += 1;
    }
    assert!(count > 25, "only {count} commands are listed:\n{listed}");
    assert_eq!(reenact(&folder, &["man"]), fs::read_to_string(pages.join("reenact.1")).unwrap());
    // What troff does not understand it tells; the structure is tested beside the code, for machines without it.
    for name in &names {
        let path = format!("share/man1/{name}");
        if let Some(output) = run_if_installed("groff", &["-ww", "-man", "-z", &path], &folder) {
            assert!(output.status.success() && output.stderr.is_empty(), "{name}: {output:?}");
        }
    }
}

/// Bash completes commands and options by the script, as it would on a terminal.
#[test]
fn bash_completes() {
    let folder = Folder::empty();
    folder.write("reenact.bash", reenact(&folder, &["completions", "bash"]));
    let complete = |words: &str, word: &str, before: &str| {
        let words = format!(
            "source ./reenact.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _reenact reenact {word} {before}; echo \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash").args(["-c", &words]).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    };
    assert_eq!(complete("reenact sh", "sh", "reenact"), "show share");
    assert_eq!(complete("reenact policy s", "s", "policy"), "sign show");
    assert_eq!(complete("reenact replay --pa", "--pa", "replay"), "--pace --pass-exit");
    assert_eq!(complete("reenact share --as r", "r", "--as"), "rer replay rpk replay-jsonl");
}

/// The scripts of other shells are read by those that are installed.
#[test]
fn other_shells_read_their_scripts() {
    let folder = Folder::empty();
    for (shell, check) in [("zsh", "-n"), ("fish", "--no-execute"), ("elvish", "-compileonly")] {
        folder.write(shell, reenact(&folder, &["completions", shell]));
        if let Some(output) = run_if_installed(shell, &[check, shell], &folder) {
            assert!(output.status.success() && output.stderr.is_empty(), "{shell}: {output:?}");
        }
    }
}
