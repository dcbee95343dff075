//! Reasons why a gateway did not start.

use std::io;
use std::path::PathBuf;

/// Reason why a gateway did not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The listener cannot be used.
    #[error("the gateway's socket cannot be used: {0}")]
    Listener(io::ErrorKind),
    /// A proxy of the environment that we cannot use. Its value is not shown: it may hold a password.
    #[error("{variable} is not the address of a proxy; write it as http://host:port")]
    Proxy {
        /// The variable, in lower case.
        variable: &'static str,
    },
    /// SSL_CERT_FILE or SSL_CERT_DIR names something without certificates.
    #[error("{}: no certificate could be read from it; set SSL_CERT_FILE and SSL_CERT_DIR right or unset them", .path.display())]
    Certificates {
        /// Path that the variable names.
        path: PathBuf,
    },
    /// No thread to write with.
    #[error("no thread could be started: {0}")]
    Thread(io::ErrorKind),
    /// The cryptography does not offer what TLS needs.
    #[error("TLS cannot be set up")]
    Tls,
}
