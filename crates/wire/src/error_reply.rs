//! Errors made by reenact itself, in the shape that a vendor's client parses.
//!
//! An agent then handles a refusal as it handles any error of its vendor. [`DenialReply`] is the error for an
//! action that an envelope denies. Recording and replay both build it here, so that both send the same bytes.

use core::time::Duration;

use reenact_json::{Limits, Value};

use crate::protocol::Endpoint;
use crate::vendor::{VENDORS, Vendor};

/// Error code by which programs recognize a denial by an envelope.
pub const DENIED: &str = "reenact_denied";
/// Error type that tells clients to wait and retry.
pub(crate) const RATE_LIMIT: &str = "rate_limit_error";
/// Envelope rule whose denials end by themselves after some time.
const RATE_LIMIT_RULE: &str = "rate_limit_rpm";

/// Error to send to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorReply<'a> {
    /// HTTP status, 4xx or 5xx. In a stream that has begun the status only selects the vendor's word for the
    /// error.
    pub status: u16,
    /// Type by which clients know the error, such as `permission_error`.
    pub kind: &'a str,
    /// reenact's own name for the error, such as [`DENIED`].
    pub code: &'a str,
    /// Text for people.
    pub message: &'a str,
}

/// Returns the error as the JSON body of an answer.
pub fn error_body(vendor: Vendor, reply: &ErrorReply<'_>) -> String {
    (vendor.0.error_body)(reply)
}

/// Returns the error as an event of a stream that has begun. The client stops reading there and raises the
/// error.
pub fn error_event(endpoint: Endpoint, reply: &ErrorReply<'_>) -> String {
    endpoint.protocol().error_event(reply)
}

/// Reply to a request that an envelope denies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DenialReply {
    /// HTTP status: 429 if waiting helps, else 403.
    status: u16,
    kind: &'static str,
    message: String,
    /// Time after which a retry can succeed, if the rule has one and the time is known.
    retry_after: Option<Duration>,
}

impl DenialReply {
    /// Makes the reply for a denial by `rule`, for a `reason` in words.
    ///
    /// Clients do not retry a 403. A denial by the rate limit is a 429 instead, with `retry_after` if the time
    /// is known; for other rules `retry_after` is ignored.
    pub fn new(rule: &str, reason: &str, retry_after: Option<Duration>) -> Self {
        let (status, kind) = match rule {
            RATE_LIMIT_RULE => (429, RATE_LIMIT),
            _ => (403, "permission_error"),
        };
        let message = format!("reenact: denied by {rule}: {reason}");
        Self { status, kind, message, retry_after: retry_after.filter(|_| status == 429) }
    }

    /// Returns the denial as an error reply.
    fn error_reply(&self) -> ErrorReply<'_> {
        ErrorReply { status: self.status, kind: self.kind, code: DENIED, message: &self.message }
    }

    /// Returns the HTTP status of the answer.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns the headers of the answer: `content-type`, and `retry-after` in whole seconds, rounded up.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = vec![("content-type", "application/json".to_owned())];
        if let Some(after) = self.retry_after {
            let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
            headers.push(("retry-after", seconds.to_string()));
        }
        headers
    }

    /// Returns the body of the answer in the shape of `vendor`.
    pub fn body(&self, vendor: Vendor) -> String {
        error_body(vendor, &self.error_reply())
    }

    /// Returns the event that reports the denial in a stream that has begun.
    pub fn event(&self, endpoint: Endpoint) -> String {
        error_event(endpoint, &self.error_reply())
    }
}

/// Returns the status that was sent together with [`DenialReply::body`]; `None` if these bytes are another
/// document. A replay uses it to serve a recorded denial.
pub fn denied_status(body: &[u8]) -> Option<u16> {
    let error = Value::parse(body, &Limits::default()).ok()?.member("error")?;
    VENDORS.iter().find_map(|vendor| (vendor.0.denied_status)(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_in_its_own_shape() {
        let reply = |kind, message| ErrorReply { status: 403, kind, code: DENIED, message };
        assert_eq!(
            error_body(Vendor::OPENAI, &reply("invalid_request_error", "no \"x\"")),
            r#"{"error":{"message":"no \"x\"","type":"invalid_request_error","param":null,"code":"reenact_denied"}}"#
        );
        assert_eq!(
            error_body(Vendor::ANTHROPIC, &reply("permission_error", "no")),
            r#"{"type":"error","error":{"type":"permission_error","message":"no","code":"reenact_denied"}}"#
        );
    }

    #[test]
    fn waiting_helps_with_rates_alone() {
        let rate = DenialReply::new("rate_limit_rpm", "too many", Some(Duration::from_millis(1_200)));
        let model = DenialReply::new("allowed_models", "not on the list", Some(Duration::from_secs(9)));
        let json = ("content-type", "application/json".to_owned());
        assert_eq!(
            (rate.status(), rate.headers()),
            (429, vec![json.clone(), ("retry-after", "2".to_owned())])
        );
        assert_eq!((model.status(), model.headers()), (403, vec![json]));
        for vendor in VENDORS {
            for denial in [&rate, &model] {
                assert_eq!(
                    denied_status(denial.body(vendor).as_bytes()),
                    Some(denial.status()),
                    "{vendor:?}"
                );
            }
        }
        assert_eq!(denied_status(b"{\"error\":{\"code\":\"else\"}}"), None);
        assert_eq!(denied_status(b"not json"), None);
    }
}
