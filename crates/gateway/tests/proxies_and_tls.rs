//! Proxies and TLS: certificates of the user, HTTP proxies, and hosts that are reached without one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use reenact_gateway::{
    Gateway, GatewayLimits, GatewayMode, GatewayToken, NetworkEnvironment, RecordingConfig, StartError,
    UpstreamWarning,
};
use reenact_testkit::fixture::TestDir;
use reenact_testkit::{Script, ScriptedVendor, Vendor};
use support::{LiveRun, chat, environment_trusting, listener, routes};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Proxy that forwards tunnels and plain requests, and keeps the heads of the requests to it.
struct Proxy {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, Arc::clone(&kept)));
            }
        });
        Self { address, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn pass(client: TcpStream, heads: Arc<Mutex<Vec<String>>>) {
    let mut client = BufReader::new(client);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if client.read_line(&mut head).await.unwrap() == 0 {
            return;
        }
    }
    heads.lock().unwrap().push(head.clone());
    let target = head.split(' ').nth(1).unwrap();
    let is_tunnel = head.starts_with("CONNECT ");
    let authority = target.trim_start_matches("http://").split('/').next().unwrap();
    let mut vendor = TcpStream::connect(authority).await.unwrap();
    if is_tunnel {
        client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await.unwrap();
    } else {
        vendor.write_all(head.as_bytes()).await.unwrap();
    }
    let _ = tokio::io::copy_bidirectional(&mut client, &mut vendor).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_with_a_certificate_of_ones_own() {
    let (place, vendor) = (TestDir::new(), ScriptedVendor::start_tls(Script::echo()).unwrap());
    let run = LiveRun::start_with(
        routes(&vendor.root_url()),
        environment_trusting(&place, &vendor),
        GatewayLimits::default(),
    );
    assert_eq!(run.ask_model().await, 200);
    // The vendor sees the client's HTTP version.
    assert_eq!(vendor.requests()[0].version, "HTTP/1.1");
    let sealed = run.seal().await;
    let returned = sealed.only_payload("rer.model.returned");
    assert_eq!((&returned["http"]["version"], &returned["complete"]), (&"1.1".into(), &true.into()));

    // The same certificate, in addition to the system's own.
    let extra = NetworkEnvironment {
        extra_certificates: vec![place.join("ca.pem")],
        ..NetworkEnvironment::default()
    };
    let run = LiveRun::start_with(routes(&vendor.root_url()), extra, GatewayLimits::default());
    assert_eq!(run.ask_model().await, 200);
    run.seal().await;

    // A folder of certificates.
    let folder = NetworkEnvironment {
        extra_certificates: vec![place.path().to_owned()],
        ..NetworkEnvironment::default()
    };
    let run = LiveRun::start_with(routes(&vendor.root_url()), folder, GatewayLimits::default());
    assert_eq!(run.ask_model().await, 200);
    run.seal().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_over_tls() {
    let (place, vendor) = (TestDir::new(), ScriptedVendor::start_tls(Script::echo()).unwrap());
    let run = LiveRun::start_with(
        routes(&vendor.root_url()),
        environment_trusting(&place, &vendor),
        GatewayLimits::default(),
    );
    let client = run.openai();
    let asking = (0..32).map(|number| {
        let client = client.clone();
        tokio::spawn(async move {
            let response = client.post("/chat/completions", &chat(&format!("{number}"), true)).await;
            assert_eq!((response.status(), response.is_whole), (200, true));
        })
    });
    for task in asking.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(run.seal().await.payloads("rer.model.returned").len(), 32);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vendor_that_nobody_vouches_for() {
    let (place, vendor) = (TestDir::new(), ScriptedVendor::start_tls(Script::echo()).unwrap());
    let other = ScriptedVendor::start_tls(Script::echo()).unwrap();
    let run = LiveRun::start_with(
        routes(&vendor.root_url()),
        environment_trusting(&place, &other),
        GatewayLimits::default(),
    );
    assert_eq!(run.openai().send("POST", "/responses", &[], b"{}").await, None);
    assert_eq!(vendor.requests().len(), 0);
    let sealed = run.seal().await;
    let error = sealed.only_payload("rer.error.raised");
    assert_eq!(error["error_type"], "tls");
    assert!(error["message"].as_str().unwrap().contains("invalid peer certificate"), "{error}");
}

const PASSWORD: &str = "proxy-password-0123456789";

#[tokio::test(flavor = "multi_thread")]
async fn through_a_tunnel() {
    let (place, vendor) = (TestDir::new(), ScriptedVendor::start_tls(Script::echo()).unwrap());
    let proxy = Proxy::start().await;
    let https_proxy = Some(format!("http://user:{PASSWORD}@{}", proxy.address));
    let environment = NetworkEnvironment { https_proxy, ..environment_trusting(&place, &vendor) };
    let run = LiveRun::start_with(routes(&vendor.root_url()), environment, GatewayLimits::default());
    assert_eq!(run.ask_model().await, 200);
    let heads = proxy.heads();
    assert_eq!(heads.len(), 1);
    assert!(heads[0].starts_with(&format!("CONNECT {} HTTP/1.1\r\n", vendor.address())), "{}", heads[0]);
    assert!(heads[0].contains("Proxy-Authorization: Basic "), "{}", heads[0]);
    let sealed = run.seal().await;
    let bytes = sealed.dir.bytes();
    assert!(!bytes.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes()));
    assert_eq!(vendor.requests()[0].header("proxy-authorization"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_requests_through_a_proxy() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let proxy = Proxy::start().await;
    let all_proxy = Some(format!("http://user:{PASSWORD}@{}", proxy.address));
    let environment = NetworkEnvironment { all_proxy, ..NetworkEnvironment::default() };
    let run = LiveRun::start_with(routes(&vendor.root_url()), environment, GatewayLimits::default());
    assert_eq!(run.ask_model().await, 200);
    let head = &proxy.heads()[0];
    assert!(
        head.starts_with(&format!("POST {}/chat/completions ", vendor.base_url(Vendor::OPENAI))),
        "{head}"
    );
    assert!(head.to_ascii_lowercase().contains("proxy-authorization: basic "), "{head}");
    let bytes = run.seal().await.dir.bytes();
    assert!(!bytes.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes()));
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_need_no_proxy() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let nobody = listener().local_addr().unwrap();
    let http_proxy = Some(format!("http://{nobody}"));
    let environment = NetworkEnvironment {
        http_proxy,
        no_proxy: Some("example.com, 127.0.0.0/8".to_owned()),
        ..NetworkEnvironment::default()
    };
    let run = LiveRun::start_with(routes(&vendor.root_url()), environment.clone(), GatewayLimits::default());
    assert_eq!(run.ask_model().await, 200);
    run.seal().await;

    // Without the exception there is no connection: the gateway never goes around a proxy.
    let run = LiveRun::start_with(
        routes(&vendor.root_url()),
        NetworkEnvironment { no_proxy: None, ..environment },
        GatewayLimits::default(),
    );
    assert_eq!(run.openai().send("POST", "/responses", &[], b"{}").await, None);
    let sealed = run.seal().await;
    assert_eq!(sealed.only_payload("rer.error.raised")["error_type"], "proxy");
    assert_eq!(vendor.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_environment_says_wrong() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let start = |environment, root: &str| {
        let (writer, limits) = (run.event_writer(), GatewayLimits::default());
        let work = GatewayMode::Record(Box::new(RecordingConfig {
            fork: None,
            writer,
            log: None,
            durability: reenact_record::Durability::Process,
            policy: None,
            routes: routes(root),
            environment,
            limits,
        }));
        Gateway::start(listener(), GatewayToken::generate().unwrap(), work)
    };
    let proxy =
        NetworkEnvironment { https_proxy: Some("gopher://x".to_owned()), ..NetworkEnvironment::default() };
    let error = start(proxy, "http://vendor.invalid").unwrap_err();
    assert_eq!(error, StartError::Proxy { variable: "https_proxy" });
    let missing = PathBuf::from("/does/not/exist.pem");
    let file = NetworkEnvironment { ssl_cert_file: Some(missing.clone()), ..NetworkEnvironment::default() };
    let error = start(file, "https://vendor.invalid").unwrap_err();
    assert_eq!(error, StartError::Certificates { path: missing.clone() });
    let extra =
        NetworkEnvironment { extra_certificates: vec![missing.clone()], ..NetworkEnvironment::default() };
    let gateway = start(extra, "https://vendor.invalid").unwrap();
    assert!(gateway.warnings().contains(&UpstreamWarning::NoCertificate(missing)));
    gateway.stop().await.unwrap();
    run.seal().await;
}
