//! Finding the run that a name means, in the state folder and among the runs that earlier versions kept in the project.
//!
//! `last` is the newest run that was recorded in the current folder or below it, by what `run.json` says; only if there is
//! none, the newest of all. A run in the project never comes before one of the state folder: whoever else can write to the
//! project could put one there. Start reading at [`RunStores::find_run`].

use std::path::{Path, PathBuf};

use reenact_json::{Limits, Shown, Value};
use reenact_record::{RunId, RunStore};
use reenact_verify::disk;

use super::run_name::{self, RunName};
use super::state_folder;
use crate::output::{self, CommandError};

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
    /// True if `last` was asked for, and no run was recorded in the current folder.
    pub(crate) is_from_elsewhere: bool,
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

    /// Returns the ids of all runs with the store that has them, oldest first. A run of the state folder stands for one of
    /// the same id in the project.
    ///
    /// # Errors
    ///
    /// If the runs cannot be listed.
    pub(crate) fn all(&self) -> Result<Vec<(RunId, &RunStore)>, CommandError> {
        let own = self.own.run_ids().map_err(impossible)?;
        let project = self.project.run_ids().map_err(impossible)?;
        let project = project.into_iter().filter(|id| !own.contains(id)).map(|id| (id, &self.project));
        let mut all: Vec<_> = own.iter().map(|id| (*id, &self.own)).chain(project).collect();
        all.sort_by_key(|(id, _)| *id);
        Ok(all)
    }

    /// Returns true if no run was ever recorded.
    ///
    /// # Errors
    ///
    /// If the runs cannot be listed.
    pub(crate) fn is_empty(&self) -> Result<bool, CommandError> {
        Ok(self.all()?.is_empty())
    }

    /// Returns true if a store is that of the current folder, which is only read.
    pub(crate) fn is_project(&self, store: &RunStore) -> bool {
        *store == self.project
    }

    /// Finds the run that a person means.
    ///
    /// # Errors
    ///
    /// If there is no such run, or several, or the runs cannot be listed.
    pub(crate) fn find_run(&self, name: RunName<'_>) -> Result<FoundRun, CommandError> {
        let all = self.all()?;
        if all.is_empty() {
            let message = "there are no runs yet; record one with: reenact record COMMAND";
            return Err(impossible(message));
        }
        match name {
            RunName::Last { back } => self.last(&all, back),
            RunName::IdPart(part) => {
                let id = run_name::find_id(part, all.iter().map(|(id, _)| *id)).map_err(impossible)?;
                let store = all.iter().find(|(other, _)| *other == id).map_or(&self.own, |(_, store)| store);
                Ok(FoundRun { store: store.clone(), id, is_from_elsewhere: false })
            }
        }
    }

    /// Finds the run that was recorded `back` runs before the last one here, or if there is none here, of all.
    fn last(&self, all: &[(RunId, &RunStore)], back: usize) -> Result<FoundRun, CommandError> {
        let here = std::env::current_dir().ok();
        let is_own = |store: &RunStore| *store == self.own;
        let is_here = |id: RunId, store: &RunStore| {
            let recorded_in = store.run_file(id).ok().and_then(|run| run.folder);
            recorded_in.zip(here.as_deref()).is_some_and(|(folder, here)| folder.starts_with(here))
        };
        let newest_first = || all.iter().rev().copied();
        let mut own_here =
            newest_first().filter(|(id, store)| is_own(store) && is_here(*id, store)).peekable();
        let mut project = newest_first().filter(|(_, store)| !is_own(store)).peekable();
        let is_from_elsewhere = own_here.peek().is_none() && project.peek().is_none();
        let found = match is_from_elsewhere {
            true => newest_first().nth(back),
            false => own_here.chain(project).nth(back),
        };
        let (id, store) = found.ok_or_else(|| {
            let place = if is_from_elsewhere { "in all" } else { "of this folder" };
            impossible(format!("last~{back}: there are not so many runs {place}"))
        })?;
        Ok(FoundRun { store: store.clone(), id, is_from_elsewhere })
    }
}

impl FoundRun {
    /// Returns the path of the run's artifact, and says which run it is if that is not the one that one would expect.
    ///
    /// # Errors
    ///
    /// If the run is not sealed, its artifact was moved, or another run's is in its place.
    pub(crate) fn artifact(&self) -> Result<PathBuf, CommandError> {
        let path = self.store.sealed_artifact(self.id).map_err(impossible)?;
        if path != self.store.artifact_path(self.id) {
            self.check_artifact_of(&path)?;
        }
        if self.is_from_elsewhere {
            let folder = self.store.run_file(self.id).ok().and_then(|run| run.folder);
            let folder = folder.map(|folder| {
                let folder = folder.to_string_lossy();
                format!(", recorded in {}", Shown::whole(&folder))
            });
            output::print_notice(&format!(
                "no run was recorded in this folder; this is the newest of all: {}{}",
                self.id,
                folder.unwrap_or_default()
            ));
        }
        Ok(path)
    }

    /// Checks that a file which others may have written is not the artifact of another run.
    fn check_artifact_of(&self, path: &Path) -> Result<(), CommandError> {
        // Whatever cannot be read here is reported by the command that reads it next.
        let Ok(bytes) = disk::read(path) else { return Ok(()) };
        let document = Value::parse(&bytes, &Limits::default()).ok();
        let found = document.and_then(|document| document.member("run_id")?.string());
        match found {
            Some(other) if other != self.id.to_string() => {
                let shown = path.to_string_lossy();
                Err(impossible(format!(
                    "run {} was written to {}, where there is another run now: {}",
                    self.id,
                    Shown::whole(&shown),
                    Shown::new(&other)
                )))
            }
            _ => Ok(()),
        }
    }
}

/// Converts an error into a message with exit code 2.
fn impossible(error: impl std::fmt::Display) -> CommandError {
    CommandError::impossible(error.to_string())
}
