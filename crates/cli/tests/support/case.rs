//! Cases as data: a folder contains a command and its expected output; the folder above it is named after the exit code.
//!
//! ```text
//! tests/cases/refused/wrong_key/
//!     command    # what the case shows, and one line: the command
//!     stdout     expected standard output; no file: nothing
//!     stderr     expected standard error; no file: nothing
//!     files/     copied into the folder in which the command runs
//! ```
//!
//! A command runs in a fresh folder with `vectors`, `examples` and an empty folder `empty`. `<FILE` connects
//! its standard input, which is empty otherwise. `REENACT_BLESS=1 cargo test` overwrites stdout and stderr
//! with the actual output; exit codes are never blessed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::folder::{self, Folder};
use super::words::CommandLine;
use super::{command, text};

/// Expected end of a command. Folders of cases have these names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedEnd {
    /// Exit code 0: done, and the answer is yes.
    Holds,
    /// Exit code 1: done, and the answer is no.
    Refused,
    /// Exit code 2: could not be done.
    Impossible,
}

impl ExpectedEnd {
    pub(crate) const ALL: [Self; 3] = [Self::Holds, Self::Refused, Self::Impossible];

    pub(crate) fn exit_code(self) -> i32 {
        match self {
            Self::Holds => 0,
            Self::Refused => 1,
            Self::Impossible => 2,
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Refused => "refused",
            Self::Impossible => "impossible",
        }
    }
}

/// One case.
#[derive(Debug)]
pub(crate) struct Case {
    /// Folder of the case.
    pub(crate) path: PathBuf,
    pub(crate) ending: ExpectedEnd,
    pub(crate) line: CommandLine,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Actual exit code and output.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) exit_code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Case {
    /// Returns every case of one ending below `cases`, sorted by name.
    pub(crate) fn all(cases: &Path, ending: ExpectedEnd) -> Vec<Self> {
        let folder = cases.join(ending.folder());
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths.into_iter().map(|path| Self::read(path, ending)).collect()
    }

    fn read(path: PathBuf, ending: ExpectedEnd) -> Self {
        let text = fs::read_to_string(path.join("command"))
            .unwrap_or_else(|error| panic!("{}: every case has a file `command`: {error}", path.display()));
        let (said, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
        assert!(!said.is_empty(), "{}: a line with # says what the case shows", path.display());
        let [line] = lines[..] else { panic!("{}: a case is one command", path.display()) };
        let expected = |name: &str| match fs::read_to_string(path.join(name)) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => panic!("{}: {name}: {error}", path.display()),
        };
        let (stdout, stderr) = (expected("stdout"), expected("stderr"));
        Self { line: CommandLine::parse(line), ending, stdout, stderr, path }
    }

    /// Returns the name of the case with its ending: `refused/wrong_key`.
    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().unwrap().to_str().unwrap();
        format!("{}/{name}", self.ending.folder())
    }

    /// Runs the program with the arguments in a folder of the case's own.
    pub(crate) fn run(&self, program: &Path, arguments: &[String]) -> CommandOutput {
        let folder = Folder::with_repository();
        fs::create_dir(folder.path().join("empty")).unwrap();
        let files = self.path.join("files");
        if files.exists() {
            folder::copy(&files, &folder.path());
        }
        let stdin = match &self.line.input {
            Some(file) => fs::File::open(folder.path().join(file)).map(Stdio::from),
            None => Ok(Stdio::null()),
        };
        let stdin = stdin.unwrap_or_else(|error| panic!("{}: standard input: {error}", self.name()));
        let output = command(program, &folder).args(arguments).stdin(stdin).output().unwrap();
        let utf8 = |bytes| {
            String::from_utf8(bytes).unwrap_or_else(|error| panic!("{}: not UTF-8: {error}", self.name()))
        };
        CommandOutput {
            exit_code: output.status.code(),
            stdout: utf8(output.stdout),
            stderr: utf8(output.stderr),
        }
    }

    /// Returns what is wrong with the exit code and with unsafe characters in the output, whatever the expected text is.
    pub(crate) fn faults(&self, came: &CommandOutput) -> Vec<String> {
        let mut faults = Vec::new();
        let due = self.ending.exit_code();
        if came.exit_code != Some(due) {
            faults.push(format!(
                "ended with {:?}, {due} was due\n{}{}",
                came.exit_code, came.stdout, came.stderr
            ));
        }
        for (stream, text) in [("stdout", &came.stdout), ("stderr", &came.stderr)] {
            if let Some(character) = text::first_unsafe(text) {
                faults.push(format!("{stream} has {character:?}, which acts on a terminal\n{text:?}"));
            }
        }
        faults
    }

    /// Compares the output with the expected text, or overwrites the expected text if `bless` is set.
    fn compare(&self, came: &CommandOutput, bless: bool) -> Vec<String> {
        let mut faults = Vec::new();
        for (name, expected, text) in
            [("stdout", &self.stdout, &came.stdout), ("stderr", &self.stderr, &came.stderr)]
        {
            if text::matches(expected, text) {
                continue;
            }
            let path = self.path.join(name);
            match (bless, text.is_empty()) {
                (true, true) => fs::remove_file(path).unwrap(),
                (true, false) => fs::write(path, text).unwrap(),
                (false, _) => {
                    faults.push(format!("{name} differs:\n{}", text::difference(expected, text)));
                }
            }
        }
        faults
    }
}

/// Runs every case of one ending on all cores. `programs` are those that a command may name.
///
/// # Panics
///
/// If a case does not end or print as expected.
pub(crate) fn run_all(cases: &Path, ending: ExpectedEnd, programs: &[(&str, &Path)]) {
    let bless = std::env::var_os("REENACT_BLESS").is_some_and(|value| value == "1");
    let cases = Case::all(cases, ending);
    assert!(!cases.is_empty(), "there is no case that ends so: {ending:?}");
    let failures = in_parallel(&cases, |case| {
        let (name, arguments) = case.line.words.split_first().unwrap();
        assert_eq!(case.line.output, None, "{}: stdout is what the case compares", case.name());
        let Some((_, program)) = programs.iter().find(|(known, _)| known == name) else {
            return vec![format!("the program {name} is not run here")];
        };
        let came = case.run(program, arguments);
        let mut faults = case.faults(&came);
        faults.extend(case.compare(&came, bless));
        faults
    });
    report(failures);
}

/// Calls `check` for every case, on all cores; returns the faults of each case that has some.
pub(crate) fn in_parallel(cases: &[Case], check: impl Fn(&Case) -> Vec<String> + Sync) -> Vec<String> {
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let faults = check(case);
                    if !faults.is_empty() {
                        let line = case.line.words.join(" ");
                        let text = format!("{}: {line}\n  {}", case.name(), faults.join("\n  "));
                        failures.lock().unwrap().push(text);
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    failures
}

/// Panics with all failures, and with what to do about them.
pub(crate) fn report(failures: Vec<String>) {
    assert!(
        failures.is_empty(),
        "{} cases are not as they should be (- expected, + came):\n\n{}\n\n\
         If the new output is right: REENACT_BLESS=1 cargo test, then read the difference in git.",
        failures.len(),
        failures.join("\n\n")
    );
}
