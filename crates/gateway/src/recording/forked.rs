//! Requests of a run that goes on from another one, and that the other's record answers: the request is recorded as it came, the
//! answer as one that no vendor gave.
//!
//! Start reading at [`RecordingProxy::serve_recorded`].

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use reenact_capture::observation::EndCause;
use reenact_capture::{EndedBy, RecordingGuard};

use super::{RecordingProxy, denial_response, header_list, split_request};
use crate::answers::{ForkReply, ForkSource, ServedAnswer, ServedReply};
use crate::client_body::{AnswerAborted, ClientBody};
use crate::client_socket::{ClientSocketState, InFlight};
use crate::config::ReplayPace;
use crate::inbound::ReceivedRequest;
use crate::replay::{self, header_map, missing_response, replay_response};

impl RecordingProxy {
    /// Returns the treatment of a request; `None` if its search panicked.
    pub(super) async fn look_up(
        &self,
        fork: &Arc<dyn ForkSource>,
        arrival: &ReceivedRequest,
    ) -> Option<ForkReply> {
        let fork = Arc::clone(fork);
        replay::look_up(arrival, self.max_body_bytes, move |request| fork.answer(request)).await
    }

    /// Records a request and its recorded answer, and serves the answer. The record has all of it before the client gets any.
    ///
    /// A request without an answer that may not go to its vendor is a gap in the record.
    pub(super) async fn serve_recorded(
        &self,
        reply: ServedReply,
        arrival: ReceivedRequest,
        socket: Arc<ClientSocketState>,
        in_flight: InFlight,
        guard: RecordingGuard,
    ) -> Result<Response<ClientBody>, AnswerAborted> {
        let (route, at) = (Arc::clone(&arrival.route), arrival.received_at);
        let answer = match reply {
            ServedReply::Answer(answer) => answer,
            ServedReply::Missing { code, message } => {
                let why = format!(
                    "{code}: the record that this run goes on from has no answer to it, and no vendor was asked"
                );
                self.capture.record_gap(&format!("request to {}", route.name), &why);
                return Ok(missing_response(route.vendor, code, &message));
            }
        };
        let Some(status) = answer.status else {
            let why = "the record that this run goes on from holds no answer to it, and no vendor was asked";
            self.capture.record_gap(&format!("request to {}", route.name), why);
            return Err(AnswerAborted);
        };
        let (_, inbound) = split_request(arrival);
        let exchange = match self.capture.begin(inbound, route.upstream.base_path(), None, guard).await {
            Ok(exchange) => exchange,
            Err(refused) => return Ok(denial_response(route.judged_as(), &refused)),
        };
        let cause = match answer.is_cut {
            false => EndCause::Eof,
            true => EndCause::Upstream {
                by: EndedBy::Upstream,
                error_type: "recorded".into(),
                message: "the recorded answer breaks off here".into(),
            },
        };
        let written = exchange.with(|exchange| {
            exchange.take_recorded_head(status, header_list(&header_map(&answer.headers)));
            for piece in pieces(&answer) {
                exchange.take_piece(&piece);
            }
            if !answer.trailers.is_empty() {
                exchange.take_trailers(header_list(&header_map(&answer.trailers)));
            }
            exchange.finish(cause)
        });
        if let Some(written) = written {
            written.await;
        }
        replay_response(answer, ReplayPace::Instant, at, socket, in_flight).ok_or(AnswerAborted)
    }
}

/// Returns the body of an answer, cut at its recorded reads.
fn pieces(answer: &ServedAnswer) -> Vec<Bytes> {
    let mut rest = Bytes::copy_from_slice(&answer.body);
    let mut pieces: Vec<Bytes> =
        answer.chunks.iter().map(|(_, length)| rest.split_to((*length).min(rest.len()))).collect();
    pieces.push(rest);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}
