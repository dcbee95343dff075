//! `reenact runs`: the runs that were recorded: listed, removed, recovered.
//!
//! Only runs of the state folder are changed; those that earlier versions left in the current folder are listed. To add a
//! subcommand, add a file, a variant and a line in [`RunsArgs::run`].

mod list;
mod recover;
mod recovery;

use reenact_json::Shown;
use reenact_record::{RunId, RunStore};

use crate::output::CommandError;
use crate::runs::RunStores;
use crate::runs::run_name::RunName;

/// List recorded runs, remove them, or seal those whose recorder was killed
#[derive(clap::Args)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(super) struct RunsArgs {
    #[command(subcommand)]
    command: RunsCommand,
}

#[derive(clap::Subcommand)]
enum RunsCommand {
    List(list::ListArgs),
    Recover(recover::RecoverArgs),
}

impl RunsArgs {
    /// Runs the subcommand, and returns its exit code.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        match &self.command {
            RunsCommand::List(list) => list.run(),
            RunsCommand::Recover(recover) => recover.run(),
        }
    }
}

/// Returns the id of the run of `store` that a name means.
///
/// # Errors
///
/// If there is no such run, or it is one that an earlier version left in the current folder, where nothing is written.
fn find_own_run(given: &str, store: &RunStore) -> Result<RunId, CommandError> {
    let name = RunName::parse(given).ok_or_else(|| {
        let given = Shown::new(given);
        impossible(format!("\"{given}\" names no run: give an id, the beginning of one, or `last`"))
    })?;
    let found = RunStores::open()?.find_run(name)?;
    if found.store != *store {
        let (from, to) = (found.store.run_path(found.id), store.run_path(found.id));
        let (from, to) = (from.to_string_lossy(), to.to_string_lossy());
        return Err(impossible(format!(
            "{}: runs of earlier versions are only read; move it to {} first",
            Shown::whole(&from),
            Shown::whole(&to)
        )));
    }
    Ok(found.id)
}

/// Converts an error into a message with exit code 2.
fn impossible(error: impl std::fmt::Display) -> CommandError {
    CommandError::impossible(error.to_string())
}
