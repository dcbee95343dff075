//! An error of our own in the shape that a vendor's client understands: the agent sees what it knows how to handle.
//!
//! A denial by an envelope is one of them. It is made here for a run that is recorded and for one that is replayed, so that both
//! say the same.

use core::time::Duration;

use reenact_json::{Limits, Value};

use crate::protocol::Endpoint;
use crate::vendor::{VENDORS, Vendor};

/// By which programs tell that an envelope says no.
pub const DENIED: &str = "reenact_denied";
/// The type of an error after which waiting helps.
pub(crate) const RATE_LIMIT: &str = "rate_limit_error";
/// The rule of an envelope whose denials end by themselves.
const RATE_LIMIT_RULE: &str = "rate_limit_rpm";

/// An error of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal<'a> {
    /// The status of its answer, 4xx or 5xx. In a stream that has begun it only tells which error it is.
    pub status: u16,
    /// The type by which clients know it, such as `permission_error`.
    pub kind: &'a str,
    /// Our own name for it, such as [`DENIED`].
    pub code: &'a str,
    /// Its text.
    pub message: &'a str,
}

/// Writes an error as the body of an answer.
pub fn body(vendor: Vendor, refusal: &Refusal<'_>) -> String {
    (vendor.0.error_body)(refusal)
}

/// Writes an error as an event of a stream that has begun: the client stops there, and raises it.
pub fn event(endpoint: Endpoint, refusal: &Refusal<'_>) -> String {
    endpoint.row().error_event(refusal)
}

/// A denial by an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    status: u16,
    kind: &'static str,
    message: String,
    retry_after: Option<Duration>,
}

impl Denial {
    /// A denial by this rule, for this reason. Clients do not try again, unless the rule is one that waiting helps with;
    /// `retry_after` is how long, if that is known.
    pub fn new(rule: &str, reason: &str, retry_after: Option<Duration>) -> Self {
        let (status, kind) = match rule {
            RATE_LIMIT_RULE => (429, RATE_LIMIT),
            _ => (403, "permission_error"),
        };
        let message = format!("reenact: denied by {rule}: {reason}");
        Self { status, kind, message, retry_after: retry_after.filter(|_| status == 429) }
    }

    fn refusal(&self) -> Refusal<'_> {
        Refusal { status: self.status, kind: self.kind, code: DENIED, message: &self.message }
    }

    /// The status of the answer.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The headers of the answer.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = vec![("content-type", "application/json".to_owned())];
        if let Some(after) = self.retry_after {
            let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
            headers.push(("retry-after", seconds.to_string()));
        }
        headers
    }

    /// The body of the answer.
    pub fn body(&self, vendor: Vendor) -> String {
        body(vendor, &self.refusal())
    }

    /// The event that says so in a stream that has begun.
    pub fn event(&self, endpoint: Endpoint) -> String {
        event(endpoint, &self.refusal())
    }
}

/// Returns the status with which [`Denial::body`] was handed out; `None` if these bytes are something else.
pub fn denied_status(body: &[u8]) -> Option<u16> {
    let error = Value::parse(body, &Limits::default()).ok()?.member("error")?;
    VENDORS.iter().find_map(|vendor| (vendor.0.denied_status)(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_in_its_own_shape() {
        let refusal = |kind, message| Refusal { status: 403, kind, code: DENIED, message };
        assert_eq!(
            body(Vendor::OPENAI, &refusal("invalid_request_error", "no \"x\"")),
            r#"{"error":{"message":"no \"x\"","type":"invalid_request_error","param":null,"code":"reenact_denied"}}"#
        );
        assert_eq!(
            body(Vendor::ANTHROPIC, &refusal("permission_error", "no")),
            r#"{"type":"error","error":{"type":"permission_error","message":"no","code":"reenact_denied"}}"#
        );
    }

    #[test]
    fn waiting_helps_with_rates_alone() {
        let rate = Denial::new("rate_limit_rpm", "too many", Some(Duration::from_millis(1_200)));
        let model = Denial::new("allowed_models", "not on the list", Some(Duration::from_secs(9)));
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
