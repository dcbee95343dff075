//! A recorded run as the gateway's [`Answers`].

use std::sync::Arc;

use reenact_gateway::{Answers, ServedAnswer, ServedReply, ServedRequest};
use reenact_replay::{End, Incoming, Player, Reply, miss};

/// Answers requests from a recorded run.
#[derive(Debug)]
pub(super) struct RecordedRun(pub(super) Arc<Player>);

impl Answers for RecordedRun {
    fn answer(&self, request: &ServedRequest<'_>) -> ServedReply {
        let ServedRequest { provider, method, path, headers, body } = *request;
        match self.0.answer(&Incoming { provider, method, path, headers, body }) {
            Reply::Miss(miss) => ServedReply::Missing { code: miss::CODE, message: miss.to_string() },
            Reply::Hit(answer) => {
                let answer = Arc::unwrap_or_clone(answer);
                ServedReply::Answer(ServedAnswer {
                    status: answer.status,
                    headers: answer.headers,
                    trailers: answer.trailers,
                    body: answer.body,
                    chunks: answer.chunks.iter().map(|chunk| (chunk.at, chunk.length)).collect(),
                    is_cut: answer.end != End::Complete,
                })
            }
        }
    }
}
