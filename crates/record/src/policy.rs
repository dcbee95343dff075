//! What was decided on the actions of a run, what they cost, and who approved them: the events of an envelope that is enforced.

use reenact_formats::rer::EventType;
use reenact_formats::rer::envelope::decide::{Action, Rule};
use reenact_formats::rer::envelope::money::Money;
use reenact_formats::rer::payload::{
    ApprovalDenied, ApprovalGranted, ApprovalRequested, PolicyDecision, PolicyEvaluated, Source,
    SpendCounted, StepBlocked,
};

use crate::error::RecordError;
use crate::exchange::StepId;
use crate::mask::{Masked, MaskedJson};
use crate::pen::Pen;

/// A decision on one action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evaluation<'a> {
    /// Which kind of action.
    pub action: Action,
    /// Of which model or tool.
    pub name: &'a str,
    /// Why not; `None` if it is allowed.
    pub denial: Option<Denial<'a>>,
    /// The approval under which it is allowed.
    pub approval_id: Option<&'a str>,
}

/// Why an action may not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denial<'a> {
    /// The rule that says no, such as `max_steps`.
    pub rule: &'a str,
    /// In words.
    pub reason: &'a str,
}

/// What an answer cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent<'a> {
    /// Of which model.
    pub model: &'a str,
    /// How much.
    pub amount: Money,
    /// Whether the vendor did not say what it took, so that the estimate before the call is counted.
    pub is_estimate: bool,
    /// What the tokens cost: a name and the picodollars for one of them.
    pub rates: &'a [(&'static str, u64)],
    /// How many there were, under the same names.
    pub usage: &'a [(&'static str, u64)],
}

/// An approval that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalRequest<'a> {
    /// Its id.
    pub approval_id: &'a str,
    /// For which kind of action.
    pub action: Action,
    /// Of which model or tool.
    pub name: &'a str,
    /// SHA-256 of its input, in hexadecimal.
    pub input_hash: &'a str,
    /// The place of the rule that asks for it, in the envelope.
    pub rule: &'a str,
    /// Who may approve; empty for anyone.
    pub signer_types: &'a [&'static str],
}

impl Pen {
    /// Records a decision, and that the step is blocked if it was denied. Gives the step, with which an allowed action begins.
    pub fn evaluated(&self, evaluation: &Evaluation<'_>) -> Result<StepId, RecordError> {
        let masks = self.masks();
        let name = masks.text(evaluation.name);
        let approval_id = evaluation.approval_id.map(|id| masks.text(id));
        // An action that is allowed is so by the list that names it.
        let list = match evaluation.action {
            Action::Model => Rule::AllowedModels,
            Action::Tool => Rule::AllowedTools,
        };
        let rule = masks.text(evaluation.denial.map_or(list.name(), |denial| denial.rule));
        let is_denied = evaluation.denial.is_some();
        let decision = if is_denied { PolicyDecision::Deny } else { PolicyDecision::Allow };
        let action = evaluation.action;
        let (model, tool) = named(action, &name);
        let mut ledger = self.ledger();
        let step_id = ledger.decide(|step_id, payload| {
            let approval_id = approval_id.as_ref();
            let (rule, source) = (&rule, Source::Observed);
            PolicyEvaluated { action, approval_id, decision, model, rule, source, step_id, tool }
                .write(payload);
        })?;
        if let Some(denial) = evaluation.denial {
            let reason = masks.text(denial.reason);
            let (reason, rule, source) = (&reason, &rule, Source::Observed);
            let blocked = StepBlocked { action, model, reason, rule, source, step_id, tool };
            ledger.block(step_id, |payload| blocked.write(payload))?;
        }
        Ok(step_id)
    }

    /// Records what a step cost. The total stands at the end of the run.
    pub fn spent(&self, step: &StepId, spent: &Spent<'_>) -> Result<(), RecordError> {
        let model = self.masks().text(spent.model);
        let amount = spent.amount.micro_rounded_up();
        // A picodollar for a token is a millionth of a dollar for a million of them, exactly.
        let of_million = |rate: u64| Money::from_picodollars(u128::from(rate) * 1_000_000);
        let counted = SpendCounted {
            is_estimate: spent.is_estimate,
            model: &model,
            rates_usd: spent.rates.iter().map(|(name, rate)| (*name, of_million(*rate))).collect(),
            source: Source::Observed,
            spend_usd: amount,
            step_id: *step,
            usage: spent.usage.to_vec(),
        };
        let mut ledger = self.ledger();
        ledger.append(EventType::SpendCounted, |payload| counted.write(payload))?;
        ledger.spend(amount);
        Ok(())
    }

    /// Records that an approval is asked for.
    pub fn approval_requested(&self, request: &ApprovalRequest<'_>) -> Result<(), RecordError> {
        let masks = self.masks();
        let (id, name, rule) =
            (masks.text(request.approval_id), masks.text(request.name), masks.text(request.rule));
        let hash = masks.text(request.input_hash);
        let types: Vec<Masked> = request.signer_types.iter().map(|name| masks.text(name)).collect();
        let (model, tool) = named(request.action, &name);
        let requested = ApprovalRequested {
            action: request.action,
            approval_id: &id,
            input_hash: &hash,
            model,
            rule: &rule,
            signer_types: types.iter().collect(),
            source: Source::Observed,
            tool,
        };
        self.append(EventType::ApprovalRequested, |payload| requested.write(payload))
    }

    /// Records an approval: the token, as JSON, is signed and is kept as it is.
    pub fn approval_granted(&self, approval_id: &str, token: &str) -> Result<(), RecordError> {
        let id = self.masks().text(approval_id);
        let token = MaskedJson::token(token).unwrap_or_else(|| MaskedJson::Text(self.masks().text(token)));
        let granted = ApprovalGranted { approval_id: &id, source: Source::Observed, token: &token };
        self.append(EventType::ApprovalGranted, |payload| granted.write(payload))
    }

    /// Records that an approval was refused, or that a token for it did not hold.
    pub fn approval_denied(&self, approval_id: &str, reason: &str) -> Result<(), RecordError> {
        let (id, reason) = (self.masks().text(approval_id), self.masks().text(reason));
        let denied = ApprovalDenied { approval_id: &id, reason: &reason, source: Source::Observed };
        self.append(EventType::ApprovalDenied, |payload| denied.write(payload))
    }
}

/// Returns the members `model` and `tool` of an action, of which one is its name.
fn named(action: Action, name: &Masked) -> (Option<&Masked>, Option<&Masked>) {
    match action {
        Action::Model => (Some(name), None),
        Action::Tool => (None, Some(name)),
    }
}
