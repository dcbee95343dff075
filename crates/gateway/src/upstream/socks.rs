//! Through a proxy that speaks SOCKS.

use std::net::{IpAddr, SocketAddr};

use http::Uri;
use http::uri::Scheme;
use hyper_util::client::legacy::connect::proxy::{SocksV4, SocksV5};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use tower_service::Service;

use super::connector::{Ready, Wire};
use super::failure::Failure;

/// How a proxy is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Socks {
    is_v5: bool,
    /// Names are looked up here, and the proxy is given an address; otherwise it looks for itself.
    resolves_here: bool,
}

impl Socks {
    /// `None` for a proxy that speaks something else.
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

    /// Has the proxy connect to a destination, by a connection to it that is there.
    pub(super) async fn through(
        self,
        proxy: &Intercept,
        destination: &Uri,
        wire: TokioIo<Wire>,
    ) -> Result<TokioIo<Wire>, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::Proxy(error.to_string());
        let target = self.target(destination).await?;
        let (address, ready) = (proxy.uri().clone(), Ready::new(wire));
        if !self.is_v5 {
            return SocksV4::new(address, ready).call(target).await.map_err(|error| failed(&error));
        }
        let mut socks = SocksV5::new(address, ready);
        if let Some((user, password)) = proxy.raw_auth() {
            socks = socks.with_auth(user.to_owned(), password.to_owned());
        }
        socks.call(target).await.map_err(|error| failed(&error))
    }

    /// What the proxy is asked for. The port is always said: the library takes 443 where there is none. Names are looked up before it,
    /// too: it would have everybody else wait for the answer.
    async fn target(self, destination: &Uri) -> Result<Uri, Failure> {
        let unreachable = |why: &str| Failure::Unreachable(why.to_owned());
        let host = destination.host().ok_or_else(|| unreachable("its address has no host"))?;
        let usual = if destination.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 };
        let port = destination.port_u16().unwrap_or(usual);
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let authority = if self.resolves_here && bare.parse::<IpAddr>().is_err() {
            let found = tokio::net::lookup_host((bare, port)).await;
            let mut found = found.map_err(|error| Failure::of_connecting(&error))?;
            let fits = |address: &SocketAddr| self.is_v5 || address.is_ipv4();
            found.find(fits).ok_or_else(|| unreachable("no address that the proxy could take"))?.to_string()
        } else {
            format!("{host}:{port}")
        };
        let target = Uri::builder().scheme("socks").authority(authority).path_and_query("/").build();
        target.map_err(|error| unreachable(&error.to_string()))
    }
}
