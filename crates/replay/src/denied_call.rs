//! What an envelope denied when the run was recorded: it is denied again, in the same words.
//!
//! A request that was denied never went out, and its record holds no more of it than its model and the rule. It is known again by
//! its place: everything that was asked before it has been asked, and it asks the same model for something that was never
//! answered.

use std::time::Duration;

use reenact_run::{EventPayload, EventType, Run};
use reenact_wire::{Vendor, error_reply};

use crate::answer::{AnswerEnd, RecordedAnswer};
use crate::request::PlayerRequest;

/// A call of a model that was denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeniedCall {
    /// The place of its event.
    pub(crate) event_index: usize,
    step_id: String,
    pub(crate) model: String,
    rule: String,
    reason: String,
}

impl DeniedCall {
    /// All of a run, in order.
    pub(crate) fn of_run(run: &Run) -> Vec<Self> {
        let blocked = run.events().filter(|event| event.kind() == Some(EventType::StepBlocked));
        let denial = |event: reenact_run::Event<'_>| {
            let EventPayload::Present(payload) = event.payload() else { return None };
            let text = |name: &str| Some(payload.member(name)?.string()?.into_owned());
            Some(Self {
                event_index: event.index(),
                step_id: event.step_id().into_owned(),
                model: text("model")?,
                rule: text("rule")?,
                reason: text("reason")?,
            })
        };
        blocked.filter_map(denial).collect()
    }

    /// The answer that its agent got then. How long it was to wait is not recorded; nobody has to wait for a replay.
    pub(crate) fn answer(&self, incoming: &PlayerRequest<'_>) -> RecordedAnswer {
        let vendor = Vendor::of_route(incoming.provider);
        let denial = error_reply::DenialReply::new(&self.rule, &self.reason, Some(Duration::ZERO));
        RecordedAnswer {
            step_id: self.step_id.clone(),
            status: Some(denial.status()),
            version: None,
            headers: denial.headers().into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            trailers: Vec::new(),
            body: denial.body(vendor).into_bytes(),
            chunks: Vec::new(),
            end: AnswerEnd::Complete,
            is_rebuilt: false,
        }
    }
}
