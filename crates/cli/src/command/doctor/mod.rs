//! `reenact doctor`: the state of this machine, and the tables that are built in.
//!
//! Without a topic the machine is examined (`machine`); each topic prints one table. To add a topic, add a file and a
//! variant of [`DoctorTopic`].

mod agents;
mod machine;
mod prices;

use crate::output::CommandError;

/// Tell what works on this machine, and what to do about the rest
///
/// The exit code is 0 if everything is fine, 1 if something should be done.
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  reenact doctor\n  reenact doctor --json\n  reenact doctor agents\n  reenact doctor prices > prices.toml"
)]
pub(crate) struct DoctorArgs {
    #[command(subcommand)]
    topic: Option<DoctorTopic>,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Table that is printed in place of the machine's state.
#[derive(clap::Subcommand)]
enum DoctorTopic {
    Agents(agents::AgentsArgs),
    Prices(prices::PricesArgs),
}

impl DoctorArgs {
    /// Examines the machine, or prints the table that the topic names.
    pub(crate) fn run(&self) -> Result<u8, CommandError> {
        match &self.topic {
            None => machine::examine(self.json),
            Some(DoctorTopic::Agents(agents)) => agents.run(),
            Some(DoctorTopic::Prices(prices)) => prices.run(),
        }
    }
}
