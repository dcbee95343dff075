//! Tool calls that an agent made by itself, inferred from what it tells its model.
//!
//! A model asks for a tool, the agent runs it out of our sight, and hands the result over with its next request. The pair is
//! known when the result appears: who asked for what comes from the answer before, or from the request's own history.

use std::collections::{BTreeMap, BTreeSet};

use crate::exchange::Request;
use crate::message::{Answer, ToolCall, ToolResult};

/// A call and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InferredCall {
    /// What was asked for; `None` if a result came for a call that nobody saw.
    pub call: Option<ToolCall>,
    /// What the agent says came of it.
    pub result: ToolResult,
}

/// What is known of the calls of one run. Agents repeat their whole history with each request, so each result counts once.
#[derive(Debug, Default)]
pub struct Conversation {
    asked: BTreeMap<String, ToolCall>,
    answered: BTreeMap<String, ToolResult>,
    told: BTreeSet<String>,
}

impl Conversation {
    /// The result of this call was told before what is known here.
    pub fn told(&mut self, id: &str) {
        self.told.insert(id.to_owned());
    }

    /// A model answered: these are the tools that it asks for.
    pub fn answered(&mut self, answer: &Answer) {
        for call in &answer.tool_calls {
            self.asked.insert(call.id.clone(), call.clone());
        }
    }

    /// A request goes out: gives the calls whose results appear in it for the first time, in order.
    pub fn requested(&mut self, request: &Request) -> Vec<InferredCall> {
        for call in &request.earlier_calls {
            self.asked.entry(call.id.clone()).or_insert_with(|| call.clone());
        }
        let mut inferred = Vec::new();
        for result in &request.tool_results {
            if self.answered.get(&result.id) != Some(result) && !self.told.contains(&result.id) {
                self.answered.insert(result.id.clone(), result.clone());
                inferred
                    .push(InferredCall { call: self.asked.get(&result.id).cloned(), result: result.clone() });
            }
        }
        inferred
    }

    /// Calls that no result has come for, by their ids.
    pub fn open(&self) -> impl Iterator<Item = &ToolCall> {
        self.asked.iter().filter(|(id, _)| !self.answered.contains_key(*id)).map(|(_, call)| call)
    }
}
