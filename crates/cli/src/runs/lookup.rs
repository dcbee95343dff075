//! Finding the run that a name means, in the state folder and among the runs that earlier versions kept in the project.
//!
//! Start reading at [`RunStores::find_run`].

use reenact_record::{RunId, RunStore};

use super::run_name::{self, RunName};
use super::state_folder;
use crate::output::CommandError;

/// Stores in which runs are looked up.
pub(crate) struct RunStores {
    /// Runs of the state folder.
    own: RunStore,
    /// Runs that earlier versions kept in the current folder.
    project: RunStore,
}

/// Run that a name means.
pub(crate) struct FoundRun {
    /// Store that has the run.
    pub(crate) store: RunStore,
    pub(crate) id: RunId,
}

impl RunStores {
    /// Returns the stores. They need not exist.
    ///
    /// # Errors
    ///
    /// If no variable leads to a state folder.
    pub(crate) fn open() -> Result<Self, CommandError> {
        Ok(Self { own: state_folder::run_store()?, project: state_folder::project_store() })
    }

    /// Returns true if no run was ever recorded.
    ///
    /// # Errors
    ///
    /// If the runs cannot be listed.
    pub(crate) fn is_empty(&self) -> Result<bool, CommandError> {
        Ok(self.own.run_ids().map_err(impossible)?.is_empty()
            && self.project.run_ids().map_err(impossible)?.is_empty())
    }

    /// Finds the run that a person means. A run of the state folder comes before one of the same id in the project.
    ///
    /// # Errors
    ///
    /// If there is no such run, or several, or the runs cannot be listed.
    pub(crate) fn find_run(&self, name: RunName<'_>) -> Result<FoundRun, CommandError> {
        let own = self.own.run_ids().map_err(impossible)?;
        let project = self.project.run_ids().map_err(impossible)?;
        if own.is_empty() && project.is_empty() {
            let message = "there are no runs yet; record one with: reenact record -- COMMAND";
            return Err(impossible(message));
        }
        let id = match name {
            RunName::IdPart(part) => {
                let mut all = [own.as_slice(), project.as_slice()].concat();
                all.sort();
                all.dedup();
                run_name::find_id(part, all).map_err(impossible)?
            }
            RunName::Last { back } => {
                let runs = if own.is_empty() { &project } else { &own };
                *runs.iter().rev().nth(back).ok_or_else(|| {
                    let message = format!("last~{back}: there are only {} runs", runs.len());
                    impossible(message)
                })?
            }
        };
        let store = if own.contains(&id) { self.own.clone() } else { self.project.clone() };
        Ok(FoundRun { store, id })
    }
}

/// Converts an error into a message with exit code 2.
fn impossible(error: impl std::fmt::Display) -> CommandError {
    CommandError::impossible(error.to_string())
}
