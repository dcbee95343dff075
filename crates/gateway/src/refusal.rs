//! What we answer ourselves: who may not come in, and what we cannot do. Always in words that say what to do.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
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
    answer(status, "text/plain; charset=utf-8", format!("{words}\n"))
}

/// An error as the vendor's own clients understand it.
pub(crate) fn in_shape(
    vendor: Vendor,
    status: StatusCode,
    kind: &str,
    code: &str,
    message: &str,
) -> Response<Outgoing> {
    answer(status, "application/json", refusal::body(vendor, kind, code, message))
}

fn answer(status: StatusCode, content_type: &'static str, body: String) -> Response<Outgoing> {
    let mut response = Response::new(Outgoing::whole(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
