//! Prices of tokens: a dated table of list prices, and exact sums over it.
//!
//! Prices change, and customers have their own, so a table carries its date and can be replaced. Amounts are
//! whole picodollars (10⁻¹² USD), because in that unit every price per token is an integer. Start reading at
//! [`PriceTable::rates`]. A row also has the largest output of its model, so that the highest cost of a call is known
//! before the call ([`Rates::highest_cost`]).

use std::collections::BTreeMap;

use crate::message::Usage;
use crate::vendor::{VENDORS, Vendor};

/// Prices by provider and model. A provider is a vendor, or a server that the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceTable {
    /// Day of the prices, such as `2025-11-30`.
    pub date: String,
    models: BTreeMap<(String, String), PricedModel>,
}

/// Row of a price table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PricedModel {
    /// Prices of the model's tokens.
    pub rates: Rates,
    /// Largest number of tokens that the model writes in one answer, thoughts included; `None` if the table does not
    /// tell.
    pub max_output_tokens: Option<u64>,
}

/// Prices of a model's tokens, in picodollars for one token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rates {
    /// Price of a token read.
    pub input: u64,
    /// Price of a token read from a cache.
    pub cached_input: u64,
    /// Price of a token written to a cache.
    pub cache_write: u64,
    /// Price of a token written.
    pub output: u64,
}

/// Row of a price list: model, then the prices of input, cached input, cache write and output, in thousandths
/// of a dollar per million tokens, then the largest number of output tokens of one answer.
pub(crate) type ListPrice = (&'static str, u64, u64, u64, u64, u64);

/// Largest output that is assumed for a model without one in the table, in tokens: no model of the lists writes more.
pub const DEFAULT_MAX_OUTPUT_TOKENS: u64 = 128_000;

/// Day of the vendors' price lists in this crate.
const PRICES_DATE: &str = "2026-10-16";

impl PriceTable {
    /// Returns the list prices that come with this version. Prices for long contexts, batches and other tiers
    /// are not included.
    pub fn list_prices() -> Self {
        let mut table = Self::new(PRICES_DATE);
        for vendor in VENDORS {
            for &(model, input, cached_input, cache_write, output, max_output) in vendor.0.prices {
                // One thousandth of a dollar per million tokens is 1,000 picodollars per token.
                let [input, cached_input, cache_write, output] =
                    [input, cached_input, cache_write, output].map(|rate| rate * 1_000);
                let rates = Rates { input, cached_input, cache_write, output };
                table.set(vendor.name(), model, PricedModel { rates, max_output_tokens: Some(max_output) });
            }
        }
        table
    }

    /// Returns a table of this day without prices.
    pub fn new(date: &str) -> Self {
        Self { date: date.to_owned(), models: BTreeMap::new() }
    }

    /// Sets the row of a model, in place of an earlier one.
    pub fn set(&mut self, provider: &str, model: &str, row: PricedModel) {
        self.models.insert((provider.to_owned(), model.to_owned()), row);
    }

    /// Returns the prices of a model, looked up by its name, then by the name without its edition, such as the
    /// day in `gpt-5-2025-08-07`.
    pub fn rates(&self, provider: &str, model: &str) -> Option<Rates> {
        self.row(provider, model).map(|row| row.rates)
    }

    /// Returns the largest number of tokens that a model writes in one answer: that of its row, else
    /// [`DEFAULT_MAX_OUTPUT_TOKENS`].
    pub fn max_output_tokens(&self, provider: &str, model: &str) -> u64 {
        let row = self.row(provider, model);
        row.and_then(|row| row.max_output_tokens).unwrap_or(DEFAULT_MAX_OUTPUT_TOKENS)
    }

    /// Returns the row of a model, found by its name, or by its name without the edition.
    fn row(&self, provider: &str, model: &str) -> Option<PricedModel> {
        let find = |name: &str| self.models.get(&(provider.to_owned(), name.to_owned())).copied();
        find(model).or_else(|| find((Vendor::of_route(provider).0.model_without_edition)(model)?))
    }

    /// Returns all rows with provider and model, in the order of the names.
    pub fn models(&self) -> impl Iterator<Item = (&str, &str, PricedModel)> {
        self.models.iter().map(|((provider, model), row)| (provider.as_str(), model.as_str(), *row))
    }
}

impl Rates {
    /// Returns the cost of an answer in picodollars, saturating at the largest `u128`.
    ///
    /// The vendor matters because some count tokens of a cache as input tokens too, and those must not be charged
    /// twice. Of tokens that are written to a cache and counted as input, only what they cost beyond the input price is added.
    pub fn cost(&self, vendor: Vendor, usage: &Usage) -> u128 {
        let part = |tokens: u64, rate: u64| u128::from(tokens) * u128::from(rate);
        let write_rate = match vendor.counts_cached_as_input() {
            true => self.cache_write.saturating_sub(self.input),
            false => self.cache_write,
        };
        [
            part(vendor.full_price_input_tokens(usage), self.input),
            part(usage.cached_input_tokens, self.cached_input),
            part(usage.cache_write_tokens, write_rate),
            part(usage.output_tokens, self.output),
        ]
        .into_iter()
        .fold(0, u128::saturating_add)
    }

    /// Returns the cost of reading a request of so many bytes, in picodollars, before the vendor has counted
    /// its tokens, which [`estimated_tokens`] tells.
    pub fn input_estimate(&self, request_bytes: usize) -> u128 {
        u128::from(estimated_tokens(request_bytes)) * u128::from(self.input)
    }

    /// Returns the highest cost of a call in picodollars: its input as estimated, and `answers` answers of
    /// `max_output_tokens` each. Saturates at the largest `u128`.
    ///
    /// If output has a price, the cost is at least 1, so that no call of a priced model counts as free.
    pub fn highest_cost(&self, request_bytes: usize, max_output_tokens: u64, answers: u64) -> u128 {
        let one = u128::from(max_output_tokens) * u128::from(self.output);
        let written = one.saturating_mul(answers.into());
        self.input_estimate(request_bytes).saturating_add(written).max(self.output.min(1).into())
    }

    /// Returns true if no token has a price.
    pub fn is_free(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the number of tokens that a text of so many bytes is taken for: one for each four bytes, rounded up.
pub fn estimated_tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

/// Returns a model's name without the day of its edition. Recognized forms are `gpt-5-2025-08-07`,
/// `claude-sonnet-4-5-20250929` and `claude-3-5-haiku-latest`.
pub(crate) fn without_date(model: &str) -> Option<&str> {
    let is_day = |text: &str| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let dashes = text.bytes().enumerate().filter(|(_, byte)| *byte == b'-').map(|(at, _)| at);
        digits == 8
            && match text.len() {
                8 => true,
                10 => dashes.eq([4, 7]),
                _ => false,
            }
    };
    if let Some(name) = model.strip_suffix("-latest") {
        return Some(name);
    }
    let end =
        [9, 11].into_iter().filter_map(|length| model.split_at_checked(model.len().checked_sub(length)?));
    end.filter_map(|(name, day)| Some((name, day.strip_prefix('-')?)))
        .find(|(_, day)| is_day(day))
        .map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_no_name_twice() {
        let listed: usize = VENDORS.iter().map(|vendor| vendor.0.prices.len()).sum();
        assert_eq!(PriceTable::list_prices().models().count(), listed);
    }

    #[test]
    fn editions_cost_what_their_model_costs() {
        let table = PriceTable::list_prices();
        let rates = |vendor: Vendor, model| table.rates(vendor.name(), model);
        for (vendor, model, edition) in [
            (Vendor::OPENAI, "gpt-5", "gpt-5-2025-08-07"),
            (Vendor::ANTHROPIC, "claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
            (Vendor::ANTHROPIC, "claude-3-5-haiku", "claude-3-5-haiku-latest"),
            (Vendor::GEMINI, "gemini-2.0-flash", "gemini-2.0-flash-001"),
            (Vendor::GEMINI, "gemini-2.5-flash", "gemini-2.5-flash-preview-09-2025"),
        ] {
            assert!(rates(vendor, model).is_some());
            assert_eq!(rates(vendor, edition), rates(vendor, model), "{edition}");
        }
        for unknown in [
            "",
            "-",
            "gpt-5-pro",
            "gpt-5-2025-08-0x",
            "gpt-52025-08-07",
            "gpt-5-20250-8-07",
            "GPT-5",
            "é-20250929",
        ] {
            assert_eq!(rates(Vendor::OPENAI, unknown), None, "{unknown}");
        }
        assert_eq!(rates(Vendor::ANTHROPIC, "gpt-5"), None);
        assert_eq!(table.rates("together_ai", "gpt-5"), None, "a server of one's own has prices of its own");
    }

    #[test]
    fn each_model_has_a_largest_output() {
        let mut table = PriceTable::list_prices();
        let largest = |table: &PriceTable, model| table.max_output_tokens(Vendor::OPENAI.name(), model);
        assert_eq!(largest(&table, "gpt-5-2025-08-07"), 128_000);
        assert_eq!(largest(&table, "gpt-4o"), 16_384);
        assert_eq!(largest(&table, "gpt-4o-2024-05-13"), 4_096);
        assert_eq!(largest(&table, "odd"), DEFAULT_MAX_OUTPUT_TOKENS);
        table.set(
            Vendor::OPENAI.name(),
            "odd",
            PricedModel { rates: Rates::default(), max_output_tokens: None },
        );
        assert_eq!(largest(&table, "odd"), DEFAULT_MAX_OUTPUT_TOKENS);
        for (vendor, model, row) in PriceTable::list_prices().models() {
            assert!(
                row.max_output_tokens.is_some_and(|most| most <= DEFAULT_MAX_OUTPUT_TOKENS),
                "{vendor} {model}"
            );
            assert_eq!(row.max_output_tokens == Some(0), row.rates.output == 0, "{vendor} {model}");
        }
    }

    #[test]
    fn sums_are_exact() {
        let table = PriceTable::list_prices();
        let usage = Usage {
            input_tokens: 1_000,
            output_tokens: 100,
            cached_input_tokens: 400,
            cache_write_tokens: 10,
        };
        // 600 × 1.25 + 400 × 0.125 + 100 × 10 dollars for a million.
        let gpt = table.rates("openai", "gpt-5").unwrap();
        assert_eq!(gpt.cost(Vendor::OPENAI, &usage), 1_800_000_000);
        // 1000 × 3 + 400 × 0.30 + 10 × 3.75 + 100 × 15.
        let claude = table.rates("anthropic", "claude-sonnet-4-5").unwrap();
        assert_eq!(claude.cost(Vendor::ANTHROPIC, &usage), 4_657_500_000);
        // 600 × 0.30 + 400 × 0.03 + 100 × 2.50.
        let gemini = table.rates("gemini", "gemini-2.5-flash").unwrap();
        assert_eq!(gemini.cost(Vendor::GEMINI, &usage), 442_000_000);
        // 600 × 2 + 400 × 0.10 + 10 × (2.50 - 2) + 100 × 10.
        let sol = table.rates("openai", "gpt-6.1-sol-2026-09-29").unwrap();
        assert_eq!(sol.cost(Vendor::OPENAI, &usage), 2_245_000_000);
        assert_eq!([0, 1, 9].map(|bytes| claude.input_estimate(bytes)), [0, 3_000_000, 9_000_000]);
        let free = Rates::default();
        assert!(free.is_free() && !claude.is_free());
        assert_eq!((free.highest_cost(9, 9, 9), Rates { output: 7, ..free }.highest_cost(9, 0, 1)), (0, 1));
        // 9 bytes are 3 tokens; twice 100 tokens of output.
        assert_eq!(gpt.highest_cost(9, 100, 2), 3 * 1_250_000 + 2 * 100 * 10_000_000);
    }

    #[test]
    fn no_count_is_too_large() {
        let max_rates =
            Rates { input: u64::MAX, cached_input: u64::MAX, cache_write: u64::MAX, output: u64::MAX };
        let usage = Usage {
            input_tokens: u64::MAX,
            output_tokens: u64::MAX,
            cached_input_tokens: u64::MAX,
            cache_write_tokens: u64::MAX,
        };
        assert_eq!(max_rates.cost(Vendor::ANTHROPIC, &usage), u128::MAX);
        assert_eq!(max_rates.highest_cost(usize::MAX, u64::MAX, u64::MAX), u128::MAX);
        // A cached count above the input count is a vendor's fault, and gives no money back.
        let odd = Usage { input_tokens: 1, cached_input_tokens: 5, ..Usage::default() };
        assert_eq!(Rates { input: 10, cached_input: 1, ..Rates::default() }.cost(Vendor::OPENAI, &odd), 5);
    }
}
