//! `reenact prices`: the list prices that costs and spending limits are computed with.

use reenact_wire::price::PriceTable;

use crate::output::{self, CommandError};
use crate::prices;

/// Print the list prices that costs are worked out with, as a file to change and give to `record --prices`
///
/// Prices are in dollars for a million tokens, of the day that the table names. They are list prices: discounts, batches and tiers for
/// long contexts are not in them. A model that is not in the table has no price: costs that it is part of are partial, and under a limit on
/// spending its calls are denied. `max_output_tokens`, the largest answer of a model, tells what a call can cost at most.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact prices > prices.toml\n  reenact record --envelope envelope.toml --prices prices.toml -- python agent.py"
)]
pub(crate) struct PricesArgs {}

impl PricesArgs {
    /// Prints the built-in price table as TOML.
    pub(crate) fn run(&self) -> Result<u8, CommandError> {
        output::print(&prices::to_toml(&PriceTable::list_prices()))?;
        Ok(0)
    }
}
