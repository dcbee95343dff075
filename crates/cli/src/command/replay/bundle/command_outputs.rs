//! Reports that the replayed command writes into a folder (`--outputs`), to be compared with those of the bundle.
//!
//! A report that was there before and is not touched is none of the command's. Start reading at [`CommandOutputs::before`].

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use reenact_json::Shown;
use reenact_verify::disk;

use crate::output::CommandError;

/// Names of the reports, as the format's own tool writes them: run, summary, JUnit, SARIF.
pub(super) const REPORT_NAMES: [&str; 4] = ["run.json", "summary.json", "junit.xml", "sarif.json"];

/// Facts of a file system about a file, by which a new content is told from an old one; `None` if nothing is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp(Option<(u64, Option<SystemTime>, [i64; 4])>);

impl FileStamp {
    /// Reads the stamp of a path, without following a link.
    pub(super) fn of(path: &Path) -> Self {
        Self(path.symlink_metadata().ok().map(|facts| (facts.len(), facts.modified().ok(), identity(&facts))))
    }
}

/// Returns what changes when a file is replaced or written: device, number, and the time of its last change.
#[cfg(unix)]
fn identity(facts: &fs::Metadata) -> [i64; 4] {
    use std::os::unix::fs::MetadataExt as _;
    [facts.dev().cast_signed(), facts.ino().cast_signed(), facts.ctime(), facts.ctime_nsec()]
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> [i64; 4] {
    [0; 4]
}

/// The folder of `--outputs`, as it was before the command ran.
pub(super) struct CommandOutputs {
    folder: PathBuf,
    stamps: [FileStamp; 4],
}

/// Reports that the command wrote; `None` for one that it did not.
pub(super) struct WrittenOutputs {
    pub(super) run: Option<Vec<u8>>,
    pub(super) summary: Option<Vec<u8>>,
    pub(super) junit: Option<Vec<u8>>,
    pub(super) sarif: Option<Vec<u8>>,
}

impl CommandOutputs {
    /// Looks at the folder before the command runs.
    ///
    /// # Errors
    ///
    /// If something else than a folder is there. The command may create the folder.
    pub(super) fn before(folder: &Path) -> Result<Self, CommandError> {
        if folder.exists() && !folder.is_dir() {
            let name = folder.to_string_lossy();
            return Err(CommandError::impossible(format!(
                "--outputs {}: this is no folder",
                Shown::whole(&name)
            )));
        }
        let stamps = REPORT_NAMES.map(|name| FileStamp::of(&folder.join(name)));
        Ok(Self { folder: folder.to_owned(), stamps })
    }

    /// Reads the reports that were written since. One that cannot be read counts as empty, which is no report.
    pub(super) fn after(&self) -> WrittenOutputs {
        let mut at = REPORT_NAMES.iter().zip(&self.stamps).map(|(name, before)| {
            let path = self.folder.join(name);
            let now = FileStamp::of(&path);
            // A pipe would be waited for.
            let read = || path.is_file().then(|| disk::read(&path).ok()).flatten().unwrap_or_default();
            (now != *before && now.0.is_some()).then(read)
        });
        let mut next = || at.next().flatten();
        WrittenOutputs { run: next(), summary: next(), junit: next(), sarif: next() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_testkit::fixture::TestDir;

    #[test]
    fn only_what_was_written_counts() {
        let folder = TestDir::new();
        let path = |name: &str| folder.path().join(name);
        for name in ["run.json", "summary.json", "junit.xml"] {
            fs::write(path(name), "old").unwrap();
        }
        let before = CommandOutputs::before(folder.path()).unwrap();
        // Another file of the same content, moved to the place of the old one, is new.
        fs::write(path("new"), "old").unwrap();
        fs::rename(path("new"), path("summary.json")).unwrap();
        fs::remove_file(path("junit.xml")).unwrap();
        fs::write(path("sarif.json"), "{}").unwrap();
        let WrittenOutputs { run, summary, junit, sarif } = before.after();
        assert_eq!([run, summary, junit, sarif], [None, Some(b"old".to_vec()), None, Some(b"{}".to_vec())]);
        assert!(CommandOutputs::before(&path("run.json")).is_err());
        assert!(CommandOutputs::before(&path("not there")).is_ok());
    }
}
