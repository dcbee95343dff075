//! What the agent and its model have said, in the format of any vendor.

use reenact_wire::{Answer, Endpoint};

use super::dialect::{self, Dialect};
use crate::Kind;
use crate::json::{Json, object};
use crate::travel::{TOOLS, Tool, ToolError};

/// All that was said so far.
pub(super) struct Conversation {
    dialect: &'static dyn Dialect,
    messages: Vec<Json>,
}

impl Conversation {
    pub(super) fn new(kind: Kind, task: &str) -> Self {
        let dialect = dialect::of(kind);
        Self { dialect, messages: dialect.begin(task) }
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        self.dialect.endpoint()
    }

    /// After the base URL.
    pub(super) fn path(&self) -> &'static str {
        self.dialect.path()
    }

    pub(super) fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", "text/event-stream".to_owned()),
            ("user-agent", concat!("reenact-demo-agent/", env!("CARGO_PKG_VERSION")).to_owned()),
        ];
        headers.extend(self.dialect.headers(key));
        headers
    }

    pub(super) fn body(&self) -> String {
        let tools = TOOLS.iter().map(|tool| self.dialect.tool(tool, schema(tool))).collect();
        self.dialect.body(tools, self.messages.clone()).to_string()
    }

    /// The model answered and asks for tools.
    pub(super) fn answered(&mut self, answer: &Answer) {
        self.messages.push(self.dialect.answered(answer));
    }

    /// The tools ran; each result with its call.
    pub(super) fn ran(&mut self, answer: &Answer, results: &[Result<String, ToolError>]) {
        let results = answer.tool_calls.iter().zip(results).map(|(call, result)| Ran {
            id: &call.id,
            name: &call.name,
            output: result.as_ref().map_or_else(ToString::to_string, Clone::clone),
            is_error: result.is_err(),
        });
        self.messages.extend(self.dialect.ran(&results.collect::<Vec<_>>()));
    }
}

/// A tool that ran.
pub(super) struct Ran<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) output: String,
    pub(super) is_error: bool,
}

fn schema(tool: &Tool) -> Json {
    let texts = tool.parameters.iter().map(|name| (*name, object! { "type": "string" }));
    object! {
        "type": "object",
        "properties": Json::Object(texts.collect()),
        "required": tool.parameters.to_vec(),
        "additionalProperties": false,
    }
}
