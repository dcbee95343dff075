//! A request that came in: for which route, and whole.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, HOST, HeaderMap};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Extensions, Method, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::client_socket;
use crate::headers;
use crate::refusal::Refusal;
use crate::route::Route;
use crate::token::Token;

/// A request that came in whole.
pub(crate) struct Arrival {
    pub(crate) route: Arc<Route>,
    pub(crate) method: Method,
    /// The vendor's path, with the query.
    pub(crate) path: PathAndQuery,
    pub(crate) headers: HeaderMap,
    /// The version of HTTP that the client speaks.
    pub(crate) version: Version,
    /// Spelling of the header names.
    pub(crate) extensions: Extensions,
    pub(crate) body: Bytes,
    pub(crate) has_trailers: bool,
    /// Time at which it had come.
    pub(crate) at: tokio::time::Instant,
}

/// The door: who may come in, and where to.
pub(crate) struct Door {
    pub(crate) address: SocketAddr,
    pub(crate) token: Token,
    pub(crate) routes: Vec<Arc<Route>>,
}

/// A request to a vendor that was let in; its body has not been read.
pub(crate) struct Admitted {
    pub(crate) route: Arc<Route>,
    pub(crate) path: PathAndQuery,
    pub(crate) head: Parts,
}

impl Door {
    /// Lets a request in, or says why not; `None` of an agent's report of itself.
    pub(crate) fn admit(&self, head: Parts) -> Result<Option<Admitted>, Refusal> {
        let rest = self.enter(&head)?;
        if head.method == Method::POST && rest == REPORT {
            return Ok(None);
        }
        let (route, path) = self.find(rest)?;
        if headers::asks_for_websocket(&head.headers) || head.method == Method::CONNECT {
            return Err(Refusal::Upgrade(route));
        }
        Ok(Some(Admitted { route, path, head }))
    }

    fn find(&self, rest: &str) -> Result<(Arc<Route>, PathAndQuery), Refusal> {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (name, path) = rest.split_at(end);
        let Some(route) = self.routes.iter().find(|route| route.name == name) else {
            return Err(Refusal::NoSuchRoute(self.routes.iter().map(|route| route.name.clone()).collect()));
        };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        // A part of an address that was understood is understood.
        let path = PathAndQuery::try_from(path).map_err(|_| Refusal::NoSuchAddress)?;
        Ok((Arc::clone(route), path))
    }

    /// Returns the rest of the path behind the token, of a request that is for us and has it.
    fn enter<'h>(&self, head: &'h Parts) -> Result<&'h str, Refusal> {
        let mut hosts = head.headers.get_all(HOST).iter();
        let host = hosts.next().map(|host| host.to_str().unwrap_or_default());
        let authority = head.uri.authority().map(|authority| authority.as_str());
        let is_ours = |name: &str| client_socket::is_ours(name, self.address);
        // HTTP/1.1 says it in Host, HTTP/2 in the address; whoever says both must mean us in both.
        if host.or(authority).is_none()
            || hosts.next().is_some()
            || !host.is_none_or(is_ours)
            || !authority.is_none_or(is_ours)
        {
            return Err(Refusal::Misdirected);
        }
        let whole = head.uri.path_and_query().map_or("", PathAndQuery::as_str);
        let (token, rest) = whole.strip_prefix('/').and_then(|rest| rest.split_once('/')).unwrap_or_default();
        if !self.token.is(token) {
            return Err(Refusal::NoSuchAddress);
        }
        Ok(rest)
    }
}

/// Path behind the token of an agent's report of itself.
pub(crate) const REPORT: &str = "report";

/// The body of a report, if it came whole and is not too long for one.
pub(crate) async fn report(body: Incoming) -> Option<Bytes> {
    const LONGEST: usize = 1 << 20;
    read(body, 0, LONGEST).await?.ok().map(|(body, _)| body)
}

impl Admitted {
    /// Reads the body, as long as it is within the limit. `None` when the client left before its end.
    pub(crate) async fn arrive(self, body: Incoming, limit: usize) -> Option<Result<Arrival, Refusal>> {
        let Self { route, path, head } = self;
        let announced = head.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        if announced.is_some_and(|length: usize| length > limit) {
            return Some(Err(Refusal::TooLong(route, limit)));
        }
        let (body, has_trailers) = match read(body, announced.unwrap_or(0), limit).await? {
            Ok(whole) => whole,
            Err(TooLong) => return Some(Err(Refusal::TooLong(route, limit))),
        };
        Some(Ok(Arrival {
            route,
            method: head.method,
            path,
            headers: head.headers,
            version: head.version,
            extensions: head.extensions,
            body,
            has_trailers,
            at: tokio::time::Instant::now(),
        }))
    }
}

struct TooLong;

/// A body that is announced long gets its room at once, up to this.
const ROOM: usize = 16 << 20;

async fn read(mut body: Incoming, announced: usize, limit: usize) -> Option<Result<(Bytes, bool), TooLong>> {
    let (mut first, mut more, mut has_trailers) = (Bytes::new(), BytesMut::new(), false);
    while let Some(frame) = body.frame().await {
        match frame.ok()?.into_data() {
            Ok(piece) => {
                let length = first.len() + more.len() + piece.len();
                if length > limit {
                    return Some(Err(TooLong));
                }
                // Most bodies come in one piece, which is then handed on as it is.
                if first.is_empty() && more.is_empty() {
                    first = piece;
                    continue;
                }
                if more.is_empty() {
                    more.reserve(length.max(announced.min(ROOM)));
                    more.extend_from_slice(&std::mem::take(&mut first));
                }
                more.extend_from_slice(&piece);
            }
            Err(_) => has_trailers = true,
        }
    }
    Some(Ok((if more.is_empty() { first } else { more.freeze() }, has_trailers)))
}
