//! Conversation of the agent with its model, in the format of any vendor.

use reenact_wire::{Endpoint, ModelAnswer};

use super::dialect::{self, AgentDialect};
use crate::Vendor;
use crate::json::{OrderedJson, object};
use crate::travel::{TOOLS, TravelTool, TravelToolError};

/// Messages sent and received so far.
pub(super) struct AgentConversation {
    /// Format of the vendor.
    dialect: &'static dyn AgentDialect,
    /// All messages so far, in that format.
    messages: Vec<OrderedJson>,
}

impl AgentConversation {
    /// Creates a conversation that begins with the user's task.
    pub(super) fn new(kind: Vendor, task: &str) -> Self {
        let dialect = dialect::dialect_of(kind);
        Self { dialect, messages: dialect.first_messages(task) }
    }

    /// Returns the endpoint, by which answers are parsed.
    pub(super) fn endpoint(&self) -> Endpoint {
        self.dialect.endpoint()
    }

    /// Returns the path behind the base URL.
    pub(super) fn path(&self) -> &'static str {
        self.dialect.path()
    }

    /// Returns the headers of a request, with the key as the vendor wants it.
    pub(super) fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", "text/event-stream".to_owned()),
            ("user-agent", concat!("reenact-demo-agent/", env!("CARGO_PKG_VERSION")).to_owned()),
        ];
        headers.extend(self.dialect.headers(key));
        headers
    }

    /// Returns the body of the next request: the tools, and all messages so far.
    pub(super) fn body(&self) -> String {
        let tools = TOOLS.iter().map(|tool| self.dialect.tool(tool, input_schema(tool))).collect();
        self.dialect.body(tools, self.messages.clone()).to_string()
    }

    /// Appends the model's answer that calls tools.
    pub(super) fn push_answer(&mut self, answer: &ModelAnswer) {
        self.messages.push(self.dialect.answer_message(answer));
    }

    /// Appends the results of the tools, each with its call. `results` are in the order of the
    /// calls.
    pub(super) fn push_results(&mut self, answer: &ModelAnswer, results: &[Result<String, TravelToolError>]) {
        let results = answer.tool_calls.iter().zip(results).map(|(call, result)| ToolOutcome {
            id: &call.id,
            name: &call.name,
            output: result.as_ref().map_or_else(ToString::to_string, Clone::clone),
            is_error: result.is_err(),
        });
        self.messages.extend(self.dialect.result_messages(&results.collect::<Vec<_>>()));
    }
}

/// Result of one tool call.
pub(super) struct ToolOutcome<'a> {
    /// Id of the call, as the model's answer states it.
    pub(super) id: &'a str,
    /// Name of the tool.
    pub(super) name: &'a str,
    /// Output as JSON text, or the text of the error.
    pub(super) output: String,
    /// True if the tool failed.
    pub(super) is_error: bool,
}

/// Returns the JSON schema of a tool's input.
fn input_schema(tool: &TravelTool) -> OrderedJson {
    let texts = tool.parameters.iter().map(|name| (*name, object! { "type": "string" }));
    object! {
        "type": "object",
        "properties": OrderedJson::Object(texts.collect()),
        "required": tool.parameters.to_vec(),
        "additionalProperties": false,
    }
}
