//! Requests of clients: accepted for a route, then read completely.
//!
//! [`RequestGate::admit`] checks the head of a request; [`RoutedRequest::receive`] then reads the body.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, HOST, HeaderMap};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Extensions, Method, Version};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use reenact_wire::request_path::resolved_path;

use crate::client_socket;
use crate::config::GatewayLimits;
use crate::headers;
use crate::rejection::RejectedRequest;
use crate::route::VendorRoute;
use crate::token::GatewayToken;

/// Request that was read completely.
pub(crate) struct ReceivedRequest {
    pub(crate) route: Arc<VendorRoute>,
    pub(crate) method: Method,
    /// Path at the vendor, with its query.
    pub(crate) path: PathAndQuery,
    pub(crate) headers: HeaderMap,
    /// HTTP version that the client speaks.
    pub(crate) version: Version,
    /// Spelling of the header names, as hyper keeps it.
    pub(crate) extensions: Extensions,
    pub(crate) body: Bytes,
    /// True if the request had trailers, which are not passed on.
    pub(crate) has_trailers: bool,
    /// Time at which the request was complete.
    pub(crate) received_at: tokio::time::Instant,
}

/// Check of Host, token and route, by which requests are accepted.
///
/// Host must be a loopback name with the gateway's port, and the first path segment must be the token. Other
/// requests may come from any process or web page on the machine, and get an answer that reveals nothing.
pub(crate) struct RequestGate {
    /// Address of the listener, whose port Host must name.
    pub(crate) address: SocketAddr,
    pub(crate) token: GatewayToken,
    pub(crate) routes: Vec<Arc<VendorRoute>>,
}

/// Request to a vendor that was accepted; its body has not been read.
pub(crate) struct RoutedRequest {
    pub(crate) route: Arc<VendorRoute>,
    pub(crate) path: PathAndQuery,
    pub(crate) head: Parts,
}

impl RequestGate {
    /// Accepts a request to a vendor. Returns `None` for an agent's report about itself.
    ///
    /// # Errors
    /// Returns the rejection if host, token or route are wrong, or if the request asks for a WebSocket.
    pub(crate) fn admit(&self, head: Parts) -> Result<Option<RoutedRequest>, RejectedRequest> {
        let rest = self.path_after_token(&head)?;
        if head.method == Method::POST && rest == REPORT_PATH {
            return Ok(None);
        }
        let (route, path) = self.find_route(rest)?;
        if headers::asks_for_websocket(&head.headers) || head.method == Method::CONNECT {
            return Err(RejectedRequest::Upgrade(route));
        }
        Ok(Some(RoutedRequest { route, path, head }))
    }

    /// Splits the path behind the token into a route and the path at its vendor, in which the vendor's version stands once.
    fn find_route(&self, rest: &str) -> Result<(Arc<VendorRoute>, PathAndQuery), RejectedRequest> {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (name, path) = rest.split_at(end);
        let Some(route) = self.routes.iter().find(|route| route.name == name) else {
            return Err(RejectedRequest::NoSuchRoute(
                self.routes.iter().map(|route| route.name.clone()).collect(),
            ));
        };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let resolved = resolved_path(route.vendor, route.upstream.base_path(), &path);
        // Part of an address that was parsed, so this does not fail in practice.
        let path = PathAndQuery::try_from(&*resolved).map_err(|_| RejectedRequest::NoSuchAddress)?;
        Ok((Arc::clone(route), path))
    }

    /// Returns the path behind the token, if Host and token are right.
    fn path_after_token<'h>(&self, head: &'h Parts) -> Result<&'h str, RejectedRequest> {
        let mut hosts = head.headers.get_all(HOST).iter();
        let host = hosts.next().map(|host| host.to_str().unwrap_or_default());
        let authority = head.uri.authority().map(|authority| authority.as_str());
        let is_ours = |name: &str| client_socket::is_loopback_authority(name, self.address);
        // HTTP/1.1 names the host in Host, HTTP/2 in the address. If both are given, both must name this
        // gateway.
        if host.or(authority).is_none()
            || hosts.next().is_some()
            || !host.is_none_or(is_ours)
            || !authority.is_none_or(is_ours)
        {
            return Err(RejectedRequest::Misdirected);
        }
        let whole = head.uri.path_and_query().map_or("", PathAndQuery::as_str);
        let (token, rest) = whole.strip_prefix('/').and_then(|rest| rest.split_once('/')).unwrap_or_default();
        if !self.token.matches(token) {
            return Err(RejectedRequest::NoSuchAddress);
        }
        Ok(rest)
    }
}

/// Path behind the token to which agents post reports about themselves.
pub(crate) const REPORT_PATH: &str = "report";

/// Reads the body of a report; `None` if it broke off or is longer than 1 MiB.
pub(crate) async fn read_report(body: Incoming, timeout: Duration) -> Option<Bytes> {
    /// Longest report, in bytes: 1 MiB.
    const MAX_REPORT_BYTES: usize = 1 << 20;
    read_limited(body, 0, MAX_REPORT_BYTES, timeout).await?.ok().map(|(body, _)| body)
}

impl RoutedRequest {
    /// Reads the body up to the limit of its size. Returns `None` if the client disconnected before the end, or sent
    /// nothing for [`GatewayLimits::client_timeout`].
    ///
    /// # Errors
    /// Returns [`RejectedRequest::TooLong`] for a body that is longer, before reading it if `content-length`
    /// says so.
    pub(crate) async fn receive(
        self,
        body: Incoming,
        limits: &GatewayLimits,
    ) -> Option<Result<ReceivedRequest, RejectedRequest>> {
        let Self { route, path, head } = self;
        let limit = limits.max_request_bytes;
        let announced = head.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        if announced.is_some_and(|length: usize| length > limit) {
            return Some(Err(RejectedRequest::TooLong(route, limit)));
        }
        let (body, has_trailers) =
            match read_limited(body, announced.unwrap_or(0), limit, limits.client_timeout).await? {
                Ok(whole) => whole,
                Err(BodyTooLong) => return Some(Err(RejectedRequest::TooLong(route, limit))),
            };
        Some(Ok(ReceivedRequest {
            route,
            method: head.method,
            path,
            headers: head.headers,
            version: head.version,
            extensions: head.extensions,
            body,
            has_trailers,
            received_at: tokio::time::Instant::now(),
        }))
    }
}

/// Error for a body that exceeds its limit.
struct BodyTooLong;

/// Largest buffer, in bytes, that is reserved because `content-length` announces a long body: 16 MiB.
const MAX_RESERVED_BYTES: usize = 16 << 20;

/// Reads a body of at most `limit` bytes, with at most `timeout` between two pieces, however long the whole takes. Returns
/// the body, and true if trailers followed; `None` if the body broke off.
async fn read_limited(
    mut body: impl Body<Data = Bytes> + Unpin,
    announced: usize,
    limit: usize,
    timeout: Duration,
) -> Option<Result<(Bytes, bool), BodyTooLong>> {
    let (mut first, mut more, mut has_trailers) = (Bytes::new(), BytesMut::new(), false);
    while let Some(frame) = tokio::time::timeout(timeout, body.frame()).await.ok()? {
        match frame.ok()?.into_data() {
            Ok(piece) => {
                let length = first.len() + more.len() + piece.len();
                if length > limit {
                    return Some(Err(BodyTooLong));
                }
                // Most bodies come in one piece, which is passed on without a copy.
                if first.is_empty() && more.is_empty() {
                    first = piece;
                    continue;
                }
                if more.is_empty() {
                    more.reserve(length.max(announced.min(MAX_RESERVED_BYTES)));
                    more.extend_from_slice(&std::mem::take(&mut first));
                }
                more.extend_from_slice(&piece);
            }
            Err(_) => has_trailers = true,
        }
    }
    Some(Ok((if more.is_empty() { first } else { more.freeze() }, has_trailers)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};

    use http_body::Frame;
    use tokio::time::{Instant, Sleep, sleep};

    use super::*;

    /// Body whose pieces come one after the other, each after a pause. Without a further piece it goes on for ever, or ends.
    struct SlowBody {
        pauses: VecDeque<Duration>,
        ends: bool,
        waiting: Option<Pin<Box<Sleep>>>,
    }

    impl Body for SlowBody {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let Some(&pause) = self.pauses.front() else {
                return if self.ends { Poll::Ready(None) } else { Poll::Pending };
            };
            ready!(self.waiting.get_or_insert_with(|| Box::pin(sleep(pause))).as_mut().poll(cx));
            self.waiting = None;
            self.pauses.pop_front();
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"piece ")))))
        }
    }

    const TIMEOUT: Duration = Duration::from_secs(120);

    /// Reads a body whose pieces come after these pauses. Returns it, and the time that passed.
    async fn read_slow(pauses: &[Duration], ends: bool) -> (Option<Bytes>, Duration) {
        let started = Instant::now();
        let body = SlowBody { pauses: pauses.iter().copied().collect(), ends, waiting: None };
        let read = read_limited(body, 0, 1 << 20, TIMEOUT).await;
        (read.map(|whole| whole.ok().unwrap().0), started.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_upload_is_read_as_long_as_bytes_come() {
        let pause = Duration::from_secs(119);
        let (body, elapsed) = read_slow(&[pause; 60], true).await;
        assert_eq!(body.unwrap(), "piece ".repeat(60));
        assert_eq!(elapsed, 60 * pause);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_is_given_up() {
        let pause = Duration::from_secs(100);
        let (body, elapsed) = read_slow(&[pause; 3], false).await;
        assert_eq!((body, elapsed.as_secs()), (None, 300 + 120));
        let (body, elapsed) = read_slow(&[Duration::from_secs(121)], true).await;
        assert_eq!((body, elapsed.as_secs()), (None, 120));
    }
}
