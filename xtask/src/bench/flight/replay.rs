//! How many answers a second a recorded run gives back through a gateway, with no vendor behind it and no waiting.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use reenact_formats::rer::seal::Signer;
use reenact_gateway::{Limits, Pace, Replaying, Route, Work};
use reenact_replay::Player;
use reenact_run::{Run, open};
use reenact_testkit::Kind as Interface;
use reenact_verify::{Keys, Options};
use tokio::task::JoinSet;

use super::agent::{Address, Line};
use super::answers::RecordedRun;
use super::gateway::{Home, agent_runtime};
use super::record::exchange;
use super::said;
use super::scene::{Book, Kind};
use reenact_testkit::fixture::TestKey;

/// How many exchanges a run holds; each of them is answered once in a turn.
const EXCHANGES: u64 = 2_000;

/// The fastest of so many turns counts.
const TURNS: usize = 3;

/// Every row that is asked for, under a head of their own.
pub(super) fn rows(folder: &Path, is_asked_for: impl Fn(&str) -> bool) -> Result<(), String> {
    let mut is_first = true;
    for kind in Kind::ALL {
        let rows = [1, 64].map(|connections| (format!("replay {connections} {}", kind.name()), connections));
        let asked: Vec<_> = rows.into_iter().filter(|(name, _)| is_asked_for(name)).collect();
        if asked.is_empty() {
            continue;
        }
        if std::mem::take(&mut is_first) {
            println!("{:<34} {:>10} {:>10} {:>10}", "replay", "exchanges", "load", "answers/s");
        }
        let run = recorded(kind, folder)?;
        for (name, connections) in asked {
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

/// A run of different requests of one kind, sealed and opened.
fn recorded(kind: Kind, folder: &Path) -> Result<Run, String> {
    let book = Book::open(folder)?;
    let (pen, answer) = (book.pen(), kind.answer());
    for turn in 0..EXCHANGES {
        exchange(&pen, &kind.prompt(turn), &answer)?;
    }
    let mut run = None;
    book.seal(1, |sealed, _| {
        let mut keys = Keys::default();
        keys.supply(TestKey::of(7).public_key());
        let opened = open(fs::read(&sealed.path).map_err(said)?, &keys, &Options::default());
        if !opened.report.pass() {
            return Err("the recorded run does not verify".into());
        }
        run = Some(opened.run.map_err(said)?);
        Ok(())
    })?;
    run.ok_or_else(|| "the recorded run was not sealed".into())
}

/// Plays the run once: how long it took to load, and to be asked for everything.
fn turn(run: &Run, kind: Kind, connections: u64) -> Result<(Duration, Duration), String> {
    let begun = Instant::now();
    let player = Arc::new(Player::load(run).map_err(said)?);
    let load = begun.elapsed();
    // Nobody goes there.
    let upstream = "http://vendor.invalid/v1".parse().map_err(said)?;
    let work = Work::Replay(Replaying {
        answers: Arc::new(RecordedRun(Arc::clone(&player))),
        pace: Pace::Instant,
        routes: vec![Route::to(Interface::OPENAI, upstream)],
        limits: Limits::default(),
    });
    let home = Home::build()?;
    let gateway = home.start(work)?;
    let address = Address::of_gateway(&gateway)?;
    let prompts: Arc<Vec<_>> = Arc::new((0..EXCHANGES).map(|turn| kind.prompt(turn)).collect());
    let took = agent_runtime()?.block_on(async {
        let mut lines = Vec::new();
        for _ in 0..connections {
            lines.push(Line::open(&address).await?);
        }
        let next = Arc::new(AtomicU64::new(0));
        let begun = Instant::now();
        let mut running = JoinSet::new();
        for mut line in lines {
            let (prompts, next) = (Arc::clone(&prompts), Arc::clone(&next));
            running.spawn(async move {
                loop {
                    let turn = usize::try_from(next.fetch_add(1, Ordering::Relaxed)).map_err(said)?;
                    let Some(prompt) = prompts.get(turn) else { return Ok::<_, String>(()) };
                    line.call(prompt.clone(), None, || {}).await?;
                }
            });
        }
        while let Some(ended) = running.join_next().await {
            ended.map_err(said)??;
        }
        Ok::<_, String>(begun.elapsed())
    })?;
    home.stop(gateway)?;
    let outcome = player.conclude();
    if outcome.hits as u64 != EXCHANGES {
        return Err(format!("{} of {EXCHANGES} requests were answered from the run", outcome.hits));
    }
    Ok((load, took))
}
