//! Properties of the levels: what may differ is excused whatever surrounds it, and nothing else ever is.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;
use proptest::sample::Index;
use reenact_replay::{MatchLevel, MatchOptions, Player, PlayerReply};
use reenact_testkit::fixture::{ModelRequest, RunBuilder};
use support::{OpenRun as _, chat};

/// 2026-05-20T09:05:00Z.
const REPLAY_TIME: u64 = 1_779_267_900;

/// Word of a text: the recorded spelling, and that of the replay.
#[derive(Debug, Clone)]
struct Word {
    recorded: String,
    asked: String,
}

/// Message: role, and words.
type Message = (&'static str, Vec<Word>);

fn same(text: impl Into<String>) -> Word {
    let text = text.into();
    Word { recorded: text.clone(), asked: text }
}

/// Words that are equal in both runs, near to those that may differ.
fn fixed_word() -> impl Strategy<Value = Word> {
    prop_oneof![
        "[a-zé]{1,6}".prop_map(same),
        (1024..u16::MAX).prop_map(|port| same(format!("port {port}"))),
        (1..29).prop_map(|day| same(format!("2027-03-{day:02}"))),
        (1..60).prop_map(|seconds| same(format!("wait {seconds}s"))),
        "[0-9a-f]{32}".prop_map(same),
    ]
}

/// Words that may differ in any text: a uuid by its number, and dates and times of the two runs.
fn moving_word() -> impl Strategy<Value = Word> {
    let uuid = |run: u32, number: u32| format!("{run:08x}-0000-4000-8000-{number:012x}");
    prop_oneof![
        (0..4_u32).prop_map(move |number| Word { recorded: uuid(1, number), asked: uuid(2, number) }),
        Just(Word { recorded: "2026-05-13".into(), asked: "2026-05-20".into() }),
        Just(Word { recorded: "Wed May 13 2026".into(), asked: "Wed May 20 2026".into() }),
        (0..1000_u32).prop_map(|milliseconds| Word {
            recorded: format!("2026-05-13T12:34:00.{:03}Z", 500 + milliseconds / 2),
            asked: format!("2026-05-20T09:05:00.{milliseconds:03}Z"),
        }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let words = prop::collection::vec(prop_oneof![3 => fixed_word(), 1 => moving_word()], 1..8);
    (prop::sample::select(vec!["system", "user"]), words)
}

/// Writes a request; members in the order that `is_reversed` says.
fn body(messages: &[Message], is_asked: bool, is_reversed: bool) -> String {
    let text = |word: &Word| if is_asked { word.asked.clone() } else { word.recorded.clone() };
    let message = |(role, words): &Message| {
        let content = words.iter().map(text).collect::<Vec<_>>().join(" ");
        format!(r#"{{"role":"{role}","content":"{content}"}}"#)
    };
    let messages = messages.iter().map(message).collect::<Vec<_>>().join(",");
    match is_reversed {
        true => format!(r#"{{"messages":[{messages}],"model":"gpt-5"}}"#),
        false => format!(r#"{{"model":"gpt-5","messages":[{messages}]}}"#),
    }
}

fn player(recorded: &str) -> Player {
    let run = RunBuilder::started()
        .called("s0", &ModelRequest { body: recorded, ..ModelRequest::CHAT })
        .returned("s0", "ok")
        .ended(0)
        .run();
    let clock = Arc::new(|| UNIX_EPOCH + Duration::from_millis(REPLAY_TIME * 1000 + 500));
    let player = Player::load(&run).unwrap();
    // A replay lasts: its clock moves on after it began.
    let begun = std::sync::atomic::AtomicBool::new(false);
    let clock = move || {
        let is_later = begun.swap(true, std::sync::atomic::Ordering::Relaxed);
        if is_later { clock() + Duration::from_millis(500) } else { clock() - Duration::from_millis(500) }
    };
    player.with_options(MatchOptions { clock: Arc::new(clock), ..MatchOptions::default() })
}

fn level(recorded: &str, asked: &str) -> Option<MatchLevel> {
    let player = player(recorded);
    match player.answer(&chat(asked)) {
        PlayerReply::Hit(_) => player.outcome().levels.last(),
        PlayerReply::Miss(_) => None,
    }
}

proptest! {
    // A fourth of the words that are picked may differ, and is no case.
    #![proptest_config(ProptestConfig { max_global_rejects: 1 << 20, ..ProptestConfig::default() })]

    /// Uuids one to one, times within their runs, and the order of members: found, and a reproduction.
    #[test]
    fn what_may_differ_is_excused(messages in prop::collection::vec(message(), 1..5), is_reversed: bool) {
        let found = level(&body(&messages, false, false), &body(&messages, true, is_reversed));
        prop_assert!(found.is_some_and(MatchLevel::is_reproduction), "{:?}", found);
    }

    /// One character of one word that may not differ: never found, whatever moved beside it.
    #[test]
    fn nothing_else_is(
        messages in prop::collection::vec(message(), 1..5),
        at in any::<Index>(),
        place in any::<Index>(),
        letter in "[a-z0-9]",
        moves: bool,
    ) {
        let mut asked = messages.clone();
        let all: usize = asked.iter().map(|(_, words)| words.len()).sum();
        let word = asked.iter_mut().flat_map(|(_, words)| words).nth(at.index(all)).unwrap();
        prop_assume!(word.recorded == word.asked);
        let characters: Vec<char> = word.asked.chars().collect();
        let changed = place.index(characters.len());
        word.asked = characters
            .iter()
            .enumerate()
            .map(|(at, c)| if at == changed { letter.clone() } else { c.to_string() })
            .collect();
        prop_assume!(word.asked != word.recorded);
        if !moves {
            for word in asked.iter_mut().flat_map(|(_, words)| words).filter(|word| word.recorded.contains("2026-05")) {
                word.asked.clone_from(&word.recorded);
            }
        }
        prop_assert_eq!(level(&body(&messages, false, false), &body(&asked, true, false)), None);
    }

    /// A request with a word, a message or a member more or less is another request.
    #[test]
    fn more_or_less_is_something_else(messages in prop::collection::vec(message(), 2..5), at in any::<Index>()) {
        let recorded = body(&messages, false, false);
        let mut fewer = messages.clone();
        fewer.remove(at.index(messages.len()));
        prop_assert_eq!(level(&recorded, &body(&fewer, true, false)), None);
        let mut longer = messages.clone();
        longer[at.index(messages.len())].1.push(same("more"));
        prop_assert_eq!(level(&recorded, &body(&longer, true, false)), None);
        let member = body(&messages, true, false).replacen('{', "{\"seed\":1,", 1);
        prop_assert_eq!(level(&recorded, &member), None);
    }
}
