//! Exchanges whose requests differed from the recorded ones in what their level excuses.

use reenact_json::Shown;
use reenact_run::Exchange;

use crate::difference::{RequestDiff, RequestDifference};
use crate::match_level::MatchLevel;
use crate::request::MaskedPlayerRequest;
use crate::request_key::key_parts;

/// Exchange whose request differed. All texts are safe to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferingExchange {
    /// Id of the recorded step.
    pub step_id: String,
    /// Level at which the requests are the same.
    pub level: MatchLevel,
    /// First differences.
    pub differences: Vec<RequestDifference>,
    /// Number of all differences, counted in leaves.
    pub distance: usize,
}

impl DifferingExchange {
    /// Compares a request with the recorded one; `None` if the recorded one cannot be read.
    pub(crate) fn of(
        exchange: &Exchange<'_>,
        level: MatchLevel,
        masked: &MaskedPlayerRequest<'_>,
    ) -> Option<Self> {
        let request = exchange.request().ok()?;
        // The short texts tell which words moved; whole conversations would be kept once more.
        let found = RequestDiff::in_short(&key_parts(&request), &masked.key_parts());
        let step_id = Shown::new(&exchange.step_id()).to_string();
        Some(Self { step_id, level, differences: found.listed, distance: found.distance })
    }
}

/// Differing exchanges of a replay, in the order in which they were served.
#[derive(Debug, Default)]
pub(crate) struct DifferingList {
    listed: Vec<DifferingExchange>,
}

/// Largest number of differing exchanges that are compared and listed.
const MAX_LISTED: usize = 1_000;

impl DifferingList {
    /// Returns true if no further exchange will be listed.
    pub(crate) fn is_full(&self) -> bool {
        self.listed.len() >= MAX_LISTED
    }

    /// Lists an exchange, if there is room.
    pub(crate) fn add(&mut self, exchange: Option<DifferingExchange>) {
        if !self.is_full() {
            self.listed.extend(exchange);
        }
    }

    /// Returns the exchanges that are listed.
    pub(crate) fn listed(&self) -> &[DifferingExchange] {
        &self.listed
    }
}
