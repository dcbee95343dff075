//! What tokens cost: a dated table of list prices, and exact sums over it.
//!
//! Prices change, and customers have their own: a table says of which day it is, and can be replaced by one's own. Amounts are
//! whole picodollars (10⁻¹² USD), in which every price per token is a whole number.

use std::collections::BTreeMap;

use crate::message::Usage;
use crate::vendor::{VENDORS, Vendor};

/// Prices by vendor and model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Of which day the prices are, such as `2025-11-30`.
    pub date: String,
    models: BTreeMap<(&'static str, String), Rates>,
}

/// What a model's tokens cost, in picodollars each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rates {
    /// Read.
    pub input: u64,
    /// Read from a cache.
    pub cached_input: u64,
    /// Written to a cache.
    pub cache_write: u64,
    /// Written.
    pub output: u64,
}

/// Dollars per million tokens, as price lists have them: input, from a cache, to a cache, output, in thousandths.
pub(crate) type Listed = (&'static str, u64, u64, u64, u64);

/// The day of the prices below.
const DATE: &str = "2025-11-30";

impl Table {
    /// The list prices that come with this version. Prices for long contexts, batches and other tiers are not in it.
    pub fn standard() -> Self {
        let mut table = Self::new(DATE);
        for vendor in VENDORS {
            for &(model, input, cached_input, cache_write, output) in vendor.0.prices {
                // A thousandth of a dollar for a million tokens is a thousand picodollars for one.
                let [input, cached_input, cache_write, output] =
                    [input, cached_input, cache_write, output].map(|rate| rate * 1_000);
                table.set(vendor, model, Rates { input, cached_input, cache_write, output });
            }
        }
        table
    }

    /// A table without prices.
    pub fn new(date: &str) -> Self {
        Self { date: date.to_owned(), models: BTreeMap::new() }
    }

    /// Gives a model its prices.
    pub fn set(&mut self, vendor: Vendor, model: &str, rates: Rates) {
        self.models.insert((vendor.name(), model.to_owned()), rates);
    }

    /// The prices of a model: by its name, or by the name without the day of its edition.
    pub fn rates(&self, vendor: Vendor, model: &str) -> Option<Rates> {
        let find = |name: &str| self.models.get(&(vendor.name(), name.to_owned())).copied();
        find(model).or_else(|| find((vendor.0.unedited)(model)?))
    }

    /// All that are in it, in order of their names.
    pub fn models(&self) -> impl Iterator<Item = (&'static str, &str, Rates)> {
        self.models.iter().map(|((vendor, model), rates)| (*vendor, model.as_str(), *rates))
    }
}

impl Rates {
    /// What an answer cost, in picodollars.
    pub fn cost(&self, vendor: Vendor, usage: &Usage) -> u128 {
        let part = |tokens: u64, rate: u64| u128::from(tokens) * u128::from(rate);
        [
            part(vendor.uncached_input(usage), self.input),
            part(usage.cached_input_tokens, self.cached_input),
            part(usage.cache_write_tokens, self.cache_write),
            part(usage.output_tokens, self.output),
        ]
        .into_iter()
        .fold(0, u128::saturating_add)
    }

    /// What it costs to have a request of so many bytes read, before anyone has counted its tokens: one for each four bytes.
    /// What will be answered nobody knows; but where that costs, nothing is free.
    pub fn estimate(&self, request_bytes: usize) -> u128 {
        let read = (request_bytes as u128).div_ceil(4) * u128::from(self.input);
        read.max(self.output.min(1).into())
    }
}

/// A name without the day of its edition: `gpt-5-2025-08-07`, `claude-sonnet-4-5-20250929`, `claude-3-5-haiku-latest`.
pub(crate) fn undated(model: &str) -> Option<&str> {
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
        assert_eq!(Table::standard().models().count(), listed);
    }

    #[test]
    fn editions_cost_what_their_model_costs() {
        let table = Table::standard();
        let rates = |vendor, model| table.rates(vendor, model);
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
    }

    #[test]
    fn sums_are_exact() {
        let table = Table::standard();
        let usage = Usage {
            input_tokens: 1_000,
            output_tokens: 100,
            cached_input_tokens: 400,
            cache_write_tokens: 10,
        };
        // 600 × 1.25 + 400 × 0.125 + 100 × 10 dollars for a million.
        let gpt = table.rates(Vendor::OPENAI, "gpt-5").unwrap();
        assert_eq!(gpt.cost(Vendor::OPENAI, &usage), 1_800_000_000);
        // 1000 × 3 + 400 × 0.30 + 10 × 3.75 + 100 × 15.
        let claude = table.rates(Vendor::ANTHROPIC, "claude-sonnet-4-5").unwrap();
        assert_eq!(claude.cost(Vendor::ANTHROPIC, &usage), 4_657_500_000);
        // 600 × 0.30 + 400 × 0.03 + 100 × 2.50.
        let gemini = table.rates(Vendor::GEMINI, "gemini-2.5-flash").unwrap();
        assert_eq!(gemini.cost(Vendor::GEMINI, &usage), 442_000_000);
        assert_eq!((claude.estimate(0), claude.estimate(1), claude.estimate(9)), (1, 3_000_000, 9_000_000));
        let free = Rates::default();
        assert_eq!((free.estimate(9), Rates { output: 7, ..free }.estimate(9)), (0, 1));
    }

    #[test]
    fn no_count_is_too_large() {
        let most = Rates { input: u64::MAX, cached_input: u64::MAX, cache_write: u64::MAX, output: u64::MAX };
        let usage = Usage {
            input_tokens: u64::MAX,
            output_tokens: u64::MAX,
            cached_input_tokens: u64::MAX,
            cache_write_tokens: u64::MAX,
        };
        assert_eq!(most.cost(Vendor::ANTHROPIC, &usage), u128::MAX);
        // More from the cache than was read at all is a vendor's fault, and nobody gets money back.
        let odd = Usage { input_tokens: 1, cached_input_tokens: 5, ..Usage::default() };
        assert_eq!(Rates { input: 10, cached_input: 1, ..Rates::default() }.cost(Vendor::OPENAI, &odd), 5);
    }
}
