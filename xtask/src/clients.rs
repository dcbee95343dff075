//! The step `clients`: the vendors' own clients, in Python and Node, get the same answers through
//! our gateway as without it.
//!
//! They are installed from their registries into the target folder, once, and never into the
//! system. The tests are `crates/cli/tests/clients.rs`; a plain `cargo test` skips them, and says
//! so. Each test appends its name to a report when it has run to its end: a test that was skipped
//! here would otherwise look like one that passed.

mod install;

use std::fs;
use std::io;
use std::path::Path;

use crate::context::TaskContext;
use crate::failure::TaskFailure;

/// Clients of Python, from PyPI. Their dependencies are those that they ask for.
const PYTHON: [&str; 3] = ["openai==3.49.0", "anthropic==2.8.0", "google-genai==3.3.0"];
/// Clients of Node, from npm.
const NODE: [&str; 3] = ["openai@7.53.0", "@anthropic-ai/sdk@1.8.0", "@google/genai@2.32.0"];

/// Arguments of cargo, with the features of the step `build`, so that nothing is compiled twice.
const TESTS: &str = "test --workspace --all-features --test clients -- --ignored";
/// Tests at once: more than cores, because most of them wait for a client.
const AT_ONCE: &str = "--test-threads 4";

/// Installs the clients, runs the tests, and checks that none was skipped.
///
/// # Errors
/// If a client cannot be installed, or if a test fails or did not run.
pub(crate) fn run(context: &TaskContext) -> Result<(), TaskFailure> {
    let folder = context.target_folder().join("clients");
    install::python(context.root(), &folder.join("python"), &PYTHON)?;
    install::node(context.root(), &folder.join("node"), &NODE)?;
    context.cargo("build --workspace --all-features --bins")?;

    let report = folder.join("ran.txt");
    remove_if_exists(&report).map_err(|error| failed(&report, error))?;
    let variables = [
        ("REENACT_TEST_CLIENTS", folder.to_string_lossy()),
        ("REENACT_TEST_CLIENTS_RAN", report.to_string_lossy()),
    ];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_ref()));
    let listed = context.cargo_output(&format!("{TESTS} --list --format terse"))?;
    context.cargo_with(&format!("{TESTS} {AT_ONCE}"), &variables)?;

    let ran = fs::read_to_string(&report).map_err(|error| failed(&report, error))?;
    let open = ran.lines().filter(|line| line.contains(' ')).count();
    if open > 0 {
        println!(
            "{open} scenarios were replayed without a sandbox: this kernel refuses it (see `reenact doctor`)"
        );
    }
    let left_out = left_out(&listed, &ran);
    if left_out.is_empty() { Ok(()) } else { Err(TaskFailure::TestsNotRun { tests: left_out }) }
}

/// Returns the tests that libtest lists and that did not run to their end.
fn left_out(listed: &str, ran: &str) -> Vec<String> {
    let ran: Vec<&str> = ran.lines().filter_map(|line| line.split(' ').next()).collect();
    let tests = listed.lines().filter_map(|line| line.strip_suffix(": test"));
    tests.filter(|test| !ran.contains(test)).map(str::to_owned).collect()
}

fn remove_if_exists(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Wraps an error of the file system.
fn failed(path: &Path, error: io::Error) -> TaskFailure {
    let error = io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    TaskFailure::NotStarted { line: "the clients".into(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_did_not_run_is_named() {
        let listed = "python_openai::plain: test\nnode_openai::cut: test\n\n2 tests, 0 benchmarks\n";
        let ran = "node_openai::cut (replayed without a sandbox)\n";
        assert_eq!(left_out(listed, ran), ["python_openai::plain"]);
        assert!(left_out(listed, &format!("{ran}python_openai::plain\n")).is_empty());
    }
}
