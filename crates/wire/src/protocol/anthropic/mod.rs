//! Anthropic as a vendor: addresses, variables, prices, error bodies. Its one interface is [`messages`].

pub(crate) mod messages;
mod toolless;

pub(crate) use self::toolless::COUNT_TOKENS;

use reenact_json::print::PrintObjectWriter;

use super::reading::denied_status;
use crate::error_reply::ErrorReply;
use crate::price::{ListPrice, without_date};
use crate::protocol::gemini::model_and_verb;
use crate::vendor::{BaseVariable, KeyAlphabet, KeyShape, VendorRow, path_without_query};

/// Row of Anthropic in the table of vendors.
pub(crate) static VENDOR: VendorRow = VendorRow {
    name: "anthropic",
    name_words: &["anthropic"],
    base_variables: &[
        BaseVariable::base("ANTHROPIC_BASE_URL"),
        BaseVariable::base("ANTHROPIC_API_URL"),
        BaseVariable::base("ANTHROPIC_API_BASE"),
        BaseVariable::base("ANTHROPIC_HOST"),
    ],
    key_variables: &["ANTHROPIC_API_KEY"],
    // The last is the token of an account.
    key_shapes: &[
        KeyShape { prefix: "sk-ant-api03-", length: 93, alphabet: KeyAlphabet::UrlSafe, end: "AA" },
        KeyShape { prefix: "sk-ant-oat01-", length: 93, alphabet: KeyAlphabet::UrlSafe, end: "AA" },
    ],
    speaks: &[],
    origin: Some("https://api.anthropic.com"),
    base_path: "",
    version: "/v1",
    path_prefixes: &["/v1"],
    match_key_headers: &["anthropic-beta", "anthropic-version"],
    non_model_segments: &[],
    query_names: &["after_id", "before_id", "beta", "limit"],
    model_without_edition: without_date,
    prices: &PRICES,
    counts_cached_as_input: false,
    model_in_path: publisher_model,
    error_body,
    denied_status,
};

/// List prices. The cache write price is that of a cache that lasts five minutes, the default. The largest output
/// of Claude 3.7 is that of its beta header. Claude Haiku 5.5 is left out: above 100,000 tokens of input it costs five times as much.
const PRICES: [ListPrice; 20] = [
    ("claude-3-5-haiku", 800, 80, 1_000, 4_000, 8_192),
    ("claude-3-7-sonnet", 3_000, 300, 3_750, 15_000, 128_000),
    ("claude-3-haiku", 250, 30, 300, 1_250, 4_096),
    ("claude-fable-5", 10_000, 1_000, 12_500, 50_000, 128_000),
    ("claude-fable-5-1", 10_000, 250, 12_500, 50_000, 128_000),
    ("claude-haiku-4-5", 1_000, 100, 1_250, 5_000, 64_000),
    ("claude-opus-4", 15_000, 1_500, 18_750, 75_000, 32_000),
    ("claude-opus-4-0", 15_000, 1_500, 18_750, 75_000, 32_000),
    ("claude-opus-4-1", 15_000, 1_500, 18_750, 75_000, 32_000),
    ("claude-opus-4-5", 5_000, 500, 6_250, 25_000, 64_000),
    ("claude-opus-4-6", 5_000, 500, 6_250, 25_000, 128_000),
    ("claude-opus-4-7", 5_000, 500, 6_250, 25_000, 128_000),
    ("claude-opus-4-8", 5_000, 500, 6_250, 25_000, 128_000),
    ("claude-opus-5", 5_000, 500, 6_250, 25_000, 128_000),
    ("claude-opus-5-5", 4_000, 200, 5_000, 20_000, 128_000),
    ("claude-sonnet-4", 3_000, 300, 3_750, 15_000, 64_000),
    ("claude-sonnet-4-5", 3_000, 300, 3_750, 15_000, 64_000),
    ("claude-sonnet-4-6", 3_000, 300, 3_750, 15_000, 64_000),
    ("claude-sonnet-5", 2_000, 200, 2_500, 10_000, 128_000),
    ("claude-sonnet-5-5", 2_000, 100, 2_500, 10_000, 128_000),
];

/// Returns the model of `…/publishers/anthropic/models/{model}:rawPredict`, which is how Vertex AI's addresses name it.
fn publisher_model(path: &str) -> Option<String> {
    let (model, verb) = model_and_verb(path_without_query(path))?;
    let is_model = matches!(verb, "rawPredict" | "streamRawPredict") && model != "count-tokens";
    is_model.then_some(model)
}

/// Writes `{"type": "error", "error": {"type": …, "message": …, "code": …}}`.
fn error_body(reply: &ErrorReply<'_>) -> String {
    let mut text = String::new();
    let mut object = PrintObjectWriter::open(&mut text);
    object.string("type", "error");
    let mut error = PrintObjectWriter::open(object.name("error"));
    error.string("type", reply.kind);
    error.string("message", reply.message);
    error.string("code", reply.code);
    error.close();
    object.close();
    text
}
