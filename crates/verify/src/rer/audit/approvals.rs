//! The rules `required_approvals` and `required_signer_types` (§8.2, §8.3).
//!
//! They judge what the record says: that an approval was granted before the action, once for each
//! action, by a signer of an allowed type; and that its token says the same, signed with a key that the
//! envelope pins. The tokens themselves are judged in `approval_token`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reenact_formats::rer::EventType;
use reenact_formats::rer::envelope::permission::{Envelope, SignerType};
use reenact_formats::rer::envelope::policy::Action;
use reenact_json::Shown;

use super::approval_token::{ApprovalContext, GrantedApproval, RequestedApproval, TokenFinding};
use super::audited_event::{AuditedEvent, AuditedKind};
use super::rule_cache::{ApprovalRuleCache, TOO_MANY_RULES};
use super::tracker::RuleTracker;
use crate::audit::RuleVerdict;

/// State of both rules.
pub(super) struct ApprovalRules {
    /// Envelope with the approval rules.
    envelope: Arc<Envelope>,
    /// Verdict on `required_approvals`.
    required: RuleTracker,
    /// Verdict on `required_signer_types`.
    signers: RuleTracker,
    /// Requested approvals by id.
    requested: BTreeMap<Vec<u8>, RequestedApproval>,
    /// Every granted approval, in the order of the events.
    grants: Vec<GrantedApproval>,
    /// Approvals that are granted and not denied since: indices of `grants`, by approval id.
    granted: BTreeMap<Vec<u8>, usize>,
    /// Ids of denied approvals.
    denied_ids: BTreeSet<Vec<u8>>,
    /// Ids of approvals that an action has used.
    used_ids: BTreeSet<Vec<u8>>,
    /// Approval that the policy named when it allowed a step, by step id.
    approval_by_step: BTreeMap<Vec<u8>, Option<NamedApproval>>,
    /// Kinds of events whose payload was withheld.
    withheld: WithheldApprovalEvents,
    /// Approval rules that cover each action.
    rule_cache: ApprovalRuleCache,
    /// Index of the first grant whose payload is withheld.
    first_withheld_grant: Option<usize>,
}

/// Approval that a policy named.
struct NamedApproval {
    /// Approval id.
    id: Vec<u8>,
    /// True if it had been granted when the policy allowed the step, as §8.2 requires.
    was_granted: bool,
}

/// Kinds of events that occurred with a withheld payload. Any of them may be the one that matters.
#[derive(Default)]
struct WithheldApprovalEvents {
    decision: bool,
    request: bool,
    grant: bool,
    denial: bool,
}

impl ApprovalRules {
    /// Creates the state for an envelope.
    pub(super) fn new(envelope: &Arc<Envelope>) -> Self {
        Self {
            envelope: Arc::clone(envelope),
            required: RuleTracker::new("required_approvals"),
            signers: RuleTracker::new("required_signer_types"),
            requested: BTreeMap::new(),
            grants: Vec::new(),
            granted: BTreeMap::new(),
            denied_ids: BTreeSet::new(),
            used_ids: BTreeSet::new(),
            approval_by_step: BTreeMap::new(),
            withheld: WithheldApprovalEvents::default(),
            rule_cache: ApprovalRuleCache::new(envelope),
            first_withheld_grant: None,
        }
    }

    /// Returns true if the envelope requires any approval. If not, nothing needs to be remembered.
    fn is_needed(&self) -> bool {
        !self.envelope.required_approvals.is_empty() || !self.envelope.required_signer_types.is_empty()
    }

    /// Observes a capture gap: an action without approval may be in it.
    pub(super) fn on_gap(&mut self, event: &AuditedEvent<'_>) {
        // A gap can only hide further approvers, so `required_signer_types` stays; it may hide actions.
        if !self.envelope.required_approvals.is_empty() {
            self.required.mark_inconclusive(Some(event.index), super::UNCAPTURED);
        }
    }

    /// Remembers requests, grants, denials and decisions.
    pub(super) fn observe(&mut self, event: &AuditedEvent<'_>) {
        if !self.is_needed() {
            return;
        }
        let approval = event.approval_id.and_then(|id| id.string_bytes()).map(|id| id.into_owned());
        match event.kind {
            AuditedKind::Event(EventType::ApprovalRequested) => {
                self.withheld.request |= event.is_withheld;
                if let Some((id, requested)) = approval.zip(RequestedApproval::of(event)) {
                    self.requested.insert(id, requested);
                }
            }
            AuditedKind::Event(EventType::ApprovalGranted) if event.is_withheld => {
                self.withheld.grant = true;
                self.first_withheld_grant.get_or_insert(event.index);
            }
            AuditedKind::Event(EventType::ApprovalGranted) => {
                let id = approval.unwrap_or_default();
                let requested = self.requested.get(&id);
                let mut grant = GrantedApproval::of(event);
                grant.judge_request(&id, requested, self.withheld.request);
                grant.judge_pin(&self.envelope, &mut self.rule_cache);
                self.granted.insert(id, self.grants.len());
                self.grants.push(grant);
            }
            AuditedKind::Event(EventType::ApprovalDenied) => {
                self.withheld.denial |= event.is_withheld;
                if let Some(id) = approval {
                    self.granted.remove(&id);
                    self.denied_ids.insert(id);
                }
            }
            AuditedKind::Event(EventType::PolicyEvaluated) => {
                self.withheld.decision |= event.is_withheld;
                if let Some(step_id) = event.step_id_bytes().filter(|_| event.allows() == Some(true)) {
                    let named =
                        approval.map(|id| NamedApproval { was_granted: self.granted.contains_key(&id), id });
                    self.approval_by_step.insert(step_id.into_owned(), named);
                }
            }
            _ => {}
        }
    }

    /// Checks that an action has every approval that it needs.
    pub(super) fn on_call(&mut self, event: &AuditedEvent<'_>, action: Action, name: Option<&str>) {
        if !self.rule_cache.has_rules[action as usize] {
            return;
        }
        let Some(name) = name else {
            return self.required.mark_inconclusive(Some(event.index), event.unnamed_reason());
        };
        let Some(rules) = self.rule_cache.matching_rules(&self.envelope, action, name) else {
            return self.required.mark_inconclusive(Some(event.index), TOO_MANY_RULES);
        };
        if rules.is_empty() {
            return;
        }
        let what = Shown::new(name).to_string();
        let decision = event.step_id_bytes().and_then(|step_id| self.approval_by_step.remove(&*step_id));
        let approval = match decision {
            Some(Some(approval)) => approval,
            None if self.withheld.decision => {
                let reason = "a decision is withheld, so it cannot be told whether this was approved";
                return self.required.mark_inconclusive(Some(event.index), reason);
            }
            _ => {
                return self
                    .required
                    .fail(event.index, &format!("\"{what}\" was called without an approval"));
            }
        };
        let Some(grant_index) = self.granted.get(&approval.id).copied() else {
            if self.denied_ids.contains(&approval.id) {
                return self.required.fail(event.index, &format!("the approval for \"{what}\" was denied"));
            }
            if self.withheld.grant {
                let reason = "a grant is withheld, so it cannot be told whether this was approved";
                return self.required.mark_inconclusive(Some(event.index), reason);
            }
            return self
                .required
                .fail(event.index, &format!("the approval for \"{what}\" was never granted"));
        };
        if !approval.was_granted {
            let reason = format!("the approval for \"{what}\" was granted after the policy had allowed it");
            return self.required.fail(event.index, &reason);
        }
        let requested = self.requested.get(&approval.id);
        if requested.is_some_and(|requested| requested.name != name.as_bytes()) {
            let reason = format!("the approval for \"{what}\" had been asked for something else");
            return self.required.fail(event.index, &reason);
        }
        if !self.used_ids.insert(approval.id) {
            return self
                .required
                .fail(event.index, &format!("the approval for \"{what}\" had been used before"));
        }
        if self.withheld.denial {
            let reason = "a denial is withheld, so it cannot be told whether this stayed approved";
            self.required.mark_inconclusive(Some(event.index), reason);
        }
        let Some(grant) = self.grants.get_mut(grant_index) else { return };
        grant.used_for.get_or_insert_with(|| what.clone());
        match grant.judge_call(event, action, name) {
            // A token that is wrong by itself is a fault of its grant, which the conclusion names.
            _ if grant.is_wrong() => {}
            None => {}
            Some(TokenFinding::Wrong(reason)) => {
                self.required
                    .fail(event.index, &format!("the approval for \"{what}\" does not hold: {reason}"));
            }
            Some(TokenFinding::Unknown(reason)) => {
                let reason = format!("the approval for \"{what}\" cannot be checked: {reason}");
                self.required.mark_inconclusive(Some(event.index), &reason);
            }
        }
        let signer = grant.signer_type;
        for rule in rules.iter().filter_map(|at| self.envelope.required_approvals.get(*at)) {
            match (&rule.signer_types, signer) {
                (None, _) => {}
                (Some(types), Some(signer)) if types.contains(&signer) => {}
                (Some(_), Some(signer)) => {
                    let reason =
                        format!("the approval for \"{what}\" is by a signer of type {}", signer.name());
                    self.required.fail(event.index, &reason);
                }
                (Some(_), None) => {
                    self.required.mark_inconclusive(
                        Some(event.index),
                        "the approval does not tell the type of its signer",
                    );
                }
            }
        }
    }

    /// Fails `required_approvals` for an action that the policy denied and that happened all the same.
    pub(super) fn fail_warned(&mut self, event: usize, reason: &str) {
        self.required.fail(event, reason);
    }

    /// Tells `required_approvals` what is found in the tokens of all approvals that an action used.
    fn check_used_tokens(&mut self, context: &ApprovalContext<'_>) {
        for grant in &mut self.grants {
            let Some(what) = grant.used_for.clone() else { continue };
            // A failure stays whatever follows, so that nothing more needs to be verified.
            if self.required.has_failed() {
                return;
            }
            match grant.finding(context) {
                None => {}
                Some(TokenFinding::Wrong(reason)) => {
                    let reason = format!("the approval for \"{what}\" does not hold: {reason}");
                    self.required.fail(grant.event, &reason);
                }
                Some(TokenFinding::Unknown(reason)) => {
                    let reason = format!("the approval for \"{what}\" cannot be checked: {reason}");
                    self.required.mark_inconclusive(Some(grant.event), &reason);
                }
            }
        }
    }

    /// Tells `required_signer_types` which types approved something, by tokens that hold.
    fn check_signer_types(&mut self, context: &ApprovalContext<'_>) {
        let mut missing: BTreeSet<SignerType> = self.envelope.required_signer_types.iter().copied().collect();
        let mut doubt: Option<(usize, String)> = None;
        for grant in &mut self.grants {
            if missing.is_empty() {
                return;
            }
            if grant.signer_type.is_some_and(|signer| !missing.contains(&signer)) {
                continue;
            }
            match (grant.finding(context), grant.signer_type) {
                (None, Some(signer)) => {
                    missing.remove(&signer);
                }
                (None, None) => {
                    let reason = "an approval does not tell the type of its signer".to_owned();
                    doubt.get_or_insert((grant.event, reason));
                }
                (Some(TokenFinding::Unknown(reason)), _) => {
                    doubt.get_or_insert((grant.event, format!("an approval cannot be checked: {reason}")));
                }
                (Some(TokenFinding::Wrong(_)), _) => {}
            }
        }
        let withheld = || Some((self.first_withheld_grant?, "an approval is withheld".to_owned()));
        match (missing.first(), doubt.or_else(withheld)) {
            (None, _) => {}
            (Some(_), Some((event, reason))) => self.signers.mark_inconclusive(Some(event), &reason),
            (Some(signer), None) => self
                .signers
                .fail_without_event(&format!("nobody of type {} approved anything", signer.name())),
        }
    }

    /// Returns the verdicts on `required_approvals` and `required_signer_types`.
    pub(super) fn conclude(mut self, context: &ApprovalContext<'_>) -> (RuleVerdict, RuleVerdict) {
        self.check_used_tokens(context);
        self.check_signer_types(context);
        let known = [Action::Model.name(), Action::Tool.name()];
        if let Some(rule) =
            self.envelope.required_approvals.iter().find(|rule| !known.contains(&rule.action.as_str()))
        {
            let action = Shown::new(&rule.action);
            self.required
                .mark_inconclusive(None, &format!("no event tells whether the action \"{action}\" happened"));
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
        (self.required.into_verdict(required), self.signers.into_verdict(signers))
    }
}
