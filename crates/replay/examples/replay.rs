//! Serves recorded answers from a Rust program: `cargo run -p reenact-replay --example replay -- [FILE]`.
//!
//! A test of an agent gets its model's answers from a record instead of from the vendor: the same each time, with no network and no
//! bill. `reenact replay` does this for whole programs, over HTTP and in a sandbox; this is the part without sockets.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;
use std::{env, fs};

use reenact_replay::{Player, PlayerReply, PlayerRequest};
use reenact_run::{Run, open};
use reenact_verify::{Keys, Options};

fn main() -> Result<(), Box<dyn Error>> {
    run(env::args_os().nth(1))
}

fn run(file: Option<OsString>) -> Result<(), Box<dyn Error>> {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/runs");
    let file = file.map_or_else(|| runs.join("invoice.rer.json"), Into::into);
    let keys = Keys::from_file(&fs::read(runs.join("signer.jwk"))?)?;
    let opened = open(fs::read(file)?, &keys, &Options::default());
    println!("{}", opened.report.summary);
    replay(&opened.run?)
}

/// Asks for every recorded exchange again, and once for something that was never recorded.
fn replay(run: &Run) -> Result<(), Box<dyn Error>> {
    let player = Player::load(run)?;
    for exchange in run.exchanges() {
        let request = exchange.request()?;
        println!(
            "{} {}: {}",
            request.method,
            request.path,
            ask(&player, &request.path, request.body.bytes())
        );
    }
    println!(
        "another prompt: {}",
        ask(&player, "/v1/messages", br#"{"model":"claude-sonnet-4-5","messages":[]}"#)
    );

    let outcome = player.outcome();
    println!("{} found, {} not recorded", outcome.hits(), outcome.missed);
    Ok(())
}

/// Returns the beginning of the recorded answer, or why there is none.
fn ask(player: &Player, path: &str, body: &[u8]) -> String {
    let request = PlayerRequest { provider: "anthropic", method: "POST", path, headers: &[], body };
    match player.answer(&request) {
        PlayerReply::Hit(answer) => String::from_utf8_lossy(&answer.body).chars().take(60).collect(),
        PlayerReply::Miss(miss) => miss.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_runs() {
        super::run(None).unwrap();
    }
}
