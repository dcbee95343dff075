//! `reenact-verify`: the verifier alone, for those who want to read all of what they run.
//!
//! It uses the keys that it is given and no others, knows no configuration, writes nothing but its report, and has no
//! dependency beyond the library. `reenact verify` does the same on all cores, with your own keys at hand.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use reenact_formats::key::KeyFile;
use reenact_formats::rer::time;
use reenact_json::Shown;
use reenact_verify::disk::targets::{RepeatedInput, Targets, VerifyRequest};
use reenact_verify::disk::{self, KeyFolder};
use reenact_verify::{Demands, FormatId, Keys, Options, Outcome, render};

const HELP: &str = "\
Verifies records of agent runs, offline: every hash recomputed, every check reported.

Usage: reenact-verify [OPTIONS] PATH…

A PATH is a file, a bundle, a folder (every record in it), or - for standard input.

Options:
  --key FILE      a public key: 32 raw bytes, JWK, JWKS, or SPKI in DER or PEM; may be given more than once
  --keys DIR      every key in a folder, or in a JWKS file
  --hmac-key-file FILE   the shared key of an .rpk signature, as text in a file
  --format NAME   judge by this format's checks, whatever the content looks like: rer, rer-bundle, rpk, model-io,
                  replay-jsonl, replay-bundle
  --receipt FILE  the RECEIPT.json to hold a REPLAY.jsonl against; in a folder the one beside it is used
  --digest        add the SHA-256 of each file to its report
  --require-trusted   answer no unless the signer is one of the keys given
  --require-audit     answer no unless every rule of the envelope is known to be kept
  --deny-redacted     answer no if any payload is withheld
  --deny-duplicates   answer no if one run comes in two versions
  --at TIME           say what time it is (RFC 3339), for the note on expired envelopes
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
    demands: Demands,
    receipt: Option<Vec<u8>>,
    digest: bool,
    json: bool,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args_os().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => return ExitCode::SUCCESS,
        Err(message) => return refused(&message),
    };
    let targets = match Targets::look_up(&arguments.paths, disk::look_up) {
        Ok(targets) => targets,
        Err(RepeatedInput) => return refused(&RepeatedInput.to_string()),
    };
    let request = VerifyRequest {
        keys: &arguments.keys,
        options: arguments.options,
        receipt: arguments.receipt.as_deref(),
        digest: arguments.digest,
        on_all_cores: false,
    };
    let judged = targets.judge(&request, &|_| {});
    judged.complaints.iter().for_each(|complaint| complain(complaint));
    for (target, outcome) in &judged.outcomes {
        // If whoever reads us has left, there is nobody to tell.
        if print(target, outcome, &arguments).is_err() {
            return ExitCode::from(2);
        }
        if let Outcome::Judged(report) = outcome {
            for unmet in arguments.demands.unmet(report) {
                complain(&format!("{}: {unmet}", Shown::whole(target)));
            }
        }
    }
    ExitCode::from(judged.exit_code(&arguments.demands))
}

/// Says what is wrong with the command's own words.
fn refused(message: &str) -> ExitCode {
    complain(&format!("{message}\nTry: reenact-verify --help"));
    ExitCode::from(2)
}

/// Says something to whoever asked for it, if they are still there.
fn say(text: &str) {
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

/// Says something beside the result, if anybody listens.
fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "reenact-verify: {text}");
}

fn add(keys: &mut Keys, file: KeyFile, path: &Path) {
    if file.holds_private {
        complain(&disk::private_key_warning(path));
    }
    keys.extend(file.keys);
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
            "--json" | "--digest" | "--help" | "--version" | "--require-trusted" | "--require-audit"
            | "--deny-redacted" | "--deny-duplicates"
                if attached.is_some() =>
            {
                return Err(format!("{name} takes no value"));
            }
            "--json" => arguments.json = true,
            "--digest" => arguments.digest = true,
            "--require-trusted" => arguments.demands.trusted = true,
            "--require-audit" => arguments.demands.audit = true,
            "--deny-redacted" => arguments.demands.unredacted = true,
            "--deny-duplicates" => arguments.demands.unique = true,
            "--at" => {
                let time = value()?.to_string_lossy().into_owned();
                let at = time::instant(&time);
                arguments.options.at =
                    Some(at.ok_or(format!("not an RFC 3339 time: {}", Shown::new(&time)))?);
            }
            "--key" => {
                let path = PathBuf::from(value()?);
                let file = disk::key_file(&path).map_err(|error| error.to_string())?;
                add(&mut arguments.keys, file, &path);
            }
            "--keys" => {
                let path = PathBuf::from(value()?);
                let KeyFolder { files, others } =
                    disk::key_folder(&path).map_err(|error| error.to_string())?;
                files.into_iter().for_each(|(path, file)| add(&mut arguments.keys, file, &path));
                for other in others {
                    complain(&format!("{}: not a key, passed over", Shown::whole(&other.to_string_lossy())));
                }
            }
            "--hmac-key-file" => {
                let path = PathBuf::from(value()?);
                arguments.keys.share(disk::hmac_key_file(&path).map_err(|error| error.to_string())?);
            }
            "--receipt" => {
                let path = PathBuf::from(value()?);
                arguments.receipt = Some(disk::receipt(&path).map_err(|error| error.to_string())?);
            }
            "--format" => {
                let name = value()?.to_string_lossy().into_owned();
                let format = FormatId::of_verified_name(&name)
                    .map_err(|_| format!("no such format: {}", Shown::new(&name)))?;
                arguments.options.format = Some(format);
            }
            "--help" | "-h" => {
                say(HELP);
                return Ok(None);
            }
            "--version" | "-V" => {
                say(concat!("reenact-verify ", env!("CARGO_PKG_VERSION"), "\n"));
                return Ok(None);
            }
            _ => return Err(format!("unknown option {}", Shown::new(&text))),
        }
    }
    match arguments.paths.is_empty() {
        true => Err("give a PATH to verify".into()),
        false => Ok(Some(arguments)),
    }
}

fn print(target: &str, outcome: &Outcome, arguments: &Arguments) -> io::Result<()> {
    let text = match arguments.json {
        true => outcome.to_json(target) + "\n",
        false => render::outcome(target, outcome, &render::plain),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
