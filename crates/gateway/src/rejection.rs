//! Answers that the gateway makes itself: to requests that it does not accept, and in a vendor's shape for
//! errors. Each says what to do.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONNECTION, UPGRADE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use reenact_wire::{Vendor, error_reply};

use crate::client_body::ClientBody;
use crate::route::VendorRoute;

/// Reason why a request is not served.
pub(crate) enum RejectedRequest {
    /// Host names another server.
    Misdirected,
    /// Wrong token. The answer reveals nothing about the gateway.
    NoSuchAddress,
    /// Right token, unknown route. Holds the names of the routes that exist.
    NoSuchRoute(Vec<String>),
    /// Body longer than the limit, in bytes.
    TooLong(Arc<VendorRoute>, usize),
    /// Request for a WebSocket.
    Upgrade(Arc<VendorRoute>),
}

impl RejectedRequest {
    /// Returns the answer to the client.
    pub(crate) fn response(&self) -> Response<ClientBody> {
        match self {
            Self::Misdirected => text_response(
                StatusCode::MISDIRECTED_REQUEST,
                "reenact: this address serves 127.0.0.1 and localhost only",
            ),
            Self::NoSuchAddress => {
                text_response(StatusCode::NOT_FOUND, "reenact: nothing is served at this address")
            }
            Self::NoSuchRoute(names) => {
                let names = names.join(", ");
                text_response(
                    StatusCode::NOT_FOUND,
                    &format!("reenact: no route of that name; there is: {names}"),
                )
            }
            Self::TooLong(route, limit) => vendor_error(
                route.vendor,
                StatusCode::PAYLOAD_TOO_LARGE,
                "request_too_large",
                "reenact_request_too_large",
                &format!("reenact: the request is longer than {limit} bytes"),
            ),
            // Clients that also speak HTTP turn to it at once on this status, and after several attempts on others.
            Self::Upgrade(route) => {
                let mut response = vendor_error(
                    route.vendor,
                    StatusCode::UPGRADE_REQUIRED,
                    "invalid_request_error",
                    "reenact_no_websocket",
                    "reenact: WebSockets are not relayed; use the HTTP interface",
                );
                let headers = response.headers_mut();
                headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
                headers.insert(UPGRADE, HeaderValue::from_static("HTTP/1.1"));
                response
            }
        }
    }
}

/// Makes an answer in plain text.
pub(crate) fn text_response(status: StatusCode, words: &str) -> Response<ClientBody> {
    let headers = [("content-type", "text/plain; charset=utf-8".to_owned())];
    response(status.as_u16(), &headers, format!("{words}\n"))
}

/// Makes an error that the vendor's own clients parse.
pub(crate) fn vendor_error(
    vendor: Vendor,
    status: StatusCode,
    kind: &str,
    code: &str,
    message: &str,
) -> Response<ClientBody> {
    let reply = error_reply::ErrorReply { status: status.as_u16(), kind, code, message };
    let headers = [("content-type", "application/json".to_owned())];
    response(reply.status, &headers, error_reply::error_body(vendor, &reply))
}

/// Makes an answer of status, headers and body. Header values that are not valid are dropped.
pub(crate) fn response(
    status: u16,
    headers: &[(&'static str, String)],
    body: String,
) -> Response<ClientBody> {
    let mut response = Response::new(ClientBody::whole(Bytes::from(body)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    response
}
