//! Request formats of the agent: one file for each vendor, one row in [`DIALECTS`].

mod anthropic;
mod gemini;
mod openai;

use reenact_wire::{Endpoint, ModelAnswer};

use super::conversation::ToolOutcome;
use crate::Vendor;
use crate::json::OrderedJson;
use crate::travel::TravelTool;

/// System prompt of the agent.
const SYSTEM: &str =
    "You are a travel agent. Book the flight that the user wants, and never go over the budget.";

/// Dialect of each vendor.
static DIALECTS: [(Vendor, &dyn AgentDialect); 3] = [
    (Vendor::OPENAI, &openai::OpenAiDialect),
    (Vendor::ANTHROPIC, &anthropic::AnthropicDialect),
    (Vendor::GEMINI, &gemini::GeminiDialect),
];

/// Returns the dialect of a vendor; OpenAI's for unknown ones.
pub(super) fn dialect_of(kind: Vendor) -> &'static dyn AgentDialect {
    DIALECTS.iter().find(|(of, _)| *of == kind).map_or(&openai::OpenAiDialect, |(_, dialect)| *dialect)
}

/// Request format of one vendor.
pub(super) trait AgentDialect: Sync {
    /// Returns the endpoint, by which answers are parsed.
    fn endpoint(&self) -> Endpoint;

    /// Returns the path behind the base URL.
    fn path(&self) -> &'static str;

    /// Returns the headers of this vendor alone, with the key if there is one.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;

    /// Returns the messages that begin a conversation.
    fn first_messages(&self, task: &str) -> Vec<OrderedJson>;

    /// Returns the declaration of a tool with this input schema.
    fn tool(&self, tool: &TravelTool, schema: OrderedJson) -> OrderedJson;

    /// Returns the body of a request.
    fn body(&self, tools: Vec<OrderedJson>, messages: Vec<OrderedJson>) -> OrderedJson;

    /// Returns the message of a model that calls tools.
    fn answer_message(&self, answer: &ModelAnswer) -> OrderedJson;

    /// Returns the messages that carry the results of tools.
    fn result_messages(&self, results: &[ToolOutcome<'_>]) -> Vec<OrderedJson>;
}
