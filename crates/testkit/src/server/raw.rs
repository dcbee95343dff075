//! One connection below HTTP: requests are parsed by hand, answers are exact bytes.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::exchange_log::{AnswerLog, ExchangeLog, SentEnd};
use super::tracked_socket::ConnectionState;
use crate::answer::{AnswerEnding, RawBytesAnswer, ScriptStep};
use crate::http1::{Http1Framing, Http1Head};
use crate::request::VendorRequest;

/// Serves a connection until its client disconnects or the script ends it.
pub(crate) async fn serve<S>(
    mut socket: S,
    line: Arc<ConnectionState>,
    log: Arc<ExchangeLog>,
    decide: Arc<dyn Fn(&VendorRequest) -> RawBytesAnswer + Send + Sync>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut unread = Vec::new();
    while let Some(request) = read_request(&mut socket, &mut unread).await {
        let (request, mut answer_log) = log.log_request(request);
        let raw = decide(&request);
        if !send_steps(&mut socket, raw.steps, &answer_log, &mut unread).await {
            return;
        }
        match raw.ending {
            AnswerEnding::Whole => answer_log.set_end(SentEnd::Whole),
            AnswerEnding::Closed => return answer_log.set_end(SentEnd::Cut),
            AnswerEnding::Reset => {
                line.reset_on_close();
                return answer_log.set_end(SentEnd::Cut);
            }
        }
    }
}

/// Reads the next request; `None` if the client disconnects, or sends no HTTP/1.1.
async fn read_request<S: AsyncRead + Unpin>(socket: &mut S, unread: &mut Vec<u8>) -> Option<VendorRequest> {
    loop {
        if let Some((head, length)) = Http1Head::parse(unread).ok()? {
            let framing = head.framing().ok()?.unwrap_or(Http1Framing::Length(0));
            if let Some((body, taken)) = framing.parse_body(&unread[length..]).ok()? {
                unread.drain(..length + taken);
                let [method, path, version] = head.start_line;
                let body = body.into();
                return Some(VendorRequest { index: 0, method, path, version, headers: head.headers, body });
            }
        }
        if socket.read_buf(unread).await.ok()? == 0 {
            return None;
        }
    }
}

/// Runs the steps; returns false if the client disconnected, also while the script waited at a
/// gate.
async fn send_steps<S>(
    socket: &mut S,
    steps: Vec<ScriptStep>,
    answer_log: &AnswerLog,
    unread: &mut Vec<u8>,
) -> bool
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    for step in steps {
        match step {
            ScriptStep::Send(bytes) => {
                answer_log.append_sent(&bytes);
                if socket.write_all(&bytes).await.is_err() || socket.flush().await.is_err() {
                    return false;
                }
            }
            ScriptStep::Wait(gate) => {
                let mut passed = std::pin::pin!(answer_log.pass(&gate));
                loop {
                    tokio::select! {
                        () = &mut passed => break,
                        // Bytes that arrive early belong to the next request.
                        read = socket.read_buf(unread) => if !matches!(read, Ok(1..)) { return false },
                    }
                }
            }
        }
    }
    true
}
