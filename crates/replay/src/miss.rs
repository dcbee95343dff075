//! A request that has no recorded answer, and the closest that has one.

use core::fmt;

use crate::answer::NotServed;
use crate::difference::RequestDifference;

/// The code that programs branch on.
pub const CODE: &str = "E_REPLAY_MISSING_DEPENDENCY";

/// A request that has no recorded answer. All texts are safe to print.
///
/// `{miss}` is one line, for the agent; `{miss:#}` is what a person needs to see, over several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// The name of the route that it came in by.
    pub provider: String,
    /// `POST` and the like.
    pub method: String,
    /// Its path, masked.
    pub path: String,
    /// The model that it asks for, if it says so.
    pub model: Option<String>,
    /// The key that nothing recorded has, or nothing that is left.
    pub key: String,
    /// Why there is no answer.
    pub cause: MissCause,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissCause {
    /// Nothing at all was recorded that could be compared.
    NothingRecorded,
    /// It was never recorded; this comes closest.
    Unknown(Closest),
    /// It was never recorded, and of what was only hashes are held: nothing can be compared.
    OnlyHashes {
        /// How many.
        recorded: usize,
    },
    /// It was never recorded; after so many of that kind, the closest was not looked for.
    NotCompared,
    /// It was recorded, but not so often: each answer is given once.
    AskedMoreOften {
        /// How often it was recorded.
        recorded: usize,
    },
    /// It was recorded, but its answer cannot be served.
    NoAnswer {
        /// The recorded step.
        step_id: String,
        /// What is wrong with the answer.
        why: NotServed,
    },
}

/// A recorded request, and what an asked one differs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closest {
    /// The recorded step.
    pub step_id: String,
    /// Whether its answer was given already.
    pub is_served: bool,
    /// The first differences.
    pub differences: Vec<RequestDifference>,
    /// How many there are in all, counted in values that are no lists or objects.
    pub distance: usize,
}

impl MissCause {
    /// The word that reports use.
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
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = if self.distance == 1 { "value" } else { "values" };
        let served = if self.is_served { " (which was asked for already)" } else { "" };
        write!(f, "the closest is step {}{served}, it differs in {} {values}", self.step_id, self.distance)?;
        let nothing = "nothing".to_owned();
        let sides = |difference: &RequestDifference| {
            [&difference.recorded, &difference.asked].map(|side| side.as_ref().unwrap_or(&nothing).clone())
        };
        if !f.alternate() {
            return match self.differences.first() {
                Some(first) => {
                    let [recorded, asked] = sides(first);
                    write!(f, "; first at {}: recorded {recorded}, asked {asked}", first.location)
                }
                None => Ok(()),
            };
        }
        for difference in &self.differences {
            let [recorded, asked] = sides(difference);
            write!(f, "\n  {}\n    recorded {recorded}\n    asked    {asked}", difference.location)?;
        }
        if self.differences.len() < self.distance {
            f.write_str("\n  …")?;
        }
        Ok(())
    }
}
