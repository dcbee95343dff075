//! TLS settings: the root certificates by which a vendor proves its identity.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_native_certs::CertificateResult;

use super::environment::NetworkEnvironment;
use crate::error::StartError;

/// Warning about the connections to vendors, for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamWarning {
    /// The machine has no certificates, so built-in ones are used.
    #[error("this machine has no certificates of its own; those that came with reenact are used")]
    BuiltInCertificates,
    /// A file that the environment names could not be read, or contains no certificate.
    #[error("{}: no certificate could be read from it", .0.display())]
    NoCertificate(PathBuf),
}

/// TLS settings for vendors, and for proxies that use TLS.
#[derive(Clone)]
pub(super) struct TlsConfigs {
    /// Offers HTTP/2 and HTTP/1.1.
    pub(super) http2: Arc<ClientConfig>,
    /// Offers HTTP/1.1 only.
    pub(super) http1: Arc<ClientConfig>,
}

impl TlsConfigs {
    /// Loads the certificates. Warnings for the user are added to `warnings`.
    ///
    /// # Errors
    /// [`StartError::Certificates`] if named certificates cannot be read, [`StartError::Tls`] if the library
    /// lacks TLS versions.
    pub(super) fn new(
        environment: &NetworkEnvironment,
        warnings: &mut Vec<UpstreamWarning>,
    ) -> Result<Self, StartError> {
        let roots = load_roots(environment, warnings)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| StartError::Tls)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let with = |protocols: &[&[u8]]| {
            let mut config = config.clone();
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            Arc::new(config)
        };
        Ok(Self { http2: with(&[b"h2", b"http/1.1"]), http1: with(&[b"http/1.1"]) })
    }
}

/// Loads the root certificates that the environment names, or the system's, or built-in ones; then the
/// additional ones.
fn load_roots(
    environment: &NetworkEnvironment,
    warnings: &mut Vec<UpstreamWarning>,
) -> Result<RootCertStore, StartError> {
    let mut roots = RootCertStore::empty();
    let (file, folder) = (environment.ssl_cert_file.as_deref(), environment.ssl_cert_dir.as_deref());
    if let Some(named) = file.or(folder) {
        let found = rustls_native_certs::load_certs_from_paths(file, folder);
        // A user who names certificates trusts no others, so there is no fallback.
        if add_certificates(&mut roots, found) == 0 {
            return Err(StartError::Certificates { path: named.to_path_buf() });
        }
    } else if add_certificates(&mut roots, rustls_native_certs::load_native_certs()) == 0 {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        warnings.push(UpstreamWarning::BuiltInCertificates);
    }
    for path in &environment.extra_certificates {
        if add_certificates(&mut roots, load_extra(path)) == 0 {
            warnings.push(UpstreamWarning::NoCertificate(path.clone()));
        }
    }
    Ok(roots)
}

/// Loads additional certificates from a file or a folder.
fn load_extra(path: &Path) -> CertificateResult {
    if path.is_dir() {
        rustls_native_certs::load_certs_from_paths(None, Some(path))
    } else {
        rustls_native_certs::load_certs_from_paths(Some(path), None)
    }
}

/// Adds certificates to the roots, and returns the number of valid ones.
fn add_certificates(roots: &mut RootCertStore, found: CertificateResult) -> usize {
    roots.add_parsable_certificates(found.certs).0
}
