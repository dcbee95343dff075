//! [`ExchangeLog`]: requests, sent bytes and gates, shared by a test and its vendor.
//!
//! The test waits on a condition variable, the vendor's tasks on a watch channel; both are notified
//! by every change.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::watch;

use crate::request::VendorRequest;

/// End of a sent answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentEnd {
    /// The whole answer was sent.
    Whole,
    /// The script cut the answer, or closed the connection.
    Cut,
    /// The client disconnected before the end.
    ClientLeft,
}

/// Bytes that a vendor sent in answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentAnswer {
    /// Body as it was handed to the socket: encoded, without the framing of HTTP. Below HTTP: all
    /// bytes, the head included.
    pub body: Bytes,
    /// End of the answer; `None` while it is being sent.
    pub end: Option<SentEnd>,
}

/// Condition that a test can wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitCondition {
    /// At least this many requests were received, each with its whole body.
    Requests(usize),
    /// At least this many answers have ended, in whichever way.
    Ends(usize),
    /// An answer waits at the gate of this name, and all bytes before it are flushed.
    Gate(String),
}

/// Timeout of a wait.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("waited {limit:?} for {condition:?}")]
pub struct WaitError {
    /// Condition that was not met.
    pub condition: WaitCondition,
    /// Time that was waited.
    pub limit: Duration,
}

/// State of a gate.
#[derive(Debug, Default)]
struct ScriptGate {
    /// True once the test has opened the gate.
    is_open: bool,
    /// True once an answer has reached the gate.
    is_reached: bool,
}

/// Request with the answer that was sent so far.
#[derive(Debug)]
struct LoggedExchange {
    request: VendorRequest,
    /// Bytes handed to the socket.
    sent: Vec<u8>,
    end: Option<SentEnd>,
}

/// Content of the log.
#[derive(Debug, Default)]
struct LogState {
    /// Exchanges in order of their requests.
    exchanges: Vec<LoggedExchange>,
    /// Gates by name.
    gates: BTreeMap<String, ScriptGate>,
}

impl LogState {
    /// Returns true if a condition is met.
    fn is_met(&self, condition: &WaitCondition) -> bool {
        match condition {
            WaitCondition::Requests(count) => self.exchanges.len() >= *count,
            WaitCondition::Ends(count) => {
                self.exchanges.iter().filter(|it| it.end.is_some()).count() >= *count
            }
            WaitCondition::Gate(name) => self.gates.get(name).is_some_and(|gate| gate.is_reached),
        }
    }
}

/// Log of exchanges and gates, shared by all threads.
#[derive(Debug)]
pub(crate) struct ExchangeLog {
    state: Mutex<LogState>,
    /// Wakes threads that wait.
    changed: Condvar,
    /// Wakes tasks that wait; the value counts changes.
    changes: watch::Sender<u64>,
}

impl ExchangeLog {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: Condvar::new(), changes: watch::Sender::new(0) })
    }

    /// Locks the content.
    fn state(&self) -> MutexGuard<'_, LogState> {
        // A test that panicked while it held the lock has left the content valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the content, and wakes all that wait.
    fn update<T>(&self, change: impl FnOnce(&mut LogState) -> T) -> T {
        let result = change(&mut self.state());
        self.changed.notify_all();
        self.changes.send_modify(|count| *count += 1);
        result
    }

    /// Appends a request and sets its index; returns it with the log of its answer.
    pub(crate) fn log_request(self: &Arc<Self>, mut request: VendorRequest) -> (VendorRequest, AnswerLog) {
        self.update(|state| {
            request.index = state.exchanges.len();
            state.exchanges.push(LoggedExchange { request: request.clone(), sent: Vec::new(), end: None });
        });
        let answer_log = AnswerLog { log: Arc::clone(self), index: request.index, end: SentEnd::ClientLeft };
        (request, answer_log)
    }

    /// Returns all requests so far.
    pub(crate) fn requests(&self) -> Vec<VendorRequest> {
        self.state().exchanges.iter().map(|exchange| exchange.request.clone()).collect()
    }

    /// Returns all answers so far, complete or not.
    pub(crate) fn sent_answers(&self) -> Vec<SentAnswer> {
        let sent =
            |exchange: &LoggedExchange| SentAnswer { body: exchange.sent.clone().into(), end: exchange.end };
        self.state().exchanges.iter().map(sent).collect()
    }

    /// Opens a gate, also for answers that come later.
    pub(crate) fn open_gate(&self, gate: &str) {
        self.update(|state| state.gates.entry(gate.to_owned()).or_default().is_open = true);
    }

    /// Notes that an answer has reached a gate, and waits until the gate is open.
    pub(crate) async fn pass(&self, gate: &str) {
        self.update(|state| state.gates.entry(gate.to_owned()).or_default().is_reached = true);
        self.wait_until(|state| state.gates.get(gate).is_some_and(|gate| gate.is_open)).await;
    }

    /// Waits until `holds` returns true.
    async fn wait_until(&self, holds: impl Fn(&LogState) -> bool) {
        let mut changes = self.changes.subscribe();
        while !holds(&self.state()) {
            // The sender lives as long as `self`.
            let _ = changes.changed().await;
        }
    }

    /// Waits for a condition without a limit of time.
    pub(crate) async fn wait_async(&self, condition: &WaitCondition) {
        self.wait_until(|state| state.is_met(condition)).await;
    }

    /// Waits for a condition, and blocks the thread.
    pub(crate) fn wait_blocking(&self, condition: WaitCondition, limit: Duration) -> Result<(), WaitError> {
        let until = Instant::now() + limit;
        let mut state = self.state();
        while !state.is_met(&condition) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(WaitError { condition, limit });
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }
}

/// Log of one answer. Dropping it records the end of the answer: [`SentEnd::ClientLeft`], unless
/// another was set.
#[derive(Debug)]
pub(crate) struct AnswerLog {
    log: Arc<ExchangeLog>,
    index: usize,
    end: SentEnd,
}

impl AnswerLog {
    /// Appends bytes that are handed to the socket.
    pub(crate) fn append_sent(&self, bytes: &[u8]) {
        self.log.update(|state| {
            if let Some(exchange) = state.exchanges.get_mut(self.index) {
                exchange.sent.extend_from_slice(bytes);
            }
        });
    }

    /// Waits at a gate.
    pub(crate) async fn pass(&self, gate: &str) {
        self.log.pass(gate).await;
    }

    /// Sets the end to record on drop.
    pub(crate) fn set_end(&mut self, end: SentEnd) {
        self.end = end;
    }
}

impl Drop for AnswerLog {
    fn drop(&mut self) {
        self.log.update(|state| {
            if let Some(exchange) = state.exchanges.get_mut(self.index) {
                exchange.end = Some(self.end);
            }
        });
    }
}
