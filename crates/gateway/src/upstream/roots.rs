//! Whom we believe that they are the vendor: the certificates that TLS begins with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_native_certs::CertificateResult;

use super::environment::Environment;
use crate::error::StartError;

/// Something about the way out that the user should know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// The machine has no certificates.
    #[error("this machine has no certificates of its own; those that came with reenact are used")]
    BuiltInCertificates,
    /// A file that the environment names could not be read, or holds no certificate.
    #[error("{}: no certificate could be read from it", .0.display())]
    NoCertificate(PathBuf),
}

/// How TLS is spoken with vendors, and with proxies that want it.
#[derive(Clone)]
pub(super) struct Tls {
    /// HTTP/2 where the other side has it.
    pub(super) http2: Arc<ClientConfig>,
    /// HTTP/1.1 only.
    pub(super) http1: Arc<ClientConfig>,
}

impl Tls {
    pub(super) fn new(environment: &Environment, notes: &mut Vec<Note>) -> Result<Self, StartError> {
        let roots = roots(environment, notes)?;
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

fn roots(environment: &Environment, notes: &mut Vec<Note>) -> Result<RootCertStore, StartError> {
    let mut roots = RootCertStore::empty();
    let (file, folder) = (environment.ssl_cert_file.as_deref(), environment.ssl_cert_dir.as_deref());
    if let Some(named) = file.or(folder) {
        let found = rustls_native_certs::load_certs_from_paths(file, folder);
        // Whoever names certificates trusts no others: without them there is no way on.
        if add(&mut roots, found) == 0 {
            return Err(StartError::Certificates { path: named.to_path_buf() });
        }
    } else if add(&mut roots, rustls_native_certs::load_native_certs()) == 0 {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        notes.push(Note::BuiltInCertificates);
    }
    for path in &environment.extra_certificates {
        if add(&mut roots, extra(path)) == 0 {
            notes.push(Note::NoCertificate(path.clone()));
        }
    }
    Ok(roots)
}

fn extra(path: &Path) -> CertificateResult {
    if path.is_dir() {
        rustls_native_certs::load_certs_from_paths(None, Some(path))
    } else {
        rustls_native_certs::load_certs_from_paths(Some(path), None)
    }
}

fn add(roots: &mut RootCertStore, found: CertificateResult) -> usize {
    roots.add_parsable_certificates(found.certs).0
}
