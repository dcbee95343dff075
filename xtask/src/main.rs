//! Developer commands: `cargo xtask test`, `stress`, `fuzz`, `kill`, `example`, `prose`, `bench`.
//!
//! Everything that a contributor or a CI machine does beyond plain cargo is a command here, so that
//! it is written once, in Rust, and runs the same everywhere.
//!
//! | module | purpose |
//! |---|---|
//! | `test`, `step` | the steps that a commit must pass, and the table of their results |
//! | `clients`, `agents`, `wasm` | steps of `test` that need other toolchains |
//! | `install`, `installed_tests` | what those steps install, and the tests that need it |
//! | `stress`, `kill`, `fuzz` | searches for bugs that depend on timing, crashes and hostile input |
//! | `example` | the committed example runs |
//! | `prose` | counts of type names and doc comments |
//! | `bench` | measurements |
//! | `context`, `command`, `failure` | running other programs |
//!
//! A new command is a module with a `run` function, an arm in `dispatch` and a line in `HELP`. Start
//! reading at `dispatch`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command of the terminal speaks to the terminal"
)]

mod agents;
mod bench;
mod clients;
mod command;
mod context;
mod example;
mod failure;
mod fuzz;
mod install;
mod installed_tests;
mod kill;
mod prose;
mod step;
mod stress;
mod test;
mod wasm;

use std::process::ExitCode;

use context::TaskContext;

/// Text of `--help`.
const HELP: &str = "\
Developer commands of reenact.

  cargo xtask test [NAME…]                     format, lint, tests, docs: all that a commit must pass
  cargo xtask test --list                      the steps of the above, and what each runs
  cargo xtask test agents [--agent NAME]…      the agents that people use, recorded and replayed: all, or those whose names begin so
  cargo xtask stress [PACKAGE…] [N]            the tests N times (10) on a machine kept busy, to find those that depend on luck
  cargo xtask fuzz [TARGET] [--seconds N]      fuzz every reader, or one, for N seconds each (60)
  cargo xtask kill [N] [--seed S]              kills a recorder under load N times (300), and compares what is recovered
  cargo xtask example                          writes examples/runs anew, the same bytes each time
  cargo xtask prose [--list]                   type names and doc comments, counted, and the places that could be better
  cargo xtask bench [WORD…]                    verification as ratios, recording, replaying; rows that contain the words

Examples:
  cargo xtask test                             everything, as CI does
  cargo xtask test lint 'doc tests'            two steps only
  cargo xtask test agents --agent codex        one agent only
  cargo xtask stress reenact-gateway 30        thirty rounds of one package
  cargo xtask fuzz scan --seconds 600          ten minutes on one target
  cargo xtask bench gateway plain              what recording adds to a call
  cargo xtask bench policy                     and what an envelope adds that is enforced
  cargo xtask kill 20 --seed 9                 twenty kills at the moments of another seed
";

/// Reason why a command ends without success.
enum TaskError {
    /// The arguments make no sense: exit code 2.
    Usage(String),
    /// The command failed: exit code 1.
    Failed(String),
    /// The command failed, and its output has said so already: exit code 1.
    AlreadyReported,
}

fn main() -> ExitCode {
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(TaskError::Usage(message)) => {
            eprintln!("error: {message}\n`cargo xtask --help` shows the commands.");
            ExitCode::from(2)
        }
        Err(TaskError::Failed(message)) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
        Err(TaskError::AlreadyReported) => ExitCode::FAILURE,
    }
}

/// Runs the command that the first argument names.
fn dispatch(args: &[String]) -> Result<(), TaskError> {
    let Some((command, rest)) = args.split_first() else {
        print!("{HELP}");
        return Ok(());
    };
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    match command.as_str() {
        "help" => {
            print!("{HELP}");
            Ok(())
        }
        "test" => test::run(TaskContext::new(), rest),
        "stress" => stress::run(&TaskContext::new(), rest),
        "fuzz" => fuzz::run(&TaskContext::new(), rest),
        "kill" => kill::run(&TaskContext::new(), rest),
        "example" => example::run(TaskContext::new().root()).map_err(TaskError::Failed),
        "prose" => prose::run(&TaskContext::new(), rest),
        "bench" => bench::run(rest).map_err(TaskError::Failed),
        // Internal: `bench` starts itself again, optimised, and then once for each measurement of
        // peak memory.
        "bench-optimised" => bench::optimised(rest).map_err(TaskError::Failed),
        #[cfg(feature = "gateway")]
        "bench-memory" => bench::memory(rest).map_err(TaskError::Failed),
        other => Err(TaskError::Usage(format!("there is no command `{other}`"))),
    }
}
