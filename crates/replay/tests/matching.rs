//! Matching of requests to recorded answers.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use reenact_json::Digest;
use reenact_replay::player::rule;
use reenact_replay::{AnswerEnd, Chunk, FoundBy, LoadError, LoadNote, Player, PlayerRequest, ReplayOutcome};
use reenact_run::UnreadablePayload;
use reenact_secrets::renumbered;
use reenact_secrets::{Alphabet, CustomRule, RulePack};
use reenact_testkit::fixture::{ModelRequest, RunBuilder, returned_payload, text_body};
use reenact_wire::{MatchKeyParts, match_key};
use support::{OpenRun as _, body_text, chat, exact, hit};

fn chat_request(body: &str) -> ModelRequest<'_> {
    ModelRequest { body, ..ModelRequest::CHAT }
}

#[test]
fn each_request_gets_its_own_in_any_order() {
    let run = RunBuilder::started()
        .called("s1", &chat_request("one"))
        .called("s2", &chat_request("two"))
        .returned("s2", "II")
        .returned("s1", "I")
        .run();
    let player = Player::load(&run).unwrap();
    assert_eq!(player.notes(), []);
    assert_eq!(body_text(&hit(&player, &chat("two"))), "II");
    let answer = hit(&player, &chat("one"));
    assert_eq!((answer.step_id.as_str(), answer.status, answer.end), ("s1", Some(200), AnswerEnd::Complete));
    assert_eq!(answer.headers, [("content-type".to_owned(), "application/json".to_owned())]);
    assert_eq!(
        player.outcome(),
        ReplayOutcome { found_by: Some(FoundBy::Request), levels: exact(2), ..ReplayOutcome::default() }
    );
}

#[test]
fn identical_requests_are_answered_in_recorded_order() {
    let builder = |third: &str| {
        RunBuilder::started()
            .called("s1", &chat_request("same"))
            .called("s2", &chat_request("same"))
            .returned("s2", third)
            .returned("s1", "a")
            .called("s3", &chat_request("same"))
            .returned("s3", "a")
    };
    let player = Player::load(&builder("b").run()).unwrap();
    let said: Vec<String> = (0..3).map(|_| body_text(&hit(&player, &chat("same")))).collect();
    assert_eq!(said, ["a", "b", "a"]);
    assert_eq!(
        player.outcome(),
        ReplayOutcome {
            found_by: Some(FoundBy::Request),
            levels: exact(3),
            ambiguous: 3,
            ..ReplayOutcome::default()
        }
    );
    // Equal answers are not ambiguous.
    let player = Player::load(&builder("a").run()).unwrap();
    hit(&player, &chat("same"));
    assert_eq!(player.outcome().ambiguous, 0);
}

#[test]
fn headers_of_codings_and_connections_are_gone() {
    let http = format!(
        r#"{{"version":"1.1","headers":[["Content-Encoding","gzip"],["content-length","5"],["transfer-encoding","chunked"],["Connection","keep-alive"],["keep-alive","x"],["x-request-id","r"],["content-type","text/event-stream"]],"trailers":[["x-sum","1"],["trailer","x"]],"body":{},"chunks":[[4,2],[250,3]],"content_encoding":"gzip"}}"#,
        text_body("ab\n\nc")
    );
    let run = RunBuilder::started()
        .called("s1", &chat_request("x"))
        .event(
            "rer.model.returned",
            &returned_payload("s1", &http, r#""status":200,"complete":true,"ended_by":"eof""#),
        )
        .run();
    let answer = hit(&Player::load(&run).unwrap(), &chat("x"));
    assert_eq!(answer.version.as_deref(), Some("1.1"));
    let names: Vec<&str> = answer.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["x-request-id", "content-type"]);
    assert_eq!(answer.trailers, [("x-sum".to_owned(), "1".to_owned())]);
    let chunk = |at, length| Chunk { at: Duration::from_millis(at), length };
    assert_eq!(answer.chunks, [chunk(4, 2), chunk(250, 3)]);
}

#[test]
fn a_body_that_was_not_decoded_keeps_its_coding() {
    let http = r#"{"headers":[["content-encoding","gzip"]],"body":{"base64":"H4sI"}}"#;
    let run = RunBuilder::started()
        .called("s1", &chat_request("x"))
        .event(
            "rer.model.returned",
            &returned_payload("s1", http, r#""status":200,"complete":true,"ended_by":"eof""#),
        )
        .run();
    let answer = hit(&Player::load(&run).unwrap(), &chat("x"));
    assert_eq!(answer.headers, [("content-encoding".to_owned(), "gzip".to_owned())]);
    assert_eq!(answer.body, [0x1F, 0x8B, 0x08]);
}

#[test]
fn every_end_is_told() {
    let ends = [
        (r#""status":200,"complete":true,"ended_by":"client""#, AnswerEnd::Complete),
        (r#""status":200,"complete":false,"ended_by":"client""#, AnswerEnd::ClientDisconnected),
        (r#""status":200,"complete":false,"ended_by":"upstream""#, AnswerEnd::CutByUpstream),
        (r#""status":200,"complete":false,"ended_by":"timeout""#, AnswerEnd::CutByUpstream),
        (r#""status":null,"complete":false,"ended_by":"upstream""#, AnswerEnd::NoAnswer),
    ];
    for (members, end) in ends {
        let http = r#"{"headers":[],"body":{"text":"part"}}"#;
        let builder = RunBuilder::started().called("s1", &chat_request("x"));
        let run = builder.event("rer.model.returned", &returned_payload("s1", http, members)).run();
        let answer = hit(&Player::load(&run).unwrap(), &chat("x"));
        assert_eq!((answer.end, answer.status.is_none()), (end, end == AnswerEnd::NoAnswer), "{members}");
    }
}

#[test]
fn an_agent_that_left_early_is_served_all_and_one_that_got_something_else_gets_that() {
    for (delivered, served) in [("par", "part"), ("other", "other")] {
        let http = r#"{"headers":[],"body":{"text":"part"},"chunks":[[1,4]]}"#;
        let members = format!(
            r#""status":200,"complete":false,"ended_by":"client","delivered":{}"#,
            text_body(delivered)
        );
        let builder = RunBuilder::started().called("s1", &chat_request("x"));
        let run = builder.event("rer.model.returned", &returned_payload("s1", http, &members)).run();
        let answer = hit(&Player::load(&run).unwrap(), &chat("x"));
        assert_eq!(
            (body_text(&answer).as_str(), answer.chunks.len()),
            (served, usize::from(served == "part"))
        );
    }
}

#[test]
fn keys_are_computed_anew() {
    let parts = MatchKeyParts {
        provider: "openai",
        method: "POST",
        path: ModelRequest::CHAT.path,
        headers: &[],
        body: b"two",
    };
    let right = match_key(&parts, renumbered).to_string();
    let run = RunBuilder::started()
        .called("s1", &ModelRequest { body: "one", match_key: &right, ..ModelRequest::CHAT })
        .returned("s1", "I")
        .called("s2", &ModelRequest { body: "two", match_key: &right, ..ModelRequest::CHAT })
        .returned("s2", "II")
        .run();
    let player = Player::load(&run).unwrap();
    assert_eq!(player.notes(), [LoadNote::MatchKey { step_id: "s1".into() }]);
    assert_eq!(body_text(&hit(&player, &chat("two"))), "II");
    assert_eq!(body_text(&hit(&player, &chat("one"))), "I");
}

#[test]
fn gets_are_served_too_and_headers_that_count_must_be_the_same() {
    let list = ModelRequest::CHAT.payload("s1").replace("POST", "GET").replace("chat/completions", "models");
    let headers = r#"[["openai-beta","assistants=v2"],["user-agent","recorded"]]"#;
    let run = RunBuilder::started()
        .event("rer.http.called", &list)
        .event(
            "rer.http.returned",
            &returned_payload(
                "s1",
                r#"{"headers":[],"body":{"text":"list"}}"#,
                r#""status":200,"complete":true,"ended_by":"eof""#,
            ),
        )
        .called("s2", &ModelRequest { headers, ..chat_request("x") })
        .returned("s2", "beta")
        .run();
    let player = Player::load(&run).unwrap();
    let get = PlayerRequest { method: "GET", path: "/v1/models", headers: &[], ..chat("") };
    assert_eq!(body_text(&hit(&player, &get)), "list");
    support::miss(&player, &chat("x"));
    let beta = PlayerRequest {
        headers: &[("OpenAI-Beta", b"assistants=v2"), ("user-agent", b"another")],
        ..chat("x")
    };
    assert_eq!(body_text(&hit(&player, &beta)), "beta");
}

#[test]
fn another_secret_in_the_same_place_is_the_same_request() {
    let body = r#"{"a":"[masked:environment:7]","b":"[masked:credential:4]","c":"[masked:environment:7]"}"#;
    let run = RunBuilder::started().called("s1", &chat_request(body)).returned("s1", "I").run();
    let player = Player::load(&run).unwrap();
    player.add_secret(rule::ENVIRONMENT, b"stand-in \"one\"");
    let body = r#"{"a":"stand-in \"one\"","b":"dummy-dummy-dummy","c":"stand-in \"one\""}"#;
    assert_eq!(body_text(&hit(&player, &chat(body))), "I");
    assert!(!format!("{player:?}").contains("stand-in"));
}

/// The text of a project's own rules is not in the record, so a replay needs the same rules.
#[test]
fn rules_of_a_project_must_be_the_recorded_ones() {
    let rule = |prefix| CustomRule::new("acme-key", prefix, Alphabet::Alnum, 8).unwrap();
    let (same, other) = (RulePack::with_custom(&[rule("acme_")]), RulePack::with_custom(&[rule("acme-")]));
    let digest = |pack: &RulePack| Digest::of(pack.rules_text().as_bytes()).to_string();
    let started = format!(r#"{{"redaction":{{"pack":"{}","digest":"{}"}}}}"#, same.name(), digest(&same));
    let masked = r#"{"model":"m","messages":["[masked:acme-key:1]"]}"#;
    let run = RunBuilder::empty()
        .event("rer.run.started", &started)
        .called("s1", &chat_request(masked))
        .returned("s1", "I")
        .run();
    let player = Player::load_with_pack(&run, Arc::clone(&same)).unwrap();
    assert_eq!(player.notes(), []);
    let plain = masked.replace("[masked:acme-key:1]", "acme_0123456789");
    assert_eq!(body_text(&hit(&player, &chat(&plain))), "I");
    for pack in [other, RulePack::standard()] {
        let error = Player::load_with_pack(&run, Arc::clone(&pack)).unwrap_err();
        assert_eq!(error, LoadError::Rules { recorded: digest(&same), ours: digest(&pack) });
    }
    assert_eq!(
        Player::load(&run).unwrap_err(),
        Player::load_with_pack(&run, RulePack::standard()).unwrap_err()
    );
}

#[test]
fn rules_of_another_pack_are_told() {
    let pack = RulePack::standard();
    let digest = Digest::of(pack.rules_text().as_bytes());
    let load = |name: &str, digest: &str| {
        let started = format!(r#"{{"redaction":{{"pack":"{name}","digest":"{digest}"}}}}"#);
        let run = RunBuilder::empty()
            .event("rer.run.started", &started)
            .called("s1", &ModelRequest::CHAT)
            .returned("s1", "I")
            .run();
        Player::load(&run).unwrap().notes().to_vec()
    };
    assert_eq!(load(pack.name(), &digest.to_string()), []);
    let ours = format!("{} ({digest})", pack.name());
    assert_eq!(
        load("reenact-0", "x"),
        [LoadNote::Pack { recorded: "reenact-0 (x)".into(), ours: ours.clone() }]
    );
    assert_eq!(load(pack.name(), "x"), [LoadNote::Pack { recorded: format!("{} (x)", pack.name()), ours }]);
}

#[test]
fn requests_that_cannot_be_read_are_told_and_alone_are_an_error() {
    let builder = || {
        RunBuilder::started()
            .withheld("rer.model.called", "{}")
            .event("rer.model.called", "{\"step_id\":\"s\\u001b\"}")
    };
    let error = Player::load(&builder().run()).unwrap_err();
    assert_eq!(error, LoadError::NothingToServe { exchanges: 2, first: UnreadablePayload::Withheld });
    let player =
        Player::load(&builder().called("s3", &ModelRequest::CHAT).returned("s3", "I").run()).unwrap();
    let note = |step_id: &str, why| LoadNote::Request { step_id: step_id.into(), why };
    assert_eq!(
        player.notes(),
        [
            note("", UnreadablePayload::Withheld),
            note("s\\u{1b}", UnreadablePayload::Missing { member: "http" })
        ]
    );
    // A run without requests can be played.
    assert_eq!(Player::load(&RunBuilder::started().run()).unwrap().outcome(), ReplayOutcome::default());
    // The number of notes is bounded.
    let many = (0..80)
        .fold(RunBuilder::started().called("s0", &ModelRequest::CHAT), |builder, _| {
            builder.bare("rer.model.called")
        })
        .run();
    let player = Player::load(&many).unwrap();
    assert_eq!((player.notes().len(), player.notes().last()), (51, Some(&LoadNote::More { more: 30 })));
}
