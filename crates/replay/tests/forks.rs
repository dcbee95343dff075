//! Runs that go on from their record: which requests leave, and which answers may be replaced.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use reenact_replay::{EditError, ForkError, NotServed, Player, PlayerReply, PlayerRequest};
use reenact_testkit::fixture::{ModelRequest, RunBuilder};
use support::{OpenRun as _, body_text, chat, hit, miss};

fn ask(text: &str) -> String {
    format!(r#"{{"model":"gpt-5","messages":[{{"role":"user","content":"{text}"}}]}}"#)
}

fn said(text: &str) -> String {
    format!(
        r#"{{"id":"c1","model":"gpt-5","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}]}}"#
    )
}

/// Returns the player of a run in which these questions were asked, one after the other, each answered by itself.
fn player(asked: &[&str]) -> Player {
    let run = asked.iter().enumerate().fold(RunBuilder::started(), |run, (at, text)| {
        let step = format!("s{at}");
        run.called(&step, &ModelRequest { body: &ask(text), ..ModelRequest::CHAT })
            .returned(&step, &said(text))
    });
    Player::load(&run.ended(0).run()).unwrap()
}

/// Returns the step by which a question is answered, `live`, or `miss`.
fn fate(player: &Player, text: &str) -> String {
    match player.fork_answer(&chat(&ask(text))) {
        None => "live".to_owned(),
        Some(PlayerReply::Hit(answer)) => answer.step_id.clone(),
        Some(PlayerReply::Miss(_)) => "miss".to_owned(),
    }
}

#[test]
fn what_is_not_recorded_leaves_and_is_no_miss() {
    let player = player(&["a", "b", "a"]).going_live(None).unwrap();
    let fates = ["b", "x", "a", "a", "a"].map(|text| fate(&player, text));
    assert_eq!(fates, ["s1", "live", "s0", "s2", "live"]);
    assert_eq!((player.outcome().missed, player.outcome().hits()), (0, 3));
    // A replay lets nothing out.
    miss(&player, &chat(&ask("x")));
    let replay = self::player(&["a"]);
    assert_eq!(fate(&replay, "x"), "miss");
}

/// Nothing leaves before the step was asked for, and nothing behind it is given, though it is recorded.
#[test]
fn a_step_ends_the_record() {
    let player = player(&["a", "b", "c", "a"]).going_live(Some("s1")).unwrap();
    let fates = ["c", "x", "b", "c", "x", "a", "a"].map(|text| fate(&player, text));
    assert_eq!(fates, ["miss", "miss", "s1", "live", "live", "s0", "live"]);
    let outcome = player.outcome();
    assert_eq!((outcome.missed, outcome.hits(), outcome.unused.len()), (2, 2, 0));
    assert_eq!(self::player(&["a"]).going_live(Some("s7")).unwrap_err(), ForkError::NoExchange);
}

#[test]
fn words_become_an_answer_of_the_vendor() {
    let player = player(&["a", "b"]).with_edit("s1", "said \"anew\"\n".as_bytes()).unwrap();
    assert_eq!(body_text(&hit(&player, &chat(&ask("a")))), said("a"));
    let edited = hit(&player, &chat(&ask("b")));
    assert!(body_text(&edited).contains(r#""content":"said \"anew\"""#), "{}", body_text(&edited));
    assert_eq!((edited.status, edited.chunks.len()), (Some(200), 0));
    // A whole body is given as it is.
    let whole = said("another one");
    let player = self::player(&["a"]).with_edit("s0", whole.as_bytes()).unwrap();
    assert_eq!(body_text(&hit(&player, &chat(&ask("a")))), whole);
}

#[test]
fn answers_that_cannot_be_replaced() {
    let refused = |player: Player, step: &str, content: &[u8]| player.with_edit(step, content).unwrap_err();
    assert_eq!(refused(player(&["a"]), "s9", b"x"), EditError::NoExchange);
    assert_eq!(refused(player(&["a"]), "s0", b"\xff"), EditError::NotText);
    let forked = player(&["a", "b"]).going_live(Some("s0")).unwrap();
    assert_eq!(refused(forked, "s1", b"x"), EditError::BehindFork);
    let models = ModelRequest { path: "/v1/models", endpoint: Some("models"), ..ModelRequest::CHAT };
    let run = RunBuilder::started().called("s0", &models).returned("s0", "{}").ended(0).run();
    let error = refused(Player::load(&run).unwrap(), "s0", b"x");
    assert!(
        matches!(error, EditError::NoModel | EditError::NotServed(NotServed::UnknownEndpoint(_))),
        "{error}"
    );
}

/// A thought with its signature, which the vendor wants back as it gave it.
#[test]
fn signed_parts_stay_or_go_and_do_not_change() {
    let question =
        r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"a"}]}"#;
    let answer = |thought: &str, signature: &str, text: &str| {
        format!(
            r#"{{"id":"m1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{{"type":"thinking","thinking":"{thought}","signature":"{signature}"}},{{"type":"text","text":"{text}"}}],"stop_reason":"end_turn","usage":{{"input_tokens":1,"output_tokens":1}}}}"#
        )
    };
    let request = |body: &str| {
        let request =
            ModelRequest { provider: "anthropic", path: "/v1/messages", body, ..ModelRequest::CHAT };
        let run = RunBuilder::started().called("s0", &request).returned("s0", &answer("hm", "c2ln", "a"));
        Player::load(&run.ended(0).run()).unwrap()
    };
    let edit = |body: &str, content: &str| request(body).with_edit("s0", content.as_bytes());
    let kept = answer("hm", "c2ln", "b");
    let player = edit(question, &kept).unwrap();
    let incoming = PlayerRequest { provider: "anthropic", path: "/v1/messages", ..chat(question) };
    assert_eq!(body_text(&hit(&player, &incoming)), kept);
    edit(question, "no thought at all").unwrap();
    for changed in [answer("oh", "c2ln", "a"), answer("hm", "another", "a")] {
        assert_eq!(edit(question, &changed).unwrap_err(), EditError::SignedPart);
    }
    // A document is written anew for a client that asked for a stream, and would lose the thought.
    let stream = question.replace("\"max_tokens\"", "\"stream\":true,\"max_tokens\"");
    assert_eq!(edit(&stream, &kept).unwrap_err(), EditError::SignedPartLost);
}
