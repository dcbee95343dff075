//! Events of an answer: its gaps, the return itself, and its cost.

use std::time::Duration;

use reenact_record::observation::{EndCause, ExchangeEnd};
use reenact_record::{CallCost, Chunk, EndedBy, RawAnswer};

use super::ObservationWriter;
use super::open_exchange::OpenExchange;
use crate::body::{FinishedBody, StoredBody};
use crate::charge::{AnswerCount, Charge};
use crate::decode;
use crate::parsed_body::{self, ParsedAnswerBody, is_stream, is_success};

impl ObservationWriter<'_> {
    /// Writes the end of an exchange: the gaps of its body, its return, and its cost.
    ///
    /// `end` is `None` if the recorder was killed before the end came. `read` is the parsed answer, if the
    /// policy gate parsed it. An exchange without a head has no answer: then the error of the vendor, if there
    /// is one, and an empty return are written.
    pub(super) fn write_end(
        &mut self,
        exchange: u64,
        end: Option<ExchangeEnd<'_>>,
        read: Option<ParsedAnswerBody>,
    ) {
        let Some(mut open) = self.builder.open_exchanges.remove(&exchange) else { return };
        if end.is_none() {
            self.write_gap("answer", "the recorder stopped while it came");
        }
        let latency = end.as_ref().map_or(open.last_at, |end| end.latency);
        let is_too_long = end.as_ref().is_some_and(|end| end.is_too_long);
        let cause = end.map(|end| end.cause);
        // The client of a killed recorder lost its connection, as if it had left.
        let ended_by = cause.as_ref().map_or(EndedBy::Client, EndCause::ended_by);
        let Some(head) = open.head.take() else {
            if let Some(EndCause::Upstream { error_type, message, .. }) = &cause {
                let error = self.writer.record_error("upstream", error_type, message);
                self.value_or_report(error);
            }
            let returned = self
                .writer
                .record_return(&open.step, RawAnswer { ended_by, latency, ..RawAnswer::default() });
            self.value_or_report(returned);
            let is_unsent = cause.as_ref().is_some_and(EndCause::is_unsent);
            let count = if is_unsent { AnswerCount::Nothing } else { AnswerCount::UNANSWERED };
            return self.write_cost(&open, count);
        };
        let codings = decode::codings(&head.headers);
        let content_encoding = codings.join(", ");
        let is_stream = is_stream(&head.headers);
        let is_whole = cause == Some(EndCause::Eof) && !is_too_long;
        let mut body = open.finish_body(&codings, is_whole, self.builder.max_body_bytes);
        self.write_body_gaps(&body, is_too_long);
        let is_over = matches!(cause, Some(EndCause::Eof | EndCause::StreamDone));
        // An answer that was parsed on its way is not parsed again, unless it broke off: then its last event
        // matters.
        let answer = match read {
            Some(_) if is_over => None,
            _ => parsed_body::parse_answer(open.endpoint, head.status, is_stream, body.bytes()),
        };
        let complete = match is_over {
            true => !is_too_long && !body.is_incomplete(),
            false => is_stream && answer.as_ref().is_some_and(|answer| answer.is_complete),
        };
        let reads = &body.facts.reads;
        let chunks = if is_stream || reads.len() > 1 { chunks(reads) } else { Vec::new() };
        let delivered = open.withheld.take().map(|withheld| {
            let delivered = body.bytes().get(..withheld.delivered).unwrap_or(body.bytes());
            [delivered, &withheld.instead].concat()
        });
        let raw = RawAnswer {
            status: Some(head.status),
            version: Some(&head.version),
            headers: &head.headers.pairs(),
            trailers: &open.trailers.pairs(),
            body: b"",
            content_encoding: body.facts.is_decoded.then_some(&content_encoding),
            wire_sha256: body.facts.wire_sha256,
            chunks: &chunks,
            complete,
            ended_by,
            ttft: reads.first().map(|(at, _)| *at),
            latency,
            delivered: delivered.as_deref(),
            is_from_record: head.is_from_record,
        };
        let returned = match &mut body.stored {
            StoredBody::InMemory(body) => self.writer.record_return(&open.step, RawAnswer { body, ..raw }),
            StoredBody::Spooled(spool) => self.writer.record_spooled_return(&open.step, raw, spool),
            StoredBody::Lost(_) => self.writer.record_return(&open.step, raw),
        };
        self.value_or_report(returned);
        if open.admission.is_some() {
            let count = match read {
                Some(read) => read.count,
                // Vendors do not charge for requests that they refuse.
                None if !is_success(head.status) => AnswerCount::Nothing,
                None => {
                    let is_whole = complete && answer.as_ref().is_some_and(|answer| answer.is_complete);
                    AnswerCount::of(answer.as_ref(), is_whole)
                }
            };
            self.write_cost(&open, count);
        } else if let (Some(mut answer), Some(conversation)) = (answer, &mut self.builder.conversation) {
            if let Some(mut call_ids) = open.call_ids.take() {
                call_ids.fill(&mut answer.tool_calls);
            }
            // The agent may run the tools of the answer from now on.
            conversation.add_answer(&answer);
        }
    }

    /// Writes the capture gaps of a body: parts that could not be decoded, exceeded the limit, or were lost.
    fn write_body_gaps(&mut self, body: &FinishedBody, is_too_long: bool) {
        if let Some(fault) = &body.facts.fault {
            self.write_undecodable_gap("answer body", fault, body.facts.is_decoded, body.length());
        }
        if is_too_long {
            self.write_gap(
                "answer body",
                &format!("only its first {} bytes are kept", body.facts.wire_bytes),
            );
        }
        if let StoredBody::Lost(error) = &body.stored {
            (self.on_error)(error.clone());
            self.write_gap("answer body", "it could not be kept");
        }
    }

    /// Writes the cost of a call that was decided on and has a price.
    fn write_cost(&mut self, open: &OpenExchange, count: AnswerCount) {
        let charge = open
            .admission
            .as_ref()
            .and_then(|admission| Charge::of(admission, open.vendor, open.endpoint, count));
        let Some(Charge { rates, usage, amount, is_estimate }) = charge else { return };
        let spent = self.writer.record_spend(
            &open.step,
            &CallCost {
                model: &open.model,
                amount,
                is_estimate,
                rates: &[
                    ("cache_write", rates.cache_write),
                    ("cached_input", rates.cached_input),
                    ("input", rates.input),
                    ("output", rates.output),
                ],
                usage: &[
                    ("cache_write", usage.cache_write_tokens),
                    ("cached_input", usage.cached_input_tokens),
                    ("input", usage.input_tokens),
                    ("output", usage.output_tokens),
                ],
            },
        );
        self.value_or_report(spent);
    }
}

/// Converts reads with end offsets into chunks with lengths.
fn chunks(reads: &[(Duration, usize)]) -> Vec<Chunk> {
    let mut from = 0;
    let chunk = |&(at, to): &(Duration, usize)| {
        let length = to - from;
        from = to;
        Chunk { at, length }
    };
    reads.iter().map(chunk).collect()
}
