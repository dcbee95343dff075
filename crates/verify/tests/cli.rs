//! `reenact-verify`, and that its output equals that of `reenact verify` to the byte.
//!
//! Its own cases are beside this file. Those of `reenact verify` are run with this program, too: both
//! must print the same expected file. The layout of the text for several targets is each command's own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[path = "../../cli/tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};

use support::case::{self, Case, ExpectedEnd, run_all};
use support::folder::Folder;
use support::text;

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_reenact-verify"))
}

fn run(ending: ExpectedEnd) {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    run_all(&cases, ending, &[("reenact-verify", program())]);
}

#[test]
fn what_holds() {
    run(ExpectedEnd::Holds);
}

#[test]
fn what_is_refused() {
    run(ExpectedEnd::Refused);
}

#[test]
fn what_cannot_be_done() {
    run(ExpectedEnd::Impossible);
}

fn asks_for(case: &Case, option: &str) -> bool {
    case.line.words.iter().any(|word| word == option)
}

/// Returns the cases of `reenact verify` that verify something. One that names no path is about the last recorded run, and this
/// program knows of no runs.
fn shared_cases() -> Vec<Case> {
    let cases: PathBuf = support::root().join("crates/cli/tests/cases");
    let asks_for_help = |case: &Case| asks_for(case, "--help") || asks_for(case, "-h");
    let is_one_text = |case: &Case| !case.stdout.contains("\n\n");
    ExpectedEnd::ALL
        .into_iter()
        .flat_map(|ending| Case::all(&cases, ending))
        .filter(|case| case.line.words.starts_with(&["reenact".into(), "verify".into()]))
        .filter(|case| !asks_for_help(case))
        .filter(|case| !case.stdout.starts_with("last\n"))
        .filter(|case| asks_for(case, "--json") || is_one_text(case))
        .collect()
}

#[test]
fn it_says_what_reenact_verify_says() {
    let cases = shared_cases();
    let json = cases.iter().filter(|case| asks_for(case, "--json")).count();
    assert!(json >= 15, "only {json} cases ask for JSON");
    let failures = case::in_parallel(&cases, |case| {
        let came = case.run(program(), &case.line.words[2..]);
        let mut faults = case.faults(&came);
        if !text::matches(&case.stdout, &came.stdout) {
            let difference = text::difference(&case.stdout, &came.stdout);
            faults.push(format!("stdout is not that of `reenact verify`:\n{difference}"));
        }
        faults
    });
    case::report(failures);
}

/// Returns a pipe whose reader is closed.
fn closed_pipe() -> std::io::PipeWriter {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer
}

#[test]
fn a_reader_that_left_is_no_crash() {
    let folder = Folder::with_repository();
    // A report that was not delivered is an error; help that was not delivered is not.
    for (arguments, code) in
        [(&["--json", "vectors/rer"][..], 2), (&["vectors/rer"], 2), (&["--help"], 0), (&["-V"], 0)]
    {
        let output =
            support::command(program(), &folder).args(arguments).stdout(closed_pipe()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let passed_over = "reenact-verify: vectors/rer: 18 other files passed over\n";
        assert!(said.is_empty() || said == passed_over, "{said}");
    }
}

#[test]
fn nobody_who_hears_complaints_is_no_crash() {
    let folder = Folder::with_repository();
    for (arguments, code) in [(&["--nonsense"][..], 2), (&[], 2), (&["vectors/rer"], 1)] {
        let output =
            support::command(program(), &folder).args(arguments).stderr(closed_pipe()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    }
}

/// Neither a device nor a pipe that never ends keeps the verifier.
#[cfg(unix)]
#[test]
fn what_never_ends_is_judged() {
    use std::io::Write as _;

    let folder = Folder::with_repository();
    let arguments = ["--json", "--digest", "/dev/zero"];
    let output = support::command(program(), &folder).args(arguments).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("\"recognised: it is not JSON: line 1, column 1"), "{said}");
    assert!(said.contains("\"digests\":{}"), "the digest of what was not read: {said}");
    let mut child = support::command(program(), &folder)
        .args(["--json", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    // The pipe breaks when the verifier has ended.
    while input.write_all(&b"y\n".repeat(8_000)).is_ok() {}
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("\"recognised: it is not JSON: line 1, column 1"), "{said}");
}
