//! Cost of a call whose exchange is over: by the vendor's last count, or else the least that it can have cost.
//!
//! The policy gate counts it before the next decision, and the event builder records it; both ask [`Charge::of`].

use reenact_record::observation::Admission;
use reenact_record::policy_engine::Money;
use reenact_wire::price::{Rates, estimated_tokens};
use reenact_wire::{Endpoint, ModelAnswer, Usage, Vendor};

/// Tokens of an answer, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerCount {
    /// None that are charged: the request never left, or the vendor refused it.
    Nothing,
    /// Last count of the vendor.
    Final(Usage),
    /// The vendor's last count was not seen: it sent none, or the answer was cut before it came.
    Unfinished {
        /// Count of the vendor up to there.
        so_far: Option<Usage>,
        /// Bytes of text and tool calls that came.
        text_bytes: usize,
    },
}

impl AnswerCount {
    /// Count of an answer of which nothing came.
    pub(crate) const UNANSWERED: Self = Self::Unfinished { so_far: None, text_bytes: 0 };

    /// Returns the count of a parsed answer. `is_whole` is true if its end was received.
    pub(crate) fn of(answer: Option<&ModelAnswer>, is_whole: bool) -> Self {
        let so_far = answer.and_then(|answer| answer.usage);
        Self::of_parts(so_far, answer.map_or(0, ModelAnswer::text_bytes), is_whole)
    }

    /// Returns the count of an answer with this usage and so many bytes of text and tool calls.
    pub(crate) fn of_parts(so_far: Option<Usage>, text_bytes: usize, is_whole: bool) -> Self {
        match so_far.filter(|_| is_whole) {
            Some(usage) => Self::Final(usage),
            None => Self::Unfinished { so_far, text_bytes },
        }
    }
}

impl AnswerCount {
    /// Returns the count as one that may not be right.
    pub(crate) fn as_estimate(self) -> Self {
        match self {
            Self::Final(usage) => Self::Unfinished { so_far: Some(usage), text_bytes: 0 },
            other => other,
        }
    }
}

/// Cost of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Charge {
    /// Prices of the model.
    pub(crate) rates: Rates,
    /// Tokens that are charged.
    pub(crate) usage: Usage,
    /// Cost of these tokens.
    pub(crate) amount: Money,
    /// True if the call may have cost more.
    pub(crate) is_estimate: bool,
}

impl Charge {
    /// Returns the cost of a call; `None` if its model has no price. The tokens are counted in the way of the interface, or else of
    /// the vendor.
    pub(crate) fn of(
        admission: &Admission<'_>,
        vendor: Vendor,
        endpoint: Option<Endpoint>,
        count: AnswerCount,
    ) -> Option<Self> {
        let rates = admission.rates?;
        let vendor = endpoint.and_then(Endpoint::vendor).unwrap_or(vendor);
        let (usage, is_estimate) = match count {
            _ if rates.is_free() => (Usage::default(), false),
            AnswerCount::Nothing => (Usage::default(), false),
            AnswerCount::Final(usage) => (usage, false),
            AnswerCount::Unfinished { so_far, text_bytes } => {
                let input = u128::from(admission.estimate).checked_div(rates.input.into());
                let input_tokens = u64::try_from(input.unwrap_or_default()).unwrap_or(u64::MAX);
                let usage = so_far.unwrap_or(Usage { input_tokens, ..Usage::default() });
                let output_tokens = usage.output_tokens.max(estimated_tokens(text_bytes));
                (Usage { output_tokens, ..usage }, true)
            }
        };
        let amount = Money::from_picodollars(rates.cost(vendor, &usage));
        Some(Self { rates, usage, amount, is_estimate })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const RATES: Rates = Rates { input: 10, cached_input: 1, cache_write: 20, output: 100 };

    fn charge(rates: Rates, count: AnswerCount) -> (u128, bool) {
        let admission = Admission {
            at: Duration::ZERO,
            approval_id: None,
            warning: None,
            rates: Some(rates),
            estimate: 30,
        };
        let charge = Charge::of(&admission, Vendor::ANTHROPIC, None, count).unwrap();
        (charge.amount.picodollars(), charge.is_estimate)
    }

    #[test]
    fn by_what_is_known() {
        let usage = Usage { input_tokens: 7, output_tokens: 2, ..Usage::default() };
        assert_eq!(charge(RATES, AnswerCount::Nothing), (0, false));
        assert_eq!(charge(RATES, AnswerCount::Final(usage)), (270, false));
        // The request was estimated at 3 tokens; 9 bytes of text are 3 more.
        assert_eq!(charge(RATES, AnswerCount::UNANSWERED), (30, true));
        assert_eq!(charge(RATES, AnswerCount::Unfinished { so_far: None, text_bytes: 9 }), (330, true));
        // A count that is not the last one is right for the input, and the output is at least what came.
        let so_far = Some(Usage { output_tokens: 1, ..usage });
        assert_eq!(charge(RATES, AnswerCount::Unfinished { so_far, text_bytes: 9 }), (370, true));
        assert_eq!(charge(RATES, AnswerCount::Unfinished { so_far, text_bytes: 0 }), (170, true));
        assert_eq!(charge(RATES, AnswerCount::Final(usage).as_estimate()), (270, true));
        assert_eq!(charge(RATES, AnswerCount::Nothing.as_estimate()), (0, false));
        assert_eq!(charge(Rates::default(), AnswerCount::UNANSWERED), (0, false), "it is free");
    }

    /// OpenRouter speaks two interfaces: in one of them cached tokens are part of the input, in the other they are not.
    #[test]
    fn tokens_are_counted_in_the_way_of_the_interface() {
        let usage = Usage { input_tokens: 7, cached_input_tokens: 5, ..Usage::default() };
        let admission = Admission {
            at: Duration::ZERO,
            approval_id: None,
            warning: None,
            rates: Some(RATES),
            estimate: 0,
        };
        let amount = |endpoint| {
            let charge =
                Charge::of(&admission, Vendor::OPENROUTER, Some(endpoint), AnswerCount::Final(usage));
            charge.unwrap().amount.picodollars()
        };
        assert_eq!(amount(Endpoint::CHAT_COMPLETIONS), 2 * 10 + 5);
        assert_eq!(amount(Endpoint::MESSAGES), 7 * 10 + 5);
    }

    #[test]
    fn only_the_last_count_is_final() {
        let last = Usage { output_tokens: 1, ..Usage::default() };
        let usage = Some(last);
        let answer = ModelAnswer { text: "four".to_owned(), usage, ..ModelAnswer::default() };
        assert_eq!(AnswerCount::of(Some(&answer), true), AnswerCount::Final(last));
        let cut = AnswerCount::Unfinished { so_far: usage, text_bytes: 4 };
        assert_eq!(AnswerCount::of(Some(&answer), false), cut);
        assert_eq!(AnswerCount::of(None, true), AnswerCount::UNANSWERED);
    }
}
