//! The face of this crate: what a front end needs to have a run recorded.

use std::sync::Arc;

use bytes::Bytes;
use reenact_record::observation::{InboundRequest, Observation};
use reenact_record::reported::{self, ReportFault};
use reenact_record::wal::Wal;
use reenact_record::warden::Refused;
use reenact_record::{Durability, Pen};
use tokio::time::Instant;

use crate::error::Unrecorded;
use crate::event_builder::EventBuilder;
use crate::exchange::{DoneStreams, ExchangeHandle, ExchangeRecorder, Running, SharedExchange};
use crate::policy_gate::{Policy, PolicyGate};
use crate::reading::interface;
use crate::recorder_thread::RecorderThread;

/// Records the exchanges of one run, and enforces its envelope.
pub struct Capture {
    recorder: Arc<RecorderThread>,
    gate: Option<Arc<PolicyGate>>,
    done_streams: DoneStreams,
    max_body_bytes: usize,
}

impl Capture {
    /// Starts to record. Without a `log` everything waits until it is in the journal; without a `policy` the run is only
    /// watched. At most `max_body_bytes` of a body are kept, as it came and decoded.
    ///
    /// # Errors
    /// Fails if no thread can be started.
    pub fn start(
        pen: Pen,
        log: Option<Wal>,
        durability: Durability,
        policy: Option<Policy>,
        max_body_bytes: usize,
    ) -> std::io::Result<Self> {
        let builder = match &policy {
            Some(_) => EventBuilder::enforced(pen.clone(), max_body_bytes),
            None => EventBuilder::watching(pen.clone(), max_body_bytes),
        };
        let recorder = Arc::new(RecorderThread::start(pen, log, durability, builder)?);
        let gate = policy.map(|policy| {
            let recorder = Arc::clone(&recorder);
            Arc::new(PolicyGate::new(recorder, policy, max_body_bytes))
        });
        Ok(Self { recorder, gate, done_streams: DoneStreams::default(), max_body_bytes })
    }

    /// Returns the policy gate, where an envelope is enforced.
    pub fn gate(&self) -> Option<&Arc<PolicyGate>> {
        self.gate.as_ref()
    }

    /// Records a request that came at `begun`, before anything of it goes out. With a `gate` it is decided on first.
    ///
    /// # Errors
    /// Returns why the request may not go out.
    pub async fn begin(
        &self,
        request: InboundRequest<'static>,
        begun: Instant,
        gate: Option<&Arc<PolicyGate>>,
        running: Running,
    ) -> Result<ExchangeHandle, Refused> {
        self.done_streams.finish();
        let (vendor, endpoint) = interface(&request);
        self.recorder.room().await;
        let (admitted, (number, written)) = match gate {
            None => (None, self.recorder.job(Observation::Request(Box::new(request)))),
            Some(gate) => {
                let (admission, queued, call_ids) = Box::pin(gate.admit(request)).await?;
                (Some((Arc::clone(gate), admission, call_ids)), queued)
            }
        };
        let recorder = Arc::clone(&self.recorder);
        let mut exchange =
            ExchangeRecorder::new(recorder, number, endpoint, begun, self.max_body_bytes, running);
        if let Some((gate, admission, call_ids)) = admitted {
            exchange.admit(gate, admission, vendor, call_ids);
        }
        let handle = ExchangeHandle::new(exchange);
        if let Some(written) = written {
            written.await;
            if gate.is_some() && self.recorder.has_lost_something() {
                return Err(Refused::unrecorded());
            }
        }
        Ok(handle)
    }

    /// Takes a stream whose last event is about to be handed out: it is over for the record before the next request is.
    pub fn stream_done(&self, exchange: &SharedExchange) {
        self.done_streams.add(exchange);
    }

    /// Records that something was not seen.
    pub fn gap(&self, what: &str, why: &str) {
        let (what, why) = (what.to_owned().into(), why.to_owned().into());
        self.recorder.job(Observation::Gap { what, why });
    }

    /// Records what an agent tells of itself.
    ///
    /// # Errors
    /// Returns why the text is no report.
    pub async fn reported(&self, text: Bytes) -> Result<(), ReportFault> {
        reported::read(&text, |_| ())?;
        self.recorder.room().await;
        if let (_, Some(written)) = self.recorder.job(Observation::Reported { text: text.into() }) {
            written.await;
        }
        Ok(())
    }

    /// Returns true if the log cannot be written any more, so that everything waits for the journal. Valid before
    /// [`Capture::finish`] only.
    pub fn has_lost_its_log(&self) -> bool {
        self.recorder.has_lost_its_log()
    }

    /// Returns the events that could not be recorded so far.
    pub fn unrecorded(&self) -> Option<Unrecorded> {
        self.recorder.unrecorded()
    }

    /// Ends the recording: blocks until all that was taken is written. Nothing is taken any more.
    pub fn finish(&self) {
        self.recorder.finish();
    }
}
