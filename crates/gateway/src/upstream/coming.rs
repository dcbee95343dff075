//! The body of an answer on its way from its vendor.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::connection::Connection;
use super::pool::Pool;
use super::silence::Silence;
use crate::route::Route;

/// The body of an answer.
pub(crate) struct Coming {
    body: Incoming,
    by: By,
}

/// What brings it.
enum By {
    /// A connection for it alone.
    Own(Lent),
    /// One that has a task of its own; how long that has brought nothing.
    Shared(Silence),
    /// It is over.
    Nothing,
}

/// A connection that goes back when the answer has come whole.
pub(super) struct Lent {
    pub(super) connection: Box<Connection>,
    pub(super) to: Arc<Route>,
    pub(super) pool: Arc<Pool>,
}

impl Coming {
    pub(super) fn by_own(body: Incoming, lent: Lent) -> Self {
        let mut coming = Self { body, by: By::Own(lent) };
        if coming.body.is_end_stream() {
            coming.give_back();
        }
        coming
    }

    pub(super) fn by_shared(body: Incoming, silence: Silence) -> Self {
        Self { body, by: By::Shared(silence) }
    }

    /// Whether it is brought by a task that has its turns apart from those who ask for it.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.by, By::Shared(_))
    }

    /// Whether nothing of it comes any more.
    pub(crate) fn is_over(&self) -> bool {
        self.body.is_end_stream()
    }

    /// The rest of it, as far as that is known.
    pub(crate) fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }

    /// The next of it. Not to be asked again after its end.
    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let next = match &mut self.by {
            By::Own(lent) => lent.connection.poll_frame(&mut self.body, cx),
            By::Shared(_) | By::Nothing => Pin::new(&mut self.body).poll_frame(cx),
        };
        let is_over = match &next {
            Poll::Ready(Some(Ok(_))) => self.body.is_end_stream(),
            Poll::Ready(None) => true,
            Poll::Ready(Some(Err(_))) | Poll::Pending => false,
        };
        if is_over {
            self.give_back();
        }
        next
    }

    /// Something came.
    pub(crate) fn end_silence(&mut self) {
        if let Some(silence) = self.silence() {
            silence.end();
        }
    }

    /// Ready when it was waited for too long.
    pub(crate) fn poll_too_long(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.silence().map_or(Poll::Pending, |silence| silence.poll_too_long(cx))
    }

    fn silence(&mut self) -> Option<&mut Silence> {
        match &mut self.by {
            By::Own(lent) => Some(lent.connection.silence()),
            By::Shared(silence) => Some(silence),
            By::Nothing => None,
        }
    }

    fn give_back(&mut self) {
        if let By::Own(Lent { connection, to, pool }) = std::mem::replace(&mut self.by, By::Nothing) {
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
    use crate::upstream::connector::Stream;

    /// How long the end of an answer was waited for does not count for the next one on the same connection.
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
        let connection = Connection::over(Stream::plain(near), PAUSE + PAUSE / 2).await.unwrap();
        let (pool, mut connection) = (Arc::new(Pool::default()), Box::new(connection));
        let to = Arc::new(Route::to(reenact_wire::Vendor::OPENAI, "http://vendor.invalid".parse().unwrap()));
        for _ in 0..3 {
            let Ok(answer) = connection.ask(Request::new(Full::new(Bytes::new()))).await else {
                panic!("the vendor was not silent for too long")
            };
            let lent = Lent { connection, to: Arc::clone(&to), pool: Arc::clone(&pool) };
            let mut coming = Coming::by_own(answer.into_body(), lent);
            let next = poll_fn(|cx| match coming.poll_frame(cx) {
                Poll::Pending => coming.poll_too_long(cx).map(|()| None),
                Poll::Ready(next) => Poll::Ready(Some(next.is_none())),
            });
            assert_eq!(next.await, Some(true), "it is over");
            connection = pool.take(&to).unwrap();
        }
    }
}
