//! Headers: which are kept, which are shown only by name, which are not kept at all.
//!
//! A request carries what its sender chose to send, so only what bears on the answer is kept. An answer
//! carries what the vendor says about its work, so all is kept that does not speak of secrets. A header with
//! a credential keeps its name, so that a reader sees that there was one.

use crate::http::Side;
use crate::{Finding, Redactor, base64, path};
use memchr::memchr;

/// Headers that hold a credential and nothing else.
pub(crate) const CREDENTIALS: [&str; 12] = [
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
];
/// Headers that name an account. They open nothing, but say whose run it was.
pub(crate) const ACCOUNTS: [&str; 6] = [
    "openai-organization",
    "openai-project",
    "anthropic-organization-id",
    "anthropic-workspace-id",
    "chatgpt-account-id",
    "x-goog-user-project",
];
/// Kept of requests; `*` stands for any rest.
pub(crate) const REQUEST: [&str; 28] = [
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
/// Kept of answers; `*` stands for any rest.
pub(crate) const ANSWER: [&str; 39] = [
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
/// Words of a name that speak of secrets; longer words that end so, too.
pub(crate) const SPEAKING: [&str; 14] = [
    "key",
    "token",
    "auth",
    "authorization",
    "authentication",
    "cookie",
    "session",
    "secret",
    "credential",
    "credentials",
    "password",
    "jwt",
    "csrf",
    "xsrf",
];
/// Names that end in such a word and hold no secret.
pub(crate) const HARMLESS: [&str; 5] =
    ["idempotency-key", "x-idempotency-key", "sec-websocket-key", "surrogate-key", "x-cache-key"];
/// The rules that names of headers and parameters stand for.
pub(crate) const RULES: [&str; 4] = ["header", "cookie", "account", path::RULE];

/// What is done with a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// Its value is masked by what is found in it.
    Keep,
    /// Its value is a URL.
    KeepUrl,
    /// Its name stays, the credential in its value is masked.
    Credential,
    /// The values of its pairs are masked.
    Cookie,
    /// Its whole value is masked.
    Account,
    /// It is not kept.
    Drop,
}

/// What is done with a header of this name, in small letters.
pub(crate) fn treatment(side: Side, name: &str) -> Treatment {
    let listed = match side {
        Side::Request => &REQUEST[..],
        Side::Answer => &ANSWER,
    };
    let is_listed = || {
        listed.iter().any(|entry| match entry.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *entry,
        })
    };
    if matches!(name, "cookie" | "set-cookie") {
        Treatment::Cookie
    } else if is_credential(name) {
        Treatment::Credential
    } else if ACCOUNTS.contains(&name) {
        Treatment::Account
    } else if !is_listed() {
        Treatment::Drop
    } else if name.ends_with("location") || name == "link" {
        Treatment::KeepUrl
    } else {
        Treatment::Keep
    }
}

/// Whether a header of this name, in small letters, holds a credential.
pub(crate) fn is_credential(name: &str) -> bool {
    if CREDENTIALS.contains(&name) {
        return true;
    }
    // Rate limits count tokens; that is the plural, and no word here ends with it.
    let speaks = |word: &str| SPEAKING.iter().any(|speaking| word.ends_with(speaking));
    !HARMLESS.contains(&name) && name.split(['-', '_']).any(speaks)
}

/// Where in a value the credential begins: behind `Bearer `, `Basic ` or another scheme.
pub(crate) fn scheme_length(value: &[u8]) -> usize {
    let word = value.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
    let blanks = value.iter().skip(word).take_while(|byte| **byte == b' ').count();
    // A scheme is a word; a key with blanks behind it, or in it, is not.
    if (1..=24).contains(&word) && blanks > 0 && word + blanks < value.len() { word + blanks } else { 0 }
}

/// The places of the values in `a=1; b=2`; of a `set-cookie` only the first is one.
pub(crate) fn cookie_values(value: &[u8], is_set: bool) -> Vec<core::ops::Range<usize>> {
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
    /// The headers that may be kept, masked: names in small letters, in the order given. A value that is not
    /// UTF-8 shows U+FFFD where it is not.
    pub fn headers<'h>(
        &mut self,
        side: Side,
        headers: impl IntoIterator<Item = (&'h str, &'h [u8])>,
    ) -> Vec<(String, String)> {
        let mut kept = Vec::new();
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            let forced = match treatment(side, &name) {
                Treatment::Drop => continue,
                Treatment::Keep => Vec::new(),
                Treatment::KeepUrl => path::secret_parameters(value),
                Treatment::Credential => whole("header", scheme_length(value), value),
                Treatment::Account => whole("account", 0, value),
                Treatment::Cookie => {
                    let values = cookie_values(value, name == "set-cookie");
                    values.into_iter().map(|span| Finding { rule: "cookie".into(), span }).collect()
                }
            };
            let masked = self.masked(value, forced);
            kept.push((name, String::from_utf8_lossy(&masked.bytes).into_owned()));
        }
        kept
    }
}

fn whole(rule: &'static str, from: usize, value: &[u8]) -> Vec<Finding> {
    if from < value.len() { vec![Finding { rule: rule.into(), span: from..value.len() }] } else { Vec::new() }
}

/// The user's password inside the credential of `Basic`, and the pair it belongs to.
pub(crate) fn basic_pair(credential: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let pair = base64::decoded(credential)?;
    let colon = memchr(b':', &pair)?;
    let password = pair.get(colon + 1..)?.to_vec();
    Some((pair, password))
}
