//! `reenact`: the flight recorder for AI agents.
//!
//! The only crate that knows arguments, directories, threads and terminals; everything else is in libraries.
//! Each command is a file or a folder in `command/`, and returns an exit code: 0 if it did its work and the
//! answer is yes, 1 if the answer is no, 2 if it could not do its work. `reenact record` alone ends with the
//! exit code of the agent that it ran.
//!
//! | module | content |
//! |---|---|
//! | `command` | the commands, and the table of their arguments |
//! | `output` | standard output, standard error, and the error type of all commands |
//! | `run_index` | the standing index of verified runs |
//! | `runs` | finding and opening the run that an argument names |
//! | `sealed_record` | an RER record that is written once more, by `redact` and `share` |
//! | `config`, `settings` | the user's keys and trust store; the project's `reenact.toml` |
//! | `envelope`, `prices` | envelopes and price tables as people write them |
//! | `upstreams` | where the requests of each vendor go |
//! | `agent` | the agent that a command starts, and what is set for it |
//! | `vendors` | the environment variables that lead an agent to the gateway |
//! | `child`, `runtime` | the agent's process, its signals, and the tokio runtime |
//! | `hardening` | the memory of this process, closed to the agent |
//! | `terminal`, `passphrase`, `pager`, `progress`, `quantity` | prompts, long output, progress bar, numbers for people |
//!
//! Start reading at `command/mod.rs`; `command/record/mod.rs` and `command/replay/mod.rs` are the two largest commands.

mod agent;
mod child;
mod command;
mod config;
mod envelope;
mod hardening;
mod net_seen;
mod output;
mod pager;
mod passphrase;
mod prices;
mod progress;
mod quantity;
mod run_index;
mod runs;
mod runtime;
mod sealed_record;
mod seen_approvers;
mod settings;
mod stdio;
mod terminal;
mod upstreams;
mod vendors;
mod work_folder;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use output::CommandError;

/// Parses the arguments, runs the command, and turns its result into the exit code of the process.
fn main() -> ExitCode {
    // A replay starts this program again as the sandbox's trampoline, which must run before anything else in the process.
    reenact_sandbox::trampoline::run_if_trampoline();
    if let Err(error) = hardening::protect_process() {
        output::print_notice(&format!("this process cannot be protected: {error}"));
        return ExitCode::from(2);
    }
    let arguments = match command::ReenactArgs::try_parse() {
        Ok(arguments) => arguments,
        Err(mut error) => {
            let words: Vec<OsString> = std::env::args_os().skip(1).collect();
            command::suggest_name(&mut error, &words);
            return output::print_usage(&error);
        }
    };
    match command::run(arguments) {
        Ok(code) => ExitCode::from(code),
        // The reader of standard output is gone, so no message is printed; but the result was not delivered either.
        Err(CommandError::ClosedPipe) => ExitCode::from(2),
        Err(CommandError::Failed { code, message }) => {
            output::print_notice(&message);
            ExitCode::from(code)
        }
    }
}
