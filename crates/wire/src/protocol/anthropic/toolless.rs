//! Anthropic's counts of tokens.

use super::messages::{FORMS, MessagesProtocol};
use crate::protocol::toolless::{ToollessCost, ToollessProtocol, no_usage};
use crate::vendor::Vendor;

/// Row of counts of tokens. On Vertex AI they have the name of a model, and the model itself stands in the body.
pub(crate) static COUNT_TOKENS: ToollessProtocol = ToollessProtocol {
    name: "messages.count_tokens",
    owner: Vendor::ANTHROPIC,
    paths: &["messages/count_tokens", "publishers/anthropic/models/count-tokens:rawPredict"],
    forms: &FORMS,
    takes_multipart: false,
    counts: Some(&MessagesProtocol),
    cost: ToollessCost::FreeAt(&[Vendor::ANTHROPIC, Vendor::VERTEX]),
    usage: Some(no_usage),
};
