//! Calls of models that policy denied in the recorded run. A replay denies them again, in the same words.
//!
//! A denied request was never sent, and the record holds only its model, the rule and the reason. The player
//! recognises such a request by its order: everything recorded before the denial is served, and the request
//! asks the same model for something that was never answered.

use std::time::Duration;

use reenact_run::{EventPayload, EventType, Run};
use reenact_wire::{Vendor, error_reply};

use crate::answer::{AnswerEnd, RecordedAnswer};
use crate::request::PlayerRequest;

/// Call of a model that policy denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeniedCall {
    /// Index of the event in the run.
    pub(crate) event_index: usize,
    step_id: String,
    pub(crate) model: String,
    rule: String,
    reason: String,
}

impl DeniedCall {
    /// Returns all denied calls of a run, in recorded order.
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

    /// Returns the answer that the agent got for this call. The recorded run may have asked the agent to wait;
    /// that time is not recorded, and a replay asks for none.
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
