//! Connections to the vendor through a SOCKS proxy.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use reenact_gateway::{GatewayLimits, NetworkEnvironment};
use reenact_testkit::fixture::TestDir;
use reenact_testkit::{Script, ScriptedVendor};
use support::{LiveRun, environment_trusting, routes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const PASSWORD: &str = "proxy-password-0123456789";

/// Starts a SOCKS proxy that keeps the requests to it, and connects each to `vendor`.
async fn proxy(vendor: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<Vec<u8>>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let asked = request(&mut client).await;
            kept.lock().unwrap().push(asked);
            let mut vendor = TcpStream::connect(vendor).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut vendor).await });
        }
    });
    (address, asked)
}

/// Answers the greeting in the client's version, and grants the request. Returns the request (RFC 1928 section
/// 4; the memos on SOCKS 4 and 4A).
async fn request(client: &mut TcpStream) -> Vec<u8> {
    let version = client.read_u8().await.unwrap();
    let mut asked = vec![version];
    if version == 4 {
        // Command, port, address, and an empty user name; a host name follows an invalid address.
        asked.resize(9, 0);
        client.read_exact(&mut asked[1..]).await.unwrap();
        if asked[4..7] == [0, 0, 0] {
            while *asked.last().unwrap() != 0 || asked.len() == 9 {
                asked.push(client.read_u8().await.unwrap());
            }
        }
        client.write_all(&[0, 90, 0, 0, 0, 0, 0, 0]).await.unwrap();
        return asked;
    }
    let mut methods = vec![0; usize::from(client.read_u8().await.unwrap())];
    client.read_exact(&mut methods).await.unwrap();
    client.write_all(&[5, methods[0]]).await.unwrap();
    if methods[0] == 2 {
        for _ in 0..2 {
            // The login begins with its version, before the name.
            if asked.len() == 1 {
                asked.push(client.read_u8().await.unwrap());
            }
            let mut word = vec![0; usize::from(client.read_u8().await.unwrap())];
            client.read_exact(&mut word).await.unwrap();
            asked.extend(word);
        }
        client.write_all(&[1, 0]).await.unwrap();
    }
    let mut head = [0; 4];
    client.read_exact(&mut head).await.unwrap();
    let length = match head[3] {
        1 => 4,
        4 => 16,
        _ => usize::from(client.read_u8().await.unwrap()),
    };
    let mut rest = vec![0; length + 2];
    client.read_exact(&mut rest).await.unwrap();
    asked.extend_from_slice(&head);
    asked.extend(rest);
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    asked
}

/// Resolution of names, here or by the proxy, and the default ports.
#[tokio::test(flavor = "multi_thread")]
async fn names_and_ports() {
    const PORT_80: [u8; 2] = [0, 80];
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let loopback = [127, 0, 0, 1];
    let v4_named = [&[4, 1, 0, 80, 0, 0, 0, 255, 0][..], b"localhost\0"].concat();
    let cases: [(&str, &str, Vec<u8>); 6] = [
        ("socks5h", "http://localhost", [&[5, 5, 1, 0, 3][..], b"localhost", &PORT_80].concat()),
        ("socks5h", "http://127.0.0.1", [&[5, 5, 1, 0, 1][..], &loopback, &PORT_80].concat()),
        ("socks5h", "http://localhost:8080", [&[5, 5, 1, 0, 3][..], b"localhost", &[31, 144]].concat()),
        ("socks4a", "http://localhost", v4_named),
        ("socks4", "http://localhost", [&[4, 1, 0, 80][..], &loopback, &[0]].concat()),
        ("socks4", "http://127.0.0.1:8080", [&[4, 1, 31, 144][..], &loopback, &[0]].concat()),
    ];
    for (scheme, root, due) in cases {
        let (address, asked) = proxy(vendor.address()).await;
        let all_proxy = Some(format!("{scheme}://{address}"));
        let environment = NetworkEnvironment { all_proxy, ..NetworkEnvironment::default() };
        let run = LiveRun::start_with(routes(root), environment, GatewayLimits::default());
        assert_eq!(run.ask_model().await, 200);
        assert_eq!(*asked.lock().unwrap(), [due], "{scheme} {root}");
        run.seal().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_wants_to_know_who() {
    let (place, vendor) = (TestDir::new(), ScriptedVendor::start_tls(Script::echo()).unwrap());
    let (address, asked) = proxy(vendor.address()).await;
    let all_proxy = Some(format!("socks5://user:{PASSWORD}@{address}"));
    let environment = NetworkEnvironment { all_proxy, ..environment_trusting(&place, &vendor) };
    let run = LiveRun::start_with(routes("https://localhost"), environment, GatewayLimits::default());
    assert_eq!(run.ask_model().await, 200);
    let asked = asked.lock().unwrap().remove(0);
    // The machine chooses which address of `localhost` comes first.
    let login = [&[5, 1][..], b"user", PASSWORD.as_bytes(), &[5, 1, 0]].concat();
    assert!(asked.starts_with(&login) && asked.ends_with(&[1, 1, 187]), "{asked:?}");
    assert!(matches!(asked.len() - login.len(), 7 | 19), "a name was sent: {asked:?}");
    let bytes = run.seal().await.dir.bytes();
    assert!(!bytes.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes()));
}
