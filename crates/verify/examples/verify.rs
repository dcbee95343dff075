//! Verifies a record of a run from a Rust program: `cargo run -p reenact-verify --example verify -- FILE [KEY]`.
//!
//! Without arguments: the run that ships with this repository, and a forgery of it. The program knows the public key of the
//! signer and nothing else; no network, no clock, no configuration.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;
use std::{env, fs};

use reenact_verify::{Keys, Options, rer, verify, verify_or_err};

fn main() -> Result<(), Box<dyn Error>> {
    run(env::args_os().skip(1))
}

fn run(mut arguments: impl Iterator<Item = OsString>) -> Result<(), Box<dyn Error>> {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/runs");
    match arguments.next() {
        Some(file) => {
            let keys = match arguments.next() {
                Some(key) => Keys::from_file(&fs::read(key)?)?,
                None => Keys::default(),
            };
            print_report(&fs::read(file)?, &keys);
        }
        None => {
            let keys = Keys::from_file(&fs::read(runs.join("signer.jwk"))?)?;
            print_report(&fs::read(runs.join("invoice.rer.json"))?, &keys);
            print_report(&fs::read(runs.join("forged.rer.json"))?, &keys);
            print_events(&fs::read(runs.join("invoice.rer.json"))?, &keys)?;
        }
    }
    Ok(())
}

/// Prints every check. [`verify`] takes any bytes and never fails: what is no record gets a report that says so.
fn print_report(bytes: &[u8], keys: &Keys) {
    let report = verify(bytes, keys, &Options::default());
    println!("{}: {}", report.format, report.summary);
    for check in &report.checks {
        let answer = match check.holds {
            Some(true) => "holds",
            Some(false) => "FAILS",
            None => "nothing to check",
        };
        println!("  {:20} {answer}", check.id);
    }
    // A program asks for a check by its id; names are for people and JSON.
    if report.check(rer::PAYLOAD_HASHES) == Some(false) {
        println!("  somebody changed a payload:");
    }
    for reason in &report.reasons {
        println!("  {reason}");
    }
}

/// Prints the types of the events of a record that passes. [`verify_or_err`] returns nothing else: code that gets a
/// `Verified` value needs no check of its own.
fn print_events(bytes: &[u8], keys: &Keys) -> Result<(), Box<dyn Error>> {
    let artifact = verify_or_err(bytes, keys, &Options::default())?;
    for event in artifact.events() {
        if let reenact_formats::rer::RerEventItem::Event(event) = event {
            let event_type = event.event_type.and_then(|name| name.string());
            println!("  {}", event_type.as_deref().unwrap_or("?"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_runs() {
        super::run([].into_iter()).unwrap();
    }
}
