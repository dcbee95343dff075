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
//! `policy` is the same call under an envelope that is enforced, with every limit set and none reached; `tool` is an agent's
//! turn that brings the result of a tool and asks for the next. Each has two rows: what the gateway adds to a direct call,
//! as above, and (`beyond`) what the envelope adds to a gateway that only watches. Three ways are called in turn for that.
//!
//! The first event of a stream comes alone, as at a real vendor.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use reenact_gateway::{Environment, Gateway, Limits, Recording, Route, Token, Work};
use reenact_record::Durability;
use reenact_testkit::{Kind as Interface, Vendor};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::agent::{Address, Times};
use super::lane::Lane;
use super::scene::{Book, Kind, OPEN, script};
use super::{Quantiles, said};

/// How many connections there are at a time.
const CONNECTIONS: [usize; 2] = [1, 64];

/// How long each row is measured.
const LONG: Duration = Duration::from_secs(4);

/// What is measured in a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    Calls(Kind),
    Copied(Kind),
    /// Nothing is acknowledged before the disk has it.
    Durable,
    /// An envelope is enforced.
    Enforced(Kind),
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
                let enforced = [Kind::Answer, Kind::Stream, Kind::Tool];
                asked.extend(enforced.map(|kind| {
                    (
                        format!("gateway policy {connections} {}", kind.name()),
                        connections,
                        Row::Enforced(kind),
                    )
                }));
            }
        }
        asked.retain(|(name, ..)| is_asked_for(name));
        for (name, connections, row) in asked {
            if std::mem::take(&mut is_first) {
                println!(
                    "{:<34} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}",
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
            let flight = match row {
                Row::Calls(_) | Row::Flood => Flight::start(folder, is_tls)?.watched()?,
                Row::Copied(_) => Flight::start(folder, is_tls)?.copied()?,
                Row::Durable => Flight::start(folder, is_tls)?.durable()?,
                Row::Enforced(_) => Flight::start(folder, is_tls)?.watched()?.enforced()?,
            };
            let measured = match row {
                Row::Durable => flight.calls(&name, connections, Kind::Answer),
                Row::Calls(kind) | Row::Copied(kind) | Row::Enforced(kind) => {
                    flight.calls(&name, connections, kind)
                }
                Row::Flood => flight.flood(&name, connections),
            };
            measured.and(flight.land()).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(())
}

/// A vendor, and the ways to it.
struct Flight<'f> {
    folder: &'f Path,
    vendor: Arc<Vendor>,
    /// The first is direct.
    ways: Vec<Arc<Address>>,
    posts: Vec<Post>,
}

/// A gateway on one of the ways, and the run that it records.
struct Post {
    gateway: Gateway,
    home: Home,
    book: Book,
}

impl<'f> Flight<'f> {
    /// With the direct way only.
    fn start(folder: &'f Path, is_tls: bool) -> Result<Self, String> {
        let vendor = if is_tls { Vendor::start_tls(script()) } else { Vendor::start(script()) };
        let vendor = vendor.map_err(said)?;
        vendor.open(OPEN);
        let direct = Address::of_vendor(&vendor)?;
        Ok(Self { folder, vendor: Arc::new(vendor), ways: vec![direct], posts: Vec::new() })
    }

    /// And one through a program that copies.
    fn copied(mut self) -> Result<Self, String> {
        let copier = copier(self.vendor.address()).map_err(said)?;
        self.ways.extend(self.ways.first().map(|direct| direct.by_way_of(copier)));
        Ok(self)
    }

    /// And one through a gateway that watches.
    fn watched(self) -> Result<Self, String> {
        let book = Book::open(self.folder)?;
        self.through(book, Durability::Process)
    }

    /// And one through a gateway that watches, and waits for the disk.
    fn durable(self) -> Result<Self, String> {
        let book = Book::open(self.folder)?;
        self.through(book, Durability::Machine)
    }

    /// And one through a gateway that enforces an envelope.
    fn enforced(self) -> Result<Self, String> {
        let book = Book::open_enforced(self.folder)?;
        self.through(book, Durability::Process)
    }

    fn through(mut self, book: Book, durability: Durability) -> Result<Self, String> {
        let mut environment = Environment::default();
        if let Some(authority) = self.vendor.authority_pem() {
            let path = self.folder.join("authority.pem");
            fs::write(&path, authority).map_err(said)?;
            environment.ssl_cert_file = Some(path);
        }
        let upstream = self.vendor.base_url(Interface::OPENAI).parse().map_err(said)?;
        let routes = vec![Route::to(Interface::OPENAI, upstream)];
        let work = Work::Record(Box::new(Recording {
            pen: book.pen(),
            log: book.log()?,
            durability,
            policy: book.policy(),
            routes,
            environment,
            limits: Limits::default(),
        }));
        let home = Home::build()?;
        let gateway = home.start(work)?;
        self.ways.push(Address::of_gateway(&gateway)?);
        self.posts.push(Post { gateway, home, book });
        Ok(self)
    }

    /// Ends it all. A call that was not recorded would not count.
    fn land(self) -> Result<(), String> {
        for Post { gateway, home, book } in self.posts {
            home.stop(gateway)?;
            drop(book);
        }
        Ok(())
    }

    /// Calls on all ways in turn.
    fn calls(&self, name: &str, connections: usize, kind: Kind) -> Result<(), String> {
        let per_second = match kind {
            Kind::Answer | Kind::Tool => 600,
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
            let mut all = vec![Vec::new(); self.ways.len()];
            while let Some(times) = running.join_next().await {
                for (all, times) in all.iter_mut().zip(times.map_err(said)??) {
                    all.extend(times);
                }
            }
            Ok::<_, String>(all)
        })?;
        self.print(name, kind, &times)
    }

    /// What the last way adds to the direct one; and, where there is one between them, what it adds to that.
    fn print(&self, name: &str, kind: Kind, times: &[Vec<Times>]) -> Result<(), String> {
        let [direct, between @ .., last] = times else { return Err("there is one way only".into()) };
        let calls = last.len();
        let quantiles = |times: &[Times], pick: fn(&Times) -> Duration| {
            let quantiles = Quantiles::of(times.iter().map(pick).collect());
            quantiles.ok_or_else(|| format!("only {calls} calls in {LONG:?}"))
        };
        let row = |name: &str, pick: fn(&Times) -> Duration, budgets: [&str; 2]| {
            print_row(name, (quantiles(direct, pick)?, quantiles(last, pick)?), budgets, calls);
            for before in between {
                let (before, last) = (quantiles(before, pick)?, quantiles(last, pick)?);
                print_row(&format!("{name} beyond"), (before, last), ["-", "-"], calls);
            }
            Ok::<_, String>(())
        };
        if kind == Kind::Stream {
            let first = format!("{} first token", name.trim_end_matches(" stream"));
            row(&first, |times| times.first, ["0.1", "-"])?;
        }
        row(name, |times| times.whole, ["0.2", "0.6"])
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
            "{name:<34} {direct:>9.0} calls/s directly, {through:.0} through the gateway: {:.2} of them",
            through / direct
        );
        Ok(())
    }

    /// Connections on all ways, all of them warm.
    async fn lanes(&self, connections: usize, kind: Kind) -> Result<Vec<Lane>, String> {
        let mut warming = JoinSet::new();
        for number in 0..connections as u64 {
            let (ways, vendor) = (self.ways.clone(), Arc::clone(&self.vendor));
            warming.spawn(Lane::open(number, ways, kind, vendor));
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
        "{name:<34} {:>7.3} {:>7.3} {:>7.3} {:>7.3} {:>7.3} {:>7} {:>7.3} {:>7} {calls:>7}",
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

/// Where a gateway lives: a thread for it alone, as in the commands that start one. At a user's, its clients are other processes.
pub(super) struct Home {
    runtime: Handle,
    leave: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Home {
    pub(super) fn build() -> Result<Self, String> {
        let runtime = agent_runtime()?;
        let (leave, left) = oneshot::channel();
        let handle = runtime.handle().clone();
        let driven = move || {
            let _ = runtime.block_on(left);
        };
        let thread = std::thread::Builder::new().name("gateway".into()).spawn(driven).map_err(said)?;
        Ok(Self { runtime: handle, leave, thread })
    }

    /// A gateway on a loopback address.
    pub(super) fn start(&self, work: Work) -> Result<Gateway, String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(said)?;
        let _entered = self.runtime.enter();
        Gateway::start(listener, Token::generate().map_err(said)?, work).map_err(said)
    }

    /// Ends a gateway, and everything here.
    pub(super) fn stop(self, gateway: Gateway) -> Result<(), String> {
        let stopped = self.runtime.block_on(gateway.stop()).map_err(said);
        let _ = self.leave.send(());
        self.thread.join().map_err(|_| "the gateway's thread panicked")?;
        stopped
    }
}

/// One thread for all clients.
pub(super) fn agent_runtime() -> Result<Runtime, String> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(said)
}
