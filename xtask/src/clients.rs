//! The step `clients`: the vendors' own clients, in Python and Node, get the same answers through
//! our gateway as without it.
//!
//! They are installed from their registries into the target folder, once, and never into the
//! system. The tests are `crates/cli/tests/clients.rs`; a plain `cargo test` skips them, and says
//! so.

use crate::context::TaskContext;
use crate::failure::TaskFailure;
use crate::install::{self, Packages};
use crate::installed_tests::InstalledTests;

/// Clients of Python, from PyPI. Their dependencies are those that they ask for.
const PYTHON: [&str; 3] = ["openai==3.49.0", "anthropic==2.8.0", "google-genai==3.3.0"];
/// Clients of Node, from npm.
const NODE: [&str; 3] = ["openai@7.53.0", "@anthropic-ai/sdk@1.8.0", "@google/genai@2.32.0"];

/// Installs the clients, runs the tests, and checks that none was skipped.
///
/// # Errors
/// If a client cannot be installed, or if a test fails or did not run.
pub(crate) fn run(context: &TaskContext) -> Result<(), TaskFailure> {
    let tests = InstalledTests::new(context, "clients");
    install::python(context.root(), &tests.folder.join("python"), Packages::Listed(&PYTHON))?;
    install::node(context.root(), &tests.folder.join("node"), Packages::Listed(&NODE))?;
    context.cargo("build --workspace --all-features --bins")?;

    tests.forget_reports()?;
    // More at once than cores, because most of them wait for a client.
    tests.run(context, "--test-threads 4")?;
    let ran = tests.reports()?;
    let open = ran.lines().filter(|line| line.contains(' ')).count();
    if open > 0 {
        println!(
            "{open} scenarios were replayed without a sandbox: this kernel refuses it (see `reenact doctor`)"
        );
    }
    let ran: Vec<&str> = ran.lines().filter_map(|line| line.split(' ').next()).collect();
    tests.check_all_ran(context, &ran)
}
