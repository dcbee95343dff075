//! `reenact-verify`: the verifier as a program of its own, small enough to audit in full.
//!
//! The program uses only the keys that it is given, reads no configuration, writes nothing but its
//! report, and has no dependency beyond the library. `reenact verify` does the same on all cores, with
//! the user's own keys. Start reading at `main`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use reenact_formats::key::KeyFile;
use reenact_formats::rer::time;
use reenact_json::Shown;
use reenact_verify::disk::targets::{RepeatedStandardInput, VerifyRequest, VerifyTargets};
use reenact_verify::disk::{self, KeyFolder};
use reenact_verify::{Demands, FormatId, Keys, Options, TargetOutcome, render};

/// Text of `--help`.
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
  --any-signer        answer yes whoever signed: without it, --key and --keys answer no unless one of their keys did,
                      and --hmac-key-file likewise for an .rpk
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

/// Parsed command line.
#[derive(Default)]
struct ReenactVerifyArgs {
    /// Targets: files, folders, or `-` for standard input.
    paths: Vec<OsString>,
    /// Keys of `--key`, `--keys` and `--hmac-key-file`.
    keys: Keys,
    /// Values of `--format` and `--at`.
    options: Options,
    /// Demands of the keys given, and flags of `--require-…` and `--deny-…`.
    demands: Demands,
    /// True to accept any signer even if keys are given.
    any_signer: bool,
    /// Content of the file given with `--receipt`.
    receipt: Option<Vec<u8>>,
    /// True to add the SHA-256 of each file to its report.
    digest: bool,
    /// True to print one JSON object per target instead of text.
    json: bool,
}

/// Verifies all targets and prints their reports. Exit codes: 0 everything holds, 1 something does not,
/// 2 something could not be read or the command line is wrong.
fn main() -> ExitCode {
    let arguments = match parse_args(std::env::args_os().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => return ExitCode::SUCCESS,
        Err(message) => return usage_error(&message),
    };
    let targets = match VerifyTargets::look_up(&arguments.paths, disk::look_up) {
        Ok(targets) => targets,
        Err(RepeatedStandardInput) => return usage_error(&RepeatedStandardInput.to_string()),
    };
    let request = VerifyRequest {
        keys: &arguments.keys,
        options: arguments.options,
        receipt: arguments.receipt.as_deref(),
        digest: arguments.digest,
        on_all_cores: false,
    };
    let results = targets.verify(&request, &|_| {});
    results.warnings.iter().for_each(|complaint| warn(complaint));
    for (target, outcome) in &results.outcomes {
        // Standard output is closed, so the remaining reports cannot be printed.
        if print_outcome(target, outcome, &arguments).is_err() {
            return ExitCode::from(2);
        }
        if let TargetOutcome::Report(report) = outcome {
            for unmet in arguments.demands.unmet(report) {
                warn(&format!("{}: {unmet}", Shown::whole(target)));
            }
        }
    }
    ExitCode::from(results.exit_code(&arguments.demands))
}

/// Prints an error in the command line to standard error; returns exit code 2.
fn usage_error(message: &str) -> ExitCode {
    warn(&format!("{message}\nTry: reenact-verify --help"));
    ExitCode::from(2)
}

/// Prints to standard output. A closed pipe is ignored.
fn print_text(text: &str) {
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

/// Prints a line to standard error. A closed pipe is ignored.
fn warn(text: &str) {
    let _ = writeln!(io::stderr().lock(), "reenact-verify: {text}");
}

/// Adds the public keys of a file, and warns if the file holds a private key.
fn add_keys(keys: &mut Keys, file: KeyFile, path: &Path) {
    if file.holds_private {
        warn(&disk::private_key_warning(path));
    }
    keys.extend(file.keys);
}

/// Parses the command line; `None` if `--help` or `--version` was printed.
///
/// # Errors
/// Returns a message for an unknown option, a missing value, or a file that cannot be read.
fn parse_args(mut words: impl Iterator<Item = OsString>) -> Result<Option<ReenactVerifyArgs>, String> {
    let mut arguments = ReenactVerifyArgs::default();
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
            "--json" | "--digest" | "--help" | "--version" | "--any-signer" | "--require-trusted"
            | "--require-audit" | "--deny-redacted" | "--deny-duplicates"
                if attached.is_some() =>
            {
                return Err(format!("{name} takes no value"));
            }
            "--json" => arguments.json = true,
            "--digest" => arguments.digest = true,
            "--any-signer" => arguments.any_signer = true,
            "--require-trusted" => arguments.demands.trusted = true,
            "--require-audit" => arguments.demands.audit = true,
            "--deny-redacted" => arguments.demands.unredacted = true,
            "--deny-duplicates" => arguments.demands.unique = true,
            "--at" => {
                let time = value()?.to_string_lossy().into_owned();
                let at = time::instant(&time);
                arguments.options.now =
                    Some(at.ok_or(format!("not an RFC 3339 time: {}", Shown::new(&time)))?);
            }
            "--key" => {
                let path = PathBuf::from(value()?);
                let file = disk::key_file(&path).map_err(|error| error.to_string())?;
                add_keys(&mut arguments.keys, file, &path);
                arguments.demands.supplied = true;
            }
            "--keys" => {
                let path = PathBuf::from(value()?);
                let KeyFolder { files, others } =
                    disk::key_folder(&path).map_err(|error| error.to_string())?;
                files.into_iter().for_each(|(path, file)| add_keys(&mut arguments.keys, file, &path));
                for other in others {
                    warn(&format!("{}: not a key, passed over", Shown::whole(&other.to_string_lossy())));
                }
                arguments.demands.supplied = true;
            }
            "--hmac-key-file" => {
                let path = PathBuf::from(value()?);
                arguments.keys.set_hmac_key(disk::hmac_key_file(&path).map_err(|error| error.to_string())?);
                arguments.demands.shared_key = true;
            }
            "--receipt" => {
                let path = PathBuf::from(value()?);
                arguments.receipt = Some(disk::read_receipt(&path).map_err(|error| error.to_string())?);
            }
            "--format" => {
                let name = value()?.to_string_lossy().into_owned();
                let format = FormatId::of_verified_name(&name)
                    .map_err(|_| format!("no such format: {}", Shown::new(&name)))?;
                arguments.options.format = Some(format);
            }
            "--help" | "-h" => {
                print_text(HELP);
                return Ok(None);
            }
            "--version" | "-V" => {
                print_text(concat!("reenact-verify ", env!("CARGO_PKG_VERSION"), "\n"));
                return Ok(None);
            }
            _ => return Err(format!("unknown option {}", Shown::new(&text))),
        }
    }
    if arguments.any_signer {
        arguments.demands = Demands { supplied: false, shared_key: false, ..arguments.demands };
    }
    match arguments.paths.is_empty() {
        true => Err("give a PATH to verify".into()),
        false => Ok(Some(arguments)),
    }
}

/// Prints the outcome of one target to standard output and flushes.
fn print_outcome(target: &str, outcome: &TargetOutcome, arguments: &ReenactVerifyArgs) -> io::Result<()> {
    let text = match arguments.json {
        true => outcome.to_json(target) + "\n",
        false => render::outcome_text(target, outcome, &arguments.demands, &render::plain),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
