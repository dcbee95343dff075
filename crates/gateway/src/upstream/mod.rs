//! The way to the vendors: pooled connections, the user's own proxies and certificates. Nothing follows a redirect, nothing is
//! tried twice that may have been heard.
//!
//! A client that speaks HTTP/1.1 is heard by its vendor in HTTP/1.1, one that speaks HTTP/2 in HTTP/2 where the vendor has it:
//! what is recorded is what the two would have said to each other without us.

mod connector;
mod environment;
mod failure;
mod roots;

use std::time::Duration;

use bytes::Bytes;
use http::header::PROXY_AUTHORIZATION;
use http::{Request, Response, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use self::connector::Connector;
use self::roots::Tls;
use crate::error::StartError;
use crate::work::Limits;

pub use self::environment::Environment;
pub(crate) use self::failure::Failure;
pub use self::roots::Note;

/// Connections that lie idle for longer are closed: vendors close theirs, and a request must not meet a closed one.
const IDLE_CONNECTION: Duration = Duration::from_secs(15);

/// Sends requests to vendors.
pub(crate) struct Upstream {
    http1: Client<Connector, Full<Bytes>>,
    http2: Client<Connector, Full<Bytes>>,
    connector: Connector,
    idle: Duration,
}

impl Upstream {
    /// `needs_tls` when an address begins with `https`. What the user should know is added to `notes`.
    pub(crate) fn new(
        environment: &Environment,
        needs_tls: bool,
        limits: &Limits,
        notes: &mut Vec<Note>,
    ) -> Result<Self, StartError> {
        // Reading a machine's certificates takes milliseconds: not for nothing.
        let proxies = [&environment.https_proxy, &environment.http_proxy, &environment.all_proxy];
        let needs_tls = needs_tls || proxies.iter().any(|proxy| proxy.as_deref().is_some_and(is_https));
        let tls = if needs_tls { Some(Tls::new(environment, notes)?) } else { None };
        let connector = Connector::new(environment, tls, limits.connect)?;
        let client = |connector| {
            Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(IDLE_CONNECTION)
                .http1_preserve_header_case(true)
                .set_host(false)
                .build(connector)
        };
        let (http1, http2) = (client(connector.clone()), client(connector.with_h2()));
        Ok(Self { http1, http2, connector, idle: limits.idle })
    }

    /// Sends what a client said in that version of HTTP; gives the head of the answer when it comes.
    pub(crate) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
        said_in: Version,
    ) -> Result<Response<Incoming>, Failure> {
        if let Some(credentials) = self.connector.proxy_authorization(request.uri()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, credentials);
        }
        let client = if said_in == Version::HTTP_2 { &self.http2 } else { &self.http1 };
        match tokio::time::timeout(self.idle, client.request(request)).await {
            Ok(answer) => answer.map_err(|error| Failure::of_request(&error)),
            Err(_) => Err(Failure::IdleTimeout),
        }
    }
}

fn is_https(address: &str) -> bool {
    address.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}
