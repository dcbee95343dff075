//! Changes to the header and the envelope, and to the spelling of their members.

use reenact_formats::rer::seal::Signer as _;
use serde_json::{Value as Json, json};

use crate::{
    CHAIN, ENVELOPE, ENVELOPE_SIG, HEAD, PAYLOADS, RUNTIME_SIG, SCHEMA, assert_noticed, hash, rehash, remove,
    sealed,
};
use reenact_testkit::fixture::TestKey;

#[test]
fn the_header() {
    assert_noticed(&[
        ("run_id", |a| a["run_id"] = json!("Run"), &[RUNTIME_SIG]),
        ("run_id with a combining mark", |a| a["run_id"] = json!("run\u{301}"), &[RUNTIME_SIG]),
        ("run_id absent", |a| remove(a, "run_id"), &[SCHEMA, RUNTIME_SIG]),
        ("envelope_hash", |a| a["envelope_hash"] = hash(&json!(0)), &[ENVELOPE]),
        ("log_head_hash", |a| a["log_head_hash"] = hash(&json!(0)), &[HEAD]),
        ("log_head_hash null", |a| a["log_head_hash"] = json!(null), &[SCHEMA, HEAD]),
        (
            "log_head_hash of an earlier event",
            |a| a["log_head_hash"] = a["events"][2]["event_hash"].clone(),
            &[HEAD],
        ),
        (
            "artifact_version 0.1",
            |a| a["artifact_version"] = json!("rer-artifact/0.1"),
            &[SCHEMA, RUNTIME_SIG],
        ),
        (
            "artifact_version 0.3",
            |a| a["artifact_version"] = json!("rer-artifact/0.3"),
            &[SCHEMA, RUNTIME_SIG],
        ),
        (
            "all of version 0.1",
            |a| {
                *a = serde_json::from_str(&a.to_string().replace("/0.2\"", "/0.1\"")).unwrap();
                remove(a, "manifest_hash");
                rehash(a);
            },
            &[ENVELOPE_SIG, RUNTIME_SIG],
        ),
        ("manifest_hash set", |a| a["manifest_hash"] = hash(&json!(0)), &[RUNTIME_SIG]),
        ("manifest_hash no hash", |a| a["manifest_hash"] = json!(0), &[SCHEMA, RUNTIME_SIG]),
        ("manifest_hash false", |a| a["manifest_hash"] = json!(false), &[SCHEMA, RUNTIME_SIG]),
        ("manifest_hash absent", |a| remove(a, "manifest_hash"), &[SCHEMA, RUNTIME_SIG]),
        ("runtime.version", |a| a["runtime"]["version"] = json!("2"), &[RUNTIME_SIG]),
        (
            "runtime.implementation absent",
            |a| remove(&mut a["runtime"], "implementation"),
            &[SCHEMA, RUNTIME_SIG],
        ),
        ("runtime.algorithm", |a| a["runtime"]["algorithm"] = json!("ed25519"), &[SCHEMA, RUNTIME_SIG]),
        ("runtime null", |a| a["runtime"] = json!(null), &[SCHEMA, ENVELOPE_SIG, RUNTIME_SIG]),
        (
            "key_id of a stranger",
            |a| a["runtime"]["key_id"] = json!(TestKey::of(2).public_key().id().to_string()),
            &[ENVELOPE_SIG, RUNTIME_SIG],
        ),
        (
            "key_id padded",
            |a| a["runtime"]["key_id"] = json!(format!("{}=", TestKey::of(1).public_key().id())),
            &[SCHEMA, ENVELOPE_SIG, RUNTIME_SIG],
        ),
        (
            "key_id in hex",
            |a| a["runtime"]["key_id"] = json!(TestKey::of(1).public_key().digest().to_string()),
            &[SCHEMA, ENVELOPE_SIG, RUNTIME_SIG],
        ),
        (
            "key_id a list",
            |a| a["runtime"]["key_id"] = json!([a["runtime"]["key_id"]]),
            &[SCHEMA, ENVELOPE_SIG, RUNTIME_SIG],
        ),
        (
            "the log of another run",
            |a| {
                let other = sealed("other", "m", &TestKey::of(1));
                a["events"] = other["events"].clone();
                a["events"][0]["payload"] = json!(7);
                rehash(a);
            },
            &[RUNTIME_SIG],
        ),
        (
            "the signature of another run",
            |a| a["runtime_signature"] = sealed("other", "m", &TestKey::of(1))["runtime_signature"].clone(),
            &[RUNTIME_SIG],
        ),
    ]);
}

#[test]
fn the_envelope() {
    assert_noticed(&[
        (
            "another tool",
            |a| a["envelope"]["permissions"]["allowed_tools"][0] = json!("*"),
            &[ENVELOPE, ENVELOPE_SIG, RUNTIME_SIG],
        ),
        (
            "another tool, rehashed",
            |a| (a["envelope"]["permissions"]["allowed_tools"][0] = json!("*"), rehash(a)).1,
            &[ENVELOPE_SIG, RUNTIME_SIG],
        ),
        (
            "a limit lifted",
            |a| remove(&mut a["envelope"]["limits"], "max_steps"),
            &[ENVELOPE, ENVELOPE_SIG, RUNTIME_SIG],
        ),
        ("metadata", |a| a["envelope"]["metadata"]["x"] = json!(1), &[ENVELOPE, ENVELOPE_SIG, RUNTIME_SIG]),
        (
            "another envelope of the same key",
            |a| a["envelope"] = sealed("run", "other", &TestKey::of(1))["envelope"].clone(),
            &[ENVELOPE, RUNTIME_SIG],
        ),
        (
            "the same, rehashed",
            |a| (a["envelope"] = sealed("run", "other", &TestKey::of(1))["envelope"].clone(), rehash(a)).1,
            &[RUNTIME_SIG],
        ),
        (
            "the same envelope of another key",
            |a| a["envelope"] = sealed("run", "m", &TestKey::of(2))["envelope"].clone(),
            &[ENVELOPE_SIG],
        ),
        ("signature absent", |a| remove(&mut a["envelope"], "signature"), &[SCHEMA, ENVELOPE_SIG]),
        ("signature empty", |a| a["envelope"]["signature"] = json!(""), &[SCHEMA, ENVELOPE_SIG]),
        ("an empty envelope", |a| a["envelope"] = json!({}), &[SCHEMA, ENVELOPE, ENVELOPE_SIG, RUNTIME_SIG]),
        ("null", |a| a["envelope"] = json!(null), &[SCHEMA, ENVELOPE, ENVELOPE_SIG, RUNTIME_SIG]),
        ("absent", |a| remove(a, "envelope"), &[SCHEMA, ENVELOPE, ENVELOPE_SIG, RUNTIME_SIG]),
        (
            "in a list",
            |a| a["envelope"] = json!([a["envelope"]]),
            &[SCHEMA, ENVELOPE, ENVELOPE_SIG, RUNTIME_SIG],
        ),
    ]);
}

#[test]
fn members_that_the_format_does_not_know() {
    assert_noticed(&[
        ("at the root", |a| a["note"] = json!(1), &[SCHEMA]),
        ("in an event", |a| a["events"][2]["note"] = json!(1), &[SCHEMA]),
        ("in an event, its name almost right", |a| a["events"][2]["Payload"] = json!(1), &[SCHEMA]),
        ("in runtime", |a| a["runtime"]["note"] = json!(1), &[SCHEMA, RUNTIME_SIG]),
        (
            "in the envelope",
            |a| a["envelope"]["note"] = json!(1),
            &[SCHEMA, ENVELOPE, ENVELOPE_SIG, RUNTIME_SIG],
        ),
        (
            "in permissions",
            |a| a["envelope"]["permissions"]["note"] = json!(1),
            &[SCHEMA, ENVELOPE, ENVELOPE_SIG, RUNTIME_SIG],
        ),
        (
            "in limits",
            |a| a["envelope"]["limits"]["note"] = json!(1),
            &[SCHEMA, ENVELOPE, ENVELOPE_SIG, RUNTIME_SIG],
        ),
        ("in a payload", |a| a["events"][0]["payload"]["note"] = json!(1), &[PAYLOADS]),
        ("__proto__ at the root", |a| a["__proto__"] = json!({"run_id": "x"}), &[SCHEMA]),
        ("an empty name at the root", |a| a[""] = json!(null), &[SCHEMA]),
    ]);
}

#[test]
fn hexadecimal_in_capitals() {
    fn to_capitals(value: &mut Json) {
        *value = json!(value.as_str().unwrap().to_uppercase());
    }
    assert_noticed(&[
        ("envelope_hash", |a| to_capitals(&mut a["envelope_hash"]), &[SCHEMA, ENVELOPE]),
        ("envelope.signature", |a| to_capitals(&mut a["envelope"]["signature"]), &[SCHEMA, ENVELOPE_SIG]),
        ("event_hash", |a| to_capitals(&mut a["events"][0]["event_hash"]), &[SCHEMA, CHAIN]),
        (
            "event_hash and the link to it",
            |a| {
                to_capitals(&mut a["events"][0]["event_hash"]);
                to_capitals(&mut a["events"][1]["parent_event_hash"]);
            },
            &[SCHEMA, CHAIN],
        ),
        ("log_head_hash", |a| to_capitals(&mut a["log_head_hash"]), &[SCHEMA, HEAD]),
        (
            "log_head_hash and the last event's",
            |a| {
                to_capitals(&mut a["log_head_hash"]);
                to_capitals(&mut a["events"][3]["event_hash"]);
            },
            &[SCHEMA, CHAIN],
        ),
        ("runtime_signature", |a| to_capitals(&mut a["runtime_signature"]), &[SCHEMA, RUNTIME_SIG]),
        ("payload_hash", |a| to_capitals(&mut a["events"][0]["payload_hash"]), &[SCHEMA, CHAIN, PAYLOADS]),
        (
            "0x before it",
            |a| a["envelope_hash"] = json!(format!("0x{}", a["envelope_hash"].as_str().unwrap())),
            &[SCHEMA, ENVELOPE],
        ),
        (
            "a line feed after it",
            |a| a["runtime_signature"] = json!(format!("{}\n", a["runtime_signature"].as_str().unwrap())),
            &[SCHEMA, RUNTIME_SIG],
        ),
        ("another script's digits", |a| a["log_head_hash"] = json!("٠".repeat(32)), &[SCHEMA, HEAD]),
    ]);
}
