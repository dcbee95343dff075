//! Conversion of HTTP types into observations. Behind this module nothing knows HTTP types.

use http::{HeaderMap, Version};
use reenact_capture::observation::{EndCause, HeaderList, InboundRequest};

use crate::inbound::ReceivedRequest;
use crate::upstream::UpstreamFailure;

/// Copies headers, in their order.
pub(crate) fn header_list(headers: &HeaderMap) -> HeaderList<'static> {
    headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect()
}

/// Returns a request as it came. The body is shared, not copied.
pub(super) fn inbound_request(arrival: &ReceivedRequest) -> InboundRequest<'static> {
    InboundRequest {
        provider: arrival.route.name.clone().into(),
        method: arrival.method.as_str().to_owned().into(),
        path: arrival.path.as_str().to_owned().into(),
        headers: header_list(&arrival.headers),
        has_trailers: arrival.has_trailers,
        admission: None,
        body: arrival.body.clone().into(),
    }
}

/// Returns the name of an HTTP version, as records write it.
pub(super) fn version_name(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "0.9",
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        Version::HTTP_3 => "3",
        _ => "1.1",
    }
}

/// Returns the end of an exchange whose vendor failed.
pub(super) fn upstream_end(failure: &UpstreamFailure) -> EndCause<'static> {
    EndCause::Upstream {
        by: failure.ended_by(),
        error_type: failure.error_type().into(),
        message: failure.to_string().into(),
    }
}
