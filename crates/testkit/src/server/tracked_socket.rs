//! [`TrackedSocket`]: a socket that counts flushes and can end with a reset.
//!
//! An answer that is to be cut must be flushed first. Otherwise the cut would come earlier than the
//! script says, by as much as HTTP holds in its buffers.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Flush state of a connection.
#[derive(Debug, Clone, Copy, Default)]
struct FlushProgress {
    /// Number of completed flushes.
    flushes: u64,
    /// True if the last write was blocked by backpressure.
    is_blocked: bool,
}

/// State of a connection, shared with the answers that are sent on it.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    /// Flush state, which answers wait on.
    progress: watch::Sender<FlushProgress>,
    /// True if the connection is to end with a reset.
    resets_on_close: AtomicBool,
}

impl ConnectionState {
    /// Returns the number of completed flushes.
    pub(crate) fn flushes(&self) -> u64 {
        self.progress.borrow().flushes
    }

    /// Waits until all bytes are flushed that were written when there had been this many flushes.
    ///
    /// HTTP/2 flushes after each of its frames. As long as it is not blocked it goes on until no
    /// frame is left; this task, on the same thread, runs after that.
    pub(crate) async fn wait_flushed_since(&self, flushes: u64) {
        let is_out = |progress: &FlushProgress| progress.flushes > flushes && !progress.is_blocked;
        // The sender lives as long as `self`.
        let _ = self.progress.subscribe().wait_for(is_out).await;
    }

    /// Notes whether a write was blocked.
    fn note_write(&self, is_blocked: bool) {
        self.progress.send_if_modified(|progress| {
            let changes = progress.is_blocked != is_blocked;
            progress.is_blocked = is_blocked;
            changes
        });
    }

    /// Makes the connection end with a reset.
    pub(crate) fn reset_on_close(&self) {
        self.resets_on_close.store(true, Ordering::SeqCst);
    }
}

/// Socket that reports flushes and blocked writes to its [`ConnectionState`].
#[derive(Debug)]
pub(crate) struct TrackedSocket {
    stream: TcpStream,
    state: Arc<ConnectionState>,
}

impl TrackedSocket {
    pub(crate) fn new(stream: TcpStream) -> (Self, Arc<ConnectionState>) {
        let line = Arc::new(ConnectionState {
            progress: watch::Sender::default(),
            resets_on_close: AtomicBool::new(false),
        });
        (Self { stream, state: Arc::clone(&line) }, line)
    }
}

impl Drop for TrackedSocket {
    /// Sends RST instead of FIN if a reset was asked for.
    fn drop(&mut self) {
        if self.state.resets_on_close.load(Ordering::SeqCst) {
            // If the option cannot be set, the connection is closed instead, which also cuts the
            // answer.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for TrackedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for TrackedSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.state.note_write(wrote.is_pending());
        wrote
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.state.note_write(wrote.is_pending());
        wrote
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Counts the flush once it is complete.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.state.progress.send_modify(|progress| progress.flushes += 1);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
