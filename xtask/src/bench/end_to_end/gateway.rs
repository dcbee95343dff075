//! Latency that a recording gateway adds to a call.
//!
//! The same client calls the same vendor in turn directly and through the gateway, so that both
//! routes meet the same load of the machine. `added` is a difference of percentiles, not a
//! percentile of differences: p99 through the gateway less p99 of direct calls. It tells how the
//! gateway changes the distribution that an agent sees; a slow direct call and the call after it
//! are independent.
//!
//! A single connection calls again as soon as it was answered. Of 64 connections, each calls on its
//! own schedule, at a fixed rate in all: high enough that calls overlap, and low enough that they
//! do not queue for the processor, which would measure the number of processors. Throughput when
//! they do queue is the row `flood`, in calls per second. All calls are made in HTTP/1.1, as the
//! vendors' own clients make them.
//!
//! `copy` is the same call through a program that copies bytes from one socket to the other and
//! does nothing else: the least that any gateway adds on this machine.
//!
//! `disk` is the same call where nothing is acknowledged before the disk has it: it adds two
//! flushes of the disk.
//!
//! `policy` is the same call under an enforced envelope, with every limit set and none reached;
//! `tool` is an agent's turn that brings the result of a tool and asks for the next. Each has two
//! rows: what the gateway adds to a direct call, as above, and (`beyond`) what the envelope adds to
//! a gateway that only records. Three routes are called in turn for that.
//!
//! The first event of a stream comes alone, as at a real vendor.
//!
//! ```text
//! client ─────────────────────► vendor    the direct route of every row
//! client ────► copier ────────► vendor    copy
//! client ────► gateway ───────► vendor    plain, tls, disk, policy
//!                 └─► run folder
//! ```
//!
//! Columns are the median and p99 of direct calls, of calls through the gateway, and of what it adds,
//! each in milliseconds; then the number of calls.
//!
//! Start reading at [`rows`], then [`GatewayBench::calls`].

use std::fs;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use reenact_gateway::{
    Gateway, GatewayLimits, GatewayMode, GatewayToken, NetworkEnvironment, RecordingConfig, VendorRoute,
};
use reenact_record::Durability;
use reenact_testkit::{ScriptedVendor, Vendor as Interface};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::calls::{BenchCallKind, BenchRun, OPEN_GATE, script};
use super::client::BenchClient;
use super::connection::{CallTarget, CallTimes};
use super::{Quantiles, error_text};

/// Numbers of concurrent connections.
const CONNECTIONS: [usize; 2] = [1, 64];

/// Duration of the measurement of a row.
const ROW_DURATION: Duration = Duration::from_secs(4);

/// Subject of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GatewayRow {
    /// Calls through a gateway that records.
    Calls(BenchCallKind),
    /// Calls through a program that copies bytes.
    Copied(BenchCallKind),
    /// Calls through a gateway that acknowledges nothing before the disk has it.
    Durable,
    /// Calls through a gateway that enforces an envelope.
    Enforced(BenchCallKind),
    /// Throughput of as many calls as possible.
    Flood,
}

/// Prints the rows that are asked for, under a table head of their own.
///
/// # Errors
/// If a vendor or a gateway cannot be started, or if a call fails.
pub(super) fn rows(folder: &Path, is_selected: impl Fn(&str) -> bool) -> Result<(), String> {
    let mut is_first = true;
    for is_tls in [false, true] {
        let transport = if is_tls { "tls" } else { "plain" };
        let mut selected = Vec::new();
        for connections in CONNECTIONS {
            let calls = BenchCallKind::ALL.map(|kind| (kind.name(), GatewayRow::Calls(kind)));
            let flood = (connections > 1).then_some(("flood", GatewayRow::Flood));
            let rows = calls.into_iter().chain(flood);
            selected.extend(
                rows.map(|(name, row)| {
                    (format!("gateway {transport} {connections} {name}"), connections, row)
                }),
            );
            if !is_tls {
                let copied = BenchCallKind::ALL.map(|kind| (kind.name(), GatewayRow::Copied(kind)));
                selected.extend(
                    copied
                        .map(|(name, row)| (format!("gateway copy {connections} {name}"), connections, row)),
                );
                selected.push((
                    format!("gateway disk {connections} answer"),
                    connections,
                    GatewayRow::Durable,
                ));
                let enforced = [BenchCallKind::Answer, BenchCallKind::Stream, BenchCallKind::Tool];
                selected.extend(enforced.map(|kind| {
                    (
                        format!("gateway policy {connections} {}", kind.name()),
                        connections,
                        GatewayRow::Enforced(kind),
                    )
                }));
            }
        }
        selected.retain(|(name, ..)| is_selected(name));
        for (name, connections, row) in selected {
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
            let bench = match row {
                GatewayRow::Calls(_) | GatewayRow::Flood => {
                    GatewayBench::start(folder, is_tls)?.with_gateway()?
                }
                GatewayRow::Copied(_) => GatewayBench::start(folder, is_tls)?.with_copier()?,
                GatewayRow::Durable => GatewayBench::start(folder, is_tls)?.with_durable_gateway()?,
                GatewayRow::Enforced(_) => {
                    GatewayBench::start(folder, is_tls)?.with_gateway()?.with_enforcing_gateway()?
                }
            };
            let measured = match row {
                GatewayRow::Durable => bench.calls(&name, connections, BenchCallKind::Answer),
                GatewayRow::Calls(kind) | GatewayRow::Copied(kind) | GatewayRow::Enforced(kind) => {
                    bench.calls(&name, connections, kind)
                }
                GatewayRow::Flood => bench.flood(&name, connections),
            };
            measured.and(bench.stop_all()).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(())
}

/// Vendor with the routes to it.
struct GatewayBench<'f> {
    /// Folder for the recorded runs.
    folder: &'f Path,
    /// Vendor that answers all calls.
    vendor: Arc<ScriptedVendor>,
    /// Routes to the vendor; the first is direct.
    routes: Vec<Arc<CallTarget>>,
    /// Gateways to stop at the end.
    gateways: Vec<RecordingGateway>,
}

/// Gateway on one of the routes, with the run that it records.
struct RecordingGateway {
    gateway: Gateway,
    thread: GatewayThread,
    run: BenchRun,
}

impl<'f> GatewayBench<'f> {
    /// Starts the vendor, with the direct route only.
    fn start(folder: &'f Path, is_tls: bool) -> Result<Self, String> {
        let vendor =
            if is_tls { ScriptedVendor::start_tls(script()) } else { ScriptedVendor::start(script()) };
        let vendor = vendor.map_err(error_text)?;
        vendor.open_gate(OPEN_GATE);
        let direct = CallTarget::of_vendor(&vendor)?;
        Ok(Self { folder, vendor: Arc::new(vendor), routes: vec![direct], gateways: Vec::new() })
    }

    /// Adds a route through a program that copies.
    fn with_copier(mut self) -> Result<Self, String> {
        let copier = spawn_copier(self.vendor.address()).map_err(error_text)?;
        self.routes.extend(self.routes.first().map(|direct| direct.via(copier)));
        Ok(self)
    }

    /// Adds a route through a gateway that records.
    fn with_gateway(self) -> Result<Self, String> {
        let run = BenchRun::start(self.folder)?;
        self.with_recording(run, Durability::Process)
    }

    /// Adds a route through a gateway that records and waits for the disk.
    fn with_durable_gateway(self) -> Result<Self, String> {
        let run = BenchRun::start(self.folder)?;
        self.with_recording(run, Durability::Machine)
    }

    /// Adds a route through a gateway that enforces an envelope.
    fn with_enforcing_gateway(self) -> Result<Self, String> {
        let run = BenchRun::start_enforced(self.folder)?;
        self.with_recording(run, Durability::Process)
    }

    /// Adds a route through a gateway that records into a run.
    fn with_recording(mut self, run: BenchRun, durability: Durability) -> Result<Self, String> {
        let mut environment = NetworkEnvironment::default();
        if let Some(authority) = self.vendor.authority_pem() {
            let path = self.folder.join("authority.pem");
            fs::write(&path, authority).map_err(error_text)?;
            environment.ssl_cert_file = Some(path);
        }
        let upstream = self.vendor.base_url(Interface::OPENAI).parse().map_err(error_text)?;
        let routes = vec![VendorRoute::to(Interface::OPENAI, upstream)];
        let work = GatewayMode::Record(Box::new(RecordingConfig {
            writer: run.event_writer(),
            log: run.open_wal()?,
            durability,
            policy: run.policy(),
            routes,
            environment,
            limits: GatewayLimits::default(),
            fork: None,
        }));
        let thread = GatewayThread::spawn()?;
        let gateway = thread.start(work)?;
        self.routes.push(CallTarget::of_gateway(&gateway)?);
        self.gateways.push(RecordingGateway { gateway, thread, run });
        Ok(self)
    }

    /// Stops all gateways.
    ///
    /// # Errors
    /// If a gateway could not record a call: a call that was not recorded would not count.
    fn stop_all(self) -> Result<(), String> {
        for RecordingGateway { gateway, thread, run } in self.gateways {
            thread.stop(gateway)?;
            drop(run);
        }
        Ok(())
    }

    /// Measures calls on all routes in turn, and prints their rows.
    fn calls(&self, name: &str, connections: usize, kind: BenchCallKind) -> Result<(), String> {
        let per_second = match kind {
            BenchCallKind::Answer | BenchCallKind::Tool => 600,
            BenchCallKind::Stream => 200,
        };
        let every = (connections > 1)
            .then(|| Duration::from_secs(1) * u32::try_from(connections).unwrap_or(1) / per_second);
        let times = agent_runtime()?.block_on(async {
            let lanes = self.open_clients(connections, kind).await?;
            let begin = Instant::now();
            let mut running = JoinSet::new();
            for (at, lane) in lanes.into_iter().enumerate() {
                let offset = every.map_or(Duration::ZERO, |every| every * u32::try_from(at).unwrap_or(0))
                    / u32::try_from(connections).unwrap_or(1);
                running.spawn(lane.take_turns(begin + offset, every, begin + ROW_DURATION));
            }
            let mut all = vec![Vec::new(); self.routes.len()];
            while let Some(times) = running.join_next().await {
                for (all, times) in all.iter_mut().zip(times.map_err(error_text)??) {
                    all.extend(times);
                }
            }
            Ok::<_, String>(all)
        })?;
        self.print(name, kind, &times)
    }

    /// Prints what the last route adds to the direct one and, if there is a route between them,
    /// what it adds to that.
    fn print(&self, name: &str, kind: BenchCallKind, times: &[Vec<CallTimes>]) -> Result<(), String> {
        let [direct, between @ .., last] = times else { return Err("there is one way only".into()) };
        let calls = last.len();
        let quantiles = |times: &[CallTimes], pick: fn(&CallTimes) -> Duration| {
            let quantiles = Quantiles::of(times.iter().map(pick).collect());
            quantiles.ok_or_else(|| format!("only {calls} calls in {ROW_DURATION:?}"))
        };
        let row = |name: &str, pick: fn(&CallTimes) -> Duration, budgets: [&str; 2]| {
            print_row(name, (quantiles(direct, pick)?, quantiles(last, pick)?), budgets, calls);
            for before in between {
                let (before, last) = (quantiles(before, pick)?, quantiles(last, pick)?);
                print_row(&format!("{name} beyond"), (before, last), ["-", "-"], calls);
            }
            Ok::<_, String>(())
        };
        // Rows under an envelope have a route between, and a budget of their own.
        let [median, tail] = if between.is_empty() { ["0.1", "0.4"] } else { ["0.2", "0.6"] };
        if kind == BenchCallKind::Stream {
            let first = format!("{} first token", name.trim_end_matches(" stream"));
            row(&first, |times| times.first, [median, "-"])?;
        }
        row(name, |times| times.whole, [median, tail])
    }

    /// Measures throughput: calls on one route for a while, then on the other, and again, as fast
    /// as they are answered.
    fn flood(&self, name: &str, connections: usize) -> Result<(), String> {
        /// Number of turns of each route.
        const SLICES: u32 = 4;
        let rates = agent_runtime()?.block_on(async {
            let mut lanes = self.open_clients(connections, BenchCallKind::Answer).await?;
            let mut calls = [0, 0];
            for slice in 0..2 * SLICES {
                let route = usize::from(slice % 2 == 1);
                let until = Instant::now() + ROW_DURATION / (2 * SLICES);
                let mut running = JoinSet::new();
                for lane in lanes.drain(..) {
                    running.spawn(lane.call_until(route, until));
                }
                while let Some(ended) = running.join_next().await {
                    let (lane, count) = ended.map_err(error_text)??;
                    lanes.push(lane);
                    calls[route] += count;
                }
            }
            Ok::<_, String>(calls.map(|calls| f64::from(calls) / (ROW_DURATION / 2).as_secs_f64()))
        })?;
        let [direct, through] = rates;
        println!(
            "{name:<34} {direct:>9.0} calls/s directly, {through:.0} through the gateway: {:.2} of them",
            through / direct
        );
        Ok(())
    }

    /// Opens clients with connections on all routes, and warms them up.
    async fn open_clients(
        &self,
        connections: usize,
        kind: BenchCallKind,
    ) -> Result<Vec<BenchClient>, String> {
        let mut warming = JoinSet::new();
        for number in 0..connections as u64 {
            let (targets, vendor) = (self.routes.clone(), Arc::clone(&self.vendor));
            warming.spawn(BenchClient::open(number, targets, kind, vendor));
        }
        let mut lanes = Vec::new();
        while let Some(lane) = warming.join_next().await {
            lanes.push(lane.map_err(error_text)??);
        }
        Ok(lanes)
    }
}

/// Prints one line of the table.
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

/// Starts a listener whose connections are copied to another address, byte for byte and in both
/// directions.
fn spawn_copier(to: SocketAddr) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Ok(far) = TcpStream::connect(to) else { return };
            for (from, into) in [(near.try_clone(), far.try_clone()), (Ok(far), Ok(near))] {
                let (Ok(mut from), Ok(mut into)) = (from, into) else { return };
                let _ = into.set_nodelay(true);
                std::thread::spawn(move || {
                    // The end of one direction ends both.
                    let _ = io::copy(&mut from, &mut into);
                    let _ = into.shutdown(Shutdown::Both);
                });
            }
        }
    });
    Ok(address)
}

/// Thread with a runtime for one gateway alone, as in the commands that start one: a user's clients
/// are other processes.
pub(super) struct GatewayThread {
    runtime: Handle,
    /// Ends the thread.
    stop_sender: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl GatewayThread {
    /// Starts the thread.
    pub(super) fn spawn() -> Result<Self, String> {
        let runtime = agent_runtime()?;
        let (leave, left) = oneshot::channel();
        let handle = runtime.handle().clone();
        let driven = move || {
            let _ = runtime.block_on(left);
        };
        let thread = std::thread::Builder::new().name("gateway".into()).spawn(driven).map_err(error_text)?;
        Ok(Self { runtime: handle, stop_sender: leave, thread })
    }

    /// Starts a gateway on a loopback address.
    pub(super) fn start(&self, work: GatewayMode) -> Result<Gateway, String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(error_text)?;
        let _entered = self.runtime.enter();
        Gateway::start(listener, GatewayToken::generate().map_err(error_text)?, work).map_err(error_text)
    }

    /// Stops the gateway and the thread.
    ///
    /// # Errors
    /// If the gateway could not record everything, or if its thread panicked.
    pub(super) fn stop(self, gateway: Gateway) -> Result<(), String> {
        let stopped = self.runtime.block_on(gateway.stop()).map_err(error_text);
        let _ = self.stop_sender.send(());
        self.thread.join().map_err(|_| "the gateway's thread panicked")?;
        stopped
    }
}

/// Creates a runtime with one thread, for all clients or for one gateway.
pub(super) fn agent_runtime() -> Result<Runtime, String> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(error_text)
}
