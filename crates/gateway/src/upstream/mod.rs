//! Connections to vendors: pool, the user's own proxies and certificates.
//!
//! No redirect is followed, and no request is sent twice if the vendor may have received it. HTTP/1.1 clients
//! reach their vendor in HTTP/1.1, HTTP/2 clients in HTTP/2 if the vendor has it, so that the record shows what
//! both would have said without a gateway. Start reading at [`UpstreamClient::send`].

mod connection;
mod connector;
mod environment;
mod failure;
mod idle_timeout;
mod pool;
mod roots;
mod socks;
mod upstream_body;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::PROXY_AUTHORIZATION;
use http::uri::PathAndQuery;
use http::{Response, Version};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use self::connection::{OutboundRequest, VendorConnection, VendorSendError};
use self::connector::Connector;
use self::idle_timeout::IdleTimeout;
use self::pool::ConnectionPool;
use self::roots::TlsConfigs;
use self::upstream_body::PooledConnection;
use crate::config::GatewayLimits;
use crate::error::StartError;
use crate::route::VendorRoute;

pub use self::environment::NetworkEnvironment;
pub(crate) use self::failure::UpstreamFailure;
pub use self::roots::UpstreamWarning;
pub(crate) use self::upstream_body::UpstreamBody;

/// HTTP client for vendors.
pub(crate) struct UpstreamClient {
    /// Idle HTTP/1 connections.
    pool: Arc<ConnectionPool>,
    /// Client for HTTP/2, with connections of its own.
    http2: Client<Connector, Full<Bytes>>,
    /// Opens connections for HTTP/1.
    connector: Connector,
    /// Longest time without a byte from the vendor.
    idle_timeout: Duration,
}

impl UpstreamClient {
    /// Makes a client. `needs_tls` is true if the address of a route begins with `https`. Warnings for the user
    /// are added to `warnings`.
    pub(crate) fn new(
        environment: &NetworkEnvironment,
        needs_tls: bool,
        limits: &GatewayLimits,
        warnings: &mut Vec<UpstreamWarning>,
    ) -> Result<Self, StartError> {
        // Loading the system's certificates takes milliseconds, so it is done only if they are needed.
        let proxies = [&environment.https_proxy, &environment.http_proxy, &environment.all_proxy];
        let needs_tls = needs_tls || proxies.iter().any(|proxy| proxy.as_deref().is_some_and(is_https));
        let tls = if needs_tls { Some(TlsConfigs::new(environment, warnings)?) } else { None };
        let connector = Connector::new(environment, tls, limits.connect_timeout)?;
        let http2 = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(pool::MAX_IDLE)
            .http1_preserve_header_case(true)
            .set_host(false)
            .build(connector.with_h2());
        Ok(Self { pool: Arc::default(), http2, connector, idle_timeout: limits.idle_timeout })
    }

    /// Sends a request, whose own address is a path, and returns the answer when its head has come. `version`
    /// is the one that the client speaks.
    ///
    /// # Errors
    /// Returns the failure if there is no answer.
    pub(crate) async fn send(
        &self,
        route: &Arc<VendorRoute>,
        request: OutboundRequest,
        version: Version,
    ) -> Result<Response<UpstreamBody>, UpstreamFailure> {
        if version == Version::HTTP_2 {
            Box::pin(self.send_http2(route, request)).await
        } else {
            self.send_http1(route, request).await
        }
    }

    /// Sends a request on a connection for one request at a time.
    ///
    /// An idle connection may have been closed by the vendor. Then nothing of the request was sent, and the
    /// next connection is tried. A request that may have been received is never sent again: it could have cost
    /// money.
    async fn send_http1(
        &self,
        route: &Arc<VendorRoute>,
        mut request: OutboundRequest,
    ) -> Result<Response<UpstreamBody>, UpstreamFailure> {
        loop {
            let idle = self.pool.take(route);
            let is_used = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                // Boxed, because most requests find an idle connection and need no space for this future.
                None => Box::pin(self.connect(route)).await?,
            };
            if connection.is_proxied() {
                self.set_absolute_address(route, &mut request)?;
            }
            request = match connection.send(request).await {
                Ok(answer) => {
                    let (route, pool) = (Arc::clone(route), Arc::clone(&self.pool));
                    return Ok(answer.map(|body| {
                        UpstreamBody::on_exclusive(body, PooledConnection { connection, route, pool })
                    }));
                }
                // The vendor closed the connection while it was idle, and the request was not sent.
                Err(VendorSendError::Unsent(request)) if is_used => *request,
                Err(VendorSendError::Unsent(_)) => return Err(UpstreamFailure::Closed),
                Err(VendorSendError::Failed(failure)) => return Err(failure),
            };
        }
    }

    /// Opens a connection for one request at a time.
    async fn connect(&self, route: &VendorRoute) -> Result<Box<VendorConnection>, UpstreamFailure> {
        let stream = self.connector.connect(route.upstream.root()).await?;
        Ok(Box::new(VendorConnection::handshake(stream, self.idle_timeout).await?))
    }

    /// Sends a request on a connection that many requests share.
    async fn send_http2(
        &self,
        route: &VendorRoute,
        mut request: OutboundRequest,
    ) -> Result<Response<UpstreamBody>, UpstreamFailure> {
        self.set_absolute_address(route, &mut request)?;
        match tokio::time::timeout(self.idle_timeout, self.http2.request(request)).await {
            Ok(Ok(answer)) => {
                Ok(answer.map(|body| UpstreamBody::on_shared(body, IdleTimeout::new(self.idle_timeout))))
            }
            Ok(Err(error)) => Err(UpstreamFailure::from_client_error(&error)),
            Err(_) => Err(UpstreamFailure::IdleTimeout),
        }
    }

    /// Makes a request name its absolute address, and adds the credentials for a proxy that reads it.
    fn set_absolute_address(
        &self,
        route: &VendorRoute,
        request: &mut OutboundRequest,
    ) -> Result<(), UpstreamFailure> {
        let path = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        *request.uri_mut() = route
            .upstream
            .with_path(path)
            .ok_or_else(|| UpstreamFailure::Protocol("the request has no address".to_owned()))?;
        if let Some(credentials) = self.connector.proxy_authorization(request.uri()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, credentials);
        }
        Ok(())
    }
}

/// Returns true if an address begins with `https://`, in upper or lower case.
fn is_https(address: &str) -> bool {
    address.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}
