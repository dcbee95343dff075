//! The step `clients`: the vendors' own clients, in Python and Node, see the same through us as without us.
//!
//! They are installed from their registries into the target folder, once, and never into the system. The tests are
//! `crates/cli/tests/clients.rs`; a plain `cargo test` passes over them, and says so.

mod install;

use std::fs;
use std::io;
use std::path::Path;

use crate::context::Context;
use crate::failure::Failure;

/// The clients of Python, from PyPI. What they need themselves is what they ask for.
const PYTHON: [&str; 3] = ["openai==3.49.0", "anthropic==2.8.0", "google-genai==3.3.0"];
/// The clients of Node, from npm.
const NODE: [&str; 3] = ["openai@7.53.0", "@anthropic-ai/sdk@1.8.0", "@google/genai@2.32.0"];

/// As in the step `build`, so that nothing is compiled twice. Many wait for a client that waits: more at once than cores.
const TESTS: &str = "test --workspace --all-features --test clients -- --ignored";
const AT_ONCE: &str = "--test-threads 4";

pub(crate) fn run(context: &Context) -> Result<(), Failure> {
    let folder = context.target().join("clients");
    install::python(context.root(), &folder.join("python"), &PYTHON)?;
    install::node(context.root(), &folder.join("node"), &NODE)?;
    context.cargo("build --workspace --all-features --bins")?;

    let report = folder.join("ran.txt");
    forget(&report).map_err(|error| failed(&report, error))?;
    let variables = [
        ("REENACT_TEST_CLIENTS", folder.to_string_lossy()),
        ("REENACT_TEST_CLIENTS_RAN", report.to_string_lossy()),
    ];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_ref()));
    let listed = context.cargo_says(&format!("{TESTS} --list --format terse"))?;
    context.cargo_with(&format!("{TESTS} {AT_ONCE}"), &variables)?;

    let ran = fs::read_to_string(&report).map_err(|error| failed(&report, error))?;
    let open = ran.lines().filter(|line| line.contains(' ')).count();
    if open > 0 {
        println!(
            "{open} scenarios were replayed without a sandbox: this kernel refuses it (see `reenact doctor`)"
        );
    }
    let left_out = left_out(&listed, &ran);
    if left_out.is_empty() { Ok(()) } else { Err(Failure::LeftOut { tests: left_out }) }
}

/// The tests that exist, as libtest lists them, and did not run to their end.
fn left_out(listed: &str, ran: &str) -> Vec<String> {
    let ran: Vec<&str> = ran.lines().filter_map(|line| line.split(' ').next()).collect();
    let tests = listed.lines().filter_map(|line| line.strip_suffix(": test"));
    tests.filter(|test| !ran.contains(test)).map(str::to_owned).collect()
}

fn forget(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A failure of the file system.
fn failed(path: &Path, error: io::Error) -> Failure {
    let error = io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    Failure::NotStarted { line: "the clients".into(), error }
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
