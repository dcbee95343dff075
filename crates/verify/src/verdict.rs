//! [`Verdict`]: the conclusion on a record in one word.
//!
//! The checks say what holds, trust says who vouches for the signer. The verdict sums up the checks alone; see
//! [`Report::verdict`](crate::Report::verdict).

use core::fmt;

use crate::check::CheckId;

/// Conclusion on a record as a whole. Names are fixed: programs branch on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Every check holds, or had nothing to check.
    Intact,
    /// Everything that needs no key holds, but the key of the signature is not at hand.
    Unproven,
    /// Every check holds, but the recorder did not vouch for the end of the run: it was sealed after the recorder
    /// had stopped, or someone had changed its journal.
    Recovered,
    /// A check fails, or the target could not be read.
    Failed,
}

impl Verdict {
    /// Returns the word that reports use, such as `unproven`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::Unproven => "unproven",
            Self::Recovered => "recovered",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Key that a record names and that is not at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingKey {
    /// Description of the key that the sender has to give, safe to print.
    pub wanted: String,
    /// Checks that fail for want of this key.
    pub(crate) checks: Vec<CheckId>,
}

impl MissingKey {
    /// Returns the request to the sender, such as `ask the sender for the public key 1a2b…, and give it with --key`.
    pub fn request(&self, option: &str) -> String {
        format!("ask the sender for {}, and give it with {option}", self.wanted)
    }
}
