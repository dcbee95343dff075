//! A vendor behind TLS: clients that trust its authority can talk to it in either version of HTTP,
//! others cannot.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::sync::Arc;

use reenact_testkit::{Script, ScriptedVendor, Vendor};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use support::{asking, begin_http2_on, begin_on, block_on, rest};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

async fn connect(
    vendor: &ScriptedVendor,
    trusted: Option<&str>,
    protocol: &str,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    if let Some(pem) = trusted {
        roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let socket = TcpStream::connect(vendor.address()).await.unwrap();
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("127.0.0.1").unwrap(), socket).await
}

#[test]
fn who_trusts_the_authority_gets_an_answer() {
    let vendor = ScriptedVendor::start_tls(Script::echo()).unwrap();
    assert_eq!(vendor.base_url(Vendor::OPENAI), format!("https://{}/v1", vendor.address()));
    let [(path, body), ..] = asking("hi", true);
    block_on(async {
        let socket = connect(&vendor, vendor.authority_pem(), "http/1.1").await.unwrap();
        let got = rest(begin_on(socket, "POST", path, &body).await.unwrap()).await;
        assert_eq!((got.body, got.is_whole), (vendor.sent_answers()[0].body.to_vec(), true));
        let socket = connect(&vendor, vendor.authority_pem(), "h2").await.unwrap();
        assert_eq!(socket.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
        let got = rest(begin_http2_on(socket, "POST", path, &body).await.unwrap()).await;
        assert_eq!((got.body, got.is_whole), (vendor.sent_answers()[1].body.to_vec(), true));
    });
}

#[test]
fn who_does_not_trust_it_gets_none() {
    let vendor = ScriptedVendor::start_tls(Script::echo()).unwrap();
    let other = ScriptedVendor::start_tls(Script::echo()).unwrap();
    block_on(async {
        assert!(connect(&vendor, None, "h2").await.is_err());
        assert!(connect(&vendor, other.authority_pem(), "h2").await.is_err());
    });
    assert_eq!(vendor.requests(), []);
}

#[test]
fn a_cut_behind_tls_loses_nothing_that_was_sent_before() {
    let vendor = ScriptedVendor::start_tls(Script::cut_after(3)).unwrap();
    let [(path, body), ..] = asking("hi", true);
    block_on(async {
        let socket = connect(&vendor, vendor.authority_pem(), "http/1.1").await.unwrap();
        let got = rest(begin_on(socket, "POST", path, &body).await.unwrap()).await;
        assert_eq!((got.body, got.is_whole), (vendor.sent_answers()[0].body.to_vec(), false));
    });
}
