//! A request as the vendor received it, and what it asks for.

use bytes::Bytes;
use reenact_wire::{Endpoint, exchange};
use serde_json::Value;

use crate::Vendor;
use crate::vendor_format;

/// Request that a vendor received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorRequest {
    /// Index among all requests that the vendor received, from 0.
    pub index: usize,
    /// Method, such as `POST`.
    pub method: String,
    /// Path with the query.
    pub path: String,
    /// Version, such as `HTTP/1.1` or `HTTP/2.0`.
    pub version: String,
    /// Headers in the order in which they came. Names are in lower case, except where the vendor
    /// reads below HTTP.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Body without the framing of chunks; a content encoding stays.
    pub body: Bytes,
}

impl VendorRequest {
    /// Returns a header's value if it is UTF-8; the first of several.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name))?;
        str::from_utf8(value).ok()
    }

    /// Returns the vendor whose interface the request speaks.
    ///
    /// A path that only one vendor has decides, or a header that a vendor demands; otherwise it is
    /// OpenAI.
    pub fn vendor(&self) -> Vendor {
        vendor_format::vendor_of(self)
    }

    /// Returns the endpoint, if `reenact_wire` knows it.
    pub fn endpoint(&self) -> Option<Endpoint> {
        Endpoint::of(self.vendor(), &self.method, &self.path)
    }

    /// Returns the path without its query and without trailing slashes.
    pub fn path_without_query(&self) -> &str {
        self.path.split('?').next().unwrap_or_default().trim_end_matches('/')
    }

    /// Returns the body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns what `reenact_wire` reads from the request: the model, the delivery, earlier tool
    /// calls and their results.
    pub fn parsed(&self) -> exchange::ParsedRequest {
        self.endpoint()
            .and_then(|endpoint| exchange::parse_request(endpoint, &self.path, &self.body))
            .unwrap_or_default()
    }

    /// Returns the text of the last message that a user wrote; empty if there is none.
    pub fn last_user_text(&self) -> String {
        let body = self.json();
        if let Some(text) = body["input"].as_str() {
            return text.to_owned();
        }
        let messages = ["messages", "input", "contents"].into_iter().find_map(|name| body[name].as_array());
        let from_user = messages.into_iter().flatten().filter(|message| message["role"] == "user");
        // A message that only carries tool results is the agent's, not the user's.
        from_user
            .rev()
            .map(|message| text_of(message.get("content").unwrap_or(&message["parts"])))
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }

    /// Returns a hash of method, path and body, independent of earlier requests. Ids are made of
    /// it.
    pub fn fingerprint(&self) -> u64 {
        // FNV-1a, 64 bits.
        let parts = [self.method.as_bytes(), b" ", self.path.as_bytes(), b" ", &self.body];
        parts.iter().copied().flatten().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }
}

/// Returns the text of a message's content: a string, or the texts of its parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a request that no socket received.
    pub(crate) fn request(method: &str, path: &str, body: &str) -> VendorRequest {
        VendorRequest {
            index: 0,
            method: method.into(),
            path: path.into(),
            version: "HTTP/1.1".into(),
            headers: Vec::new(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        }
    }

    #[test]
    fn the_last_word_of_the_user_in_every_format() {
        let text = |path, body| request("POST", path, body).last_user_text();
        assert_eq!(
            text(
                "/v1/chat/completions",
                r#"{"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]},{"role":"tool","content":"t"}]}"#
            ),
            "bc"
        );
        assert_eq!(text("/v1/responses", r#"{"input":"hello"}"#), "hello");
        assert_eq!(
            text(
                "/v1/responses",
                r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"x"}]},{"type":"function_call_output","output":"o"}]}"#
            ),
            "x"
        );
        assert_eq!(
            text(
                "/v1/messages",
                r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}]}]}"#
            ),
            "q"
        );
        assert_eq!(
            text(
                "/v1beta/models/m:generateContent",
                r#"{"contents":[{"role":"user","parts":[{"text":"x"},{"text":"y"}]},{"role":"model","parts":[]},{"role":"user","parts":[{"functionResponse":{"name":"t","response":{}}}]}]}"#
            ),
            "xy"
        );
        assert_eq!(text("/v1/messages", "not json"), "");
    }

    #[test]
    fn paths_and_headers_tell_the_vendors_apart() {
        assert_eq!(request("POST", "/v1/messages?beta=true", "").endpoint(), Some(Endpoint::MESSAGES));
        assert_eq!(request("POST", "/v1/messages/count_tokens", "").vendor(), Vendor::ANTHROPIC);
        let mut models = request("GET", "/v1/models", "");
        assert_eq!(models.vendor(), Vendor::OPENAI);
        models.headers.push(("Anthropic-Version".into(), b"2023-06-01".to_vec()));
        assert_eq!((models.vendor(), models.endpoint()), (Vendor::ANTHROPIC, Some(Endpoint::MODELS)));
    }
}
