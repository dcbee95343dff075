//! The event builder: observations decoded, read, masked, and written as events through a [`Pen`].
//!
//! The live recorder and recovery both feed it the same observations, so that a recovered run has the events that the live one
//! would have had. [`EventBuilder::take`] is the only way in; requests, answers and notes each have a file.
//!
//! Four registers of open things remain in the recorder, each because its layer knows what the others cannot:
//! the ledger in `reenact-record` (steps that the journal has begun and not ended), `open` here (answers that come in pieces),
//! the segments of the log (observations that may not be wiped yet), and the allowed calls of the
//! [policy gate](crate::policy_gate), which decides before any of the others has heard of a call.

mod answer;
mod note;
mod open_exchange;
mod request;

use std::collections::HashMap;
use std::time::Duration;

use reenact_record::observation::{InboundRequest, Observation};
use reenact_record::warden::Money;
use reenact_record::{Pen, RecordError, StepId};
use reenact_wire::conversation::Conversation;
use reenact_wire::{Usage, Vendor};

use self::open_exchange::OpenExchange;
use crate::reading::{Reading, RequestReading};

pub(crate) use self::open_exchange::is_spooled;

/// Makes events of a run's observations.
pub(crate) struct EventBuilder {
    pen: Pen,
    /// Longest body that is decoded, in bytes.
    max_body_bytes: usize,
    /// The conversation from which tool calls are inferred. `None` under an envelope: there the policy gate has it, since it
    /// must know of a result before the request that brings it goes out.
    conversation: Option<Conversation>,
    /// Exchanges that have not returned, by the numbers of their requests.
    open: HashMap<u64, OpenExchange>,
}

impl EventBuilder {
    /// Builds events of a run that is only watched.
    pub(crate) fn watching(pen: Pen, max_body_bytes: usize) -> Self {
        let conversation = Some(Conversation::default());
        Self { conversation, ..Self::enforced(pen, max_body_bytes) }
    }

    /// Builds events of a run under an envelope.
    pub(crate) fn enforced(pen: Pen, max_body_bytes: usize) -> Self {
        Self { pen, max_body_bytes, conversation: None, open: HashMap::new() }
    }

    /// Marks tool calls as written already: an agent repeats its history, and its tools ran once.
    pub(crate) fn skip_tool_calls<'t>(&mut self, ids: impl IntoIterator<Item = &'t str>) {
        if let Some(conversation) = &mut self.conversation {
            ids.into_iter().for_each(|id| conversation.told(id));
        }
    }

    /// Opens an exchange whose request is in the journal already, under that step.
    pub(crate) fn resume(&mut self, exchange: u64, step: StepId, request: &InboundRequest<'_>) {
        let reading = RequestReading::of(request, self.max_body_bytes);
        self.open.insert(exchange, OpenExchange::new(step, request, &reading));
    }

    /// Forgets an exchange whose answer is in the journal already.
    pub(crate) fn forget(&mut self, exchange: u64) {
        self.open.remove(&exchange);
    }

    /// Returns the exchanges that have not ended, oldest first.
    pub(crate) fn unfinished(&self) -> Vec<u64> {
        let mut unfinished: Vec<u64> = self.open.keys().copied().collect();
        unfinished.sort_unstable();
        unfinished
    }

    /// Writes the events of one observation about `id`, with the time `at` if that is known. Returns the step of an exchange
    /// that begins. Errors go to `failed` and the rest goes on: an agent is never stopped because its record cannot be
    /// written.
    pub(crate) fn take(
        &mut self,
        id: u64,
        at: Option<Duration>,
        observation: Observation<'_>,
        reading: Option<Reading>,
        mut failed: impl FnMut(RecordError),
    ) -> Option<StepId> {
        match observation {
            Observation::Head { .. }
            | Observation::Piece { .. }
            | Observation::Trailers { .. }
            | Observation::Withheld { .. } => {
                if let Some(open) = self.open.get_mut(&id) {
                    open.take(&self.pen, observation, self.max_body_bytes);
                }
                return None;
            }
            // Marks of the log itself.
            Observation::Known { .. } | Observation::Journaled { .. } => return None,
            _ => {}
        }
        let pen = at.map_or_else(|| self.pen.clone(), |at| self.pen.at(at));
        let mut writing = Writing { builder: self, pen, failed: &mut failed };
        match (observation, reading) {
            (Observation::Request(request), Some(Reading::Request(reading))) => {
                return writing.request(id, &request, *reading);
            }
            (Observation::Request(request), _) => {
                let reading = RequestReading::of(&request, writing.builder.max_body_bytes);
                return writing.request(id, &request, reading);
            }
            (Observation::End(end), Some(Reading::Answer(reading))) => {
                writing.end(id, Some(end), Some(reading));
            }
            (Observation::End(end), _) => writing.end(id, Some(end), None),
            (note, _) => writing.note(note),
        }
        None
    }

    /// Writes the end of an exchange whose recorder was killed before it came.
    pub(crate) fn cut(&mut self, exchange: u64, mut failed: impl FnMut(RecordError)) {
        let pen = self.pen.clone();
        Writing { builder: self, pen, failed: &mut failed }.end(exchange, None, None);
    }
}

/// The builder while it writes the events of one observation.
struct Writing<'b> {
    builder: &'b mut EventBuilder,
    /// Stamps events with the time of the observation.
    pen: Pen,
    failed: &'b mut dyn FnMut(RecordError),
}

impl Writing<'_> {
    fn gap(&mut self, what: &str, why: &str) {
        let gap = self.pen.gap(what, why);
        self.written(gap);
    }

    /// Passes an error on; returns the value if there is none.
    fn written<T>(&mut self, result: Result<T, RecordError>) -> Option<T> {
        result.map_err(&mut *self.failed).ok()
    }
}

/// Returns the cost of a call: by the vendor's count, or by the estimate.
pub(crate) fn cost(
    admission: &reenact_record::observation::Admission<'_>,
    vendor: Vendor,
    usage: Option<Usage>,
) -> Money {
    let counted = admission.rates.zip(usage).map(|(rates, usage)| rates.cost(vendor, &usage));
    Money::from_picodollars(counted.unwrap_or_else(|| admission.estimate.into()))
}
