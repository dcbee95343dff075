//! Finding the run that an argument names, opening it, and loading the keys to verify it with.
//!
//! A run is named by a path, a run id, the beginning or the last six digits of one, `last`, or `last~1` for the one before; a session by its
//! id.
//! Paths win over ids: only a name that is no path is looked up among the recorded runs. `last` is always the run; a file
//! of that name is `./last`. Start reading at [`open`].

mod lookup;
pub(crate) mod run_name;
mod session;
mod state_folder;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use reenact_formats::key::KeyFile;
use reenact_json::Shown;
use reenact_run::{NamedFiles, OpenedRecord, Run};
use reenact_verify::disk::{self, FolderScope, record_folder};
use reenact_verify::{Keys, Options, Report};

use crate::config::UserConfig;
use crate::output::{self, CommandError};

pub(crate) use lookup::RunStores;
use run_name::RunName;
pub(crate) use state_folder::{run_store, writable_run_store};

/// Returns the file or the folder of a run that is given as a path, a run id, the beginning of one, or `last`.
///
/// An existing path is taken as such, but for `last`; a folder must hold a record. A path that does not exist is returned
/// too, so that reading it reports the usual error.
///
/// # Errors
///
/// If a folder holds no record, a link stands where a record should be, or a run id is unknown, ambiguous or not sealed.
pub(crate) fn locate(given: &OsStr) -> Result<PathBuf, CommandError> {
    if let Some(found) = find_last(given) {
        return found.map_err(CommandError::impossible);
    }
    let path = Path::new(given);
    if path.is_dir() {
        if contains_file(path, "artifact.rer.json")? {
            return Ok(path.join("artifact.rer.json"));
        }
        let format =
            record_folder::format_of(path).map_err(|fault| CommandError::impossible(fault.to_string()))?;
        return format.is_some().then(|| path.to_owned()).ok_or_else(|| {
            let name = given.to_string_lossy();
            CommandError::impossible(format!("{}: this folder holds no record of a run", Shown::whole(&name)))
        });
    }
    if path.exists() {
        return Ok(path.to_owned());
    }
    find_named(given).unwrap_or_else(|| Ok(path.to_owned())).map_err(CommandError::impossible)
}

/// Returns true if a folder holds a file of that name.
///
/// # Errors
///
/// If the name is a symbolic link, which could lead out of the folder.
pub(crate) fn contains_file(folder: &Path, name: &str) -> Result<bool, CommandError> {
    record_folder::holds_file(folder, name).map_err(|fault| CommandError::impossible(fault.to_string()))
}

/// Reads the files of a folder that is one record, as far as its events are read from them.
fn read_folder(folder: &Path) -> Result<NamedFiles, CommandError> {
    disk::record_files(folder, FolderScope::Events)
        .map_err(|fault| CommandError::impossible(fault.to_string()))
}

/// Reads a file whole. The message of an error ends with its code, such as `E_NOT_FOUND`.
fn read_file(path: &Path) -> Result<Vec<u8>, CommandError> {
    disk::read(path).map_err(|error| {
        // A name with a full stop or a slash in it was meant as a path.
        let is_id = path.to_str().is_some_and(|name| !name.contains('.') && session::is_id(name));
        let also = if error.code == disk::NOT_FOUND && is_id {
            ", and no session of that id in this folder"
        } else {
            ""
        };
        CommandError::impossible(format!("{error}{also} ({})", error.code))
    })
}

/// Returns the artifact of the last run, or a message if there is none; `None` unless `given` is `last` or `last~N`.
///
/// A file of that name does not count: whoever puts one there could pass its record off as the last run.
pub(crate) fn find_last(given: &OsStr) -> Option<Result<PathBuf, String>> {
    let name = RunName::parse(given.to_str()?).filter(|name| matches!(name, RunName::Last { .. }))?;
    Some(artifact_of(name).map_err(|error| match (error.into_message(), given.to_str()) {
        (message, Some(name)) if Path::new(name).exists() => {
            format!("{message} (the file of that name is ./{name})")
        }
        (message, _) => message,
    }))
}

/// Returns the artifact of a recorded run, by any name of a run that is no path.
///
/// `None` for text that cannot be such a name, which is a path then; `Some(Err(…))` with a message if no such run is
/// sealed.
pub(crate) fn find_recorded(given: &OsStr) -> Option<Result<PathBuf, String>> {
    let name = RunName::parse(given.to_str()?)?;
    Some(artifact_of(name).map_err(CommandError::into_message))
}

/// Returns the record that a name means which is no path: that of a recorded run, or else of a session whose REPLAY.jsonl is near.
///
/// `None` for text that can be neither, which is a path then; `Some(Err(…))` with a message if none is found, or several are.
pub(crate) fn find_named(given: &OsStr) -> Option<Result<PathBuf, String>> {
    let recorded = find_recorded(given);
    match recorded {
        Some(Ok(_)) => recorded,
        _ => given.to_str().and_then(session::find).or(recorded),
    }
}

/// Returns the artifact of the run that a name means.
///
/// # Errors
///
/// If there is no such run, or it is not sealed.
fn artifact_of(name: RunName<'_>) -> Result<PathBuf, CommandError> {
    RunStores::open()?.find_run(name)?.artifact()
}

/// A run that was opened, with the verifier's report on its record.
pub(crate) struct OpenedRun {
    /// File or folder that holds the record.
    pub(crate) path: PathBuf,
    /// The parsed events.
    pub(crate) run: Run,
    /// Verdict on the record, and the reasons if it does not verify.
    pub(crate) report: Report,
}

/// Opens the run that `given` names. Its signature is checked against the keys in `files`, the user's own and
/// those of the trust store.
///
/// The report may say that the record does not verify; whether that matters is for the caller to decide.
///
/// # Errors
///
/// If there is no such record, or it cannot be read as a run.
pub(crate) fn open(given: &OsStr, files: &KeyFileArgs) -> Result<OpenedRun, CommandError> {
    let (path, OpenedRecord { run, report }) = open_with_report(given, files)?;
    match run {
        Ok(run) => Ok(OpenedRun { path, run, report }),
        Err(why) => {
            let name = path.to_string_lossy();
            Err(CommandError::impossible(format!("{}: {why}", Shown::whole(&name))))
        }
    }
}

/// Opens the run as [`open`] does, and returns the report even if the record cannot be read as a run.
pub(crate) fn open_with_report(
    given: &OsStr,
    files: &KeyFileArgs,
) -> Result<(PathBuf, OpenedRecord), CommandError> {
    let path = locate(given)?;
    let options = Options::default();
    let opened = match path.is_dir() {
        true => reenact_run::open_files(self::read_folder(&path)?, &load_keys(files)?, &options),
        false => {
            let bytes = read_file(&path)?;
            reenact_run::open(bytes, &load_keys(files)?, &options)
        }
    };
    Ok((path, opened))
}

/// Files with keys, as commands are given them.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct KeyFileArgs {
    /// A public key for the record: 32 raw bytes, JWK, JWKS, or SPKI in DER or PEM; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Vec<PathBuf>,

    /// The shared key of a signed .rpk
    #[arg(long, value_name = "FILE")]
    pub(crate) hmac_key_file: Option<PathBuf>,
}

/// Returns the keys to verify with: those in `files`, the user's own, and those of the trust store.
///
/// # Errors
///
/// If a key file or the trust store cannot be read: a trust store that is skipped might hold a warning.
pub(crate) fn load_keys(files: &KeyFileArgs) -> Result<Keys, CommandError> {
    let mut keys = Keys::default();
    for path in &files.key {
        let file = disk::key_file(path).map_err(|error| CommandError::impossible(error.to_string()))?;
        add_key_file(&mut keys, file, path);
    }
    if let Some(path) = &files.hmac_key_file {
        keys.set_hmac_key(
            disk::hmac_key_file(path).map_err(|error| CommandError::impossible(error.to_string()))?,
        );
    }
    if let Some(config) = UserConfig::find() {
        config.add_keys_to(&mut keys)?;
    }
    Ok(keys)
}

/// Adds the keys of a file, and prints a notice if the file holds a private key, which verifying does not need.
pub(crate) fn add_key_file(keys: &mut Keys, file: KeyFile, path: &Path) {
    if file.holds_private {
        output::print_notice(&disk::private_key_warning(path));
    }
    keys.extend(file.keys);
}
