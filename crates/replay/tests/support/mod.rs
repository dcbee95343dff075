//! Support for the tests of this crate: requests as an agent makes them, and recorded runs that answer them.
#![allow(dead_code, clippy::panic, clippy::unwrap_used, reason = "each test file uses a part of this one")]

use std::sync::Arc;

use reenact_formats::rer::seal::Signer as _;
use reenact_replay::{LevelCounts, MatchLevel, Miss, Player, PlayerReply, PlayerRequest, RecordedAnswer};
use reenact_run::{OpenedRecord, Run, open};
use reenact_testkit::fixture::{RunBuilder, TestKey};
use reenact_verify::{Keys, Options};

/// Opening of a run that a [`RunBuilder`] built.
pub(crate) trait OpenRun {
    /// Seals the run and opens it; every check must hold, whatever its payloads say.
    fn run(self) -> Run;
}

impl OpenRun for RunBuilder {
    #[track_caller]
    fn run(self) -> Run {
        let key = TestKey::of(1);
        let keys = Keys::from_raw(key.public_key().as_bytes());
        let OpenedRecord { run, report } = open(self.seal(&key), &keys, &Options::default());
        assert!(report.pass(), "{:?}", report.reasons);
        run.unwrap()
    }
}

/// Returns a request for a chat completion with this body.
pub(crate) fn chat(body: &str) -> PlayerRequest<'_> {
    PlayerRequest {
        provider: "openai",
        method: "POST",
        path: "/v1/chat/completions",
        headers: &[("content-type", b"application/json"), ("authorization", b"Bearer dummy-dummy-dummy")],
        body: body.as_bytes(),
    }
}

/// Returns the answer to a request that must have one.
pub(crate) fn hit(player: &Player, incoming: &PlayerRequest<'_>) -> Arc<RecordedAnswer> {
    match player.answer(incoming) {
        PlayerReply::Hit(answer) => answer,
        PlayerReply::Miss(miss) => panic!("{miss:#}"),
    }
}

/// Returns the miss of a request that must not have an answer.
pub(crate) fn miss(player: &Player, incoming: &PlayerRequest<'_>) -> Arc<Miss> {
    match player.answer(incoming) {
        PlayerReply::Miss(miss) => miss,
        PlayerReply::Hit(answer) => panic!("step {} answered", answer.step_id),
    }
}

/// Returns the body of an answer as text.
pub(crate) fn body_text(answer: &RecordedAnswer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

/// Returns the counts of a replay in which this many requests were equal to recorded ones.
pub(crate) fn exact(count: usize) -> LevelCounts {
    [(MatchLevel::Exact, count)].into_iter().collect()
}
