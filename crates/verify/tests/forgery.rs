//! Changes to a sealed artifact that need no key, each with exactly the checks that fail.
#![allow(clippy::unwrap_used)]

mod forgery {
    mod events;
    mod header_and_envelope;
    mod signatures;
    mod uncovered;
}
mod support;

use reenact_formats::rer::RerVersion;
use reenact_formats::rer::seal::{ArtifactBuilder, NewEvent, RerRunHeader, Signer as _};
use reenact_json::Digest;
use reenact_testkit::fixture::TestKey;
use reenact_verify::{CheckId, rer};
use serde_json::{Value as Json, json};
use support::{KeyRing as _, canonical, failed, report_of};

const SCHEMA: CheckId = rer::SCHEMA_VALID;
const ENVELOPE: CheckId = rer::ENVELOPE_HASH;
const ENVELOPE_SIG: CheckId = rer::ENVELOPE_SIGNATURE;
const CHAIN: CheckId = rer::EVENT_CHAIN;
const HEAD: CheckId = rer::LOG_HEAD;
const RUNTIME_SIG: CheckId = rer::RUNTIME_SIGNATURE;
const PAYLOADS: CheckId = rer::PAYLOAD_HASHES;

/// Returns an artifact of four events; the second has its payload withheld, the third has none.
fn sealed(run_id: &str, model: &str, key: &TestKey) -> Json {
    let mut chain = ArtifactBuilder::new(RerVersion::V02);
    let events = [
        ("rer.run.started", Some(r#"{"n":0}"#), false),
        ("rer.tool.called", Some("\"secret\""), true),
        ("rer.tool.returned", None, false),
        ("rer.run.ended", Some(r#"{"n":3,"id":"ab"}"#), false),
    ];
    for (step_index, (event_type, payload, redacted)) in (0..).zip(events) {
        let timestamp = "2026-05-13T12:34:56.7Z";
        let payload = payload.map(str::as_bytes);
        chain.append(&NewEvent { step_index, event_type, timestamp, payload, redacted }).unwrap();
    }
    let envelope = json!({
        "envelope_version": "rer-envelope/0.2",
        "permissions": {"allowed_models": [model], "allowed_tools": ["t"]},
        "limits": {"max_steps": 9},
        "metadata": {},
    })
    .to_string();
    let run = RerRunHeader {
        run_id,
        implementation: "reenact",
        version: "1",
        envelope: envelope.as_bytes(),
        manifest_hash: None,
    };
    serde_json::from_slice(&chain.seal(&run, key).unwrap()).unwrap()
}

fn base() -> Json {
    sealed("run", "m", &TestKey::of(1))
}

fn hash(value: &Json) -> Json {
    json!(Digest::of(&canonical(value.to_string().as_bytes()).unwrap()).to_string())
}

fn hex(bytes: &[u8]) -> Json {
    json!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn without(value: &Json, names: &[&str]) -> Json {
    let mut value = value.clone();
    names.iter().for_each(|name| drop(value.as_object_mut().unwrap().remove(*name)));
    value
}

fn events(artifact: &mut Json) -> &mut Vec<Json> {
    artifact["events"].as_array_mut().unwrap()
}

fn remove(value: &mut Json, name: &str) {
    value.as_object_mut().unwrap().remove(name).unwrap();
}

fn event_hash(event: &Json) -> Json {
    hash(&without(event, &["event_hash", "payload", "payload_redacted"]))
}

/// Makes every hash fit again, as anyone can. The signatures stay as they were.
fn rehash(artifact: &mut Json) {
    let mut parent = Json::Null;
    for event in events(artifact) {
        if event["payload_redacted"] == false {
            event["payload_hash"] = hash(event.get("payload").unwrap_or(&Json::Null));
        }
        event["parent_event_hash"] = parent;
        event["event_hash"] = event_hash(event);
        parent = event["event_hash"].clone();
    }
    artifact["log_head_hash"] = parent;
    artifact["envelope_hash"] = hash(&without(&artifact["envelope"], &["signature"]));
}

fn renumber(artifact: &mut Json) {
    for (step, event) in (0..).zip(events(artifact)) {
        event["step_index"] = json!(step);
    }
}

/// Signs the header with a key, over the hashes that the artifact carries.
fn sign_header(artifact: &mut Json, key: &TestKey, also_without: &[&str]) {
    let header = without(artifact, &["envelope", "events", "runtime_signature"]);
    let header = canonical(without(&header, also_without).to_string().as_bytes()).unwrap();
    artifact["runtime_signature"] = hex(&key.sign(&header));
}

fn sign_envelope(artifact: &mut Json, key: &TestKey) {
    let envelope = without(&artifact["envelope"], &["signature"]);
    let text = canonical(envelope.to_string().as_bytes()).unwrap();
    artifact["envelope"]["signature"] = hex(&key.sign(&text));
}

type Edit = fn(&mut Json);

/// Applies each edit to a fresh artifact and compares the checks that fail with the expected ones.
fn assert_noticed(cases: &[(&str, Edit, &[CheckId])]) {
    let keys = TestKey::of(1).keys();
    assert_eq!(failed(&report_of(base().to_string().as_bytes(), &keys)), [""; 0]);
    for (name, edit, expected) in cases {
        let mut artifact = base();
        edit(&mut artifact);
        assert!(artifact != base(), "{name} changes nothing");
        let report = report_of(artifact.to_string().as_bytes(), &keys);
        assert_eq!(failed(&report), *expected, "{name}: {:#?}", report.reasons);
    }
}
