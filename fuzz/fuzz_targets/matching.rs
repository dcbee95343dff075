//! Two texts, or one text with words of it exchanged, as the body of a recorded request and of one that comes in a replay.
//!
//! Nothing panics; equal bodies are exact; a request that was found at `ids` is the recorded one but for digits, for letters that
//! hexadecimal digits have, and for members that change no answer, by a plain comparison of trees; and one found at `moved` keeps
//! the kinds and the numbers of all its values.
#![no_main]

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use libfuzzer_sys::fuzz_target;
use reenact_replay::{MatchLevel, MatchOptions, Player, PlayerReply, PlayerRequest};
use reenact_run::open;
use reenact_testkit::fixture::{ModelRequest, RunBuilder, TestKey};
use reenact_verify::{Keys, Options};
use serde_json::Value;

/// Members of chat requests that do not count.
const FREE: [&str; 4] = ["metadata", "user", "safety_identifier", "prompt_cache_key"];

/// Words of which each stands for the next in the request that comes.
const WORDS: [(&str, &str); 6] = [
    ("2026-05-13", "2026-05-20"),
    ("0196c9a2-1111-7000-8000-000000000001", "0196c9a2-2222-7000-8000-000000000002"),
    ("12:34:00", "09:05:00"),
    ("0.12s", "3.4s"),
    ("Wed May 13 2026", "Wed May 20 2026"),
    ("8080", "9090"),
];

fuzz_target!(|input: &[u8]| {
    let [how, rest @ ..] = input else { return };
    let Ok(text) = core::str::from_utf8(rest) else { return };
    let (recorded, asked) = match text.split_once('\0') {
        Some((recorded, asked)) => (recorded.to_owned(), asked.to_owned()),
        None => {
            let mut asked = text.to_owned();
            for (at, (from, to)) in WORDS.iter().enumerate() {
                if how >> at & 1 == 1 {
                    asked = asked.replace(from, to);
                }
            }
            (text.to_owned(), asked)
        }
    };
    // The fixture takes plain text alone.
    if recorded.contains(|c: char| c.is_control() && c != '\n') {
        return;
    }
    let request = ModelRequest { body: &recorded, ..ModelRequest::CHAT };
    let run = RunBuilder::started().called("s0", &request).returned("s0", "ok").ended(0);
    let Ok(run) = open(run.seal(&TestKey::of(1)), &Keys::default(), &Options::default()).run else { return };
    let Ok(player) = Player::load(&run) else { return };
    let options = MatchOptions {
        last_level: MatchLevel::ALL[usize::from(how >> 6) + 1],
        // 2026-05-20T09:05:00Z.
        clock: Arc::new(|| UNIX_EPOCH + Duration::from_secs(1_779_267_900)),
        utc_offset: Some(60),
        ..MatchOptions::default()
    };
    let last = options.last_level;
    let player = player.with_options(options);
    let headers: [(&str, &[u8]); 1] = [("content-type", b"application/json")];
    let path = "/v1/chat/completions";
    let request = PlayerRequest { provider: "openai", method: "POST", path, headers: &headers, body: asked.as_bytes() };
    let reply = player.answer(&request);
    let outcome = player.outcome();
    let PlayerReply::Hit(_) = reply else {
        // Masks are of the rules, which both sides have: only a text that holds a mark may be another one.
        assert!(recorded != asked || recorded.contains("[masked:") || outcome.misses.len() == 1);
        return;
    };
    let level = outcome.levels.last().expect("a hit has a level");
    assert!(level <= last);
    if recorded == asked {
        assert_eq!(level, MatchLevel::Exact);
    }
    let trees = (serde_json::from_str::<Value>(&recorded), serde_json::from_str::<Value>(&asked));
    let (Ok(recorded), Ok(asked)) = trees else { return };
    match level {
        MatchLevel::Ids => assert_eq!(plain(recorded, 0, letters), plain(asked, 0, letters)),
        MatchLevel::Moved => assert_eq!(plain(recorded, 0, kind), plain(asked, 0, kind)),
        _ => {}
    }
});

/// Returns a tree without the members that do not count, its texts as `text` leaves them.
fn plain(value: Value, depth: usize, text: fn(&str) -> String) -> Value {
    match value {
        Value::Object(members) => {
            let counts = |name: &str| !(name == "cache_control" || depth == 0 && FREE.contains(&name));
            let members = members.into_iter().filter(|(name, _)| counts(name));
            Value::Object(members.map(|(name, member)| (name, plain(member, depth + 1, text))).collect())
        }
        Value::Array(elements) => {
            Value::Array(elements.into_iter().map(|element| plain(element, depth + 1, text)).collect())
        }
        Value::String(string) => Value::String(text(&string)),
        Value::Number(number) => Value::String(text(&number.to_string())),
        other => other,
    }
}

/// Returns a text without its hexadecimal digits and without marks, whose numbers are given anew.
fn letters(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_hexdigit()).collect()
}

/// Returns nothing: the value counts by its kind alone.
fn kind(_: &str) -> String {
    String::new()
}
