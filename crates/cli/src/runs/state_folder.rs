//! The user's state folder, in which runs, reports of replays and bundles are kept.
//!
//! It is `$REENACT_HOME`, else `$XDG_STATE_HOME/reenact`, else `$HOME/.local/state/reenact`. It is never a folder of the
//! agent's: agents list their folder into their prompts. Start reading at [`run_store`].

use std::ffi::OsString;
use std::path::PathBuf;

use reenact_json::Shown;
use reenact_record::RunStore;

use crate::output::CommandError;

/// Reason why there is no state folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum StateFolderError {
    /// `REENACT_HOME` is set, and names no folder by its whole path.
    #[error("REENACT_HOME is no whole path: \"{}\"; set it to a folder such as /home/me/runs, or unset it", Shown::whole(.value))]
    NotAbsolute {
        /// Value of the variable.
        value: String,
    },
    /// No variable leads to a folder.
    #[error("there is no place for runs: set REENACT_HOME to a folder, by its whole path")]
    Nowhere,
}

/// Returns the path of the state folder for these values of `REENACT_HOME`, `XDG_STATE_HOME` and `HOME`.
///
/// A relative path in the latter two is ignored, as the XDG base directory specification asks; a relative or empty
/// `REENACT_HOME` is an error, since it was meant for us.
fn path_from_variables(
    reenact_home: Option<OsString>,
    state_home: Option<OsString>,
    home: Option<OsString>,
) -> Result<PathBuf, StateFolderError> {
    if let Some(given) = reenact_home {
        let value = given.to_string_lossy().into_owned();
        let path = PathBuf::from(given);
        return path.is_absolute().then_some(path).ok_or(StateFolderError::NotAbsolute { value });
    }
    let absolute = |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    let parent = absolute(state_home).or_else(|| absolute(home).map(|home| home.join(".local/state")));
    Ok(parent.ok_or(StateFolderError::Nowhere)?.join("reenact"))
}

/// Returns the store of the user's runs, in the state folder. It need not exist.
///
/// # Errors
///
/// If no variable leads to a folder; the message names `REENACT_HOME`.
pub(crate) fn run_store() -> Result<RunStore, CommandError> {
    let variable = |name: &str| std::env::var_os(name);
    path_from_variables(variable("REENACT_HOME"), variable("XDG_STATE_HOME"), variable("HOME"))
        .map(RunStore::new)
        .map_err(|error| CommandError::impossible(error.to_string()))
}

/// Returns the store of the user's runs, and creates its folder if it does not exist.
///
/// # Errors
///
/// If there is no such folder and none can be made; the message names `REENACT_HOME`.
pub(crate) fn writable_run_store() -> Result<RunStore, CommandError> {
    let store = run_store()?;
    store.create().map_err(|error| {
        let way_out = "or set REENACT_HOME to another folder";
        CommandError::impossible(format!("runs cannot be kept: {error}; {way_out}"))
    })?;
    Ok(store)
}

/// Returns the store of runs that earlier versions kept in the current folder. It is read, and never written.
pub(crate) fn project_store() -> RunStore {
    RunStore::new(RunStore::NAME)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn path(
        reenact_home: Option<&str>,
        state_home: Option<&str>,
        home: Option<&str>,
    ) -> Result<PathBuf, StateFolderError> {
        path_from_variables(reenact_home.map(Into::into), state_home.map(Into::into), home.map(Into::into))
    }

    #[test]
    fn where_it_is() {
        let at = |path: &str| Ok(PathBuf::from(path));
        assert_eq!(path(Some("/r"), Some("/s"), Some("/h")), at("/r"));
        assert_eq!(path(None, Some("/s"), Some("/h")), at("/s/reenact"));
        assert_eq!(path(None, Some("/s"), None), at("/s/reenact"));
        for ignored in [None, Some(""), Some("s"), Some("./s")] {
            assert_eq!(path(None, ignored, Some("/h")), at("/h/.local/state/reenact"));
            for home in [None, Some(""), Some("h")] {
                assert_eq!(path(None, ignored, home), Err(StateFolderError::Nowhere));
            }
        }
    }

    #[test]
    fn a_reenact_home_that_is_no_whole_path_is_an_error() {
        for value in ["", "r", "./r", "~/r", "\u{1b}[2J"] {
            let error = StateFolderError::NotAbsolute { value: value.into() };
            assert_eq!(path(Some(value), Some("/s"), Some("/h")), Err(error.clone()));
            assert!(!error.to_string().contains(char::is_control), "{error}");
        }
    }
}
