//! Vendors and their addresses: paths with and without the vendor's version, deployments, and servers of a user's own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use reenact_gateway::ReplayPace;
use reenact_testkit::{Script, ScriptStep, ScriptedAnswer, ScriptedVendor};
use reenact_wire::Vendor;
use support::client::TestClient;
use support::enforced::EnforcedRun;
use support::{LiveRun, ReplayedRun, SealedRun};

const MESSAGE: &str =
    r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;

/// Returns a client of the root of a route, below which the path of the base address stands.
fn client_of_root(base_url: &str, route: &str) -> TestClient {
    let at = base_url.find(&format!("/{route}")).unwrap();
    TestClient::of(&base_url[..at + route.len() + 1])
}

/// Returns the paths of all recorded requests.
fn recorded_paths(sealed: &SealedRun) -> Vec<String> {
    let called = sealed.payloads("rer.model.called").into_iter().chain(sealed.payloads("rer.http.called"));
    called.map(|called| called["http"]["path"].as_str().unwrap().to_owned()).collect()
}

/// The AI SDK asks below what it takes for the base address, which has the version; Anthropic's own clients add it.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_version_is_added_and_a_second_one_taken_out() {
    let mut vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let anthropic = client_of_root(&run.gateway.base_url("anthropic").unwrap(), "anthropic");
    let openai = client_of_root(&run.gateway.base_url("openai").unwrap(), "openai");
    for path in ["/messages", "/v1/messages", "/v1/v1/messages", "/messages/count_tokens?beta=true"] {
        assert_eq!(anthropic.post(path, MESSAGE).await.status(), 200, "{path}");
    }
    assert_eq!(openai.post("/responses", r#"{"model":"gpt-5","input":"hi"}"#).await.status(), 200);
    assert_eq!(anthropic.get("/models").await.status(), 200);
    let sent: Vec<String> = vendor.requests().into_iter().map(|request| request.path).collect();
    let due = [
        "/v1/messages",
        "/v1/messages",
        "/v1/messages",
        "/v1/messages/count_tokens?beta=true",
        "/v1/responses",
        "/v1/models",
    ];
    assert_eq!(sent, due);
    let sealed = run.seal().await;
    assert_eq!(recorded_paths(&sealed), due);

    vendor.stop();
    let replay = sealed.replay(ReplayPace::Instant);
    let anthropic = client_of_root(&replay.gateway.base_url("anthropic").unwrap(), "anthropic");
    assert_eq!(anthropic.post("/messages", MESSAGE).await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_envelope_judges_the_path_that_is_sent() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = EnforcedRun { models: vec!["claude-sonnet-4-5"], ..EnforcedRun::default() }.start(&vendor);
    let anthropic = client_of_root(&run.gateway.base_url("anthropic").unwrap(), "anthropic");
    assert_eq!(anthropic.post("/messages", MESSAGE).await.status(), 200);
    for path in ["/messages%2f..%2fbatches", "/messages/batches", "/v1/x/messages"] {
        let response = anthropic.post(path, MESSAGE).await;
        assert_eq!(response.status(), 403, "{path}: {}", response.text());
    }
    assert_eq!(vendor.requests().len(), 1);
    run.seal().await.assert_rules_pass();
}

fn client(run: &LiveRun, vendor: Vendor) -> TestClient {
    TestClient::of(&run.gateway.base_url(vendor.name()).unwrap())
}

fn replaying_client(replay: &ReplayedRun, vendor: Vendor) -> TestClient {
    TestClient::of(&replay.gateway.base_url(vendor.name()).unwrap())
}

/// Returns a script that gives one answer to every request.
fn answering(content_type: &'static str, body: &'static [u8]) -> Script {
    Script::answering(move |_| ScriptedAnswer {
        steps: vec![ScriptStep::send(body)],
        ..ScriptedAnswer::empty(200).header("content-type", content_type)
    })
}

/// Azure names the model in the path, and takes its key in a header of its own.
#[tokio::test(flavor = "multi_thread")]
async fn azure_has_its_model_in_the_path() {
    let mut vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let path = "/openai/deployments/my-gpt/chat/completions?api-version=2025-01-01";
    let headers = [("Content-Type", "application/json"), ("api-key", "a-key-of-no-shape-4711")];
    let body = r#"{"messages":[{"role":"user","content":"hi"}]}"#;
    let azure = client(&run, Vendor::AZURE);
    let response = azure.send("POST", path, &headers, body.as_bytes()).await.unwrap();
    assert_eq!(response.status(), 200, "{}", response.text());
    assert_eq!(vendor.requests()[0].header("api-key"), Some("a-key-of-no-shape-4711"));
    let sealed = run.seal().await;
    let called = sealed.only_payload("rer.model.called");
    assert_eq!((&called["provider"], &called["model"]), (&"azure".into(), &"my-gpt".into()));
    assert_eq!((&called["endpoint"], &called["http"]["path"]), (&"chat.completions".into(), &path.into()));
    assert!(!called.to_string().contains("4711"), "{called}");
    vendor.stop();
    let replay = sealed.replay(ReplayPace::Instant);
    let azure = replaying_client(&replay, Vendor::AZURE);
    let again = azure.send("POST", path, &[("api-key", "another")], body.as_bytes()).await.unwrap();
    assert_eq!(again.text(), response.text());
}

/// Vertex AI speaks Gemini's interface, and Anthropic's with the model in the path.
#[tokio::test(flavor = "multi_thread")]
async fn vertex_speaks_two_interfaces() {
    const MODELS: &str = "/v1/projects/p/locations/us-east5/publishers";
    const GOOGLE: &str = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2},"modelVersion":"gemini-2.5-flash"}"#;
    const CLAUDE: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5-20250929\",\"content\":[],\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let script = Script::answering(|request| {
        let (content_type, body) = match request.path.contains("anthropic/models/claude") {
            true => ("text/event-stream", CLAUDE),
            false => ("application/json", GOOGLE),
        };
        ScriptedAnswer {
            steps: vec![ScriptStep::send(body)],
            ..ScriptedAnswer::empty(200).header("content-type", content_type)
        }
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    let models = vec!["gemini-2.5-flash", "claude-sonnet-4-5@20250929", "claude-sonnet-4-5"];
    let run = EnforcedRun { models, ..EnforcedRun::default() }.start(&vendor);
    let vertex = client(&run, Vendor::VERTEX);
    let content = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#;
    let message = r#"{"anthropic_version":"vertex-2023-10-16","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    for (path, body, status) in [
        ("/google/models/gemini-2.5-flash:generateContent", content, 200),
        ("/google/models/gemini-2.5-flash:countTokens", content, 200),
        ("/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict", message, 200),
        ("/anthropic/models/count-tokens:rawPredict", r#"{"model":"claude-sonnet-4-5","messages":[]}"#, 200),
        ("/anthropic/models/claude-opus-4-1@20250805:rawPredict", message, 403),
        ("/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse", content, 403),
        // A model in the body beside that of the path: nobody knows which is asked.
        (
            "/anthropic/models/claude-sonnet-4-5@20250929:rawPredict",
            &message.replacen('{', r#"{"model":"claude-opus-4-1","#, 1),
            403,
        ),
        ("/google/models/gemini-2.5-flash:rawPredict", message, 403),
    ] {
        let response = vertex.post(&format!("{MODELS}{path}"), body).await;
        assert_eq!(response.status(), status, "{path}: {}", response.text());
    }
    assert_eq!(vendor.requests().len(), 4);
    let sealed = run.seal().await;
    let called = sealed.payloads("rer.model.called");
    let of = |name: &str| {
        called.iter().map(|called| called[name].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of("endpoint"), ["generateContent", "countTokens", "messages", "messages.count_tokens"]);
    assert_eq!(
        of("model"),
        ["gemini-2.5-flash", "gemini-2.5-flash", "claude-sonnet-4-5@20250929", "claude-sonnet-4-5"]
    );
    assert_eq!(of("provider"), ["vertex"; 4]);
    let summary = sealed.run.summary();
    assert_eq!(summary.models["claude-sonnet-4-5@20250929"].output_tokens, 5);
    assert_eq!(summary.models["gemini-2.5-flash"].input_tokens, 3);
    sealed.assert_rules_pass();
}

/// The tokens of embeddings and the like are read from their answers.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_what_asks_for_no_tools() {
    const ANSWER: &[u8] = br#"{"model":"m","data":[{"embedding":[0.1]}],"usage":{"prompt_tokens":12,"total_tokens":12},"usageMetadata":{"promptTokenCount":7},"predictions":[{"embeddings":{"statistics":{"token_count":4}}},{"embeddings":{"statistics":{"token_count":5}}}]}"#;
    let vendor = ScriptedVendor::start(answering("application/json", ANSWER)).unwrap();
    for (kind, path, body, tokens) in [
        (Vendor::OPENAI, "/embeddings", r#"{"model":"text-embedding-3-small","input":"a"}"#, 12),
        (Vendor::MISTRAL, "/embeddings", r#"{"model":"mistral-embed","input":["a"]}"#, 12),
        (Vendor::OPENROUTER, "/rerank", r#"{"model":"r","query":"q","documents":["a"]}"#, 12),
        (Vendor::GEMINI, "/v1beta/models/e:embedContent", r#"{"content":{"parts":[{"text":"a"}]}}"#, 7),
        (
            Vendor::VERTEX,
            "/v1/projects/p/locations/l/publishers/google/models/e:predict",
            r#"{"instances":[{"content":"a"},{"content":"b"}]}"#,
            9,
        ),
        (Vendor::MISTRAL, "/moderations", r#"{"model":"m","input":"a"}"#, 12),
    ] {
        let run = LiveRun::start(&vendor);
        assert_eq!(client(&run, kind).post(path, body).await.body, ANSWER);
        let sealed = run.seal().await;
        let summary = sealed.run.summary();
        assert_eq!((summary.model_calls, summary.input_tokens()), (1, tokens), "{path}");
        if kind == Vendor::OPENAI {
            assert_eq!(summary.cost().unwrap().picodollars, 12 * 20_000);
        }
    }
}

/// Returns bytes in which one sequence is replaced by another.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut result = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    result.extend_from_slice(rest);
    result
}

/// Sound comes and goes byte for byte, in a record and out of it again.
#[tokio::test(flavor = "multi_thread")]
async fn sound_is_exact_to_the_byte() {
    const SOUND: &[u8] = b"ID3\x04\x00\xff\xfb\x90\x00\r\n\xc3\x28\x00data: {\"x\":1}\n\n\xff";
    let mut vendor = ScriptedVendor::start(answering("audio/mpeg", SOUND)).unwrap();
    let run = LiveRun::start(&vendor);
    let speech = r#"{"model":"gpt-4o-mini-tts","input":"hi","voice":"alloy"}"#;
    let spoken = client(&run, Vendor::OPENAI).post("/audio/speech", speech).await;
    assert_eq!(spoken.body, SOUND);
    let upload = [
        b"--b0\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n--b0\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.mp3\"\r\nContent-Type: audio/mpeg\r\n\r\n".as_slice(),
        SOUND,
        b"\r\n--b0--\r\n",
    ]
    .concat();
    let headers = [("Content-Type", "multipart/form-data; boundary=b0")];
    let heard =
        client(&run, Vendor::OPENAI).send("POST", "/audio/transcriptions", &headers, &upload).await.unwrap();
    assert_eq!(heard.status(), 200);
    assert_eq!(vendor.requests()[1].body, upload);
    let sealed = run.seal().await;
    let called = sealed.payloads("rer.model.called");
    assert_eq!(
        (&called[0]["model"], &called[0]["endpoint"]),
        (&"gpt-4o-mini-tts".into(), &"audio.speech".into())
    );
    assert_eq!(
        (&called[1]["model"], &called[1]["endpoint"]),
        (&"whisper-1".into(), &"audio.transcriptions".into())
    );
    let exchanges: Vec<_> = sealed.run.exchanges().collect();
    assert_eq!(exchanges[1].request().unwrap().body.bytes(), upload);
    assert_eq!(&*exchanges[0].answer().unwrap().body, SOUND);
    vendor.stop();
    let replay = sealed.replay(ReplayPace::Instant);
    assert_eq!(replaying_client(&replay, Vendor::OPENAI).post("/audio/speech", speech).await.body, SOUND);
    let again = replaying_client(&replay, Vendor::OPENAI);
    let again = again.send("POST", "/audio/transcriptions", &headers, &upload).await.unwrap();
    assert_eq!((again.status(), &again.body), (200, &heard.body));
    // Clients make up a new boundary for each form.
    let replay = sealed.replay(ReplayPace::Instant);
    let again = replaying_client(&replay, Vendor::OPENAI);
    let headers = [("Content-Type", "multipart/form-data; boundary=another")];
    let first = replaced(&upload, b"--b0", b"--another");
    let again = again.send("POST", "/audio/transcriptions", &headers, &first).await.unwrap();
    assert_eq!((again.status(), &again.body), (200, &heard.body));
}
