//! Tool calls that an agent made by itself, inferred from its requests.
//!
//! A model asks for a tool, the agent runs the tool where no recorder sees it, and the agent's next request
//! contains the result. The call is therefore known when its result appears: name and input come from the
//! answer before, or from the history in the request. Start reading at [`Conversation::add_request`].

use std::collections::{BTreeMap, BTreeSet};

use crate::exchange::ParsedRequest;
use crate::message::{ModelAnswer, ToolCall, ToolResult};

/// Tool call together with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InferredCall {
    /// Call that the model asked for; `None` if neither an answer nor a request's history contained the call.
    pub call: Option<ToolCall>,
    /// Result as the agent sent it.
    pub result: ToolResult,
}

/// Tool calls and results of one run.
///
/// Agents repeat their whole history with each request, so each result is reported only when it is new.
#[derive(Debug, Default)]
pub struct Conversation {
    /// Calls that answers or histories contained, by id.
    calls: BTreeMap<String, ToolCall>,
    /// Last result that was reported for each call, by id.
    results: BTreeMap<String, ToolResult>,
    /// Ids of calls whose results are in the journal of a resumed run, and must not be reported again.
    already_recorded: BTreeSet<String>,
}

impl Conversation {
    /// Marks the result of call `id` as recorded, so that [`Self::add_request`] never reports it.
    pub fn skip_result(&mut self, id: &str) {
        self.already_recorded.insert(id.to_owned());
    }

    /// Adds the tool calls of a model's answer.
    pub fn add_answer(&mut self, answer: &ModelAnswer) {
        for call in answer.tool_calls.iter().filter(|call| !call.id.is_empty()) {
            self.calls.insert(call.id.clone(), call.clone());
        }
    }

    /// Adds a request, and returns the calls whose results appear in it for the first time, in order.
    ///
    /// A result that differs from the one reported before for the same call is reported again. A result without an id answers no
    /// call.
    pub fn add_request(&mut self, request: &ParsedRequest) -> Vec<InferredCall> {
        for call in request.earlier_calls.iter().filter(|call| !call.id.is_empty()) {
            self.calls.entry(call.id.clone()).or_insert_with(|| call.clone());
        }
        let mut inferred = Vec::new();
        for result in &request.tool_results {
            if self.results.get(&result.id) != Some(result) && !self.already_recorded.contains(&result.id) {
                self.results.insert(result.id.clone(), result.clone());
                inferred
                    .push(InferredCall { call: self.calls.get(&result.id).cloned(), result: result.clone() });
            }
        }
        inferred
    }

    /// Returns the calls that no reported result belongs to, sorted by id.
    pub fn calls_without_result(&self) -> impl Iterator<Item = &ToolCall> {
        self.calls.iter().filter(|(id, _)| !self.results.contains_key(*id)).map(|(_, call)| call)
    }
}
