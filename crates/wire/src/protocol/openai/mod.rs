//! OpenAI as a vendor, and every server that speaks its interfaces: [`chat`] and [`responses`].

pub(crate) mod chat;
pub(crate) mod responses;
pub(crate) mod toolless;

use reenact_json::print::PrintObjectWriter;
use reenact_json::{Value, ValueKind};

use super::reading::{count_at, denied_status};
use super::writing::write_number;
use crate::error_reply::ErrorReply;
use crate::message::Usage;
use crate::output_bound::is_other_than;
use crate::price::{ListPrice, without_date};
use crate::vendor::{BaseVariable, KeyAlphabet, KeyShape, VendorRow, path_without_query};

/// Row of OpenAI in the table of vendors.
pub(crate) static VENDOR: VendorRow = VendorRow {
    name: "openai",
    name_words: &["openai"],
    base_variables: &[
        BaseVariable::base("OPENAI_BASE_URL"),
        BaseVariable::base("OPENAI_API_BASE"),
        BaseVariable::without("OPENAI_HOST", "/v1"),
    ],
    key_variables: &["OPENAI_API_KEY"],
    key_shapes: &[
        KeyShape { prefix: "sk-proj-", length: 156, alphabet: KeyAlphabet::UrlSafe, end: "" },
        KeyShape { prefix: "sk-svcacct-", length: 156, alphabet: KeyAlphabet::UrlSafe, end: "" },
        KeyShape { prefix: "sk-admin-", length: 156, alphabet: KeyAlphabet::UrlSafe, end: "" },
        KeyShape { prefix: "sk-", length: 48, alphabet: KeyAlphabet::Alphanumeric, end: "" },
    ],
    speaks: &[],
    origin: Some("https://api.openai.com"),
    base_path: "/v1",
    version: "/v1",
    // Azure's addresses name the model, as a deployment.
    path_prefixes: &["/v1", "/openai/v1", "/openai/deployments/*", "/deployments/*"],
    prices: &PRICES,
    ..COMPATIBLE
};

/// Facts that are the same for all servers that speak OpenAI's interfaces. Name, variables and addresses are missing.
pub(crate) const COMPATIBLE: VendorRow = VendorRow {
    name: "",
    name_words: &[],
    base_variables: &[],
    key_variables: &[],
    key_shapes: &[KeyShape { prefix: "", length: 32, alphabet: KeyAlphabet::Alphanumeric, end: "" }],
    speaks: &["openai"],
    origin: None,
    base_path: "",
    version: "",
    path_prefixes: &["/v1"],
    match_key_headers: &["openai-beta"],
    non_model_segments: &[],
    query_names: &["after", "api-version", "limit", "order"],
    model_without_edition: without_date,
    prices: &[],
    counts_cached_as_input: true,
    model_in_path: deployment,
    error_body,
    denied_status,
};

/// List prices. Up to GPT-5.5 writing to the cache costs the input price. Those of `gpt-5.6` and `gpt-5.6-sol`, which are one model, are
/// announced to hold until 2026-11-21 at least.
const PRICES: [ListPrice; 39] = [
    ("codex-mini-latest", 1_500, 375, 0, 6_000, 100_000),
    ("gpt-4.1", 2_000, 500, 0, 8_000, 32_768),
    ("gpt-4.1-mini", 400, 100, 0, 1_600, 32_768),
    ("gpt-4.1-nano", 100, 25, 0, 400, 32_768),
    ("gpt-4o", 2_500, 1_250, 0, 10_000, 16_384),
    ("gpt-4o-2024-05-13", 5_000, 5_000, 0, 15_000, 4_096),
    ("gpt-4o-mini", 150, 75, 0, 600, 16_384),
    ("gpt-5", 1_250, 125, 0, 10_000, 128_000),
    ("gpt-5-chat-latest", 1_250, 125, 0, 10_000, 16_384),
    ("gpt-5-codex", 1_250, 125, 0, 10_000, 128_000),
    ("gpt-5-mini", 250, 25, 0, 2_000, 128_000),
    ("gpt-5-nano", 50, 5, 0, 400, 128_000),
    ("gpt-5.1", 1_250, 125, 0, 10_000, 128_000),
    ("gpt-5.1-codex", 1_250, 125, 0, 10_000, 128_000),
    ("gpt-5.1-codex-max", 1_250, 125, 0, 10_000, 128_000),
    ("gpt-5.1-codex-mini", 250, 25, 0, 2_000, 128_000),
    ("gpt-5.2", 1_750, 175, 0, 14_000, 128_000),
    ("gpt-5.2-chat-latest", 1_750, 175, 0, 14_000, 16_384),
    ("gpt-5.2-codex", 1_750, 175, 0, 14_000, 128_000),
    ("gpt-5.3-codex", 1_750, 175, 0, 14_000, 128_000),
    ("gpt-5.4", 2_500, 250, 0, 15_000, 128_000),
    ("gpt-5.4-mini", 750, 75, 0, 4_500, 128_000),
    ("gpt-5.4-nano", 200, 20, 0, 1_250, 128_000),
    ("gpt-5.5", 5_000, 500, 0, 30_000, 128_000),
    ("gpt-5.6", 4_000, 400, 5_000, 20_000, 128_000),
    ("gpt-5.6-luna", 200, 20, 250, 1_200, 128_000),
    ("gpt-5.6-sol", 4_000, 400, 5_000, 20_000, 128_000),
    ("gpt-5.6-terra", 2_000, 200, 2_500, 12_000, 128_000),
    ("gpt-6-astra", 10_000, 1_000, 12_500, 50_000, 128_000),
    ("gpt-6-luna", 100, 10, 125, 500, 128_000),
    ("gpt-6-sol", 2_000, 200, 2_500, 10_000, 128_000),
    ("gpt-6.1-sol", 2_000, 100, 2_500, 10_000, 128_000),
    ("o1", 15_000, 7_500, 0, 60_000, 100_000),
    ("o3", 2_000, 500, 0, 8_000, 100_000),
    ("o3-mini", 1_100, 550, 0, 4_400, 100_000),
    ("o4-mini", 1_100, 275, 0, 4_400, 100_000),
    ("text-embedding-3-large", 130, 130, 0, 0, 0),
    ("text-embedding-3-small", 20, 20, 0, 0, 0),
    ("text-embedding-ada-002", 100, 100, 0, 0, 0),
];

/// Reason why a call of another tier cannot be counted.
const UNLISTED_TIER: &str = "its `service_tier` has prices of its own, which are not in the table";

/// Returns true if a `service_tier` is none of those that cost the list price, or less.
fn is_unlisted_tier(tier: Option<Value<'_>>) -> bool {
    is_other_than(tier, &["auto", "default", "flex"])
}

/// Returns the model of `…/deployments/{model}/…`, which is how Azure's addresses name it.
fn deployment(path: &str) -> Option<String> {
    let mut segments = path_without_query(path).split('/');
    segments.find(|segment| *segment == "deployments")?;
    segments.next().map(str::to_owned)
}

/// Writes `{"error": {"message": …, "type": …, "param": null, "code": …}}`.
fn error_body(reply: &ErrorReply<'_>) -> String {
    let mut text = String::new();
    let mut object = PrintObjectWriter::open(&mut text);
    write_error(reply, object.name("error"));
    object.close();
    text
}

/// Writes the value of an `error` member.
fn write_error(reply: &ErrorReply<'_>, out: &mut String) {
    let mut error = PrintObjectWriter::open(out);
    error.string("message", reply.message);
    error.string("type", reply.kind);
    error.string("param", None);
    error.string("code", reply.code);
    error.close();
}

/// Parses a usage. The two interfaces differ in the names of the members; the sum of both names serves either.
fn parse_usage(usage: Option<Value<'_>>) -> Option<Usage> {
    let usage = usage.filter(|usage| usage.kind() == ValueKind::Object)?;
    let sum = |one: &[&str], other: &[&str]| count_at(usage, one).saturating_add(count_at(usage, other));
    Some(Usage {
        input_tokens: sum(&["prompt_tokens"], &["input_tokens"]),
        output_tokens: sum(&["completion_tokens"], &["output_tokens"]),
        cached_input_tokens: sum(
            &["prompt_tokens_details", "cached_tokens"],
            &["input_tokens_details", "cached_tokens"],
        ),
        cache_write_tokens: sum(
            &["prompt_tokens_details", "cache_write_tokens"],
            &["input_tokens_details", "cache_write_tokens"],
        ),
    })
}

/// Writes a usage. `names` are the interface's names for input tokens, output tokens, and the details of the
/// input.
fn write_usage(usage: Usage, names: [&str; 3], out: &mut String) {
    let [read, written, details] = names;
    let mut object = PrintObjectWriter::open(out);
    write_number(&mut object, read, usage.input_tokens);
    write_number(&mut object, written, usage.output_tokens);
    write_number(&mut object, "total_tokens", usage.input_tokens.saturating_add(usage.output_tokens));
    let mut inner = PrintObjectWriter::open(object.name(details));
    write_number(&mut inner, "cached_tokens", usage.cached_input_tokens);
    inner.close();
    object.close();
}
