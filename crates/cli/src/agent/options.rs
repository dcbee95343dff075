//! Options of `reenact record` that concern the agent, as clap reads them.

use super::base_url_var::{BaseUrlArg, base_url_arg};

/// Value of `--agent` for a command that is to be treated as no known agent.
pub(crate) const NO_AGENT: &str = "none";

/// Options that concern the agent.
#[derive(clap::Args)]
pub(crate) struct AgentOptions {
    /// The agent that the command starts, where that is not seen by itself; `none` to set the usual variables alone (see `reenact
    /// doctor agents`)
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// A further variable from which the agent reads an address: it gets the gateway's, which leads to where the variable led before;
    /// may be given more than once. NAME=/v1 adds a path, NAME=anthropic or NAME=anthropic/v1 leads to that vendor
    #[arg(long, value_name = "NAME[=/PATH]", value_parser = base_url_arg)]
    pub(crate) base_url_var: Vec<BaseUrlArg>,

    /// Print what would be set for the agent, and why; start nothing, write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// The summary at the end as one JSON object on standard error; with --dry-run: what would be set, on standard output
    #[arg(long)]
    pub(crate) json: bool,
}
