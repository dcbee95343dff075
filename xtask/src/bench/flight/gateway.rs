//! What a gateway that records adds to a call.
//!
//! The same client calls the same vendor in turn directly and through the gateway, so that both ways meet the same weather.
//! `added` is a difference of percentiles, not a percentile of differences: p99 through the gateway less p99 of direct calls.
//! It says what the gateway does to the distribution that an agent sees; a slow direct call and the call after it have
//! nothing to do with each other.
//!
//! One connection calls again as soon as it was answered. Of 64, each calls at its own times, so many a second in all: enough
//! that calls overlap, and not so many that they queue for the processor, which would measure the number of processors. What
//! they get when they do queue is the row `flood`, in calls per second. All calls are made in HTTP/1.1, as the vendors' own
//! clients make them.
//!
//! `copy` is the same call through a program that copies bytes from one socket to the other and does nothing else: what any
//! gateway adds on this machine.
//!
//! `disk` is the same call where nothing is acknowledged before the disk has it: what it adds is two flushes of the disk.
//!
//! The first event of a stream comes alone, as at a real vendor.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reenact_gateway::{Environment, Gateway, Limits, Recording, Route, Token, Work};
use reenact_record::Durability;
use reenact_testkit::{Kind as Interface, Vendor};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::agent::{Address, Line, Times};
use super::scene::{Book, Kind, OPEN, script};
use super::{Quantiles, said};

/// How many connections there are at a time.
const CONNECTIONS: [usize; 2] = [1, 64];

/// How long each row is measured.
const LONG: Duration = Duration::from_secs(4);

/// How often each connection calls on each way before it is measured.
const WARM_UP: u64 = 5;

/// What is measured in a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    Calls(Kind),
    Copied(Kind),
    /// Nothing is acknowledged before the disk has it.
    Durable,
    Flood,
}

/// Every row that is asked for, under a head of their own.
pub(super) fn rows(folder: &Path, is_asked_for: impl Fn(&str) -> bool) -> Result<(), String> {
    let mut is_first = true;
    for is_tls in [false, true] {
        let way = if is_tls { "tls" } else { "plain" };
        let mut asked = Vec::new();
        for connections in CONNECTIONS {
            let calls = Kind::ALL.map(|kind| (kind.name(), Row::Calls(kind)));
            let flood = (connections > 1).then_some(("flood", Row::Flood));
            let rows = calls.into_iter().chain(flood);
            asked.extend(
                rows.map(|(name, row)| (format!("gateway {way} {connections} {name}"), connections, row)),
            );
            if !is_tls {
                let copied = Kind::ALL.map(|kind| (kind.name(), Row::Copied(kind)));
                asked.extend(
                    copied
                        .map(|(name, row)| (format!("gateway copy {connections} {name}"), connections, row)),
                );
                asked.push((format!("gateway disk {connections} answer"), connections, Row::Durable));
            }
        }
        asked.retain(|(name, ..)| is_asked_for(name));
        for (name, connections, row) in asked {
            if std::mem::take(&mut is_first) {
                println!(
                    "{:<28} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}",
                    "call, times in ms",
                    "direct",
                    "p99",
                    "gateway",
                    "p99",
                    "added",
                    "budget",
                    "p99",
                    "budget",
                    "calls"
                );
            }
            let durability = if row == Row::Durable { Durability::Machine } else { Durability::Process };
            let mut flight = Flight::start(folder, is_tls, durability)?;
            if let Row::Copied(_) = row {
                flight = flight.copied()?;
            }
            let measured = match row {
                Row::Durable => flight.calls(&name, connections, Kind::Answer),
                Row::Calls(kind) | Row::Copied(kind) => flight.calls(&name, connections, kind),
                Row::Flood => flight.flood(&name, connections),
            };
            measured.and(flight.land()).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(())
}

/// A vendor, a gateway before it, and the run that is recorded.
struct Flight {
    vendor: Arc<Vendor>,
    direct: Arc<Address>,
    through: Arc<Address>,
    gateway: Gateway,
    /// The gateway's, apart from that of its clients: at a user's, they are two processes.
    runtime: Runtime,
    book: Book,
}

impl Flight {
    fn start(folder: &Path, is_tls: bool, durability: Durability) -> Result<Self, String> {
        let vendor = if is_tls { Vendor::start_tls(script()) } else { Vendor::start(script()) };
        let vendor = vendor.map_err(said)?;
        vendor.open(OPEN);
        let mut environment = Environment::default();
        if let Some(authority) = vendor.authority_pem() {
            let path = folder.join("authority.pem");
            fs::write(&path, authority).map_err(said)?;
            environment.ssl_cert_file = Some(path);
        }
        let book = Book::open(folder)?;
        let upstream = vendor.base_url(Interface::OpenAi).parse().map_err(said)?;
        let routes = vec![Route::to(Interface::OpenAi, upstream)];
        let work = Work::Record(Box::new(Recording {
            pen: book.pen(),
            log: book.log()?,
            durability,
            policy: None,
            routes,
            environment,
            limits: Limits::default(),
        }));
        let runtime = gateway_runtime()?;
        let gateway = start(&runtime, work)?;
        let (direct, through) = (Address::of_vendor(&vendor)?, Address::of_gateway(&gateway)?);
        Ok(Self { vendor: Arc::new(vendor), direct, through, gateway, runtime, book })
    }

    /// Puts a program that copies in the gateway's place.
    fn copied(mut self) -> Result<Self, String> {
        self.through = self.direct.by_way_of(copier(self.vendor.address()).map_err(said)?);
        Ok(self)
    }

    /// Ends it all. A call that was not recorded would not count.
    fn land(self) -> Result<(), String> {
        self.runtime.block_on(self.gateway.stop()).map_err(said)?;
        drop(self.book);
        Ok(())
    }

    /// Calls on both ways in turn.
    fn calls(&self, name: &str, connections: usize, kind: Kind) -> Result<(), String> {
        let per_second = match kind {
            Kind::Answer => 600,
            Kind::Stream => 200,
        };
        let every = (connections > 1)
            .then(|| Duration::from_secs(1) * u32::try_from(connections).unwrap_or(1) / per_second);
        let times = agent_runtime()?.block_on(async {
            let lanes = self.lanes(connections, kind).await?;
            let begin = Instant::now();
            let mut running = JoinSet::new();
            for (at, lane) in lanes.into_iter().enumerate() {
                let offset = every.map_or(Duration::ZERO, |every| every * u32::try_from(at).unwrap_or(0))
                    / u32::try_from(connections).unwrap_or(1);
                running.spawn(lane.take_turns(begin + offset, every, begin + LONG));
            }
            let mut all = [Vec::new(), Vec::new()];
            while let Some(times) = running.join_next().await {
                for (all, times) in all.iter_mut().zip(times.map_err(said)??) {
                    all.extend(times);
                }
            }
            Ok::<_, String>(all)
        })?;
        let calls = times[1].len();
        let pick = |pick: fn(&Times) -> Duration| {
            let [direct, through] =
                times.each_ref().map(|times| Quantiles::of(times.iter().map(pick).collect()));
            direct.zip(through).ok_or_else(|| format!("only {calls} calls in {LONG:?}"))
        };
        if kind == Kind::Stream {
            let first = format!("{} first token", name.trim_end_matches(" stream"));
            print_row(&first, pick(|times| times.first)?, ["0.1", "-"], calls);
        }
        print_row(name, pick(|times| times.whole)?, ["0.2", "0.6"], calls);
        Ok(())
    }

    /// Calls on one way for a while, then on the other, and again, as fast as they are answered.
    fn flood(&self, name: &str, connections: usize) -> Result<(), String> {
        const SLICES: u32 = 4;
        let rates = agent_runtime()?.block_on(async {
            let mut lanes = self.lanes(connections, Kind::Answer).await?;
            let mut calls = [0, 0];
            for slice in 0..2 * SLICES {
                let way = usize::from(slice % 2 == 1);
                let until = Instant::now() + LONG / (2 * SLICES);
                let mut running = JoinSet::new();
                for lane in lanes.drain(..) {
                    running.spawn(lane.rush(way, until));
                }
                while let Some(ended) = running.join_next().await {
                    let (lane, count) = ended.map_err(said)??;
                    lanes.push(lane);
                    calls[way] += count;
                }
            }
            Ok::<_, String>(calls.map(|calls| f64::from(calls) / (LONG / 2).as_secs_f64()))
        })?;
        let [direct, through] = rates;
        println!(
            "{name:<28} {direct:>9.0} calls/s directly, {through:.0} through the gateway: {:.2} of them",
            through / direct
        );
        Ok(())
    }

    /// Connections on both ways, all of them warm.
    async fn lanes(&self, connections: usize, kind: Kind) -> Result<Vec<Lane>, String> {
        let mut warming = JoinSet::new();
        for number in 0..connections as u64 {
            let (direct, through) = (Arc::clone(&self.direct), Arc::clone(&self.through));
            let vendor = Arc::clone(&self.vendor);
            warming.spawn(async move {
                let lines = [Line::open(&direct).await?, Line::open(&through).await?];
                let mut lane = Lane { lines, kind, vendor, number, turn: 0 };
                for _ in 0..WARM_UP {
                    lane.call(0).await?;
                    lane.call(1).await?;
                }
                Ok::<_, String>(lane)
            });
        }
        let mut lanes = Vec::new();
        while let Some(lane) = warming.join_next().await {
            lanes.push(lane.map_err(said)??);
        }
        Ok(lanes)
    }
}

fn print_row(name: &str, (direct, through): (Quantiles, Quantiles), budgets: [&str; 2], calls: usize) {
    println!(
        "{name:<28} {:>7.3} {:>7.3} {:>7.3} {:>7.3} {:>7.3} {:>7} {:>7.3} {:>7} {calls:>7}",
        direct.p50,
        direct.p99,
        through.p50,
        through.p99,
        through.p50 - direct.p50,
        budgets[0],
        through.p99 - direct.p99,
        budgets[1],
    );
}

/// One client with a connection on each way: 0 is direct, 1 through the gateway.
struct Lane {
    lines: [Line; 2],
    kind: Kind,
    vendor: Arc<Vendor>,
    number: u64,
    turn: u64,
}

impl Lane {
    async fn call(&mut self, way: usize) -> Result<Times, String> {
        self.turn += 1;
        let body = self.kind.prompt(self.number << 32 | self.turn);
        let line = self.lines.get_mut(way).ok_or("there are two ways")?;
        if self.kind == Kind::Answer {
            return line.call(body, None, || {}).await;
        }
        let gate = format!("{}-{}", self.number, self.turn);
        line.call(body, Some(&gate), || self.vendor.open(&gate)).await
    }

    /// Calls on each way in turn: at once, or at its own times from `next` on.
    async fn take_turns(
        mut self,
        mut next: Instant,
        every: Option<Duration>,
        until: Instant,
    ) -> Result<[Vec<Times>; 2], String> {
        let mut times = [Vec::new(), Vec::new()];
        let mut way = usize::from(self.number % 2 == 1);
        loop {
            if let Some(every) = every {
                tokio::time::sleep_until(next.into()).await;
                // What is late is not made up for: nobody wants a flood.
                next = (next + every).max(Instant::now());
            }
            if Instant::now() >= until {
                return Ok(times);
            }
            let took = self.call(way).await?;
            times[way].push(took);
            way = 1 - way;
        }
    }

    /// Calls on one way as fast as it is answered; says how often.
    async fn rush(mut self, way: usize, until: Instant) -> Result<(Self, u32), String> {
        let mut count = 0;
        while Instant::now() < until {
            self.call(way).await?;
            count += 1;
        }
        Ok((self, count))
    }
}

/// A listener whose connections are copied to another address, byte for byte and in both directions.
fn copier(to: SocketAddr) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Ok(far) = TcpStream::connect(to) else { return };
            for (from, into) in [(near.try_clone(), far.try_clone()), (Ok(far), Ok(near))] {
                let (Ok(mut from), Ok(mut into)) = (from, into) else { return };
                let _ = into.set_nodelay(true);
                std::thread::spawn(move || {
                    // Whoever hangs up ends both directions.
                    let _ = io::copy(&mut from, &mut into);
                    let _ = into.shutdown(Shutdown::Both);
                });
            }
        }
    });
    Ok(address)
}

/// A gateway on a loopback address, on that runtime.
pub(super) fn start(runtime: &Runtime, work: Work) -> Result<Gateway, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(said)?;
    let _entered = runtime.enter();
    Gateway::start(listener, Token::generate().map_err(said)?, work).map_err(said)
}

/// As the commands have it that start a gateway.
pub(super) fn gateway_runtime() -> Result<Runtime, String> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(said)
}

/// One thread for all clients.
pub(super) fn agent_runtime() -> Result<Runtime, String> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(said)
}
