//! Runs from the real recorder, played with other secrets: every recorded request is found again.
#![allow(clippy::unwrap_used)]

mod support;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use reenact_formats::rer::seal::Signer;
use reenact_keys::SecretKey;
use reenact_record::{
    CallKind, ExchangeCall, RawAnswer, RawRequest, Recorder, RunEnd, RunId, RunStart, RunStatus, RunStore,
};
use reenact_replay::player::rule;
use reenact_replay::{FoundBy, MatchLevel, Player, PlayerRequest, ReplayOutcome};
use reenact_run::{Run, open};
use reenact_verify::{Keys, Options};
use support::{body_text, hit};

/// Secrets of an agent: the value of an environment variable, the key that it sends, and a token that only its
/// shape gives away.
struct Secrets {
    variable: &'static str,
    key: &'static str,
    token: &'static str,
}

const RECORDED: Secrets = Secrets {
    variable: "correct \"horse\" battery",
    key: "the-real-key-of-the-vendor",
    token: "ghp_0123456789abcdefghijABCDEFGHIJ012345",
};
const REPLAYED: Secrets = Secrets {
    variable: "a stand-in, with \\ and \"",
    key: "no-key-at-all",
    token: "ghp_zyxwvutsrqponmlkjihgfedcba9876543210",
};

/// Part of a body: words, or one of the secrets.
#[derive(Debug, Clone)]
enum BodyPart {
    Words(String),
    Variable,
    Key,
    Token,
}

/// Returns a JSON body with one string for each part.
fn body(pieces: &[BodyPart], secrets: &Secrets) -> String {
    let mut text = String::from("{\"model\":\"gpt-5\",\"pieces\":[");
    for (at, piece) in pieces.iter().enumerate() {
        text.push_str(if at > 0 { "," } else { "" });
        let piece = match piece {
            BodyPart::Words(words) => words,
            BodyPart::Variable => secrets.variable,
            BodyPart::Key => secrets.key,
            BodyPart::Token => secrets.token,
        };
        reenact_json::print::write_string(piece, &mut text);
    }
    text + "]}"
}

fn headers(authorization: &str) -> Vec<(&str, &[u8])> {
    vec![
        ("authorization", authorization.as_bytes()),
        ("content-type", b"application/json"),
        ("user-agent", b"x"),
    ]
}

/// Temporary folder that is removed on drop.
struct TempFolder(PathBuf);

impl TempFolder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("replay-{}-{number}", std::process::id())))
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Records requests with these bodies, and opens the run; the answer to each is its number from 0.
fn recorded_run(requests: &[Vec<BodyPart>]) -> Run {
    let folder = TempFolder::new();
    let key = SecretKey::generate().unwrap();
    let environment = [(OsString::from("DATABASE_PASSWORD"), OsString::from(RECORDED.variable))];
    let start = RunStart { environment: &environment, ..RunStart::new(RunId::generate().unwrap()) };
    let recorder = Recorder::builder(&RunStore::new(folder.0.join(".reenact")), &key).begin(&start).unwrap();
    let writer = recorder.event_writer();
    let authorization = format!("Bearer {}", RECORDED.key);
    let (path, headers) = (format!("/v1/responses?key={}", RECORDED.key), headers(&authorization));
    for (number, pieces) in requests.iter().enumerate() {
        let body = body(pieces, &RECORDED);
        let masked = writer.mask_request(&RawRequest {
            provider: "openai",
            method: "POST",
            path: &path,
            headers: &headers,
            body: body.as_bytes(),
        });
        let step = writer
            .record_call(
                &ExchangeCall {
                    model: Some("gpt-5"),
                    endpoint: Some("responses"),
                    ..ExchangeCall::new(CallKind::Model, &masked)
                },
                None,
            )
            .unwrap();
        let answer = number.to_string();
        let answer =
            RawAnswer { status: Some(200), body: answer.as_bytes(), complete: true, ..RawAnswer::default() };
        writer.record_return(&step, answer).unwrap();
    }
    let ended =
        recorder.end(&RunEnd { exit_code: Some(0), ..RunEnd::new(RunStatus::Completed, "exit") }).unwrap();
    let bytes = fs::read(ended.seal(&key).unwrap().path).unwrap();
    let secrets = [RECORDED.variable, RECORDED.key, RECORDED.token];
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(!secrets.iter().any(|secret| text.contains(secret)));
    let mut keys = Keys::default();
    keys.add_supplied(key.public_key());
    let opened = open(bytes, &keys, &Options::default());
    assert!(opened.report.pass(), "{:?}", opened.report.reasons);
    opened.run.unwrap()
}

fn body_part() -> impl Strategy<Value = BodyPart> {
    prop_oneof![
        3 => "[a-zA-Z \"\\\\\n\u{1b}é😀]{0,12}".prop_map(BodyPart::Words),
        1 => Just(BodyPart::Words("[masked:key:7] [masked:key:7]".into())),
        1 => Just(BodyPart::Variable),
        1 => Just(BodyPart::Key),
        1 => Just(BodyPart::Token),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn every_recorded_request_is_found_again(
        requests in prop::collection::vec(prop::collection::vec(body_part(), 0..5), 1..8)
    ) {
        // Every request differs from all others. Equal requests are told apart by order alone, which other
        // tests cover.
        let requests: Vec<Vec<BodyPart>> = requests.into_iter().enumerate().map(|(number, mut pieces)| {
            pieces.push(BodyPart::Words(format!("request {number}")));
            pieces
        }).collect();
        let run = recorded_run(&requests);
        let player = Player::load(&run).unwrap();
        prop_assert_eq!(player.notes(), []);
        player.add_secret(rule::ENVIRONMENT, REPLAYED.variable.as_bytes());
        let authorization = format!("Bearer {}", REPLAYED.key);
        for (number, pieces) in requests.iter().enumerate().rev() {
            let answer = hit(&player, &PlayerRequest {
                provider: "openai",
                method: "POST",
                path: &format!("/v1/responses?key={}", REPLAYED.key),
                headers: &headers(&authorization),
                body: body(pieces, &REPLAYED).as_bytes(),
            });
            prop_assert_eq!(body_text(&answer), number.to_string());
            prop_assert_eq!(&answer.step_id, &format!("s{}", number + 1));
        }
        let found_by = Some(FoundBy::Request);
        let levels = [(MatchLevel::Exact, requests.len())].into_iter().collect();
        prop_assert_eq!(player.outcome(), ReplayOutcome { found_by, levels, ..ReplayOutcome::default() });
    }
}
