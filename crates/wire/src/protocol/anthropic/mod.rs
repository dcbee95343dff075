//! Anthropic.

pub(crate) mod messages;

use reenact_json::print::Object;

use super::reading::denied_status;
use crate::price::{Listed, undated};
use crate::refusal::Refusal;
use crate::vendor::VendorRow;

pub(crate) static VENDOR: VendorRow = VendorRow {
    name: "anthropic",
    marks: &["anthropic"],
    base_variables: &["ANTHROPIC_BASE_URL"],
    key_variables: &["ANTHROPIC_API_KEY"],
    origin: "https://api.anthropic.com",
    base_path: "",
    headers: &["anthropic-beta", "anthropic-version"],
    without_models: &[],
    without_tools: &["/messages/count_tokens"],
    kept_answers: &["batches", "messages"],
    unedited: undated,
    prices: &PRICES,
    counts_cached_as_input: false,
    model_in_path: |_| None,
    error_body,
    denied_status,
};

/// Writing to a cache that lasts five minutes, which is what is counted unless one asks for more.
const PRICES: [Listed; 10] = [
    ("claude-3-5-haiku", 800, 80, 1_000, 4_000),
    ("claude-3-7-sonnet", 3_000, 300, 3_750, 15_000),
    ("claude-3-haiku", 250, 30, 300, 1_250),
    ("claude-haiku-4-5", 1_000, 100, 1_250, 5_000),
    ("claude-opus-4", 15_000, 1_500, 18_750, 75_000),
    ("claude-opus-4-0", 15_000, 1_500, 18_750, 75_000),
    ("claude-opus-4-1", 15_000, 1_500, 18_750, 75_000),
    ("claude-opus-4-5", 5_000, 500, 6_250, 25_000),
    ("claude-sonnet-4", 3_000, 300, 3_750, 15_000),
    ("claude-sonnet-4-5", 3_000, 300, 3_750, 15_000),
];

fn error_body(refusal: &Refusal<'_>) -> String {
    let mut text = String::new();
    let mut object = Object::open(&mut text);
    object.string("type", "error");
    let mut error = Object::open(object.name("error"));
    error.string("type", refusal.kind);
    error.string("message", refusal.message);
    error.string("code", refusal.code);
    error.close();
    object.close();
    text
}
