//! `reenact bundle create`: one file that carries a run to others, verified before it has its name.

mod replay;
mod rer;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use reenact_json::{Digest, Shown};
use reenact_keys::durable::{self, Readers};
use reenact_record::{Folder, RunId};
use reenact_run::Run;
use reenact_verify::{Options, safe};

use crate::output::Ending;
use crate::runs;
use crate::runs::KeyFiles;

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
pub(super) struct Create {
    /// A file, a run id, the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    run: OsString,

    /// What to make
    #[arg(long = "as", value_name = "FORMAT", value_enum, default_value = "replay")]
    form: Form,

    /// Where to write it; a file that is there already is left alone (default: `.reenact/bundles/<run id>.tar.gz`, or `.rer.tar.gz`)
    // The other commands call it so.
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
    keys: KeyFiles,

    /// The result as one JSON object
    #[arg(long)]
    json: bool,
}

/// What a run is packed as.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// A Replay Bundle: what a replay needs
    Replay,
    /// An RER bundle: the proof
    Rer,
}

impl Create {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let for_replay = [("config", &self.config), ("junit", &self.junit), ("sarif", &self.sarif)];
        match self.form {
            Form::Replay if !self.blob.is_empty() => {
                Err(Ending::impossible("--blob is for RER bundles (--as rer)"))
            }
            Form::Replay => self.replay(),
            Form::Rer => match for_replay.iter().find(|(_, given)| given.is_some()) {
                Some((name, _)) => Err(Ending::impossible(format!("--{name} is for Replay Bundles"))),
                None => self.rer(),
            },
        }
    }

    /// Verifies what was made, and writes it.
    fn write(&self, run: &Run, ending: &str, bytes: &[u8]) -> Result<Written, Ending> {
        let report = safe(bytes, &runs::keys(&self.keys)?, &Options::default());
        if !report.pass() {
            let why = report.reasons.first().map_or("", String::as_str);
            let message =
                format!("what was made does not verify, and was not written: {}", Shown::whole(why));
            return Err(Ending::refused(message));
        }
        let path = self.destination(run, ending)?;
        durable::create(&path, bytes, Readers::Owner).map_err(|error| Ending::unwritable(&path, &error))?;
        Ok(Written { path, digest: Digest::of(bytes), size: bytes.len() as u64 })
    }

    /// Where the bundle goes. A run id that is not one of ours never becomes a path.
    fn destination(&self, run: &Run, ending: &str) -> Result<PathBuf, Ending> {
        if let Some(output) = &self.output {
            return Ok(output.clone());
        }
        let id: RunId = run.id().parse().map_err(|_| {
            let id = Shown::new(run.id());
            Ending::impossible(format!(
                "the run's id is not one that reenact gives ({id}): name a file with --output"
            ))
        })?;
        let folder = Path::new(Folder::NAME).join("bundles");
        durable::create_private_folder(&folder).map_err(|error| Ending::unwritable(&folder, &error))?;
        Ok(folder.join(format!("{id}.{ending}")))
    }
}

/// A bundle that was written.
struct Written {
    path: PathBuf,
    digest: Digest,
    size: u64,
}
