//! What an audit needs of an event, taken while its batch is judged.

use std::borrow::Cow;

use reenact_formats::rer::envelope::decide::Action;
use reenact_formats::rer::envelope::money::{Money, Rounding};
use reenact_formats::rer::{EventView, Noted};
use reenact_json::{Kind, Shown, Value};

/// An event that an audit looks at.
#[derive(Debug, Clone, Copy)]
pub(in crate::rer) struct Step<'a> {
    pub(super) index: usize,
    pub(super) what: What,
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

/// The kinds of event that an audit looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rer) enum What {
    RunStarted,
    RunEnded,
    Evaluated,
    Blocked,
    Called(Action),
    Returned(Action),
    /// What a call did cost, told apart from its return.
    Spent,
    ApprovalRequested,
    ApprovalGranted,
    ApprovalDenied,
    Gap,
    /// Of a type that is not known here, but that may be an action.
    Strange,
}

impl What {
    fn of(event_type: &[u8]) -> Option<Self> {
        Some(match event_type {
            b"rer.run.started" => Self::RunStarted,
            b"rer.run.ended" => Self::RunEnded,
            b"rer.policy.evaluated" => Self::Evaluated,
            b"rer.policy.step_blocked" => Self::Blocked,
            b"rer.model.called" => Self::Called(Action::Model),
            b"rer.model.returned" => Self::Returned(Action::Model),
            b"rer.tool.called" => Self::Called(Action::Tool),
            b"rer.tool.returned" => Self::Returned(Action::Tool),
            b"rer.spend.counted" => Self::Spent,
            b"rer.approval.requested" => Self::ApprovalRequested,
            b"rer.approval.granted" => Self::ApprovalGranted,
            b"rer.approval.denied" => Self::ApprovalDenied,
            b"rer.capture.gap" => Self::Gap,
            strange if is_strange(strange) => Self::Strange,
            _ => return None,
        })
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
        let what = match event.event_type.and_then(|event_type| event_type.string_bytes()) {
            Some(event_type) => What::of(&event_type)?,
            None => What::Strange,
        };
        let noted = |name| event.noted(name);
        let either = || noted(Noted::Model).or_else(|| noted(Noted::Tool));
        let (name, detail) = match what {
            What::Called(Action::Model) => (noted(Noted::Model), None),
            What::Called(Action::Tool) => (noted(Noted::Tool), None),
            What::Returned(_) | What::Spent => (None, noted(Noted::SpendUsd)),
            What::RunEnded => (None, noted(Noted::TotalSpendUsd)),
            What::Evaluated => (either(), noted(Noted::Decision)),
            What::ApprovalRequested => (either(), None),
            What::ApprovalGranted => (None, noted(Noted::Token)),
            What::Strange => (None, event.event_type),
            _ => (None, None),
        };
        let other = match what {
            What::Called(Action::Model) => noted(Noted::Tool),
            What::Called(Action::Tool) => noted(Noted::Model),
            _ => None,
        };
        let text = |value: Option<Value<'a>>| value.filter(|value| value.kind() == Kind::String);
        Some(Self {
            index,
            what,
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
        let is_told = matches!(self.what, What::Returned(_) | What::Spent | What::RunEnded);
        match self.detail.filter(|detail| is_told && !detail.is_null()) {
            Some(amount) => Money::of(amount, Rounding::Up).map_or(Told::Nonsense, Told::Amount),
            None => Told::Nothing,
        }
    }

    /// Whether an evaluation allowed the action; `None` if it does not tell.
    pub(super) fn allows(&self) -> Option<bool> {
        let decision = self.detail.filter(|_| self.what == What::Evaluated)?;
        match (decision.is_string("allow"), decision.is_string("deny")) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// A type that is not known here.
    pub(super) fn strange_type(&self) -> String {
        let event_type = self.detail.and_then(|event_type| event_type.string());
        event_type.map_or("no type".into(), |name| format!("the unknown type \"{}\"", Shown::new(&name)))
    }

    /// Who signed an approval, if its token tells.
    pub(super) fn signer_type(&self) -> Option<Value<'a>> {
        self.detail.filter(|_| self.what == What::ApprovalGranted)?.member("signer_type")
    }

    /// What ties the events of one action together.
    pub(super) fn step_key(&self) -> Option<Cow<'a, [u8]>> {
        self.step_id?.string_bytes()
    }
}
