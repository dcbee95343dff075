//! Google as a vendor: addresses, variables, prices, errors.

use reenact_json::Value;
use reenact_json::print::{self, Object};

use crate::price::Listed;
use crate::protocol::writing::number;
use crate::refusal::Refusal;
use crate::vendor::{VendorRow, route};

pub(crate) static VENDOR: VendorRow = VendorRow {
    name: "gemini",
    marks: &["gemini", "generativelanguage"],
    base_variables: &["GOOGLE_GEMINI_BASE_URL"],
    // Clients that find both take the second, and complain.
    key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    origin: "https://generativelanguage.googleapis.com",
    base_path: "",
    headers: &[],
    without_models: &["cachedContents", "corpora", "fileSearchStores", "files"],
    without_tools: &[":countTokens", ":embedContent", ":batchEmbedContents"],
    kept_answers: &["batches", "interactions", "operations"],
    unedited,
    prices: &PRICES,
    counts_cached_as_input: true,
    model_in_path: |path| model_and_verb(route(path)).map(|(model, _)| model),
    error_body,
    denied_status,
};

/// Prices of prompts up to 200,000 tokens. Writing to a cache costs what reading does, and storage by the hour.
const PRICES: [Listed; 7] = [
    ("gemini-2.0-flash", 100, 25, 0, 400),
    ("gemini-2.0-flash-lite", 75, 75, 0, 300),
    ("gemini-2.5-flash", 300, 30, 0, 2_500),
    ("gemini-2.5-flash-lite", 100, 10, 0, 400),
    ("gemini-2.5-pro", 1_250, 125, 0, 10_000),
    ("gemini-3-pro-preview", 2_000, 200, 0, 12_000),
    ("gemini-embedding-001", 150, 150, 0, 0),
];

/// A name without its edition: `gemini-2.0-flash-001`, `gemini-2.5-flash-preview-09-2025`.
fn unedited(model: &str) -> Option<&str> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((name, day)) = model.rsplit_once("-preview-") {
        return day.split('-').all(is_number).then_some(name);
    }
    let (name, edition) = model.rsplit_once('-')?;
    (edition == "latest" || edition.len() == 3 && is_number(edition)).then_some(name)
}

/// The model and the verb of `…/models/{model}:{verb}`; a tuned model is told by its collection.
pub(super) fn model_and_verb(path: &str) -> Option<(String, &str)> {
    let (before, last) = path.rsplit_once('/')?;
    let (model, verb) = last.rsplit_once(':').filter(|(model, _)| !model.is_empty())?;
    match before.rsplit('/').next()? {
        "models" => Some((model.to_owned(), verb)),
        "tunedModels" => Some((format!("tunedModels/{model}"), verb)),
        _ => None,
    }
}

/// The domain and the type of our own detail, by which programs tell our errors from the vendor's.
const DOMAIN: &str = "reenact";
const DETAIL: &str = "type.googleapis.com/google.rpc.ErrorInfo";

fn error_body(refusal: &Refusal<'_>) -> String {
    let mut text = String::new();
    let mut object = Object::open(&mut text);
    let mut error = Object::open(object.name("error"));
    number(&mut error, "code", refusal.status.into());
    error.string("message", refusal.message);
    error.string("status", status(refusal.status));
    print::list([refusal.code], error.name("details"), |code, out| {
        let mut detail = Object::open(out);
        detail.string("@type", DETAIL);
        detail.string("reason", code.to_ascii_uppercase().as_str());
        detail.string("domain", DOMAIN);
        detail.close();
    });
    error.close();
    object.close();
    text
}

fn denied_status(error: Value<'_>) -> Option<u16> {
    let is_ours = |detail: Value<'_>| {
        let is = |name: &str, word: &str| detail.member(name).is_some_and(|found| found.is_string(word));
        is("domain", DOMAIN) && is("reason", &crate::refusal::DENIED.to_ascii_uppercase())
    };
    let mut details = error.member("details").into_iter().flat_map(|details| details.elements());
    let code = error.member("code").and_then(|code| code.whole());
    details.any(is_ours).then(|| code.and_then(|code| u16::try_from(code).ok())).flatten()
}

/// Google's word for a status (google.rpc.Code).
fn status(status: u16) -> &'static str {
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
        let refusal =
            Refusal { status: 403, kind: "permission_error", code: "reenact_denied", message: "no \"x\"" };
        assert_eq!(
            error_body(&refusal),
            r#"{"error":{"code":403,"message":"no \"x\"","status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"REENACT_DENIED","domain":"reenact"}]}}"#
        );
    }

    #[test]
    fn editions() {
        assert_eq!(unedited("gemini-2.0-flash-001"), Some("gemini-2.0-flash"));
        assert_eq!(unedited("gemini-2.5-flash-preview-09-2025"), Some("gemini-2.5-flash"));
        assert_eq!(unedited("gemini-flash-latest"), Some("gemini-flash"));
        for name in ["", "-", "gemini-3-pro-preview", "gemini-2.5-flash-preview-tts", "gemini-exp-1206"] {
            assert_eq!(unedited(name), None, "{name}");
        }
    }
}
