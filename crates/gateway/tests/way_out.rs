//! The way to the vendor: TLS with certificates of one's own, proxies, and who is reached without one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use reenact_gateway::{Environment, Gateway, Limits, Note, Recording, StartError, Token, Work};
use reenact_testkit::fixture::TestDir;
use reenact_testkit::{Kind, Script, Vendor};
use support::{Flight, chat, listener, routes, trusting};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A proxy that keeps the heads of what it was asked, and passes everything on: tunnels, and plain requests by their address.
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
    let (place, vendor) = (TestDir::new(), Vendor::start_tls(Script::echo()).unwrap());
    let flight = Flight::with(routes(&vendor.root_url()), trusting(&place, &vendor), Limits::default());
    assert_eq!(flight.ask().await, 200);
    // As the client would have spoken with its vendor.
    assert_eq!(vendor.requests()[0].version, "HTTP/1.1");
    let landed = flight.land().await;
    let returned = landed.the("rer.model.returned");
    assert_eq!((&returned["http"]["version"], &returned["complete"]), (&"1.1".into(), &true.into()));

    // The same, named as one that is trusted besides the machine's own.
    let extra = Environment { extra_certificates: vec![place.join("ca.pem")], ..Environment::default() };
    let flight = Flight::with(routes(&vendor.root_url()), extra, Limits::default());
    assert_eq!(flight.ask().await, 200);
    flight.land().await;

    // A folder of them.
    let folder = Environment { extra_certificates: vec![place.path().to_owned()], ..Environment::default() };
    let flight = Flight::with(routes(&vendor.root_url()), folder, Limits::default());
    assert_eq!(flight.ask().await, 200);
    flight.land().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_over_tls() {
    let (place, vendor) = (TestDir::new(), Vendor::start_tls(Script::echo()).unwrap());
    let flight = Flight::with(routes(&vendor.root_url()), trusting(&place, &vendor), Limits::default());
    let client = flight.openai();
    let asking = (0..32).map(|number| {
        let client = client.clone();
        tokio::spawn(async move {
            let got = client.post("/chat/completions", &chat(&format!("{number}"), true)).await;
            assert_eq!((got.status(), got.is_whole), (200, true));
        })
    });
    for task in asking.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(flight.land().await.all("rer.model.returned").len(), 32);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vendor_that_nobody_vouches_for() {
    let (place, vendor) = (TestDir::new(), Vendor::start_tls(Script::echo()).unwrap());
    let other = Vendor::start_tls(Script::echo()).unwrap();
    let flight = Flight::with(routes(&vendor.root_url()), trusting(&place, &other), Limits::default());
    assert_eq!(flight.openai().send("POST", "/responses", &[], b"{}").await, None);
    assert_eq!(vendor.requests().len(), 0);
    let landed = flight.land().await;
    let error = landed.the("rer.error.raised");
    assert_eq!(error["error_type"], "tls");
    assert!(error["message"].as_str().unwrap().contains("invalid peer certificate"), "{error}");
}

const PASSWORD: &str = "proxy-password-0123456789";

#[tokio::test(flavor = "multi_thread")]
async fn through_a_tunnel() {
    let (place, vendor) = (TestDir::new(), Vendor::start_tls(Script::echo()).unwrap());
    let proxy = Proxy::start().await;
    let https_proxy = Some(format!("http://user:{PASSWORD}@{}", proxy.address));
    let environment = Environment { https_proxy, ..trusting(&place, &vendor) };
    let flight = Flight::with(routes(&vendor.root_url()), environment, Limits::default());
    assert_eq!(flight.ask().await, 200);
    let heads = proxy.heads();
    assert_eq!(heads.len(), 1);
    assert!(heads[0].starts_with(&format!("CONNECT {} HTTP/1.1\r\n", vendor.address())), "{}", heads[0]);
    assert!(heads[0].contains("Proxy-Authorization: Basic "), "{}", heads[0]);
    let landed = flight.land().await;
    let bytes = landed.place.bytes();
    assert!(!bytes.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes()));
    assert_eq!(vendor.requests()[0].header("proxy-authorization"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_requests_through_a_proxy() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let proxy = Proxy::start().await;
    let all_proxy = Some(format!("http://user:{PASSWORD}@{}", proxy.address));
    let environment = Environment { all_proxy, ..Environment::default() };
    let flight = Flight::with(routes(&vendor.root_url()), environment, Limits::default());
    assert_eq!(flight.ask().await, 200);
    let head = &proxy.heads()[0];
    assert!(head.starts_with(&format!("POST {}/chat/completions ", vendor.base_url(Kind::OPENAI))), "{head}");
    assert!(head.to_ascii_lowercase().contains("proxy-authorization: basic "), "{head}");
    let bytes = flight.land().await.place.bytes();
    assert!(!bytes.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes()));
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_need_no_proxy() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let nobody = listener().local_addr().unwrap();
    let http_proxy = Some(format!("http://{nobody}"));
    let environment = Environment {
        http_proxy,
        no_proxy: Some("example.com, 127.0.0.0/8".to_owned()),
        ..Environment::default()
    };
    let flight = Flight::with(routes(&vendor.root_url()), environment.clone(), Limits::default());
    assert_eq!(flight.ask().await, 200);
    flight.land().await;

    // Without the exception there is no way: going around a proxy is never our decision.
    let flight = Flight::with(
        routes(&vendor.root_url()),
        Environment { no_proxy: None, ..environment },
        Limits::default(),
    );
    assert_eq!(flight.openai().send("POST", "/responses", &[], b"{}").await, None);
    let landed = flight.land().await;
    assert_eq!(landed.the("rer.error.raised")["error_type"], "proxy");
    assert_eq!(vendor.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_environment_says_wrong() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let flight = Flight::to(&vendor);
    let start = |environment, root: &str| {
        let (pen, limits) = (flight.pen(), Limits::default());
        let work = Work::Record(Box::new(Recording {
            pen,
            log: None,
            durability: reenact_record::Durability::Process,
            policy: None,
            routes: routes(root),
            environment,
            limits,
        }));
        Gateway::start(listener(), Token::generate().unwrap(), work)
    };
    let proxy = Environment { https_proxy: Some("gopher://x".to_owned()), ..Environment::default() };
    let error = start(proxy, "http://vendor.invalid").unwrap_err();
    assert_eq!(error, StartError::Proxy { variable: "https_proxy" });
    let missing = PathBuf::from("/does/not/exist.pem");
    let file = Environment { ssl_cert_file: Some(missing.clone()), ..Environment::default() };
    let error = start(file, "https://vendor.invalid").unwrap_err();
    assert_eq!(error, StartError::Certificates { path: missing.clone() });
    let extra = Environment { extra_certificates: vec![missing.clone()], ..Environment::default() };
    let gateway = start(extra, "https://vendor.invalid").unwrap();
    assert!(gateway.notes().contains(&Note::NoCertificate(missing)));
    gateway.stop().await.unwrap();
    flight.land().await;
}
