//! An exchange whose answer is coming: its pieces put together, in memory or, if they are many, in a spool.

use std::time::Duration;

use reenact_record::observation::{Admission, HeaderList, InboundRequest, Observation};
use reenact_record::{Pen, StepId};
use reenact_wire::call_ids::CallIds;
use reenact_wire::{Endpoint, Vendor};

use crate::body::{FinishedBody, SpooledBody};
use crate::decode;
use crate::reading::{RequestReading, interface, is_stream, is_success};
use crate::unpacking::Reads;

/// Bytes of a body held in memory before they go to a spool, if the body need not be read as a whole.
const MAX_HELD: usize = 1 << 20;

/// An exchange that has not returned.
pub(super) struct OpenExchange {
    pub(super) step: StepId,
    pub(super) endpoint: Option<Endpoint>,
    pub(super) vendor: Vendor,
    /// Model that the request names.
    pub(super) model: String,
    /// Decision under which the request went out.
    pub(super) admission: Option<Admission<'static>>,
    /// Ids for tool calls of the answer that come without one.
    pub(super) call_ids: Option<CallIds>,
    pub(super) head: Option<AnswerHead>,
    pub(super) trailers: HeaderList<'static>,
    pub(super) withheld: Option<Withheld>,
    /// Time of the last piece, since the request.
    pub(super) last_at: Duration,
    body: OpenBody,
}

/// The head of an answer.
pub(super) struct AnswerHead {
    pub(super) status: u16,
    pub(super) version: String,
    pub(super) headers: HeaderList<'static>,
}

/// The part of an answer that its client did not get.
pub(super) struct Withheld {
    /// Bytes of the body that were handed on.
    pub(super) delivered: usize,
    /// Bytes sent behind them.
    pub(super) instead: Vec<u8>,
}

/// A body while it comes.
#[derive(Default)]
struct OpenBody {
    /// The beginning that is in the spool, if there is one.
    spooled: Option<Box<SpooledBody>>,
    /// Bytes that came and are not in the spool.
    raw: Vec<u8>,
    /// Reads that brought them, counted from the start of the body.
    reads: Reads,
    /// Bytes that came.
    came: usize,
}

impl OpenExchange {
    pub(super) fn new(step: StepId, request: &InboundRequest<'_>, reading: &RequestReading) -> Self {
        let (vendor, endpoint) = interface(request);
        Self {
            step,
            endpoint,
            vendor,
            model: reading.model().unwrap_or_default().to_owned(),
            call_ids: reading.call_ids(),
            admission: request.admission.clone().map(Admission::into_owned),
            head: None,
            trailers: HeaderList::default(),
            withheld: None,
            last_at: Duration::ZERO,
            body: OpenBody::default(),
        }
    }

    /// Takes a part of the answer.
    pub(super) fn take(&mut self, pen: &Pen, observation: Observation<'_>, max_body_bytes: usize) {
        match observation {
            Observation::Head { status, version, headers } => {
                let (version, headers) = (version.into_owned(), headers.into_owned());
                self.head = Some(AnswerHead { status, version, headers });
            }
            Observation::Piece { at, bytes } => {
                self.last_at = at;
                self.piece(pen, at, &bytes, max_body_bytes);
            }
            Observation::Trailers { headers } => self.trailers = headers.into_owned(),
            Observation::Withheld { delivered, instead } => {
                let delivered = usize::try_from(delivered).unwrap_or(usize::MAX);
                self.withheld = Some(Withheld { delivered, instead: instead.into_owned() });
            }
            _ => {}
        }
    }

    fn piece(&mut self, pen: &Pen, at: Duration, bytes: &[u8], max_body_bytes: usize) {
        let body = &mut self.body;
        body.raw.extend_from_slice(bytes);
        body.came += bytes.len();
        body.reads.push((at, body.came));
        let is_long = body.raw.len() >= MAX_HELD;
        if let Some(head) = self.head.as_ref().filter(|_| is_long)
            && is_spooled(self.endpoint, self.admission.is_some(), head.status, &head.headers)
        {
            let spooled = body.spooled.get_or_insert_with(|| {
                let codings = decode::codings(&head.headers);
                Box::new(SpooledBody::new(pen, &self.step, &codings, max_body_bytes))
            });
            spooled.push(&body.raw, &body.reads);
            body.raw.clear();
            body.reads.clear();
        }
    }

    /// Ends the body. `is_whole` says that its end came.
    pub(super) fn finish_body(
        &mut self,
        codings: &[String],
        is_whole: bool,
        max_body_bytes: usize,
    ) -> FinishedBody {
        let OpenBody { spooled, raw, reads, .. } = std::mem::take(&mut self.body);
        match spooled {
            None => FinishedBody::whole(codings, raw, reads, is_whole, max_body_bytes),
            Some(mut spooled) => {
                spooled.push(&raw, &reads);
                spooled.finish(is_whole)
            }
        }
    }
}

/// Returns true if a long body need not stay in memory. A model's answer is read as a whole; so is a stream, in which a secret
/// may be cut into pieces that lie apart; and of an answer that the policy gate judges a part may be withheld.
pub(crate) fn is_spooled(
    endpoint: Option<Endpoint>,
    is_admitted: bool,
    status: u16,
    headers: &HeaderList<'_>,
) -> bool {
    let calls_model = endpoint.is_some_and(Endpoint::calls_a_model);
    let is_judged = is_admitted && endpoint.is_some();
    !(is_stream(headers) || is_success(status) && (calls_model || is_judged))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_that_are_read_as_a_whole_stay_in_memory() {
        let json: HeaderList<'_> = [("content-type", &b"application/json"[..])].into_iter().collect();
        let events: HeaderList<'_> = [("content-type", &b"text/event-stream"[..])].into_iter().collect();
        let chat = Some(Endpoint::CHAT_COMPLETIONS);
        let models = Some(Endpoint::MODELS);
        for (endpoint, is_admitted, status, headers, expected) in [
            (None, false, 200, &json, true),
            (None, true, 200, &json, true),
            (chat, false, 200, &json, false),
            (chat, false, 500, &json, true),
            (models, false, 200, &json, true),
            (models, true, 200, &json, false),
            (models, true, 404, &json, true),
            (None, false, 200, &events, false),
        ] {
            let found = is_spooled(endpoint, is_admitted, status, headers);
            assert_eq!(found, expected, "{endpoint:?} {is_admitted} {status} {headers:?}");
        }
    }
}
