//! Requests from many threads at once: each gets its own answer, and no answer is served twice.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;

use reenact_replay::{FoundBy, Player, ReplayOutcome};
use reenact_testkit::fixture::{ModelRequest, RunBuilder};
use support::{OpenRun as _, body_text, chat, hit, miss};

const THREADS: usize = 16;
const ROUNDS: usize = 20;

#[test]
fn sixteen_at_once() {
    let mut builder = RunBuilder::started();
    for thread in 0..THREADS {
        for round in 0..ROUNDS {
            let step = format!("t{thread}r{round}");
            let body = format!(r#"{{"thread":{thread},"round":{round}}}"#);
            builder = builder
                .called(&step, &ModelRequest { body: &body, ..ModelRequest::CHAT })
                .returned(&step, &step);
            let step = format!("same-{thread}-{round}");
            builder = builder
                .called(&step, &ModelRequest { body: "same", ..ModelRequest::CHAT })
                .returned(&step, &step);
        }
    }
    let player = Player::load(&builder.run()).unwrap();
    let start = Barrier::new(THREADS);
    let play = |thread: usize| {
        start.wait();
        let mut same = Vec::new();
        for round in 0..ROUNDS {
            let body = format!(r#"{{"thread":{thread},"round":{round}}}"#);
            assert_eq!(body_text(&hit(&player, &chat(&body))), format!("t{thread}r{round}"));
            same.push(body_text(&hit(&player, &chat("same"))));
        }
        same
    };
    let given: Vec<Vec<String>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || play(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    // Each of the identical answers was served once, and to every thread in recorded order.
    let order: BTreeMap<String, usize> = (0..THREADS)
        .flat_map(|thread| (0..ROUNDS).map(move |round| format!("same-{thread}-{round}")))
        .zip(0..)
        .collect();
    for same in &given {
        assert!(same.is_sorted_by_key(|step| order[step]));
    }
    let mut all: Vec<String> = given.into_iter().flatten().collect();
    all.sort();
    assert_eq!(all, order.keys().cloned().collect::<Vec<_>>());
    let hits = 2 * THREADS * ROUNDS;
    assert_eq!(
        player.outcome(),
        ReplayOutcome {
            found_by: Some(FoundBy::Request),
            levels: support::exact(hits),
            ambiguous: hits / 2,
            ..ReplayOutcome::default()
        }
    );
    miss(&player, &chat("same"));
}

#[test]
fn a_player_is_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<Player>();
}
