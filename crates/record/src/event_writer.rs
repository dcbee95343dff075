//! The event writer: masks input from outside and appends it to the journal as events.
//!
//! An [`EventWriter`] is a handle. Clones share one run, on any number of threads; a lock orders their events. Other
//! modules add methods to it: `policy` for decisions and costs, `agent_report` for reports, `spool` for long bodies.

use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use reenact_formats::rer::EventType;
use reenact_formats::rer::payload::{
    CaptureGap, ErrorRaised, EventSource, ExchangeCalled, ExchangeReturned, HttpAnswer, HttpRequest,
    ToolCalled, ToolReturned,
};
use reenact_json::Digest;

use crate::clock::Clock;
use crate::error::RecordError;
use crate::exchange::{Chunk, ExchangeCall, MaskedRequest, RawAnswer, RawHeaders, RawRequest, StepId};
use crate::journal_follower::JournalFollower;
use crate::lock::locked;
use crate::mask::{MaskedBody, MaskedBytes, MaskedJson, Masks, masked_chunks, milliseconds};
use crate::observation::JournalPosition;
use crate::payload::MaskedPayloadWriter;
use crate::run_id::RunId;
use crate::run_state::{OpenStep, RunCounts, RunState};
use crate::spool::Spool;
use crate::tool::{RawToolCall, RawToolResult};
use crate::wal::{LoggedRun, Wal, WalDir};

/// Writes events into the run that it comes from. Clones are cheap and share the run. After the run's end every method
/// that writes returns [`RecordError::Ended`].
///
/// Calls and returns are paired by a [`StepId`]: [`EventWriter::record_call`] opens a step,
/// [`EventWriter::record_return`] closes it.
#[derive(Clone)]
pub struct EventWriter {
    shared: Arc<SharedRun>,
    /// Time that the written events bear; `None` for the time at which each is written.
    event_time: Option<Duration>,
}

/// Parts of a run that all its event writers share.
pub(crate) struct SharedRun {
    /// Masks of the run; they have a lock of their own, so that masking does not hold up the journal.
    pub(crate) masks: Masks,
    /// Journal and open steps. The lock orders the events of all writers.
    pub(crate) state: Mutex<RunState>,
    /// Clock that stamps the events.
    pub(crate) clock: Arc<dyn Clock>,
}

impl SharedRun {
    pub(crate) fn lock_state(&self) -> MutexGuard<'_, RunState> {
        // A panic while the lock was held cannot corrupt the file: the journal refuses to append behind half a line.
        locked(&self.state)
    }
}

impl EventWriter {
    pub(crate) fn new(shared: Arc<SharedRun>) -> Self {
        Self { shared, event_time: None }
    }

    /// Returns a writer whose events bear the given time, one that [`EventWriter::now`] returned earlier. Time never
    /// goes back in a record: an event that is written after a later one bears the time of that one.
    pub fn at(&self, moment: Duration) -> Self {
        Self { shared: Arc::clone(&self.shared), event_time: Some(moment) }
    }

    /// Returns the time since 1970 by the clock of the events, truncated to microseconds as in the record.
    pub fn now(&self) -> Duration {
        let now = self.shared.clock.now();
        Duration::new(now.as_secs(), now.subsec_micros() * 1_000)
    }

    /// Locks the state of the run, and sets the time that this writer's events bear.
    pub(crate) fn lock_state(&self) -> MutexGuard<'_, RunState> {
        let mut state = self.shared.lock_state();
        state.journal.set_event_time(self.event_time);
        state
    }

    /// Masks the secrets in a request. Credentials in its headers become known secrets: they are masked from now on,
    /// wherever they appear.
    pub fn mask_request<'r>(&self, request: &RawRequest<'r>) -> MaskedRequest<'r> {
        let masks = &self.shared.masks;
        // Headers come first: they hold the credentials that are secret in the rest.
        let headers = masks.request_headers(request.headers);
        MaskedRequest {
            provider: masks.text(request.provider),
            method: masks.text(request.method),
            path: masks.path(request.path),
            headers,
            body: masks.body(request.body),
        }
    }

    /// Returns a text with its secrets masked, for a person to read.
    pub fn mask_text(&self, text: &str) -> String {
        self.shared.masks.text(text).as_str().to_owned()
    }

    /// Returns the masked input of a tool, just as [`EventWriter::record_tool_call`] records it: as canonical JSON if it is JSON, else
    /// as text. Approvals are bound to the hash of this text, so that a reader of the record can compute it.
    pub fn mask_tool_input(&self, input: &str) -> String {
        match self.shared.masks.json(input, true) {
            MaskedJson::Value(text) => String::from_utf8_lossy(&text).into_owned(),
            MaskedJson::Text(text) => text.as_str().to_owned(),
        }
    }

    /// Makes a value known as a secret: from now on it is masked wherever it appears. Values under 8 bytes are ignored,
    /// since they would be found inside of ordinary words.
    pub fn add_secret(&self, secret: &[u8]) {
        self.shared.masks.add_secret("known", secret);
    }

    /// Makes a value known that an earlier recorder of this run knew, under the rule that it had there. Rules other
    /// than the recorder's own become `known`.
    pub fn restore_secret(&self, rule: &str, secret: &[u8]) {
        let names = ["environment", "argument", "credential", "parameter", "known"];
        let rule = names.into_iter().find(|name| *name == rule).unwrap_or("known");
        self.shared.masks.add_secret(rule, secret);
    }

    /// Creates the write-ahead log of this run, with all secrets that are known so far.
    ///
    /// # Errors
    /// Any error of the file system. The unfinished log is removed then: recovery would take it for a complete one.
    pub fn create_wal(&self, dir: &WalDir, run_id: RunId) -> io::Result<Wal> {
        let log = {
            let state = self.shared.lock_state();
            let journal = &state.journal;
            let run = LoggedRun::of_journal(journal.path(), journal.head_digest());
            Wal::create(journal.storage(), dir, run_id, &run, journal.position())?
        };
        let known = self.log_secrets(&log, 0);
        if known.is_err() {
            // A log without its secrets must not stay: recovery would take it for a complete one.
            let _ = log.remove();
        }
        known.map(|_| log)
    }

    /// Returns the number of known secrets.
    pub fn secret_count(&self) -> usize {
        self.shared.masks.secret_count()
    }

    /// Appends to a write-ahead log the secrets that became known after the first `from`, so that a recovery masks them
    /// too. Returns the number that are known now, which is `from` for the next call.
    pub fn log_secrets(&self, log: &Wal, from: usize) -> io::Result<usize> {
        let mut count = 0;
        self.shared.masks.for_each_secret(|rule, value| {
            count += 1;
            if count > from { log.append_secret(rule, value) } else { Ok(()) }
        })?;
        Ok(count)
    }

    /// Makes the credentials in a request's headers known secrets, and records nothing.
    pub fn add_credentials(&self, headers: RawHeaders<'_>) {
        self.shared.masks.request_headers(headers);
    }

    /// Records a request that is about to be sent, and opens a step. `decided` is the step that
    /// [`EventWriter::record_evaluation`] allowed for this call; `None` opens a new one.
    ///
    /// # Errors
    /// [`RecordError::NotOpen`] if the decided step was not allowed or has begun already, and any error of the journal.
    pub fn record_call(
        &self,
        call: &ExchangeCall<'_>,
        decided: Option<StepId>,
    ) -> Result<StepId, RecordError> {
        let ExchangeCall { kind, request, model, endpoint, match_key } = *call;
        let masks = &self.shared.masks;
        let masked_model = model.map(|model| masks.text(model));
        let endpoint = endpoint.map(|endpoint| masks.text(endpoint));
        let open = OpenStep::Exchange(kind);
        let mut state = self.lock_state();
        state.withholding.expect_model(model);
        state.begin_step(decided, kind.called_event(), open, |step_id, _, payload| {
            let http = HttpRequest {
                body: MaskedBody::InMemory(&request.body),
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
                source: EventSource::Observed,
                step_id,
            };
            called.write(payload);
        })
    }

    /// Records the answer to a request, or its absence, and closes the step.
    ///
    /// # Errors
    /// [`RecordError::NotOpen`] if the step has returned already or is a tool's.
    pub fn record_return(&self, step: &StepId, answer: RawAnswer<'_>) -> Result<(), RecordError> {
        let (body, chunks, delivered) =
            self.shared.masks.answer(answer.body, answer.chunks, answer.delivered);
        self.return_exchange(step, &answer, MaskedBody::InMemory(&body), chunks, delivered)
    }

    /// Records an answer whose body was too long for memory: the body is taken from `spool`, and `answer.body` and
    /// `answer.delivered` are ignored.
    pub fn record_spooled_return(
        &self,
        step: &StepId,
        answer: RawAnswer<'_>,
        spool: &mut Spool,
    ) -> Result<(), RecordError> {
        let cuts = spool.finish()?;
        let length = usize::try_from(spool.received_bytes()).unwrap_or(usize::MAX);
        let chunks = masked_chunks(answer.chunks, length, &cuts);
        self.return_exchange(step, &answer, MaskedBody::Spooled(spool), chunks, None)
    }

    /// Records the return of an exchange whose body is masked already.
    fn return_exchange(
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
            delivered: delivered.as_ref().map(MaskedBody::InMemory),
            ended_by: answer.ended_by,
            http,
            latency_ms: milliseconds(answer.latency),
            source: if answer.is_from_record { EventSource::Imported } else { EventSource::Observed },
            status: answer.status.map(u64::from),
            step_id: *step,
            ttft_ms: answer.ttft.map(milliseconds),
        };
        let event_type = |open: &OpenStep| match open {
            OpenStep::Exchange(kind) => Some(kind.returned_event()),
            OpenStep::Tool { .. } => None,
        };
        self.lock_state().return_step(*step, event_type, |_, payload| returned.write(payload))
    }

    /// Records the call of a tool, and opens a step. `decided` is the step that [`EventWriter::record_evaluation`] allowed for
    /// this call; `None` opens a new one.
    ///
    /// # Errors
    /// [`RecordError::NotOpen`] if the decided step was not allowed or has begun already, and any error of the journal.
    pub fn record_tool_call(
        &self,
        call: &RawToolCall<'_>,
        decided: Option<StepId>,
    ) -> Result<StepId, RecordError> {
        let masks = &self.shared.masks;
        let (tool_call_id, tool) = (masks.text(call.tool_call_id), masks.text(call.tool));
        let (input, via) = (masks.json(call.input, true), masks.text(&call.via.text()));
        let source = call.source;
        let open = OpenStep::Tool { tool_call_id: tool_call_id.clone(), tool: tool.clone(), source };
        let mut state = self.lock_state();
        state.withholding.expect_tool(call.tool);
        state.begin_step(decided, EventType::ToolCalled, open, |step_id, _, payload| {
            let (tool, tool_call_id) = (&tool, &tool_call_id);
            ToolCalled { input: &input, source, step_id, tool, tool_call_id, via: &via }.write(payload);
        })
    }

    /// Records the result of a tool's call, and closes the step.
    ///
    /// # Errors
    /// [`RecordError::NotOpen`] if the step has returned already or is no tool's.
    pub fn record_tool_result(&self, step: &StepId, result: &RawToolResult<'_>) -> Result<(), RecordError> {
        let output = self.shared.masks.json(result.output, false);
        let event_type = |open: &OpenStep| match open {
            OpenStep::Tool { .. } => Some(EventType::ToolReturned),
            OpenStep::Exchange(_) => None,
        };
        self.lock_state().return_step(*step, event_type, |open, payload| {
            if let OpenStep::Tool { tool_call_id, tool, source } = open {
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

    /// Records a capture gap: something that was not seen, and the reason.
    pub fn record_gap(&self, what: &str, why: &str) -> Result<(), RecordError> {
        let (what, why) = (self.shared.masks.text(what), self.shared.masks.text(why));
        let gap = CaptureGap { source: EventSource::Observed, step_id: None, what: &what, why: &why };
        self.append(EventType::CaptureGap, |payload| gap.write(payload))
    }

    /// Records an error: the boundary at which it happened, such as a route, its type for programs, and its message for
    /// people.
    pub fn record_error(&self, boundary: &str, error_type: &str, message: &str) -> Result<(), RecordError> {
        let masks = &self.shared.masks;
        let (boundary, error_type) = (masks.text(boundary), masks.text(error_type));
        let message = masks.text(message);
        let (boundary, error_type, message) = (&boundary, &error_type, &message);
        let error = ErrorRaised { boundary, error_type, message, source: EventSource::Observed };
        self.append(EventType::ErrorRaised, |payload| error.write(payload))
    }

    /// Flushes the journal to the disk. An error closes the journal: an `fsync` that failed once says nothing when it
    /// is repeated.
    pub fn sync(&self) -> Result<(), RecordError> {
        self.shared.lock_state().sync()
    }

    /// Returns the counts of the run so far.
    pub fn counts(&self) -> RunCounts {
        self.shared.lock_state().counts()
    }

    /// Returns the end of the events that the journal has so far.
    pub fn journal_position(&self) -> JournalPosition {
        self.shared.lock_state().journal.position()
    }

    /// Returns a follower of the journal: it returns the masked events, from the first one on, as they are written. Of lines
    /// longer than `max_line_bytes` it returns only the beginning. A run has one follower at a time.
    ///
    /// # Errors
    /// If the journal cannot be opened again.
    pub fn follow_journal(&self, max_line_bytes: usize) -> io::Result<JournalFollower> {
        self.shared.lock_state().journal.follow(max_line_bytes)
    }

    /// Returns the number of the last job that a resumed journal has, by the mark of the log at which it was resumed; `None`
    /// if no log was used.
    pub fn resumed_job(&self) -> Option<u64> {
        self.shared.lock_state().resumed_job()
    }

    /// Returns the steps that have not returned, in the order in which they began. After a kill these are the steps
    /// whose return a recovery may still find in the write-ahead log.
    pub fn open_steps(&self) -> Vec<StepId> {
        self.shared.lock_state().open_steps().collect()
    }

    /// Returns the open step of a tool's call that the policy engine allowed, by the call's unmasked id. The last one,
    /// if several have that id.
    pub fn open_tool_call(&self, tool_call_id: &str) -> Option<StepId> {
        let id = self.shared.masks.text(tool_call_id);
        self.shared.lock_state().open_tool_call(id.as_str())
    }

    pub(crate) fn shared(&self) -> Arc<SharedRun> {
        Arc::clone(&self.shared)
    }

    pub(crate) fn masks(&self) -> &Masks {
        &self.shared.masks
    }

    pub(crate) fn append(
        &self,
        event_type: EventType,
        members: impl Fn(&mut MaskedPayloadWriter<'_>),
    ) -> Result<(), RecordError> {
        self.lock_state().append(event_type, members)
    }
}
