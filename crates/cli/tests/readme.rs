//! Documents show what commands print.
//!
//! In a fence marked `console`, a line `$ …` is a command, and the lines up to the next one are what it
//! prints, on both streams as a terminal shows them; `[..]` matches anything within a line, a line `...` any
//! number of lines. The commands of one document run in order in one folder, in which `vectors` and
//! `examples` lie. Commands that would build or download are not run, only checked against what there is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use support::folder::Folder;
use support::text;
use support::words::CommandLine;

/// A command in a document, with the output that the document shows.
#[derive(Debug, PartialEq, Eq)]
struct DocumentedCommand {
    /// Line number of the command in the document, from 1.
    at: usize,
    command: String,
    output: String,
}

/// Returns every command of a document.
fn documented_commands(document: &str) -> Vec<DocumentedCommand> {
    let mut found: Vec<DocumentedCommand> = Vec::new();
    let mut fence: Option<bool> = None;
    let mut continues = false;
    for (at, line) in (1..).zip(document.lines()) {
        match fence {
            None if line.starts_with("```") => {
                fence = Some(line.trim_end() == "```console");
                continues = false;
            }
            None => {}
            Some(_) if line.starts_with("```") => fence = None,
            Some(false) => {}
            Some(true) if continues => {
                let command = &mut found.last_mut().unwrap().command;
                command.pop();
                command.push_str(line.trim_start());
                continues = line.ends_with('\\');
            }
            Some(true) => match (line.strip_prefix("$ "), found.last_mut()) {
                (Some(command), _) => {
                    found.push(DocumentedCommand { at, command: command.to_owned(), output: String::new() });
                    continues = line.ends_with('\\');
                }
                (None, Some(last)) => last.output.extend([line, "\n"]),
                (None, None) => panic!("line {at}: output before the first command"),
            },
        }
    }
    found
}

/// Treatment of a command.
#[derive(Debug, PartialEq, Eq)]
enum Action {
    /// Run `reenact` or `reenact-verify` with arguments.
    Run { program: &'static str, line: CommandLine },
    /// Print the exit code of the command before.
    ExitCode,
    /// A command of the workspace that takes long; only its existence is checked.
    Developer { subcommand: String },
    /// Downloads or builds something, which a test does not.
    Skip,
}

/// Returns the treatment of a command.
///
/// # Errors
///
/// If the command is of no known kind.
fn action(command: &str) -> Result<Action, String> {
    if command == "echo $?" {
        return Ok(Action::ExitCode);
    }
    if command.starts_with("git clone ") {
        return Ok(Action::Skip);
    }
    let mut line = CommandLine::parse(command);
    let words: Vec<&str> = line.words.iter().map(String::as_str).collect();
    let unknown = || Err(format!("this test does not know how to run: {command}"));
    let (program, used) = match words[..] {
        ["reenact", ..] => ("reenact", 1),
        ["reenact-verify", ..] => ("reenact-verify", 1),
        ["cargo", "install", ..] => return Ok(Action::Skip),
        ["cargo", "xtask", subcommand, ..] => {
            return Ok(Action::Developer { subcommand: subcommand.to_owned() });
        }
        ["cargo", "run", "-q", "-p", "reenact", "--", ..] => ("reenact", 6),
        ["cargo", "run", "-q", "-p", "reenact-verify", "--", ..] => ("reenact-verify", 6),
        _ => return unknown(),
    };
    if words.iter().any(|word| matches!(*word, "|" | "&&" | "||" | ";")) {
        return unknown();
    }
    line.words.drain(..used);
    Ok(Action::Run { program, line })
}

/// Returns the path of a program under test. `reenact-verify` belongs to another package, which cargo does
/// not build for this test.
fn program(name: &str) -> PathBuf {
    static VERIFIER: OnceLock<PathBuf> = OnceLock::new();
    let reenact = Path::new(env!("CARGO_BIN_EXE_reenact"));
    if name == "reenact" {
        return reenact.to_owned();
    }
    VERIFIER.get_or_init(|| build_beside(reenact, name)).clone()
}

/// Builds a program of the workspace into the folder of another one, with the same profile.
fn build_beside(other: &Path, name: &str) -> PathBuf {
    let folder = other.parent().unwrap();
    let profile = match folder.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        profile => profile,
    };
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "--package", name, "--bin", name, "--profile", profile, "--target-dir"])
        .arg(folder.parent().unwrap())
        .current_dir(support::root())
        .status()
        .unwrap();
    assert!(status.success(), "cargo build --package {name}: {status}");
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Runs a command; returns its exit code and what a terminal would show.
fn run(program: &Path, line: &CommandLine, folder: &Folder) -> (i32, String) {
    let (mut shown, screen) = std::io::pipe().unwrap();
    let mut command = support::command(program, folder);
    command.args(&line.words).stderr(screen.try_clone().unwrap());
    match &line.output {
        Some(file) => command.stdout(fs::File::create(folder.path().join(file)).unwrap()),
        None => command.stdout(screen.try_clone().unwrap()),
    };
    drop(screen);
    match &line.input {
        Some(file) => command.stdin(fs::File::open(folder.path().join(file)).unwrap()),
        None => command.stdin(Stdio::null()),
    };
    let mut child = command.spawn().unwrap();
    // The command holds write ends of the pipe too; EOF comes when the last one is closed.
    drop(command);
    let mut text = String::new();
    shown.read_to_string(&mut text).unwrap();
    (child.wait().unwrap().code().unwrap_or(-1), text)
}

/// Returns the differences between a document and the commands.
fn faults(name: &str, document: &str) -> Vec<String> {
    let developer_help = fs::read_to_string(support::root().join("xtask/src/main.rs")).unwrap();
    let folder = Folder::with_repository();
    let mut before = 0;
    let mut faults = Vec::new();
    for DocumentedCommand { at, command, output } in documented_commands(document) {
        let came = match action(&command) {
            Ok(Action::Run { program: name, line }) => {
                let (code, text) = run(&program(name), &line, &folder);
                before = code;
                text
            }
            Ok(Action::ExitCode) => format!("{before}\n"),
            Ok(Action::Developer { subcommand }) => {
                if !developer_help.contains(&format!("\n  cargo xtask {subcommand} ")) {
                    faults.push(format!("{name}:{at}: `cargo xtask --help` shows no {subcommand}"));
                }
                continue;
            }
            Ok(Action::Skip) => continue,
            Err(why) => {
                faults.push(format!("{name}:{at}: {why}"));
                continue;
            }
        };
        if !text::matches(&output, &came) {
            let difference = text::difference(&output, &came);
            faults.push(format!("{name}:{at}: $ {command}\n{difference}"));
        }
    }
    faults
}

/// Returns the documents: those at the root, and all in `docs`.
fn documents() -> Vec<PathBuf> {
    fn add(folder: &Path, deep: bool, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if deep && path.is_dir() {
                add(&path, true, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    add(&support::root(), false, &mut found);
    let docs = support::root().join("docs");
    if docs.exists() {
        add(&docs, true, &mut found);
    }
    found.sort();
    found
}

#[test]
fn documents_show_what_commands_do() {
    let mut all = Vec::new();
    for path in documents() {
        let name = path.strip_prefix(support::root()).unwrap().to_str().unwrap().to_owned();
        all.extend(faults(&name, &fs::read_to_string(&path).unwrap()));
    }
    assert!(all.is_empty(), "documents and commands disagree (- shown, + came):\n\n{}", all.join("\n\n"));
}

#[test]
fn the_readme_shows_commands() {
    let readme = fs::read_to_string(support::root().join("README.md")).unwrap();
    let run = documented_commands(&readme)
        .iter()
        .filter(|shown| matches!(action(&shown.command), Ok(Action::Run { .. })))
        .count();
    assert!(run > 0, "README.md shows no command of ours in a fence marked console");
}

#[test]
fn commands_are_found_in_their_fences() {
    let document = "\
$ not in a fence
```sh
$ of another kind
```
```console
$ reenact canon \\
    --profile jcs
{}
...
$ echo $?
0
```
";
    let expected = [(6, "reenact canon --profile jcs", "{}\n...\n"), (10, "echo $?", "0\n")];
    let expected = expected.map(|(at, command, output)| DocumentedCommand {
        at,
        command: command.into(),
        output: output.into(),
    });
    assert_eq!(documented_commands(document), expected);
}

#[test]
fn commands_that_nobody_knows_are_refused() {
    for command in ["ls", "cargo build", "cargo run -p xtask", "reenact canon | sha256sum"] {
        assert_eq!(action(command), Err(format!("this test does not know how to run: {command}")));
    }
    let line = CommandLine::parse("reenact canon --profile jcs < 'a b.json' >c.json");
    assert_eq!((line.input.as_deref(), line.output.as_deref()), (Some("a b.json"), Some("c.json")));
}

#[test]
fn a_document_that_is_wrong_fails() {
    let document = |output: &str| {
        format!("```console\n$ reenact-verify --version\n{output}\n$ cargo xtask nonsense\n```\n")
    };
    let version = env!("CARGO_PKG_VERSION");
    let no_command = "d.md:4: `cargo xtask --help` shows no nonsense";
    assert_eq!(faults("d.md", &document(&format!("reenact-verify {version}"))), [no_command]);
    assert_eq!(faults("d.md", &document("[..]-verify [..]")), [no_command]);
    let difference = format!("    - reenact-verify\n    + reenact-verify {version}\n");
    assert_eq!(
        faults("d.md", &document("reenact-verify")),
        [format!("d.md:2: $ reenact-verify --version\n{difference}"), no_command.to_owned()]
    );
}
