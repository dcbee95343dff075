//! Arguments of the verify commands: a file, a folder that is one record, or a folder of records.
//!
//! Start reading at [`look_up`].

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::{RECEIPT, REPLAY};

use super::folder::sorted_entries;
use super::unreadable_target;
use crate::check::CheckId;
use crate::checker::RECOGNISED;
use crate::report::{Report, UnreadableTarget};

/// Meaning of one argument of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathArgument {
    /// The argument `-`.
    StandardInput,
    /// A file, another thing that can be read like one, or a folder that is one bundle.
    Record(RecordPath),
    /// Any other folder.
    Folder {
        /// Files and bundles below the folder, in the order of their names.
        records: Vec<RecordPath>,
        /// Number of symbolic links, which are not followed because they could lead anywhere.
        links: usize,
    },
    /// A path that does not exist or cannot be read.
    Unreadable(UnreadableTarget),
}

/// Path of one record to verify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordPath {
    /// A single file.
    File(PathBuf),
    /// A folder that as a whole is one record.
    Bundle(PathBuf),
    /// A REPLAY.jsonl with the RECEIPT.json in the same folder.
    Replay(PathBuf, PathBuf),
}

impl RecordPath {
    /// Returns the path of the file or folder; for a replay, that of REPLAY.jsonl.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Bundle(path) | Self::Replay(path, _) => path,
        }
    }

    /// Returns the size of a file in bytes. 0 for a folder, or if the size is not known.
    pub fn size(&self) -> u64 {
        match self {
            Self::File(path) | Self::Replay(path, _) => path.metadata().map_or(0, |found| found.len()),
            Self::Bundle(_) => 0,
        }
    }
}

/// Finds out what an argument stands for. Folders are walked recursively.
///
/// A subfolder that cannot be entered makes the whole argument unreadable: a verdict on a part of a
/// folder would look like one on all of it.
pub fn look_up(argument: &OsStr) -> PathArgument {
    if argument == "-" {
        return PathArgument::StandardInput;
    }
    let path = PathBuf::from(argument);
    match fs::metadata(&path) {
        Ok(found) if found.is_dir() && folder_format(&path).is_some() => {
            PathArgument::Record(RecordPath::Bundle(path))
        }
        Ok(found) if found.is_dir() => {
            let (mut records, mut links) = (Vec::new(), 0);
            match collect_records(&path, 0, &mut records, &mut links) {
                Ok(()) => PathArgument::Folder { records, links },
                Err(error) => PathArgument::Unreadable(error),
            }
        }
        Ok(_) => PathArgument::Record(RecordPath::File(path)),
        Err(error) => PathArgument::Unreadable(unreadable_target(&path, &error)),
    }
}

/// Returns the format of a folder that as a whole is one record.
pub(super) fn folder_format(folder: &Path) -> Option<FormatId> {
    FormatId::of_files(|name| folder.join(name).is_file())
}

/// Appends the records below a folder, and counts the symbolic links.
fn collect_records(
    folder: &Path,
    depth: usize,
    records: &mut Vec<RecordPath>,
    links: &mut usize,
) -> Result<(), UnreadableTarget> {
    let entries = sorted_entries(folder, depth).map_err(|error| unreadable_target(folder, &error))?;
    let file = |name: &str| {
        let path = folder.join(name);
        entries.iter().any(|(found, kind)| kind.is_file() && *found == path).then_some(path)
    };
    let pair = file(REPLAY).zip(file(RECEIPT));
    for (path, kind) in entries {
        if let Some((replay, receipt)) = &pair
            && (path == *replay || path == *receipt)
        {
            // The receipt is verified with its replay, not by itself.
            if path == *replay {
                records.push(RecordPath::Replay(path, receipt.clone()));
            }
        } else if kind.is_dir() && folder_format(&path).is_some() {
            records.push(RecordPath::Bundle(path));
        } else if kind.is_dir() {
            collect_records(&path, depth + 1, records, links)?;
        } else if kind.is_file() {
            records.push(RecordPath::File(path));
        } else if kind.is_symlink() {
            *links += 1;
        }
    }
    Ok(())
}

/// Returns true if a file found in a folder has nothing to do with this tool.
///
/// Its content is of no known format, and its name does not claim otherwise. A file that the user named
/// explicitly is never skipped.
pub fn is_unrelated_file(path: &Path, report: &Report) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    report.format_id().is_none() && FormatId::of_file_name(&name).is_none()
}

/// Returns a sentence with the number of unrelated files and links in a folder; `None` if there were
/// none.
pub fn skipped_summary(others: usize, links: usize) -> Option<String> {
    let count = |number: usize, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{number} {many}")),
    };
    let others = count(others, "other file passed over", "other files passed over");
    let links = count(links, "link not followed", "links not followed");
    let parts: Vec<String> = [others, links].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns the report on a folder that holds no record. `files` is the number of files looked at.
pub fn empty_folder_report(files: usize, links: usize) -> Report {
    let looked = match files {
        0 => "it holds no file".to_owned(),
        1 => "the one file in it is not a record of a run".to_owned(),
        count => format!("none of the {count} files in it is a record of a run"),
    };
    let links = skipped_summary(0, links).map_or(String::new(), |links| format!(" ({links})"));
    let recognised = CheckId::new(RECOGNISED.name(), "the folder holds a record of a run");
    let mut report = Report::new("unknown".into(), &[recognised]);
    report.fail(recognised, format!("{looked}{links}"));
    report.summary = "there is nothing here to verify".into();
    report
}
