//! Exchange whose answer is being received: its pieces in memory or, if they are many, in a spool.

use std::time::Duration;

use reenact_record::observation::{Admission, HeaderList, InboundRequest, Observation};
use reenact_record::{EventWriter, StepId};
use reenact_wire::call_ids::CallIds;
use reenact_wire::{Endpoint, Vendor};

use crate::body::{FinishedBody, SpooledBody};
use crate::body_decoder::BodyReads;
use crate::decode;
use crate::parsed_body::{ParsedRequestBody, is_scanned, is_stream, is_success, vendor_and_endpoint};

/// Bytes of a body held in memory before they go to a spool, for bodies that need not be parsed as a whole: 1
/// MiB.
const MAX_MEMORY_BYTES: usize = 1 << 20;

/// Exchange that has not ended.
pub(super) struct OpenExchange {
    /// Step of the request's event.
    pub(super) step: StepId,
    /// Interface of the request, if it is known.
    pub(super) endpoint: Option<Endpoint>,
    pub(super) vendor: Vendor,
    /// Model that the request names.
    pub(super) model: String,
    /// Decision under which the request went out; `None` without an envelope.
    pub(super) admission: Option<Admission<'static>>,
    /// Ids for tool calls of the answer that come without one.
    pub(super) call_ids: Option<CallIds>,
    /// `None` until the head of the answer came.
    pub(super) head: Option<AnswerHead>,
    pub(super) trailers: HeaderList<'static>,
    /// Part that the client did not get, if there is one.
    pub(super) withheld: Option<WithheldPart>,
    /// Time of the last piece, since the request.
    pub(super) last_at: Duration,
    body: OpenBody,
}

/// Head of an answer.
pub(super) struct AnswerHead {
    pub(super) status: u16,
    pub(super) version: String,
    pub(super) headers: HeaderList<'static>,
    /// True if the answer comes from the record of another run.
    pub(super) is_from_record: bool,
}

/// Part of an answer that its client did not get.
pub(super) struct WithheldPart {
    /// Bytes of the body that were handed on.
    pub(super) delivered: usize,
    /// Bytes sent after them.
    pub(super) instead: Vec<u8>,
}

/// Body while it is received.
#[derive(Default)]
struct OpenBody {
    /// Beginning of the body, if it is in a spool.
    spooled: Option<Box<SpooledBody>>,
    /// Received bytes that are not in the spool.
    raw: Vec<u8>,
    /// Reads that brought `raw`. Offsets count from the start of the body.
    reads: BodyReads,
    /// Bytes received, including those in the spool.
    total_bytes: usize,
}

impl OpenExchange {
    /// Opens the exchange of a request that was written as `step`.
    pub(super) fn new(step: StepId, request: &InboundRequest<'_>, parsed_body: &ParsedRequestBody) -> Self {
        let (vendor, endpoint) = vendor_and_endpoint(request);
        Self {
            step,
            endpoint,
            vendor,
            model: parsed_body.model().unwrap_or_default().to_owned(),
            call_ids: parsed_body.call_ids(),
            admission: request.admission.clone().map(Admission::into_owned),
            head: None,
            trailers: HeaderList::default(),
            withheld: None,
            last_at: Duration::ZERO,
            body: OpenBody::default(),
        }
    }

    /// Takes a part of the answer: head, piece, trailers, or the note that the rest is withheld.
    pub(super) fn take(&mut self, writer: &EventWriter, observation: Observation<'_>, max_body_bytes: usize) {
        match observation {
            Observation::AnswerHead { status, version, headers, is_from_record } => {
                let (version, headers) = (version.into_owned(), headers.into_owned());
                self.head = Some(AnswerHead { status, version, headers, is_from_record });
            }
            Observation::Piece { at, bytes } => {
                self.last_at = at;
                self.push_piece(writer, at, &bytes, max_body_bytes);
            }
            Observation::Trailers { headers } => self.trailers = headers.into_owned(),
            Observation::Withheld { delivered, instead } => {
                let delivered = usize::try_from(delivered).unwrap_or(usize::MAX);
                self.withheld = Some(WithheldPart { delivered, instead: instead.into_owned() });
            }
            _ => {}
        }
    }

    /// Appends a piece, and moves the bytes in memory to the spool if they are many.
    fn push_piece(&mut self, writer: &EventWriter, at: Duration, bytes: &[u8], max_body_bytes: usize) {
        let body = &mut self.body;
        body.raw.extend_from_slice(bytes);
        body.total_bytes += bytes.len();
        body.reads.push((at, body.total_bytes));
        let is_long = body.raw.len() >= MAX_MEMORY_BYTES;
        if let Some(head) = self.head.as_ref().filter(|_| is_long)
            && is_spooled(self.endpoint, self.admission.is_some(), head.status, &head.headers)
        {
            let spooled = body.spooled.get_or_insert_with(|| {
                let codings = decode::codings(&head.headers);
                Box::new(SpooledBody::new(writer, &self.step, &codings, max_body_bytes))
            });
            spooled.push(&body.raw, &body.reads);
            body.raw.clear();
            body.reads.clear();
        }
    }

    /// Ends the body. `is_whole` is true if its end was received.
    pub(super) fn finish_body(
        &mut self,
        codings: &[String],
        is_whole: bool,
        max_body_bytes: usize,
    ) -> FinishedBody {
        let OpenBody { spooled, raw, reads, .. } = std::mem::take(&mut self.body);
        match spooled {
            None => FinishedBody::from_memory(codings, raw, reads, is_whole, max_body_bytes),
            Some(mut spooled) => {
                spooled.push(&raw, &reads);
                spooled.finish(is_whole)
            }
        }
    }
}

/// Returns true if a long body need not stay in memory.
///
/// Three kinds of bodies must stay: a model's answer that is parsed as a whole; a stream, because a
/// secret in it may be split into pieces that lie apart; and an answer that the policy gate judges, because a
/// part of it may be withheld.
pub(crate) fn is_spooled(
    endpoint: Option<Endpoint>,
    is_admitted: bool,
    status: u16,
    headers: &HeaderList<'_>,
) -> bool {
    let is_read = endpoint.is_some_and(Endpoint::is_answer_read);
    let is_checked = is_admitted && is_scanned(endpoint);
    !(is_stream(headers) || is_checked || is_success(status) && is_read)
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
            (models, true, 404, &json, false),
            (chat, true, 500, &json, false),
            (None, false, 200, &events, false),
            (Some(Endpoint::EMBEDDINGS), true, 200, &json, false),
            (Some(Endpoint::EMBEDDINGS), true, 500, &json, true),
            (Some(Endpoint::SPEECH), true, 200, &json, true),
        ] {
            let found = is_spooled(endpoint, is_admitted, status, headers);
            assert_eq!(found, expected, "{endpoint:?} {is_admitted} {status} {headers:?}");
        }
    }
}
