//! Requests as an agent makes them, against runs from the workshop.
#![allow(dead_code, clippy::panic, reason = "each test file uses a part of this one")]

use std::sync::Arc;

use reenact_replay::{Incoming, Miss, Player, RecordedAnswer, Reply};

/// A chat completion with this body.
pub(crate) fn chat(body: &str) -> Incoming<'_> {
    Incoming {
        provider: "openai",
        method: "POST",
        path: "/v1/chat/completions",
        headers: &[("content-type", b"application/json"), ("authorization", b"Bearer dummy-dummy-dummy")],
        body: body.as_bytes(),
    }
}

pub(crate) fn hit(player: &Player, incoming: &Incoming<'_>) -> Arc<RecordedAnswer> {
    match player.answer(incoming) {
        Reply::Hit(answer) => answer,
        Reply::Miss(miss) => panic!("{miss:#}"),
    }
}

pub(crate) fn miss(player: &Player, incoming: &Incoming<'_>) -> Arc<Miss> {
    match player.answer(incoming) {
        Reply::Miss(miss) => miss,
        Reply::Hit(answer) => panic!("step {} answered", answer.step_id),
    }
}

/// The body of an answer, as text.
pub(crate) fn said(answer: &RecordedAnswer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}
