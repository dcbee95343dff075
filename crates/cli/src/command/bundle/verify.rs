//! `reenact bundle verify`: the seven checks of a Replay Bundle.

use std::path::PathBuf;

use reenact_json::Shown;
use reenact_verify::{Outcome, disk, render, replay_bundle};

use crate::output::{self, Ending};

/// Verify Replay Bundles: every hash recomputed, every file looked through for secrets
///
/// The same as `reenact verify --format replay-bundle`. The exit code is 0 if everything holds, 1 if something does not, 2 if
/// something could not be read.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  reenact bundle verify .reenact/bundles/run.tar.gz")]
pub(super) struct Verify {
    /// Archives, folders laid out like one, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    targets: Vec<PathBuf>,

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
        let mut code = 0;
        for (at, target) in self.targets.iter().enumerate() {
            let outcome = self.judge(target);
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

    fn judge(&self, target: &PathBuf) -> Outcome {
        let snapshot = match super::snapshot(target, &mut |_| Ok(None)) {
            Ok(snapshot) => snapshot,
            Err(error) => return Outcome::Unreadable(error),
        };
        let mut report = replay_bundle::verify(&snapshot);
        if self.digest && target.as_os_str() == "-" {
            output::complain(&format!("{}: a digest is given of files only", Shown::new("-")));
        } else if self.digest && target.is_file() {
            match disk::file_digest(target) {
                Ok(digest) => report.digests.push(("file", format!("sha256:{digest}"))),
                Err(error) => return Outcome::Unreadable(error),
            }
        }
        Outcome::Judged(report)
    }
}
