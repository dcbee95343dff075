//! `record --bundle` and `--bundle-on-failure`: a Replay Bundle of the run that was just sealed, to reproduce it elsewhere.
//!
//! The run is sealed whether or not a bundle can be made of it, and the exit code stays the command's own: a bundle that
//! cannot be made is a notice. Start reading at [`RecordedBundleArgs::make`].

use std::path::{Path, PathBuf};

use reenact_json::print::PrintObjectWriter;
use reenact_json::{Digest, Shown};
use reenact_keys::durable::{self, Readers};
use reenact_record::RunId;
use reenact_run::Run;
use reenact_verify::Keys;

use super::agent::FinishedAgent;
use super::out_path::OutPath;
use super::seal::SealedRun;
use crate::command::out_destination::OutDestination;
use crate::command::share::{BundleExtras, ReplayBundle, reproduce_command, require_intact};
use crate::output::{self, CommandError};
use crate::{quantity, runs};

/// Options for a Replay Bundle of the run.
#[derive(Debug, clap::Args)]
pub(in crate::command) struct RecordedBundleArgs {
    /// Make a Replay Bundle of the run as well (default: `bundles/` in the state folder, under the run's id)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, value_parser = bundle_path, conflicts_with = "bundle_on_failure")]
    bundle: Option<Option<PathBuf>>,

    /// The same, but only if the command fails: its exit code is not 0, or a signal ended it
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, value_parser = bundle_path)]
    bundle_on_failure: Option<Option<PathBuf>>,
}

/// Parses the name of a Replay Bundle, for clap.
fn bundle_path(name: &str) -> Result<PathBuf, String> {
    if name.ends_with(".rer.tar.gz") || !name.ends_with(".tar.gz") {
        return Err("a Replay Bundle is named *.tar.gz, but not *.rer.tar.gz, which is an RER bundle".into());
    }
    Ok(PathBuf::from(name))
}

impl RecordedBundleArgs {
    /// Returns the file that is named, if one is.
    fn file(&self) -> Option<&Path> {
        self.bundle.as_ref().or(self.bundle_on_failure.as_ref())?.as_deref()
    }

    /// Refuses a file that is there, or cannot be written, before the agent runs.
    ///
    /// # Errors
    ///
    /// If the name is taken, by `--out` too, or nothing can be written there.
    pub(super) fn require_writable(&self, out: Option<&OutPath>) -> Result<(), CommandError> {
        let Some(file) = self.file() else { return Ok(()) };
        if out.is_some_and(|out| out.path == file) {
            let name = file.to_string_lossy();
            return Err(CommandError::impossible(format!(
                "{}: --out names this file too; give the bundle another name",
                Shown::whole(&name)
            )));
        }
        durable::check_writable(file, false).map_err(|error| CommandError::unwritable(file, &error))
    }

    /// Makes the bundle if it is asked for, and the command failed where that is the condition. A bundle that cannot be made
    /// is a notice.
    pub(super) fn make(&self, finished: &FinishedAgent, sealed: &SealedRun) -> Option<MadeReplayBundle> {
        let has_failed = finished.exit.code() != Some(0);
        if self.bundle.is_none() && !(self.bundle_on_failure.is_some() && has_failed) {
            return None;
        }
        match self.write(sealed) {
            Ok(made) => Some(MadeReplayBundle { has_failed, ..made }),
            Err(error) => {
                output::print_notice(&format!(
                    "no Replay Bundle was made: {}; the run is sealed all the same",
                    error.into_message()
                ));
                None
            }
        }
    }

    /// Makes the bundle, verifies it, and writes it.
    ///
    /// # Errors
    ///
    /// If the run holds nothing to replay, or a secret, or the file cannot be written.
    fn write(&self, sealed: &SealedRun) -> Result<MadeReplayBundle, CommandError> {
        let run = sealed.opened.run.as_ref().map_err(super::impossible)?;
        let late = sealed.late_secrets.as_ref().map_err(super::impossible)?;
        if !late.events.is_empty() {
            return Err(CommandError::refused(
                "a credential that was used later stands in events written before it was known",
            ));
        }
        let bundle = ReplayBundle::of(run, &sealed.opened.report, &BundleExtras::default())?;
        bundle.require_answers()?;
        require_intact(&bundle.bytes, &Keys::default())?;
        let path = self.destination(run)?;
        durable::create(&path, &bundle.bytes, Readers::Owner)
            .map_err(|error| CommandError::unwritable(&path, &error))?;
        Ok(MadeReplayBundle {
            size: bundle.bytes.len() as u64,
            digest: Digest::of(&bundle.bytes),
            contents: bundle.contents(),
            reproduce: reproduce_command(&OutDestination::Path(path.clone()), run),
            path,
            has_failed: false,
        })
    }

    /// Returns the path to write to: the file that is named, or the run's id in the state folder.
    fn destination(&self, run: &Run) -> Result<PathBuf, CommandError> {
        if let Some(file) = self.file() {
            return Ok(file.to_owned());
        }
        let id: RunId = run.id().parse().map_err(super::impossible)?;
        runs::writable_run_store()?.create_bundle_path(id, ".tar.gz").map_err(super::impossible)
    }
}

/// Replay Bundle that was made of a run.
pub(super) struct MadeReplayBundle {
    path: PathBuf,
    digest: Digest,
    /// Size of the file, in bytes.
    size: u64,
    /// Answers that can be replayed from the bundle, in words.
    contents: String,
    /// Command that replays it.
    reproduce: String,
    /// True if the recorded command failed.
    pub(super) has_failed: bool,
}

impl MadeReplayBundle {
    /// Returns the last line of the summary: the bundle, and the command that replays it.
    pub(super) fn line(&self) -> String {
        let path = self.path.to_string_lossy();
        format!(
            "Replay Bundle {} ({}; {}); reproduce: {}",
            Shown::whole(&path),
            quantity::size(self.size),
            self.contents,
            self.reproduce
        )
    }

    /// Writes the members of the summary for programs.
    pub(super) fn write(&self, object: &mut PrintObjectWriter<'_>) {
        let mut bundle = PrintObjectWriter::open(object.name("bundle"));
        bundle.string("out", self.path.to_string_lossy().as_ref());
        bundle.string("digest", format!("sha256:{}", self.digest).as_str());
        bundle.name("bytes").push_str(&self.size.to_string());
        bundle.string("reproduce", self.reproduce.as_str());
        bundle.close();
    }
}
