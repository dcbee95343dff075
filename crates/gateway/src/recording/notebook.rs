//! What all exchanges of a run share: the pen, the conversation, and a count of what could not be recorded.
//!
//! An agent is never stopped because its record cannot be written: the failure is counted and told at the end.

use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

use http::HeaderMap;
use reenact_record::{
    Exchange as Kind, Pen, RawRequest, RawToolCall, RawToolResult, RecordError, Source, StepId, Via,
};
use reenact_replay::{KeyParts, match_key};
use reenact_wire::conversation::{Conversation, InferredCall};
use reenact_wire::{Answer, Endpoint, exchange};

use super::exchange::{Ended, Exchange};
use crate::arrival::Arrival;
use crate::decode;
use crate::error::Unrecorded;

/// Shared by all exchanges of a run.
pub(crate) struct Notebook {
    pen: Pen,
    /// How much of a body is decoded.
    pub(super) most: usize,
    conversation: Mutex<Conversation>,
    unrecorded: Mutex<Option<Unrecorded>>,
    /// Streams whose last event was handed out and whose end has not come. Their clients may act on them.
    settled: Mutex<Vec<Weak<Mutex<Exchange>>>>,
}

/// What is known of an exchange when its request is recorded.
pub(super) struct Begun {
    /// `None` if it could not be recorded.
    pub(super) step: Option<StepId>,
    pub(super) endpoint: Option<Endpoint>,
}

impl Notebook {
    pub(super) fn new(pen: Pen, most: usize) -> Self {
        Self {
            pen,
            most,
            conversation: Mutex::default(),
            unrecorded: Mutex::default(),
            settled: Mutex::default(),
        }
    }

    /// Records a request, and before it the tools whose results it brings.
    pub(super) fn begin(&self, arrival: &Arrival) -> Begun {
        // Whoever acts on an answer has seen it: what it saw comes before what it does.
        let settled = std::mem::take(&mut *lock(&self.settled));
        for exchange in settled.iter().filter_map(Weak::upgrade) {
            lock(&exchange).finish(&Ended::Settled);
        }
        let (provider, method, path) = (&arrival.route.name, arrival.method.as_str(), arrival.path.as_str());
        let endpoint = Endpoint::of(arrival.route.vendor, method, path);
        let kind = if matches!(method, "GET" | "HEAD" | "OPTIONS") { Kind::Http } else { Kind::Model };
        let decoded = self.decoded(arrival);
        let body = decoded.as_deref().unwrap_or(&arrival.body);
        let mut model = None;
        if kind == Kind::Model && !body.is_empty() {
            // An endpoint that nobody knows has no conversation that could be read, but perhaps a model.
            let request = exchange::request(endpoint.unwrap_or(Endpoint::Models), body);
            if let Some(request) = request {
                let inferred = lock(&self.conversation).requested(&request);
                inferred.iter().for_each(|call| self.infer(call));
                model = request.model;
            }
        }
        let headers = pairs(&arrival.headers);
        let masked = self.pen.mask_request(&RawRequest { provider, method, path, headers: &headers, body });
        let key = match_key(&KeyParts {
            provider: masked.provider(),
            method: masked.method(),
            path: masked.path(),
            headers: masked.headers(),
            body: masked.body(),
        });
        let called = self.pen.called(kind, &masked, model.as_deref(), endpoint.map(Endpoint::name), &key);
        if arrival.has_trailers {
            self.gap("request trailers", "they are neither passed on nor recorded");
        }
        Begun { step: self.kept(called), endpoint }
    }

    fn decoded(&self, arrival: &Arrival) -> Option<Vec<u8>> {
        let codings = decode::codings(&arrival.headers);
        if codings.is_empty() {
            return None;
        }
        match decode::whole(&codings, &arrival.body, false, self.most) {
            Ok(body) => Some(body),
            Err(why) => {
                self.gap("request body", &why.to_string());
                None
            }
        }
    }

    fn infer(&self, inferred: &InferredCall) {
        let (call, result) = (inferred.call.as_ref(), &inferred.result);
        let called = self.pen.tool_called(&RawToolCall {
            tool_call_id: &result.id,
            // A result for a call that nobody saw.
            tool: call.map_or("unknown", |call| &call.name),
            input: call.map_or("null", |call| &call.input),
            via: Via::Conversation,
            source: Source::Inferred,
        });
        if let Some(step) = self.kept(called) {
            let returned = RawToolResult { output: &result.output, is_error: result.is_error, latency: None };
            self.kept(self.pen.tool_returned(&step, &returned));
        }
    }

    /// A model's answer was seen whole: the tools that it asks for may be run from now on.
    pub(super) fn answered(&self, answer: &Answer) {
        lock(&self.conversation).answered(answer);
    }

    /// A stream's last event goes out: its client may act on it before the stream ends.
    pub(super) fn settle(&self, exchange: Weak<Mutex<Exchange>>) {
        lock(&self.settled).push(exchange);
    }

    pub(super) fn returned(&self, step: &StepId, answer: reenact_record::RawAnswer<'_>) {
        self.kept(self.pen.returned(step, answer));
    }

    pub(super) fn error(&self, error_type: &str, message: &str) {
        self.kept(self.pen.error("upstream", error_type, message));
    }

    pub(super) fn gap(&self, what: &str, why: &str) {
        self.kept(self.pen.gap(what, why));
    }

    /// What could not be recorded so far.
    pub(crate) fn unrecorded(&self) -> Option<Unrecorded> {
        lock(&self.unrecorded).clone()
    }

    fn kept<T>(&self, result: Result<T, RecordError>) -> Option<T> {
        result
            .map_err(|first| {
                let mut unrecorded = lock(&self.unrecorded);
                unrecorded.get_or_insert(Unrecorded { count: 0, first }).count += 1;
            })
            .ok()
    }
}

/// Headers as a record takes them.
pub(crate) fn pairs(headers: &HeaderMap) -> Vec<(&str, &[u8])> {
    headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect()
}

/// What the locks here guard is whole after a panic elsewhere: each change is one step.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
