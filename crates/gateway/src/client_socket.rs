//! Socket of a client, with two facts that HTTP libraries do not expose.
//!
//! Bodies must know when their bytes were flushed. Only then can an answer break off exactly where it did at
//! the vendor, and only then do chunks stay apart: bytes that are handed out before the last flush would leave
//! together.
//!
//! And after EOF from a client the socket must tell whether the client has disconnected or waits for its answer
//! (see [`crate::peer`]). The HTTP library would end the connection in both cases.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::peer;

/// Meaning of EOF from a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EofPolicy {
    /// The client may have disconnected; the operating system is asked.
    AskSystem,
    /// The client is assumed to wait. For replays and runs that go on from others: their clients live in a network namespace that
    /// cannot be inspected.
    AssumeWaiting,
}

/// Socket of a client.
pub(crate) struct ClientSocket {
    socket: TcpStream,
    state: Arc<ClientSocketState>,
    eof_policy: EofPolicy,
    /// True if the client sent EOF.
    has_eof: bool,
    /// True if the client has disconnected; `None` before the system was asked.
    is_client_gone: Option<bool>,
    /// Number of polls for which EOF was held back, since the last request may not be complete yet.
    eof_polls: u8,
}

/// Polls for which EOF is held back. The HTTP library hands over a request that came right before EOF within a
/// few polls; only then is it known to be complete.
const MAX_EOF_POLLS: u8 = 64;

/// State that a socket shares with the bodies that are sent on it.
#[derive(Debug, Default)]
pub(crate) struct ClientSocketState {
    /// Number of exchanges whose request was read completely and whose answer has not left.
    in_flight_count: AtomicUsize,
    /// Number of completed flushes.
    flushes: AtomicU64,
    /// True if `flush_wakers` is not empty; spares each flush the lock.
    has_flush_wakers: AtomicBool,
    /// Tasks that wait for a flush.
    flush_wakers: Mutex<Vec<Waker>>,
    /// Task that reads from the socket, while it waits for exchanges to end.
    read_waker: Mutex<Option<Waker>>,
}

impl ClientSocket {
    /// Wraps a socket of an accepted connection.
    pub(crate) fn new(socket: TcpStream, eof_policy: EofPolicy) -> Self {
        Self { socket, state: Arc::default(), eof_policy, has_eof: false, is_client_gone: None, eof_polls: 0 }
    }

    /// Returns the state that bodies on this socket share.
    pub(crate) fn state(&self) -> Arc<ClientSocketState> {
        Arc::clone(&self.state)
    }

    /// Returns true if the client has disconnected.
    fn is_disconnected(&self) -> bool {
        match (self.eof_policy, self.socket.peer_addr(), self.socket.local_addr()) {
            (EofPolicy::AssumeWaiting, _, _) => false,
            (EofPolicy::AskSystem, Ok(peer), Ok(local)) => peer::client_disconnected(peer, local),
            // A socket without a peer address has lost its connection.
            _ => true,
        }
    }
}

impl ClientSocketState {
    /// Counts an exchange until the returned value is dropped. Until then the socket stays open for a client
    /// that merely closed its sending half.
    pub(crate) fn in_flight(self: &Arc<Self>) -> InFlight {
        self.in_flight_count.fetch_add(1, Ordering::AcqRel);
        InFlight(Arc::clone(self))
    }

    /// Returns the number of completed flushes, for [`Self::poll_flushed_after`].
    pub(crate) fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::Acquire)
    }

    /// Ready when more than `flushes` flushes are complete, that is, when bytes handed out at that count have
    /// left.
    pub(crate) fn poll_flushed_after(&self, flushes: u64, cx: &mut Context<'_>) -> Poll<()> {
        if self.flushes() > flushes {
            return Poll::Ready(());
        }
        lock(&self.flush_wakers).push(cx.waker().clone());
        self.has_flush_wakers.store(true, Ordering::Release);
        if self.flushes() > flushes { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Counts a flush, and wakes the tasks that wait for one.
    fn count_flush(&self) {
        self.flushes.fetch_add(1, Ordering::AcqRel);
        if self.has_flush_wakers.swap(false, Ordering::AcqRel) {
            let watchers = std::mem::take(&mut *lock(&self.flush_wakers));
            watchers.into_iter().for_each(Waker::wake);
        }
    }

    /// Returns true if an exchange on this socket is unfinished.
    fn has_in_flight(&self) -> bool {
        self.in_flight_count.load(Ordering::Acquire) > 0
    }
}

/// Exchange that is counted in [`ClientSocketState`] until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<ClientSocketState>);

impl Drop for InFlight {
    fn drop(&mut self) {
        if self.0.in_flight_count.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(reader) = lock(&self.0.read_waker).take()
        {
            reader.wake();
        }
    }
}

/// Reads from the socket, and delays EOF. While exchanges are in flight, EOF is reported only if the client has
/// disconnected. Otherwise it is reported after [`MAX_EOF_POLLS`] polls.
impl AsyncRead for ClientSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.has_eof {
            let before = buffer.filled().len();
            ready!(Pin::new(&mut self.socket).poll_read(cx, buffer))?;
            if buffer.filled().len() > before || buffer.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            self.has_eof = true;
        }
        if self.state.has_in_flight() {
            let has_gone = self.is_client_gone.unwrap_or_else(|| self.is_disconnected());
            self.is_client_gone = Some(has_gone);
            if has_gone {
                return Poll::Ready(Ok(()));
            }
            *lock(&self.state.read_waker) = Some(cx.waker().clone());
            if self.state.has_in_flight() {
                return Poll::Pending;
            }
        }
        if self.eof_polls < MAX_EOF_POLLS {
            self.eof_polls += 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

/// Writes to the socket, and counts completed flushes.
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
        self.state.count_flush();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

/// Locks a mutex, even a poisoned one. The values behind these locks are changed by single stores and moves, so
/// they are valid after a panic elsewhere.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if an authority, such as the value of Host, is a loopback name with the port of `address`.
pub(crate) fn is_loopback_authority(authority: &str, address: SocketAddr) -> bool {
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
            assert!(is_loopback_authority(ours, address), "{ours}");
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
            assert!(!is_loopback_authority(other, address), "{other}");
        }
    }
}
