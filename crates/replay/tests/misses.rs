//! Misses and their exact texts, the verdict, and the record of a replay.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;

use reenact_json::{Digest, Limits, Value};
use reenact_replay::replay_record::{OutputComparison, ReplaySandbox};
use reenact_replay::{MissCause, NotServed, Player, PlayerRequest, ReplayRecord, ReplayVerdict};
use reenact_run::{Exit, UnreadablePayload};
use reenact_testkit::fixture::{ModelRequest, RunBuilder, text_body};
use support::{OpenRun as _, chat, hit, miss};

fn chat_request(body: &str) -> ModelRequest<'_> {
    ModelRequest { body, ..ModelRequest::CHAT }
}

const ONE: &str = r#"{"model":"gpt-5","messages":[{"role":"user","content":"hello"}]}"#;
const TWO: &str = r#"{"model":"gpt-5","messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"hi"},{"role":"user","content":"what day is 2026-01-05?"}]}"#;

fn player() -> Player {
    let run = RunBuilder::started()
        .called("s1", &chat_request(ONE))
        .returned("s1", "I")
        .called("s2", &chat_request(TWO))
        .returned("s2", "II")
        .called("s3", &ModelRequest { path: "/v1/embeddings", endpoint: None, ..chat_request(ONE) })
        .returned("s3", "III")
        .ended(0)
        .run();
    Player::load(&run).unwrap()
}

#[test]
fn the_closest_is_shown_with_what_differs() {
    let player = player();
    let drifted = TWO.replace("2026-01-05", "2026-01-06");
    let miss = miss(&player, &chat(&drifted));
    assert_eq!(
        miss.to_string(),
        "E_REPLAY_MISSING_DEPENDENCY: no recorded answer for POST /v1/chat/completions (openai, gpt-5): the closest is \
         step s2, it differs in 1 value; first at $.messages[2].content: recorded \"what day is 2026-01-05?\", asked \
         \"what day is 2026-01-06?\""
    );
    assert_eq!(
        player.outcome().misses[0].to_string(),
        "E_REPLAY_MISSING_DEPENDENCY: no recorded answer for POST /v1/chat/completions (openai, gpt-5): the closest is \
         step s2, it differs in 1 value\n  $.messages[2].content\n    recorded \"what day is 2026-01-05?\"\n    asked    \
         \"what day is 2026-01-06?\"\n  hint: this looks like a date or a time: leave it out of the prompt, or give the \
         agent a fixed one"
    );
}

/// Several requests that differ in one value each: the one whose value is most like the incoming one is meant.
#[test]
fn the_closest_is_the_most_alike() {
    let body =
        |text: &str| format!(r#"{{"model":"gpt-5","messages":[{{"role":"user","content":"{text}"}}]}}"#);
    let texts = ["time: 10:31:07", "uuid: 5f1c-77aa", "pid: 4711", "tmp: /tmp/x8Jq"];
    let run = texts.iter().enumerate().fold(RunBuilder::started(), |run, (at, text)| {
        let step = format!("s{at}");
        run.called(&step, &chat_request(&body(text))).returned(&step, "I")
    });
    let player = Player::load(&run.run()).unwrap();
    let closest = |text: &str| match &miss(&player, &chat(&body(text))).cause {
        MissCause::Unknown(closest) => (closest.step_id.clone(), closest.distance),
        other => unreachable!("{other:?}"),
    };
    for (at, text) in ["time: 10:44:59", "uuid: 0b2d-19ff", "pid: 5822", "tmp: /tmp/Qz01"].iter().enumerate()
    {
        assert_eq!(closest(text), (format!("s{at}"), 1), "{text}");
    }
    // Likeness counts before the number of values: a wholly other text is further away than two small changes.
    let two = r#"{"model":"gpt-5.1","messages":[{"role":"user","content":"time: 10:44:59"}]}"#;
    assert!(matches!(&miss(&player, &chat(two)).cause, MissCause::Unknown(found) if found.step_id == "s0"));
}

#[test]
fn a_request_that_differs_in_much_is_listed_in_short() {
    let body = |word: &str| {
        let list: Vec<String> = (0..30).map(|at| format!("\"{word} {at}\"")).collect();
        format!("[{}]", list.join(","))
    };
    let run = RunBuilder::started().called("s1", &chat_request(&body("a"))).returned("s1", "I").run();
    let player = Player::load(&run).unwrap();
    miss(&player, &chat(&body("b")));
    let found = &player.outcome().misses[0];
    let ends = |text: String| (text.matches("recorded \"").count(), text.lines().last().unwrap().to_owned());
    assert_eq!(ends(found.to_string()), (6, "  … and 24 more".to_owned()));
    assert_eq!(ends(format!("{found:#}")), (20, "  … and 10 more".to_owned()));
}

#[test]
fn a_repeated_miss_is_listed_once_with_its_number() {
    let player = player();
    let drifted = ONE.replace("hello", "hullo");
    for _ in 0..6 {
        miss(&player, &chat(&drifted));
    }
    hit(&player, &chat(ONE));
    for _ in 0..3 {
        miss(&player, &chat(ONE));
    }
    let outcome = player.outcome();
    let first_lines: Vec<String> =
        outcome.misses.iter().map(|miss| miss.to_string().lines().next().unwrap().to_owned()).collect();
    assert_eq!(
        first_lines,
        [
            "E_REPLAY_MISSING_DEPENDENCY: no recorded answer for POST /v1/chat/completions (openai, gpt-5), asked 6 times: \
             the closest is step s1, it differs in 1 value",
            "E_REPLAY_MISSING_DEPENDENCY: no recorded answer for POST /v1/chat/completions (openai, gpt-5): it was recorded \
             once, and is asked 3 times more",
        ]
    );
    assert_eq!((outcome.misses[0].times, outcome.misses[1].times, outcome.missed), (6, 3, 9));
}

/// The values of a miss are shown whole with the alternate form, line by line.
#[test]
fn the_whole_values_of_a_miss() {
    let body = |text: &str| format!(r#"{{"model":"gpt-5","input":"{text}"}}"#);
    let long = "a line that is longer than all that is shown of a value otherwise";
    let recorded = body(&format!("files:\\na.txt\\n{long}\\nb.txt\\u001b\\nend"));
    let run = RunBuilder::started().called("s1", &chat_request(&recorded)).returned("s1", "I").run();
    let player = Player::load(&run).unwrap();
    miss(&player, &chat(&body(&format!("files:\\na.txt\\n{long}\\nb.txt\\nout.txt\\nend"))));
    let found = &player.outcome().misses[0];
    assert_eq!(
        format!("{found:#}"),
        format!(
            "E_REPLAY_MISSING_DEPENDENCY: no recorded answer for POST /v1/chat/completions (openai, gpt-5): the closest is \
             step s1, it differs in 1 value\n  $.input\n      files:\n      a.txt\n      {long}\n    - b.txt\\u{{1b}}\n    + \
             b.txt\n    + out.txt\n      end"
        )
    );
    assert!(found.to_string().contains("recorded \"…"), "{found}");
}

#[test]
fn of_two_as_close_the_one_not_asked_for_yet() {
    let run = RunBuilder::started()
        .called("s1", &chat_request(r#"{"n":1}"#))
        .returned("s1", "I")
        .called("s2", &chat_request(r#"{"n":2}"#))
        .returned("s2", "II")
        .run();
    let player = Player::load(&run).unwrap();
    let closest = |body: &str| match &miss(&player, &chat(body)).cause {
        MissCause::Unknown(closest) => (closest.step_id.clone(), closest.is_served, closest.distance),
        other => unreachable!("{other:?}"),
    };
    assert_eq!(closest(r#"{"n":3}"#), ("s1".into(), false, 1));
    hit(&player, &chat(r#"{"n":1}"#));
    assert_eq!(closest(r#"{"n":4}"#), ("s2".into(), false, 1));
    hit(&player, &chat(r#"{"n":2}"#));
    assert_eq!(closest(r#"{"n":5}"#), ("s1".into(), true, 1));
    let served = miss(&player, &chat(r#"{"n":5}"#)).to_string();
    assert!(
        served.contains("the closest is step s1 (which was asked for already), it differs in 1 value;"),
        "{served}"
    );
}

#[test]
fn the_same_place_comes_first_and_any_place_second() {
    let player = player();
    // The body of s2, sent to the destination of s3: requests to the same destination are compared first.
    hit(&player, &chat(ONE));
    let elsewhere = PlayerRequest { path: "/v1/embeddings?x=1", ..chat(TWO) };
    let found = miss(&player, &elsewhere);
    let MissCause::Unknown(closest) = &found.cause else { unreachable!() };
    assert_eq!((closest.step_id.as_str(), closest.distance), ("s3", 5));
    assert_eq!(closest.differences[0].location, "path");
    let nowhere = PlayerRequest { provider: "anthropic", path: "/v1/messages", ..chat(TWO) };
    let found = miss(&player, &nowhere);
    let MissCause::Unknown(closest) = &found.cause else { unreachable!() };
    assert_eq!((closest.step_id.as_str(), closest.distance), ("s2", 2));
}

#[test]
fn more_often_than_recorded() {
    let player = player();
    hit(&player, &chat(ONE));
    let first = miss(&player, &chat(ONE));
    assert_eq!(first.cause, MissCause::AskedMoreOften { recorded: 1 });
    assert!(
        first.to_string().ends_with("(openai, gpt-5): it was recorded once, and is asked once more"),
        "{first}"
    );
    // Listed once, counted twice.
    assert!(Arc::ptr_eq(&first, &miss(&player, &chat(ONE))));
    let outcome = player.outcome();
    assert_eq!((outcome.misses.len(), outcome.missed), (1, 2));
}

#[test]
fn answers_that_cannot_be_served() {
    let blob = "ab".repeat(32);
    let http = format!(r#"{{"headers":[],"body":{{"blob":"{blob}","size":9}}}}"#);
    let members = r#""status":200,"complete":true,"ended_by":"eof""#;
    let run = RunBuilder::started()
        .called("s1", &chat_request("x"))
        .event("rer.model.returned", &reenact_testkit::fixture::returned_payload("s1", &http, members))
        .called("s2", &chat_request("x"))
        .called("s3", &chat_request("x"))
        .returned("s3", "III")
        .run();
    let player = Player::load(&run).unwrap();
    let text = miss(&player, &chat("x")).to_string();
    let expected = format!(
        "it was recorded as step s1, but http.body lies in the blob {blob}, which is not part of this file"
    );
    assert!(text.ends_with(&expected), "{text}");
    assert_eq!(
        miss(&player, &chat("x")).cause,
        MissCause::NoAnswer { step_id: "s2".into(), why: NotServed::Unreadable(UnreadablePayload::NoAnswer) }
    );
    assert_eq!(hit(&player, &chat("x")).step_id, "s3");
    assert_eq!(miss(&player, &chat("x")).cause, MissCause::AskedMoreOften { recorded: 3 });
    assert_eq!((player.outcome().misses.len(), player.outcome().unused.len()), (3, 0));
}

#[test]
fn nothing_secret_and_nothing_that_acts_is_shown() {
    let player = player();
    let incoming = PlayerRequest {
        provider: "openai\x1b",
        method: "P\nOST",
        path: "/v1/chat/completions?\u{202e}",
        headers: &[("authorization", b"Bearer very-secret-value")],
        ..chat(r#"{"model":"\u001b[2J","key":"very-secret-value"}"#)
    };
    let miss = miss(&player, &incoming);
    let listed = player.outcome().misses;
    let text = format!("{miss} {} {:#} {miss:?}", listed[0], listed[0]);
    assert!(!text.contains("very-secret") && text.contains("[masked:credential:1]"), "{text}");
    assert!(!miss.to_string().contains(reenact_json::shown::is_unsafe), "{miss}");
}

#[test]
fn an_agent_that_asks_for_ever_is_counted_and_not_kept() {
    let player = player();
    for n in 0..1_010 {
        miss(&player, &chat(&format!("{{\"n\":{n}}}")));
    }
    assert_eq!(miss(&player, &chat("{\"n\":-1}")).cause, MissCause::NotCompared);
    let outcome = player.outcome();
    assert_eq!((outcome.missed, outcome.misses.len()), (1_011, 1_000));
    let nothing = Player::load(&RunBuilder::started().run()).unwrap();
    assert_eq!(miss(&nothing, &chat("x")).cause, MissCause::NothingRecorded);
}

fn replay_record(player: &Player, child_exit: Exit) -> ReplayRecord {
    ReplayRecord {
        format: "rer-artifact/0.2".into(),
        run_id: player.run().id().to_owned(),
        digest: player.run().digest().map(|digest| digest.to_string()),
        child_exit,
        recorded_exit: player.run().summary().exit,
        output: None,
        needs_same_output: false,
        outcome: player.outcome(),
        bundle: None,
        sandbox: ReplaySandbox {
            isolation: "netns".into(),
            closed: vec!["network".into()],
            open: vec![],
            why: None,
        },
        started_at: "2026-05-13T12:00:00Z".into(),
        ended_at: "2026-05-13T12:00:01Z".into(),
    }
}

#[test]
fn the_verdict() {
    let player = player();
    let verdict = |exit| replay_record(&player, exit).verdict();
    assert_eq!(verdict(Exit::Code(0)), ReplayVerdict::Differed, "nothing was asked for");
    hit(&player, &chat(ONE));
    hit(&player, &chat(TWO));
    hit(&player, &PlayerRequest { path: "/v1/embeddings", ..chat(ONE) });
    assert_eq!(
        (verdict(Exit::Code(0)), verdict(Exit::Code(1)), verdict(Exit::Signal(9))),
        (ReplayVerdict::Reproduced, ReplayVerdict::Differed, ReplayVerdict::Differed)
    );
    let after = |recorded, exit| player.outcome().verdict(exit, recorded);
    assert_eq!(after(None, Exit::Code(3)), ReplayVerdict::Reproduced, "the record does not say");
    let killed = Some(Exit::Signal(9));
    assert_eq!(after(killed, Exit::Signal(9)), ReplayVerdict::Reproduced);
    assert_eq!(
        [Exit::Signal(11), Exit::Code(9), Exit::Code(0)].map(|exit| after(killed, exit)),
        [ReplayVerdict::Differed; 3]
    );
    miss(&player, &chat(ONE));
    assert_eq!(verdict(Exit::Code(0)), ReplayVerdict::MissingDependency);
    let words = [ReplayVerdict::Reproduced, ReplayVerdict::Differed, ReplayVerdict::MissingDependency];
    assert_eq!(
        words.map(|verdict| (verdict.name(), verdict.exit_code())),
        [("reproduced", 0), ("differed", 1), ("missing-dependency", 2)]
    );
}

#[test]
fn another_output_differs() {
    let player = player();
    hit(&player, &chat(ONE));
    hit(&player, &chat(TWO));
    hit(&player, &PlayerRequest { path: "/v1/embeddings", ..chat(ONE) });
    let (said, else_said) = (Digest::of(b"said"), Digest::of(b"else"));
    let with = |now| ReplayRecord {
        output: Some(OutputComparison { recorded: said, now }),
        needs_same_output: true,
        ..replay_record(&player, Exit::Code(0))
    };
    assert_eq!(with(said).verdict(), ReplayVerdict::Reproduced);
    assert_eq!(with(else_said).verdict(), ReplayVerdict::Differed);
    let member = format!(r#""output":{{"recorded":"{said}","now":"{else_said}","same":false}}"#);
    assert!(with(else_said).to_json().contains(&member));
}

#[test]
fn the_record_of_a_replay() {
    let player = player();
    hit(&player, &chat(TWO));
    let key = miss(&player, &chat(&ONE.replace("hello", "hullo"))).key.clone();
    let digest = player.run().digest().unwrap();
    let json = replay_record(&player, Exit::Code(7)).to_json();
    let expected = format!(
        r#"{{"replay_of":{{"run_id":"0196c9a2-0000-7000-8000-000000000001","format":"rer-artifact/0.2","digest":"{digest}"}},"verdict":"missing-dependency","child_exit":7,"child_signal":null,"recorded_exit":0,"recorded_signal":null,"levels":{{"exact":1,"ids":0,"moved":0,"tools":0,"position":0}},"found_by":"request","hits":1,"differing":[],"missed":1,"misses":[{{"code":"E_REPLAY_MISSING_DEPENDENCY","provider":"openai","method":"POST","path":"/v1/chat/completions","model":"gpt-5","match_key":"{key}","asked":1,"cause":"unknown","closest":{{"step_id":"s1","served":false,"distance":1,"differences":[{{"at":"$.messages[0].content","recorded":"\"hello\"","asked":"\"hullo\""}}],"hints":[]}}}}],"unused":[{{"step_id":"s1","model":"gpt-5","label":"POST /v1/chat/completions","side_call":false}},{{"step_id":"s3","model":"gpt-5","label":"POST /v1/embeddings","side_call":false}}],"ambiguous":0,"rebuilt":0,"output":null,"bundle":null,"sandbox":{{"rung":"netns","closed":["network"],"open":[],"why":null}},"started_at":"2026-05-13T12:00:00Z","ended_at":"2026-05-13T12:00:01Z"}}"#
    );
    assert_eq!(json, expected);
    assert!(Value::parse(json.as_bytes(), &Limits::default()).is_ok());
}

#[test]
fn what_was_withheld_is_never_used() {
    let run = RunBuilder::started()
        .withheld("rer.model.called", &text_body("x"))
        .called("s2", &ModelRequest::CHAT)
        .returned("s2", "")
        .run();
    let player = Player::load(&run).unwrap();
    hit(&player, &chat(""));
    let unused = player.outcome().unused;
    assert_eq!(unused.len(), 1);
    assert_eq!(unused[0].label, "a request that cannot be read: the payload is withheld");
}
