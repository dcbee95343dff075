//! Body of an answer that comes from a vendor. Its connection returns to the pool at the end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::connection::VendorConnection;
use super::idle_timeout::IdleTimeout;
use super::pool::ConnectionPool;
use crate::route::VendorRoute;

/// Body of a vendor's answer.
pub(crate) struct UpstreamBody {
    /// Frames, without the connection that brings them.
    body: Incoming,
    source: BodySource,
}

/// Connection that brings the body.
enum BodySource {
    /// HTTP/1 connection, used for this answer alone and polled by it.
    Exclusive(PooledConnection),
    /// HTTP/2 connection that has a task of its own; only the timeout belongs to this answer.
    Shared(IdleTimeout),
    /// None: the body has ended.
    Ended,
}

/// Connection that returns to its pool when the answer has ended.
pub(super) struct PooledConnection {
    pub(super) connection: Box<VendorConnection>,
    pub(super) route: Arc<VendorRoute>,
    pub(super) pool: Arc<ConnectionPool>,
}

impl UpstreamBody {
    /// Makes the body of an answer on a connection that serves it alone.
    pub(super) fn on_exclusive(body: Incoming, lent: PooledConnection) -> Self {
        let mut coming = Self { body, source: BodySource::Exclusive(lent) };
        if coming.body.is_end_stream() {
            coming.return_to_pool();
        }
        coming
    }

    /// Makes the body of an answer on a shared connection.
    pub(super) fn on_shared(body: Incoming, idle_timeout: IdleTimeout) -> Self {
        Self { body, source: BodySource::Shared(idle_timeout) }
    }

    /// Returns true if another task brings the frames, so that they come only after that task was polled.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.source, BodySource::Shared(_))
    }

    /// Returns true if nothing of the body is left.
    pub(crate) fn is_over(&self) -> bool {
        self.body.is_end_stream()
    }

    /// Returns the length of the rest, as far as it is known.
    pub(crate) fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }

    /// Polls for the next frame. Must not be called after the end.
    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let next = match &mut self.source {
            BodySource::Exclusive(lent) => lent.connection.poll_frame(&mut self.body, cx),
            BodySource::Shared(_) | BodySource::Ended => Pin::new(&mut self.body).poll_frame(cx),
        };
        let is_over = match &next {
            Poll::Ready(Some(Ok(_))) => self.body.is_end_stream(),
            Poll::Ready(None) => true,
            Poll::Ready(Some(Err(_))) | Poll::Pending => false,
        };
        if is_over {
            self.return_to_pool();
        }
        next
    }

    /// Restarts the idle timeout, because a frame came.
    pub(crate) fn reset_idle_timeout(&mut self) {
        if let Some(silence) = self.idle_timeout() {
            silence.reset();
        }
    }

    /// Ready when the vendor has been silent for the idle timeout.
    pub(crate) fn poll_idle_timeout(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.idle_timeout().map_or(Poll::Pending, |silence| silence.poll_elapsed(cx))
    }

    /// Returns the timeout for the vendor's silence; `None` after the end.
    fn idle_timeout(&mut self) -> Option<&mut IdleTimeout> {
        match &mut self.source {
            BodySource::Exclusive(lent) => Some(lent.connection.idle_timeout()),
            BodySource::Shared(silence) => Some(silence),
            BodySource::Ended => None,
        }
    }

    /// Returns an exclusive connection to its pool.
    fn return_to_pool(&mut self) {
        if let BodySource::Exclusive(PooledConnection { connection, route: to, pool }) =
            std::mem::replace(&mut self.source, BodySource::Ended)
        {
            pool.put(to, connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use bytes::Bytes;
    use http::Request;
    use http_body_util::Full;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::upstream::connector::VendorStream;

    /// Waiting for the end of one answer does not count for the next one on the same connection.
    #[tokio::test(start_paused = true)]
    async fn each_answer_has_a_silence_of_its_own() {
        const PAUSE: Duration = Duration::from_secs(8);
        let (near, mut far) = tokio::io::duplex(1 << 10);
        tokio::spawn(async move {
            loop {
                let mut request = [0; 1 << 10];
                if far.read(&mut request).await.unwrap() == 0 {
                    return;
                }
                tokio::time::sleep(PAUSE).await;
                far.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await.unwrap();
                tokio::time::sleep(PAUSE).await;
                far.write_all(b"0\r\n\r\n").await.unwrap();
            }
        });
        let connection =
            VendorConnection::handshake(VendorStream::plain(near), PAUSE + PAUSE / 2).await.unwrap();
        let (pool, mut connection) = (Arc::new(ConnectionPool::default()), Box::new(connection));
        let to =
            Arc::new(VendorRoute::to(reenact_wire::Vendor::OPENAI, "http://vendor.invalid".parse().unwrap()));
        for _ in 0..3 {
            let Ok(answer) = connection.send(Request::new(Full::new(Bytes::new()))).await else {
                panic!("the vendor was not silent for too long")
            };
            let lent = PooledConnection { connection, route: Arc::clone(&to), pool: Arc::clone(&pool) };
            let mut coming = UpstreamBody::on_exclusive(answer.into_body(), lent);
            let next = poll_fn(|cx| match coming.poll_frame(cx) {
                Poll::Pending => coming.poll_idle_timeout(cx).map(|()| None),
                Poll::Ready(next) => Poll::Ready(Some(next.is_none())),
            });
            assert_eq!(next.await, Some(true), "it is over");
            connection = pool.take(&to).unwrap();
        }
    }
}
