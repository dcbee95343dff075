//! The line to a client: its socket, and what the bodies on it need to know about it.
//!
//! Two things that HTTP libraries do not tell: whether what was handed out has left (so that an answer can be cut exactly
//! where it was cut, and chunks stay apart), and whether a client that has stopped sending has gone (see [`crate::peer`]).

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::peer;

/// Whether the end of a client's bytes can mean that it has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HangUp {
    /// It is looked into: who has gone needs no answer.
    Noticed,
    /// Never: the client lives in a namespace that we cannot look into, and answers cost nothing.
    Ignored,
}

/// A client's socket.
pub(crate) struct Line {
    socket: TcpStream,
    state: Arc<LineState>,
    hang_up: HangUp,
    /// The client's bytes have ended.
    has_ended: bool,
    /// Whether the client has gone, if that was looked into.
    has_gone: Option<bool>,
    /// How often the end was held back for a request that is not known to be whole yet.
    turns: u8,
}

/// A request that came right before the end of its client's bytes is handed over in a few turns of its connection. Only then
/// is it known whether it was whole.
const TURNS: u8 = 64;

/// What the exchanges on a line share with it.
#[derive(Debug, Default)]
pub(crate) struct LineState {
    /// Exchanges whose request was read whole and whose answer is not yet.
    running: AtomicUsize,
    /// How often everything that was handed out had left.
    flushes: AtomicU64,
    is_watched: AtomicBool,
    watchers: Mutex<Vec<Waker>>,
    reader: Mutex<Option<Waker>>,
}

impl Line {
    pub(crate) fn new(socket: TcpStream, hang_up: HangUp) -> Self {
        Self { socket, state: Arc::default(), hang_up, has_ended: false, has_gone: None, turns: 0 }
    }

    pub(crate) fn state(&self) -> Arc<LineState> {
        Arc::clone(&self.state)
    }

    /// Looks whether the client has gone.
    fn look_for_client(&self) -> bool {
        match (self.hang_up, self.socket.peer_addr(), self.socket.local_addr()) {
            (HangUp::Ignored, _, _) => false,
            (HangUp::Noticed, Ok(peer), Ok(local)) => peer::has_gone(peer, local),
            // A socket without a peer has lost it.
            _ => true,
        }
    }
}

impl LineState {
    /// An exchange runs until the returned value is dropped; until then the line is not closed for a client that merely
    /// stopped sending.
    pub(crate) fn busy(self: &Arc<Self>) -> Busy {
        self.running.fetch_add(1, Ordering::AcqRel);
        Busy(Arc::clone(self))
    }

    /// The mark of what has been handed out so far, for [`Self::poll_left`].
    pub(crate) fn mark(&self) -> u64 {
        self.flushes.load(Ordering::Acquire)
    }

    /// Ready when everything that was handed out right after `mark` has left.
    pub(crate) fn poll_left(&self, mark: u64, cx: &mut Context<'_>) -> Poll<()> {
        if self.mark() > mark {
            return Poll::Ready(());
        }
        lock(&self.watchers).push(cx.waker().clone());
        self.is_watched.store(true, Ordering::Release);
        if self.mark() > mark { Poll::Ready(()) } else { Poll::Pending }
    }

    fn flushed(&self) {
        self.flushes.fetch_add(1, Ordering::AcqRel);
        if self.is_watched.swap(false, Ordering::AcqRel) {
            let watchers = std::mem::take(&mut *lock(&self.watchers));
            watchers.into_iter().for_each(Waker::wake);
        }
    }

    fn is_busy(&self) -> bool {
        self.running.load(Ordering::Acquire) > 0
    }
}

/// An exchange that runs.
#[derive(Debug)]
pub(crate) struct Busy(Arc<LineState>);

impl Drop for Busy {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(reader) = lock(&self.0.reader).take()
        {
            reader.wake();
        }
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.has_ended {
            let before = buffer.filled().len();
            ready!(Pin::new(&mut self.socket).poll_read(cx, buffer))?;
            if buffer.filled().len() > before || buffer.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            self.has_ended = true;
        }
        if self.state.is_busy() {
            let has_gone = self.has_gone.unwrap_or_else(|| self.look_for_client());
            self.has_gone = Some(has_gone);
            if has_gone {
                return Poll::Ready(Ok(()));
            }
            *lock(&self.state.reader) = Some(cx.waker().clone());
            if self.state.is_busy() {
                return Poll::Pending;
            }
        }
        if self.turns < TURNS {
            self.turns += 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_flush(cx))?;
        self.state.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

/// What a lock guards here is whole after a panic elsewhere: single stores and moves.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether an authority, such as Host's, is a loopback name of this port.
pub(crate) fn is_ours(authority: &str, address: SocketAddr) -> bool {
    let Some((host, port)) = authority.rsplit_once(':') else { return false };
    let is_loopback = host == "127.0.0.1" || host == "[::1]" || host.eq_ignore_ascii_case("localhost");
    is_loopback && port.parse() == Ok(address.port()) && !port.starts_with(['+', '0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_port() {
        let address = SocketAddr::from(([127, 0, 0, 1], 8080));
        for ours in ["127.0.0.1:8080", "localhost:8080", "LocalHost:8080", "[::1]:8080"] {
            assert!(is_ours(ours, address), "{ours}");
        }
        for other in [
            "",
            ":8080",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:80",
            "127.0.0.1:+8080",
            "127.0.0.1:08080",
            "localhost.evil.example:8080",
            "evil.example:8080",
            "127.0.0.2:8080",
            "::1:8080",
            "a@127.0.0.1:8080",
        ] {
            assert!(!is_ours(other, address), "{other}");
        }
    }
}
