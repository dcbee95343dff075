//! Connections through a proxy that speaks SOCKS 4, 4a or 5.

use std::net::{IpAddr, SocketAddr};

use http::Uri;
use http::uri::Scheme;
use hyper_util::client::legacy::connect::proxy::{SocksV4, SocksV5};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use tower_service::Service;

use super::connector::{BoxedStream, ReadyConnector};
use super::failure::UpstreamFailure;

/// Version and name resolution of a SOCKS proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SocksProxy {
    /// True for SOCKS 5, false for SOCKS 4 and 4a.
    is_v5: bool,
    /// True if names are resolved on this machine and the proxy gets an address; false if the proxy resolves
    /// names.
    resolves_here: bool,
}

impl SocksProxy {
    /// Returns the SOCKS version of a proxy by its scheme; `None` for a proxy that speaks HTTP.
    pub(super) fn of(proxy: &Intercept) -> Option<Self> {
        let (is_v5, resolves_here) = match proxy.uri().scheme_str()? {
            "socks5" => (true, true),
            "socks5h" => (true, false),
            "socks4" => (false, true),
            "socks4a" => (false, false),
            _ => return None,
        };
        Some(Self { is_v5, resolves_here })
    }

    /// Has the proxy connect to a destination, over an open connection to the proxy.
    pub(super) async fn connect_through(
        self,
        proxy: &Intercept,
        destination: &Uri,
        wire: TokioIo<BoxedStream>,
    ) -> Result<TokioIo<BoxedStream>, UpstreamFailure> {
        let failed = |error: &dyn std::fmt::Display| UpstreamFailure::Proxy(error.to_string());
        let target = self.target(destination).await?;
        let (address, ready) = (proxy.uri().clone(), ReadyConnector::new(wire));
        if !self.is_v5 {
            return SocksV4::new(address, ready).call(target).await.map_err(|error| failed(&error));
        }
        let mut socks = SocksV5::new(address, ready);
        if let Some((user, password)) = proxy.raw_auth() {
            socks = socks.with_auth(user.to_owned(), password.to_owned());
        }
        socks.call(target).await.map_err(|error| failed(&error))
    }

    /// Returns the address to ask the proxy for. The port is always explicit, because the library takes 443 for
    /// a missing one. Names are resolved before the library is called, because its own lookup would make other
    /// tasks wait.
    async fn target(self, destination: &Uri) -> Result<Uri, UpstreamFailure> {
        let unreachable = |why: &str| UpstreamFailure::Unreachable(why.to_owned());
        let host = destination.host().ok_or_else(|| unreachable("its address has no host"))?;
        let usual = if destination.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 };
        let port = destination.port_u16().unwrap_or(usual);
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let authority = if self.resolves_here && bare.parse::<IpAddr>().is_err() {
            let found = tokio::net::lookup_host((bare, port)).await;
            let mut found = found.map_err(|error| UpstreamFailure::from_connect_error(&error))?;
            let fits = |address: &SocketAddr| self.is_v5 || address.is_ipv4();
            found.find(fits).ok_or_else(|| unreachable("no address that the proxy could take"))?.to_string()
        } else {
            format!("{host}:{port}")
        };
        let target = Uri::builder().scheme("socks").authority(authority).path_and_query("/").build();
        target.map_err(|error| unreachable(&error.to_string()))
    }
}
