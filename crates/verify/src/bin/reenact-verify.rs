//! `reenact-verify`: the verifier alone, for those who want to read all of what they run.
//!
//! It uses the keys that it is given and no others, knows no configuration, writes nothing but its report, and has no
//! dependency beyond the library. `reenact verify` does the same on all cores, with your own keys at hand.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use reenact_json::Shown;
use reenact_verify::disk::{self, Argument, Content, Place};
use reenact_verify::{Format, Keys, Options, Outcome, Unreadable, render};

const HELP: &str = "\
Verifies records of agent runs, offline: every hash recomputed, every check reported.

Usage: reenact-verify [OPTIONS] PATH…

A PATH is a file, a bundle, a folder (every record in it), or - for standard input.

Options:
  --key FILE      a public key: 32 raw bytes, JWK, JWKS, or SPKI in DER or PEM; may be given more than once
  --keys DIR      every key in a folder, or in a JWKS file
  --format NAME   judge by this format's checks, whatever the content looks like: rer, rer-bundle
  --digest        add the SHA-256 of each file to its report
  --json          one JSON object a line, one line a target
  --help, --version

Exit: 0 everything holds, 1 something does not, 2 something could not be read.

Example:
  reenact-verify --key signer.jwk run.rer.json
";

#[derive(Default)]
struct Arguments {
    paths: Vec<OsString>,
    keys: Keys,
    options: Options,
    digest: bool,
    json: bool,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args_os().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => return ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("reenact-verify: {message}\nTry: reenact-verify --help");
            return ExitCode::from(2);
        }
    };
    let mut worst = 0;
    for path in &arguments.paths {
        match verify(path, &arguments) {
            Ok(code) => worst = worst.max(code),
            // Whoever reads us has left; there is nobody to tell.
            Err(_) => return ExitCode::from(2),
        }
    }
    ExitCode::from(worst)
}

fn parse(mut words: impl Iterator<Item = OsString>) -> Result<Option<Arguments>, String> {
    let mut arguments = Arguments::default();
    let mut only_paths = false;
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        if only_paths || !text.starts_with('-') || text == "-" {
            arguments.paths.push(word);
            continue;
        }
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(OsString::from(value))),
            None => (text.as_str(), None),
        };
        let mut value = || attached.clone().or_else(|| words.next()).ok_or(format!("{name} needs a value"));
        match name {
            "--" => only_paths = true,
            "--json" => arguments.json = true,
            "--digest" => arguments.digest = true,
            "--key" => {
                let file = disk::key_file(Path::new(&value()?)).map_err(|error| error.to_string())?;
                arguments.keys.extend(file.keys);
            }
            "--keys" => {
                let (files, _) = disk::key_folder(Path::new(&value()?)).map_err(|error| error.to_string())?;
                files.into_iter().for_each(|file| arguments.keys.extend(file.keys));
            }
            "--format" => {
                let name = value()?.to_string_lossy().into_owned();
                let format =
                    Format::of_name(&name).ok_or(format!("no such format: {}", Shown::new(&name)))?;
                arguments.options.format = Some(format);
            }
            "--help" | "-h" => {
                print!("{HELP}");
                return Ok(None);
            }
            "--version" | "-V" => {
                println!("reenact-verify {}", env!("CARGO_PKG_VERSION"));
                return Ok(None);
            }
            _ => return Err(format!("unknown option {}", Shown::new(&text))),
        }
    }
    if arguments.paths.is_empty() { Err("give a PATH to verify".into()) } else { Ok(Some(arguments)) }
}

/// Verifies one argument and prints what became of it; returns its exit code.
fn verify(argument: &OsString, arguments: &Arguments) -> io::Result<u8> {
    let name = argument.to_string_lossy().into_owned();
    match disk::look_up(argument) {
        Argument::StandardInput => {
            print(&name, &judge(disk::open_standard_input(), None, arguments), arguments)
        }
        Argument::Place(place) => {
            print(&name, &judge(disk::open(&place), Some(&place), arguments), arguments)
        }
        Argument::Unreadable(error) => print(&name, &Outcome::Unreadable(error), arguments),
        Argument::Folder { places, links } => {
            let (mut worst, mut judged) = (0, 0);
            for place in &places {
                let outcome = judge(disk::open(place), Some(place), arguments);
                if !matches!(&outcome, Outcome::Judged(report) if disk::is_passed_over(place.path(), report))
                {
                    worst = worst.max(print(&place.path().to_string_lossy(), &outcome, arguments)?);
                    judged += 1;
                }
            }
            if judged == 0 {
                return print(&name, &Outcome::Judged(disk::empty_folder(places.len(), links)), arguments);
            }
            if let Some(others) = disk::passed_over(places.len() - judged, links) {
                eprintln!("reenact-verify: {}: {others}", Shown::whole(&name));
            }
            Ok(worst)
        }
    }
}

fn judge(content: Result<Content, Unreadable>, place: Option<&Place>, arguments: &Arguments) -> Outcome {
    let content = match content {
        Ok(content) => content,
        Err(error) => return Outcome::Unreadable(error),
    };
    let mut report = content.judge(&arguments.keys, &arguments.options);
    if arguments.digest {
        match disk::digest_of(&content, place) {
            Ok(digest) => report.digests.extend(digest),
            Err(error) => return Outcome::Unreadable(error),
        }
    }
    Outcome::Judged(report)
}

fn print(target: &str, outcome: &Outcome, arguments: &Arguments) -> io::Result<u8> {
    let text = match arguments.json {
        true => outcome.to_json(target) + "\n",
        false => render::outcome(target, outcome, &render::plain),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(outcome.exit_code())
}
