//! Recording: the agent notices nothing, and the record verifies.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use reenact_testkit::{AgentTask, Script, ScriptedReply, TaskReply, TaskTurn};
use reenact_wire::Usage;

use super::project::{REENACT, TestProject};

#[test]
fn an_agent_is_recorded_and_notices_nothing() {
    let project = TestProject::new(Script::travel());
    let agent = [REENACT, "demo-agent"];
    let direct = project.run_agent_directly(&agent);
    direct.expect(0, "task: [..]\n...\nmodel: Booked: [..]\n", "");
    let recorded = project.run(&[&["record", "--"], &agent[..]].concat());
    recorded.expect(
        0,
        &direct.stdout,
        "reenact: recorded 4 model calls and 3 tool calls, 1,795 tokens in, 120 out, about 0.003444 USD, [..] (exit 0); no policy was set → [..] ([..] KB)\n\
             reenact: next: reenact show last, reenact replay last\n\
             reenact: the key \"default\" was made for you just now ([..]/reenact/keys/default.jwk); who checks your runs needs its public half: reenact keys export default\n",
    );
    project.run(&["verify", "last"]).expect(
        0,
        "[..]/state/runs/[..]/artifact.rer.json  rer-artifact/0.2\n...\n  PASS  intact, and signed by a key that you trust (16 events)\n",
        "",
    );
}

#[test]
fn what_the_model_got_is_what_it_would_have_got() {
    let project = TestProject::new(Script::travel());
    let agent = [REENACT, "demo-agent", "--vendor=anthropic"];
    project.run_agent_directly(&agent).expect(0, "...\n", "");
    let direct = project.vendor.requests();
    project.run(&[&["record", "--"], &agent[..]].concat()).expect(0, "...\n", "...\n");
    let both = project.vendor.requests();
    let watched = &both[direct.len()..];
    assert_eq!(watched.len(), direct.len());
    for (watched, direct) in watched.iter().zip(&direct) {
        assert_eq!(
            (&watched.method, &watched.path, &watched.body),
            (&direct.method, &direct.path, &direct.body)
        );
        // Headers of the connection are the gateway's own.
        let end_to_end = |headers: &[(String, Vec<u8>)]| {
            headers.iter().filter(|(name, _)| name != "connection").cloned().collect::<Vec<_>>()
        };
        assert_eq!(end_to_end(&watched.headers), end_to_end(&direct.headers));
    }
}

/// A record that an agent leaves under the name `last` is not taken for the last run.
#[test]
fn a_file_named_last_does_not_shadow_the_run() {
    let project = TestProject::new(Script::travel());
    project.folder.write("last", "{}");
    project.run(&["verify", "last"]).expect(
        2,
        "last\n  ERROR  there are no runs yet; record one with: reenact record COMMAND (the file of that name is ./last) (E_NOT_FOUND)\n",
        "",
    );
    project.run(&["record", "--", REENACT, "demo-agent"]).expect(0, "...\n", "...\n");
    project.run(&["verify", "last"]).expect(
        0,
        "[..]/state/runs/[..]/artifact.rer.json  rer-artifact/0.2\n...\n",
        "",
    );
    project.run(&["show", "last"]).expect(0, "...\n", "");
    project.run(&["verify", "./last"]).expect(1, "./last  unknown\n...\n", "");
}

#[test]
fn runs_are_kept_from_others() {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "-q", "--", REENACT, "demo-agent"]).expect(0, "...\n", "");
    let folder = project.folder.state();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let names: Vec<_> =
        project.recorded_files().into_iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    assert_eq!(
        names,
        ["artifact.rer.json", "run.json"],
        "the journal goes when the run is sealed and verified"
    );
    for file in project.recorded_files() {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn the_artifact_goes_where_it_is_told() {
    let project = TestProject::new(Script::travel());
    let record = ["record", "-q", "--out", "run.rer.json", "--", REENACT, "demo-agent"];
    project.run(&record).expect(0, "...\n", "");
    project.run(&["verify", "run.rer.json"]).expect(0, "...\n", "");
    // An existing file is not replaced, and the agent is not started in vain.
    project.run(&record).expect(125, "", "reenact: run.rer.json: [..]\n");
    project.run(&[&["record", "--force"], &record[1..]].concat()).expect(0, "...\n", "");
}

/// The suffix says what is written; the whole run stays in the state folder, and is the last one.
#[test]
fn the_format_that_the_name_says() {
    let project = TestProject::new(Script::travel());
    for (out, written, verified) in [
        ("run.rpk", "run.rpk", "run.rpk  rpk/1.0"),
        ("run.model_io.json", "run.model_io.json", "run.model_io.json  model-io/1.0.0"),
        ("session/", "session", "session/REPLAY.jsonl  replay-jsonl/1"),
        ("run.tar.gz", "run.tar.gz", "run.tar.gz  replay-bundle/1"),
    ] {
        let record = ["record", "--out", out, "--", REENACT, "demo-agent"];
        project.run(&record).expect(
            0,
            "...\nmodel: Booked: [..]\n",
            &format!(
                "reenact: recorded 4 model calls and 3 tool calls, [..] → {written} ([..]; [..] things have no place in it, the whole run is [..])\n\
                 ...\nreenact: next: reenact show last, reenact replay last -- [..]\n...\n"
            ),
        );
        let passed_over =
            if written == "session" { "reenact: session: 1 other file passed over\n" } else { "" };
        project.run(&["verify", written]).expect(0, &format!("{verified}\n...\n"), passed_over);
        project.run(&["show", "last"]).expect(
            0,
            "PASS  intact, and signed by a key that you trust [..]\n...\n",
            "",
        );
        // The agent is not started in vain.
        let taken = format!("reenact: {written}: there is such a file already; give another name\n");
        project.run(&record).expect(125, "", &taken);
        let again = project.run(&[&["record", "-q", "--force"], &record[1..]].concat());
        match out.ends_with('/') {
            false => again.expect(0, "...\n", ""),
            // A folder may hold anything, so it is never replaced.
            true => again.expect(125, "", &taken),
        };
    }
}

/// A name that says nothing is refused before the agent starts.
#[test]
fn a_name_that_says_no_format() {
    let project = TestProject::new(Script::travel());
    for out in ["run.json", "run", "run.txt", "run.rer", "run.tgz", "-"] {
        project.run(&["record", "--out", out, "--", "sh", "-c", "echo started"]).expect(
            125,
            "",
            "error: invalid value '[..]' for '--out <FILE>': the end of the name says what is written: [..]\n...\n",
        );
    }
    assert!(!project.folder.state().exists());
}

#[test]
fn a_bundle_where_one_is_wanted() {
    let project = TestProject::new(Script::travel());
    let record = ["record", "--out", "run.rer.tar.gz", "--", REENACT, "demo-agent"];
    project.run(&record).expect(0, "...\n", "reenact: recorded [..] → run.rer.tar.gz ([..])\n...\n");
    project.run(&["verify", "run.rer.tar.gz"]).expect(0, "run.rer.tar.gz  rer-bundle\n...\n", "");
    project.run(&["replay", "run.rer.tar.gz", "--", REENACT, "demo-agent"]).expect(
        0,
        "...\n",
        "reenact: reproduced: 4 exchanges, exit 0, as recorded\n...",
    );
    // The agent is not started in vain.
    project.run(&record).expect(
        125,
        "",
        "reenact: run.rer.tar.gz: there is such a file already; give another name\n",
    );
    project.run(&[&["record", "-q", "--force"], &record[1..]].concat()).expect(0, "...\n", "");
}

/// No bundle can say that a file is absent: the run is written as an artifact, and the agent's exit code is kept.
#[test]
fn a_bundle_of_a_run_that_reports_an_absent_file() {
    let project = TestProject::new(Script::travel());
    let hash = "a".repeat(64);
    let tell = format!(
        r#"
        host=${{REENACT_REPORT_URL#http://}}; path=/${{host#*/}}; host=${{host%%/*}}
        report='{{"type":"rer.artifact.written","payload":{{"artifact_hash":"{hash}","name":"trip.md","size_bytes":3}}}}'
        exec 3<>"/dev/tcp/${{host%:*}}/${{host#*:}}"
        printf 'POST %s HTTP/1.1\r\nhost: %s\r\ncontent-length: %s\r\nconnection: close\r\n\r\n%s' "$path" "$host" "${{#report}}" "$report" >&3
        head -1 <&3; exit 7
        "#
    );
    let record = ["record", "-q", "--out", "run.rer.tar.gz", "--", "bash", "-c", &tell];
    let absent = format!(
        "reenact: run.rer.tar.gz: no bundle was made: the agent reported 1 file that is not here, trip.md (sha256 {hash}); the run is in"
    );
    project.run(&record).expect(
        7,
        "HTTP/1.1 204 No Content\r\n",
        &format!(
            "{absent} run.rer.json\nreenact: with that file: reenact share run.rer.json --as rer --blob FILE --out run.rer.tar.gz\n"
        ),
    );
    assert!(!project.folder.path().join("run.rer.tar.gz").exists());
    project.run(&["verify", "run.rer.json"]).expect(0, "run.rer.json  rer-artifact/0.2\n...\n", "");
    // The artifact of the first run is not replaced by that of the second.
    let first = fs::read(project.folder.path().join("run.rer.json")).unwrap();
    let again = [&["record", "--force"], &record[2..]].concat();
    project.run(&again).expect(
        7,
        "HTTP/1.1 204 No Content\r\n",
        &format!("{absent} [..]/state/runs/[..]/artifact.rer.json\n...\nreenact: next: reenact show [..]/state/runs/[..]/artifact.rer.json, [..]\n...\n"),
    );
    assert_eq!(fs::read(project.folder.path().join("run.rer.json")).unwrap(), first);
}

#[test]
fn another_upstream_and_another_key() {
    let project = TestProject::new(Script::travel());
    project.run(&["keys", "generate", "work"]).expect(0, "...\n", "...\n");
    let upstream = format!("openai={}", project.vendor.base_url(reenact_testkit::Vendor::OPENAI));
    let arguments = ["record", "--key", "work", "--upstream", &upstream, "--", REENACT, "demo-agent"];
    let output =
        project.command(&arguments).env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("key \"work\""), "{stderr}");
    let artifact = fs::read_to_string(project.artifact()).unwrap();
    assert!(artifact.contains(&project.vendor.base_url(reenact_testkit::Vendor::OPENAI)));
}

#[test]
fn an_agent_that_asks_nobody_is_told_apart() {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "--", "true"]).expect(
        0,
        "",
        "reenact: nothing was recorded: no request came here; does the agent read OPENAI_BASE_URL, [..]? If another variable, name it: --base-url-var NAME\n\
         reenact: recorded 0 model calls and 0 tool calls, [..] (exit 0); no policy was set → [..]\n\
         reenact: next: reenact show last, reenact replay last\n...\n",
    );
}

/// An agent whose only way is refused did come here: that is another advice than for one that never came.
#[test]
fn gaps_of_one_kind_are_one() {
    let project = TestProject::new(Script::travel());
    let agent = r#"
        rest=${OPENAI_BASE_URL#http://}; host=${rest%%/*}; path=/${rest#*/}/responses
        for n in 1 2 3; do
            exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
            printf 'GET %s HTTP/1.1\r\nhost: %s\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n' "$path" "$host" >&3
            head -1 <&3
        done
    "#;
    project.run(&["record", "--", "bash", "-c", agent]).expect(
        0,
        &"HTTP/1.1 426 [..]\n".repeat(3),
        "reenact: nothing was recorded: the agent did come here, but with what cannot be recorded (3 WebSocket upgrades refused); set the agent to plain HTTP, if it speaks that\n\
         reenact: recorded 0 model calls and 0 tool calls, [..]; no policy was set → [..]; not recorded: 3 WebSocket upgrades refused\n\
         reenact: next: [..]\n...\n",
    );
    project.run(&["show"]).expect(
        0,
        "PASS  [..]\n...\ncalls   0 model calls, 0 tool calls, 3 gaps\n\n  [..]  rer.capture.gap (3 times)\n[..]what: WebSocket to openai, [..]\n",
        "",
    );
}

/// Whether the tool was ever called, nobody saw.
#[test]
fn a_tool_that_is_asked_for_and_never_answered_is_told() {
    let project = TestProject::new(Script::travel());
    let agent = r#"
        rest=${OPENAI_BASE_URL#http://}; host=${rest%%/*}; path=/${rest#*/}/chat/completions
        body='{"model":"gpt-5","messages":[{"role":"user","content":"Book me a flight."}]}'
        exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
        printf 'POST %s HTTP/1.1\r\nhost: %s\r\ncontent-type: application/json\r\ncontent-length: %s\r\nconnection: close\r\n\r\n%s' "$path" "$host" "${#body}" "$body" >&3
        cat <&3 > answer
    "#;
    project.run(&["record", "--", "bash", "-c", agent]).expect(
        0,
        "",
        "reenact: recorded 1 model call and 0 tool calls, [..]; no policy was set → [..]\n\
         reenact: not recorded: 1 tool was asked for whose result was never seen\n\
         reenact: next: [..]\n...\n",
    );
}

/// Gemini gives calls no ids, and Gemini CLI makes its own, which no answer has.
#[test]
fn a_tool_is_seen_by_what_it_was_asked_where_its_client_made_the_id() {
    let call = |input: &str| TaskReply::Call { tool: "look".into(), input: input.into() };
    let turns = vec![
        TaskTurn { after: String::new(), reply: call(r#"{"day": 1, "at": "Vienna"}"#) },
        TaskTurn { after: "sunny".into(), reply: call(r#"{"day": 2, "at": "Vienna"}"#) },
        TaskTurn { after: "cloudy".into(), reply: TaskReply::Text("It is fine.".into()) },
    ];
    let project = TestProject::new(Script::task(AgentTask { turns, aside: String::new() }));
    let agent = r#"
        rest=${GOOGLE_GEMINI_BASE_URL#http://}; host=${rest%%/*}; path=/${rest#*/}/v1beta/models/gemini-2.5-flash:generateContent
        tools='"tools":[{"functionDeclarations":[{"name":"look","description":"Looks."}]}]'
        said='{"role":"user","parts":[{"text":"Weather?"}]}'
        ask() {
            body="{$tools,\"contents\":[$said]}"
            exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
            printf 'POST %s HTTP/1.1\r\nhost: %s\r\ncontent-type: application/json\r\ncontent-length: %s\r\nconnection: close\r\n\r\n%s' "$path" "$host" "${#body}" "$body" >&3
            cat <&3 > answer
        }
        tell() {
            said="$said,{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"id\":\"own_$1\",\"name\":\"look\",\"args\":{\"at\":\"Vienna\",\"day\":$1}}}]}"
            said="$said,{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"id\":\"own_$1\",\"name\":\"look\",\"response\":{\"output\":\"$2\"}}}]}"
        }
        ask; tell 1 sunny; ask
        [ "$0" = all ] && { tell 2 cloudy; ask; }
        exit 0
    "#;
    let seen = "reenact: recorded 3 model calls and 2 tool calls, [..]\nreenact: next: [..]\n...\n";
    project.run(&["record", "--", "bash", "-c", agent, "all"]).expect(0, "", seen);
    project.run(&["record", "--", "bash", "-c", agent, "some"]).expect(
        0,
        "",
        "reenact: recorded 2 model calls and 1 tool call, [..]\n\
         reenact: not recorded: 1 tool was asked for whose result was never seen\nreenact: next: [..]\n",
    );
}

/// One token is no plural.
#[test]
fn one_token_is_one_token() {
    let usage = Usage { input_tokens: 1, output_tokens: 1, ..Usage::default() };
    let reply = ScriptedReply::text("Yes.").with_usage(usage);
    let project = TestProject::new(Script::answering(move |request| reply.answer(request)));
    project.run(&["record", "--", REENACT, "demo-agent"]).expect(
        0,
        "...\n",
        "reenact: recorded 1 model call and 0 tool calls, 1 token in, 1 out, [..]\n...\n",
    );
}

/// A line without a cost would read as one for nothing.
#[test]
fn a_cost_that_is_not_known_is_said_to_be() {
    let project = TestProject::new(Script::echo());
    let agent = r#"
        rest=${OPENAI_BASE_URL#http://}; host=${rest%%/*}; path=/${rest#*/}/chat/completions
        body='{"model":"own-model","messages":[{"role":"user","content":"Hello."}]}'
        exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
        printf 'POST %s HTTP/1.1\r\nhost: %s\r\ncontent-type: application/json\r\ncontent-length: %s\r\nconnection: close\r\n\r\n%s' "$path" "$host" "${#body}" "$body" >&3
        cat <&3 > answer
    "#;
    project.run(&["record", "--", "bash", "-c", agent]).expect(
        0,
        "",
        "reenact: recorded 1 model call and 0 tool calls, [..] tokens in, [..] out, cost unknown, [..] (exit 0); [..]\n...\n",
    );
    project.run(&[]).expect(
        0,
        "last run  [..]\n          [..], 1 model call and 0 tool calls, cost unknown\n...\n",
        "",
    );
    project.run(&["record", "--", "true"]).expect(
        0,
        "",
        "...\nreenact: recorded 0 model calls and 0 tool calls, [..] ms (exit 0); [..]\n...\n",
    );
}

#[test]
fn calls_that_nobody_answered_are_told() {
    let mut project = TestProject::new(Script::travel());
    project.vendor.stop();
    project.run(&["record", "--", REENACT, "demo-agent"]).expect(
        1,
        "task: [..]\n",
        "agent: [..]\n\
         reenact: recorded 1 model call and 0 tool calls, [..] (exit 1); no policy was set → [..]\n\
         reenact: not recorded: 1 request got no answer: [..]\n\
         reenact: next: [..]\n...\n",
    );
}

#[test]
fn an_agent_tells_of_itself() {
    let project = TestProject::new(Script::travel());
    // A request as any language can make it.
    let tell = r#"
        tell() {
            host=${REENACT_REPORT_URL#http://}; path=/${host#*/}; host=${host%%/*}
            exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
            printf 'POST %s HTTP/1.1\r\nhost: %s\r\ncontent-length: %s\r\nconnection: close\r\n\r\n%s' "$path" "$host" "${#1}" "$1" >&3
            head -1 <&3; exec 3<&-
        }
        reenact demo-agent >&2
        tell '{"type":"rer.plan.started","payload":{"steps":["look","book"]}}'
        tell '{"type":"rer.output.final","payload":{"output":"an-api-key-of-no-shape-4711 is not told"}}'
        tell '{"type":"rer.model.called","payload":{}}'
    "#;
    let said = "HTTP/1.1 204 No Content\r\nHTTP/1.1 204 No Content\r\nHTTP/1.1 400 Bad Request\r\n";
    project.run(&["record", "-q", "--", "bash", "-c", tell]).expect(0, said, "...\n");
    project.run(&["show", "last"]).expect(
        0,
        "PASS[..]\n...\n[..]rer.plan.started\n[..]steps: [\"look\",\"book\"]\n\n[..]rer.output.final\n[..]output: [masked:environment:1] is not told\n",
        "",
    );
    // A replay accepts these events and writes nothing.
    project.run(&["replay", "last", "--", "bash", "-c", tell]).expect(0, said, "...\n");
}

/// A server of one's own is a route, a variable and a provider of that name, and replays like any vendor.
#[test]
fn an_upstream_of_ones_own_name() {
    let mut project = TestProject::new(Script::travel());
    let upstream = format!("together_ai={}/v1", project.vendor.root_url());
    let agent = format!("OPENAI_BASE_URL=$TOGETHER_AI_BASE_URL exec {REENACT} demo-agent");
    let recorded = project.run(&["record", "--upstream", &upstream, "--", "sh", "-c", &agent]);
    recorded.expect(
        0,
        "...\nmodel: Booked: [..]\n",
        "reenact: recorded 4 model calls and 3 tool calls, [..]\n...\n",
    );
    // What another server takes for a model is not in the list.
    assert!(!recorded.stderr.contains("USD"), "{}", recorded.stderr);
    let shown = project.run(&["show", "last", "--json"]);
    assert!(shown.stdout.contains("\"provider\":\"together_ai\""), "{}", shown.stdout);
    project.vendor.stop();
    project.run(&["replay", "last", "--", "sh", "-c", &agent]).expect(
        0,
        &recorded.stdout,
        "...\nreenact: reproduced: 4 exchanges, exit 0, as recorded\n...\n",
    );
}

#[test]
fn an_upstream_of_no_name() {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "--upstream", "../x=http://a", "--", REENACT, "demo-agent"]).expect(
        125,
        "",
        "error: invalid value '../x=http://a' for '--upstream <NAME=URL>': a name has up to 32 of a-z, 0-9, - and _; [..]\n...\n",
    );
}
