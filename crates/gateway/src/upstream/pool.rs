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

    /// Takes a connection back whose answer has come whole.
    pub(super) fn put(self: &Arc<Self>, to: Arc<Route>, connection: Box<Connection>) {
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

/// Closes connections that lie for too long, until there are none.
async fn sweep(pool: Weak<Pool>) {
    loop {
        tokio::time::sleep(LONGEST).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut idle = pool.lock();
        idle.connections.retain(|lying| lying.since.elapsed() < LONGEST);
        if idle.connections.is_empty() {
            idle.is_swept = false;
            return;
        }
    }
}
