//! The step `agents`: agents that people use, recorded at the first try and replayed on another day.
//!
//! They are installed from their registries into the target folder, with the lock files in
//! `xtask/locks/agents`. The tests are `crates/cli/tests/agents.rs`, one for each agent; they run in
//! a namespace that has loopback only, so that nothing that an agent reports reaches anybody. A test
//! that fails runs once more; if it passes then, the agent is named as flaky.

mod agent_table;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::command;
use crate::context::TaskContext;
use crate::failure::TaskFailure;
use crate::install::{self, Packages};
use crate::installed_tests::InstalledTests;
use agent_table::AgentTableRow;

/// Environments of Python, each with its lock file. aider asks for exact versions of its own.
const PYTHON: [(&str, &str); 2] = [("aider", "aider.txt"), ("stacks", "stacks.txt")];
/// Programs in packages of npm that put the binary for this machine into its place. Only these run,
/// and no other script of a package.
const BINARY_SCRIPTS: [&str; 2] = ["@anthropic-ai/claude-code/install.cjs", "opencode-ai/postinstall.mjs"];
/// Library that moves the clock of replays. The compiler is the one by which Rust links.
const CLOCK: &str = "crates/cli/tests/agents/clock.c";
/// Shell text that brings up loopback in a fresh namespace, and becomes the command behind it.
const WITH_LOOPBACK: &str = "ip link set lo up && exec \"$@\"";

/// Installs the agents, runs the tests, and prints the table.
///
/// # Errors
/// If an agent cannot be installed, if there are no namespaces, or if a test fails twice or did not run.
pub(crate) fn run(context: &TaskContext) -> Result<(), TaskFailure> {
    let tests = InstalledTests::new(context, "agents");
    require_namespaces(context.root())?;
    install(context.root(), &tests.folder)?;
    let wanted = wanted_tests(context, &tests)?;

    tests.forget_reports()?;
    let mut results = BTreeMap::new();
    let mut left: Vec<&String> = wanted.iter().collect();
    for attempt in [1, 2] {
        if left.is_empty() {
            break;
        }
        let earlier = tests.reports()?.len();
        // A failure is in the results, or its test has none.
        if let Err(failure) = run_in_namespace(context, &tests, &left) {
            println!("attempt {attempt}: {failure}");
        }
        for result in agent_table::read(tests.reports()?.get(earlier..).unwrap_or_default(), attempt) {
            results.insert(result.test.clone(), result);
        }
        left.retain(|test| !results.get(*test).is_some_and(AgentTableRow::holds));
    }
    print!("\n{}", agent_table::table(results.values()));
    println!("\nThe same as JSON, a line for each run of an agent: {}", tests.report.display());
    if left.is_empty() {
        return Ok(());
    }
    Err(TaskFailure::Agents { failed: left.into_iter().cloned().collect() })
}

/// Returns the tests to run: those whose names begin as the command line says, or all.
fn wanted_tests(context: &TaskContext, tests: &InstalledTests) -> Result<Vec<String>, TaskFailure> {
    let listed = tests.listed(context)?;
    let beginnings: Vec<String> = context.agents().iter().map(|agent| agent.replace('-', "_")).collect();
    let is_named = |test: &String| beginnings.iter().any(|beginning| test.starts_with(beginning));
    if beginnings.is_empty() {
        return Ok(listed);
    }
    let (wanted, others): (Vec<String>, Vec<String>) = listed.into_iter().partition(is_named);
    if wanted.is_empty() { Err(TaskFailure::NoSuchAgent { known: others }) } else { Ok(wanted) }
}

/// Checks that this user may make a namespace of the network.
fn require_namespaces(root: &Path) -> Result<(), TaskFailure> {
    let probe = || command::stdout_of(in_namespace().args(["true"]), root);
    install::version_or_install(probe, root, &["util-linux", "iproute2"])?.map(drop).ok_or(
        TaskFailure::Missing {
            tool: "a namespace without network (`unshare --user --map-root-user --net`, `ip`)",
            install: "apt-get install util-linux iproute2; `reenact doctor` says what the kernel refuses",
        },
    )
}

/// Returns a command that runs its arguments with loopback and no other network.
fn in_namespace() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "sh", "-c", WITH_LOOPBACK, "sh"]);
    command
}

/// Installs all agents, and compiles what moves their clocks.
fn install(root: &Path, folder: &Path) -> Result<(), TaskFailure> {
    let locks = root.join("xtask/locks/agents");
    for (name, lock) in PYTHON {
        install::python(root, &folder.join(name), Packages::Locked(&locks.join(lock)))?;
    }
    let npm = folder.join("npm");
    install::node(root, &npm, Packages::Locked(&locks.join("npm/package-lock.json")))?;
    for script in BINARY_SCRIPTS {
        let script = npm.join("node_modules").join(script);
        command::run(Command::new("node").arg(&script), root)?;
    }
    // It is compiled each time: that takes a tenth of a second.
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-Wextra", "-shared", "-fPIC", CLOCK, "-o"]).arg(folder.join("clock.so"));
    command::run(&mut compiler, root)
}

/// Runs tests by their names, in the namespace. Everything is built already: there is no network.
fn run_in_namespace(
    context: &TaskContext,
    tests: &InstalledTests,
    names: &[&String],
) -> Result<(), TaskFailure> {
    let mut command = in_namespace();
    command.arg(context.cargo_program()).arg("--offline").args(tests.arguments().split(' '));
    command.args(["--", "--ignored", "--exact", "--test-threads", "3"]).args(names);
    command::run(command.envs(tests.variables()), context.root())
}
