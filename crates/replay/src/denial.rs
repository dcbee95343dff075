//! What an envelope denied when the run was recorded: it is denied again, in the same words.
//!
//! A request that was denied never went out, and its record holds no more of it than its model and the rule. It is known again by
//! its place: everything that was asked before it has been asked, and it asks the same model for something that was never
//! answered.

use reenact_run::{EventType, Payload, Run};
use reenact_wire::{Vendor, refusal};

use crate::answer::{End, RecordedAnswer};
use crate::incoming::Incoming;

/// By which clients' errors tell that an envelope says no.
pub(crate) const CODE: &str = "reenact_denied";

/// A call of a model that was denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Denial {
    /// The place of its event.
    pub(crate) event: usize,
    step_id: String,
    pub(crate) model: String,
    rule: String,
    reason: String,
}

impl Denial {
    /// All of a run, in order.
    pub(crate) fn all(run: &Run) -> Vec<Self> {
        let blocked = run.events().filter(|event| event.kind() == Some(EventType::StepBlocked));
        let denial = |event: reenact_run::Event<'_>| {
            let Payload::Present(payload) = event.payload() else { return None };
            let text = |name: &str| Some(payload.member(name)?.string()?.into_owned());
            Some(Self {
                event: event.index(),
                step_id: event.step_id().into_owned(),
                model: text("model")?,
                rule: text("rule")?,
                reason: text("reason")?,
            })
        };
        blocked.filter_map(denial).collect()
    }

    /// What its agent was told then.
    pub(crate) fn answer(&self, incoming: &Incoming<'_>) -> RecordedAnswer {
        let vendor = Vendor::of_name(incoming.provider).unwrap_or(Vendor::OpenAi);
        let (status, kind) = match self.rule.as_str() {
            "rate_limit_rpm" => (429, "rate_limit_error"),
            _ => (403, "permission_error"),
        };
        let message = format!("reenact: denied by {}: {}", self.rule, self.reason);
        RecordedAnswer {
            step_id: self.step_id.clone(),
            status: Some(status),
            version: None,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            trailers: Vec::new(),
            body: refusal::body(vendor, kind, CODE, &message).into_bytes(),
            chunks: Vec::new(),
            end: End::Complete,
            is_rebuilt: false,
        }
    }
}

/// The status with which something was handed out in the place of an answer in one piece.
pub(crate) fn status(delivered: &[u8]) -> Option<u16> {
    let document = reenact_json::Value::parse(delivered, &reenact_json::Limits::default()).ok()?;
    let error = document.member("error")?;
    let is = |name: &str, word: &str| error.member(name).is_some_and(|found| found.is_string(word));
    is("code", CODE).then(|| if is("type", "rate_limit_error") { 429 } else { 403 })
}
