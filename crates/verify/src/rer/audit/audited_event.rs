//! [`AuditedEvent`]: the members of an event that the audit needs, taken while its batch is checked.

use std::borrow::Cow;

use reenact_formats::rer::envelope::money::{Money, Rounding};
use reenact_formats::rer::envelope::policy::Action;
use reenact_formats::rer::payload::{PayloadWord, PolicyDecision};
use reenact_formats::rer::{Callee, EventType, IndexedMember, RerEventView, Role};
use reenact_json::{Shown, Value, ValueKind};

/// Event that an audit rule looks at.
#[derive(Debug, Clone, Copy)]
pub(in crate::rer) struct AuditedEvent<'a> {
    /// Index of the event in the artifact, 0-based.
    pub(super) index: usize,
    /// Kind of the event.
    pub(super) kind: AuditedKind,
    /// True if the payload is withheld: the event happened, but its content is not there.
    pub(super) is_withheld: bool,
    /// Timestamp as the recorder wrote it.
    pub(super) timestamp: Option<Value<'a>>,
    /// Model or tool that the event names.
    pub(super) name: Option<Value<'a>>,
    /// True if a call names a tool beside its model, or a model beside its tool.
    pub(super) names_both: bool,
    /// Id of the step, if it is a string.
    pub(super) step_id: Option<Value<'a>>,
    /// Id of the approval, if it is a string.
    pub(super) approval_id: Option<Value<'a>>,
    /// Payload, unless it is withheld.
    pub(super) payload: Option<Value<'a>>,
    /// True if more may have been spent than the event states: its cost is not marked as exact, or its total as partial.
    pub(super) is_estimate: bool,
    /// Rule that a decision names, if it denies the action.
    rule: Option<Value<'a>>,
    /// Further member, depending on the kind: a decision, a token, an amount, the enforcement of the run, or an unknown
    /// type.
    detail: Option<Value<'a>>,
}

/// Kind of an event that an audit rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rer) enum AuditedKind {
    /// An action begins.
    Call(Action),
    /// An action ends.
    Return(Action),
    /// The run begins or ends, something was decided, approved or paid, or something may be missing.
    Event(EventType),
    /// Event of an unknown type that may be an action.
    UnknownType,
}

impl AuditedKind {
    /// Returns the kind of an event by its type; `None` if no rule looks at the event.
    fn of(event_type: Value<'_>) -> Option<Self> {
        let Some(known) = EventType::of(event_type) else {
            return event_type.with_string_bytes(may_be_action).unwrap_or(true).then_some(Self::UnknownType);
        };
        Some(match known.role() {
            Role::Call(callee) => Self::Call(action(callee)?),
            Role::Return(callee) => Self::Return(action(callee)?),
            Role::Lifecycle | Role::Policy => Self::Event(known),
            Role::Capture if known.marks_missing_events() => Self::Event(known),
            Role::Capture | Role::Context | Role::Report => return None,
        })
    }
}

/// Returns the action that an envelope has rules for. HTTP requests that ask no model have none.
fn action(callee: Callee) -> Option<Action> {
    match callee {
        Callee::Model => Some(Action::Model),
        Callee::Tool => Some(Action::Tool),
        Callee::Http => None,
    }
}

/// Returns true if an unknown type may still be an action: `ToolCalled`, `acme.tool.called`, or
/// anything not spelled like an event type. Other unknown types are extensions, which the draft allows
/// (§4.1).
fn may_be_action(event_type: &[u8]) -> bool {
    let is_plain = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.');
    let mentions = |word: &[u8]| event_type.windows(word.len()).any(|part| part == word);
    event_type.is_empty() || !event_type.iter().all(is_plain) || mentions(b"model") || mentions(b"tool")
}

/// Amount of money that an event states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatedCost {
    /// A valid amount.
    Amount(Money),
    /// No amount.
    Absent,
    /// A value that is not an amount, such as a text or a negative number.
    Invalid,
}

impl<'a> AuditedEvent<'a> {
    /// Takes the members that the audit needs; `None` if no rule looks at the event.
    pub(in crate::rer) fn of(index: usize, event: &RerEventView<'a>) -> Option<Self> {
        let kind = event.event_type.map_or(Some(AuditedKind::UnknownType), AuditedKind::of)?;
        let noted = |name| event.indexed_member(name);
        let plain_member = |name| event.payload.filter(|_| !event.is_redacted())?.member(name);
        let is_flag = |name, flag| plain_member(name).and_then(|value| value.boolean()) == Some(flag);
        let either = || noted(IndexedMember::Model).or_else(|| noted(IndexedMember::Tool));
        let (name, detail) = match kind {
            AuditedKind::Call(Action::Model) => (noted(IndexedMember::Model), None),
            AuditedKind::Call(Action::Tool) => (noted(IndexedMember::Tool), None),
            AuditedKind::Return(_) => (None, noted(IndexedMember::SpendUsd)),
            AuditedKind::Event(EventType::SpendCounted) => {
                (None, noted(IndexedMember::SpendUsd).or_else(|| plain_member("usd")))
            }
            AuditedKind::Event(EventType::RunEnded) => (None, noted(IndexedMember::TotalSpendUsd)),
            AuditedKind::Event(EventType::PolicyEvaluated) => (either(), noted(IndexedMember::Decision)),
            AuditedKind::Event(EventType::RunStarted) => {
                (None, event.payload.and_then(|payload| payload.member("enforcement")))
            }
            AuditedKind::Event(EventType::ApprovalRequested) => (either(), None),
            AuditedKind::Event(EventType::ApprovalGranted) => (None, noted(IndexedMember::Token)),
            AuditedKind::UnknownType => (None, event.event_type),
            _ => (None, None),
        };
        let other = match kind {
            AuditedKind::Call(Action::Model) => noted(IndexedMember::Tool),
            AuditedKind::Call(Action::Tool) => noted(IndexedMember::Model),
            _ => None,
        };
        let is_estimate = match kind {
            AuditedKind::Event(EventType::SpendCounted) => {
                !is_flag("is_estimate", false) && !is_flag("estimated", false)
            }
            AuditedKind::Event(EventType::RunEnded) => is_flag("spend_partial", true),
            _ => false,
        };
        let is_denial = kind == AuditedKind::Event(EventType::PolicyEvaluated)
            && detail.is_some_and(|decision| decision.is_string(PolicyDecision::Deny.name()));
        let rule = event.payload.filter(|_| is_denial).and_then(|payload| payload.member("rule"));
        let text = |value: Option<Value<'a>>| value.filter(|value| value.kind() == ValueKind::String);
        Some(Self {
            index,
            kind,
            is_withheld: event.is_redacted(),
            timestamp: event.timestamp,
            name: text(name),
            names_both: other.is_some_and(|other| !other.is_null()),
            step_id: text(noted(IndexedMember::StepId)),
            approval_id: text(noted(IndexedMember::ApprovalId)),
            payload: event.payload.filter(|_| !event.is_redacted()),
            is_estimate,
            rule: text(rule),
            detail,
        })
    }

    /// Returns the reason why a call names neither model nor tool.
    pub(super) fn unnamed_reason(&self) -> &'static str {
        if self.is_withheld {
            "the payload is withheld, so it does not tell what was called"
        } else {
            "it does not tell what was called"
        }
    }

    /// Returns the cost of a returned call, or of the whole run for the event that ends it.
    pub(super) fn stated_cost(&self) -> StatedCost {
        let has_cost = matches!(
            self.kind,
            AuditedKind::Return(_) | AuditedKind::Event(EventType::SpendCounted | EventType::RunEnded)
        );
        match self.detail.filter(|detail| has_cost && !detail.is_null()) {
            Some(amount) => Money::of(amount, Rounding::Up).map_or(StatedCost::Invalid, StatedCost::Amount),
            None => StatedCost::Absent,
        }
    }

    /// Returns true if a policy decision allowed the action; `None` if it does not tell.
    pub(super) fn allows(&self) -> Option<bool> {
        let decision = self.detail.filter(|_| self.kind == AuditedKind::Event(EventType::PolicyEvaluated))?;
        PolicyDecision::of(decision).map(|decision| decision == PolicyDecision::Allow)
    }

    /// Returns true if the event begins a run in which denials had no effect.
    pub(super) fn begins_warn_run(&self) -> bool {
        self.kind == AuditedKind::Event(EventType::RunStarted)
            && self.detail.is_some_and(|word| word.is_string("warn"))
    }

    /// Returns the rule by which a decision denies its action; `None` if it does not deny.
    pub(super) fn denying_rule(&self) -> Option<Cow<'a, str>> {
        self.rule?.string()
    }

    /// Describes an unknown event type for a reason.
    pub(super) fn unknown_type_text(&self) -> String {
        let event_type = self.detail.and_then(|event_type| event_type.string());
        event_type.map_or("no type".into(), |name| format!("the unknown type \"{}\"", Shown::new(&name)))
    }

    /// Returns the token of a granted approval.
    pub(super) fn token(&self) -> Option<Value<'a>> {
        self.detail.filter(|_| self.kind == AuditedKind::Event(EventType::ApprovalGranted))
    }

    /// Returns the type of an approval's signer, if its token states it.
    pub(super) fn signer_type(&self) -> Option<Value<'a>> {
        self.token()?.member("signer_type")
    }

    /// Returns the unescaped step id, which ties the events of one action together.
    pub(super) fn step_id_bytes(&self) -> Option<Cow<'a, [u8]>> {
        self.step_id?.string_bytes()
    }
}
