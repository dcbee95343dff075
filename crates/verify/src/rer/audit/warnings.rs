//! [`Warnings`]: denials that had no effect, in a run that only warned (`record --policy-mode warn`).
//!
//! What was denied there happened. Most rules show that by the action itself; for the others the decision is all that a
//! record has.

use std::collections::BTreeMap;

use reenact_formats::rer::EventType;

use super::audited_event::{AuditedEvent, AuditedKind};

/// Reason for a rule that an action broke by the word of the policy.
pub(super) const DENIED_AND_DONE: &str = "the policy denied it, and the run only warned";

/// Denials whose actions have not been seen.
#[derive(Default)]
pub(super) struct Warnings {
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
}

impl Warnings {
    /// Remembers a denial.
    pub(super) fn observe(&mut self, event: &AuditedEvent<'_>) {
        self.is_warn_run |= event.index == 0 && event.begins_warn_run();
        if !self.is_warn_run || event.kind != AuditedKind::Event(EventType::PolicyEvaluated) {
            return;
        }
        let Some(rule) = event.denying_rule() else { return };
        let warning = PolicyWarning { rule: rule.into_owned(), event: event.index };
        match event.step_id_bytes() {
            Some(step_id) => {
                self.by_step.insert(step_id.into_owned(), warning);
            }
            // The first of a rule is the one that its verdict names.
            None if self.unnamed.iter().all(|known| known.rule != warning.rule) => self.unnamed.push(warning),
            None => {}
        }
    }

    /// Takes the denial of a step.
    pub(super) fn take(&mut self, step_id: &[u8]) -> Option<PolicyWarning> {
        self.by_step.remove(step_id)
    }

    /// Returns the denials without an action, such as of an answer that could not be read, in order.
    pub(super) fn unfollowed(self) -> Vec<PolicyWarning> {
        let mut rest: Vec<PolicyWarning> = self.by_step.into_values().chain(self.unnamed).collect();
        rest.sort_by_key(|warning| warning.event);
        rest
    }
}
