//! Which run a person means, and its opening.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use reenact_formats::key::KeyFile;
use reenact_json::Shown;
use reenact_record::{Folder, FolderError};
use reenact_run::{Opened, Run};
use reenact_verify::{Keys, Options, Report, disk};

use crate::config::Config;
use crate::output::{self, Ending};

/// The runs of the project that we stand in.
pub(crate) fn folder() -> Folder {
    Folder::new(Folder::NAME)
}

/// The file of a run that is given as a path, a run id, the beginning of one, or `last`.
pub(crate) fn locate(given: &OsStr) -> Result<PathBuf, Ending> {
    let path = Path::new(given);
    if path.is_dir() {
        let inside = ["artifact.rer.json", "artifact.json"].map(|name| path.join(name));
        return inside.into_iter().find(|file| file.is_file()).ok_or_else(|| {
            let name = given.to_string_lossy();
            Ending::impossible(format!("{}: this folder holds no artifact.rer.json", Shown::whole(&name)))
        });
    }
    if path.exists() {
        return Ok(path.to_owned());
    }
    recorded(given).unwrap_or_else(|| Ok(path.to_owned())).map_err(Ending::impossible)
}

/// The file of a run that was recorded here, if that is what is meant: `None` for what reads like a path.
pub(crate) fn recorded(given: &OsStr) -> Option<Result<PathBuf, String>> {
    let folder = folder();
    let found = folder.resolve(given.to_str()?).and_then(|id| folder.sealed(id));
    match found {
        Err(FolderError::NotAnId { .. }) => None,
        found => Some(found.map_err(|error| error.to_string())),
    }
}

/// A run that was opened, and the verdict on it.
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) run: Run,
    pub(crate) report: Report,
}

/// Opens the run that is meant. Keys are looked up among those in `files`, our own and those that are trusted.
pub(crate) fn open(given: &OsStr, files: &[PathBuf]) -> Result<Found, Ending> {
    let path = locate(given)?;
    let bytes = disk::read(&path).map_err(|error| Ending::impossible(format!("{error} ({})", error.code)))?;
    let keys = keys(files)?;
    let Opened { run, report } = reenact_run::open(bytes, &keys, &Options::default());
    match run {
        Ok(run) => Ok(Found { path, run, report }),
        Err(why) => {
            let name = path.to_string_lossy();
            Err(Ending::impossible(format!("{}: {why}", Shown::whole(&name))))
        }
    }
}

/// The keys in files, and those that the user has or trusts.
pub(crate) fn keys(files: &[PathBuf]) -> Result<Keys, Ending> {
    let mut keys = Keys::default();
    for path in files {
        let file = disk::key_file(path).map_err(|error| Ending::impossible(error.to_string()))?;
        add(&mut keys, file, path);
    }
    if let Some(config) = Config::find() {
        config.add_to(&mut keys)?;
    }
    Ok(keys)
}

/// Adds the keys of a file, with a word to whoever hands out a private one.
pub(crate) fn add(keys: &mut Keys, file: KeyFile, path: &Path) {
    if file.holds_private {
        output::complain(&disk::private_key_warning(path));
    }
    keys.extend(file.keys);
}
