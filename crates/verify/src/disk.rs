//! Paths to bytes, for commands. The only module here that touches a file system; libraries leave it out.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use reenact_formats::key::{self, KeyError, KeyFile};
use reenact_json::{Limits, Shown};

use crate::report::{Report, Unreadable};

/// What one argument of a command stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// `-`
    StandardInput,
    /// A file, or something else that can be read like one.
    File(PathBuf),
    /// A folder: its files in the order of their names, and how many links in it were not followed.
    Folder {
        /// The folder.
        path: PathBuf,
        /// Every file below it.
        files: Vec<PathBuf>,
        /// Links, which could lead anywhere.
        links: usize,
    },
    /// Nothing that can be read.
    Unreadable(Unreadable),
}

/// Looks at an argument. Folders are walked; what cannot be entered makes the whole folder unreadable, since a verdict
/// on a part of it would look like one on all of it.
pub fn look_up(argument: &OsStr) -> Argument {
    if argument == "-" {
        return Argument::StandardInput;
    }
    let path = PathBuf::from(argument);
    match fs::metadata(&path) {
        Ok(found) if found.is_dir() => {
            let (mut files, mut links) = (Vec::new(), 0);
            match walk(&path, 0, &mut files, &mut links) {
                Ok(()) => Argument::Folder { path, files, links },
                Err((below, error)) => Argument::Unreadable(unreadable(&below, &error)),
            }
        }
        Ok(_) => Argument::File(path),
        Err(error) => Argument::Unreadable(unreadable(&path, &error)),
    }
}

/// A folder inside itself cannot be, since links are not followed; a mount might be.
const DEEPEST_FOLDER: usize = 64;

fn walk(
    folder: &Path,
    depth: usize,
    files: &mut Vec<PathBuf>,
    links: &mut usize,
) -> Result<(), (PathBuf, io::Error)> {
    let failed = |error| (folder.to_owned(), error);
    if depth > DEEPEST_FOLDER {
        return Err(failed(io::Error::other("folders are nested too deep")));
    }
    let mut entries: Vec<(OsString, fs::FileType)> = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        entries.push((entry.file_name(), entry.file_type().map_err(failed)?));
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (name, kind) in entries {
        let path = folder.join(name);
        if kind.is_dir() {
            walk(&path, depth + 1, files, links)?;
        } else if kind.is_file() {
            files.push(path);
        } else if kind.is_symlink() {
            *links += 1;
        }
    }
    Ok(())
}

/// Whether a file met in a folder is none of our business: its content is of no known format, and its name does not
/// claim that it is. A file that was asked for by name is never passed over.
pub fn is_passed_over(path: &Path, report: &Report) -> bool {
    let claims = path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".rer.json"));
    report.format == "unknown" && !claims
}

/// Reads a file whole, as long as it is not larger than any document may be.
pub fn read(path: &Path) -> Result<Vec<u8>, Unreadable> {
    let failed = |error| unreadable(path, &error);
    let file = File::open(path).map_err(failed)?;
    let expected = file.metadata().map_or(0, |found| found.len());
    read_bounded(file, expected).map_err(failed)
}

/// Reads standard input to its end.
pub fn read_standard_input() -> Result<Vec<u8>, Unreadable> {
    read_bounded(io::stdin().lock(), 0).map_err(|error| unreadable(Path::new("-"), &error))
}

fn read_bounded(reader: impl Read, expected: u64) -> io::Result<Vec<u8>> {
    let limit = Limits::LARGEST as u64;
    let too_large =
        || io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes"));
    if expected > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    reader.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() > Limits::LARGEST { Err(too_large()) } else { Ok(bytes) }
}

/// What an operating system's refusal means, with a code that programs may branch on.
fn unreadable(path: &Path, error: &io::Error) -> Unreadable {
    let name = path.to_string_lossy();
    let name = Shown::whole(&name);
    let (code, message) = match error.kind() {
        io::ErrorKind::NotFound => ("E_NOT_FOUND", format!("{name}: there is no such file or folder")),
        io::ErrorKind::PermissionDenied => ("E_NOT_READABLE", format!("{name}: you may not read this")),
        io::ErrorKind::FileTooLarge => ("E_TOO_LARGE", format!("{name}: {error}")),
        _ => ("E_NOT_READABLE", format!("{name}: {error}")),
    };
    Unreadable { code, message }
}

/// Why a key file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyFileError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// It holds no key.
    #[error("{}: {error}", Shown::whole(.path))]
    NoKey {
        /// The file.
        path: String,
        /// What is wrong with it.
        error: KeyError,
    },
    /// A folder without any key.
    #[error("{}: there is no key in this folder", Shown::whole(.path))]
    EmptyFolder {
        /// The folder.
        path: String,
    },
}

/// Reads one key file, of any form.
pub fn key_file(path: &Path) -> Result<KeyFile, KeyFileError> {
    let no_key = |error| KeyFileError::NoKey { path: path.to_string_lossy().into_owned(), error };
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let mut bytes = Vec::new();
    let limit = key::LARGEST_FILE as u64;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() > key::LARGEST_FILE {
        return Err(no_key(KeyError::Unrecognised));
    }
    key::read(&bytes).map_err(no_key)
}

/// Reads every key of a folder, or of a JWKS file. Files of a folder that hold no key are passed over; their names are
/// returned.
pub fn key_folder(path: &Path) -> Result<(Vec<KeyFile>, Vec<PathBuf>), KeyFileError> {
    let Argument::Folder { files, .. } = look_up(path.as_os_str()) else {
        return key_file(path).map(|file| (vec![file], Vec::new()));
    };
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for file in files {
        match key_file(&file) {
            Ok(keys) => found.push(keys),
            Err(KeyFileError::NoKey { .. }) => others.push(file),
            Err(error) => return Err(error),
        }
    }
    if found.is_empty() {
        return Err(KeyFileError::EmptyFolder { path: path.to_string_lossy().into_owned() });
    }
    Ok((found, others))
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
