//! What we answer ourselves: who may not come in, and what we cannot do. Always in words that say what to do.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use reenact_wire::{Vendor, refusal};

use crate::outgoing::Outgoing;
use crate::route::Route;

/// Why a request is not served.
pub(crate) enum Refusal {
    /// Host names someone else.
    Misdirected,
    /// Wrong token. Whoever asks learns nothing.
    NoSuchAddress,
    /// Right token, wrong name.
    NoSuchRoute(Vec<String>),
    /// More than the limit.
    TooLong(Arc<Route>, usize),
    /// A WebSocket.
    Upgrade(Arc<Route>),
}

impl Refusal {
    pub(crate) fn answer(&self) -> Response<Outgoing> {
        match self {
            Self::Misdirected => text(
                StatusCode::MISDIRECTED_REQUEST,
                "reenact: this address serves 127.0.0.1 and localhost only",
            ),
            Self::NoSuchAddress => text(StatusCode::NOT_FOUND, "reenact: nothing is served at this address"),
            Self::NoSuchRoute(names) => {
                let names = names.join(", ");
                text(StatusCode::NOT_FOUND, &format!("reenact: no route of that name; there is: {names}"))
            }
            Self::TooLong(route, limit) => in_shape(
                route.vendor,
                StatusCode::PAYLOAD_TOO_LARGE,
                "request_too_large",
                "reenact_request_too_large",
                &format!("reenact: the request is longer than {limit} bytes"),
            ),
            Self::Upgrade(route) => in_shape(
                route.vendor,
                StatusCode::NOT_IMPLEMENTED,
                "invalid_request_error",
                "reenact_no_websocket",
                "reenact: WebSockets cannot be recorded yet; use the HTTP interface",
            ),
        }
    }
}

pub(crate) fn text(status: StatusCode, words: &str) -> Response<Outgoing> {
    let headers = [("content-type", "text/plain; charset=utf-8".to_owned())];
    answer(status.as_u16(), &headers, format!("{words}\n"))
}

/// An error as the vendor's own clients understand it.
pub(crate) fn in_shape(
    vendor: Vendor,
    status: StatusCode,
    kind: &str,
    code: &str,
    message: &str,
) -> Response<Outgoing> {
    let refusal = refusal::Refusal { status: status.as_u16(), kind, code, message };
    let headers = [("content-type", "application/json".to_owned())];
    answer(refusal.status, &headers, refusal::body(vendor, &refusal))
}

/// An answer of our own making.
pub(crate) fn answer(status: u16, headers: &[(&'static str, String)], body: String) -> Response<Outgoing> {
    let mut response = Response::new(Outgoing::whole(Bytes::from(body)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    response
}
