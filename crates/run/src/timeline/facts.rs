//! Facts of one step, without bodies and headers: enough for a line of a timeline in any output.
//!
//! All text here is the record's own and untrusted. Facts about tools are those of [`ToolUse`](crate::ToolUse).

use std::borrow::Cow;
use std::time::Duration;

use reenact_json::{Digest, Value};
use reenact_wire::Endpoint;

use crate::reader;
use crate::{
    EndedBy, Event, EventPayload, EventType, Exchange, ExchangeAnswer, ExchangeRequest, ExchangeRequestBody,
    UnreadablePayload,
};
use reenact_formats::FormatId;
use reenact_formats::rer::payload::{
    JournalChangedView, PayloadMember, RecoverySource, RunRecoveredView, StepBlockedView,
};

/// Facts of a request and its answer.
#[derive(Debug, Clone)]
pub struct CallFacts<'r> {
    /// Facts of the request, or why it cannot be read.
    pub request: Result<RequestFacts<'r>, UnreadablePayload>,
    /// Facts of the answer, or why none can be read.
    pub answer: Result<AnswerFacts, UnreadablePayload>,
    /// Message of the answer, if it is of a model.
    pub message: Option<reenact_wire::ModelAnswer>,
}

/// Facts of a request.
#[derive(Debug, Clone)]
pub struct RequestFacts<'r> {
    /// Name of the route, such as `openai`; empty if the record does not say.
    pub provider: Cow<'r, str>,
    /// Model, as the record says.
    pub model: Option<Cow<'r, str>>,
    /// Endpoint of the vendor, if it is one that reenact knows.
    pub endpoint: Option<Endpoint>,
    /// HTTP method, such as `POST`; empty if the record does not say.
    pub method: Cow<'r, str>,
    /// Path at the vendor, with its query; empty if the record does not say.
    pub path: Cow<'r, str>,
    /// Prompt, where the record holds words and not a body.
    pub prompt: Option<String>,
    /// SHA-256 of the body, where the record holds nothing else of it.
    pub body_hash: Option<Digest>,
}

/// Facts of an answer, apart from its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerFacts {
    /// HTTP status; `None` if no answer came.
    pub status: Option<u16>,
    /// True if the answer came as a stream of server-sent events.
    pub is_stream: bool,
    /// True if the answer came to its end.
    pub complete: bool,
    /// Party or event that ended the answer.
    pub ended_by: EndedBy,
    /// Time to the first byte of the body.
    pub ttft: Option<Duration>,
    /// Time to the end of the answer.
    pub latency: Option<Duration>,
}

/// An action that policy did not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedFacts<'r> {
    /// True for a tool, false for a model.
    pub is_tool: bool,
    /// Name of the tool or the model, if the record has one.
    pub name: Option<Cow<'r, str>>,
    /// Rule that denied the action.
    pub rule: Option<Cow<'r, str>>,
    /// Reason, in words.
    pub reason: Option<Cow<'r, str>>,
}

/// Statement of a record that its recorder does not vouch for all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryMark {
    /// The recorder did not come to the end; a recovery sealed the run.
    Recovered {
        /// Origin of what the recovery knew, if the record says.
        from: Option<RecoverySource>,
        /// Number of events that are known to be lost; 0 if none is.
        lost: u64,
    },
    /// Someone changed the journal.
    JournalChanged {
        /// Number of events before this one that are what was written, if the record says.
        kept: Option<u64>,
    },
}

impl<'r> Exchange<'r> {
    /// Reads the facts of a request and its answer.
    pub fn facts(&self) -> CallFacts<'r> {
        CallFacts {
            request: self.request().map(RequestFacts::of),
            answer: self.answer().map(|answer| AnswerFacts::of(&answer)),
            message: self.message(),
        }
    }
}

impl<'r> RequestFacts<'r> {
    fn of(request: ExchangeRequest<'r>) -> Self {
        let ExchangeRequest { provider, model, endpoint, method, path, body, .. } = request;
        let (prompt, body_hash) = match body {
            ExchangeRequestBody::Prompt(prompt) => (Some(prompt.into_owned()), None),
            ExchangeRequestBody::Hash(digest) => (None, Some(digest)),
            _ => (None, None),
        };
        Self { provider, model, endpoint, method, path, prompt, body_hash }
    }
}

impl AnswerFacts {
    fn of(answer: &ExchangeAnswer<'_>) -> Self {
        let &ExchangeAnswer { status, complete, ended_by, ttft, latency, .. } = answer;
        Self { status, is_stream: answer.is_stream(), complete, ended_by, ttft, latency }
    }
}

impl<'r> Event<'r> {
    /// Reads the facts of an action that was not allowed; `None` if the event is none.
    pub fn blocked(&self) -> Option<BlockedFacts<'r>> {
        let EventPayload::Present(payload) = self.payload() else { return None };
        if self.kind() != Some(EventType::StepBlocked) || self.payload_format() != FormatId::Rer {
            return None;
        }
        let view = StepBlockedView::read(payload);
        let text = |member: PayloadMember<'r>| member.text().ok().flatten();
        let tool = text(view.tool);
        Some(BlockedFacts {
            is_tool: tool.is_some(),
            name: tool.or_else(|| text(view.model)),
            rule: text(view.rule),
            reason: text(view.reason),
        })
    }

    /// Reads the facts of a recovery, or of a change of the journal; `None` if the event is neither.
    pub fn recovery(&self) -> Option<RecoveryMark> {
        if self.payload_format() != FormatId::Rer {
            return None;
        }
        let payload = self.payload().value();
        let whole = |member: PayloadMember<'_>| member.value().and_then(|value| value.unsigned_integer());
        match self.kind()? {
            EventType::RunRecovered => {
                let view = payload.map(RunRecoveredView::read);
                Some(RecoveryMark::Recovered {
                    from: view.and_then(|view| view.from.word()),
                    lost: view.and_then(|view| whole(view.lost)).unwrap_or(0),
                })
            }
            EventType::JournalChanged => {
                let view = payload.map(JournalChangedView::read);
                Some(RecoveryMark::JournalChanged { kept: view.and_then(|view| whole(view.kept)) })
            }
            _ => None,
        }
    }

    /// Members of a payload that tell what happened, without those that belong to the format.
    pub fn content_members(&self) -> impl Iterator<Item = (Cow<'r, str>, Value<'r>)> {
        let reader = reader::reader_of(self.payload_format());
        let payload = self.payload().value().map(|payload| reader.content_part(payload));
        payload.into_iter().flat_map(|payload| payload.members()).filter_map(move |(name, value)| {
            let name = name.string()?;
            (!reader.is_format_member(&name)).then_some((name, value))
        })
    }
}
