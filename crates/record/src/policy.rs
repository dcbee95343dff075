//! What was decided on the actions of a run, what they cost, and who approved them: the events of an envelope that is enforced.

use reenact_formats::rer::envelope::decide::{Action, Rule};
use reenact_formats::rer::envelope::money::Money;

use crate::error::RecordError;
use crate::event::EventType;
use crate::exchange::StepId;
use crate::mask::{Masked, MaskedJson};
use crate::payload::Payload;
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
        let decision = if evaluation.denial.is_none() { "allow" } else { "deny" };
        let mut ledger = self.ledger();
        let step = ledger.decide(|step, payload| {
            payload.constant("action", evaluation.action.name());
            if let Some(approval_id) = &approval_id {
                payload.text("approval_id", approval_id);
            }
            payload.constant("decision", decision);
            acted_on(evaluation.action, Action::Model, &name, payload);
            payload.text("rule", &rule);
            payload.salt();
            payload.constant("source", "observed");
            payload.step(step);
            acted_on(evaluation.action, Action::Tool, &name, payload);
        })?;
        if let Some(denial) = evaluation.denial {
            let reason = masks.text(denial.reason);
            ledger.block(step, |payload| {
                payload.constant("action", evaluation.action.name());
                acted_on(evaluation.action, Action::Model, &name, payload);
                payload.text("reason", &reason);
                payload.text("rule", &rule);
                payload.salt();
                payload.constant("source", "observed");
                payload.step(step);
                acted_on(evaluation.action, Action::Tool, &name, payload);
            })?;
        }
        Ok(step)
    }

    /// Records what a step cost. The total stands at the end of the run.
    pub fn spent(&self, step: &StepId, spent: &Spent<'_>) -> Result<(), RecordError> {
        let model = self.masks().text(spent.model);
        let amount = spent.amount.micro_rounded_up();
        let mut ledger = self.ledger();
        ledger.append(EventType::SpendCounted, |payload| {
            payload.flag("is_estimate", spent.is_estimate);
            payload.text("model", &model);
            payload.object("rates_usd", |rates| {
                for (name, rate) in spent.rates {
                    // A picodollar for a token is a millionth of a dollar for a million of them, exactly.
                    let rate = Money::from_picodollars(u128::from(*rate) * 1_000_000);
                    rates.optional_money(name, Some(rate));
                }
            });
            payload.salt();
            payload.constant("source", "observed");
            payload.optional_money("spend_usd", Some(amount));
            payload.step(*step);
            payload.object("usage", |usage| {
                for (name, tokens) in spent.usage {
                    usage.number(name, *tokens);
                }
            });
        })?;
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
        self.append(EventType::ApprovalRequested, |payload| {
            payload.constant("action", request.action.name());
            payload.text("approval_id", &id);
            payload.text("input_hash", &hash);
            acted_on(request.action, Action::Model, &name, payload);
            payload.text("rule", &rule);
            payload.salt();
            payload.texts("signer_types", &types);
            payload.constant("source", "observed");
            acted_on(request.action, Action::Tool, &name, payload);
        })
    }

    /// Records an approval: the token, as JSON, is signed and is kept as it is.
    pub fn approval_granted(&self, approval_id: &str, token: &str) -> Result<(), RecordError> {
        let id = self.masks().text(approval_id);
        let token = MaskedJson::token(token).unwrap_or_else(|| MaskedJson::Text(self.masks().text(token)));
        self.append(EventType::ApprovalGranted, |payload| {
            payload.text("approval_id", &id);
            payload.salt();
            payload.constant("source", "observed");
            payload.json("token", &token);
        })
    }

    /// Records that an approval was refused, or that a token for it did not hold.
    pub fn approval_denied(&self, approval_id: &str, reason: &str) -> Result<(), RecordError> {
        let (id, reason) = (self.masks().text(approval_id), self.masks().text(reason));
        self.append(EventType::ApprovalDenied, |payload| {
            payload.text("approval_id", &id);
            payload.text("reason", &reason);
            payload.salt();
            payload.constant("source", "observed");
        })
    }
}

/// Writes the model or the tool that an action is about, in the place where that member belongs.
fn acted_on(action: Action, here: Action, name: &Masked, payload: &mut Payload<'_>) {
    if action == here {
        let member = match action {
            Action::Model => "model",
            Action::Tool => "tool",
        };
        payload.text(member, name);
    }
}
