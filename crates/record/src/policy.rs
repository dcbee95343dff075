//! The events of an enforced envelope: decisions on actions, their costs, and approvals. They are written by methods of
//! [`EventWriter`]; the decisions themselves come from [`policy_engine`](crate::policy_engine).

use reenact_formats::rer::EventType;
use reenact_formats::rer::envelope::money::Money;
use reenact_formats::rer::envelope::policy::{Action, EnvelopeRule};
use reenact_formats::rer::payload::{
    ApprovalDenied, ApprovalGranted, ApprovalRequested, EventSource, PolicyDecision, PolicyEvaluated,
    SpendCounted, StepBlocked,
};

use crate::error::RecordError;
use crate::event_writer::EventWriter;
use crate::exchange::StepId;
use crate::mask::{MaskedJson, MaskedText};

/// Decision on one action, to be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evaluation<'a> {
    /// Kind of the action.
    pub action: Action,
    /// Name of the model or tool.
    pub name: &'a str,
    /// Reason of a denial; `None` if the action is allowed.
    pub denial: Option<RecordedDenial<'a>>,
    /// Id of the approval under which the action is allowed.
    pub approval_id: Option<&'a str>,
}

/// Reason why an action must not happen, as it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedDenial<'a> {
    /// Name of the rule, such as `max_steps`.
    pub rule: &'a str,
    /// Reason in words. Secrets in it are masked.
    pub reason: &'a str,
    /// False if the action happens all the same: then the decision is recorded, and no block.
    pub is_enforced: bool,
}

/// Cost of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallCost<'a> {
    /// Name of the model.
    pub model: &'a str,
    /// Cost; recorded in micro-dollars, rounded up. An estimate is the least that the call can have cost.
    pub amount: Money,
    /// True if the vendor did not report its final usage.
    pub is_estimate: bool,
    /// Prices: the name of a kind of token, and the picodollars for one token.
    pub rates: &'a [(&'static str, u64)],
    /// Number of tokens, under the same names.
    pub usage: &'a [(&'static str, u64)],
}

/// Approval that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalRequest<'a> {
    /// Id of the approval.
    pub approval_id: &'a str,
    /// Kind of the action.
    pub action: Action,
    /// Name of the model or tool.
    pub name: &'a str,
    /// SHA-256 of the input, in hexadecimal.
    pub input_hash: &'a str,
    /// Name and position of the rule that requires the approval.
    pub rule: &'a str,
    /// Types of signers who may approve; empty for any.
    pub signer_types: &'a [&'static str],
}

impl EventWriter {
    /// Records a decision, and for an enforced denial also that the step is blocked. Returns the step's id, with which
    /// any other action begins: see [`EventWriter::record_call`].
    pub fn record_evaluation(&self, evaluation: &Evaluation<'_>) -> Result<StepId, RecordError> {
        let masks = self.masks();
        let name = masks.text(evaluation.name);
        let approval_id = evaluation.approval_id.map(|id| masks.text(id));
        // An allowed action is allowed by the list that names it.
        let list = match evaluation.action {
            Action::Model => EnvelopeRule::AllowedModels,
            Action::Tool => EnvelopeRule::AllowedTools,
        };
        let rule = masks.text(evaluation.denial.map_or(list.name(), |denial| denial.rule));
        let is_denied = evaluation.denial.is_some();
        let decision = if is_denied { PolicyDecision::Deny } else { PolicyDecision::Allow };
        let action = evaluation.action;
        let (model, tool) = model_or_tool(action, &name);
        let mut state = self.lock_state();
        let step_id = state.append_decision(|step_id, payload| {
            let approval_id = approval_id.as_ref();
            let (rule, source) = (&rule, EventSource::Observed);
            PolicyEvaluated { action, approval_id, decision, model, rule, source, step_id, tool }
                .write(payload);
        })?;
        if let Some(denial) = evaluation.denial.filter(|denial| denial.is_enforced) {
            let reason = masks.text(denial.reason);
            let (reason, rule, source) = (&reason, &rule, EventSource::Observed);
            let blocked = StepBlocked { action, model, reason, rule, source, step_id, tool };
            state.append_block(step_id, |payload| blocked.write(payload))?;
        }
        Ok(step_id)
    }

    /// Records the cost of a step, and adds it to the total in the run's last event.
    pub fn record_spend(&self, step: &StepId, spent: &CallCost<'_>) -> Result<(), RecordError> {
        let model = self.masks().text(spent.model);
        let amount = spent.amount.rounded_up_to_micro();
        // One picodollar a token is exactly one micro-dollar a million tokens.
        let of_million = |rate: u64| Money::from_picodollars(u128::from(rate) * 1_000_000);
        let counted = SpendCounted {
            is_estimate: spent.is_estimate,
            model: &model,
            rates_usd: spent.rates.iter().map(|(name, rate)| (*name, of_million(*rate))).collect(),
            source: EventSource::Observed,
            spend_usd: amount,
            step_id: *step,
            usage: spent.usage.to_vec(),
        };
        let mut state = self.lock_state();
        state.append(EventType::SpendCounted, |payload| counted.write(payload))?;
        state.add_spend(amount, spent.is_estimate);
        Ok(())
    }

    /// Records that an approval is asked for.
    pub fn record_approval_request(&self, request: &ApprovalRequest<'_>) -> Result<(), RecordError> {
        let masks = self.masks();
        let (id, name, rule) =
            (masks.text(request.approval_id), masks.text(request.name), masks.text(request.rule));
        let hash = masks.text(request.input_hash);
        let types: Vec<MaskedText> = request.signer_types.iter().map(|name| masks.text(name)).collect();
        let (model, tool) = model_or_tool(request.action, &name);
        let requested = ApprovalRequested {
            action: request.action,
            approval_id: &id,
            input_hash: &hash,
            model,
            rule: &rule,
            signer_types: types.iter().collect(),
            source: EventSource::Observed,
            tool,
        };
        self.append(EventType::ApprovalRequested, |payload| requested.write(payload))
    }

    /// Records a granted approval. `token` is signed JSON, and is recorded without masks, which would break its
    /// signature. A token that is no JSON is recorded as masked text.
    pub fn record_approval_grant(&self, approval_id: &str, token: &str) -> Result<(), RecordError> {
        let id = self.masks().text(approval_id);
        let token =
            MaskedJson::from_token(token).unwrap_or_else(|| MaskedJson::Text(self.masks().text(token)));
        let granted = ApprovalGranted { approval_id: &id, source: EventSource::Observed, token: &token };
        self.append(EventType::ApprovalGranted, |payload| granted.write(payload))
    }

    /// Records that an approval was denied, or that a token for it was invalid.
    pub fn record_approval_denial(&self, approval_id: &str, reason: &str) -> Result<(), RecordError> {
        let (id, reason) = (self.masks().text(approval_id), self.masks().text(reason));
        let denied = ApprovalDenied { approval_id: &id, reason: &reason, source: EventSource::Observed };
        self.append(EventType::ApprovalDenied, |payload| denied.write(payload))
    }
}

/// Returns the members `model` and `tool` of an event about an action: one of them is its name.
fn model_or_tool(action: Action, name: &MaskedText) -> (Option<&MaskedText>, Option<&MaskedText>) {
    match action {
        Action::Model => (Some(name), None),
        Action::Tool => (None, Some(name)),
    }
}
