//! An error of our own in the shape that a vendor's client understands: the agent sees what it knows how to handle.

use reenact_json::print::Object;

use crate::endpoint::{Endpoint, Vendor};

/// A body that says no, for a status of 4xx. `code` is ours, such as `reenact_denied`.
pub fn body(vendor: Vendor, kind: &str, code: &str, message: &str) -> String {
    let mut text = String::new();
    let mut object = Object::open(&mut text);
    match vendor {
        Vendor::OpenAi => {
            let mut error = Object::open(object.name("error"));
            error.string("message", message);
            error.string("type", kind);
            error.string("param", None);
            error.string("code", code);
            error.close();
        }
        Vendor::Anthropic => {
            object.string("type", "error");
            let mut error = Object::open(object.name("error"));
            error.string("type", kind);
            error.string("message", message);
            error.string("code", code);
            error.close();
        }
    }
    object.close();
    text
}

/// The same as an event of a stream that has begun: the client stops there, and raises it.
pub fn event(endpoint: Endpoint, kind: &str, code: &str, message: &str) -> String {
    match endpoint {
        Endpoint::Messages => {
            format!("event: error\ndata: {}\n\n", body(Vendor::Anthropic, kind, code, message))
        }
        Endpoint::Responses => {
            let mut data = String::new();
            let mut object = Object::open(&mut data);
            object.string("type", "error");
            object.string("code", code);
            object.string("message", message);
            object.string("param", None);
            let whole = body(Vendor::OpenAi, kind, code, message);
            // Its clients raise what has an `error`, and know the rest from its documentation.
            let error = whole.strip_prefix("{\"error\":").and_then(|rest| rest.strip_suffix('}'));
            object.name("error").push_str(error.unwrap_or("null"));
            object.close();
            format!("event: error\ndata: {data}\n\n")
        }
        Endpoint::ChatCompletions | Endpoint::Models => {
            format!("data: {}\n\n", body(Vendor::OpenAi, kind, code, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_in_its_own_shape() {
        assert_eq!(
            body(Vendor::OpenAi, "invalid_request_error", "reenact_denied", "no \"x\""),
            r#"{"error":{"message":"no \"x\"","type":"invalid_request_error","param":null,"code":"reenact_denied"}}"#
        );
        assert_eq!(
            body(Vendor::Anthropic, "permission_error", "reenact_denied", "no"),
            r#"{"type":"error","error":{"type":"permission_error","message":"no","code":"reenact_denied"}}"#
        );
    }
}
