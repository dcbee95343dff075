//! Google as a vendor: addresses, variables, prices, error bodies.

use reenact_json::Value;
use reenact_json::print::{self, PrintObjectWriter};

use crate::error_reply::ErrorReply;
use crate::price::ListPrice;
use crate::protocol::writing::write_number;
use crate::vendor::{BaseVariable, KeyAlphabet, KeyShape, VendorRow, path_without_query};

/// Row of Google in the table of vendors.
pub(crate) static VENDOR: VendorRow = VendorRow {
    name: "gemini",
    name_words: &["gemini", "generativelanguage"],
    base_variables: &[
        BaseVariable::base("GOOGLE_GEMINI_BASE_URL"),
        BaseVariable::with("GEMINI_API_BASE", "/v1beta"),
    ],
    // Clients that find both take the second, with a warning.
    key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    key_shapes: &[KeyShape { prefix: "AIza", length: 35, alphabet: KeyAlphabet::UrlSafe, end: "" }],
    speaks: &[],
    origin: Some("https://generativelanguage.googleapis.com"),
    base_path: "",
    version: "/v1beta",
    path_prefixes: &["/v1beta", "/v1", "/v1alpha"],
    match_key_headers: &[],
    non_model_segments: &["cachedContents", "corpora", "fileSearchStores", "files"],
    // Not `fields`, which leaves out parts of an answer, such as its count of tokens.
    query_names: &["$alt", "alt", "key", "pageSize", "pageToken", "prettyPrint"],
    model_without_edition: without_edition,
    prices: &PRICES,
    counts_cached_as_input: true,
    model_in_path: |path| model_and_verb(path_without_query(path)).map(|(model, _)| model),
    error_body,
    denied_status,
};

/// List prices for prompts of up to 200,000 tokens, as published between 2026-08-08 and 2026-09-20. Writing to a cache costs the
/// input price, plus storage by the hour, which is not counted. The price of Gemini 3.8 Flash holds until 2026-12-31; the one for
/// its cached input and its largest output were not to be found, and stand at their highest.
const PRICES: [ListPrice; 15] = [
    ("gemini-2.0-flash", 100, 25, 0, 400, 8_192),
    ("gemini-2.0-flash-lite", 75, 75, 0, 300, 8_192),
    ("gemini-2.5-flash", 300, 30, 0, 2_500, 65_536),
    ("gemini-2.5-flash-lite", 100, 10, 0, 400, 65_536),
    ("gemini-2.5-pro", 1_250, 125, 0, 10_000, 65_536),
    ("gemini-3-flash-preview", 500, 50, 0, 3_000, 65_536),
    ("gemini-3-pro-preview", 2_000, 200, 0, 12_000, 65_536),
    ("gemini-3.1-flash-lite", 250, 25, 0, 1_500, 65_536),
    ("gemini-3.1-pro-preview", 2_000, 200, 0, 12_000, 65_536),
    ("gemini-3.5-flash", 1_500, 150, 0, 9_000, 65_536),
    ("gemini-3.5-flash-lite", 300, 30, 0, 2_500, 65_536),
    ("gemini-3.6-flash", 1_500, 150, 0, 7_500, 65_536),
    ("gemini-3.8-flash", 750, 750, 0, 3_750, 128_000),
    ("gemini-embedding-001", 150, 150, 0, 0, 0),
    ("gemini-embedding-2", 200, 200, 0, 0, 0),
];

/// Returns a model's name without its edition, as in `gemini-2.0-flash-001` or
/// `gemini-2.5-flash-preview-09-2025`.
fn without_edition(model: &str) -> Option<&str> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((name, day)) = model.rsplit_once("-preview-") {
        return day.split('-').all(is_number).then_some(name);
    }
    let (name, edition) = model.rsplit_once('-')?;
    (edition == "latest" || edition.len() == 3 && is_number(edition)).then_some(name)
}

/// Returns the model and the verb of `…/models/{model}:{verb}`. The name of a tuned model includes its
/// collection, `tunedModels/`.
pub(crate) fn model_and_verb(path: &str) -> Option<(String, &str)> {
    let (before, last) = path.rsplit_once('/')?;
    let (model, verb) = last.rsplit_once(':').filter(|(model, _)| !model.is_empty())?;
    match before.rsplit('/').next()? {
        "models" => Some((model.to_owned(), verb)),
        "tunedModels" => Some((format!("tunedModels/{model}"), verb)),
        _ => None,
    }
}

/// Domain of the error detail that reenact adds, by which programs tell its errors from the vendor's.
const ERROR_DOMAIN: &str = "reenact";
/// Type URL of that detail.
const ERROR_DETAIL_TYPE: &str = "type.googleapis.com/google.rpc.ErrorInfo";

/// Writes `{"error": {"code": …, "message": …, "status": …, "details": […]}}`; the detail carries reenact's
/// code in upper case.
fn error_body(reply: &ErrorReply<'_>) -> String {
    let mut text = String::new();
    let mut object = PrintObjectWriter::open(&mut text);
    let mut error = PrintObjectWriter::open(object.name("error"));
    write_number(&mut error, "code", reply.status.into());
    error.string("message", reply.message);
    error.string("status", rpc_status(reply.status));
    print::write_list([reply.code], error.name("details"), |code, out| {
        let mut detail = PrintObjectWriter::open(out);
        detail.string("@type", ERROR_DETAIL_TYPE);
        detail.string("reason", code.to_ascii_uppercase().as_str());
        detail.string("domain", ERROR_DOMAIN);
        detail.close();
    });
    error.close();
    object.close();
    text
}

/// Returns the code of an error that has a denial's detail.
fn denied_status(error: Value<'_>) -> Option<u16> {
    let is_ours = |detail: Value<'_>| {
        let is = |name: &str, word: &str| detail.member(name).is_some_and(|found| found.is_string(word));
        is("domain", ERROR_DOMAIN) && is("reason", &crate::error_reply::DENIED.to_ascii_uppercase())
    };
    let mut details = error.member("details").into_iter().flat_map(|details| details.elements());
    let code = error.member("code").and_then(|code| code.unsigned_integer());
    details.any(is_ours).then(|| code.and_then(|code| u16::try_from(code).ok())).flatten()
}

/// Returns Google's word for an HTTP status (google.rpc.Code).
fn rpc_status(status: u16) -> &'static str {
    match status {
        400 | 413 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        501 => "UNIMPLEMENTED",
        503 => "UNAVAILABLE",
        500..=599 => "INTERNAL",
        _ => "UNKNOWN",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_in_paths() {
        let model = |path| model_and_verb(path).map(|(model, _)| model);
        assert_eq!(model("/v1beta/models/gemini-2.5-pro:countTokens").as_deref(), Some("gemini-2.5-pro"));
        assert_eq!(model("/v1/tunedModels/mine:generateContent").as_deref(), Some("tunedModels/mine"));
        assert_eq!(model("models/a:b:generateContent").as_deref(), Some("a:b"));
        for none in ["", "/", "/v1beta/models", "/v1beta/models/x", "/v1beta/models/:x", "/x/y:z"] {
            assert_eq!(model(none), None, "{none}");
        }
    }

    #[test]
    fn errors() {
        let reply =
            ErrorReply { status: 403, kind: "permission_error", code: "reenact_denied", message: "no \"x\"" };
        assert_eq!(
            error_body(&reply),
            r#"{"error":{"code":403,"message":"no \"x\"","status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"REENACT_DENIED","domain":"reenact"}]}}"#
        );
    }

    #[test]
    fn editions() {
        assert_eq!(without_edition("gemini-2.0-flash-001"), Some("gemini-2.0-flash"));
        assert_eq!(without_edition("gemini-2.5-flash-preview-09-2025"), Some("gemini-2.5-flash"));
        assert_eq!(without_edition("gemini-flash-latest"), Some("gemini-flash"));
        for name in ["", "-", "gemini-3-pro-preview", "gemini-2.5-flash-preview-tts", "gemini-exp-1206"] {
            assert_eq!(without_edition(name), None, "{name}");
        }
    }
}
