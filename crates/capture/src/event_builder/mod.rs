//! Event builder: decodes, parses and masks observations, and writes them as events through an [`EventWriter`].
//!
//! The live recorder and recovery both feed it the same observations, so that a recovered run has the events
//! that the live one would have had. [`EventBuilder::take`] is the only way in; requests, answers and notes
//! each have a file.
//!
//! The recorder has four registers of open things, each in the layer that knows what the others cannot:
//!
//! - `RunState` in `reenact-record`: steps that the journal has begun and not ended
//! - `open_exchanges` here: answers that come in pieces
//! - segments of the log: observations that may not be wiped yet
//! - allowed calls of the [policy gate](crate::policy_gate), which decides before the others hear of a call

mod answer;
mod note;
mod open_exchange;
mod request;

use std::collections::HashMap;
use std::time::Duration;

use reenact_record::observation::{InboundRequest, Observation};
use reenact_record::{EventWriter, RecordError, StepId};
use reenact_wire::conversation::Conversation;

use self::open_exchange::OpenExchange;
use crate::parsed_body::{ParsedBody, ParsedRequestBody};

pub(crate) use self::open_exchange::is_spooled;

/// Builder of a run's events.
pub(crate) struct EventBuilder {
    writer: EventWriter,
    /// Longest body that is decoded, in bytes.
    max_body_bytes: usize,
    /// Conversation from which tool calls are inferred. `None` under an envelope: there the policy gate has it,
    /// since it must know of a result before the request that brings it goes out.
    conversation: Option<Conversation>,
    /// Exchanges that have not ended, by the numbers of their requests.
    open_exchanges: HashMap<u64, OpenExchange>,
}

impl EventBuilder {
    /// Makes the builder of a run without an enforced envelope.
    pub(crate) fn unenforced(writer: EventWriter, max_body_bytes: usize) -> Self {
        let conversation = Some(Conversation::default());
        Self { conversation, ..Self::enforced(writer, max_body_bytes) }
    }

    /// Makes the builder of a run under an envelope.
    pub(crate) fn enforced(writer: EventWriter, max_body_bytes: usize) -> Self {
        Self { writer, max_body_bytes, conversation: None, open_exchanges: HashMap::new() }
    }

    /// Marks tool calls as written already: an agent repeats its history, and its tools ran once.
    pub(crate) fn skip_tool_calls<'t>(&mut self, ids: impl IntoIterator<Item = &'t str>) {
        if let Some(conversation) = &mut self.conversation {
            ids.into_iter().for_each(|id| conversation.skip_result(id));
        }
    }

    /// Opens an exchange whose request the journal already has as `step`.
    pub(crate) fn resume(&mut self, exchange: u64, step: StepId, request: &InboundRequest<'_>) {
        let parsed_body = ParsedRequestBody::of(request, self.max_body_bytes);
        self.open_exchanges.insert(exchange, OpenExchange::new(step, request, &parsed_body));
    }

    /// Drops an exchange whose answer the journal already has.
    pub(crate) fn forget(&mut self, exchange: u64) {
        self.open_exchanges.remove(&exchange);
    }

    /// Returns the exchanges that have not ended, oldest first.
    pub(crate) fn unfinished(&self) -> Vec<u64> {
        let mut unfinished: Vec<u64> = self.open_exchanges.keys().copied().collect();
        unfinished.sort_unstable();
        unfinished
    }

    /// Writes the events of one observation about `id`, with the time `at` if it is known. Returns the step of
    /// an exchange that begins.
    ///
    /// Errors go to `failed`, and the builder goes on: an agent is never stopped because its record cannot be
    /// written.
    pub(crate) fn take(
        &mut self,
        id: u64,
        at: Option<Duration>,
        observation: Observation<'_>,
        parsed_body: Option<ParsedBody>,
        mut failed: impl FnMut(RecordError),
    ) -> Option<StepId> {
        match observation {
            Observation::AnswerHead { .. }
            | Observation::Piece { .. }
            | Observation::Trailers { .. }
            | Observation::Withheld { .. } => {
                if let Some(open) = self.open_exchanges.get_mut(&id) {
                    open.take(&self.writer, observation, self.max_body_bytes);
                }
                return None;
            }
            // Marks of the log itself, not observations of the run.
            Observation::KnownSecret { .. }
            | Observation::Journaled { .. }
            | Observation::JournalCut { .. } => return None,
            _ => {}
        }
        let writer = at.map_or_else(|| self.writer.clone(), |at| self.writer.at(at));
        let mut writing = ObservationWriter { builder: self, writer, on_error: &mut failed };
        match (observation, parsed_body) {
            (Observation::Request(request), Some(ParsedBody::Request(parsed_body))) => {
                return writing.write_request(id, &request, *parsed_body);
            }
            (Observation::Request(request), _) => {
                let parsed_body = ParsedRequestBody::of(&request, writing.builder.max_body_bytes);
                return writing.write_request(id, &request, parsed_body);
            }
            (Observation::End(end), Some(ParsedBody::Answer(parsed_body))) => {
                writing.write_end(id, Some(end), Some(parsed_body));
            }
            (Observation::End(end), _) => writing.write_end(id, Some(end), None),
            (note, _) => writing.write_note(note),
        }
        None
    }

    /// Writes the end of an exchange whose recorder was killed before the end came.
    pub(crate) fn write_cut_exchange(&mut self, exchange: u64, mut failed: impl FnMut(RecordError)) {
        let writer = self.writer.clone();
        ObservationWriter { builder: self, writer, on_error: &mut failed }.write_end(exchange, None, None);
    }
}

/// Writer for the events of one observation.
struct ObservationWriter<'b> {
    builder: &'b mut EventBuilder,
    /// Stamps events with the time of the observation.
    writer: EventWriter,
    /// Receives errors of the journal.
    on_error: &'b mut dyn FnMut(RecordError),
}

impl ObservationWriter<'_> {
    /// Writes a capture gap.
    fn write_gap(&mut self, what: &str, why: &str) {
        let gap = self.writer.record_gap(what, why);
        self.value_or_report(gap);
    }

    /// Returns the value, or passes the error to `on_error`.
    fn value_or_report<T>(&mut self, result: Result<T, RecordError>) -> Option<T> {
        result.map_err(&mut *self.on_error).ok()
    }
}
