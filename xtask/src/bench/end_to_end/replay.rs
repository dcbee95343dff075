//! Replay: answers per second from a recorded run through a gateway, without a vendor and without
//! recorded pauses.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use reenact_formats::rer::seal::Signer;
use reenact_gateway::{GatewayLimits, GatewayMode, ReplayConfig, ReplayPace, VendorRoute};
use reenact_replay::Player;
use reenact_run::{Run, open};
use reenact_testkit::Vendor as Interface;
use reenact_verify::{Keys, Options};
use tokio::task::JoinSet;

use super::answers::PlayerAnswers;
use super::calls::{BenchCallKind, BenchRun};
use super::connection::{CallTarget, HttpConnection};
use super::error_text;
use super::gateway::{GatewayThread, agent_runtime};
use super::record::exchange;
use reenact_testkit::fixture::TestKey;

/// Number of exchanges in a run; each is answered once in a repetition.
const EXCHANGES: u64 = 2_000;

/// Number of repetitions, of which the fastest counts.
const TURNS: usize = 3;

/// Prints the rows that are asked for, under a table head of their own.
///
/// `load` is the time to index the run before its first answer.
///
/// # Errors
/// If the recorded run does not verify, or if a request is not answered from it.
pub(super) fn rows(folder: &Path, is_selected: impl Fn(&str) -> bool) -> Result<(), String> {
    let mut is_first = true;
    for kind in BenchCallKind::ALL {
        let rows = [1, 64].map(|connections| (format!("replay {connections} {}", kind.name()), connections));
        let selected: Vec<_> = rows.into_iter().filter(|(name, _)| is_selected(name)).collect();
        if selected.is_empty() {
            continue;
        }
        if std::mem::take(&mut is_first) {
            println!("{:<34} {:>10} {:>10} {:>10}", "replay", "exchanges", "load", "answers/s");
        }
        let run = recorded(kind, folder)?;
        for (name, connections) in selected {
            let (mut load, mut took) = (Duration::MAX, Duration::MAX);
            for _ in 0..TURNS {
                let turn = turn(&run, kind, connections).map_err(|error| format!("{name}: {error}"))?;
                (load, took) = (load.min(turn.0), took.min(turn.1));
            }
            println!(
                "{name:<34} {EXCHANGES:>10} {:>7.1} ms {:>10.0}",
                load.as_secs_f64() * 1e3,
                EXCHANGES as f64 / took.as_secs_f64()
            );
        }
    }
    Ok(())
}

/// Records a run of distinct requests of one kind, seals it and opens it.
fn recorded(kind: BenchCallKind, folder: &Path) -> Result<Run, String> {
    let bench_run = BenchRun::start(folder)?;
    let (writer, answer) = (bench_run.event_writer(), kind.answer());
    for turn in 0..EXCHANGES {
        exchange(&writer, &kind.prompt(turn), &answer)?;
    }
    sealed_run(bench_run)
}

/// Seals a run, verifies it and opens it.
pub(super) fn sealed_run(bench_run: BenchRun) -> Result<Run, String> {
    let mut run = None;
    bench_run.seal(1, |sealed, _| {
        let mut keys = Keys::default();
        keys.add_supplied(TestKey::of(7).public_key());
        let opened = open(fs::read(&sealed.path).map_err(error_text)?, &keys, &Options::default());
        if !opened.report.pass() {
            return Err("the recorded run does not verify".into());
        }
        run = Some(opened.run.map_err(error_text)?);
        Ok(())
    })?;
    run.ok_or_else(|| "the recorded run was not sealed".into())
}

/// Replays the run once; returns the time to load it, and the time to answer all requests.
fn turn(run: &Run, kind: BenchCallKind, connections: u64) -> Result<(Duration, Duration), String> {
    let begun = Instant::now();
    let player = Arc::new(Player::load(run).map_err(error_text)?);
    let load = begun.elapsed();
    // No request goes there.
    let upstream = "http://vendor.invalid/v1".parse().map_err(error_text)?;
    let work = GatewayMode::Replay(ReplayConfig {
        answers: Arc::new(PlayerAnswers(Arc::clone(&player))),
        pace: ReplayPace::Instant,
        routes: vec![VendorRoute::to(Interface::OPENAI, upstream)],
        limits: GatewayLimits::default(),
    });
    let thread = GatewayThread::spawn()?;
    let gateway = thread.start(work)?;
    let address = CallTarget::of_gateway(&gateway)?;
    let prompts: Arc<Vec<_>> = Arc::new((0..EXCHANGES).map(|turn| kind.prompt(turn)).collect());
    let took = agent_runtime()?.block_on(async {
        let mut lines = Vec::new();
        for _ in 0..connections {
            lines.push(HttpConnection::open(&address).await?);
        }
        let next = Arc::new(AtomicU64::new(0));
        let begun = Instant::now();
        let mut running = JoinSet::new();
        for mut line in lines {
            let (prompts, next) = (Arc::clone(&prompts), Arc::clone(&next));
            running.spawn(async move {
                loop {
                    let turn = usize::try_from(next.fetch_add(1, Ordering::Relaxed)).map_err(error_text)?;
                    let Some(prompt) = prompts.get(turn) else { return Ok::<_, String>(()) };
                    line.call(prompt.clone(), None, || {}).await?;
                }
            });
        }
        while let Some(ended) = running.join_next().await {
            ended.map_err(error_text)??;
        }
        Ok::<_, String>(begun.elapsed())
    })?;
    thread.stop(gateway)?;
    let outcome = player.outcome();
    if outcome.hits() as u64 != EXCHANGES {
        return Err(format!("{} of {EXCHANGES} requests were answered from the run", outcome.hits()));
    }
    Ok((load, took))
}
