//! Test support for recording: a ticking clock, fixed salts, a verifier.
#![allow(clippy::unwrap_used, dead_code, reason = "each test file uses a part of this one")]

pub(crate) mod faulty;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reenact_formats::rer::seal::Signer;
use reenact_json::{Limits, Value};
use reenact_keys::SecretKey;
use reenact_record::clock::Clock;
use reenact_record::randomness::{Randomness, RandomnessError};
use reenact_record::{RawAnswer, RecordEnv, RunEnd, RunId, RunStatus, RunStore};
use reenact_testkit::fixture::TestDir;
use reenact_verify::{Keys, Options, Report, verify};

/// Returns the folder of runs in `dir`.
pub(crate) fn runs(dir: &TestDir) -> RunStore {
    RunStore::new(dir.join(RunStore::NAME))
}

/// Clock that starts at 2026-11-15T20:02:26.000000Z, and is a millisecond later at each call.
#[derive(Default)]
struct TickingClock(AtomicU64);

impl Clock for TickingClock {
    fn now(&self) -> Duration {
        Duration::from_secs(1_794_772_946) + Duration::from_millis(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Randomness of zeros.
struct ZeroRandomness;

impl Randomness for ZeroRandomness {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomnessError> {
        bytes.fill(0);
        Ok(())
    }
}

/// Returns an environment with a ticking clock and fixed salts.
pub(crate) fn fixed_env() -> RecordEnv {
    let (clock, randomness) = (Arc::new(TickingClock::default()), Arc::new(ZeroRandomness));
    RecordEnv { clock, randomness, ..RecordEnv::default() }
}

/// Salt of zeros, as it appears in payloads.
pub(crate) const SALT: &str = "AAAAAAAAAAAAAAAAAAAAAA";

pub(crate) fn run_id() -> RunId {
    RunId::generate().unwrap()
}

/// Returns the test key of RFC 8032 §7.1.
pub(crate) fn key() -> SecretKey {
    let jwk = r#"{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    SecretKey::from_jwk(jwk.as_bytes()).unwrap()
}

pub(crate) const DONE: RunEnd<'static> =
    RunEnd { exit_code: Some(0), ..RunEnd::new(RunStatus::Completed, "exit") };

/// Returns a complete answer with that body.
pub(crate) fn answer(body: &[u8]) -> RawAnswer<'_> {
    RawAnswer { status: Some(200), body, complete: true, ..RawAnswer::default() }
}

/// Returns the verifier's report on an artifact that was signed with `key`.
pub(crate) fn verify_artifact(path: &Path, key: &SecretKey) -> Report {
    let keys = Keys::from_raw(key.public_key().as_bytes());
    verify(&fs::read(path).unwrap(), &keys, &Options::default())
}

/// Returns the events of a journal: type and payload of each.
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
