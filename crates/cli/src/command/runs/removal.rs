//! What `runs rm` and `runs prune` share: the runs are shown, a person is asked, and what was freed is told.

use reenact_json::Shown;
use reenact_json::print::PrintObjectWriter;
use reenact_record::{RunId, RunStore, RunStoreError, StoredRun, wal};

use super::impossible;
use super::list::ListedRun;
use crate::agent::overlay;
use crate::output::{self, CommandError};
use crate::quantity;
use crate::runs::run_name::short_id;
use crate::terminal::Terminal;

/// Options of both commands.
#[derive(clap::Args)]
pub(super) struct RemovalArgs {
    /// Ask nothing
    #[arg(long, short)]
    yes: bool,

    /// One JSON object a line for each run, and one at the end
    #[arg(long)]
    json: bool,
}

impl RemovalArgs {
    /// Prints the runs as they are listed, and what removing them would free.
    pub(super) fn show(&self, store: &RunStore, ids: &[RunId]) -> Result<(), CommandError> {
        let mut text = String::new();
        for id in ids {
            let bytes = store.run_bytes(*id);
            text.push_str(&match self.json {
                true => removal_json(*id, "would_be_removed", bytes, None),
                false => ListedRun::read(*id, store, false).to_line(true),
            });
        }
        let bytes = ids.iter().map(|id| store.run_bytes(*id)).sum();
        text.push_str(&match self.json {
            true => format!("{{\"would_free_bytes\":{bytes}}}\n"),
            false => format!("{} would free {}\n", run_count(ids), quantity::size(bytes)),
        });
        output::print(&text)
    }

    /// Asks, removes the runs, and prints what was freed. The exit code is 2 if one could not be removed.
    ///
    /// # Errors
    ///
    /// If the answer is no (exit code 1), or there is no terminal to ask on.
    pub(super) fn remove(&self, store: &RunStore, ids: &[RunId]) -> Result<u8, CommandError> {
        if !self.yes && !ids.is_empty() {
            self.ask(store, ids)?;
        }
        let (mut freed, mut code) = (0_u64, 0);
        for id in ids {
            match self.remove_one(store, *id)? {
                Some(bytes) => freed += bytes,
                None => code = 2,
            }
        }
        // What a killed removal left, and the logs of runs that are gone.
        freed += store.remove_remains().map_err(impossible)?;
        wal::remove_orphans(store);
        overlay::remove_leftovers(store);
        output::print(&match self.json {
            true => format!("{{\"freed_bytes\":{freed}}}\n"),
            false => format!("freed {}\n", quantity::size(freed)),
        })?;
        Ok(code)
    }

    /// Removes one run, and says so. Returns the size of what was freed; `None` if it could not be removed.
    fn remove_one(&self, store: &RunStore, id: RunId) -> Result<Option<u64>, CommandError> {
        let left = artifact_elsewhere(store, id);
        let removed = store.remove_run(id);
        match &removed {
            Ok(bytes) if self.json => output::print(&removal_json(id, "removed", *bytes, left.as_deref()))?,
            Ok(bytes) => {
                let left = left.map(|path| format!("; its artifact stays: {}", Shown::whole(&path)));
                let size = quantity::size(*bytes);
                output::print(&format!("removed {} ({size}){}\n", short_id(id), left.unwrap_or_default()))?;
            }
            Err(error) if self.json => output::print(&failure_json(id, error))?,
            Err(error) => output::print_notice(&format!("not removed: {error}")),
        }
        Ok(removed.ok())
    }

    /// Shows the runs on the terminal and asks whether they are to be removed.
    fn ask(&self, store: &RunStore, ids: &[RunId]) -> Result<(), CommandError> {
        let Some(mut terminal) = Terminal::open() else {
            return Err(CommandError::impossible("there is no terminal to ask on; give --yes"));
        };
        let mut question = String::new();
        for id in ids {
            question.push_str(&ListedRun::read(*id, store, false).to_line(true));
        }
        let bytes: u64 = ids.iter().map(|id| store.run_bytes(*id)).sum();
        question.push_str(&format!("Remove {} ({})? [y/N] ", run_count(ids), quantity::size(bytes)));
        match terminal.confirm(&question) {
            Ok(true) => Ok(()),
            Ok(false) => Err(CommandError::refused("nothing was removed")),
            Err(error) => Err(impossible(format!("the terminal cannot be read: {error}"))),
        }
    }
}

/// Returns the number of runs in words.
fn run_count(ids: &[RunId]) -> String {
    quantity::count(ids.len() as u64, "run")
}

/// Returns the path of the artifact of a run if it lies outside of the folder of the run.
fn artifact_elsewhere(store: &RunStore, id: RunId) -> Option<String> {
    match store.state(id) {
        Ok(StoredRun::Sealed { artifact }) if artifact != store.artifact_path(id) => {
            Some(artifact.to_string_lossy().into_owned())
        }
        _ => None,
    }
}

/// Returns one JSON object about a run that is removed, with a line feed.
fn removal_json(id: RunId, outcome: &str, bytes: u64, left: Option<&str>) -> String {
    let mut line = String::new();
    let mut object = PrintObjectWriter::open(&mut line);
    object.string("run_id", id.to_string().as_str());
    object.string("outcome", outcome);
    object.name("bytes").push_str(&bytes.to_string());
    object.string("artifact_left", left);
    object.close();
    line + "\n"
}

/// Returns one JSON object about a run that could not be removed, with a line feed.
fn failure_json(id: RunId, error: &RunStoreError) -> String {
    let code = match error {
        RunStoreError::BeingRecorded { .. } => "E_RUN_BUSY",
        RunStoreError::NotFound { .. } => "E_NOT_FOUND",
        _ => "E_NOT_REMOVED",
    };
    let mut line = String::new();
    let mut object = PrintObjectWriter::open(&mut line);
    object.string("run_id", id.to_string().as_str());
    object.string("outcome", "failed");
    object.string("code", code);
    object.string("message", error.to_string().as_str());
    object.close();
    line + "\n"
}
