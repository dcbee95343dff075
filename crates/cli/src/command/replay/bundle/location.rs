//! The bundle that `--bundle` means when it names none.
//!
//! First come the bundles that `reenact share` and `record` put into the state folder, then those that the format's own tool left in
//! this folder. Start reading at [`newest_bundle`].

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use reenact_record::{RunId, RunStore};

use crate::output::CommandError;
use crate::runs;

/// Folder in which the format's own tool keeps its bundles.
const ASSAY_BUNDLES: &str = ".assay/bundles";
/// Bundle that earlier versions of that tool wrote.
const LEGACY_BUNDLE: &str = ".assay/replay.bundle";
/// Ending of Replay Bundles.
const ENDING: &str = ".tar.gz";
/// Ending of RER bundles, which lie in the same folder.
const RER_ENDING: &str = ".rer.tar.gz";

/// Returns the newest bundle that was made of a run of the current folder, else the newest one in `.assay/bundles`, else
/// `.assay/replay.bundle`.
///
/// # Errors
///
/// If there is none.
pub(super) fn newest_bundle() -> Result<PathBuf, CommandError> {
    let here = std::env::current_dir().ok();
    let own = runs::run_store().ok().zip(here).and_then(|(store, here)| {
        newest(&store.path().join("bundles"), |name| is_of_run_in(&store, name, &here))
    });
    own.or_else(|| newest(Path::new(ASSAY_BUNDLES), |_| true))
        .or_else(|| Some(PathBuf::from(LEGACY_BUNDLE)).filter(|legacy| legacy.exists()))
        .ok_or_else(|| {
            CommandError::impossible(format!(
                "--bundle names no bundle, none was made of a run of this folder, and there is none in {ASSAY_BUNDLES} (E_NOT_FOUND)\nmake one: reenact share last --as replay; or name one: reenact replay --bundle FILE -- CMD"
            ))
        })
}

/// Returns true if a bundle in the state folder has the name of a run that was recorded in a folder or below it.
fn is_of_run_in(store: &RunStore, name: &str, folder: &Path) -> bool {
    let id = name.strip_suffix(ENDING).and_then(|id| id.parse::<RunId>().ok());
    let recorded_in = id.and_then(|id| store.run_file(id).ok()?.folder);
    recorded_in.is_some_and(|recorded_in| recorded_in.starts_with(folder))
}

/// Returns the bundle in a folder that was written last, of those whose names are wanted. Links are passed over.
fn newest(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let mut found: Option<((SystemTime, String), PathBuf)> = None;
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !name.ends_with(ENDING) || name.ends_with(RER_ENDING) || !is_wanted(&name) {
            continue;
        }
        let Ok(facts) = entry.path().symlink_metadata() else { continue };
        let Some(time) = facts.modified().ok().filter(|_| facts.is_file()) else { continue };
        let key = (time, name);
        if found.as_ref().is_none_or(|(newest, _)| *newest < key) {
            found = Some((key, entry.path()));
        }
    }
    found.map(|(_, path)| path)
}
