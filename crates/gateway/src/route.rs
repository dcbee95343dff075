//! Routes: names in the gateway's address, and the vendor addresses behind them.
//!
//! The destination of a request comes from its route alone, never from the client: not from Host, not from the
//! request's own address.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use http::Uri;
use http::header::HeaderValue;
use http::uri::{Authority, PathAndQuery, Scheme};
use reenact_wire::Vendor;

use crate::token::GatewayToken;

/// Route to a vendor: a name in the gateway's address, the interface spoken there, and the upstream address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorRoute {
    /// Path segment that selects the route; recorded as `provider`.
    pub name: String,
    /// Vendor whose addresses are behind the route: a path that lacks the version of this one gets it.
    pub vendor: Vendor,
    /// Base address to which requests go.
    pub upstream: UpstreamUrl,
}

impl VendorRoute {
    /// Makes the route of a vendor under the vendor's own name.
    pub fn to(vendor: Vendor, upstream: UpstreamUrl) -> Self {
        Self { name: vendor.name().to_owned(), vendor, upstream }
    }

    /// Returns the vendor by whose interfaces requests and answers of this route are read and judged. As in the record, it is the one that the
    /// name of the route stands for: a request that is judged by one vendor's interfaces must not be answered by another's.
    pub(crate) fn judged_as(&self) -> Vendor {
        Vendor::of_route(&self.name)
    }

    /// Returns the base address for a vendor's client, with a gateway at this address.
    pub fn base_url(&self, gateway: SocketAddr, token: &GatewayToken) -> String {
        format!("http://{gateway}/{}/{}{}", token.as_str(), self.name, self.upstream.base_path())
    }
}

/// Base address of a vendor's interface: scheme, host and path only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamUrl {
    scheme: Scheme,
    authority: Authority,
    /// Value of the Host header: without the port if it is the scheme's default.
    host_header: HeaderValue,
    /// Path without a trailing slash; empty for the root.
    base_path: String,
}

/// Reason why a text is not the base address of a vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamUrlError {
    /// Not an absolute address.
    #[error("not an address; write it as https://host/path")]
    Syntax,
    /// Neither `http` nor `https`.
    #[error("the scheme must be http or https")]
    Scheme,
    /// User name or password before the host, which would be recorded.
    #[error("an address with credentials in it would be recorded; leave them out")]
    Credentials,
    /// Query, which would be recorded, and which no client would send.
    #[error("a base address has no query; leave it out")]
    Query,
}

impl UpstreamUrl {
    /// Returns the path with which every request to this base address begins. Empty for the root.
    pub fn base_path(&self) -> &str {
        &self.base_path
    }

    /// Returns true if the vendor is reached through TLS.
    pub fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Returns the absolute address of a path on this host.
    pub(crate) fn with_path(&self, path: PathAndQuery) -> Option<Uri> {
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(path);
        Uri::from_parts(parts).ok()
    }

    /// Returns the absolute address of the host's root.
    pub(crate) fn root(&self) -> Uri {
        self.with_path(PathAndQuery::from_static("/")).unwrap_or_default()
    }

    /// Returns true if both have the same scheme, host and port, so that they can share connections.
    pub(crate) fn is_same_origin(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.authority == other.authority
    }

    /// Returns the value of the Host header.
    pub(crate) fn host_header(&self) -> &HeaderValue {
        &self.host_header
    }
}

impl FromStr for UpstreamUrl {
    type Err = UpstreamUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri = Uri::from_str(text.trim()).map_err(|_| UpstreamUrlError::Syntax)?;
        let parts = uri.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(UpstreamUrlError::Syntax);
        };
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(UpstreamUrlError::Scheme);
        }
        if authority.as_str().contains('@') {
            return Err(UpstreamUrlError::Credentials);
        }
        if authority.host().is_empty() {
            return Err(UpstreamUrlError::Syntax);
        }
        let path = parts.path_and_query.unwrap_or_else(|| PathAndQuery::from_static("/"));
        if path.query().is_some() {
            return Err(UpstreamUrlError::Query);
        }
        let default = if scheme == Scheme::HTTPS { 443 } else { 80 };
        let host = match authority.port_u16() {
            Some(port) if port != default => authority.as_str(),
            _ => authority.host(),
        };
        let host = HeaderValue::from_str(host).map_err(|_| UpstreamUrlError::Syntax)?;
        Ok(Self {
            scheme,
            authority,
            host_header: host,
            base_path: path.path().trim_end_matches('/').to_owned(),
        })
    }
}

/// Writes the address as it is recorded.
impl fmt::Display for UpstreamUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.base_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> UpstreamUrl {
        text.parse().unwrap()
    }

    #[test]
    fn base_paths() {
        assert_eq!(url("https://api.openai.com/v1").base_path(), "/v1");
        assert_eq!(url("https://api.openai.com/v1/").base_path(), "/v1");
        assert_eq!(url("https://api.anthropic.com").base_path(), "");
        assert_eq!(url("https://api.anthropic.com/").to_string(), "https://api.anthropic.com");
        assert_eq!(url("http://127.0.0.1:8080/a/b/").to_string(), "http://127.0.0.1:8080/a/b");
    }

    #[test]
    fn hosts() {
        assert_eq!(url("https://api.openai.com/v1").host_header(), "api.openai.com");
        assert_eq!(url("https://api.openai.com:443/v1").host_header(), "api.openai.com");
        assert_eq!(url("http://api.openai.com:443/v1").host_header(), "api.openai.com:443");
        assert_eq!(url("http://[::1]:8080").host_header(), "[::1]:8080");
        assert_eq!(url("http://[::1]").host_header(), "[::1]");
    }

    #[test]
    fn the_rest_of_a_path_follows_the_authority() {
        let path = PathAndQuery::from_static("/v1/models?limit=1");
        assert_eq!(
            url("https://api.openai.com/v1").with_path(path).unwrap(),
            "https://api.openai.com/v1/models?limit=1"
        );
    }

    #[test]
    fn refused() {
        for (text, why) in [
            ("", UpstreamUrlError::Syntax),
            ("/v1", UpstreamUrlError::Syntax),
            ("api.openai.com", UpstreamUrlError::Syntax),
            ("https://", UpstreamUrlError::Syntax),
            ("https://:443/", UpstreamUrlError::Syntax),
            ("ftp://host/", UpstreamUrlError::Scheme),
            ("https://user:password@host/v1", UpstreamUrlError::Credentials),
            ("https://host/v1?key=1", UpstreamUrlError::Query),
        ] {
            assert_eq!(text.parse::<UpstreamUrl>(), Err(why), "{text}");
        }
    }
}
