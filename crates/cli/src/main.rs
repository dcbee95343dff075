//! `reenact`: the flight recorder for AI agents.
//!
//! The only place that knows arguments, directories, threads and terminals. Each command is a file in `command/`; each
//! returns an exit code: 0 done and it holds, 1 done and the answer is no, 2 could not be done.

mod child;
mod command;
mod config;
mod envelope;
mod output;
mod passphrase;
mod prices;
mod progress;
mod quantity;
mod runs;
mod runtime;
mod sealed;
mod settings;
mod terminal;
mod vendors;

use std::process::ExitCode;

use clap::Parser;

use output::Ending;

fn main() -> ExitCode {
    // A replay's sandbox is this program again, before it has become anything else.
    reenact_sandbox::trampoline::main_if_asked();
    let arguments = match command::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return output::usage(&error),
    };
    match command::run(arguments) {
        Ok(code) => ExitCode::from(code),
        // Whoever reads us has left: nobody is there to be told, but nothing was delivered either.
        Err(Ending::ClosedPipe) => ExitCode::from(2),
        Err(Ending::Failed { code, message }) => {
            output::complain(&message);
            ExitCode::from(code)
        }
    }
}
