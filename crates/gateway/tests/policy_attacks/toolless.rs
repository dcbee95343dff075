//! Interfaces whose answers ask for no tools: a row for each, with the attacks that they offer.

use reenact_testkit::{Script, ScriptedVendor};
use reenact_wire::{Endpoint, PROTOCOLS, Vendor};

use crate::support::LiveRun;
use crate::support::client::TestClient;
use crate::support::enforced::EnforcedRun;

/// Row of one interface.
struct ToollessTable {
    endpoint: Endpoint,
    route: Vendor,
    /// Path behind the base address. `{model}` stands for the model.
    path: &'static str,
    /// Ordinary request. `{model}` stands for the model.
    body: &'static str,
    /// Members of a request that is not ordinary, put in front, with the form that is not known.
    unknown: (&'static str, &'static str),
}

const TABLES: [ToollessTable; 13] = [
    ToollessTable {
        endpoint: Endpoint::EMBEDDINGS,
        route: Vendor::OPENAI,
        path: "/embeddings",
        body: r#"{"model":"{model}","input":["a","b"],"encoding_format":"base64","dimensions":9}"#,
        unknown: (r#""plugins":[]"#, "$.plugins"),
    },
    ToollessTable {
        endpoint: Endpoint::RERANK,
        route: Vendor::OPENROUTER,
        path: "/rerank",
        body: r#"{"model":"{model}","query":"q","documents":["a",{"text":"b"}],"top_n":1}"#,
        unknown: (r#""models":["o3"]"#, "$.models"),
    },
    ToollessTable {
        endpoint: Endpoint::MODERATIONS,
        route: Vendor::OPENAI,
        path: "/moderations",
        body: r#"{"model":"{model}","input":"a"}"#,
        unknown: (r#""tools":[]"#, "$.tools"),
    },
    ToollessTable {
        endpoint: Endpoint::INPUT_TOKENS,
        route: Vendor::OPENAI,
        path: "/responses/input_tokens",
        body: r#"{"model":"{model}","input":"a","tools":[]}"#,
        unknown: (r#""plugins":[]"#, "$.plugins"),
    },
    ToollessTable {
        endpoint: Endpoint::IMAGE_GENERATIONS,
        route: Vendor::OPENAI,
        path: "/images/generations",
        body: r#"{"model":"{model}","prompt":"a","n":1,"size":"1024x1024"}"#,
        unknown: (r#""tools":[]"#, "$.tools"),
    },
    ToollessTable {
        endpoint: Endpoint::IMAGE_EDITS,
        route: Vendor::XAI,
        path: "/images/edits",
        body: r#"{"model":"{model}","prompt":"a","image":{"url":"data:"}}"#,
        unknown: (r#""tools":[]"#, "$.tools"),
    },
    ToollessTable {
        endpoint: Endpoint::SPEECH,
        route: Vendor::OPENAI,
        path: "/audio/speech",
        body: r#"{"model":"{model}","input":"a","voice":"alloy"}"#,
        unknown: (r#""tools":[]"#, "$.tools"),
    },
    ToollessTable {
        endpoint: Endpoint::TRANSCRIPTIONS,
        route: Vendor::GROQ,
        path: "/audio/transcriptions",
        body: r#"{"model":"{model}","file":"UklGRg=="}"#,
        unknown: (r#""tools":[]"#, "$.tools"),
    },
    ToollessTable {
        endpoint: Endpoint::MESSAGE_TOKENS,
        route: Vendor::ANTHROPIC,
        path: "/messages/count_tokens",
        body: r#"{"model":"{model}","messages":[{"role":"user","content":"a"}],"tools":[{"name":"t","input_schema":{}}]}"#,
        unknown: (r#""plugins":[]"#, "$.plugins"),
    },
    ToollessTable {
        endpoint: Endpoint::CONTENT_TOKENS,
        route: Vendor::GEMINI,
        path: "/v1beta/models/{model}:countTokens",
        body: r#"{"generateContentRequest":{"model":"models/{model}","contents":[{"parts":[{"text":"a"}]}]}}"#,
        unknown: (r#""plugins":[]"#, "$.plugins"),
    },
    ToollessTable {
        endpoint: Endpoint::EMBED_CONTENT,
        route: Vendor::GEMINI,
        path: "/v1beta/models/{model}:embedContent",
        body: r#"{"model":"models/{model}","content":{"parts":[{"text":"a"}]},"task_type":"RETRIEVAL_QUERY"}"#,
        unknown: (r#""tools":[]"#, "$.tools"),
    },
    ToollessTable {
        endpoint: Endpoint::BATCH_EMBED_CONTENTS,
        route: Vendor::GEMINI,
        path: "/v1beta/models/{model}:batchEmbedContents",
        body: r#"{"requests":[{"model":"models/{model}","content":{"parts":[{"text":"a"}]}}]}"#,
        unknown: (r#""tools":[]"#, "$.tools"),
    },
    ToollessTable {
        endpoint: Endpoint::PREDICT,
        route: Vendor::VERTEX,
        path: "/v1/projects/p/locations/l/publishers/google/models/{model}:predict",
        body: r#"{"instances":[{"content":"a","task_type":"RETRIEVAL_QUERY"}],"parameters":{"autoTruncate":true}}"#,
        unknown: (r#""tools":[]"#, "$.tools"),
    },
];

impl ToollessTable {
    fn path(&self, model: &str) -> String {
        self.path.replace("{model}", model)
    }

    fn body(&self, model: &str) -> String {
        self.body.replace("{model}", model)
    }

    fn client(&self, run: &LiveRun) -> TestClient {
        TestClient::of(&run.gateway.base_url(self.route.name()).unwrap())
    }
}

fn envelope() -> EnforcedRun {
    EnforcedRun { models: vec!["allowed", "text-embedding-3-small"], ..EnforcedRun::default() }
}

#[test]
fn every_interface_without_tools_has_a_row() {
    let without = |endpoint: &Endpoint| endpoint.calls_a_model() && !endpoint.can_ask_for_tools();
    let mut due: Vec<Endpoint> = PROTOCOLS.into_iter().filter(without).collect();
    let mut found: Vec<Endpoint> = TABLES.iter().map(|table| table.endpoint).collect();
    due.sort_by_key(|endpoint| endpoint.name());
    found.sort_by_key(|endpoint| endpoint.name());
    assert_eq!(found, due);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_attack_without_tools_reaches_its_vendor() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = envelope().start(&vendor);
    for table in &TABLES {
        let client = table.client(&run);
        let (member, form) = table.unknown;
        let odd = table.path("allowed") + "%2f..";
        for (path, body, due) in [
            (
                table.path("o3"),
                table.body("o3"),
                "allowed_models: the model \"o3\" is not on the list".to_owned(),
            ),
            (
                table.path("allowed"),
                table.body("allowed").replacen('{', &format!("{{{member},"), 1),
                format!("unknown_form: {form} is not known here"),
            ),
            (odd, table.body("allowed"), "unknown_form: POST ".to_owned()),
            (table.path("allowed"), "not json".to_owned(), "allowed_models: ".to_owned()),
        ] {
            let response = client.post(&path, &body).await;
            let message = serde_json::from_slice::<serde_json::Value>(&response.body).unwrap();
            let message = message["error"]["message"].as_str().unwrap().to_owned();
            let is_model_in_path = body == "not json" && table.path.contains("{model}");
            assert_eq!(response.status(), 403, "{:?} {path} {body} {message}", table.endpoint);
            if !is_model_in_path {
                assert!(
                    message.contains(&format!("denied by {due}")),
                    "{:?} {path}: {message}",
                    table.endpoint
                );
            }
            assert_eq!(vendor.requests().len(), 0);
        }
    }
    run.seal().await.assert_rules_pass();
}

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_requests_without_tools_pass() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = envelope().start(&vendor);
    for (count, table) in (1..).zip(&TABLES) {
        let response = table.client(&run).post(&table.path("allowed"), &table.body("allowed")).await;
        assert!(!response.text().contains("denied by"), "{:?}: {}", table.endpoint, response.text());
        assert_eq!(vendor.requests().len(), count, "{:?}", table.endpoint);
    }
    let sealed = run.seal().await;
    let called = sealed.payloads("rer.model.called");
    let names: Vec<&str> = called.iter().map(|called| called["endpoint"].as_str().unwrap()).collect();
    assert_eq!(names, TABLES.each_ref().map(|table| table.endpoint.name()));
    assert!(called.iter().all(|called| called["model"].as_str().unwrap().ends_with("allowed")));
    sealed.assert_rules_pass();
}

/// What is free passes any limit; what has no price, or one that is not counted in tokens, passes none.
#[tokio::test(flavor = "multi_thread")]
async fn no_call_without_tools_passes_the_limit_on_spending() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let limited =
        EnforcedRun { models: envelope().models, ..EnforcedRun::with_limits(r#"{"max_spend_usd":1000}"#) };
    let run = limited.start(&vendor);
    let mut passed = Vec::new();
    for table in &TABLES {
        let sent = vendor.requests().len();
        let response = table.client(&run).post(&table.path("allowed"), &table.body("allowed")).await;
        if vendor.requests().len() > sent {
            passed.push(table.endpoint.name());
        } else {
            assert!(response.text().contains("denied by max_spend_usd: "), "{}", response.text());
        }
    }
    assert_eq!(passed, ["moderations", "responses.input_tokens", "messages.count_tokens", "countTokens"]);
    // What one vendor gives away another may charge.
    let base_url = run.gateway.base_url("mistral").unwrap();
    let response = TestClient::of(&base_url).post("/moderations", r#"{"model":"allowed","input":"a"}"#).await;
    assert!(response.text().contains("denied by max_spend_usd: "), "{}", response.text());
    run.seal().await;

    let limited = EnforcedRun {
        models: envelope().models,
        ..EnforcedRun::with_limits(r#"{"max_spend_usd":0.000001}"#)
    };
    let run = limited.start(&vendor);
    let long = format!(r#"{{"model":"text-embedding-3-small","input":"{}"}}"#, "a".repeat(1_000));
    let response = run.openai().post("/embeddings", &long).await;
    assert!(response.text().contains("denied by max_spend_usd: "), "{}", response.text());
    run.seal().await;
}

/// A form in parts is judged as its server reads it: by the boundary that the request names, with one name for each field.
#[tokio::test(flavor = "multi_thread")]
async fn forms_in_parts() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = envelope().start(&vendor);
    let field = |name: &str, value: &str| {
        format!("--b0\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let file = "--b0\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/wav\r\n\r\nRIFF\r\n";
    let form = |fields: &[String]| [&fields.concat(), file, "--b0--\r\n"].concat();
    let plain = form(&[field("model", "allowed"), field("include[]", "logprobs")]);
    let hidden = plain.replace("b0", "b1") + &form(&[field("model", "o3")]);
    let in_file = plain.replace("name=\"model\"", "name=\"model\"; filename=\"m\"");
    for (body, due) in [
        (form(&[field("model", "o3")]), "allowed_models: the model \"o3\" is not on the list"),
        (form(&[field("model", "allowed"), field("model", "o3")]), "allowed_models: "),
        (form(&[field("model", "allowed"), field("tools", "[]")]), "unknown_form: $.tools is not known here"),
        (hidden, "allowed_models: "),
        (in_file, "unknown_form: $.model is not known here"),
        (form(&[]), "allowed_models: "),
    ] {
        let headers = [("Content-Type", "multipart/form-data; boundary=b0")];
        let response =
            run.openai().send("POST", "/audio/transcriptions", &headers, body.as_bytes()).await.unwrap();
        let text = response.text().replace("\\\"", "\"");
        assert!(text.contains(&format!("denied by {due}")), "{body}: {text}");
    }
    // Another interface takes no such form.
    let headers = [("Content-Type", "multipart/form-data; boundary=b0")];
    let response = run.openai().send("POST", "/chat/completions", &headers, plain.as_bytes()).await.unwrap();
    assert_eq!((response.status(), vendor.requests().len()), (403, 0));
    let response =
        run.openai().send("POST", "/audio/transcriptions", &headers, plain.as_bytes()).await.unwrap();
    assert!(!response.text().contains("denied by"), "{}", response.text());
    assert_eq!(vendor.requests()[0].body, plain);
    run.seal().await.assert_rules_pass();
}
