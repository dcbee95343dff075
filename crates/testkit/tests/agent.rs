//! The agent and the model of the travel story, and the agent's messages when things go wrong.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::process::Command;

use reenact_testkit::agent::{AgentError, AgentSettings, run_with_settings};
use reenact_testkit::travel::TASK;
use reenact_testkit::{RawBytesAnswer, Script, ScriptedReply, ScriptedVendor, Vendor};

fn run(kind: Vendor, script: Script) -> (Result<(), String>, String, ScriptedVendor) {
    let vendor = ScriptedVendor::start(script).unwrap();
    let settings = AgentSettings {
        context: None,
        kind,
        base_url: vendor.base_url(kind),
        key: Some("sk-test".into()),
        task: TASK.into(),
    };
    let mut output = Vec::new();
    let ended = run_with_settings(&settings, &mut output).map_err(|error| error.to_string());
    (ended, String::from_utf8(output).unwrap(), vendor)
}

const STORY: &str = "\
task:  Book me a flight from Vienna to Lisbon on 2026-05-12, for at most 200 euros.
model: Let me see what flies on that day.
tool:  search_flights date=2026-05-12 from=Vienna to=Lisbon: 3 flights, from 248 euros
model: The cheapest is 248 euros, over your budget of 200. I will try the day after.
tool:  search_flights date=2026-05-13 from=Vienna to=Lisbon: 2 flights, from 189 euros
model: RX 204 on 2026-05-13 costs 189 euros, which is within your budget.
tool:  book_flight date=2026-05-13 flight=RX 204: booked as R7K2QD
model: Booked: RX 204 on 2026-05-13 at 07:10, for 189 euros. Your code is R7K2QD; 11 euros are left for pastéis de nata.
";

#[test]
fn the_story_is_the_same_with_either_vendor() {
    for (kind, path, header, key) in [
        (Vendor::OPENAI, "/v1/chat/completions", "authorization", "Bearer sk-test"),
        (Vendor::ANTHROPIC, "/v1/messages", "x-api-key", "sk-test"),
        (
            Vendor::GEMINI,
            "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
            "x-goog-api-key",
            "sk-test",
        ),
    ] {
        let (ended, output, vendor) = run(kind, Script::travel());
        assert_eq!((ended, output.as_str()), (Ok(()), STORY));
        let requests = vendor.requests();
        assert_eq!(requests.len(), 4);
        for (turn, request) in requests.iter().enumerate() {
            assert_eq!((request.path.as_str(), request.header(header)), (path, Some(key)));
            assert_eq!(request.parsed().tool_results.len(), turn);
            assert!(request.parsed().delivery == reenact_wire::Delivery::Events);
        }
    }
}

#[test]
fn two_runs_ask_the_same_bytes() {
    let bodies = || -> Vec<_> {
        let (_, _, vendor) = run(Vendor::OPENAI, Script::travel());
        vendor.requests().into_iter().map(|request| (request.path, request.body)).collect()
    };
    assert_eq!(bodies(), bodies());
}

#[test]
fn the_vendors_words_are_the_users() {
    for (kind, words) in [
        (Vendor::OPENAI, "Incorrect API key provided."),
        (Vendor::ANTHROPIC, "invalid x-api-key"),
        (Vendor::GEMINI, "Request had invalid authentication credentials."),
    ] {
        let (ended, output, _) = run(kind, Script::failing(401));
        assert_eq!(ended, Err(format!("the vendor says: {words}")));
        assert_eq!(output.lines().count(), 1, "{output}");
        let (ended, ..) = run(kind, Script::failing_after(3));
        assert!(ended.unwrap_err().starts_with("the vendor says: "));
    }
}

#[test]
fn answers_that_are_none() {
    let say = |script| run(Vendor::OPENAI, script).0.unwrap_err();
    assert_eq!(say(Script::cut_after(3)), "the answer broke off");
    assert_eq!(say(Script::empty()), "the answer broke off");
    assert_eq!(
        say(Script::raw(|_| RawBytesAnswer::bytes("SSH-2.0\r\n\r\n"))),
        "not an answer: the head is not HTTP/1.1"
    );
    assert_eq!(
        say(Script::raw(|_| RawBytesAnswer::bytes("HTTP/1.1 502 Bad\r\n\r\n"))),
        "the vendor says: status 502"
    );
    assert_eq!(
        say(Script::raw(|_| RawBytesAnswer::bytes("HTTP/1.1 200 OK\r\n\r\n").then(vec![b' '; 17 << 20]))),
        "the answer is larger than 16 MiB"
    );
    assert_eq!(say(Script::replying(|_| ScriptedReply::call("rm", "{}"))), "no answer after 8 turns");
}

#[test]
fn without_a_vendor() {
    let mut vendor = ScriptedVendor::start(Script::travel()).unwrap();
    let settings = AgentSettings {
        context: None,
        kind: Vendor::OPENAI,
        base_url: vendor.base_url(Vendor::OPENAI),
        key: None,
        task: TASK.into(),
    };
    vendor.stop();
    let error = run_with_settings(&settings, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, AgentError::Client(_)), "{error}");
    assert!(error.to_string().starts_with("cannot reach the model: "), "{error}");
}

#[test]
fn as_a_program_it_reads_the_environment() {
    let run = |argument: &str, variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reenact-testkit-agent"));
        let output = command.arg(argument).env_clear().envs(variables.iter().copied()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let vendor = ScriptedVendor::start(Script::travel()).unwrap();
    let openai = vendor.base_url(Vendor::OPENAI);
    let told = run("openai", &[("OPENAI_BASE_URL", &openai), ("OPENAI_API_KEY", "")]);
    assert_eq!(told, (Some(0), STORY.to_owned(), String::new()));
    assert_eq!(vendor.requests()[0].header("authorization"), None, "no key is needed");
    let anthropic = vendor.base_url(Vendor::ANTHROPIC);
    let told = run("anthropic", &[("ANTHROPIC_BASE_URL", &anthropic)]);
    assert_eq!(told, (Some(0), STORY.to_owned(), String::new()));
    let error = "agent: ANTHROPIC_BASE_URL is not set: it says where the model is\n";
    assert_eq!(run("anthropic", &[("OPENAI_BASE_URL", &openai)]), (Some(1), String::new(), error.to_owned()));
    assert_eq!(run("other", &[]).0, Some(2));
}
