//! `reenact doctor prices`: the list prices that costs and spending limits are computed with.

use reenact_wire::price::PriceTable;

use crate::output::{self, CommandError};
use crate::prices;

/// Print the list prices that costs are worked out with
///
/// The output is a file to change and give to `record --prices`. Prices are in dollars for a million tokens, of the day that the table names. They are list prices: discounts, batches and tiers for
/// long contexts are not in them. A model that is not in the table has no price: costs that it is part of are partial, and under a limit on
/// spending its calls are denied. `max_output_tokens`, the largest answer of a model, tells what a call can cost at most.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact doctor prices > prices.toml\n  reenact doctor prices --json\n  reenact record --envelope envelope.toml --prices prices.toml -- python agent.py"
)]
pub(super) struct PricesArgs {
    /// One JSON object
    #[arg(long)]
    json: bool,
}

impl PricesArgs {
    /// Prints the built-in price table as TOML or JSON.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let table = PriceTable::list_prices();
        output::print(&if self.json { prices::to_json(&table) } else { prices::to_toml(&table) })?;
        Ok(0)
    }
}
