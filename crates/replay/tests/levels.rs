//! Levels: which differences between an incoming request and a recorded one are excused, and which never are.
//!
//! The recorded run took place on 2026-05-13 from 12:34:00 on, UTC; the replay on 2026-05-20 from 09:05:00 to 09:05:30.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use reenact_agents::AgentRow;
use reenact_replay::{MatchLevel, MatchOptions, MatchRules, MissCause, Player, PlayerReply, PlayerRequest};
use reenact_testkit::fixture::{ModelRequest, RunBuilder};
use support::{OpenRun as _, chat};

/// 2026-05-20T09:05:00Z.
const REPLAY_START: u64 = 1_779_267_900;

/// Row of an agent that makes up ids, and prints a process group.
const ROW: &str = r#"
name = "agent"
title = "Agent"
[[varies]]
path = "$.input[*].id"
kind = "id"
why = "ids of items"
[[varies]]
path = "$.client_metadata"
kind = "free"
why = "ids of turns"
[[varies]]
path = "$.messages[1].content"
after = "mark="
kind = "free"
why = "a mark"
[[varies]]
path = "$.system"
after = "cch="
kind = "free"
why = "a hash"
[[varies]]
after = "Process Group PGID: "
kind = "number"
why = "the process group"
[[side_call]]
path = "$.messages[0].content"
begins = "Give a title"
why = "the title"
"#;

/// Exchanges of a recorded run: body of the request, and text of the answer.
type Recorded<'a> = &'a [(&'a str, &'a str)];

/// Returns the player of a run of these exchanges, one after the other, by the row of the agent.
fn player(recorded: Recorded<'_>) -> Player {
    player_up_to(recorded, MatchLevel::Tools)
}

fn player_up_to(recorded: Recorded<'_>, last_level: MatchLevel) -> Player {
    let run = recorded.iter().enumerate().fold(RunBuilder::started(), |run, (at, (body, answer))| {
        let step = format!("s{at}");
        let request = ModelRequest { body, ..ModelRequest::CHAT };
        run.called(&step, &request).returned(&step, &said(answer))
    });
    Player::load(&run.ended(0).run()).unwrap().with_options(options(last_level))
}

/// Returns options whose clock shows the start of the replay once, and half a minute later from then on.
fn options(last_level: MatchLevel) -> MatchOptions {
    let row = AgentRow::parse(ROW, Path::new("agent.toml")).unwrap();
    let is_started = std::sync::atomic::AtomicBool::new(false);
    let clock = move || {
        let later = is_started.swap(true, std::sync::atomic::Ordering::Relaxed);
        UNIX_EPOCH + Duration::from_secs(REPLAY_START + if later { 30 } else { 0 })
    };
    MatchOptions {
        last_level,
        rules: MatchRules::new(Some(&row), &[]).unwrap(),
        clock: Arc::new(clock),
        utc_offset: Some(0),
        ..MatchOptions::default()
    }
}

/// Returns the body of an answer with this text.
fn said(text: &str) -> String {
    let text = serde_text(text);
    format!(
        r#"{{"id":"c1","model":"gpt-5","choices":[{{"index":0,"message":{{"role":"assistant","content":{text}}},"finish_reason":"stop"}}]}}"#
    )
}

fn serde_text(text: &str) -> String {
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t")
    )
}

/// Returns a request of one message of the user.
fn user(text: &str) -> String {
    format!(r#"{{"model":"gpt-5","messages":[{{"role":"user","content":{}}}]}}"#, serde_text(text))
}

/// Returns a request that hands over the result of a tool.
fn tool(result: &str) -> String {
    tool_of("call_1", result)
}

fn tool_of(call: &str, result: &str) -> String {
    format!(
        r#"{{"model":"gpt-5","messages":[{{"role":"user","content":"go"}},{{"role":"assistant","tool_calls":[{{"id":"call_1","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"{call}","content":{}}}]}}"#,
        serde_text(result)
    )
}

/// Returns the step and the level at which a request is answered, or `miss` and its cause.
fn answer(player: &Player, body: &str) -> String {
    answer_to(player, &chat(body))
}

fn answer_to(player: &Player, request: &PlayerRequest<'_>) -> String {
    let before = player.outcome().levels;
    match player.answer(request) {
        PlayerReply::Hit(answer) => {
            let after = player.outcome().levels;
            let level =
                MatchLevel::ALL.into_iter().find(|level| after.of(*level) > before.of(*level)).unwrap();
            format!("{} {level}", answer.step_id)
        }
        PlayerReply::Miss(miss) => format!("miss {}", miss.cause.name()),
    }
}

/// Returns how one request is answered by a run of one other.
fn one(recorded: &str, asked: &str) -> String {
    answer(&player(&[(recorded, "ok")]), asked)
}

const U1: &str = "0196c9a2-1111-7000-8000-000000000001";
const U2: &str = "0196c9a2-2222-7000-8000-000000000002";
const U3: &str = "0196c9a2-3333-7000-8000-000000000003";
const U4: &str = "0196c9a2-4444-7000-8000-000000000004";

#[test]
fn spelling_is_no_difference_and_numbers_and_letters_are() {
    assert_eq!(one(&user("hi"), &user("hi")), "s0 exact");
    assert_eq!(
        one(r#"{"model":"m","messages":[]}"#, "{ \"messages\" : [], \"model\" : \"\\u006d\" }"),
        "s0 ids"
    );
    assert_eq!(one(r#"{"temperature":1}"#, r#"{"temperature":1.0}"#), "miss unknown");
    assert_eq!(one(&user("\u{e9}"), &user("e\u{301}")), "miss unknown");
    assert_eq!(one(r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#), "miss unknown");
    assert_eq!(one(r#"{"a":{"b":"c"}}"#, r#"{"a":["b","c"]}"#), "miss unknown");
    // No JSON: only equal bytes are the same.
    assert_eq!(one("2026-05-13", "2026-05-20"), "miss unknown");
}

#[test]
fn declared_leaves_do_not_count() {
    let item = |id: &str, meta: &str| {
        format!(
            r#"{{"model":"m","input":[{{"id":"{id}","text":"t"}},{{"id":"{id}x","text":"{id}"}}],"client_metadata":{meta}}}"#
        )
    };
    // The row names places; elsewhere the same text counts.
    assert_eq!(one(&item("msg_a1", "{}"), &item("msg_b2", r#"{"turn":7}"#)), "miss unknown");
    let plain = |id: &str, other: &str, meta: &str| {
        format!(r#"{{"model":"m","input":[{{"id":"{id}"}},{{"id":"{other}"}}],"client_metadata":{meta}}}"#)
    };
    assert_eq!(one(&plain("a", "b", "{}"), &plain("c", "d", r#"{"turn":[7]}"#)), "s0 ids");
    // One to one.
    assert_eq!(one(&plain("a", "a", "{}"), &plain("c", "d", "{}")), "miss unknown");
    assert_eq!(one(&plain("a", "b", "{}"), &plain("c", "c", "{}")), "miss unknown");
    assert_eq!(one(r#"{"a":1}"#, r#"{"a":1,"client_metadata":{"x":1}}"#), "s0 ids");
    assert_eq!(one(r#"{"a":1}"#, r#"{"a":1,"b":{"client_metadata":{"x":1}}}"#), "miss unknown");
    let cch = |hash: &str, text: &str| format!(r#"{{"system":"v=1; cch={hash}; {text}"}}"#);
    assert_eq!(one(&cch("b6fff", "t"), &cch("13194", "t")), "s0 ids");
    assert_eq!(one(&cch("b6fff", "t"), &cch("13194", "u")), "miss unknown");
}

#[test]
fn leaves_of_the_protocol_and_of_the_user_do_not_count() {
    let marked = |first: &str, second: &str| {
        format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":[{{"type":"text","text":"a"{first}}},{{"type":"text","text":"b"{second}}}]}}],"metadata":{{"user_id":"u{}"}}}}"#,
            first.len()
        )
    };
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    let messages = |body: &str, asked: &str| {
        let request = ModelRequest {
            provider: "anthropic",
            endpoint: Some("messages"),
            path: "/v1/messages",
            body,
            ..ModelRequest::CHAT
        };
        let run = RunBuilder::started().called("s0", &request).returned("s0", "ok").ended(0).run();
        let player = Player::load(&run).unwrap().with_options(options(MatchLevel::Tools));
        answer_to(&player, &PlayerRequest { provider: "anthropic", path: "/v1/messages", ..chat(asked) })
    };
    assert_eq!(messages(&marked(mark, ""), &marked("", mark)), "s0 ids");
    // A tool that fails now is another result, and nothing else.
    let result = |id: &str, is_error: bool| {
        format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"out","is_error":{is_error}}}]}}]}}"#
        )
    };
    assert_eq!(messages(&result("t1", false), &result("t1", true)), "s0 tools");
    assert_eq!(messages(&result("t1", false), &result("t2", false)), "miss unknown");
    assert_eq!(messages(&marked(mark, ""), &marked("", r#","cache":{"type":"ephemeral"}"#)), "miss unknown");
    // What the user leaves out.
    let run = RunBuilder::started()
        .called("s0", &ModelRequest { body: r#"{"a":1,"seed":7}"#, ..ModelRequest::CHAT })
        .returned("s0", "ok")
        .ended(0)
        .run();
    let ignored = ["$.seed".parse().unwrap()];
    let rules = MatchRules::new(None, &ignored).unwrap();
    let player = |rules| {
        let options = MatchOptions { rules, ..MatchOptions::default() };
        Player::load(&run).unwrap().with_options(options)
    };
    assert_eq!(answer(&player(rules), r#"{"a":1,"seed":8}"#), "s0 ids");
    assert_eq!(answer(&player(MatchRules::of_protocols()), r#"{"a":1,"seed":8}"#), "miss unknown");
}

#[test]
fn uuids_stand_for_one_another_one_to_one() {
    let twice = |a: &str, b: &str| user(&format!("job {a}, again {b}"));
    assert_eq!(one(&twice(U1, U1), &twice(U2, U2)), "s0 ids");
    assert_eq!(one(&twice(U1, U1), &twice(U2, U3)), "miss unknown");
    assert_eq!(one(&twice(U1, U2), &twice(U3, U3)), "miss unknown");
    // Through the whole replay.
    let (first, second) = (user(&format!("begin {U1}")), user(&format!("go on {U1}")));
    let both = player(&[(&first, "ok"), (&second, "ok")]);
    assert_eq!(answer(&both, &user(&format!("begin {U2}"))), "s0 ids");
    assert_eq!(answer(&both, &user(&format!("go on {U4}"))), "miss unknown");
    assert_eq!(answer(&both, &user(&format!("go on {U2}"))), "s1 ids");
    // Equal bytes say so as well: the uuid is the same in this replay.
    let both = player(&[(&first, "ok"), (&second, "ok")]);
    assert_eq!(answer(&both, &first), "s0 exact");
    assert_eq!(answer(&both, &user(&format!("go on {U4}"))), "miss unknown");
    assert_eq!(answer(&both, &second), "s1 exact");
    // A uuid of the record stands for nothing but itself: documents keep their ids.
    let documents = player(&[
        (&user(&format!("read {U1} of {U3}")), "one"),
        (&user(&format!("read {U2} of {U3}")), "two"),
    ]);
    assert_eq!(answer(&documents, &user(&format!("read {U2} of {U4}"))), "s1 ids");
    assert_eq!(answer(&documents, &user(&format!("read {U1} of {U4}"))), "s0 ids");
    assert_eq!(one(&user(&format!("read {U1}")), &user(&format!("read {U1}, please"))), "miss unknown");
}

#[test]
fn values_of_recorded_answers_are_equal_at_every_level() {
    // The first answer names a uuid, and a date of the run; what quotes them must quote just these.
    let first = user("start");
    let told = format!("ticket {U1}, filed on 2026-05-13");
    for (recorded, asked, expected) in [
        (format!("close {U1}"), format!("close {U1}"), "s1 exact"),
        (format!("close {U1}"), format!("close {U2}"), "miss unknown"),
        // The other way round: the value of an answer where the client had one of its own.
        (format!("close {U3}"), format!("close {U1}"), "miss unknown"),
        ("of 2026-05-13".to_owned(), "of 2026-05-20".to_owned(), "miss unknown"),
    ] {
        let (recorded, asked) = (user(&recorded), user(&asked));
        let player = player(&[(&first, &told), (&recorded, "ok")]);
        assert_eq!(answer(&player, &first), "s0 exact");
        assert_eq!(answer(&player, &asked), expected, "{asked}");
    }
    // A date that the client knew before is its own.
    let first = user("today is 2026-05-13");
    let second = user("still 2026-05-13");
    let player = player(&[(&first, "so it is 2026-05-13"), (&second, "ok")]);
    assert_eq!(answer(&player, &user("today is 2026-05-20")), "s0 moved");
    assert_eq!(answer(&player, &user("still 2026-05-20")), "s1 moved");
    // Words of the model in the history are never excused.
    let history = |date: &str, said: &str| {
        format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"it is {date}"}},{{"role":"assistant","content":"{said}"}}]}}"#
        )
    };
    assert_eq!(
        one(&history("2026-05-13", "on 2026-05-13"), &history("2026-05-20", "on 2026-05-13")),
        "s0 moved"
    );
    assert_eq!(
        one(&history("2026-05-13", "on 2026-05-13"), &history("2026-05-20", "on 2026-05-20")),
        "miss unknown"
    );
    let job = |mark: &str, uuid: &str| history("2026-05-13", &format!("mark={mark}, job {uuid}"));
    assert_eq!(one(&job("a1", U1), &job("b2", U1)), "s0 ids");
    assert_eq!(one(&job("a1", U1), &job("a1", U2)), "miss unknown");
}

/// The arguments of a call are JSON within JSON: a word behind a line break is one of the answer all the same.
#[test]
fn values_behind_escapes_are_of_the_answer() {
    let called = format!(
        r#"{{"id":"c1","model":"gpt-5","choices":[{{"index":0,"message":{{"role":"assistant","content":null,"tool_calls":[{{"id":"call_1","type":"function","function":{{"name":"f","arguments":"{{\"text\":\"job\\n{U1}\\t2026-05-13\"}}"}}}}]}},"finish_reason":"tool_calls"}}]}}"#
    );
    let first = user("start");
    for (recorded, asked) in [
        (format!("close {U1}"), format!("close {U2}")),
        ("of 2026-05-13".to_owned(), "of 2026-05-20".to_owned()),
    ] {
        let (recorded, asked) = (user(&recorded), user(&asked));
        let request = |body| ModelRequest { body, ..ModelRequest::CHAT };
        let run = RunBuilder::started()
            .called("s0", &request(&first))
            .returned("s0", &called)
            .called("s1", &request(&recorded))
            .returned("s1", &said("ok"))
            .ended(0)
            .run();
        let player = Player::load(&run).unwrap().with_options(options(MatchLevel::Tools));
        assert_eq!(answer(&player, &first), "s0 exact");
        assert_eq!(answer(&player, &asked), "miss unknown", "{asked}");
        assert_eq!(answer(&player, &recorded), "s1 exact");
    }
}

#[test]
fn times_move_with_their_runs() {
    for (recorded, asked, expected) in [
        ("Today's date is 2026-05-13.", "Today's date is 2026-05-20.", "s0 moved"),
        ("Wednesday, May 13, 2026", "Wednesday, May 20, 2026", "s0 moved"),
        ("at 2026-05-13T12:34:01.250Z", "at 2026-05-20T09:05:12.5Z", "s0 moved"),
        ("run_shell_command_1778675641123_0", "run_shell_command_1779267912456_0", "s0 moved"),
        ("Today's date is 2026-05-13.", "Today's date is 2026-05-21.", "miss unknown"),
        ("Today's date is 2026-05-12.", "Today's date is 2026-05-20.", "miss unknown"),
        ("at 2026-05-13T12:50:00Z", "at 2026-05-20T09:05:12Z", "miss unknown"),
        ("at 2026-05-13T12:34:01Z", "at 2026-05-20T10:05:12Z", "miss unknown"),
        ("book 12 May 2027", "book 13 May 2027", "miss unknown"),
        ("port 8080", "port 9090", "miss unknown"),
        ("pid 10823", "pid 11907", "miss unknown"),
        ("wait 5s", "wait 9s", "miss unknown"),
        ("Process Group PGID: 10823", "Process Group PGID: 11907", "miss unknown"),
        // Another spelling is another text.
        ("on 2026-05-13", "on May 20, 2026", "miss unknown"),
    ] {
        assert_eq!(one(&user(recorded), &user(asked)), expected, "{recorded} / {asked}");
    }
    // `--match ids` does not go that far.
    let strict = player_up_to(&[(&user("on 2026-05-13"), "ok")], MatchLevel::Ids);
    assert_eq!(answer(&strict, &user("on 2026-05-20")), "miss unknown");
    let exact = player_up_to(&[(&user(U1), "ok")], MatchLevel::Exact);
    assert_eq!(answer(&exact, &user(U2)), "miss unknown");
}

#[test]
fn results_of_tools() {
    for (recorded, asked, expected) in [
        ("Process Group PGID: 10823", "Process Group PGID: 11907", "s0 moved"),
        ("3 passed in 0.12s", "3 passed in 0.34s", "s0 moved"),
        ("real\t0m0.004s", "real\t0m1.250s", "s0 moved"),
        ("date: Wed May 13 12:34:02 UTC 2026", "date: Wed May 20 09:05:29 UTC 2026", "s0 moved"),
        ("4 passed in 0.12s", "3 passed in 0.34s", "s0 tools"),
        ("pid 10823", "pid 11907", "s0 tools"),
        ("", "words", "s0 tools"),
    ] {
        assert_eq!(one(&tool(recorded), &tool(asked)), expected, "{recorded} / {asked}");
    }
    // Not the result alone.
    assert_eq!(one(&tool("a"), &tool_of("call_2", "b")), "miss unknown");
    assert_eq!(one(&tool("a"), &tool("b").replace("\"go\"", "\"stop\"")), "miss unknown");
    let two = tool("b").replace("]}", r#",{"role":"tool","tool_call_id":"call_1","content":"c"}]}"#);
    assert_eq!(one(&tool("b"), &two), "miss unknown");
    // Ids of a result that differs in more are not paired; those of the next result are.
    let results = |first: &str, second: &str| {
        tool(first).replace(
            r#""}]}"#,
            &format!(r#""}},{{"role":"tool","tool_call_id":"call_1","content":"{second}"}}]}}"#),
        )
    };
    let recorded = results(&format!("{U1} on 2027-05-12"), U1);
    let (asked, next) = (results(&format!("{U2} on 2027-05-13"), U3), user(&format!("close {U1}")));
    let closing = player(&[(&recorded, "ok"), (&next, "ok")]);
    assert_eq!(answer(&closing, &asked), "s0 tools");
    assert_eq!(answer(&closing, &user(&format!("close {U2}"))), "miss unknown");
    assert_eq!(answer(&closing, &user(&format!("close {U3}"))), "s1 ids");
    // What changes the answer is never excused.
    let with = |members: &str| tool("a").replacen('{', &format!("{{{members},"), 1);
    let recorded = with(r#""stream":false,"temperature":0,"max_tokens":5,"tools":[{"n":1}]"#);
    for (from, to) in [
        ("\"stream\":false", "\"stream\":true"),
        ("\"temperature\":0", "\"temperature\":1"),
        ("\"max_tokens\":5", "\"max_tokens\":6"),
        ("\"n\":1", "\"n\":2"),
        ("gpt-5", "gpt-6"),
    ] {
        assert_eq!(one(&recorded, &recorded.replace(from, to)), "miss unknown", "{from}");
    }
    // `--match moved` stops before tools.
    let strict = player_up_to(&[(&tool("a"), "ok")], MatchLevel::Moved);
    assert_eq!(answer(&strict, &tool("b")), "miss unknown");
}

#[test]
fn equal_forms_are_one_queue_and_different_ones_a_miss() {
    let asks = |id: &str| user(&format!("next, says {id}"));
    let queue = player(&[(&asks(U1), "one"), (&asks(U2), "two")]);
    assert_eq!(answer(&queue, &asks(U3)), "s0 ids");
    assert_eq!(answer(&queue, &asks(U4)), "s1 ids");
    // Answers are used once.
    let same = player(&[(&user("same"), "one"), (&user("same"), "two")]);
    assert_eq!(
        [(); 3].map(|()| answer(&same, &user("same"))),
        ["s0 exact", "s1 exact", "miss asked-more-often"]
    );
    // Two different results, and neither is the one that came: never a guess.
    let two = player(&[(&tool("a"), "one"), (&tool("b"), "two")]);
    assert_eq!(answer(&two, &tool("c")), "miss several");
    let PlayerReply::Miss(miss) = two.answer(&chat(&tool("d"))) else { panic!("a guess") };
    assert_eq!(
        miss.cause,
        MissCause::Several { step_ids: ["s0".into(), "s1".into()], level: MatchLevel::Tools }
    );
    // Exact anywhere beats less elsewhere, and what is left is no longer two.
    assert_eq!(answer(&two, &tool("b")), "s1 exact");
    assert_eq!(answer(&two, &tool("c")), "s0 tools");
}

#[test]
fn of_two_days_neither_stands_for_a_third() {
    let run = RunBuilder::started()
        .called(
            "s0",
            &ModelRequest { body: &user("news of 2026-05-13 and 2026-05-13"), ..ModelRequest::CHAT },
        )
        .returned("s0", &said("one"))
        .ended(0)
        .run();
    let player = Player::load(&run).unwrap().with_options(options(MatchLevel::Tools));
    assert_eq!(answer(&player, &user("news of 2026-05-20 and 2026-05-19")), "miss unknown");
    assert_eq!(answer(&player, &user("news of 2026-05-20 and 2026-05-20")), "s0 moved");
}

/// Equal but for a time of the run, and open at once: nothing tells which is whose.
#[test]
fn parallel_requests_with_times_of_their_own_are_not_mixed_up() {
    let at = |time: &str| user(&format!("summarise what came at 2026-05-13T12:34:{time}Z"));
    let (one, two) = (at("01"), at("02"));
    let request = |body| ModelRequest { body, ..ModelRequest::CHAT };
    let parallel = RunBuilder::started()
        .called("s0", &request(&one))
        .called("s1", &request(&two))
        .returned("s1", &said("two"))
        .returned("s0", &said("one"))
        .ended(0)
        .run();
    let asked = user("summarise what came at 2026-05-20T09:05:20Z");
    let player = |run| Player::load(run).unwrap().with_options(options(MatchLevel::Tools));
    assert_eq!(answer(&player(&parallel), &asked), "miss several");
    // Nor of two durations in results.
    let (fast, slow) = (tool("12 ms"), tool("900 ms"));
    let measured = RunBuilder::started()
        .called("s0", &request(&fast))
        .called("s1", &request(&slow))
        .returned("s1", &said("slow"))
        .returned("s0", &said("fast"))
        .ended(0)
        .run();
    assert_eq!(answer(&player(&measured), &tool("901 ms")), "miss several");
    let in_turn = [(&*fast, "fast"), (&*slow, "slow")];
    assert_eq!(answer(&self::player(&in_turn), &tool("901 ms")), "s0 moved");
    // One after the other they are a queue.
    let sequence = RunBuilder::started()
        .called("s0", &request(&one))
        .returned("s0", &said("one"))
        .called("s1", &request(&two))
        .returned("s1", &said("two"))
        .ended(0)
        .run();
    assert_eq!(answer(&player(&sequence), &asked), "s0 moved");
}

#[test]
fn nearly_equal_requests_in_any_order_get_their_own() {
    let texts: Vec<String> =
        (0..64).map(|n| user(&format!("Today is 2026-05-13. Summarise document {n}."))).collect();
    let answers: Vec<String> = (0..64).map(|n| format!("summary {n}")).collect();
    let recorded: Vec<(&str, &str)> =
        texts.iter().zip(&answers).map(|(body, answer)| (body.as_str(), answer.as_str())).collect();
    let player = player(&recorded);
    std::thread::scope(|scope| {
        for lane in 0..8 {
            let player = &player;
            scope.spawn(move || {
                for n in (0..64).rev().filter(|n| n % 8 == lane) {
                    let body = user(&format!("Today is 2026-05-20. Summarise document {n}."));
                    let PlayerReply::Hit(answer) = player.answer(&chat(&body)) else { panic!("{n}") };
                    assert_eq!(answer.step_id, format!("s{n}"));
                    assert!(String::from_utf8_lossy(&answer.body).contains(&format!("summary {n}\"")));
                }
            });
        }
    });
    let outcome = player.outcome();
    assert_eq!((outcome.levels.of(MatchLevel::Moved), outcome.missed, outcome.unused.len()), (64, 0, 0));
}

#[test]
fn secrets_are_compared_by_their_masks() {
    let secret = |key: &str| user(&format!("use {key} on 2026-05-13"));
    let asked = |key: &str| user(&format!("use {key} on 2026-05-20"));
    let recorded = secret("[masked:openai-key:1]");
    let key = format!("sk-proj-{}", "aB3".repeat(16));
    assert_eq!(one(&recorded, &asked(&key)), "s0 moved");
    assert_eq!(one(&secret("a key"), &asked(&key)), "miss unknown");
}

#[test]
fn what_differed_is_named() {
    let player = player(&[(&user("it is 2026-05-13"), "ok"), (&tool("pid 1"), "ok")]);
    assert_eq!(answer(&player, &user("it is 2026-05-20")), "s0 moved");
    assert_eq!(answer(&player, &tool("pid 2")), "s1 tools");
    let outcome = player.outcome();
    let differing: Vec<String> = outcome
        .differing
        .iter()
        .map(|exchange| {
            let [one] = &exchange.differences[..] else { panic!("{exchange:?}") };
            let side = |side: &Option<String>| side.clone().unwrap();
            format!(
                "{} {} {}: {} → {}",
                exchange.step_id,
                exchange.level,
                one.location,
                side(&one.recorded),
                side(&one.requested)
            )
        })
        .collect();
    assert_eq!(
        differing,
        [
            "s0 moved $.messages[0].content: \"it is 2026-05-13\" → \"it is 2026-05-20\"",
            "s1 tools $.messages[2].content: \"pid 1\" → \"pid 2\"",
        ]
    );
    assert!(!outcome.is_reproduction());
}

#[test]
fn side_calls_may_stay_away() {
    let title = user("Give a title to: hello");
    let player = player(&[(&title, "Hello"), (&user("hello"), "hi")]);
    assert_eq!(answer(&player, &user("hello")), "s1 exact");
    let outcome = player.outcome();
    assert_eq!(outcome.unused.iter().map(|unused| unused.is_side_call).collect::<Vec<_>>(), [true]);
    let done = reenact_run::Exit::Code(0);
    assert_eq!(outcome.verdict(done, Some(done)), reenact_replay::ReplayVerdict::Reproduced);
}

#[test]
fn the_same_place_of_the_same_conversation() {
    let turn = |words: &[&str]| {
        let messages: Vec<String> = words
            .iter()
            .enumerate()
            .map(|(at, word)| {
                let role = if at % 2 == 0 { "user" } else { "assistant" };
                format!(r#"{{"role":"{role}","content":"{word}"}}"#)
            })
            .collect();
        format!(r#"{{"model":"gpt-5","messages":[{}]}}"#, messages.join(","))
    };
    let recorded = [turn(&["a"]), turn(&["b"]), turn(&["a", "x", "then"]), turn(&["b", "y", "then"])];
    let recorded: Vec<(&str, &str)> = recorded.iter().map(|body| (body.as_str(), "ok")).collect();
    let position = |recorded| player_up_to(recorded, MatchLevel::Position);
    let by_place = position(&recorded);
    assert_eq!(answer(&by_place, &turn(&["b"])), "s1 exact");
    // Two threads could go on here, and one only after `b`.
    assert_eq!(answer(&by_place, &turn(&["b", "y", "other words"])), "s3 position");
    assert_eq!(answer(&by_place, &turn(&["another beginning"])), "s0 position");
    assert_eq!(answer(&by_place, &turn(&["another beginning", "x", "and on"])), "s2 position");
    assert_eq!(answer(&by_place, &turn(&["a third"])), "miss unknown");
    assert!(!by_place.outcome().is_reproduction());
    // Several candidates, another length, another model: no guess.
    let unclear = position(&recorded);
    assert_eq!(answer(&unclear, &turn(&["new"])), "miss unknown");
    assert_eq!(answer(&unclear, &turn(&["a", "x", "new"])), "miss unknown");
    let one = position(&recorded[..1]);
    assert_eq!(answer(&one, &turn(&["new"]).replace("gpt-5", "gpt-6")), "miss unknown");
    // Only on demand.
    assert_eq!(answer(&player(&recorded[..1]), &turn(&["new"])), "miss unknown");
}
