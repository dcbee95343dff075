//! Events of an answer: the gaps in it, the return itself, its cost.

use std::time::Duration;

use reenact_record::observation::{EndCause, ExchangeEnd};
use reenact_record::{Chunk, EndedBy, RawAnswer, Spent};
use reenact_wire::Usage;

use super::open_exchange::OpenExchange;
use super::{Writing, cost};
use crate::body::{FinishedBody, Kept};
use crate::decode;
use crate::reading::{self, AnswerReading, is_stream, is_success};

impl Writing<'_> {
    /// Writes what came of a request. `end` is `None` if the recorder was killed before the end came.
    pub(super) fn end(&mut self, exchange: u64, end: Option<ExchangeEnd<'_>>, read: Option<AnswerReading>) {
        let Some(mut open) = self.builder.open.remove(&exchange) else { return };
        if end.is_none() {
            self.gap("answer", "the recorder stopped while it came");
        }
        let latency = end.as_ref().map_or(open.last_at, |end| end.latency);
        let is_too_long = end.as_ref().is_some_and(|end| end.is_too_long);
        let cause = end.map(|end| end.cause);
        // To the client of a killed recorder it was as if it had left itself: its connection was gone.
        let ended_by = cause.as_ref().map_or(EndedBy::Client, EndCause::ended_by);
        let Some(head) = open.head.take() else {
            if let Some(EndCause::Upstream { error_type, message, .. }) = &cause {
                let error = self.pen.error("upstream", error_type, message);
                self.written(error);
            }
            let returned =
                self.pen.returned(&open.step, RawAnswer { ended_by, latency, ..RawAnswer::default() });
            self.written(returned);
            return self.spent(&open, None);
        };
        let codings = decode::codings(&head.headers);
        let content_encoding = codings.join(", ");
        let is_stream = is_stream(&head.headers);
        let is_whole = cause == Some(EndCause::Eof) && !is_too_long;
        let mut body = open.finish_body(&codings, is_whole, self.builder.max_body_bytes);
        self.shortened(&body, is_too_long);
        let is_over = matches!(cause, Some(EndCause::Eof | EndCause::StreamDone));
        // An answer that was read on its way is not read again, unless it broke off: then its last event matters.
        let answer = match read {
            Some(_) if is_over => None,
            _ => reading::answer(open.endpoint, head.status, is_stream, body.bytes()),
        };
        let complete = match is_over {
            true => !is_too_long && !body.is_short(),
            false => is_stream && answer.as_ref().is_some_and(|answer| answer.complete),
        };
        let reads = &body.unpacked.reads;
        let chunks = if is_stream || reads.len() > 1 { chunks(reads) } else { Vec::new() };
        let delivered = open.withheld.take().map(|withheld| {
            let kept = body.bytes().get(..withheld.delivered).unwrap_or(body.bytes());
            [kept, &withheld.instead].concat()
        });
        let raw = RawAnswer {
            status: Some(head.status),
            version: Some(&head.version),
            headers: &head.headers.pairs(),
            trailers: &open.trailers.pairs(),
            body: b"",
            content_encoding: body.unpacked.is_decoded.then_some(&content_encoding),
            wire_sha256: body.unpacked.wire_sha256,
            chunks: &chunks,
            complete,
            ended_by,
            ttft: reads.first().map(|(at, _)| *at),
            latency,
            delivered: delivered.as_deref(),
        };
        let returned = match &mut body.kept {
            Kept::Whole(body) => self.pen.returned(&open.step, RawAnswer { body, ..raw }),
            Kept::Spooled(spool) => self.pen.returned_spooled(&open.step, raw, spool),
            Kept::Lost(_) => self.pen.returned(&open.step, raw),
        };
        self.written(returned);
        if open.admission.is_some() {
            let usage = read.map_or_else(|| answer.and_then(|answer| answer.usage), |read| read.usage);
            // Vendors do not charge for requests that they refuse.
            let usage = if is_success(head.status) { usage } else { Some(Usage::default()) };
            self.spent(&open, usage);
        } else if let (Some(mut answer), Some(conversation)) = (answer, &mut self.builder.conversation) {
            if let Some(mut call_ids) = open.call_ids.take() {
                call_ids.fill(&mut answer.tool_calls);
            }
            // The tools that the answer asks for may be run from now on.
            conversation.answered(&answer);
        }
    }

    /// Writes which part of a body is not kept.
    fn shortened(&mut self, body: &FinishedBody, is_too_long: bool) {
        if let Some(fault) = &body.unpacked.fault {
            self.undecodable("answer body", fault, body.unpacked.is_decoded, body.length());
        }
        if is_too_long {
            self.gap("answer body", &format!("only its first {} bytes are kept", body.unpacked.came));
        }
        if let Kept::Lost(error) = &body.kept {
            (self.failed)(error.clone());
            self.gap("answer body", "it could not be kept");
        }
    }

    /// Writes the cost of a call that was decided on and has a price.
    fn spent(&mut self, open: &OpenExchange, usage: Option<Usage>) {
        let Some(admission) = &open.admission else { return };
        let Some(rates) = admission.rates else { return };
        let counted = usage.unwrap_or_default();
        let spent = self.pen.spent(
            &open.step,
            &Spent {
                model: &open.model,
                amount: cost(admission, open.vendor, usage),
                is_estimate: usage.is_none(),
                rates: &[
                    ("cache_write", rates.cache_write),
                    ("cached_input", rates.cached_input),
                    ("input", rates.input),
                    ("output", rates.output),
                ],
                usage: &[
                    ("cache_write", counted.cache_write_tokens),
                    ("cached_input", counted.cached_input_tokens),
                    ("input", counted.input_tokens),
                    ("output", counted.output_tokens),
                ],
            },
        );
        self.written(spent);
    }
}

/// Returns reads as lengths.
fn chunks(reads: &[(Duration, usize)]) -> Vec<Chunk> {
    let mut from = 0;
    let chunk = |&(at, to): &(Duration, usize)| {
        let length = to - from;
        from = to;
        Chunk { at, length }
    };
    reads.iter().map(chunk).collect()
}
