//! Pool of HTTP/1 connections that are idle between two requests.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;

use super::connection::VendorConnection;
use crate::route::VendorRoute;

/// Longest idle time of a connection, 15 seconds. Vendors close idle connections too, and a request must not
/// meet a closed one.
pub(super) const MAX_IDLE: Duration = Duration::from_secs(15);

/// Idle connections of all routes.
#[derive(Default)]
pub(super) struct ConnectionPool(Mutex<IdleConnections>);

/// Connections behind the pool's lock.
#[derive(Default)]
struct IdleConnections {
    /// In the order of their return, the latest last.
    connections: Vec<IdleConnection>,
    /// True while the task that closes old connections runs.
    has_sweeper: bool,
}

/// Connection together with its route and the time of its return.
struct IdleConnection {
    route: Arc<VendorRoute>,
    since: Instant,
    connection: Box<VendorConnection>,
}

impl ConnectionPool {
    /// Takes the connection to the route's origin that was returned last, if there is a usable one.
    pub(super) fn take(&self, route: &VendorRoute) -> Option<Box<VendorConnection>> {
        loop {
            let IdleConnection { since, mut connection, .. } = {
                let mut idle = self.lock();
                let index = idle
                    .connections
                    .iter()
                    .rposition(|lying| lying.route.upstream.is_same_origin(&route.upstream))?;
                idle.connections.remove(index)
            };
            if since.elapsed() < MAX_IDLE && connection.poll_is_usable() {
                return Some(connection);
            }
        }
    }

    /// Takes back a connection whose answer has ended. A connection that cannot be used again is closed: it may
    /// be at its end, or the vendor may have answered before it had read the whole request, of which the rest
    /// would never be sent.
    pub(super) fn put(self: &Arc<Self>, route: Arc<VendorRoute>, connection: Box<VendorConnection>) {
        if !connection.is_ready() {
            return;
        }
        let mut idle = self.lock();
        idle.connections.push(IdleConnection { route, since: Instant::now(), connection });
        if !std::mem::replace(&mut idle.has_sweeper, true) {
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Locks the pool, even after a panic elsewhere.
    fn lock(&self) -> std::sync::MutexGuard<'_, IdleConnections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes connections that have been idle for too long or are closed by their vendor, until the pool is empty.
async fn sweep(pool: Weak<ConnectionPool>) {
    loop {
        tokio::time::sleep(MAX_IDLE).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut idle = pool.lock();
        idle.connections
            .retain_mut(|lying| lying.since.elapsed() < MAX_IDLE && lying.connection.poll_is_usable());
        if idle.connections.is_empty() {
            idle.has_sweeper = false;
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
    use crate::upstream::connector::VendorStream;

    fn route(url: &str) -> Arc<VendorRoute> {
        Arc::new(VendorRoute::to(reenact_wire::Vendor::OPENAI, url.parse().unwrap()))
    }

    /// A connection that is ready for a request, and its other end.
    async fn connection() -> (Box<VendorConnection>, DuplexStream) {
        let (near, far) = tokio::io::duplex(64);
        let mut connection =
            VendorConnection::handshake(VendorStream::plain(near), Duration::from_secs(600)).await.unwrap();
        assert!(connection.poll_is_usable());
        (Box::new(connection), far)
    }

    #[tokio::test(start_paused = true)]
    async fn closed_when_they_lie_for_too_long() {
        let (pool, route) = (Arc::new(ConnectionPool::default()), route("http://vendor.invalid/v1"));
        for _ in 0..2 {
            let (connection, mut far) = connection().await;
            pool.put(Arc::clone(&route), connection);
            let begun = Instant::now();
            assert_eq!(far.read(&mut [0; 1]).await.unwrap(), 0);
            assert!((MAX_IDLE..=2 * MAX_IDLE).contains(&begun.elapsed()));
            assert!(pool.take(&route).is_none());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn not_given_out_when_they_have_lain_for_too_long() {
        let (pool, route) = (Arc::new(ConnectionPool::default()), route("http://vendor.invalid/v1"));
        let (connection, _far) = connection().await;
        pool.put(Arc::clone(&route), connection);
        // The sweeper has not run yet.
        tokio::time::advance(MAX_IDLE).await;
        assert!(pool.take(&route).is_none());
    }

    /// The vendor answered before it read the whole request. The rest would never be sent, and the vendor would
    /// wait for it.
    #[tokio::test(start_paused = true)]
    async fn closed_when_their_request_was_not_sent_whole() {
        let (pool, route) = (Arc::new(ConnectionPool::default()), route("http://vendor.invalid/v1"));
        let (mut connection, mut far) = connection().await;
        let request = http::Request::new(Full::new(Bytes::from(vec![b'x'; 1 << 16])));
        let (answer, ()) = tokio::join!(connection.send(request), async {
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
        let pool = Arc::new(ConnectionPool::default());
        let (connection, _far) = connection().await;
        pool.put(route("http://vendor.invalid/v1"), connection);
        assert!(pool.take(&route("https://vendor.invalid/v1")).is_none());
        assert!(pool.take(&route("http://other.invalid/v1")).is_none());
        assert!(pool.take(&route("http://vendor.invalid/another/base")).is_some());
        assert!(pool.take(&route("http://vendor.invalid/v1")).is_none());
    }

    #[tokio::test]
    async fn not_given_out_when_their_other_end_is_gone() {
        let (pool, route) = (Arc::new(ConnectionPool::default()), route("http://vendor.invalid/v1"));
        let (connection, far) = connection().await;
        pool.put(Arc::clone(&route), connection);
        drop(far);
        assert!(pool.take(&route).is_none());
    }
}
