//! Arguments of commands: a file, a folder that is one record, or a folder of records.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::{RECEIPT, REPLAY};

use super::folder::entries;
use super::unreadable;
use crate::report::{Report, Unreadable};

/// What one argument of a command stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// `-`
    StandardInput,
    /// A file, something else that can be read like one, or a folder that is one bundle.
    Place(Place),
    /// Any other folder: what is in it in the order of names, and how many links were not followed.
    Folder {
        /// The files and bundles below it.
        places: Vec<Place>,
        /// Links, which could lead anywhere.
        links: usize,
    },
    /// Nothing that can be read.
    Unreadable(Unreadable),
}

/// Something to judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file.
    File(PathBuf),
    /// A folder that is a bundle.
    Bundle(PathBuf),
    /// A REPLAY.jsonl in a folder, and the RECEIPT.json beside it.
    Replay(PathBuf, PathBuf),
}

impl Place {
    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Bundle(path) | Self::Replay(path, _) => path,
        }
    }

    /// Its size, if it is a file.
    pub fn size(&self) -> u64 {
        match self {
            Self::File(path) | Self::Replay(path, _) => path.metadata().map_or(0, |found| found.len()),
            Self::Bundle(_) => 0,
        }
    }
}

/// Looks at an argument. Folders are walked; what cannot be entered makes the whole folder unreadable, since a verdict
/// on a part of it would look like one on all of it.
pub fn look_up(argument: &OsStr) -> Argument {
    if argument == "-" {
        return Argument::StandardInput;
    }
    let path = PathBuf::from(argument);
    match fs::metadata(&path) {
        Ok(found) if found.is_dir() && folder_format(&path).is_some() => Argument::Place(Place::Bundle(path)),
        Ok(found) if found.is_dir() => {
            let (mut places, mut links) = (Vec::new(), 0);
            match walk(&path, 0, &mut places, &mut links) {
                Ok(()) => Argument::Folder { places, links },
                Err(error) => Argument::Unreadable(error),
            }
        }
        Ok(_) => Argument::Place(Place::File(path)),
        Err(error) => Argument::Unreadable(unreadable(&path, &error)),
    }
}

/// The format of a folder that as a whole is one record.
pub(super) fn folder_format(folder: &Path) -> Option<FormatId> {
    FormatId::of_files(|name| folder.join(name).is_file())
}

fn walk(folder: &Path, depth: usize, places: &mut Vec<Place>, links: &mut usize) -> Result<(), Unreadable> {
    let entries = entries(folder, depth).map_err(|error| unreadable(folder, &error))?;
    let file = |name: &str| {
        let path = folder.join(name);
        entries.iter().any(|(found, kind)| kind.is_file() && *found == path).then_some(path)
    };
    let pair = file(REPLAY).zip(file(RECEIPT));
    for (path, kind) in entries {
        if let Some((replay, receipt)) = &pair
            && (path == *replay || path == *receipt)
        {
            // The receipt is judged with its replay, not by itself.
            if path == *replay {
                places.push(Place::Replay(path, receipt.clone()));
            }
        } else if kind.is_dir() && folder_format(&path).is_some() {
            places.push(Place::Bundle(path));
        } else if kind.is_dir() {
            walk(&path, depth + 1, places, links)?;
        } else if kind.is_file() {
            places.push(Place::File(path));
        } else if kind.is_symlink() {
            *links += 1;
        }
    }
    Ok(())
}

/// Whether a file met in a folder is none of our business: its content is of no known format, and its name does not
/// claim that it is. A file that was asked for by name is never passed over.
pub fn is_passed_over(path: &Path, report: &Report) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    report.id().is_none() && FormatId::of_file_name(&name).is_none()
}

/// What was in a folder beside the records that were judged; `None` if there was nothing else.
pub fn passed_over(others: usize, links: usize) -> Option<String> {
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

/// The report on a folder in which nothing was found to judge.
pub fn empty_folder(files: usize, links: usize) -> Report {
    let looked = match files {
        0 => "it holds no file".to_owned(),
        1 => "the one file in it is not a record of a run".to_owned(),
        count => format!("none of the {count} files in it is a record of a run"),
    };
    let links = passed_over(0, links).map_or(String::new(), |links| format!(" ({links})"));
    let mut report = Report::new("unknown".into(), &[("recognised", "the folder holds a record of a run")]);
    report.fail("recognised", format!("{looked}{links}"));
    report.verdict = "there is nothing here to verify".into();
    report
}
