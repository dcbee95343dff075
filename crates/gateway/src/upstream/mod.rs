//! The way to the vendors: pooled connections, the user's own proxies and certificates. Nothing follows a redirect, nothing is
//! tried twice that may have been heard.
//!
//! A client that speaks HTTP/1.1 is heard by its vendor in HTTP/1.1, one that speaks HTTP/2 in HTTP/2 where the vendor has it:
//! what is recorded is what the two would have said to each other without us.

mod coming;
mod connection;
mod connector;
mod environment;
mod failure;
mod pool;
mod roots;
mod silence;
mod socks;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::PROXY_AUTHORIZATION;
use http::uri::PathAndQuery;
use http::{Response, Version};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use self::coming::Lent;
use self::connection::{Connection, Outbound, Unanswered};
use self::connector::Connector;
use self::pool::Pool;
use self::roots::Tls;
use self::silence::Silence;
use crate::error::StartError;
use crate::route::Route;
use crate::work::Limits;

pub(crate) use self::coming::Coming;
pub use self::environment::Environment;
pub(crate) use self::failure::Failure;
pub use self::roots::Note;

/// Sends requests to vendors.
pub(crate) struct Upstream {
    idle_connections: Arc<Pool>,
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
        let http2 = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(pool::LONGEST)
            .http1_preserve_header_case(true)
            .set_host(false)
            .build(connector.with_h2());
        Ok(Self { idle_connections: Arc::default(), http2, connector, idle: limits.idle })
    }

    /// Sends what a client said in that version of HTTP; gives the head of the answer when it comes. The request's own address is
    /// a path.
    pub(crate) async fn send(
        &self,
        to: &Arc<Route>,
        request: Outbound,
        said_in: Version,
    ) -> Result<Response<Coming>, Failure> {
        if said_in == Version::HTTP_2 {
            Box::pin(self.send_shared(to, request)).await
        } else {
            self.send_alone(to, request).await
        }
    }

    /// On a connection that has one request at a time.
    async fn send_alone(&self, to: &Arc<Route>, mut request: Outbound) -> Result<Response<Coming>, Failure> {
        loop {
            let idle = self.idle_connections.take(to);
            let is_used = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                // Apart: most requests need no room for all that this may take.
                None => Box::pin(self.connect(to)).await?,
            };
            if connection.is_proxied() {
                self.address(to, &mut request)?;
            }
            request = match connection.ask(request).await {
                Ok(answer) => {
                    let (to, pool) = (Arc::clone(to), Arc::clone(&self.idle_connections));
                    return Ok(answer.map(|body| Coming::by_own(body, Lent { connection, to, pool })));
                }
                // It was closed while it lay idle.
                Err(Unanswered::Unsent(request)) if is_used => *request,
                Err(Unanswered::Unsent(_)) => return Err(Failure::Closed),
                Err(Unanswered::Failed(failure)) => return Err(failure),
            };
        }
    }

    async fn connect(&self, to: &Route) -> Result<Box<Connection>, Failure> {
        let stream = self.connector.connect(to.upstream.root()).await?;
        Ok(Box::new(Connection::over(stream, self.idle).await?))
    }

    /// On a connection that may have many requests at a time.
    async fn send_shared(&self, to: &Route, mut request: Outbound) -> Result<Response<Coming>, Failure> {
        self.address(to, &mut request)?;
        match tokio::time::timeout(self.idle, self.http2.request(request)).await {
            Ok(Ok(answer)) => Ok(answer.map(|body| Coming::by_shared(body, Silence::new(self.idle)))),
            Ok(Err(error)) => Err(Failure::of_request(&error)),
            Err(_) => Err(Failure::IdleTimeout),
        }
    }

    /// Has a request name its whole address, and give what a proxy wants to see.
    fn address(&self, to: &Route, request: &mut Outbound) -> Result<(), Failure> {
        let path = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        *request.uri_mut() =
            to.upstream.at(path).ok_or_else(|| Failure::Protocol("the request has no address".to_owned()))?;
        if let Some(credentials) = self.connector.proxy_authorization(request.uri()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, credentials);
        }
        Ok(())
    }
}

fn is_https(address: &str) -> bool {
    address.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}
