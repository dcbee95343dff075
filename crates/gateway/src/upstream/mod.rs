//! The way to the vendors: pooled connections, HTTP/1.1 or HTTP/2 as the vendor likes, the user's own proxies and
//! certificates. Nothing follows a redirect, nothing is tried twice that may have been heard.

mod connector;
mod environment;
mod failure;
mod roots;

use std::time::Duration;

use bytes::Bytes;
use http::header::PROXY_AUTHORIZATION;
use http::{Request, Response};
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
    client: Client<Connector, Full<Bytes>>,
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
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_CONNECTION)
            .http1_preserve_header_case(true)
            .set_host(false)
            .build(connector.clone());
        Ok(Self { client, connector, idle: limits.idle })
    }

    /// Sends a request; gives the head of the answer when it comes.
    pub(crate) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Failure> {
        if let Some(credentials) = self.connector.proxy_authorization(request.uri()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, credentials);
        }
        match tokio::time::timeout(self.idle, self.client.request(request)).await {
            Ok(answer) => answer.map_err(|error| Failure::of_request(&error)),
            Err(_) => Err(Failure::IdleTimeout),
        }
    }
}

fn is_https(address: &str) -> bool {
    address.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}
