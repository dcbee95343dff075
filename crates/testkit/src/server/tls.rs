//! Certificate authority of a vendor, generated when the vendor starts.

use std::io;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::TlsAcceptor;

/// TLS acceptor for `localhost` and 127.0.0.1, with the certificate that a client must trust for
/// it.
pub(crate) struct TlsIdentity {
    /// Server side of TLS.
    pub(crate) acceptor: TlsAcceptor,
    /// Certificate of the authority, in PEM.
    pub(crate) authority_pem: String,
}

/// Generates an authority and a server certificate signed by it. ALPN offers `h2` and `http/1.1`.
pub(crate) fn generate_identity() -> io::Result<TlsIdentity> {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    authority.distinguished_name.push(DnType::CommonName, "reenact testkit");
    let authority =
        CertifiedIssuer::self_signed(authority, KeyPair::generate().map_err(io_error)?).map_err(io_error)?;
    let mut server =
        CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).map_err(io_error)?;
    server.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate().map_err(io_error)?;
    let certificate = server.signed_by(&key, &authority).map_err(io_error)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| {
            let key = PrivatePkcs8KeyDer::from(key.serialize_der());
            config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key.into())
        })
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsIdentity { acceptor: TlsAcceptor::from(Arc::new(config)), authority_pem: authority.pem() })
}

fn io_error(error: rcgen::Error) -> io::Error {
    io::Error::other(error)
}
