//! Client with a connection on each of the routes that are compared.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reenact_testkit::ScriptedVendor;

use super::calls::{BenchCallKind, CALL_HEADER, GATE_HEADER, call_id};
use super::connection::{CallTarget, CallTimes, HttpConnection};

/// Number of calls on each route before the measurement.
const WARM_UP_CALLS: u64 = 5;

/// Client of the benchmark.
pub(super) struct BenchClient {
    /// Index of the client, which makes its prompts unique.
    number: u64,
    /// Kind of all calls.
    kind: BenchCallKind,
    /// Vendor, whose gates the client opens for streams.
    vendor: Arc<ScriptedVendor>,
    /// One connection for each route.
    routes: Vec<ClientRoute>,
}

/// Connection on one route.
struct ClientRoute {
    connection: HttpConnection,
    /// Number of calls made.
    calls: u64,
}

impl BenchClient {
    /// Connects on every route, and makes the first calls on each.
    pub(super) async fn open(
        number: u64,
        targets: Vec<Arc<CallTarget>>,
        kind: BenchCallKind,
        vendor: Arc<ScriptedVendor>,
    ) -> Result<Self, String> {
        let mut lane = Self { number, kind, vendor, routes: Vec::new() };
        for address in &targets {
            lane.routes.push(ClientRoute { connection: HttpConnection::open(address).await?, calls: 0 });
        }
        for _ in 0..WARM_UP_CALLS {
            for route in 0..targets.len() {
                lane.call(route).await?;
            }
        }
        Ok(lane)
    }

    /// Makes one call on a route.
    async fn call(&mut self, route: usize) -> Result<CallTimes, String> {
        let ClientRoute { connection: line, calls: turn } =
            self.routes.get_mut(route).ok_or("there is no such way")?;
        *turn += 1;
        let turn = self.number << 40 | (route as u64) << 32 | *turn;
        let body = self.kind.prompt(turn);
        match self.kind {
            BenchCallKind::Answer => line.call(body, None, || {}).await,
            BenchCallKind::Tool => line.call(body, Some((CALL_HEADER, &call_id(turn))), || {}).await,
            BenchCallKind::Stream => {
                let gate = turn.to_string();
                line.call(body, Some((GATE_HEADER, &gate)), || self.vendor.open_gate(&gate)).await
            }
        }
    }

    /// Calls on each route in turn until `until`: again at once, or on a schedule from `next` on.
    ///
    /// Returns the times of the calls by route.
    ///
    /// # Errors
    /// If a call fails.
    pub(super) async fn take_turns(
        mut self,
        mut next: Instant,
        every: Option<Duration>,
        until: Instant,
    ) -> Result<Vec<Vec<CallTimes>>, String> {
        let mut times = vec![Vec::new(); self.routes.len()];
        // Clients begin with different routes.
        let first = usize::try_from(self.number).unwrap_or_default();
        for route in (0..times.len()).cycle().skip(first % times.len()) {
            if let Some(every) = every {
                tokio::time::sleep_until(next.into()).await;
                // A late call is not made up for: the calls after it would come in a burst.
                next = (next + every).max(Instant::now());
            }
            if Instant::now() >= until {
                break;
            }
            let took = self.call(route).await?;
            times.get_mut(route).ok_or("there is no such way")?.push(took);
        }
        Ok(times)
    }

    /// Calls on one route as fast as it answers; returns the client with the number of calls.
    pub(super) async fn call_until(mut self, route: usize, until: Instant) -> Result<(Self, u32), String> {
        let mut count = 0;
        while Instant::now() < until {
            self.call(route).await?;
            count += 1;
        }
        Ok((self, count))
    }
}
