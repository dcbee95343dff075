//! `reenact verify`: is this record of a run what it says it is?
//!
//! Unlike `reenact-verify`, this command also knows the user's keys, the trust store and the runs of the current
//! folder. The verdicts are made by `reenact_verify`, on all cores. Start reading at `VerifyArgs::run`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use reenact_formats::rer::time;
use reenact_json::Shown;
use reenact_verify::disk::targets::{TargetOutcomes, VerifyRequest, VerifyTargets};
use reenact_verify::disk::{self, PathArgument};
use reenact_verify::{Demands, FormatId, Keys, Options, TargetOutcome, UnreadableTarget, render};

use crate::output::{self, CommandError};
use crate::progress::VerifyProgress;
use crate::quantity;
use crate::run_index::RunIndex;
use crate::runs;
use crate::runs::KeyFileArgs;

/// Verify records: every hash recomputed, every check reported, offline
///
/// A target is a file, a bundle, a folder (every record in it), a run recorded here (`last`, its id or the beginning of it), or - for
/// standard input. What it is, its content decides. The exit
/// code is 0 if everything holds, 1 if something does not, 2 if something could not be read.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact verify\n  reenact verify --key signer.jwk run.rer.json\n  reenact verify --keys trusted/ runs/\n  reenact verify --json --key signer.pem - < run.rer.json\n  reenact verify --index runs.index --deny-duplicates incoming/"
)]
pub(super) struct VerifyArgs {
    /// Files, folders, runs recorded here, or - for standard input
    #[arg(value_name = "PATH|RUN", default_value = "last")]
    targets: Vec<OsString>,

    /// A public key: 32 raw bytes, JWK, JWKS, or SPKI in DER or PEM; may be given more than once
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,

    /// Every key in a folder, or in a JWKS file
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,

    /// The shared key of an .rpk signature, as text in a file
    #[arg(long, value_name = "FILE")]
    hmac_key_file: Option<PathBuf>,

    /// Judge by this format's checks, whatever the content looks like: rer, rer-bundle, rpk, model-io, replay-jsonl,
    /// replay-bundle
    #[arg(long, value_name = "NAME", value_parser = format)]
    format: Option<FormatId>,

    /// The RECEIPT.json to hold a REPLAY.jsonl against; in a folder the one beside it is used
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,

    /// Add the SHA-256 of each file to its report
    #[arg(long)]
    digest: bool,

    /// Answer yes whoever signed: without it, --key and --keys answer no unless one of their keys did, and
    /// --hmac-key-file likewise for an .rpk
    #[arg(long)]
    any_signer: bool,

    /// Answer no unless the signer is supplied or trusted
    #[arg(long)]
    require_trusted: bool,

    /// Answer no unless every rule of the envelope is known to be kept
    #[arg(long)]
    require_audit: bool,

    /// Answer no if any payload is withheld
    #[arg(long)]
    deny_redacted: bool,

    /// Answer no if one run comes in two versions among the targets, or has another one in --index
    #[arg(long)]
    deny_duplicates: bool,

    /// Keep an index of verified runs: those that hold are entered, a run that has another record there is noted; made if it is not there
    #[arg(long, value_name = "FILE")]
    index: Option<PathBuf>,

    /// Say what time it is (RFC 3339, or `now`), for the note on expired envelopes
    #[arg(long, value_name = "TIME", value_parser = moment)]
    at: Option<i128>,

    /// One JSON object a line, one line a target
    #[arg(long)]
    json: bool,
}

/// Parses `--at` into nanoseconds since 1970: an RFC 3339 time, or `now`.
fn moment(text: &str) -> Result<i128, String> {
    if text == "now" {
        let since =
            SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| "the clock of this machine is wrong")?;
        return i128::try_from(since.as_nanos()).map_err(|error| error.to_string());
    }
    time::instant(text).ok_or_else(|| "not an RFC 3339 time, such as 2026-12-31T00:00:00Z".into())
}

/// Parses the name of a format that can be verified, for clap.
fn format(name: &str) -> Result<FormatId, String> {
    FormatId::of_verified_name(name).map_err(|unknown| unknown.to_string())
}

impl VerifyArgs {
    /// Verifies all targets and prints a report on each, in the order of the arguments.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        if let Some(index) = &self.index {
            // An index that cannot be used is said before the work, and read again under its lock afterwards.
            RunIndex::load(index)?;
        }
        let targets = VerifyTargets::look_up(&self.targets, resolve_target)
            .map_err(|repeated| CommandError::impossible(repeated.to_string()))?;
        let keys = self.load_keys()?;
        let receipt = self.receipt.as_deref().map(disk::read_receipt).transpose();
        let receipt =
            receipt.map_err(|error| CommandError::impossible(format!("{error} ({})", error.code)))?;
        let request = VerifyRequest {
            keys: &keys,
            options: Options { format: self.format, now: self.at, ..Options::default() },
            receipt: receipt.as_deref(),
            digest: self.digest,
            on_all_cores: true,
        };
        let progress = VerifyProgress::new(targets.total_bytes());
        let mut results = targets.verify(&request, &|more| progress.add(more));
        progress.finish();
        let update = match &self.index {
            Some(index) => Some(RunIndex::update(index, &mut results.outcomes, &self.demands())?),
            None => None,
        };
        results.warnings.iter().for_each(|complaint| output::print_notice(complaint));
        let code = self.print(&results)?;
        if let Some(update) = update {
            let added = quantity::count(update.added as u64, "run");
            output::print_notice(&format!(
                "index: {added} added, {} in all",
                quantity::grouped(update.total as u64)
            ));
        }
        Ok(code)
    }

    /// Returns the demands of the options, which can turn a pass into exit code 1.
    fn demands(&self) -> Demands {
        Demands {
            supplied: !self.any_signer && (!self.key.is_empty() || self.keys.is_some()),
            shared_key: !self.any_signer && self.hmac_key_file.is_some(),
            trusted: self.require_trusted,
            audit: self.require_audit,
            unredacted: self.deny_redacted,
            unique: self.deny_duplicates,
        }
    }

    /// Prints every outcome in order, then how many pass; returns the exit code.
    fn print(&self, results: &TargetOutcomes) -> Result<u8, CommandError> {
        let demands = self.demands();
        for (at, (target, outcome)) in results.outcomes.iter().enumerate() {
            output::print(&match self.json {
                true => outcome.to_json(target) + "\n",
                false if at == 0 => render::outcome_text(target, outcome, &demands, &output::paint),
                false => format!("\n{}", render::outcome_text(target, outcome, &demands, &output::paint)),
            })?;
            if let TargetOutcome::Report(report) = outcome {
                for unmet in demands.unmet(report) {
                    output::print_notice(&format!("{}: {unmet}", Shown::whole(target)));
                }
            }
        }
        let count = results.outcomes.len();
        if !self.json && count > 1 {
            let [good, bad, unreadable] = results.counts(&demands);
            let unreadable =
                if unreadable == 0 { String::new() } else { format!(", {unreadable} could not be read") };
            let (hold, does) =
                (if good == 1 { "holds" } else { "hold" }, if bad == 1 { "does" } else { "do" });
            output::print(&format!("\n{count} targets: {good} {hold}, {bad} {does} not{unreadable}\n"))?;
        }
        Ok(results.exit_code(&demands))
    }

    /// Loads the keys of `--key`, `--keys` and `--hmac-key-file`, the user's own and those of the trust store.
    ///
    /// Files in the folder `--keys` that are no keys are skipped, with a notice for each.
    fn load_keys(&self) -> Result<Keys, CommandError> {
        let files = KeyFileArgs { key: self.key.clone(), hmac_key_file: self.hmac_key_file.clone() };
        let mut keys = runs::load_keys(&files)?;
        if let Some(path) = &self.keys {
            let disk::KeyFolder { files, others } =
                disk::key_folder(path).map_err(|error| CommandError::impossible(error.to_string()))?;
            files.into_iter().for_each(|(path, file)| runs::add_key_file(&mut keys, file, &path));
            for other in others {
                let other = other.to_string_lossy();
                output::print_notice(&format!("{}: not a key, passed over", Shown::whole(&other)));
            }
        }
        Ok(keys)
    }
}

/// Resolves an argument to the record at that path, or else to a run that was recorded, or to a session. `last` is always
/// the run.
fn resolve_target(target: &OsStr) -> PathArgument {
    let run = match runs::find_last(target) {
        Some(run) => run,
        None => {
            let there = disk::look_up(target);
            if !matches!(&there, PathArgument::Unreadable(error) if error.code == disk::NOT_FOUND) {
                return there;
            }
            match runs::find_named(target) {
                Some(run) => run,
                None => return there,
            }
        }
    };
    match run {
        Ok(path) => disk::look_up(path.as_os_str()),
        Err(message) => PathArgument::Unreadable(UnreadableTarget { code: disk::NOT_FOUND, message }),
    }
}
