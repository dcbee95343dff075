//! Cassettes of the real tool: one recorded HTTP exchange a file, looked up by the hash of its request.
//!
//! The hash is over method, URL and canonical body. Headers are neither stored nor hashed. A cassette whose body was
//! masked afterwards has a hash that no longer fits its request: worth reporting, but no fault.

use reenact_json::canonical::{self, ByteSink};
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, Digest, Jcs, Limits, Value, ValueKind};

/// Version of the cassettes that are read here.
pub const VERSION: u64 = 2;

/// Members of a cassette as they stand.
#[derive(Debug, Clone, Copy)]
pub struct CassetteView<'a> {
    /// `fingerprint`: 64 hexadecimal digits, the hash of the request.
    pub fingerprint: Value<'a>,
    /// `method`
    pub method: Value<'a>,
    /// `url`
    pub url: Value<'a>,
    /// `request_body`
    pub request_body: Value<'a>,
    /// `status`
    pub status: Option<Value<'a>>,
    /// `response_body`
    pub response_body: Value<'a>,
}

impl<'a> CassetteView<'a> {
    /// Reads a document; returns `None` if it is not a cassette of version [`VERSION`].
    pub fn read(bytes: &'a [u8], limits: &Limits) -> Option<Self> {
        let document =
            Value::parse(bytes, limits).ok().filter(|document| document.kind() == ValueKind::Object)?;
        let text = |name: &str| document.member(name).filter(|value| value.kind() == ValueKind::String);
        if document.member("schema_version")?.unsigned_integer() != Some(VERSION) {
            return None;
        }
        Some(Self {
            fingerprint: text("fingerprint")?,
            method: text("method")?,
            url: text("url")?,
            request_body: document.member("request_body")?,
            status: document.member("status"),
            response_body: document.member("response_body")?,
        })
    }

    /// Returns the fingerprint recomputed from the request.
    ///
    /// # Errors
    ///
    /// [`CanonicalFault`] if the request body has no canonical form.
    pub fn computed_fingerprint(&self) -> Result<Digest, CanonicalFault> {
        let text = |value: Value<'_>| value.string().unwrap_or_default().into_owned();
        fingerprint(&text(self.method), &text(self.url), self.request_body)
    }

    /// Returns true if the carried fingerprint is the recomputed one.
    pub fn has_matching_fingerprint(&self) -> bool {
        let carried = self.fingerprint.string().unwrap_or_default();
        self.computed_fingerprint().is_ok_and(|digest| digest.is_hex(carried.as_bytes()))
    }
}

/// Returns the hash by which a request finds its cassette: method, URL in lower case without slashes at its end, and
/// canonical body, with `|` between them.
///
/// # Errors
///
/// [`CanonicalFault`] if `body` has no canonical form.
pub fn fingerprint(method: &str, url: &str, body: Value<'_>) -> Result<Digest, CanonicalFault> {
    let mut hasher = Hasher::new();
    hasher.put(method.as_bytes());
    hasher.put(b"|");
    hasher.put(url.trim_end_matches('/').to_lowercase().as_bytes());
    hasher.put(b"|");
    canonical::write(body, Jcs, &mut hasher)?;
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"b":[1.0,2],"a":"x"}"#;

    fn cassette(fingerprint: &str) -> String {
        format!(
            r#"{{"schema_version":2,"fingerprint":"{fingerprint}","method":"POST","url":"https://API.example.test/v1/","request_body":{BODY},"status":200,"response_body":null}}"#
        )
    }

    #[test]
    fn the_hash_is_over_method_url_and_canonical_body() {
        let digest = Digest::of(br#"POST|https://api.example.test/v1|{"a":"x","b":[1,2]}"#);
        let text = cassette(&digest.to_string());
        let view = CassetteView::read(text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(view.computed_fingerprint().unwrap(), digest);
        assert!(view.has_matching_fingerprint());
        assert_eq!(view.status.unwrap().unsigned_integer(), Some(200));
        let text = cassette(&Digest::of(b"").to_string());
        assert!(!CassetteView::read(text.as_bytes(), &Limits::default()).unwrap().has_matching_fingerprint());
    }

    #[test]
    fn what_is_no_cassette() {
        for text in ["", "[]", "{}", r#"{"schema_version":1,"fingerprint":""}"#, "not JSON"] {
            assert!(CassetteView::read(text.as_bytes(), &Limits::default()).is_none(), "{text}");
        }
    }
}
