#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]
mod support;
use reenact_testkit::{Script, Vendor};
use std::time::Instant;
use support::{Flight, chat, client::Client};

async fn measure(
    client: Client,
    connections: usize,
    rounds: usize,
    is_stream: bool,
) -> (Vec<u128>, Vec<u128>) {
    let mut tasks = Vec::new();
    for c in 0..connections {
        let client = client.clone();
        tasks.push(tokio::spawn(async move {
            let (mut whole, mut first) = (Vec::new(), Vec::new());
            let mut connection = client.connect().await;
            for round in 0..rounds {
                let body = chat(&format!("hello {c} {round} {}", "x".repeat(2000)), is_stream);
                let request = client.request(
                    "POST",
                    "/chat/completions",
                    &[("Authorization", "Bearer sk-test-0123456789abcdefghijkl")],
                    body.as_bytes(),
                );
                let begun = Instant::now();
                connection.write(&request).await;
                if is_stream {
                    connection.head().await.unwrap();
                    let mut n = 0;
                    loop {
                        let chunk = connection.chunk().await.unwrap();
                        if n == 0 {
                            first.push(begun.elapsed().as_nanos());
                        }
                        n += 1;
                        if chunk.is_empty() {
                            break;
                        }
                    }
                    connection.end_chunks().await;
                } else {
                    connection.answer("POST").await.unwrap();
                }
                whole.push(begun.elapsed().as_nanos());
            }
            (whole, first)
        }));
    }
    let (mut whole, mut first) = (Vec::new(), Vec::new());
    for task in tasks {
        let (w, f) = task.await.unwrap();
        whole.extend(w);
        first.extend(f);
    }
    whole.sort();
    first.sort();
    (whole, first)
}
fn show(name: &str, v: &[u128]) {
    if v.is_empty() {
        return;
    }
    let at = |p: f64| v[((v.len() - 1) as f64 * p) as usize] as f64 / 1e6;
    println!("{name:40} p50 {:.3} ms  p99 {:.3} ms", at(0.5), at(0.99));
}
#[test]
fn latency() {
    let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    rt.block_on(async {
        for connections in [1, 64] {
            for is_stream in [false, true] {
                let rounds = if connections == 1 { 1000 } else { 40 };
                let vendor = Vendor::start(Script::echo()).unwrap();
                let direct = Client::of(&vendor.base_url(reenact_testkit::Kind::OpenAi));
                measure(direct.clone(), connections, 10, is_stream).await;
                let (w, f) = measure(direct, connections, rounds, is_stream).await;
                show(&format!("direct c={connections} stream={is_stream} whole"), &w);
                show(&format!("direct c={connections} stream={is_stream} first"), &f);
                let flight = Flight::to(&vendor);
                measure(flight.openai(), connections, 10, is_stream).await;
                let (w, f) = measure(flight.openai(), connections, rounds, is_stream).await;
                show(&format!("gateway c={connections} stream={is_stream} whole"), &w);
                show(&format!("gateway c={connections} stream={is_stream} first"), &f);
                flight.land().await;
            }
        }
    });
}
#[tokio::test]
async fn parts() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let flight = Flight::to(&vendor);
    let pen = flight.pen();
    let n = 2000u32;
    let body = chat(&format!("hello {}", "x".repeat(2000)), false);
    let headers: Vec<(&str, &[u8])> = vec![
        ("host", b"127.0.0.1:1"),
        ("authorization", b"Bearer sk-test-0123456789abcdefghijkl"),
        ("content-length", b"2000"),
    ];
    let (mut mask, mut key, mut called, mut returned, mut read) = (0u128, 0u128, 0u128, 0u128, 0u128);
    let med = |f: &mut dyn FnMut()| {
        let b = Instant::now();
        f();
        b.elapsed().as_nanos()
    };
    for _ in 0..n {
        let mut m = None;
        mask += med(&mut || {
            m = Some(pen.mask_request(&reenact_record::RawRequest {
                provider: "openai",
                method: "POST",
                path: "/v1/chat/completions",
                headers: &headers,
                body: body.as_bytes(),
            }))
        });
        let m = m.unwrap();
        let mut k = String::new();
        key += med(&mut || {
            k = reenact_replay::match_key(&reenact_replay::KeyParts {
                provider: m.provider(),
                method: m.method(),
                path: m.path(),
                headers: m.headers(),
                body: m.body(),
            })
        });
        let mut s = None;
        called += med(&mut || {
            s = Some(
                pen.called(reenact_record::Exchange::Model, &m, Some("gpt-5"), Some("chat.completions"), &k)
                    .unwrap(),
            )
        });
        let s = s.unwrap();
        returned += med(&mut || {
            pen.returned(
                &s,
                reenact_record::RawAnswer {
                    status: Some(200),
                    version: Some("1.1"),
                    headers: &headers,
                    body: body.as_bytes(),
                    complete: true,
                    ..Default::default()
                },
            )
            .unwrap()
        });
        read += med(&mut || {
            reenact_wire::exchange::request(reenact_wire::Endpoint::ChatCompletions, body.as_bytes());
        });
    }
    for (name, v) in
        [("mask", mask), ("key", key), ("called", called), ("returned", returned), ("wire read", read)]
    {
        println!("{name:10} {:.1} us", v as f64 / f64::from(n) / 1e3);
    }
    flight.land().await;
}
