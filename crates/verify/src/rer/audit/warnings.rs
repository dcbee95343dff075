//! [`Warnings`]: denials that had no effect, in a run that only warned (`record --policy-mode warn`), and of models that answered
//! in place of others.
//!
//! What was denied there happened. Most rules show that by the action itself; for the others the decision is all that a
//! record has. An enforced run blocks what it denies; a model that answers, it can only deny afterwards.

use std::collections::BTreeMap;

use reenact_formats::rer::EventType;

use super::audited_event::{AuditedEvent, AuditedKind};

/// Reason for a rule that an action broke by the word of the policy.
pub(super) const DENIED_AND_DONE: &str = "the policy denied it, and the run only warned";

/// Reason for `allowed_models` if another model answered than was asked.
pub(super) const ANSWERED_BY_ANOTHER: &str = "a model answered that is not on the list";

/// Denials whose actions have not been seen.
#[derive(Default)]
pub(super) struct Warnings {
    /// True if the run was recovered: its recorder may have been killed between a denial and the block that follows it.
    is_recovered: bool,
    /// Index of the last decision.
    last_decision: Option<usize>,
    /// True after the start of a run that only warns.
    is_warn_run: bool,
    /// Denials by step id.
    by_step: BTreeMap<Vec<u8>, PolicyWarning>,
    /// Denials that name no step.
    unnamed: Vec<PolicyWarning>,
}

/// One denial.
pub(super) struct PolicyWarning {
    /// Name of the rule.
    pub(super) rule: String,
    /// Index of the decision.
    pub(super) event: usize,
    /// Reason that the audit gives.
    pub(super) reason: &'static str,
}

impl Warnings {
    /// Remembers a denial.
    pub(super) fn observe(&mut self, event: &AuditedEvent<'_>) {
        self.is_warn_run |= event.index == 0 && event.begins_warn_run();
        self.is_recovered |= event.kind == AuditedKind::Event(EventType::RunRecovered);
        let is_decision = event.kind == AuditedKind::Event(EventType::PolicyEvaluated);
        if is_decision {
            self.last_decision = Some(event.index);
        }
        let denying_rule = event.denying_rule().filter(|_| is_decision);
        let Some(rule) = denying_rule else {
            let is_block = event.kind == AuditedKind::Event(EventType::StepBlocked);
            if !self.is_warn_run
                && (is_block || is_decision)
                && let Some(step_id) = event.step_id_bytes()
            {
                self.by_step.remove(&*step_id);
            }
            return;
        };
        let reason = match self.is_warn_run {
            true => DENIED_AND_DONE,
            false if rule == "allowed_models" => ANSWERED_BY_ANOTHER,
            // What an enforced run denies otherwise does not happen.
            false => return,
        };
        let warning = PolicyWarning { rule: rule.into_owned(), event: event.index, reason };
        match event.step_id_bytes() {
            Some(step_id) => {
                self.by_step.insert(step_id.into_owned(), warning);
            }
            // The first of a rule is the one that its verdict names.
            // Whatever blocks such a step in an enforced run cannot be told from others.
            None if !self.is_warn_run => {}
            None if self.unnamed.iter().all(|known| known.rule != warning.rule) => self.unnamed.push(warning),
            None => {}
        }
    }

    /// Takes the denial of a step that happens. In an enforced run it breaks the order of events, and no other rule by itself.
    pub(super) fn take(&mut self, step_id: &[u8]) -> Option<PolicyWarning> {
        self.by_step.remove(step_id).filter(|_| self.is_warn_run)
    }

    /// Returns the denials without an action, such as of an answer that could not be read, in order.
    ///
    /// The denial at which a recovered run breaks off is none of them: nothing tells whether it was blocked. The recovery itself
    /// makes every rule inconclusive.
    pub(super) fn unfollowed(self) -> Vec<PolicyWarning> {
        let broken_off = self.last_decision.filter(|_| self.is_recovered && !self.is_warn_run);
        let mut rest: Vec<PolicyWarning> = self.by_step.into_values().chain(self.unnamed).collect();
        rest.retain(|warning| Some(warning.event) != broken_off);
        rest.sort_by_key(|warning| warning.event);
        rest
    }
}
