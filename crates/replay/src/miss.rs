//! Misses: requests without a recorded answer, with the cause and the closest recorded request.

use core::fmt;
use std::sync::Arc;

use crate::answer::NotServed;
use crate::difference::{RequestDifference, WholeValues};
use crate::hint::MissHint;
use crate::match_level::MatchLevel;

/// Error code of a miss, for programs that branch on it.
pub const CODE: &str = "E_REPLAY_MISSING_DEPENDENCY";

/// Request without a recorded answer. All texts are safe to print.
///
/// `{miss}` prints one line, for the agent. For people there is [`RepeatedMiss`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// Name of the route of the request, such as `openai`.
    pub provider: String,
    /// HTTP method, such as `POST`.
    pub method: String,
    /// Path with its query, masked.
    pub path: String,
    /// Model that the request names, if any.
    pub model: Option<String>,
    /// Key that was not found, or found only in exchanges that are served already; 64 hexadecimal digits.
    pub key: String,
    /// Reason why there is no answer.
    pub cause: MissCause,
}

/// Reason why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissCause {
    /// The record holds no request to compare with.
    NothingRecorded,
    /// The request was never recorded; holds the closest one that was.
    Unknown(Closest),
    /// The request was never recorded, and the record holds only hashes of requests, which cannot be compared.
    OnlyHashes {
        /// Number of requests that are recorded by their hash.
        recorded: usize,
    },
    /// The request was never recorded. Too many others were not either, so the closest one was not searched.
    NotCompared,
    /// The request was recorded, but less often: each recorded answer is served once.
    AskedMoreOften {
        /// Number of times that the request was recorded.
        recorded: usize,
    },
    /// The request fits recorded requests that differ from each other, so that any answer would be a guess.
    Several {
        /// Ids of two of the recorded steps.
        step_ids: [String; 2],
        /// Strictest level at which they fit.
        level: MatchLevel,
    },
    /// The request was recorded, but its answer cannot be served.
    NoAnswer {
        /// Id of the recorded step.
        step_id: String,
        /// Fault of the recorded answer.
        why: NotServed,
    },
}

/// Recorded request that differs least from an incoming one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closest {
    /// Id of the recorded step.
    pub step_id: String,
    /// True if the answer of the recorded request was served already.
    pub is_served: bool,
    /// First differences, at most 20.
    pub differences: Vec<RequestDifference>,
    /// Number of all differences, counted in leaves: JSON values that are no lists or objects.
    pub distance: usize,
    /// Guesses at the cause of the differences.
    pub hints: Vec<MissHint>,
}

/// Miss, and the number of requests that missed so.
///
/// `{miss}` lists the first differences over several lines, each short; `{miss:#}` lists more, with their values whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatedMiss {
    /// The miss.
    pub miss: Arc<Miss>,
    /// Number of requests, 1 or more.
    pub times: usize,
}

impl MissCause {
    /// Returns the cause's name in reports, such as `asked-more-often`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NothingRecorded => "nothing-recorded",
            Self::Unknown(_) => "unknown",
            Self::OnlyHashes { .. } => "only-hashes",
            Self::NotCompared => "not-compared",
            Self::AskedMoreOften { .. } => "asked-more-often",
            Self::Several { .. } => "several",
            Self::NoAnswer { .. } => "no-answer",
        }
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_beginning(1, f)?;
        let MissCause::Unknown(closest) = &self.cause else { return Ok(()) };
        match closest.differences.first() {
            Some(first) => {
                let [recorded, requested] = sides(first);
                write!(f, "; first at {}: recorded {recorded}, asked {requested}", first.location)
            }
            None => Ok(()),
        }
    }
}

impl Miss {
    /// Writes what was asked, so many times, and why there is no answer, without any difference.
    fn write_beginning(&self, times: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{CODE}: no recorded answer for {} {} ({}", self.method, self.path, self.provider)?;
        if let Some(model) = &self.model {
            write!(f, ", {model}")?;
        }
        f.write_str(")")?;
        let is_counted_below = matches!(self.cause, MissCause::AskedMoreOften { .. });
        if times > 1 && !is_counted_below {
            write!(f, ", asked {times} times")?;
        }
        f.write_str(": ")?;
        match &self.cause {
            MissCause::NothingRecorded => f.write_str("nothing was recorded that it could be compared with"),
            MissCause::Unknown(Closest { step_id, is_served, distance, .. }) => {
                let values = if *distance == 1 { "value" } else { "values" };
                let served = if *is_served { " (which was asked for already)" } else { "" };
                write!(f, "the closest is step {step_id}{served}, it differs in {distance} {values}")
            }
            MissCause::OnlyHashes { recorded } => {
                let prompts = if *recorded == 1 { "prompt is" } else { "prompts are" };
                write!(f, "{recorded} {prompts} recorded, by hashes that are not its own")
            }
            MissCause::NotCompared => f.write_str("too many requests were not recorded to compare this one"),
            MissCause::AskedMoreOften { recorded } => {
                let count = |count: usize| if count == 1 { "once".into() } else { format!("{count} times") };
                write!(f, "it was recorded {}, and is asked {} more", count(*recorded), count(times))
            }
            MissCause::Several { step_ids: [first, second], level } => write!(
                f,
                "it fits steps {first} and {second} alike (level {level}), which differ from each other: any answer would be a guess"
            ),
            MissCause::NoAnswer { step_id, why } => write!(f, "it was recorded as step {step_id}, but {why}"),
        }
    }
}

impl Miss {
    /// Returns true if another request missed so that nothing of it would be shown otherwise.
    pub(crate) fn is_shown_as(&self, other: &Self) -> bool {
        let destination = |miss: &Self| [&miss.provider, &miss.method, &miss.path].map(String::clone);
        // Other causes tell nothing of the request, so that two of them may be of different ones.
        let is_told_whole = matches!(self.cause, MissCause::Unknown(_)) || self.key == other.key;
        is_told_whole
            && (&self.cause, &self.model) == (&other.cause, &other.model)
            && destination(self) == destination(other)
    }

    /// Drops the whole values if the sum with those that are kept already would be more than `max`, and returns the sum.
    pub(crate) fn keep_whole_values(&mut self, kept: usize, max: usize) -> usize {
        let MissCause::Unknown(closest) = &mut self.cause else { return kept };
        let whole = closest.differences.iter().filter_map(|difference| difference.whole.as_ref());
        let sum = whole.map(WholeValues::len).sum::<usize>().saturating_add(kept);
        if sum <= max {
            return sum;
        }
        closest.differences.iter_mut().for_each(|difference| difference.whole = None);
        kept
    }
}

/// Largest number of differences that are listed in short.
const MAX_SHORT_DIFFERENCES: usize = 6;

impl fmt::Display for RepeatedMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.miss.write_beginning(self.times, f)?;
        let MissCause::Unknown(closest) = &self.miss.cause else { return Ok(()) };
        let max = if f.alternate() { usize::MAX } else { MAX_SHORT_DIFFERENCES };
        let shown = closest.differences.len().min(max);
        for difference in closest.differences.iter().take(shown) {
            write!(f, "\n  {}", difference.location)?;
            match difference.whole.as_ref().filter(|_| f.alternate()) {
                Some(whole) => whole.write(f)?,
                None => {
                    let [recorded, requested] = sides(difference);
                    write!(f, "\n    recorded {recorded}\n    asked    {requested}")?;
                }
            }
        }
        if shown < closest.distance {
            write!(f, "\n  … and {} more", closest.distance - shown)?;
        }
        closest.hints.iter().try_for_each(|hint| write!(f, "\n  hint: {}", hint.advice))
    }
}

/// Returns the recorded and the incoming value of a difference, as they are shown.
fn sides(difference: &RequestDifference) -> [&str; 2] {
    [&difference.recorded, &difference.requested].map(|side| side.as_deref().unwrap_or("nothing"))
}

impl WholeValues {
    /// Writes both values line by line: lines that only the recorded one has after `-`, those that only the incoming one has
    /// after `+`, and those that both begin or end with as they are.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = |text: &'_ Option<String>| -> Vec<String> {
            text.iter().flat_map(|text| text.split('\n').map(str::to_owned)).collect()
        };
        let (recorded, requested) = (lines(&self.recorded), lines(&self.requested));
        let front = recorded.iter().zip(&requested).take_while(|(a, b)| a == b).count();
        let (recorded_rest, requested_rest) = (recorded.split_at(front).1, requested.split_at(front).1);
        let back = recorded_rest.iter().rev().zip(requested_rest.iter().rev());
        let back = back.take_while(|(a, b)| a == b).count();
        let (only_recorded, both_behind) = recorded_rest.split_at(recorded_rest.len() - back);
        let only_requested = requested_rest.split_at(requested_rest.len() - back).0;
        for (mark, lines) in [
            (' ', recorded.split_at(front).0),
            ('-', only_recorded),
            ('+', only_requested),
            (' ', both_behind),
        ] {
            for line in lines {
                write!(f, "\n    {}", format!("{mark} {line}").trim_end())?;
            }
        }
        Ok(())
    }
}
