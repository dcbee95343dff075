//! Replay by levels: requests of 100 KB that equal recorded ones, or differ in what a level excuses, without sockets.
//!
//! `load` is the time to index the run, `first` that of the first answer, for which the forms of all requests are read unless it is
//! exact.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use reenact_json::civil;
use reenact_replay::{MatchLevel, Player, PlayerReply, PlayerRequest};
use reenact_run::Run;
use reenact_testkit::reply::long_text;

use super::calls::{BenchCallKind, BenchRun, CREDENTIAL, PATH};
use super::error_text;
use super::record::exchange;
use super::replay::sealed_run;

/// Numbers of exchanges in a run.
const SIZES: [u64; 2] = [2_000, 20_000];

/// Length of the text that each request repeats, in characters.
const TEXT_CHARACTERS: usize = 98_000;

/// Levels that are measured.
const LEVELS: [MatchLevel; 4] = [MatchLevel::Exact, MatchLevel::Ids, MatchLevel::Moved, MatchLevel::Tools];

/// Prints the rows that are asked for, under a table head of their own.
///
/// # Errors
/// If the recorded run does not verify, or if a request is not answered from it at its level.
pub(super) fn rows(folder: &Path, is_selected: impl Fn(&str) -> bool) -> Result<(), String> {
    let mut is_first = true;
    for exchanges in SIZES {
        let rows = LEVELS.map(|level| (format!("replay levels {exchanges} {level}"), level));
        let selected: Vec<_> = rows.into_iter().filter(|(name, _)| is_selected(name)).collect();
        if selected.is_empty() {
            continue;
        }
        if std::mem::take(&mut is_first) {
            println!(
                "{:<34} {:>10} {:>10} {:>10} {:>10}",
                "replay by levels", "exchanges", "load", "first", "answers/s"
            );
        }
        let text = long_text(TEXT_CHARACTERS);
        // The time that each recorded request names.
        let recorded_at = SystemTime::now();
        let run = recorded(exchanges, &text, recorded_at, folder)?;
        for (name, level) in selected {
            let turn = turn(&run, exchanges, &text, recorded_at, level)
                .map_err(|error| format!("{name}: {error}"))?;
            let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
            println!(
                "{name:<34} {exchanges:>10} {:>7.0} ms {:>7.0} ms {:>10.0}",
                milliseconds(turn.load),
                milliseconds(turn.first),
                (exchanges - 1) as f64 / turn.rest.as_secs_f64()
            );
        }
    }
    Ok(())
}

/// Times of one replay.
struct LevelTimes {
    load: Duration,
    first: Duration,
    rest: Duration,
}

/// Returns the body of a request as it is recorded, or as it comes at a level in a replay.
fn body(turn: u64, text: &str, recorded_at: SystemTime, level: MatchLevel) -> String {
    let changes = |from: MatchLevel| level >= from;
    let run = u8::from(changes(MatchLevel::Ids));
    let now = if changes(MatchLevel::Moved) { SystemTime::now() } else { recorded_at };
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let time = civil::date_time(i64::try_from(seconds).unwrap_or_default()).unwrap_or_default();
    let time = String::from_utf8_lossy(&time);
    let result = if changes(MatchLevel::Tools) { "another" } else { "one" };
    format!(
        r#"{{"model":"gpt-5","messages":[{{"role":"user","content":"It is {time}Z, session 0196c9a2-000{run}-7000-8000-{turn:012x}. {text} Question {turn}."}},{{"role":"assistant","content":null,"tool_calls":[{{"id":"call_1","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"call_1","content":"{result} result"}}]}}"#
    )
}

/// Records a run, seals it and opens it.
fn recorded(exchanges: u64, text: &str, at: SystemTime, folder: &Path) -> Result<Run, String> {
    let bench_run = BenchRun::start(folder)?;
    let (writer, answer) = (bench_run.event_writer(), BenchCallKind::Answer.answer());
    for turn in 0..exchanges {
        exchange(&writer, body(turn, text, at, MatchLevel::Exact).as_bytes(), &answer)?;
    }
    sealed_run(bench_run)
}

/// Replays the run once.
fn turn(
    run: &Run,
    exchanges: u64,
    text: &str,
    at: SystemTime,
    level: MatchLevel,
) -> Result<LevelTimes, String> {
    let begun = Instant::now();
    let player = Player::load(run).map_err(error_text)?;
    let load = begun.elapsed();
    let headers: [(&str, &[u8]); 2] =
        [("content-type", b"application/json"), ("authorization", CREDENTIAL.as_bytes())];
    let (mut first, mut rest) = (Duration::ZERO, Duration::ZERO);
    for turn in 0..exchanges {
        let body = body(turn, text, at, level);
        let request = PlayerRequest {
            provider: "openai",
            method: "POST",
            path: PATH,
            headers: &headers,
            body: body.as_bytes(),
        };
        let begun = Instant::now();
        if let PlayerReply::Miss(miss) = player.answer(&request) {
            return Err(miss.to_string());
        }
        *(if turn == 0 { &mut first } else { &mut rest }) += begun.elapsed();
    }
    let found = player.outcome().levels.of(level);
    if found as u64 != exchanges {
        return Err(format!("{found} of {exchanges} requests were found at this level"));
    }
    Ok(LevelTimes { load, first, rest })
}
