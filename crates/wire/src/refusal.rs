//! An error of our own in the shape that a vendor's client understands: the agent sees what it knows how to handle.

use reenact_json::print::Object;

use crate::endpoint::Vendor;

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
