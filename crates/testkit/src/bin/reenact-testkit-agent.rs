//! The agent as a program, for tests that need a child process which talks to a model.

use std::io::{self, Write};
use std::process::ExitCode;

use reenact_testkit::{Kind, agent};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (kind, task) = match arguments.iter().map(String::as_str).collect::<Vec<&str>>().as_slice() {
        [] | ["openai"] => (Kind::OpenAi, None),
        ["anthropic"] => (Kind::Anthropic, None),
        ["openai", task] => (Kind::OpenAi, Some(*task)),
        ["anthropic", task] => (Kind::Anthropic, Some(*task)),
        _ => {
            let _ = io::stderr().write_all(b"usage: reenact-testkit-agent [openai|anthropic [TASK]]\n");
            return ExitCode::from(2);
        }
    };
    let task = task.map(str::to_owned);
    ExitCode::from(agent::run(kind, task.as_deref(), &mut io::stdout(), &mut io::stderr()))
}
