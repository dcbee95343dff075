//! `run.json`, `summary.json`, `junit.xml` and `sarif.json` of a replay: the files by which other tools of the format see its result.
//!
//! They are common names. A file of another origin is never replaced: neither one that was there before nor one that the replayed
//! command wrote. Start reading at [`ReportFolder::prepare`].

use std::fs;
use std::path::{Path, PathBuf};

use reenact_json::{Limits, Shown, Value};
use reenact_keys::durable::{self, Readers};
use reenact_run::assay_report::{AssayReport, is_junit_of_replay, is_sarif_of_replay};
use reenact_verify::disk;

use super::command_outputs::{FileStamp, REPORT_NAMES};
use crate::output::{self, CommandError};

/// Folder for the results of a replay.
pub(super) struct ReportFolder {
    folder: PathBuf,
    /// Stamps of the files that had the names before.
    stamps: [FileStamp; 4],
}

impl ReportFolder {
    /// Makes sure that results can be written: into `folder`, which is created, or else into the current one.
    ///
    /// # Errors
    ///
    /// If the folder cannot be created, is that of `outputs`, or holds a file of one of the names that was not written by a replay.
    pub(super) fn prepare(folder: Option<&Path>, outputs: Option<&Path>) -> Result<Self, CommandError> {
        let shown = |path: &Path| Shown::whole(&path.to_string_lossy()).to_string();
        if let Some(folder) = folder {
            fs::create_dir_all(folder)
                .map_err(|error| CommandError::impossible(format!("{}: {error}", shown(folder))))?;
        }
        let folder = folder.unwrap_or(Path::new("."));
        let place = |path: &Path| path.canonicalize().ok();
        if let Some(outputs) = outputs
            && place(outputs).is_some_and(|outputs| place(folder) == Some(outputs))
        {
            return Err(CommandError::impossible(format!(
                "--outputs {}: the results of the replay go to the same folder: name another one with --reports DIR",
                shown(outputs)
            )));
        }
        for name in REPORT_NAMES {
            let path = folder.join(name);
            let is_there = path.symlink_metadata().is_ok();
            if is_there && !is_of_replay(name, &path) {
                let path = if folder == Path::new(".") { name.to_owned() } else { shown(&path) };
                return Err(CommandError::impossible(format!(
                    "{path}: what is here under this name was not written by a replay, and is not replaced: move it, or name a folder for the results with --reports DIR"
                )));
            }
        }
        let stamps = REPORT_NAMES.map(|name| FileStamp::of(&folder.join(name)));
        Ok(Self { folder: folder.to_owned(), stamps })
    }

    /// Writes the four files. If the command has written one of the names, nothing is written, and a notice says so.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub(super) fn write(&self, report: &AssayReport) -> Result<(), CommandError> {
        let changed = REPORT_NAMES
            .iter()
            .zip(&self.stamps)
            .find(|(name, before)| FileStamp::of(&self.folder.join(name)) != **before);
        if let Some((name, _)) = changed {
            output::print_notice(&format!(
                "{name}: the command wrote a file of this name, which stays: the results of the replay are not written here (--reports DIR names a folder for them)"
            ));
            return Ok(());
        }
        let texts = [report.run_json(), report.summary_json(), report.junit_xml(), report.sarif_json()];
        for (name, text) in REPORT_NAMES.into_iter().zip(texts) {
            let path = self.folder.join(name);
            durable::replace(&path, text.as_bytes(), Readers::Everyone)
                .map_err(|error| CommandError::impossible(format!("{name}: {error}")))?;
        }
        Ok(())
    }
}

/// Returns true if a file is a report that a replay wrote, by this program or by the format's own tool.
fn is_of_replay(name: &str, path: &Path) -> bool {
    // Neither a link nor a folder is one.
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let Some(bytes) = is_file.then(|| disk::read(path).ok()).flatten() else { return false };
    match name {
        "junit.xml" => is_junit_of_replay(&bytes),
        "sarif.json" => is_sarif_of_replay(&bytes),
        _ => {
            let Ok(document) = Value::parse(&bytes, &Limits::default()) else { return false };
            let replay = document.member("provenance").and_then(|provenance| provenance.member("replay"));
            replay.and_then(|replay| replay.boolean()) == Some(true)
        }
    }
}
