//! HTTP headers: which are recorded, which only by name, and which not at all.
//!
//! A request carries what its sender chose to send, so only headers that bear on the answer are
//! kept. An answer carries what the vendor says about its work, so all headers are kept that do not
//! speak of secrets. A header with a credential keeps its name, so that a reader sees that there
//! was one.

use crate::http::MessageSide;
use crate::{Redactor, SecretFinding, base64, path};
use memchr::memchr;

/// Headers that hold a credential and nothing else.
pub(crate) const CREDENTIAL_HEADERS: [&str; 14] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "cookie",
    "set-cookie",
    "ocp-apim-subscription-key",
    "x-functions-key",
    "x-amz-security-token",
    "cf-access-client-secret",
    "helicone-auth",
    "session",
    "x-session",
];
/// Headers that name an account. They open nothing, but say whose run it was.
pub(crate) const ACCOUNT_HEADERS: [&str; 6] = [
    "openai-organization",
    "openai-project",
    "anthropic-organization-id",
    "anthropic-workspace-id",
    "chatgpt-account-id",
    "x-goog-user-project",
];
/// Request headers that are kept; `*` stands for any rest.
pub(crate) const RECORDED_REQUEST_HEADERS: [&str; 28] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "anthropic-beta",
    "anthropic-dangerous-direct-browser-access",
    "anthropic-version",
    "cache-control",
    "content-*",
    "date",
    "expect",
    "idempotency-key",
    "if-match",
    "if-none-match",
    "if-modified-since",
    "mcp-protocol-version",
    "openai-beta",
    "originator",
    "prefer",
    "range",
    "traceparent",
    "tracestate",
    "transfer-encoding",
    "user-agent",
    "x-app",
    "x-client-request-id",
    "x-goog-api-client",
    "x-request-id",
    "x-stainless-*",
];
/// Answer headers that are kept; `*` stands for any rest.
pub(crate) const RECORDED_ANSWER_HEADERS: [&str; 39] = [
    "accept-ranges",
    "access-control-*",
    "age",
    "allow",
    "alt-svc",
    "anthropic-*",
    "apim-request-id",
    "azureml-*",
    "cache-control",
    "cf-cache-status",
    "cf-ray",
    "connection",
    "content-*",
    "date",
    "deprecation",
    "etag",
    "expires",
    "grpc-*",
    "keep-alive",
    "last-modified",
    "link",
    "location",
    "mcp-protocol-version",
    "openai-*",
    "operation-location",
    "proxy-authenticate",
    "ratelimit-*",
    "request-id",
    "retry-after*",
    "server",
    "server-timing",
    "strict-transport-security",
    "sunset",
    "trailer",
    "transfer-encoding",
    "vary",
    "via",
    "warning",
    "x-*",
];
/// Words in a header's name that mark its value as secret; longer words with such an ending do,
/// too.
pub(crate) const SECRET_WORDS: [&str; 13] = [
    "key",
    "token",
    "auth",
    "authorization",
    "authentication",
    "cookie",
    "secret",
    "credential",
    "credentials",
    "password",
    "jwt",
    "csrf",
    "xsrf",
];
/// Names that end in a secret word and hold no secret.
pub(crate) const HARMLESS_HEADERS: [&str; 5] =
    ["idempotency-key", "x-idempotency-key", "sec-websocket-key", "surrogate-key", "x-cache-key"];
/// Rules of values that are masked because of the name of their header or parameter.
pub(crate) const RULES: [&str; 4] = ["header", "cookie", "account", path::RULE];

/// Treatment of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderTreatment {
    /// Kept; secrets found in the value are masked.
    Keep,
    /// Kept; the value is a URL whose secret parameters are masked.
    KeepUrl,
    /// Kept by name; the credential in the value is masked.
    Credential,
    /// Kept by name; the values of all pairs are masked.
    Cookie,
    /// Kept by name; the whole value is masked.
    Account,
    /// Not recorded.
    Drop,
}

/// Returns the treatment of a header of this name, which must be in small letters.
pub(crate) fn treatment(side: MessageSide, name: &str) -> HeaderTreatment {
    let listed = match side {
        MessageSide::Request => &RECORDED_REQUEST_HEADERS[..],
        MessageSide::Answer => &RECORDED_ANSWER_HEADERS,
    };
    let is_listed = || {
        listed.iter().any(|entry| match entry.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *entry,
        })
    };
    if matches!(name, "cookie" | "set-cookie") {
        HeaderTreatment::Cookie
    } else if is_credential(name) {
        HeaderTreatment::Credential
    } else if ACCOUNT_HEADERS.contains(&name) {
        HeaderTreatment::Account
    } else if !is_listed() {
        HeaderTreatment::Drop
    } else if name.ends_with("location") || name == "link" {
        HeaderTreatment::KeepUrl
    } else {
        HeaderTreatment::Keep
    }
}

/// Returns true if a header of this name, which must be in small letters, holds a credential.
pub(crate) fn is_credential(name: &str) -> bool {
    if CREDENTIAL_HEADERS.contains(&name) {
        return true;
    }
    // Rate limits count tokens: the plural ends with none of these words.
    let speaks = |word: &str| SECRET_WORDS.iter().any(|speaking| word.ends_with(speaking));
    !HARMLESS_HEADERS.contains(&name) && name.split(['-', '_']).any(speaks)
}

/// Returns the offset of the credential in a value: behind `Bearer `, `Basic ` or another scheme.
pub(crate) fn scheme_length(value: &[u8]) -> usize {
    let word = value.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
    let blanks = value.iter().skip(word).take_while(|byte| **byte == b' ').count();
    // A scheme is one word; a key that contains a blank, or ends with one, is not.
    if (1..=24).contains(&word) && blanks > 0 && word + blanks < value.len() { word + blanks } else { 0 }
}

/// Returns the spans of the values in `a=1; b=2`. In a `set-cookie` only the first pair is a
/// cookie.
pub(crate) fn cookie_value_spans(value: &[u8], is_set: bool) -> Vec<core::ops::Range<usize>> {
    let mut values = Vec::new();
    let mut from = 0;
    for pair in value.split(|byte| *byte == b';') {
        let start = memchr(b'=', pair).map_or(0, |at| at + 1);
        let blanks = pair.iter().skip(start).take_while(|byte| **byte == b' ').count();
        if start + blanks < pair.len() {
            values.push(from + start + blanks..from + pair.len());
        }
        if is_set {
            break;
        }
        from += pair.len() + 1;
    }
    values
}

impl Redactor {
    /// Returns the headers that may be recorded, masked, in the order given and with names in small
    /// letters.
    ///
    /// A value that is not UTF-8 shows U+FFFD for each invalid sequence.
    pub fn masked_headers<'h>(
        &mut self,
        side: MessageSide,
        headers: impl IntoIterator<Item = (&'h str, &'h [u8])>,
    ) -> Vec<(String, String)> {
        let mut recorded = Vec::new();
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            let forced = match treatment(side, &name) {
                HeaderTreatment::Drop => continue,
                HeaderTreatment::Keep => Vec::new(),
                HeaderTreatment::KeepUrl => path::secret_parameters(value),
                HeaderTreatment::Credential => whole_value("header", scheme_length(value), value),
                HeaderTreatment::Account => whole_value("account", 0, value),
                HeaderTreatment::Cookie => {
                    let values = cookie_value_spans(value, name == "set-cookie");
                    values.into_iter().map(|span| SecretFinding { rule: "cookie".into(), span }).collect()
                }
            };
            let masked = self.redact_with(value, forced);
            recorded.push((name, String::from_utf8_lossy(&masked.bytes).into_owned()));
        }
        recorded
    }
}

/// Returns a finding over the whole value from `from` on.
fn whole_value(rule: &'static str, from: usize, value: &[u8]) -> Vec<SecretFinding> {
    if from < value.len() {
        vec![SecretFinding { rule: rule.into(), span: from..value.len() }]
    } else {
        Vec::new()
    }
}

/// Decodes the credential of `Basic`: `user:password`, and the password alone.
pub(crate) fn decoded_basic(credential: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let pair = base64::decode_lenient(credential)?;
    let colon = memchr(b':', &pair)?;
    let password = pair.get(colon + 1..)?.to_vec();
    Some((pair, password))
}
