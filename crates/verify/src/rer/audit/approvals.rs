//! Required approvals, and who gave them (§8.2, §8.3).
//!
//! What is judged is what the record says: that an approval was granted before the action, once for each, by someone of an
//! allowed type. The draft leaves the tokens themselves to a later version.

use std::collections::{BTreeMap, BTreeSet};

use reenact_formats::rer::envelope::decide::Action;
use reenact_formats::rer::envelope::permission::{Envelope, SignerType};
use reenact_json::Shown;

use super::step::{Step, What};
use super::tracker::Tracker;
use crate::audit::RuleVerdict;

pub(super) struct Approvals<'e> {
    envelope: &'e Envelope,
    required: Tracker,
    signers: Tracker,
    /// Approvals that were granted: who signed, if that is told.
    granted: BTreeMap<Vec<u8>, Option<SignerType>>,
    used: BTreeSet<Vec<u8>>,
    /// The approval that the policy named when it allowed a step.
    named: BTreeMap<Vec<u8>, Vec<u8>>,
    seen_types: BTreeSet<SignerType>,
    /// A grant that does not tell who signed it.
    untold: Option<usize>,
}

impl<'e> Approvals<'e> {
    pub(super) fn new(envelope: &'e Envelope) -> Self {
        Self {
            envelope,
            required: Tracker::new("required_approvals"),
            signers: Tracker::new("required_signer_types"),
            granted: BTreeMap::new(),
            used: BTreeSet::new(),
            named: BTreeMap::new(),
            seen_types: BTreeSet::new(),
            untold: None,
        }
    }

    /// Whether the envelope asks for any approval: if not, nothing needs to be remembered.
    fn matters(&self) -> bool {
        !self.envelope.required_approvals.is_empty() || !self.envelope.required_signer_types.is_empty()
    }

    pub(super) fn see(&mut self, step: &Step<'_>) {
        if !self.matters() {
            return;
        }
        let approval = step.approval_id.and_then(|id| id.string_bytes()).map(|id| id.into_owned());
        match step.what {
            What::ApprovalGranted => {
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
            What::ApprovalDenied => {
                approval.map(|id| self.granted.remove(&id));
            }
            What::Evaluated if step.allows() == Some(true) => {
                if let (Some(step_id), Some(id)) = (step.step_key(), approval) {
                    self.named.insert(step_id, id);
                }
            }
            _ => {}
        }
    }

    /// An action begins; `rules` are the approval rules that cover it.
    pub(super) fn called(&mut self, step: &Step<'_>, action: Action, rules: &[usize], name: Option<&str>) {
        let asked = self.envelope.required_approvals.iter().any(|rule| rule.action == action.name());
        if name.is_none() && asked {
            return self.required.doubt(Some(step.index), step.why_unnamed());
        }
        if rules.is_empty() {
            return;
        }
        let what = Shown::new(name.unwrap_or_default()).to_string();
        let approval = step.step_key().and_then(|step_id| self.named.remove(&step_id));
        let Some(approval) = approval else {
            return self.required.fail(step.index, &format!("\"{what}\" was called without an approval"));
        };
        let Some(signer) = self.granted.get(&approval).copied() else {
            return self.required.fail(step.index, &format!("the approval for \"{what}\" was never granted"));
        };
        if !self.used.insert(approval) {
            return self
                .required
                .fail(step.index, &format!("the approval for \"{what}\" had been used before"));
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
