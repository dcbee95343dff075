//! [`RuleTracker`]: the verdict on one rule while the events are read.

use crate::audit::{AuditVerdict, RuleVerdict};

/// Verdict on one rule so far: pass until something is found. The first failure stays; without a
/// failure, the first doubt does.
pub(super) struct RuleTracker {
    /// Name of the rule.
    rule: &'static str,
    /// Verdict other than pass, with the event that caused it and the reason.
    outcome: Option<(AuditVerdict, Option<usize>, String)>,
}

impl RuleTracker {
    /// Creates a tracker that passes.
    pub(super) fn new(rule: &'static str) -> Self {
        Self { rule, outcome: None }
    }

    /// Records that an event broke the rule.
    pub(super) fn fail(&mut self, event: usize, reason: &str) {
        if !matches!(self.outcome, Some((AuditVerdict::Fail, ..))) {
            self.outcome = Some((AuditVerdict::Fail, Some(event), reason.to_owned()));
        }
    }

    /// Returns true if the rule was broken.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self.outcome, Some((AuditVerdict::Fail, ..)))
    }

    /// Records that the rule was broken, but not by a single event.
    pub(super) fn fail_without_event(&mut self, reason: &str) {
        if !matches!(self.outcome, Some((AuditVerdict::Fail, ..))) {
            self.outcome = Some((AuditVerdict::Fail, None, reason.to_owned()));
        }
    }

    /// Records that the record does not tell whether the rule was kept.
    pub(super) fn mark_inconclusive(&mut self, event: Option<usize>, reason: &str) {
        if self.outcome.is_none() {
            self.outcome = Some((AuditVerdict::Inconclusive, event, reason.to_owned()));
        }
    }

    /// Returns the verdict. `pass_reason` is the reason of a pass.
    pub(super) fn into_verdict(self, pass_reason: &str) -> RuleVerdict {
        let (verdict, event, reason) =
            self.outcome.unwrap_or((AuditVerdict::Pass, None, pass_reason.to_owned()));
        RuleVerdict { rule: self.rule, verdict, event, reason }
    }
}
