//! How the agent speaks to each vendor: one file for each, one line in [`DIALECTS`].

mod anthropic;
mod gemini;
mod openai;

use reenact_wire::{Answer, Endpoint};

use super::conversation::Ran;
use crate::Kind;
use crate::json::Json;
use crate::travel::Tool;

/// What the agent is told first.
const SYSTEM: &str =
    "You are a travel agent. Book the flight that the user wants, and never go over the budget.";

static DIALECTS: [(Kind, &dyn Dialect); 3] = [
    (Kind::OPENAI, &openai::OpenAi),
    (Kind::ANTHROPIC, &anthropic::Anthropic),
    (Kind::GEMINI, &gemini::Gemini),
];

/// How to speak to a vendor.
pub(super) fn of(kind: Kind) -> &'static dyn Dialect {
    DIALECTS.iter().find(|(of, _)| *of == kind).map_or(&openai::OpenAi, |(_, dialect)| *dialect)
}

/// How to speak to a vendor.
pub(super) trait Dialect: Sync {
    fn endpoint(&self) -> Endpoint;

    /// After the base URL.
    fn path(&self) -> &'static str;

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;

    /// The messages with which a conversation begins.
    fn begin(&self, task: &str) -> Vec<Json>;

    fn tool(&self, tool: &Tool, schema: Json) -> Json;

    fn body(&self, tools: Vec<Json>, messages: Vec<Json>) -> Json;

    /// The message of a model that asks for tools.
    fn answered(&self, answer: &Answer) -> Json;

    /// The messages that hand over what tools said.
    fn ran(&self, results: &[Ran<'_>]) -> Vec<Json>;
}
