//! [`LoggedRun`]: the run that a log belongs to, in a file beside its segments.
//!
//! Logs of all projects lie in one folder of the user. By this file any recorder can tell whether the run of a log is
//! over, and a recovery whether the first line of the journal is the one that was written. The recorder holds a lock on
//! it for as long as it lives.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use reenact_json::{Digest, Limits, Value};

use crate::payload::quote;
use crate::run_id::RunId;

/// Name of the file in the folder of a log.
pub(super) const FILE_NAME: &str = "run.json";

/// Longest such file, in bytes; paths are shorter.
const MAX_BYTES: u64 = 64 << 10;

/// Version of the form.
const VERSION: &str = "reenact-log/1";

/// Run that a log belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRun {
    /// Absolute path of the run's folder.
    pub(super) folder: PathBuf,
    /// Number of the file system that the folder lies on.
    pub(super) device: Option<u64>,
    /// Hash of the first line of the journal, with its line feed; `None` in the mark of a refused run.
    pub(super) journal_head: Option<Digest>,
}

impl LoggedRun {
    /// Returns the facts about a run by the path of its journal and the hash of the journal's first line.
    pub(crate) fn of_journal(journal: &Path, head: Digest) -> Self {
        let folder = journal.parent().unwrap_or(Path::new("."));
        Self { journal_head: Some(head), ..Self::of_folder(folder) }
    }

    /// Returns the facts about a run by the path of its folder.
    pub(super) fn of_folder(folder: &Path) -> Self {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let device = device(&folder);
        Self { folder, device, journal_head: None }
    }

    /// Returns the file's text. A path that is no UTF-8 is left out: such a log is treated like one of version 0.1.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let mut text = b"{\"device\":".to_vec();
        match self.device {
            Some(device) => quote(&device.to_string(), &mut text),
            None => text.extend_from_slice(b"null"),
        }
        text.extend_from_slice(b",\"folder\":");
        match self.folder.to_str() {
            Some(folder) => quote(folder, &mut text),
            None => text.extend_from_slice(b"null"),
        }
        text.extend_from_slice(b",\"journal_head\":");
        match self.journal_head {
            Some(head) => quote(&head.to_string(), &mut text),
            None => text.extend_from_slice(b"null"),
        }
        text.extend_from_slice(b",\"log\":");
        quote(VERSION, &mut text);
        text.extend_from_slice(b"}\n");
        text
    }

    /// Parses a file's text; `None` if it is not of the form that [`LoggedRun::to_json`] writes.
    fn from_json(text: &[u8]) -> Option<Self> {
        let run = Value::parse(text.trim_ascii_end(), &Limits::default()).ok()?;
        let member = |name: &str| run.member(name)?.string();
        if member("log")? != VERSION {
            return None;
        }
        let folder = PathBuf::from(member("folder")?.as_ref());
        let device = member("device").and_then(|device| device.parse().ok());
        let journal_head = member("journal_head").and_then(|head| Digest::from_hex(&head));
        folder.is_absolute().then_some(Self { folder, device, journal_head })
    }

    /// Reads such a file, if it is a regular file; `None` if it is missing or of another form.
    pub(super) fn read(path: &Path) -> Option<Self> {
        path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
        let mut text = Vec::new();
        File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut text).ok()?;
        Self::from_json(&text)
    }

    /// Returns true if the folder of the run is gone, and not only out of sight: the file system that it lay on is still
    /// mounted there.
    pub(super) fn is_gone(&self) -> bool {
        let is_missing = |path: &Path| {
            path.symlink_metadata().is_err_and(|error| {
                matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            })
        };
        if !is_missing(&self.folder) {
            return false;
        }
        let nearest = self.folder.ancestors().find(|path| !is_missing(path));
        self.device.is_some() && nearest.and_then(device) == self.device
    }

    /// Returns the path of the store of the run, if the folder has the name of the run.
    pub(super) fn store_path(&self, run_id: RunId) -> Option<&Path> {
        let has_name = self.folder.file_name().is_some_and(|name| *name == *run_id.to_string());
        self.folder.parent()?.parent().filter(|_| has_name)
    }
}

/// Returns the number of the file system that a path lies on.
#[cfg(unix)]
fn device(path: &Path) -> Option<u64> {
    Some(std::os::unix::fs::MetadataExt::dev(&path.symlink_metadata().ok()?))
}

#[cfg(not(unix))]
fn device(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_it_was_written() {
        let run = LoggedRun {
            folder: "/home/a \"b\"/.reenact/runs/017f22e2-79b0-7cc3-98c4-dc0c0c07398f".into(),
            device: Some(u64::MAX),
            journal_head: Some(Digest::of(b"head")),
        };
        assert_eq!(LoggedRun::from_json(&run.to_json()), Some(run.clone()));
        let id: RunId = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f".parse().unwrap();
        assert_eq!(run.store_path(id), Some(Path::new("/home/a \"b\"/.reenact")));
        let other: RunId = "017f22e2-79b0-7cc3-98c4-dc0c0c073980".parse().unwrap();
        assert_eq!(run.store_path(other), None);
        let relative = LoggedRun { folder: "runs/x".into(), device: None, journal_head: None };
        assert_eq!(LoggedRun::from_json(&relative.to_json()), None, "it could mean any folder");
        assert_eq!(LoggedRun::from_json(b"{}"), None);
        assert_eq!(LoggedRun::from_json(b""), None);
    }

    #[test]
    fn a_folder_is_gone_if_its_file_system_is_there_without_it() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("no such/.reenact/runs/x");
        let here = device(Path::new(env!("CARGO_MANIFEST_DIR")));
        let run = |device| LoggedRun { folder: folder.clone(), device, journal_head: None };
        assert!(run(here).is_gone());
        assert!(!run(here.map(|device| device + 1)).is_gone(), "another file system is mounted there");
        assert!(!run(None).is_gone());
        assert!(!LoggedRun::of_folder(Path::new(env!("CARGO_MANIFEST_DIR"))).is_gone());
    }
}
