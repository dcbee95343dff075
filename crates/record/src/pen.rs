//! What writes into a run while it goes on: any number of pens, on any number of threads.

use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use reenact_formats::rer::EventType;
use reenact_formats::rer::payload::{
    CaptureGap, ErrorRaised, ExchangeCalled, ExchangeReturned, HttpAnswer, HttpRequest, Source, ToolCalled,
    ToolReturned,
};
use reenact_json::Digest;

use crate::clock::Clock;
use crate::error::RecordError;
use crate::exchange::{Chunk, Exchange, Headers, MaskedRequest, RawAnswer, RawRequest, StepId};
use crate::ledger::{Counts, Ledger, Open};
use crate::lock::locked;
use crate::mask::{MaskedBody, MaskedBytes, MaskedJson, Masks, milliseconds, moved};
use crate::payload::Payload;
use crate::run_id::RunId;
use crate::spool::Spool;
use crate::tool::{RawToolCall, RawToolResult};
use crate::wal::{Place, Wal};

/// Writes events into the run that it comes from. Cheap to copy; a pen that outlives its run gets [`RecordError::Ended`].
#[derive(Clone)]
pub struct Pen {
    shared: Arc<Shared>,
    /// When what it writes did happen; `None` for the moment in which it is written.
    moment: Option<Duration>,
}

pub(crate) struct Shared {
    pub(crate) masks: Masks,
    pub(crate) ledger: Mutex<Ledger>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Shared {
    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // A journal refuses by itself what would follow half a line.
        locked(&self.ledger)
    }
}

impl Pen {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, moment: None }
    }

    /// The same pen for what did happen at a moment that [`Pen::now`] gave. Time does not go back in a record: what is written
    /// after something later bears the time of that.
    pub fn at(&self, moment: Duration) -> Self {
        Self { shared: Arc::clone(&self.shared), moment: Some(moment) }
    }

    /// The time since 1970, by the clock that events are stamped with, and as fine.
    pub fn now(&self) -> Duration {
        let now = self.shared.clock.now();
        Duration::new(now.as_secs(), now.subsec_micros() * 1_000)
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        let mut ledger = self.shared.ledger();
        ledger.journal.happened(self.moment);
        ledger
    }

    /// Takes the secrets out of a request. The credentials in its headers are masked from then on, wherever they appear.
    pub fn mask_request<'r>(&self, request: &RawRequest<'r>) -> MaskedRequest<'r> {
        let masks = &self.shared.masks;
        // The headers come first: they tell which values are secret in the rest.
        let headers = masks.request_headers(request.headers);
        MaskedRequest {
            provider: masks.text(request.provider),
            method: masks.text(request.method),
            path: masks.path(request.path),
            headers,
            body: masks.body(request.body),
        }
    }

    /// A text that is to be shown to someone, without the secrets in it.
    pub fn masked(&self, text: &str) -> String {
        self.shared.masks.text(text).as_str().to_owned()
    }

    /// The input of a tool as it is recorded: canonical JSON, or text.
    pub fn masked_input(&self, input: &str) -> String {
        match self.shared.masks.json(input, false) {
            MaskedJson::Value(text) => String::from_utf8_lossy(&text).into_owned(),
            MaskedJson::Text(text) => text.as_str().to_owned(),
        }
    }

    /// Makes a value known as a secret: from now on it is masked wherever it appears. Values under 8 bytes are too short for
    /// that, and stay.
    pub fn know(&self, secret: &[u8]) {
        self.shared.masks.know("known", secret);
    }

    /// Makes a value known that was known to a recorder before this one, under the name that it had there.
    pub fn know_again(&self, rule: &str, secret: &[u8]) {
        let names = ["environment", "argument", "credential", "parameter", "known"];
        let rule = names.into_iter().find(|name| *name == rule).unwrap_or("known");
        self.shared.masks.know(rule, secret);
    }

    /// Begins the write-ahead log of this run, with the values that are known to be secret so far.
    pub fn log(&self, place: &Place, run_id: RunId) -> io::Result<Wal> {
        let storage = self.shared.ledger().journal.storage();
        let log = Wal::create_in(storage, place, run_id, self.counts().bytes)?;
        let known = self.log_known(&log, 0);
        if known.is_err() {
            // Half a log would be taken for a whole one.
            let _ = log.remove();
        }
        known.map(|_| log)
    }

    /// How many values are known to be secret.
    pub fn known(&self) -> usize {
        self.shared.masks.known()
    }

    /// Keeps the values that became known after the first `from` in a log; says how many are known now. Whoever reads the log
    /// must mask them too.
    pub fn log_known(&self, log: &Wal, from: usize) -> io::Result<usize> {
        let mut count = 0;
        self.shared.masks.each_known(|rule, value| {
            count += 1;
            if count > from { log.know(rule, value) } else { Ok(()) }
        })?;
        Ok(count)
    }

    /// Makes the credentials in a request's headers known.
    pub fn know_credentials(&self, headers: Headers<'_>) {
        self.shared.masks.request_headers(headers);
    }

    /// Records a request that is about to go out. `match_key` is the SHA-256, in hexadecimal, by which a replay will find it.
    pub fn called(
        &self,
        kind: Exchange,
        request: &MaskedRequest<'_>,
        model: Option<&str>,
        endpoint: Option<&str>,
        match_key: &str,
    ) -> Result<StepId, RecordError> {
        self.called_as(None, kind, request, model, endpoint, match_key)
    }

    /// The same for a step that was decided on.
    pub fn called_as(
        &self,
        decided: Option<StepId>,
        kind: Exchange,
        request: &MaskedRequest<'_>,
        model: Option<&str>,
        endpoint: Option<&str>,
        match_key: &str,
    ) -> Result<StepId, RecordError> {
        let masks = &self.shared.masks;
        let match_key = Digest::from_hex(match_key).ok_or(RecordError::MatchKey)?;
        let masked_model = model.map(|model| masks.text(model));
        let endpoint = endpoint.map(|endpoint| masks.text(endpoint));
        let open = Open::Exchange(kind);
        let mut ledger = self.ledger();
        ledger.withholding.expect_model(model);
        ledger.begin(decided, kind.called(), open, |step_id, _, payload| {
            let http = HttpRequest {
                body: MaskedBody::Held(&request.body),
                headers: &request.headers,
                method: &request.method,
                path: &request.path,
            };
            let called = ExchangeCalled {
                endpoint: endpoint.as_ref(),
                http,
                match_key,
                model: masked_model.as_ref(),
                provider: &request.provider,
                source: Source::Observed,
                step_id,
            };
            called.write(payload);
        })
    }

    /// Records what came of a request, whatever it was. Once for each.
    pub fn returned(&self, step: &StepId, answer: RawAnswer<'_>) -> Result<(), RecordError> {
        let (body, chunks, delivered) =
            self.shared.masks.answer(answer.body, answer.chunks, answer.delivered);
        self.conclude_exchange(step, &answer, MaskedBody::Held(&body), chunks, delivered)
    }

    /// The same for an answer whose body was too long for memory: it is in the spool instead.
    pub fn returned_spooled(
        &self,
        step: &StepId,
        answer: RawAnswer<'_>,
        spool: &mut Spool,
    ) -> Result<(), RecordError> {
        let cuts = spool.finish()?;
        let length = usize::try_from(spool.came()).unwrap_or(usize::MAX);
        let chunks = moved(answer.chunks, length, &cuts);
        self.conclude_exchange(step, &answer, MaskedBody::Spooled(spool), chunks, None)
    }

    fn conclude_exchange(
        &self,
        step: &StepId,
        answer: &RawAnswer<'_>,
        body: MaskedBody<'_>,
        chunks: Vec<Chunk>,
        delivered: Option<MaskedBytes<'_>>,
    ) -> Result<(), RecordError> {
        let masks = &self.shared.masks;
        let version = answer.version.map(|version| masks.text(version));
        let headers = masks.answer_headers(answer.headers);
        let trailers = masks.answer_headers(answer.trailers);
        let content_encoding = answer.content_encoding.map(|encoding| masks.text(encoding));
        let http = HttpAnswer {
            body,
            chunks: Some(chunks).filter(|chunks| !chunks.is_empty()),
            content_encoding: content_encoding.as_ref(),
            headers: &headers,
            trailers: Some(&trailers).filter(|trailers| !trailers.as_slice().is_empty()),
            version: version.as_ref(),
            wire_sha256: Digest::from_bytes(answer.wire_sha256),
        };
        let returned = ExchangeReturned {
            complete: answer.complete,
            delivered: delivered.as_ref().map(MaskedBody::Held),
            ended_by: answer.ended_by,
            http,
            latency_ms: milliseconds(answer.latency),
            source: Source::Observed,
            status: answer.status.map(u64::from),
            step_id: *step,
            ttft_ms: answer.ttft.map(milliseconds),
        };
        let event_type = |open: &Open| match open {
            Open::Exchange(kind) => Some(kind.returned()),
            Open::Tool { .. } => None,
        };
        self.ledger().conclude(*step, event_type, |_, payload| returned.write(payload))
    }

    /// Records that a tool is called, or was.
    pub fn tool_called(&self, call: &RawToolCall<'_>) -> Result<StepId, RecordError> {
        self.tool_called_as(None, call)
    }

    /// The same for a step that was decided on.
    pub fn tool_called_as(
        &self,
        decided: Option<StepId>,
        call: &RawToolCall<'_>,
    ) -> Result<StepId, RecordError> {
        let masks = &self.shared.masks;
        let (tool_call_id, tool) = (masks.text(call.tool_call_id), masks.text(call.tool));
        let (input, via) = (masks.json(call.input, true), masks.text(&call.via.text()));
        let source = call.source;
        let open = Open::Tool { tool_call_id: tool_call_id.clone(), tool: tool.clone(), source };
        let mut ledger = self.ledger();
        ledger.withholding.expect_tool(call.tool);
        ledger.begin(decided, EventType::ToolCalled, open, |step_id, _, payload| {
            let (tool, tool_call_id) = (&tool, &tool_call_id);
            ToolCalled { input: &input, source, step_id, tool, tool_call_id, via: &via }.write(payload);
        })
    }

    /// Records what came of a tool's call. Once for each.
    pub fn tool_returned(&self, step: &StepId, result: &RawToolResult<'_>) -> Result<(), RecordError> {
        let output = self.shared.masks.json(result.output, false);
        let event_type = |open: &Open| match open {
            Open::Tool { .. } => Some(EventType::ToolReturned),
            Open::Exchange(_) => None,
        };
        self.ledger().conclude(*step, event_type, |open, payload| {
            if let Open::Tool { tool_call_id, tool, source } = open {
                let returned = ToolReturned {
                    is_error: result.is_error,
                    latency_ms: result.latency.map(milliseconds),
                    output: &output,
                    source: *source,
                    step_id: *step,
                    tool,
                    tool_call_id,
                };
                returned.write(payload);
            }
        })
    }

    /// Records that something was not seen: what, and why.
    pub fn gap(&self, what: &str, why: &str) -> Result<(), RecordError> {
        let (what, why) = (self.shared.masks.text(what), self.shared.masks.text(why));
        let gap = CaptureGap { source: Source::Observed, step_id: None, what: &what, why: &why };
        self.append(EventType::CaptureGap, |payload| gap.write(payload))
    }

    /// Records that something went wrong: where, of which type, and what was said.
    pub fn error(&self, boundary: &str, error_type: &str, message: &str) -> Result<(), RecordError> {
        let masks = &self.shared.masks;
        let (boundary, error_type) = (masks.text(boundary), masks.text(error_type));
        let message = masks.text(message);
        let (boundary, error_type, message) = (&boundary, &error_type, &message);
        let error = ErrorRaised { boundary, error_type, message, source: Source::Observed };
        self.append(EventType::ErrorRaised, |payload| error.write(payload))
    }

    /// Returns when the disk has all that was written so far. An error closes the journal.
    pub fn sync(&self) -> Result<(), RecordError> {
        self.shared.ledger().sync()
    }

    /// What the run consists of so far.
    pub fn counts(&self) -> Counts {
        self.shared.ledger().counts()
    }

    /// The steps that have not returned, in the order in which they began: what a run that was taken up again may still have
    /// to hear of.
    pub fn open_steps(&self) -> Vec<StepId> {
        self.shared.ledger().open_steps().collect()
    }

    /// Returns the step of a tool's call that was decided on and has not returned.
    pub fn open_tool(&self, tool_call_id: &str) -> Option<StepId> {
        let id = self.shared.masks.text(tool_call_id);
        self.shared.ledger().open_tool(id.as_str())
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    pub(crate) fn masks(&self) -> &Masks {
        &self.shared.masks
    }

    pub(crate) fn append(
        &self,
        event_type: EventType,
        members: impl Fn(&mut Payload<'_>),
    ) -> Result<(), RecordError> {
        self.ledger().append(event_type, members)
    }
}
