//! The example as a Replay Bundle: config, trace, one recorded answer, and the outputs.

use std::collections::BTreeMap;

use reenact_formats::replay_bundle::new_manifest::{
    BundleOutputs, BundleSeeds, BundleToolchain, ReplayCoverage, ScrubPolicy, ToolchainRunner,
};
use reenact_formats::replay_bundle::{
    DocumentInclusion, NewBundleFile, NewManifest, ReopenableSource, cassette, write,
};
use reenact_json::{Digest, Limits, Value};

/// Configuration of the evaluated suite.
const CONFIG: &str = "suite: invoices\nsettings:\n  seed: 42\ntests:\n  - id: invoice_unpaid\n    input: \
    {prompt: \"Is invoice 2041 paid?\"}\n    expected: {type: must_contain, must_contain: [\"No\"]}\n";

/// Trace of one request with its response.
const TRACE: &str = concat!(
    r#"{"schema_version":1,"type":"assay.trace","request_id":"r1","prompt":"Is invoice 2041 paid?","#,
    r#""response":"No. Invoice 2041 over 1,240.00 EUR is open.","meta":{"model":"claude-sonnet-4-5"}}"#,
    "\n"
);

/// URL of the recorded request.
const URL: &str = "https://api.example.test/v1/chat/completions";
/// Body of the recorded request.
const BODY: &str = r#"{"messages":[{"content":"Is the answer faithful? No. Invoice 2041 is open.","role":"user"}],"model":"judge-1"}"#;

/// Results of the run, one by one.
const RUN: &str = r#"{
  "run_id": 1,
  "suite": "invoices",
  "results": [
    {"test_id": "invoice_unpaid", "status": "pass", "score": 1.0, "message": "", "duration_ms": 3},
    {"test_id": "invoice_judged", "status": "error", "message": "no judge was reachable", "duration_ms": 1}
  ],
  "order_seed": "42",
  "exit_code": 0
}
"#;

/// Summary of the results.
const SUMMARY: &str = r#"{
  "schema_version": 1,
  "reason_code_version": 1,
  "exit_code": 0,
  "reason_code": "",
  "results": {"passed": 1, "failed": 0, "total": 2},
  "schema": "assay.run_summary.v1"
}
"#;

/// Returns every file, by name.
pub(super) fn files() -> Result<Vec<(&'static str, Vec<u8>)>, String> {
    let body = Value::parse(BODY.as_bytes(), &Limits::default()).map_err(|error| error.to_string())?;
    let fingerprint = cassette::fingerprint("POST", URL, body).map_err(|fault| fault.to_string())?;
    let recorded = recorded(&fingerprint);
    let recorded_name = format!("cassettes/example/judge/{}.json", &fingerprint.to_string()[..16]);
    let contents: [(&str, &str); 5] = [
        ("files/eval.yaml", CONFIG),
        ("files/trace.jsonl", TRACE),
        ("outputs/run.json", RUN),
        ("outputs/summary.json", SUMMARY),
        (&recorded_name, &recorded),
    ];
    let files: Vec<NewBundleFile<'_>> = contents
        .iter()
        .map(|(name, content)| NewBundleFile { name, content: content as &dyn ReopenableSource })
        .collect();
    let bundle = write(&manifest(), &files, Vec::new()).map_err(|error| error.to_string())?;
    Ok(vec![("invoice.tar.gz", bundle)])
}

/// Returns a cassette in the layout of the real tool.
fn recorded(fingerprint: &Digest) -> String {
    format!(
        concat!(
            "{{\n  \"schema_version\": 2,\n  \"fingerprint\": \"{fingerprint}\",\n  \"method\": \"POST\",\n",
            "  \"url\": \"{url}\",\n  \"request_body\": {body},\n  \"status\": 200,\n",
            "  \"response_body\": {{\"choices\": [{{\"message\": {{\"content\": \"{{\\\"score\\\": 1.0}}\"}}}}]}},\n",
            "  \"meta\": {{\"recorded_at\": \"2026-11-14T09:30:02Z\", \"provider\": \"unknown\", \"kind\": \"judge\"}}\n}}\n"
        ),
        fingerprint = fingerprint,
        url = URL,
        body = BODY,
    )
}

/// Returns the manifest without its list of files, which the writer fills in.
fn manifest() -> NewManifest {
    let digest = Digest::of(CONFIG.as_bytes());
    NewManifest {
        assay_version: "reenact/0.1.0".into(),
        selection_method: Some("run-id".into()),
        config: DocumentInclusion::File("files/eval.yaml".into()),
        policy_digest: Some(digest),
        trace: DocumentInclusion::File("files/trace.jsonl".into()),
        outputs: BundleOutputs {
            run: Some("outputs/run.json".into()),
            summary: Some("outputs/summary.json".into()),
            ..BundleOutputs::default()
        },
        toolchain: Some(BundleToolchain {
            runner: Some(ToolchainRunner {
                os: Some("linux".into()),
                arch: Some("x86_64".into()),
                ..ToolchainRunner::default()
            }),
            ..BundleToolchain::default()
        }),
        seeds: Some(BundleSeeds { seed_version: Some(1), order_seed: Some("42".into()), judge_seed: None }),
        coverage: Some(ReplayCoverage {
            complete: vec!["invoice_unpaid".into()],
            incomplete: vec!["invoice_judged".into()],
            reason: BTreeMap::from([("invoice_judged".into(), "no judge was reachable".into())]),
        }),
        scrub_policy: Some(ScrubPolicy {
            include_prompts: Some(true),
            scrub_cassettes: Some(true),
            name: Some("reenact-1".into()),
        }),
        ..NewManifest::default()
    }
}
