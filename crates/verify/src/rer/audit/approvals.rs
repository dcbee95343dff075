//! Required approvals, and who gave them (§8.2, §8.3).
//!
//! What is judged is what the record says: that an approval was granted before the action, once for each, by someone of an
//! allowed type. The draft leaves the tokens themselves to a later version.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reenact_formats::rer::EventType;
use reenact_formats::rer::envelope::decide::Action;
use reenact_formats::rer::envelope::permission::{Envelope, SignerType};
use reenact_json::Shown;

use super::covering::Covering;
use super::step::{Step, StepKind};
use super::tracker::Tracker;
use crate::audit::RuleVerdict;

pub(super) struct Approvals {
    envelope: Arc<Envelope>,
    required: Tracker,
    signers: Tracker,
    /// The models and tools for which approvals were requested.
    requested: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Approvals that were granted: who signed, if that is told.
    granted: BTreeMap<Vec<u8>, Option<SignerType>>,
    denied: BTreeSet<Vec<u8>>,
    used: BTreeSet<Vec<u8>>,
    /// What the policy named when it allowed a step.
    named: BTreeMap<Vec<u8>, Option<Named>>,
    hidden: Hidden,
    covering: Covering,
    seen_types: BTreeSet<SignerType>,
    /// A grant that does not tell who signed it.
    untold: Option<usize>,
}

/// The approval that a policy named.
struct Named {
    id: Vec<u8>,
    /// Whether it had been granted by then, as §8.2 asks.
    in_time: bool,
}

/// Kinds of events that were seen without what they say: any of them may be the one that matters.
#[derive(Default)]
struct Hidden {
    decision: bool,
    grant: bool,
    denial: bool,
}

impl Approvals {
    pub(super) fn new(envelope: &Arc<Envelope>) -> Self {
        Self {
            envelope: Arc::clone(envelope),
            required: Tracker::new("required_approvals"),
            signers: Tracker::new("required_signer_types"),
            requested: BTreeMap::new(),
            granted: BTreeMap::new(),
            denied: BTreeSet::new(),
            used: BTreeSet::new(),
            named: BTreeMap::new(),
            hidden: Hidden::default(),
            covering: Covering::new(envelope),
            seen_types: BTreeSet::new(),
            untold: None,
        }
    }

    /// Whether the envelope asks for any approval: if not, nothing needs to be remembered.
    fn matters(&self) -> bool {
        !self.envelope.required_approvals.is_empty() || !self.envelope.required_signer_types.is_empty()
    }

    /// Something was not captured: an action without approval may be among it.
    pub(super) fn gap(&mut self, step: &Step<'_>) {
        // Who approved can only be more than is seen here; what needed it may be more, too.
        if !self.envelope.required_approvals.is_empty() {
            self.required.doubt(Some(step.index), super::UNCAPTURED);
        }
    }

    pub(super) fn see(&mut self, step: &Step<'_>) {
        if !self.matters() {
            return;
        }
        let approval = step.approval_id.and_then(|id| id.string_bytes()).map(|id| id.into_owned());
        match step.kind {
            StepKind::Event(EventType::ApprovalRequested) => {
                let name = step.name.and_then(|name| name.string_bytes()).map(|name| name.into_owned());
                if let (Some(id), Some(name)) = (approval, name) {
                    self.requested.insert(id, name);
                }
            }
            StepKind::Event(EventType::ApprovalGranted) => {
                self.hidden.grant |= step.withheld;
                let signer = step.signer_type().and_then(SignerType::of);
                match signer {
                    Some(signer) => {
                        self.seen_types.insert(signer);
                    }
                    None => {
                        self.untold.get_or_insert(step.index);
                    }
                }
                if let Some(id) = approval {
                    self.granted.insert(id, signer);
                }
            }
            StepKind::Event(EventType::ApprovalDenied) => {
                self.hidden.denial |= step.withheld;
                if let Some(id) = approval {
                    self.granted.remove(&id);
                    self.denied.insert(id);
                }
            }
            StepKind::Event(EventType::PolicyEvaluated) => {
                self.hidden.decision |= step.withheld;
                if let Some(step_id) = step.step_key().filter(|_| step.allows() == Some(true)) {
                    let named = approval.map(|id| Named { in_time: self.granted.contains_key(&id), id });
                    self.named.insert(step_id.into_owned(), named);
                }
            }
            _ => {}
        }
    }

    /// An action begins.
    pub(super) fn called(&mut self, step: &Step<'_>, action: Action, name: Option<&str>) {
        if !self.covering.asks[action as usize] {
            return;
        }
        let Some(name) = name else {
            return self.required.doubt(Some(step.index), step.why_unnamed());
        };
        let Some(rules) = self.covering.rules(&self.envelope, action, name) else {
            let reason = "there are too many approval rules and names to compare all of them";
            return self.required.doubt(Some(step.index), reason);
        };
        if rules.is_empty() {
            return;
        }
        let what = Shown::new(name).to_string();
        let decision = step.step_key().and_then(|step_id| self.named.remove(&*step_id));
        let approval = match decision {
            Some(Some(approval)) => approval,
            None if self.hidden.decision => {
                let reason = "a decision is withheld, so it cannot be told whether this was approved";
                return self.required.doubt(Some(step.index), reason);
            }
            _ => {
                return self.required.fail(step.index, &format!("\"{what}\" was called without an approval"));
            }
        };
        let Some(signer) = self.granted.get(&approval.id).copied() else {
            if self.denied.contains(&approval.id) {
                return self.required.fail(step.index, &format!("the approval for \"{what}\" was denied"));
            }
            if self.hidden.grant {
                let reason = "a grant is withheld, so it cannot be told whether this was approved";
                return self.required.doubt(Some(step.index), reason);
            }
            return self.required.fail(step.index, &format!("the approval for \"{what}\" was never granted"));
        };
        if !approval.in_time {
            let reason = format!("the approval for \"{what}\" was granted after the policy had allowed it");
            return self.required.fail(step.index, &reason);
        }
        let asked_for = self.requested.get(&approval.id);
        if asked_for.is_some_and(|asked_for| **asked_for != *name.as_bytes()) {
            let reason = format!("the approval for \"{what}\" had been asked for something else");
            return self.required.fail(step.index, &reason);
        }
        if !self.used.insert(approval.id) {
            return self
                .required
                .fail(step.index, &format!("the approval for \"{what}\" had been used before"));
        }
        if self.hidden.denial {
            let reason = "a denial is withheld, so it cannot be told whether this stayed approved";
            self.required.doubt(Some(step.index), reason);
        }
        for rule in rules.iter().filter_map(|at| self.envelope.required_approvals.get(*at)) {
            match (&rule.signer_types, signer) {
                (None, _) => {}
                (Some(types), Some(signer)) if types.contains(&signer) => {}
                (Some(_), Some(signer)) => {
                    let reason =
                        format!("the approval for \"{what}\" is by a signer of type {}", signer.name());
                    self.required.fail(step.index, &reason);
                }
                (Some(_), None) => {
                    self.required
                        .doubt(Some(step.index), "the approval does not tell the type of its signer");
                }
            }
        }
    }

    /// The verdicts on both rules.
    pub(super) fn conclude(mut self) -> (RuleVerdict, RuleVerdict) {
        for signer in &self.envelope.required_signer_types {
            if self.seen_types.contains(signer) {
                continue;
            }
            match self.untold {
                Some(event) => {
                    self.signers.doubt(Some(event), "an approval does not tell the type of its signer")
                }
                None => {
                    self.signers.fail_at_end(&format!("nobody of type {} approved anything", signer.name()))
                }
            }
        }
        let known = [Action::Model.name(), Action::Tool.name()];
        if let Some(rule) =
            self.envelope.required_approvals.iter().find(|rule| !known.contains(&rule.action.as_str()))
        {
            let action = Shown::new(&rule.action);
            self.required.doubt(None, &format!("no event tells whether the action \"{action}\" happened"));
        }
        let required = if self.envelope.required_approvals.is_empty() {
            "none is required"
        } else {
            "each was granted before its action"
        };
        let signers = if self.envelope.required_signer_types.is_empty() {
            "none is required"
        } else {
            "each type approved something"
        };
        (self.required.conclude(required), self.signers.conclude(signers))
    }
}
