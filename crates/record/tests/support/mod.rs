//! Test support of recording: a clock that ticks at each look, known salts, a verifier.
#![allow(clippy::unwrap_used, dead_code, reason = "each test file uses a part of this one")]

pub(crate) mod faulty;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reenact_formats::rer::seal::Signer;
use reenact_json::{Limits, Value};
use reenact_record::clock::Clock;
use reenact_record::randomness::{NoRandomness, Randomness};
use reenact_record::{End, Folder, RawAnswer, RunId, SecretKey, Status, Surroundings};
use reenact_testkit::fixture::TestDir;
use reenact_verify::{Keys, Options, Report, safe};

/// Returns the folder of runs in `dir`.
pub(crate) fn runs(dir: &TestDir) -> Folder {
    Folder::new(dir.join(Folder::NAME))
}

/// 2026-11-15T20:02:26.000000Z, and a millisecond more each time it is asked.
#[derive(Default)]
struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn now(&self) -> Duration {
        Duration::from_secs(1_794_772_946) + Duration::from_millis(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Nothing but zeros.
struct Zeros;

impl Randomness for Zeros {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        bytes.fill(0);
        Ok(())
    }
}

/// A clock and salts that are the same each time.
pub(crate) fn known_surroundings() -> Surroundings {
    let (clock, randomness) = (Arc::new(Ticking::default()), Arc::new(Zeros));
    Surroundings { clock, randomness, ..Surroundings::default() }
}

/// Known salts, as they appear in payloads.
pub(crate) const SALT: &str = "AAAAAAAAAAAAAAAAAAAAAA";

pub(crate) fn run_id() -> RunId {
    RunId::generate().unwrap()
}

/// The test key of RFC 8032 §7.1, the same each time.
pub(crate) fn key() -> SecretKey {
    let jwk = r#"{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    SecretKey::from_jwk(jwk.as_bytes()).unwrap()
}

pub(crate) const DONE: End<'static> = End { status: Status::Completed, reason: "exit", exit_code: Some(0) };

/// A complete answer with that body.
pub(crate) fn answer(body: &[u8]) -> RawAnswer<'_> {
    RawAnswer { status: Some(200), body, complete: true, ..RawAnswer::default() }
}

/// The judge's report on an artifact that was signed with `key`.
pub(crate) fn judged(path: &Path, key: &SecretKey) -> Report {
    let keys = Keys::from_raw(key.public_key().as_bytes());
    safe(&fs::read(path).unwrap(), &keys, &Options::default())
}

/// The lines of a journal behind its head: each event's type and payload.
pub(crate) fn events(journal: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(journal).unwrap();
    assert!(text.ends_with('\n'));
    let event = |line: &str| {
        let event = Value::parse(line.as_bytes(), &Limits::default()).unwrap();
        assert!(event.is_canonical(), "{line}");
        let payload = event.member("payload").unwrap().text().to_vec();
        (
            event.member("event_type").unwrap().string().unwrap().into_owned(),
            String::from_utf8(payload).unwrap(),
        )
    };
    text.lines().skip(1).map(event).collect()
}
