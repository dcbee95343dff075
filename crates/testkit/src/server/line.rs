//! The socket of one connection, which tells when all that was written is out, and can end with a reset.
//!
//! An answer that is to be cut must first be on its way: else the cut would come earlier than the script says, by as much as
//! HTTP holds in its buffers.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// How often all that was written was out.
    flushes: u64,
    /// Whether the other end takes no more for now.
    is_blocked: bool,
}

/// What the answers on a connection know of it.
#[derive(Debug)]
pub(crate) struct Line {
    progress: watch::Sender<Progress>,
    resets: AtomicBool,
}

impl Line {
    /// How often all that was written was out.
    pub(crate) fn flushes(&self) -> u64 {
        self.progress.borrow().flushes
    }

    /// Waits until all is out that was written when there had been this many flushes. HTTP/2 flushes after each of its frames;
    /// but as long as it is not blocked it goes on until none is left, and we, on the same thread, come after that.
    pub(crate) async fn flushed_since(&self, flushes: u64) {
        let is_out = |progress: &Progress| progress.flushes > flushes && !progress.is_blocked;
        // The sender lives as long as `self`.
        let _ = self.progress.subscribe().wait_for(is_out).await;
    }

    fn wrote(&self, is_blocked: bool) {
        self.progress.send_if_modified(|progress| {
            let changes = progress.is_blocked != is_blocked;
            progress.is_blocked = is_blocked;
            changes
        });
    }

    /// The connection shall end with a reset.
    pub(crate) fn reset(&self) {
        self.resets.store(true, Ordering::SeqCst);
    }
}

/// The socket.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    line: Arc<Line>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream) -> (Self, Arc<Line>) {
        let line = Arc::new(Line { progress: watch::Sender::default(), resets: AtomicBool::new(false) });
        (Self { stream, line: Arc::clone(&line) }, line)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.line.resets.load(Ordering::SeqCst) {
            // Where it cannot be set, the connection is closed instead: still cut.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.line.wrote(wrote.is_pending());
        wrote
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.line.wrote(wrote.is_pending());
        wrote
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.line.progress.send_modify(|progress| progress.flushes += 1);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
