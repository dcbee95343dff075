//! Misses: requests without a recorded answer, with the cause and the closest recorded request.

use core::fmt;

use crate::answer::NotServed;
use crate::difference::RequestDifference;

/// Error code of a miss, for programs that branch on it.
pub const CODE: &str = "E_REPLAY_MISSING_DEPENDENCY";

/// Request without a recorded answer. All texts are safe to print.
///
/// `{miss}` prints one line, for the agent; `{miss:#}` lists all differences over several lines, for a person.
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
            Self::NoAnswer { .. } => "no-answer",
        }
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{CODE}: no recorded answer for {} {} ({}", self.method, self.path, self.provider)?;
        if let Some(model) = &self.model {
            write!(f, ", {model}")?;
        }
        f.write_str("): ")?;
        match &self.cause {
            MissCause::NothingRecorded => f.write_str("nothing was recorded that it could be compared with"),
            MissCause::Unknown(closest) => closest.write(f),
            MissCause::OnlyHashes { recorded } => {
                let prompts = if *recorded == 1 { "prompt is" } else { "prompts are" };
                write!(f, "{recorded} {prompts} recorded, by hashes that are not its own")
            }
            MissCause::NotCompared => f.write_str("too many requests were not recorded to compare this one"),
            MissCause::AskedMoreOften { recorded } => {
                let times = if *recorded == 1 { "once" } else { &format!("{recorded} times") };
                write!(f, "it was recorded {times}, and is asked once more")
            }
            MissCause::NoAnswer { step_id, why } => write!(f, "it was recorded as step {step_id}, but {why}"),
        }
    }
}

impl Closest {
    /// Writes the closest step and its distance, then the first difference; with `#`, all listed differences.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = if self.distance == 1 { "value" } else { "values" };
        let served = if self.is_served { " (which was asked for already)" } else { "" };
        write!(f, "the closest is step {}{served}, it differs in {} {values}", self.step_id, self.distance)?;
        let nothing = "nothing".to_owned();
        let sides = |difference: &RequestDifference| {
            [&difference.recorded, &difference.requested]
                .map(|side| side.as_ref().unwrap_or(&nothing).clone())
        };
        if !f.alternate() {
            return match self.differences.first() {
                Some(first) => {
                    let [recorded, requested] = sides(first);
                    write!(f, "; first at {}: recorded {recorded}, asked {requested}", first.location)
                }
                None => Ok(()),
            };
        }
        for difference in &self.differences {
            let [recorded, requested] = sides(difference);
            write!(f, "\n  {}\n    recorded {recorded}\n    asked    {requested}", difference.location)?;
        }
        if self.differences.len() < self.distance {
            f.write_str("\n  …")?;
        }
        Ok(())
    }
}
