//! `reenact bundle create`: packs a run into one file, which is verified before it gets its name.
//!
//! `replay` makes Replay Bundles, `rer` makes RER bundles; writing the file is shared here.

mod replay;
mod rer;

use std::ffi::OsString;
use std::path::PathBuf;

use reenact_json::{Digest, Shown};
use reenact_keys::durable::{self, Readers};
use reenact_record::RunId;
use reenact_run::Run;
use reenact_verify::{Options, verify};

use crate::output::CommandError;
use crate::runs;
use crate::runs::KeyFileArgs;

/// Pack a run into one file for others
///
/// A Replay Bundle holds what a replay needs: the trace of prompts and responses, a cassette for each exchange, the config that
/// is named, and what came out. Any record that holds answers can be made one. The same run gives the same bytes: no clock, no
/// path of this machine.
///
/// An RER bundle (`--as rer`) holds the proof: the artifact, its manifest, the public key, and the files that its events speak
/// of. The artifact is bound to the manifest and signed again, which takes the key that signed it.
///
/// Either is verified before it gets its name; what does not verify is not written.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact bundle create last --config eval.yaml\n  reenact bundle create last --as rer --output run.rer.tar.gz"
)]
pub(super) struct BundleCreateArgs {
    /// A file, a run id, the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    run: OsString,

    /// What to make
    #[arg(long = "as", value_name = "FORMAT", value_enum, default_value = "replay")]
    form: BundleFormatArg,

    /// Where to write it; a file that is there already is left alone (default: `bundles/<run id>.tar.gz` in the state folder, or `.rer.tar.gz`)
    // `--out` is the name of this option in the other commands.
    #[arg(long, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,

    /// The config of the run, for a Replay Bundle
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// A report of the run in JUnit's format, for a Replay Bundle
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// A report of the run in SARIF, for a Replay Bundle
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,

    /// A file that an event of the run says was written, for an RER bundle; may be given more than once
    #[arg(long, value_name = "FILE")]
    blob: Vec<PathBuf>,

    #[command(flatten)]
    keys: KeyFileArgs,

    /// The result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Kind of bundle to make, the values of `--as`.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum BundleFormatArg {
    /// A Replay Bundle: what a replay needs
    Replay,
    /// An RER bundle: the proof
    Rer,
}

impl BundleCreateArgs {
    /// Makes the bundle. Options of the other kind are refused.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let for_replay = [("config", &self.config), ("junit", &self.junit), ("sarif", &self.sarif)];
        match self.form {
            BundleFormatArg::Replay if !self.blob.is_empty() => {
                Err(CommandError::impossible("--blob is for RER bundles (--as rer)"))
            }
            BundleFormatArg::Replay => self.create_replay_bundle(),
            BundleFormatArg::Rer => match for_replay.iter().find(|(_, given)| given.is_some()) {
                Some((name, _)) => Err(CommandError::impossible(format!("--{name} is for Replay Bundles"))),
                None => self.create_rer_bundle(),
            },
        }
    }

    /// Verifies the bytes of a bundle, and writes them to their file. `extension` is the suffix of the default name.
    ///
    /// # Errors
    ///
    /// If the bundle does not verify, or the file exists.
    fn write(&self, run: &Run, extension: &str, bytes: &[u8]) -> Result<WrittenBundle, CommandError> {
        let report = verify(bytes, &runs::load_keys(&self.keys)?, &Options::default());
        if !report.pass() {
            let why = report.reasons.first().map_or("", String::as_str);
            let message =
                format!("what was made does not verify, and was not written: {}", Shown::whole(why));
            return Err(CommandError::refused(message));
        }
        let path = self.destination(run, extension)?;
        durable::create(&path, bytes, Readers::Owner)
            .map_err(|error| CommandError::unwritable(&path, &error))?;
        Ok(WrittenBundle { path, digest: Digest::of(bytes), size: bytes.len() as u64 })
    }

    /// Returns the path of the bundle: `--output`, or `bundles/<run id>.<ending>` in the state folder.
    ///
    /// A run id that is no [`RunId`] is refused, because it must never become a path.
    fn destination(&self, run: &Run, extension: &str) -> Result<PathBuf, CommandError> {
        if let Some(output) = &self.output {
            return Ok(output.clone());
        }
        let id: RunId = run.id().parse().map_err(|_| {
            let id = Shown::new(run.id());
            CommandError::impossible(format!(
                "the run's id is not one that reenact gives ({id}): name a file with --output"
            ))
        })?;
        runs::writable_run_store()?
            .create_bundle_path(id, extension)
            .map_err(|error| CommandError::impossible(error.to_string()))
    }
}

/// A bundle that was written.
struct WrittenBundle {
    /// Path of the file, as it was given or made up.
    path: PathBuf,
    /// SHA-256 of the file.
    digest: Digest,
    /// Size of the file in bytes.
    size: u64,
}
