//! `reenact prices`: what models cost, as the limits on spending count it.

use reenact_wire::price::Table;

use crate::output::{self, Ending};
use crate::prices;

/// Print the list prices that costs are worked out with, as a file to change and give to `record --prices`
///
/// Prices are in dollars for a million tokens, of the day that the table names. They are list prices: discounts, batches and tiers for
/// long contexts are not in them.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact prices > prices.toml\n  reenact record --envelope envelope.toml --prices prices.toml -- python agent.py"
)]
pub(crate) struct Prices {}

impl Prices {
    pub(crate) fn run(&self) -> Result<u8, Ending> {
        output::print(&prices::write(&Table::standard()))?;
        Ok(0)
    }
}
