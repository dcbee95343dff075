//! The audit: did the events obey the signed envelope?
//!
//! A check says that a record is what was sealed. The audit says, beside the checks, whether the sealed
//! run kept to its permissions and limits. It never changes the result of a check. The types here are
//! independent of formats; `rer::audit` fills them in for RER artifacts. Start reading at [`Audit`].

/// Result of one audit rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditVerdict {
    /// The events kept the rule.
    Pass,
    /// An event broke the rule.
    Fail,
    /// The record does not tell, for instance because a payload is withheld or something was not
    /// captured.
    Inconclusive,
}

impl AuditVerdict {
    /// Returns the word that reports use: `pass`, `fail` or `inconclusive`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Result of one audit rule, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleVerdict {
    /// Name of the rule, such as `max_steps`.
    pub rule: &'static str,
    /// Result of the rule.
    pub verdict: AuditVerdict,
    /// Position in `events`, 0-based, of the event that decided the result. `None` if no single event
    /// did.
    pub event: Option<usize>,
    /// Reason in words, safe to print.
    pub reason: String,
}

/// Results of all audit rules of one record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audit {
    /// One entry for each rule, in the order in which reports list them.
    pub rules: Vec<RuleVerdict>,
    /// True if the envelope restricts nothing: the run was only observed, or imported.
    pub is_unrestricted: bool,
}

impl Audit {
    /// Returns true if every rule passes and false if any fails.
    ///
    /// `None` if no rule fails but one is inconclusive, or if there are no rules at all.
    ///
    /// ```
    /// use reenact_verify::Audit;
    ///
    /// assert_eq!(Audit::default().ok(), None);
    /// ```
    pub fn ok(&self) -> Option<bool> {
        let any = |verdict| self.rules.iter().any(|rule| rule.verdict == verdict);
        match (any(AuditVerdict::Fail), any(AuditVerdict::Inconclusive)) {
            (true, _) => Some(false),
            (false, true) => None,
            // An audit without rules proves nothing.
            (false, false) if self.rules.is_empty() => None,
            (false, false) => Some(true),
        }
    }

    /// Returns the number of rules with this verdict.
    pub fn count(&self, verdict: AuditVerdict) -> usize {
        self.rules.iter().filter(|rule| rule.verdict == verdict).count()
    }
}
