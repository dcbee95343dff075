//! One connection below HTTP: requests are read by hand, answers are exact bytes.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::ledger::{Ledger, Page, SentEnd};
use super::line::Line;
use crate::answer::{Ending, Raw, Step};
use crate::http1::{Body, Head};
use crate::request::Request;

/// Serves a connection until its client leaves or the script ends it.
pub(crate) async fn serve<S>(
    mut socket: S,
    line: Arc<Line>,
    ledger: Arc<Ledger>,
    decide: Arc<dyn Fn(&Request) -> Raw + Send + Sync>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut unread = Vec::new();
    while let Some(request) = received(&mut socket, &mut unread).await {
        let (request, mut page) = ledger.receive(request);
        let raw = decide(&request);
        if !send(&mut socket, raw.steps, &page, &mut unread).await {
            return;
        }
        match raw.ending {
            Ending::Whole => page.ending(SentEnd::Whole),
            Ending::Closed => return page.ending(SentEnd::Cut),
            Ending::Reset => {
                line.reset();
                return page.ending(SentEnd::Cut);
            }
        }
    }
}

/// Reads the next request; `None` if the client leaves, or speaks no HTTP/1.1.
async fn received<S: AsyncRead + Unpin>(socket: &mut S, unread: &mut Vec<u8>) -> Option<Request> {
    loop {
        if let Some((head, length)) = Head::read(unread).ok()? {
            let framing = head.framing().ok()?.unwrap_or(Body::Length(0));
            if let Some((body, taken)) = framing.read(&unread[length..]).ok()? {
                unread.drain(..length + taken);
                let [method, path, version] = head.start;
                let body = body.into();
                return Some(Request { index: 0, method, path, version, headers: head.headers, body });
            }
        }
        if socket.read_buf(unread).await.ok()? == 0 {
            return None;
        }
    }
}

/// Follows the steps; false if the client left. Someone who leaves while the script waits is noticed, too.
async fn send<S>(socket: &mut S, steps: Vec<Step>, page: &Page, unread: &mut Vec<u8>) -> bool
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    for step in steps {
        match step {
            Step::Send(bytes) => {
                page.sent(&bytes);
                if socket.write_all(&bytes).await.is_err() || socket.flush().await.is_err() {
                    return false;
                }
            }
            Step::Wait(gate) => {
                let mut passed = std::pin::pin!(page.pass(&gate));
                loop {
                    tokio::select! {
                        () = &mut passed => break,
                        // More bytes are the next request, come early.
                        read = socket.read_buf(unread) => if !matches!(read, Ok(1..)) { return false },
                    }
                }
            }
        }
    }
    true
}
