//! When two requests are the same: their match key.
//!
//! A key covers whom, how, where, and the body to its last byte; of the headers only those that change what a vendor answers.
//! Secrets are masked before, and their marks numbered within each text: neither another credential nor the order in which
//! parallel requests came makes another key.

use std::borrow::Cow;

use reenact_json::print::{self, Object};
use reenact_json::{Digest, Limits, Profile, Value, canonical};

/// Headers that change what a vendor answers.
const HEADERS: [&str; 3] = ["anthropic-beta", "anthropic-version", "openai-beta"];

/// The parts of a request that make its key, all of them masked.
#[derive(Debug, Clone, Copy)]
pub struct KeyParts<'a> {
    /// The name of the route, such as `openai`.
    pub provider: &'a str,
    /// `POST` and the like.
    pub method: &'a str,
    /// The path at the vendor, with its query.
    pub path: &'a str,
    /// All headers; those that count are picked here.
    pub headers: &'a [(String, String)],
    /// The body, without any coding.
    pub body: &'a [u8],
}

/// Numbers the marks of masked secrets in a text by their first appearance; `reenact_secrets::renumbered` does.
pub type Renumber = fn(&[u8]) -> Cow<'_, [u8]>;

/// The key of a request: 64 hexadecimal digits.
pub fn match_key(parts: &KeyParts<'_>, renumber: Renumber) -> String {
    digest(parts, renumber).to_string()
}

/// The key of a request as a digest.
pub fn digest(parts: &KeyParts<'_>, renumber: Renumber) -> Digest {
    let body = Digest::of(&renumber(parts.body)).to_string();
    let path = renumber(parts.path.as_bytes());
    let mut text = String::new();
    let mut object = Object::open(&mut text);
    object.string("body", body.as_str());
    print::list(counted(parts.headers), object.name("headers"), |(name, value), out| {
        print::list([name.as_str(), value.as_str()], out, print::string);
    });
    object.string("method", parts.method);
    object.string("path", &*String::from_utf8_lossy(&path));
    object.string("provider", parts.provider);
    object.close();
    // Our own text is always JSON, and strings always have a canonical form.
    let canonical = Value::parse(text.as_bytes(), &Limits::default())
        .ok()
        .and_then(|value| canonical::to_vec(value, Profile::Jcs).ok());
    Digest::of(&canonical.unwrap_or_else(|| text.into_bytes()))
}

/// Names of the headers that are part of a key, sorted.
pub fn counted_names() -> Vec<&'static str> {
    HEADERS.to_vec()
}

/// The headers that are part of a key: names in lower case, sorted. What else an SDK sends (its version, its platform) changes
/// no answer.
pub fn counted(headers: &[(String, String)]) -> Vec<(String, String)> {
    let names = counted_names();
    let counts = |name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    let mut counted: Vec<(String, String)> = headers
        .iter()
        .filter(|(name, _)| counts(name))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
        .collect();
    counted.sort();
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(headers: &[(&str, &str)]) -> Vec<(String, String)> {
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn key(path: &str, given: &[(&str, &str)], body: &str) -> String {
        let headers = headers(given);
        let body = body.as_bytes();
        let parts = KeyParts { provider: "anthropic", method: "POST", path, headers: &headers, body };
        match_key(&parts, |text| Cow::Borrowed(text))
    }

    #[test]
    fn the_key_is_the_digest_of_this_text() {
        let given = [
            ("x-other", "1"),
            ("Anthropic-Version", "2023-06-01"),
            ("anthropic-beta", "b"),
            ("anthropic-beta", "a"),
        ];
        let body = Digest::of(b"{}");
        let text = format!(
            r#"{{"body":"{body}","headers":[["anthropic-beta","a"],["anthropic-beta","b"],["anthropic-version","2023-06-01"]],"method":"POST","path":"/v1/messages?é=\\","provider":"anthropic"}}"#
        );
        assert_eq!(key("/v1/messages?é=\\", &given, "{}"), Digest::of(text.as_bytes()).to_string());
    }

    #[test]
    fn only_headers_that_change_the_answer_count() {
        let plain = key("/", &[], "");
        assert_eq!(key("/", &[("user-agent", "x"), ("content-type", "y")], ""), plain);
        for name in ["anthropic-beta", "anthropic-version", "openai-beta"] {
            assert_ne!(key("/", &[(name, "x")], ""), plain, "{name}");
        }
    }

    #[test]
    fn path_and_body_are_renumbered() {
        let parts = |path, body| KeyParts { provider: "p", method: "GET", path, headers: &[], body };
        let upper = |text: &[u8]| Cow::Owned(text.to_ascii_uppercase());
        assert_eq!(
            match_key(&parts("/a", b"b"), upper),
            match_key(&parts("/A", b"B"), |text| Cow::Borrowed(text))
        );
    }
}
