//! A recorded run as the source of the gateway's answers.
//!
//! The gateway knows a trait and no records, the player knows records and no HTTP server. This module is where they meet.

use std::sync::Arc;

use reenact_gateway::{AnswerSource, ServedAnswer, ServedReply, ServedRequest};
use reenact_replay::{AnswerEnd, Player, PlayerReply, PlayerRequest, miss};

/// Adapter from the gateway's requests to a [`Player`].
///
/// A request without a recorded answer becomes an error of the gateway, with the closest recorded request in its message.
#[derive(Debug)]
pub(super) struct PlayerAnswers(pub(super) Arc<Player>);

impl AnswerSource for PlayerAnswers {
    fn answer(&self, request: &ServedRequest<'_>) -> ServedReply {
        let ServedRequest { provider, method, path, headers, body } = *request;
        served_reply(self.0.answer(&PlayerRequest { provider, method, path, headers, body }))
    }
}

/// Converts the reply of a player into that of the gateway.
pub(super) fn served_reply(reply: PlayerReply) -> ServedReply {
    match reply {
        PlayerReply::Miss(miss) => ServedReply::Missing { code: miss::CODE, message: miss.to_string() },
        PlayerReply::Hit(answer) => {
            let answer = Arc::unwrap_or_clone(answer);
            ServedReply::Answer(ServedAnswer {
                status: answer.status,
                headers: answer.headers,
                trailers: answer.trailers,
                body: answer.body,
                chunks: answer.chunks.iter().map(|chunk| (chunk.at, chunk.length)).collect(),
                is_cut: answer.end != AnswerEnd::Complete,
            })
        }
    }
}
