//! Which run a person means, and its opening.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use reenact_formats::key::KeyFile;
use reenact_json::Shown;
use reenact_record::{Folder, FolderError};
use reenact_run::{Files, Opened, Run};
use reenact_verify::disk::{self, FolderScope, record};
use reenact_verify::{Keys, Options, Report};

use crate::config::Config;
use crate::output::{self, Ending};

/// The runs of the project that we stand in.
pub(crate) fn folder() -> Folder {
    Folder::new(Folder::NAME)
}

/// The file or the folder of a run that is given as a path, a run id, the beginning of one, or `last`.
pub(crate) fn locate(given: &OsStr) -> Result<PathBuf, Ending> {
    let path = Path::new(given);
    if path.is_dir() {
        if holds(path, "artifact.rer.json")? {
            return Ok(path.join("artifact.rer.json"));
        }
        let format = record::format_of(path).map_err(|fault| Ending::impossible(fault.to_string()))?;
        return format.is_some().then(|| path.to_owned()).ok_or_else(|| {
            let name = given.to_string_lossy();
            Ending::impossible(format!("{}: this folder holds no record of a run", Shown::whole(&name)))
        });
    }
    if path.exists() {
        return Ok(path.to_owned());
    }
    recorded(given).unwrap_or_else(|| Ok(path.to_owned())).map_err(Ending::impossible)
}

/// Returns true if a folder holds a file of that name. A link of that name could lead anywhere, and is refused.
pub(crate) fn holds(folder: &Path, name: &str) -> Result<bool, Ending> {
    record::holds(folder, name).map_err(|fault| Ending::impossible(fault.to_string()))
}

/// The files of a folder that is one record.
fn files(folder: &Path) -> Result<Files, Ending> {
    disk::record_files(folder, FolderScope::Events).map_err(|fault| Ending::impossible(fault.to_string()))
}

fn read(path: &Path) -> Result<Vec<u8>, Ending> {
    disk::read(path).map_err(|error| Ending::impossible(format!("{error} ({})", error.code)))
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
pub(crate) fn open(given: &OsStr, files: &KeyFiles) -> Result<Found, Ending> {
    let (path, Opened { run, report }) = examine(given, files)?;
    match run {
        Ok(run) => Ok(Found { path, run, report }),
        Err(why) => {
            let name = path.to_string_lossy();
            Err(Ending::impossible(format!("{}: {why}", Shown::whole(&name))))
        }
    }
}

/// As [`open`], and gives the verdict even on what is no run.
pub(crate) fn examine(given: &OsStr, files: &KeyFiles) -> Result<(PathBuf, Opened), Ending> {
    let path = locate(given)?;
    let options = Options::default();
    let opened = match path.is_dir() {
        true => reenact_run::open_files(self::files(&path)?, &keys(files)?, &options),
        false => {
            let bytes = read(&path)?;
            reenact_run::open(bytes, &keys(files)?, &options)
        }
    };
    Ok((path, opened))
}

/// Files with keys, as commands are given them.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct KeyFiles {
    /// A public key for the record: 32 raw bytes, JWK, JWKS, or SPKI in DER or PEM; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Vec<PathBuf>,

    /// The shared key of a signed .rpk
    #[arg(long, value_name = "FILE")]
    pub(crate) hmac_key_file: Option<PathBuf>,
}

/// The keys in files, and those that the user has or trusts.
pub(crate) fn keys(files: &KeyFiles) -> Result<Keys, Ending> {
    let mut keys = Keys::default();
    for path in &files.key {
        let file = disk::key_file(path).map_err(|error| Ending::impossible(error.to_string()))?;
        add(&mut keys, file, path);
    }
    if let Some(path) = &files.hmac_key_file {
        keys.share(disk::hmac_key_file(path).map_err(|error| Ending::impossible(error.to_string()))?);
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
