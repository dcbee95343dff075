//! A client's socket, with two facts that HTTP libraries do not tell.
//!
//! Bodies must know when the bytes that they handed out were flushed, so that an answer can break off exactly where it did at
//! the vendor, and chunks stay apart. And a client that stopped sending may have gone, or may wait (see [`crate::peer`]).

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::peer;

/// Meaning of the end of a client's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HangUp {
    /// The client may have gone; the operating system is asked.
    Noticed,
    /// The client waits: it lives in a namespace that cannot be looked into, and answers cost nothing.
    Ignored,
}

/// A client's socket.
pub(crate) struct ClientSocket {
    socket: TcpStream,
    state: Arc<ClientSocketState>,
    hang_up: HangUp,
    /// True if the client's bytes have ended.
    has_ended: bool,
    /// True if the client has gone; `None` before that was asked.
    has_gone: Option<bool>,
    /// Number of polls for which the end was held back, since the last request may not be whole yet.
    turns: u8,
}

/// Polls for which the end of a client's bytes is held back. A request that came right before it is handed over within a few
/// polls of its connection; only then is it known whether it was whole.
const TURNS: u8 = 64;

/// State that a socket shares with the bodies on it.
#[derive(Debug, Default)]
pub(crate) struct ClientSocketState {
    /// Number of exchanges whose request was read whole and whose answer has not left.
    running: AtomicUsize,
    /// Number of completed flushes.
    flushes: AtomicU64,
    is_watched: AtomicBool,
    watchers: Mutex<Vec<Waker>>,
    reader: Mutex<Option<Waker>>,
}

impl ClientSocket {
    pub(crate) fn new(socket: TcpStream, hang_up: HangUp) -> Self {
        Self { socket, state: Arc::default(), hang_up, has_ended: false, has_gone: None, turns: 0 }
    }

    pub(crate) fn state(&self) -> Arc<ClientSocketState> {
        Arc::clone(&self.state)
    }

    /// Returns true if the client has gone.
    fn look_for_client(&self) -> bool {
        match (self.hang_up, self.socket.peer_addr(), self.socket.local_addr()) {
            (HangUp::Ignored, _, _) => false,
            (HangUp::Noticed, Ok(peer), Ok(local)) => peer::client_disconnected(peer, local),
            // A socket without a peer has lost it.
            _ => true,
        }
    }
}

impl ClientSocketState {
    /// Counts an exchange until the returned value is dropped. Meanwhile the socket stays open for a client that merely stopped
    /// sending.
    pub(crate) fn in_flight(self: &Arc<Self>) -> InFlight {
        self.running.fetch_add(1, Ordering::AcqRel);
        InFlight(Arc::clone(self))
    }

    /// Returns the number of completed flushes, for [`Self::poll_flushed_after`].
    pub(crate) fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::Acquire)
    }

    /// Ready when bytes that were handed out after so many flushes have left.
    pub(crate) fn poll_flushed_after(&self, flushes: u64, cx: &mut Context<'_>) -> Poll<()> {
        if self.flushes() > flushes {
            return Poll::Ready(());
        }
        lock(&self.watchers).push(cx.waker().clone());
        self.is_watched.store(true, Ordering::Release);
        if self.flushes() > flushes { Poll::Ready(()) } else { Poll::Pending }
    }

    fn flushed(&self) {
        self.flushes.fetch_add(1, Ordering::AcqRel);
        if self.is_watched.swap(false, Ordering::AcqRel) {
            let watchers = std::mem::take(&mut *lock(&self.watchers));
            watchers.into_iter().for_each(Waker::wake);
        }
    }

    fn has_in_flight(&self) -> bool {
        self.running.load(Ordering::Acquire) > 0
    }
}

/// An exchange that is counted in [`ClientSocketState`].
#[derive(Debug)]
pub(crate) struct InFlight(Arc<ClientSocketState>);

impl Drop for InFlight {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(reader) = lock(&self.0.reader).take()
        {
            reader.wake();
        }
    }
}

impl AsyncRead for ClientSocket {
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
        if self.state.has_in_flight() {
            let has_gone = self.has_gone.unwrap_or_else(|| self.look_for_client());
            self.has_gone = Some(has_gone);
            if has_gone {
                return Poll::Ready(Ok(()));
            }
            *lock(&self.state.reader) = Some(cx.waker().clone());
            if self.state.has_in_flight() {
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

impl AsyncWrite for ClientSocket {
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

/// Locks. All values behind these locks are whole after a panic elsewhere: single stores and moves.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if an authority, such as Host's, is a loopback name of this port.
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
