//! `reenact runs rm`: removes runs that are named.

use super::find_own_run;
use super::removal::RemovalArgs;
use crate::output::CommandError;
use crate::runs;

/// Remove runs, with everything that is kept of them
///
/// The folder of each run is removed from the state folder, and nothing else: an artifact that `--out` put elsewhere stays there. A
/// run that is being recorded stays. What a run was cannot be told any more once it is gone.
///
/// Exit codes: 0 all are removed; 1 the answer was no; 2 one could not be removed.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact runs rm 07398f\n  reenact runs rm last~1 last~2\n  reenact runs rm --yes 07398f"
)]
pub(super) struct RmArgs {
    /// Run ids, their beginnings or last six digits, or `last`
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,

    #[command(flatten)]
    removal: RemovalArgs,
}

impl RmArgs {
    /// Removes the runs. Nothing is removed if one of the names means no run.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let store = runs::run_store()?;
        let mut ids = Vec::new();
        for given in &self.runs {
            let id = find_own_run(given, &store)?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        self.removal.remove(&store, &ids)
    }
}
