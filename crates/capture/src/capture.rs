//! Entry point of the crate: all that a front end needs to have a run recorded.
//!
//! Call [`Capture::begin`] for each request; the handle that it returns takes the answer.

use std::sync::Arc;

use bytes::Bytes;
use reenact_record::agent_report::{self, AgentReportFault};
use reenact_record::observation::{InboundRequest, Observation};
use reenact_record::policy_engine::PolicyRefusal;
use reenact_record::wal::Wal;
use reenact_record::{Durability, EventWriter};

use crate::error::Unrecorded;
use crate::event_builder::EventBuilder;
use crate::exchange::{DoneStreams, ExchangeHandle, ExchangeRecorder, RecordingGuard, SharedExchange};
use crate::parsed_body::vendor_and_endpoint;
use crate::policy_gate::{EnforcedPolicy, PolicyGate};
use crate::recorder_thread::RecorderThread;

/// Recorder of one run's exchanges, which also enforces the run's envelope.
pub struct Capture {
    /// Thread that writes the events.
    recorder: Arc<RecorderThread>,
    /// `None` if no envelope is enforced.
    gate: Option<Arc<PolicyGate>>,
    /// Streams that must be recorded as ended before the next request.
    done_streams: DoneStreams,
    /// Longest body that is kept, in bytes.
    max_body_bytes: usize,
}

impl Capture {
    /// Starts to record.
    ///
    /// Without a `log` every exchange waits until its events are in the journal. Without a `policy` the run is
    /// recorded and nothing is refused. At most `max_body_bytes` of a body are kept, as it came and again when
    /// decoded.
    ///
    /// # Errors
    /// Fails if the recorder thread cannot be started.
    pub fn start(
        writer: EventWriter,
        log: Option<Wal>,
        durability: Durability,
        policy: Option<EnforcedPolicy>,
        max_body_bytes: usize,
    ) -> std::io::Result<Self> {
        let builder = match &policy {
            Some(_) => EventBuilder::enforced(writer.clone(), max_body_bytes),
            None => EventBuilder::unenforced(writer.clone(), max_body_bytes),
        };
        let recorder = Arc::new(RecorderThread::start(writer, log, durability, builder)?);
        let gate = policy.map(|policy| {
            let recorder = Arc::clone(&recorder);
            Arc::new(PolicyGate::new(recorder, policy, max_body_bytes))
        });
        Ok(Self { recorder, gate, done_streams: DoneStreams::default(), max_body_bytes })
    }

    /// Returns the policy gate if an envelope is enforced.
    pub fn gate(&self) -> Option<&Arc<PolicyGate>> {
        self.gate.as_ref()
    }

    /// Records a request, before anything of it goes out. With a `gate` the request is
    /// decided on first; its path must be below `base`, the base path of its upstream.
    ///
    /// Waits while the queue of the recorder thread is full, and for an approver if the envelope asks for one. The times of the
    /// record count from the return of this function. `guard` is held until the exchange is over.
    ///
    /// # Errors
    /// Returns the refusal if the request may not go out: the envelope denies it, or it could not be recorded
    /// under an envelope.
    pub async fn begin(
        &self,
        request: InboundRequest<'static>,
        base: &str,
        gate: Option<&Arc<PolicyGate>>,
        guard: RecordingGuard,
    ) -> Result<ExchangeHandle, PolicyRefusal> {
        self.done_streams.finish();
        let (vendor, endpoint) = vendor_and_endpoint(&request);
        self.recorder.wait_for_space().await;
        let (admitted, (number, written)) = match gate {
            None => (None, self.recorder.enqueue(Observation::Request(Box::new(request)))),
            Some(gate) => {
                let (admitted, queued) = Box::pin(gate.admit(request, base)).await?;
                (Some((Arc::clone(gate), admitted)), queued)
            }
        };
        let recorder = Arc::clone(&self.recorder);
        let mut exchange = ExchangeRecorder::new(recorder, number, endpoint, self.max_body_bytes, guard);
        if let Some((gate, admitted)) = admitted {
            exchange.enforce(gate, admitted, vendor);
        }
        let handle = ExchangeHandle::new(exchange);
        if let Some(written) = written {
            written.await;
            if gate.is_some_and(|gate| gate.is_blocked()) {
                return Err(PolicyRefusal::unrecorded());
            }
        }
        handle.with(ExchangeRecorder::restart_clock);
        Ok(handle)
    }

    /// Registers a stream whose last event is about to be handed out. The stream is recorded as ended before
    /// the next request, because a client may send that before the stream is closed.
    pub fn mark_stream_done(&self, exchange: &SharedExchange) {
        self.done_streams.add(exchange);
    }

    /// Records a capture gap: `what` was not seen, and `why`.
    pub fn record_gap(&self, what: &str, why: &str) {
        let (what, why) = (what.to_owned().into(), why.to_owned().into());
        self.recorder.enqueue(Observation::Gap { what, why });
    }

    /// Records a report that an agent makes about itself.
    ///
    /// # Errors
    /// Returns the fault if the text is not a report.
    pub async fn record_report(&self, text: Bytes) -> Result<(), AgentReportFault> {
        agent_report::parse(&text, |_| ())?;
        self.recorder.wait_for_space().await;
        if let (_, Some(written)) = self.recorder.enqueue(Observation::Reported { text: text.into() }) {
            written.await;
        }
        Ok(())
    }

    /// Returns true if the log cannot be written any more, so that everything waits for the journal. Call it
    /// before [`Capture::finish`], which removes the log.
    pub fn has_lost_its_log(&self) -> bool {
        self.recorder.has_lost_its_log()
    }

    /// Returns the events that could not be recorded so far; `None` if there are none.
    pub fn unrecorded(&self) -> Option<Unrecorded> {
        self.recorder.unrecorded()
    }

    /// Ends the recording: blocks until all queued observations are written. Requests, ends and notes that come
    /// later count as unrecorded.
    pub fn finish(&self) {
        self.recorder.finish();
    }
}
