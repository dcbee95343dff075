//! Proxies and certificates from the user's environment variables.
//!
//! They come in as a value, so that a test can build one by hand. Only [`NetworkEnvironment::from_process`]
//! reads the process's variables.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// Proxies and certificates, from the variables that other programs read as well.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct NetworkEnvironment {
    /// `https_proxy` or `HTTPS_PROXY`. May contain credentials.
    pub https_proxy: Option<String>,
    /// `http_proxy` or `HTTP_PROXY`. May contain credentials.
    pub http_proxy: Option<String>,
    /// `all_proxy` or `ALL_PROXY`. May contain credentials.
    pub all_proxy: Option<String>,
    /// `no_proxy` or `NO_PROXY`: hosts that are reached directly.
    pub no_proxy: Option<String>,
    /// `SSL_CERT_FILE`: certificates in place of the system's own.
    pub ssl_cert_file: Option<PathBuf>,
    /// `SSL_CERT_DIR`: folder of certificates in place of the system's own.
    pub ssl_cert_dir: Option<PathBuf>,
    /// `REQUESTS_CA_BUNDLE`, `CURL_CA_BUNDLE`, `NODE_EXTRA_CA_CERTS`: certificates that are trusted in
    /// addition.
    pub extra_certificates: Vec<PathBuf>,
}

impl NetworkEnvironment {
    /// Reads the variables of this process.
    pub fn from_process() -> Self {
        Self::read(|name| std::env::var_os(name))
    }

    /// Reads variables through a function. Names in lower case come first, as with curl and Python; an empty
    /// value counts as unset.
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let value = |name: &str| variable(name).filter(|value| !value.is_empty());
        let proxy = |lower: &str, upper: &str| {
            value(lower).or_else(|| value(upper)).map(|value| value.to_string_lossy().into_owned())
        };
        let extra = ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"];
        let mut extra_certificates: Vec<PathBuf> =
            extra.iter().filter_map(|name| value(name)).map(PathBuf::from).collect();
        extra_certificates.dedup();
        Self {
            https_proxy: proxy("https_proxy", "HTTPS_PROXY"),
            http_proxy: proxy("http_proxy", "HTTP_PROXY"),
            all_proxy: proxy("all_proxy", "ALL_PROXY"),
            no_proxy: proxy("no_proxy", "NO_PROXY"),
            ssl_cert_file: value("SSL_CERT_FILE").map(PathBuf::from),
            ssl_cert_dir: value("SSL_CERT_DIR").map(PathBuf::from),
            extra_certificates,
        }
    }
}

/// Shows proxies as set or not set: their addresses may contain credentials.
impl fmt::Debug for NetworkEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = |value: &Option<String>| if value.is_some() { "set" } else { "not set" };
        f.debug_struct("NetworkEnvironment")
            .field("https_proxy", &set(&self.https_proxy))
            .field("http_proxy", &set(&self.http_proxy))
            .field("all_proxy", &set(&self.all_proxy))
            .field("no_proxy", &self.no_proxy)
            .field("ssl_cert_file", &self.ssl_cert_file)
            .field("ssl_cert_dir", &self.ssl_cert_dir)
            .field("extra_certificates", &self.extra_certificates)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_cases_and_the_lower_one_first() {
        let environment = NetworkEnvironment::read(|name| {
            Some(OsString::from(match name {
                "HTTPS_PROXY" => "http://upper",
                "https_proxy" => "http://user:password@lower",
                "HTTP_PROXY" => "http://only-upper",
                "no_proxy" => "",
                "NO_PROXY" => "localhost",
                "SSL_CERT_FILE" => "/a.pem",
                "NODE_EXTRA_CA_CERTS" | "REQUESTS_CA_BUNDLE" => "/b.pem",
                _ => return None,
            }))
        });
        assert_eq!(
            environment,
            NetworkEnvironment {
                https_proxy: Some("http://user:password@lower".to_owned()),
                http_proxy: Some("http://only-upper".to_owned()),
                no_proxy: Some("localhost".to_owned()),
                ssl_cert_file: Some(PathBuf::from("/a.pem")),
                extra_certificates: vec![PathBuf::from("/b.pem")],
                ..NetworkEnvironment::default()
            }
        );
        assert!(!format!("{environment:?}").contains("password"));
    }
}
