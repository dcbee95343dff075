//! Routes: the names under which vendors are reached, and where each of them really is.
//!
//! Where a request goes comes from its route and from nothing that the client says: not from Host, not from the request's
//! own address.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use http::Uri;
use http::header::HeaderValue;
use http::uri::{Authority, PathAndQuery, Scheme};
use reenact_wire::Vendor;

use crate::token::Token;

/// A name in the gateway's address, whose interface is spoken there, and where its requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The part of the address that selects it; recorded as `provider`.
    pub name: String,
    /// Whose interface it is.
    pub vendor: Vendor,
    /// Where its requests go.
    pub upstream: UpstreamUrl,
}

impl Route {
    /// The route of a vendor, under the vendor's own name.
    pub fn to(vendor: Vendor, upstream: UpstreamUrl) -> Self {
        Self { name: vendor.name().to_owned(), vendor, upstream }
    }

    /// What a vendor's client takes as its base address, for a gateway at an address.
    pub fn base_url(&self, gateway: SocketAddr, token: &Token) -> String {
        format!("http://{gateway}/{}/{}{}", token.as_str(), self.name, self.upstream.base_path())
    }
}

/// The base address of a vendor's interface: scheme, host and path, nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamUrl {
    scheme: Scheme,
    authority: Authority,
    /// What Host says there.
    host: HeaderValue,
    /// Without a slash at its end; empty for the root.
    base_path: String,
}

/// Why a text is not the base address of a vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamUrlError {
    /// Not an absolute address.
    #[error("not an address; write it as https://host/path")]
    Syntax,
    /// Another scheme than the two that we speak.
    #[error("the scheme must be http or https")]
    Scheme,
    /// A user name or password before the host: it would end up in records.
    #[error("an address with credentials in it would be recorded; leave them out")]
    Credentials,
    /// A query: it would end up in records, and no client would send it.
    #[error("a base address has no query; leave it out")]
    Query,
}

impl UpstreamUrl {
    /// The path of every request that is made with this base address begins with it. Empty for the root.
    pub fn base_path(&self) -> &str {
        &self.base_path
    }

    /// Whether it is reached through TLS.
    pub fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// The address of a path there.
    pub(crate) fn at(&self, path: PathAndQuery) -> Option<Uri> {
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(path);
        Uri::from_parts(parts).ok()
    }

    /// The address of its root.
    pub(crate) fn root(&self) -> Uri {
        self.at(PathAndQuery::from_static("/")).unwrap_or_default()
    }

    /// Whether the same connections lead to both.
    pub(crate) fn is_same_origin(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.authority == other.authority
    }

    /// What Host says there.
    pub(crate) fn host(&self) -> &HeaderValue {
        &self.host
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
        Ok(Self { scheme, authority, host, base_path: path.path().trim_end_matches('/').to_owned() })
    }
}

/// As it is recorded.
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
        assert_eq!(url("https://api.openai.com/v1").host(), "api.openai.com");
        assert_eq!(url("https://api.openai.com:443/v1").host(), "api.openai.com");
        assert_eq!(url("http://api.openai.com:443/v1").host(), "api.openai.com:443");
        assert_eq!(url("http://[::1]:8080").host(), "[::1]:8080");
        assert_eq!(url("http://[::1]").host(), "[::1]");
    }

    #[test]
    fn the_rest_of_a_path_follows_the_authority() {
        let path = PathAndQuery::from_static("/v1/models?limit=1");
        assert_eq!(
            url("https://api.openai.com/v1").at(path).unwrap(),
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
