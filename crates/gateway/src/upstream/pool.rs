//! Connections that lie idle between two requests.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;

use super::connection::Connection;
use crate::route::Route;

/// Connections that lie idle for longer are closed: vendors close theirs, and a request must not meet a closed one.
pub(super) const LONGEST: Duration = Duration::from_secs(15);

/// Idle connections.
#[derive(Default)]
pub(super) struct Pool(Mutex<Idle>);

#[derive(Default)]
struct Idle {
    /// The last that came back is the last.
    connections: Vec<Lying>,
    /// Somebody looks after them.
    is_swept: bool,
}

struct Lying {
    to: Arc<Route>,
    since: Instant,
    connection: Box<Connection>,
}

impl Pool {
    /// A connection to there, if one lies idle.
    pub(super) fn take(&self, to: &Route) -> Option<Box<Connection>> {
        loop {
            let Lying { since, mut connection, .. } = {
                let mut idle = self.lock();
                let place = idle
                    .connections
                    .iter()
                    .rposition(|lying| lying.to.upstream.is_same_origin(&to.upstream))?;
                idle.connections.remove(place)
            };
            if since.elapsed() < LONGEST && connection.is_usable() {
                return Some(connection);
            }
        }
    }

    /// Takes a connection back whose answer has come whole. One that cannot be used again is closed: it may have come to its end, or
    /// its vendor answered before it had read the whole request, the rest of which nobody would send.
    pub(super) fn put(self: &Arc<Self>, to: Arc<Route>, connection: Box<Connection>) {
        if !connection.is_ready() {
            return;
        }
        let mut idle = self.lock();
        idle.connections.push(Lying { to, since: Instant::now(), connection });
        if !std::mem::replace(&mut idle.is_swept, true) {
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Idle> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes connections that lie for too long, or are of no use any more, until there are none.
async fn sweep(pool: Weak<Pool>) {
    loop {
        tokio::time::sleep(LONGEST).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut idle = pool.lock();
        idle.connections.retain_mut(|lying| lying.since.elapsed() < LONGEST && lying.connection.is_usable());
        if idle.connections.is_empty() {
            idle.is_swept = false;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::Full;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    use super::*;
    use crate::upstream::connector::Stream;

    fn route(url: &str) -> Arc<Route> {
        Arc::new(Route::to(reenact_wire::Vendor::OPENAI, url.parse().unwrap()))
    }

    /// A connection that is ready for a request, and its other end.
    async fn connection() -> (Box<Connection>, DuplexStream) {
        let (near, far) = tokio::io::duplex(64);
        let mut connection = Connection::over(Stream::plain(near), Duration::from_secs(600)).await.unwrap();
        assert!(connection.is_usable());
        (Box::new(connection), far)
    }

    #[tokio::test(start_paused = true)]
    async fn closed_when_they_lie_for_too_long() {
        let (pool, route) = (Arc::new(Pool::default()), route("http://vendor.invalid/v1"));
        for _ in 0..2 {
            let (connection, mut far) = connection().await;
            pool.put(Arc::clone(&route), connection);
            let begun = Instant::now();
            assert_eq!(far.read(&mut [0; 1]).await.unwrap(), 0);
            assert!((LONGEST..=2 * LONGEST).contains(&begun.elapsed()));
            assert!(pool.take(&route).is_none());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn not_given_out_when_they_have_lain_for_too_long() {
        let (pool, route) = (Arc::new(Pool::default()), route("http://vendor.invalid/v1"));
        let (connection, _far) = connection().await;
        pool.put(Arc::clone(&route), connection);
        // Before anybody could sweep.
        tokio::time::advance(LONGEST).await;
        assert!(pool.take(&route).is_none());
    }

    /// Its vendor answered early. Nobody would send the rest, and the vendor would wait for it.
    #[tokio::test(start_paused = true)]
    async fn closed_when_their_request_was_not_sent_whole() {
        let (pool, route) = (Arc::new(Pool::default()), route("http://vendor.invalid/v1"));
        let (mut connection, mut far) = connection().await;
        let request = http::Request::new(Full::new(Bytes::from(vec![b'x'; 1 << 16])));
        let (answer, ()) = tokio::join!(connection.ask(request), async {
            far.read_u8().await.unwrap();
            far.write_all(b"HTTP/1.1 413 Too Long\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        });
        assert!(answer.is_ok_and(|answer| answer.status() == 413));
        let begun = Instant::now();
        pool.put(Arc::clone(&route), connection);
        let mut rest = Vec::new();
        far.read_to_end(&mut rest).await.unwrap();
        assert_eq!(begun.elapsed(), Duration::ZERO);
        assert!(pool.take(&route).is_none());
    }

    #[tokio::test]
    async fn given_out_to_where_they_lead() {
        let pool = Arc::new(Pool::default());
        let (connection, _far) = connection().await;
        pool.put(route("http://vendor.invalid/v1"), connection);
        assert!(pool.take(&route("https://vendor.invalid/v1")).is_none());
        assert!(pool.take(&route("http://other.invalid/v1")).is_none());
        assert!(pool.take(&route("http://vendor.invalid/another/base")).is_some());
        assert!(pool.take(&route("http://vendor.invalid/v1")).is_none());
    }

    #[tokio::test]
    async fn not_given_out_when_their_other_end_is_gone() {
        let (pool, route) = (Arc::new(Pool::default()), route("http://vendor.invalid/v1"));
        let (connection, far) = connection().await;
        pool.put(Arc::clone(&route), connection);
        drop(far);
        assert!(pool.take(&route).is_none());
    }
}
