//! `reenact bundle verify`: the checks of a bundle, whichever of the two kinds it is.

use std::path::{Path, PathBuf};

use reenact_json::Shown;
use reenact_verify::disk::{self, Content};
use reenact_verify::replay_jsonl::Beside;
use reenact_verify::{FormatId, Keys, Options, Outcome, Report, Unreadable, render, safe};

use crate::output::{self, Ending};
use crate::runs;
use crate::runs::KeyFiles;

/// Verify bundles: every hash recomputed, every file looked through for secrets
///
/// A bundle is a Replay Bundle unless its content says that it is an RER bundle; that one is judged by its own checks. The exit code is
/// 0 if everything holds, 1 if something does not, 2 if something could not be read.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact bundle verify run.tar.gz\n  reenact bundle verify --json .reenact/bundles/*.tar.gz\n  reenact bundle verify --key signer.jwk run.rer.tar.gz"
)]
pub(super) struct Verify {
    /// Archives, folders laid out like one, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    targets: Vec<PathBuf>,

    /// A public key for RER bundles, which are signed; may be given more than once
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,

    /// Add the SHA-256 of each archive to its report
    #[arg(long)]
    digest: bool,

    /// One JSON object a line, one line a target
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        if self.targets.iter().filter(|target| target.as_os_str() == "-").count() > 1 {
            return Err(Ending::impossible("standard input (-) can be read only once"));
        }
        let keys = runs::keys(&KeyFiles { key: self.key.clone(), ..KeyFiles::default() })?;
        let mut code = 0;
        for (at, target) in self.targets.iter().enumerate() {
            let outcome = self.judge(target, &keys).map_or_else(Outcome::Unreadable, Outcome::Judged);
            let name = target.to_string_lossy();
            output::print(&match self.json {
                true => outcome.to_json(&name) + "\n",
                false if at == 0 => render::outcome(&name, &outcome, &output::paint),
                false => format!("\n{}", render::outcome(&name, &outcome, &output::paint)),
            })?;
            code = code.max(outcome.exit_code());
        }
        Ok(code)
    }

    fn judge(&self, target: &Path, keys: &Keys) -> Result<Report, Unreadable> {
        let is_pipe = target.as_os_str() == "-";
        let mut report = if is_pipe {
            let content = disk::open_standard_input(&Options::default(), &Beside::default())?;
            read_once(&content, keys)
        } else {
            named(target, keys)?
        };
        if self.digest && is_pipe {
            output::complain(&format!("{}: a digest is given of files only", Shown::new("-")));
        } else if self.digest && target.is_file() {
            report.digests.push(("file", format!("sha256:{}", disk::file_digest(target)?)));
        }
        Ok(report)
    }
}

fn as_replay_bundle() -> Options {
    Options { format: Some(FormatId::ReplayBundle), ..Options::default() }
}

/// What the content says that it is, if that is a bundle. Whatever else it is, a Replay Bundle was meant.
fn named(path: &Path, keys: &Keys) -> Result<Report, Unreadable> {
    let (place, options) = (super::place(path), as_replay_bundle());
    if !path.is_file() && !path.is_dir() {
        return Ok(read_once(&disk::open(&place)?, keys));
    }
    if super::may_be_other(path)
        && let Some(report) = of_bundle(&disk::open(&place)?, keys)
    {
        return Ok(report);
    }
    Ok(disk::open_with(&place, &options, &Beside::default())?.judge(keys, &options))
}

/// The same for what came through a pipe.
fn read_once(content: &Content, keys: &Keys) -> Report {
    let options = as_replay_bundle();
    match content {
        // It was judged already, as what it is; as a bundle it is as good as nothing.
        Content::Replay(_) => safe(&[], keys, &options),
        _ => of_bundle(content, keys).unwrap_or_else(|| content.judge(keys, &options)),
    }
}

fn of_bundle(content: &Content, keys: &Keys) -> Option<Report> {
    if matches!(content, Content::Bytes(_) | Content::Replay(_)) {
        return None;
    }
    let report = content.judge(keys, &Options::default());
    matches!(report.id(), Some(FormatId::RerBundle | FormatId::ReplayBundle)).then_some(report)
}
