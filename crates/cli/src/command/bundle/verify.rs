//! `reenact bundle verify`: the checks of a bundle, whichever of the two kinds it is.
//!
//! An RER bundle is recognised by its content; anything else is verified as a Replay Bundle, so that a broken
//! one gets the right report. Start reading at [`verify_path`].

use std::path::{Path, PathBuf};

use reenact_json::Shown;
use reenact_verify::disk::{self, RecordContent};
use reenact_verify::replay_jsonl::ReplayJsonlOptions;
use reenact_verify::{
    Demands, FormatId, Keys, Options, Report, TargetOutcome, UnreadableTarget, render, verify,
};

use crate::output::{self, CommandError};
use crate::runs;
use crate::runs::KeyFileArgs;

/// Verify bundles: every hash recomputed, every file looked through for secrets
///
/// A bundle is a Replay Bundle unless its content says that it is an RER bundle; that one is judged by its own checks. The exit code is
/// 0 if everything holds, 1 if something does not, 2 if something could not be read.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact bundle verify run.tar.gz\n  reenact bundle verify --json bundles/*.tar.gz\n  reenact bundle verify --key signer.jwk run.rer.tar.gz"
)]
pub(super) struct BundleVerifyArgs {
    /// Archives, folders laid out like one, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    targets: Vec<PathBuf>,

    /// A public key for RER bundles, which are signed; may be given more than once
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,

    /// Answer yes whoever signed: without it, --key answers no unless one of its keys did
    #[arg(long)]
    any_signer: bool,

    /// Add the SHA-256 of each archive to its report
    #[arg(long)]
    digest: bool,

    /// One JSON object a line, one line a target
    #[arg(long)]
    json: bool,
}

impl BundleVerifyArgs {
    /// Verifies each target, and prints the reports in order. The exit code is the largest one.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        if self.targets.iter().filter(|target| target.as_os_str() == "-").count() > 1 {
            return Err(CommandError::impossible("standard input (-) can be read only once"));
        }
        let keys = runs::load_keys(&KeyFileArgs { key: self.key.clone(), ..KeyFileArgs::default() })?;
        let demands = Demands { supplied: !self.any_signer && !self.key.is_empty(), ..Demands::default() };
        let mut code = 0;
        for (at, target) in self.targets.iter().enumerate() {
            let outcome = self
                .verify_target(target, &keys)
                .map_or_else(TargetOutcome::Unreadable, TargetOutcome::Report);
            let name = target.to_string_lossy();
            output::print(&match self.json {
                true => outcome.to_json(&name) + "\n",
                false if at == 0 => render::outcome_text(&name, &outcome, &demands, &output::paint),
                false => format!("\n{}", render::outcome_text(&name, &outcome, &demands, &output::paint)),
            })?;
            if let TargetOutcome::Report(report) = &outcome {
                for unmet in demands.unmet(report) {
                    output::print_notice(&format!("{}: {unmet}", Shown::whole(&name)));
                }
            }
            code = code.max(demands.exit_code(&outcome));
        }
        Ok(code)
    }

    /// Verifies one target, and adds the digest of the file if that was asked for.
    fn verify_target(&self, target: &Path, keys: &Keys) -> Result<Report, UnreadableTarget> {
        let is_pipe = target.as_os_str() == "-";
        let mut report = if is_pipe {
            let content = disk::open_standard_input(&Options::default(), &ReplayJsonlOptions::default())?;
            verify_content(&content, keys)
        } else {
            verify_path(target, keys)?
        };
        if self.digest && is_pipe {
            output::print_notice(&format!("{}: a digest is given of files only", Shown::new("-")));
        } else if self.digest && target.is_file() {
            report.digests.push(("file", format!("sha256:{}", disk::file_digest(target)?)));
        }
        Ok(report)
    }
}

/// Returns options that verify anything as a Replay Bundle.
fn replay_bundle_options() -> Options {
    Options { format: Some(FormatId::ReplayBundle), ..Options::default() }
}

/// Verifies a file or a folder: as the kind of bundle that its content says, otherwise as a Replay Bundle.
fn verify_path(path: &Path, keys: &Keys) -> Result<Report, UnreadableTarget> {
    let (record, options) = (super::record_location(path), replay_bundle_options());
    if !path.is_file() && !path.is_dir() {
        return Ok(verify_content(&disk::open(&record)?, keys));
    }
    if super::may_be_other_format(path)
        && let Some(report) = verify_if_bundle(&disk::open(&record)?, keys)
    {
        return Ok(report);
    }
    Ok(disk::open_with(&record, &options, &ReplayJsonlOptions::default())?.verify(keys, &options))
}

/// Verifies content that came through a pipe and cannot be read twice, by the rules of [`verify_path`].
fn verify_content(content: &RecordContent, keys: &Keys) -> Report {
    let options = replay_bundle_options();
    match content {
        // A REPLAY.jsonl is verified while it is read, and its bytes are gone. As a bundle it would fail like
        // an empty file.
        RecordContent::Replay(_) => verify(&[], keys, &options),
        _ => verify_if_bundle(content, keys).unwrap_or_else(|| content.verify(keys, &options)),
    }
}

/// Verifies content as what it is; `None` if that is no bundle.
fn verify_if_bundle(content: &RecordContent, keys: &Keys) -> Option<Report> {
    use RecordContent::{Beginning, Bytes, Replay};
    if matches!(content, Bytes(_) | Beginning(_) | Replay(_)) {
        return None;
    }
    let report = content.verify(keys, &Options::default());
    matches!(report.format_id(), Some(FormatId::RerBundle | FormatId::ReplayBundle)).then_some(report)
}
