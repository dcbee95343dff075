//! What an audit needs of an event, taken while its batch is judged.

use std::borrow::Cow;

use reenact_formats::rer::envelope::decide::Action;
use reenact_formats::rer::envelope::money::{Money, Rounding};
use reenact_formats::rer::payload::{PolicyDecision, Word};
use reenact_formats::rer::{Callee, EventType, EventView, Noted, Role};
use reenact_json::{Kind, Shown, Value};

/// An event that an audit looks at.
#[derive(Debug, Clone, Copy)]
pub(in crate::rer) struct Step<'a> {
    pub(super) index: usize,
    pub(super) kind: StepKind,
    /// The payload is withheld: the event happened, but what it says is not there.
    pub(super) withheld: bool,
    pub(super) timestamp: Option<Value<'a>>,
    /// The model or tool.
    pub(super) name: Option<Value<'a>>,
    /// Of a call: it names a tool beside its model, or a model beside its tool.
    pub(super) names_both: bool,
    pub(super) step_id: Option<Value<'a>>,
    pub(super) approval_id: Option<Value<'a>>,
    /// What else this kind of event tells: a decision, a token, an amount, a type that is not known here.
    detail: Option<Value<'a>>,
}

/// Kind of an event that an audit looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rer) enum StepKind {
    /// An action begins.
    Called(Action),
    /// An action ends.
    Returned(Action),
    /// The run begins or ends, something was decided, approved or spent, or there is a gap.
    Event(EventType),
    /// Of a type that is not known here, but that may be an action.
    Strange,
}

impl StepKind {
    /// Returns the kind of an event by its type; `None` for one that an audit passes over.
    fn of(event_type: Value<'_>) -> Option<Self> {
        let Some(known) = EventType::of(event_type) else {
            return event_type.read_string(is_strange).unwrap_or(true).then_some(Self::Strange);
        };
        Some(match known.role() {
            Role::Call(callee) => Self::Called(action(callee)?),
            Role::Return(callee) => Self::Returned(action(callee)?),
            Role::Lifecycle | Role::Policy => Self::Event(known),
            Role::Capture if known == EventType::CaptureGap => Self::Event(known),
            Role::Capture | Role::Report => return None,
        })
    }
}

/// Action that an envelope has rules for: requests over HTTP that ask no model are none.
fn action(callee: Callee) -> Option<Action> {
    match callee {
        Callee::Model => Some(Action::Model),
        Callee::Tool => Some(Action::Tool),
        Callee::Http => None,
    }
}

/// Whether a type that is not known here may be an action all the same: `ToolCalled`, `acme.tool.called`, and whatever
/// is not spelled as types are. Others are extensions, which the draft invites (§4.1).
fn is_strange(event_type: &[u8]) -> bool {
    let is_plain = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.');
    let mentions = |word: &[u8]| event_type.windows(word.len()).any(|part| part == word);
    event_type.is_empty() || !event_type.iter().all(is_plain) || mentions(b"model") || mentions(b"tool")
}

/// What an event tells of an amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Amount(Money),
    Nothing,
    /// Something, but no amount: a text, less than nothing.
    Nonsense,
}

impl<'a> Step<'a> {
    /// What an audit needs of an event; `None` if it needs nothing.
    pub(in crate::rer) fn of(index: usize, event: &EventView<'a>) -> Option<Self> {
        let kind = event.event_type.map_or(Some(StepKind::Strange), StepKind::of)?;
        let noted = |name| event.noted(name);
        let either = || noted(Noted::Model).or_else(|| noted(Noted::Tool));
        let (name, detail) = match kind {
            StepKind::Called(Action::Model) => (noted(Noted::Model), None),
            StepKind::Called(Action::Tool) => (noted(Noted::Tool), None),
            StepKind::Returned(_) | StepKind::Event(EventType::SpendCounted) => {
                (None, noted(Noted::SpendUsd))
            }
            StepKind::Event(EventType::RunEnded) => (None, noted(Noted::TotalSpendUsd)),
            StepKind::Event(EventType::PolicyEvaluated) => (either(), noted(Noted::Decision)),
            StepKind::Event(EventType::ApprovalRequested) => (either(), None),
            StepKind::Event(EventType::ApprovalGranted) => (None, noted(Noted::Token)),
            StepKind::Strange => (None, event.event_type),
            _ => (None, None),
        };
        let other = match kind {
            StepKind::Called(Action::Model) => noted(Noted::Tool),
            StepKind::Called(Action::Tool) => noted(Noted::Model),
            _ => None,
        };
        let text = |value: Option<Value<'a>>| value.filter(|value| value.kind() == Kind::String);
        Some(Self {
            index,
            kind,
            withheld: event.is_redacted(),
            timestamp: event.timestamp,
            name: text(name),
            names_both: other.is_some_and(|other| !other.is_null()),
            step_id: text(noted(Noted::StepId)),
            approval_id: text(noted(Noted::ApprovalId)),
            detail,
        })
    }

    /// Why a call names neither model nor tool.
    pub(super) fn why_unnamed(&self) -> &'static str {
        if self.withheld {
            "the payload is withheld, so it does not tell what was called"
        } else {
            "it does not tell what was called"
        }
    }

    /// What a returned call did cost, or the whole run that ends.
    pub(super) fn spend(&self) -> Told {
        let is_told = matches!(
            self.kind,
            StepKind::Returned(_) | StepKind::Event(EventType::SpendCounted | EventType::RunEnded)
        );
        match self.detail.filter(|detail| is_told && !detail.is_null()) {
            Some(amount) => Money::of(amount, Rounding::Up).map_or(Told::Nonsense, Told::Amount),
            None => Told::Nothing,
        }
    }

    /// Whether an evaluation allowed the action; `None` if it does not tell.
    pub(super) fn allows(&self) -> Option<bool> {
        let decision = self.detail.filter(|_| self.kind == StepKind::Event(EventType::PolicyEvaluated))?;
        PolicyDecision::of(decision).map(|decision| decision == PolicyDecision::Allow)
    }

    /// A type that is not known here.
    pub(super) fn strange_type(&self) -> String {
        let event_type = self.detail.and_then(|event_type| event_type.string());
        event_type.map_or("no type".into(), |name| format!("the unknown type \"{}\"", Shown::new(&name)))
    }

    /// Who signed an approval, if its token tells.
    pub(super) fn signer_type(&self) -> Option<Value<'a>> {
        self.detail
            .filter(|_| self.kind == StepKind::Event(EventType::ApprovalGranted))?
            .member("signer_type")
    }

    /// What ties the events of one action together.
    pub(super) fn step_key(&self) -> Option<Cow<'a, [u8]>> {
        self.step_id?.string_bytes()
    }
}
