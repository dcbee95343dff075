//! The agent as a program, for tests that need a child process which talks to a model.

use std::io::{self, Write};
use std::process::ExitCode;

use reenact_testkit::{Vendor, agent};
use reenact_wire::VENDORS;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let kind = arguments.first().map_or(Some(Vendor::OPENAI), |name| Vendor::of_name(name));
    let Some(kind) = kind.filter(|_| arguments.len() <= 2) else {
        let names = VENDORS.map(Vendor::name).join("|");
        let _ = writeln!(io::stderr(), "usage: reenact-testkit-agent [{names} [TASK]]");
        return ExitCode::from(2);
    };
    let task = arguments.get(1).map(String::as_str);
    ExitCode::from(agent::run(kind, task, None, &mut io::stdout(), &mut io::stderr()))
}
