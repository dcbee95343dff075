//! Beside the checks: did the events obey the signed envelope?
//!
//! A check says that a record is what was sealed. The audit says whether what was sealed kept to what was allowed. It never
//! changes a check.

/// What a rule of the envelope came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Kept.
    Pass,
    /// Broken.
    Fail,
    /// Cannot be told from this record.
    Inconclusive,
}

impl Verdict {
    /// The word that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// One rule, and what it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleVerdict {
    /// The name of the rule.
    pub rule: &'static str,
    /// What it came to.
    pub verdict: Verdict,
    /// The event that decided it, if one did.
    pub event: Option<usize>,
    /// Why.
    pub reason: String,
}

/// Every rule, in the order of the contract.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audit {
    /// The rules.
    pub rules: Vec<RuleVerdict>,
}

impl Audit {
    /// Whether all rules were kept; `None` if that cannot be told and none is known to be broken.
    pub fn ok(&self) -> Option<bool> {
        let any = |verdict| self.rules.iter().any(|rule| rule.verdict == verdict);
        match (any(Verdict::Fail), any(Verdict::Inconclusive)) {
            (true, _) => Some(false),
            (false, true) => None,
            // No rule at all says nothing at all.
            (false, false) if self.rules.is_empty() => None,
            (false, false) => Some(true),
        }
    }

    /// How many rules came to a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rules.iter().filter(|rule| rule.verdict == verdict).count()
    }
}
