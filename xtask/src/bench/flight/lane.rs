//! One client, with a connection on each of the ways to a vendor that are compared.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reenact_testkit::Vendor;

use super::agent::{Address, Line, Times};
use super::scene::{CALL, GATE, Kind, call_id};

/// How often each connection calls on each way before it is measured.
const WARM_UP: u64 = 5;

/// A client.
pub(super) struct Lane {
    number: u64,
    kind: Kind,
    vendor: Arc<Vendor>,
    ways: Vec<Way>,
}

struct Way {
    line: Line,
    /// How often it was gone.
    turn: u64,
}

impl Lane {
    /// Connects on every way, and warms each up.
    pub(super) async fn open(
        number: u64,
        ways: Vec<Arc<Address>>,
        kind: Kind,
        vendor: Arc<Vendor>,
    ) -> Result<Self, String> {
        let mut lane = Self { number, kind, vendor, ways: Vec::new() };
        for address in &ways {
            lane.ways.push(Way { line: Line::open(address).await?, turn: 0 });
        }
        for _ in 0..WARM_UP {
            for way in 0..ways.len() {
                lane.call(way).await?;
            }
        }
        Ok(lane)
    }

    async fn call(&mut self, way: usize) -> Result<Times, String> {
        let Way { line, turn } = self.ways.get_mut(way).ok_or("there is no such way")?;
        *turn += 1;
        let turn = self.number << 40 | (way as u64) << 32 | *turn;
        let body = self.kind.prompt(turn);
        match self.kind {
            Kind::Answer => line.call(body, None, || {}).await,
            Kind::Tool => line.call(body, Some((CALL, &call_id(turn))), || {}).await,
            Kind::Stream => {
                let gate = turn.to_string();
                line.call(body, Some((GATE, &gate)), || self.vendor.open(&gate)).await
            }
        }
    }

    /// Calls on each way in turn: at once, or at its own times from `next` on.
    pub(super) async fn take_turns(
        mut self,
        mut next: Instant,
        every: Option<Duration>,
        until: Instant,
    ) -> Result<Vec<Vec<Times>>, String> {
        let mut times = vec![Vec::new(); self.ways.len()];
        // Not all begin with the same.
        let first = usize::try_from(self.number).unwrap_or_default();
        for way in (0..times.len()).cycle().skip(first % times.len()) {
            if let Some(every) = every {
                tokio::time::sleep_until(next.into()).await;
                // What is late is not made up for: nobody wants a flood.
                next = (next + every).max(Instant::now());
            }
            if Instant::now() >= until {
                break;
            }
            let took = self.call(way).await?;
            times.get_mut(way).ok_or("there is no such way")?.push(took);
        }
        Ok(times)
    }

    /// Calls on one way as fast as it is answered; says how often.
    pub(super) async fn rush(mut self, way: usize, until: Instant) -> Result<(Self, u32), String> {
        let mut count = 0;
        while Instant::now() < until {
            self.call(way).await?;
            count += 1;
        }
        Ok((self, count))
    }
}
