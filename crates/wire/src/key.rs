//! Match keys: two requests with the same key are the same request.
//!
//! A key covers the provider, the method, the path and every byte of the body; of the headers only those that
//! change a vendor's answer. Secrets are masked before, and their marks are numbered anew within each text. So
//! neither a different credential nor the order of parallel requests changes a key. Start reading at
//! [`match_key()`].

use std::borrow::Cow;

use reenact_json::print::{self, PrintObjectWriter};
use reenact_json::{Digest, Jcs, Limits, Value, canonical};

use crate::multipart::with_fixed_boundary;
use crate::vendor::VENDORS;

/// Parts of a masked request that its match key covers.
#[derive(Debug, Clone, Copy)]
pub struct MatchKeyParts<'a> {
    /// Name of the route, such as `openai`.
    pub provider: &'a str,
    /// HTTP method, such as `POST`.
    pub method: &'a str,
    /// Path at the vendor, with its query.
    pub path: &'a str,
    /// All headers; [`match_key_headers`] selects those that count.
    pub headers: &'a [(String, String)],
    /// Body without content codings.
    pub body: &'a [u8],
}

/// Function that numbers the marks of masked secrets in a text by first appearance.
/// `reenact_secrets::renumbered` is the one to use; a parameter keeps this crate free of that dependency.
pub type Renumber = fn(&[u8]) -> Cow<'_, [u8]>;

/// Returns the match key of a request: SHA-256 over the canonical JSON of its parts, in which the
/// body is replaced by the body's own digest. Of a form in parts the boundary does not count, which clients make up.
pub fn match_key(parts: &MatchKeyParts<'_>, renumber: Renumber) -> Digest {
    let types = parts.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let content_type = types.map(|(_, value)| value.as_str()).next().unwrap_or_default();
    let body = with_fixed_boundary(content_type, parts.body);
    let body = Digest::of(&renumber(&body)).to_string();
    let path = renumber(parts.path.as_bytes());
    let mut text = String::new();
    let mut object = PrintObjectWriter::open(&mut text);
    object.string("body", body.as_str());
    print::write_list(match_key_headers(parts.headers), object.name("headers"), |(name, value), out| {
        print::write_list([name.as_str(), value.as_str()], out, print::write_string);
    });
    object.string("method", parts.method);
    object.string("path", &*String::from_utf8_lossy(&path));
    object.string("provider", parts.provider);
    object.close();
    // The text was printed above, so it is always JSON, and strings always have a canonical form.
    let canonical = Value::parse(text.as_bytes(), &Limits::default())
        .ok()
        .and_then(|value| canonical::to_vec(value, Jcs).ok());
    Digest::of(&canonical.unwrap_or_else(|| text.into_bytes()))
}

/// Returns the names of the headers that are part of a key, sorted, in lower case.
pub fn match_key_header_names() -> Vec<&'static str> {
    let mut names: Vec<&str> =
        VENDORS.iter().flat_map(|vendor| vendor.0.match_key_headers).copied().collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the headers that are part of a key: names in lower case, sorted by name and value.
///
/// Other headers of an SDK, such as its version and platform, change no answer.
pub fn match_key_headers(headers: &[(String, String)]) -> Vec<(String, String)> {
    let names = match_key_header_names();
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

    fn key(path: &str, given: &[(&str, &str)], body: &str) -> Digest {
        let headers = headers(given);
        let body = body.as_bytes();
        let parts = MatchKeyParts { provider: "anthropic", method: "POST", path, headers: &headers, body };
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
        assert_eq!(key("/v1/messages?é=\\", &given, "{}"), Digest::of(text.as_bytes()));
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
    fn the_boundary_of_a_form_does_not_count() {
        let form = |boundary: &str, value: &str| {
            let body = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n{value}\r\n--{boundary}--\r\n"
            );
            key("/", &[("Content-Type", &format!("multipart/form-data; boundary={boundary}"))], &body)
        };
        assert_eq!(form("a1", "whisper-1"), form("b22", "whisper-1"));
        assert_ne!(form("a1", "whisper-1"), form("a1", "whisper-2"));
        // Of another body every byte counts.
        let json = |text: &str| key("/", &[("content-type", "multipart/form-data; boundary=a1")], text);
        assert_ne!(json("--a1"), json("--boundary"));
    }

    #[test]
    fn path_and_body_are_renumbered() {
        let parts = |path, body| MatchKeyParts { provider: "p", method: "GET", path, headers: &[], body };
        let upper = |text: &[u8]| Cow::Owned(text.to_ascii_uppercase());
        assert_eq!(
            match_key(&parts("/a", b"b"), upper),
            match_key(&parts("/A", b"B"), |text| Cow::Borrowed(text))
        );
    }
}
