//! `reenact runs`: the runs that were recorded: listed, removed, recovered.
//!
//! Only runs of the state folder are changed; those that earlier versions left in the current folder are listed. To add a
//! subcommand, add a file, a variant and a line in [`RunsArgs::run`].

mod list;
mod prune;
mod recover;
mod recovery;
mod removal;
mod rm;
mod tree;

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
    Tree(tree::TreeArgs),
    Rm(rm::RmArgs),
    Prune(prune::PruneArgs),
    Recover(recover::RecoverArgs),
}

impl RunsArgs {
    /// Runs the subcommand, and returns its exit code.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        match &self.command {
            RunsCommand::List(list) => list.run(),
            RunsCommand::Tree(tree) => tree.run(),
            RunsCommand::Rm(rm) => rm.run(),
            RunsCommand::Prune(prune) => prune.run(),
            RunsCommand::Recover(recover) => recover.run(),
        }
    }
}

/// Returns the id of the run of `store` that a name means.
///
/// # Errors
///
/// If there is no such run, it is one that an earlier version left in the current folder, where nothing is written, or `last` would
/// be a run of another folder.
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
    if found.is_from_elsewhere {
        let message = format!(
            "no run was recorded in this folder; to mean the newest of all, give its id: {}",
            found.id
        );
        return Err(impossible(message));
    }
    Ok(found.id)
}

/// Converts an error into a message with exit code 2.
fn impossible(error: impl std::fmt::Display) -> CommandError {
    CommandError::impossible(error.to_string())
}
