//! The verdict on one rule while the events go by.

use crate::audit::{RuleVerdict, Verdict};

/// Kept until something is found; the first failure stays, and before it the first doubt.
pub(super) struct Tracker {
    rule: &'static str,
    found: Option<(Verdict, Option<usize>, String)>,
}

impl Tracker {
    pub(super) fn new(rule: &'static str) -> Self {
        Self { rule, found: None }
    }

    /// The rule was broken by an event.
    pub(super) fn fail(&mut self, event: usize, reason: &str) {
        if !matches!(self.found, Some((Verdict::Fail, ..))) {
            self.found = Some((Verdict::Fail, Some(event), reason.to_owned()));
        }
    }

    /// The rule was broken, but by no event of its own.
    pub(super) fn fail_at_end(&mut self, reason: &str) {
        if !matches!(self.found, Some((Verdict::Fail, ..))) {
            self.found = Some((Verdict::Fail, None, reason.to_owned()));
        }
    }

    /// An event makes it impossible to tell.
    pub(super) fn doubt(&mut self, event: Option<usize>, reason: &str) {
        if self.found.is_none() {
            self.found = Some((Verdict::Inconclusive, event, reason.to_owned()));
        }
    }

    /// The verdict; `kept` is what there is to say of a rule that was kept.
    pub(super) fn conclude(self, kept: &str) -> RuleVerdict {
        let (verdict, event, reason) = self.found.unwrap_or((Verdict::Pass, None, kept.to_owned()));
        RuleVerdict { rule: self.rule, verdict, event, reason }
    }
}
