//! What an audit needs of an event, taken while its batch is judged.

use reenact_formats::rer::envelope::decide::Action;
use reenact_formats::rer::envelope::money::{Money, Rounding};
use reenact_formats::rer::{EventView, Noted};
use reenact_json::{Kind, Value};

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
    pub(super) step_id: Option<Value<'a>>,
    pub(super) approval_id: Option<Value<'a>>,
    /// What else this kind of event tells: a decision, a token, an amount.
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
    ApprovalGranted,
    ApprovalDenied,
    Gap,
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
            b"rer.approval.granted" => Self::ApprovalGranted,
            b"rer.approval.denied" => Self::ApprovalDenied,
            b"rer.capture.gap" => Self::Gap,
            _ => return None,
        })
    }
}

impl<'a> Step<'a> {
    /// What an audit needs of an event; `None` if it needs nothing.
    pub(in crate::rer) fn of(index: usize, event: &EventView<'a>) -> Option<Self> {
        let what = What::of(&event.event_type?.string_bytes()?)?;
        let noted = |name| event.noted(name);
        let (name, detail) = match what {
            What::Called(Action::Model) => (noted(Noted::Model), None),
            What::Called(Action::Tool) => (noted(Noted::Tool), None),
            What::Returned(_) => (None, noted(Noted::SpendUsd)),
            What::RunEnded => (None, noted(Noted::TotalSpendUsd)),
            What::Evaluated => (None, noted(Noted::Decision)),
            What::ApprovalGranted => (None, noted(Noted::Token)),
            _ => (None, None),
        };
        let text = |value: Option<Value<'a>>| value.filter(|value| value.kind() == Kind::String);
        Some(Self {
            index,
            what,
            withheld: event.is_redacted(),
            timestamp: event.timestamp,
            name: text(name),
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

    /// What a returned call did cost.
    pub(super) fn spend(&self) -> Option<Money> {
        self.amount(matches!(self.what, What::Returned(_)))
    }

    /// What the whole run did cost.
    pub(super) fn total_spend(&self) -> Option<Money> {
        self.amount(self.what == What::RunEnded)
    }

    fn amount(&self, is_told: bool) -> Option<Money> {
        let amount = self.detail.filter(|detail| is_told && detail.kind() == Kind::Number)?;
        Money::from_dollars(amount.text(), Rounding::Up)
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

    /// Who signed an approval, if its token tells.
    pub(super) fn signer_type(&self) -> Option<Value<'a>> {
        self.detail.filter(|_| self.what == What::ApprovalGranted)?.member("signer_type")
    }

    /// What ties the events of one action together.
    pub(super) fn step_key(&self) -> Option<Vec<u8>> {
        self.step_id?.string_bytes().map(|id| id.into_owned())
    }
}
