//! What someone without the key can make of a sealed artifact, and which checks say so: exactly these, and no other.
#![allow(clippy::unwrap_used)]

mod workshop;

use reenact_formats::key::PublicKey;
use reenact_formats::rer::Version;
use reenact_formats::rer::seal::{Chain, NewEvent, RunHeader, Signer as _};
use reenact_json::Digest;
use reenact_verify::Keys;
use serde_json::{Value as Json, json};
use workshop::{Key, canonical, failed, judge, vector};

const SCHEMA: &str = "schema_valid";
const ENVELOPE: &str = "envelope_hash";
const ENVELOPE_SIG: &str = "envelope_signature";
const CHAIN: &str = "event_chain";
const HEAD: &str = "log_head";
const RUNTIME_SIG: &str = "runtime_signature";
const PAYLOADS: &str = "payload_hashes";

/// Four events; the second has its payload withheld, the third has none.
fn sealed(run_id: &str, model: &str, key: &Key) -> Json {
    let mut chain = Chain::new(Version::V02);
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
    let run = RunHeader {
        run_id,
        implementation: "reenact",
        version: "1",
        envelope: envelope.as_bytes(),
        manifest_hash: None,
    };
    serde_json::from_slice(&chain.seal(&run, key).unwrap()).unwrap()
}

fn base() -> Json {
    sealed("run", "m", &Key::of(1))
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

/// Makes every hash fit again, as anyone can. Only the signatures stay as they were.
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

/// Signs the header as its holder would, over the hashes that the artifact carries.
fn sign_header(artifact: &mut Json, key: &Key, also_without: &[&str]) {
    let header = without(artifact, &["envelope", "events", "runtime_signature"]);
    let header = canonical(without(&header, also_without).to_string().as_bytes()).unwrap();
    artifact["runtime_signature"] = hex(&key.sign(&header));
}

fn sign_envelope(artifact: &mut Json, key: &Key) {
    let envelope = without(&artifact["envelope"], &["signature"]);
    let text = canonical(envelope.to_string().as_bytes()).unwrap();
    artifact["envelope"]["signature"] = hex(&key.sign(&text));
}

type Edit = fn(&mut Json);

/// Applies each edit to a fresh artifact and compares the checks that fail with the expected ones.
fn assert_noticed(cases: &[(&str, Edit, &[&str])]) {
    let keys = Key::of(1).keys();
    assert_eq!(failed(&judge(base().to_string().as_bytes(), &keys)), [""; 0]);
    for (name, edit, expected) in cases {
        let mut artifact = base();
        edit(&mut artifact);
        assert!(artifact != base(), "{name} changes nothing");
        let report = judge(artifact.to_string().as_bytes(), &keys);
        assert_eq!(failed(&report), *expected, "{name}: {:#?}", report.reasons);
    }
}

#[test]
fn events_removed_repeated_moved() {
    assert_noticed(&[
        ("first removed", |a| drop(events(a).remove(0)), &[CHAIN]),
        ("middle removed", |a| drop(events(a).remove(1)), &[CHAIN]),
        ("last removed", |a| drop(events(a).pop()), &[HEAD, RUNTIME_SIG]),
        ("all removed", |a| events(a).clear(), &[HEAD, RUNTIME_SIG]),
        ("all but the last removed", |a| drop(events(a).drain(..3)), &[CHAIN]),
        ("first repeated", |a| a["events"][1] = a["events"][0].clone(), &[CHAIN]),
        ("first twice", |a| events(a).insert(0, base()["events"][0].clone()), &[CHAIN]),
        ("last twice", |a| events(a).push(base()["events"][3].clone()), &[CHAIN]),
        ("middle swapped", |a| events(a).swap(1, 2), &[CHAIN]),
        ("last two swapped", |a| events(a).swap(2, 3), &[CHAIN, HEAD, RUNTIME_SIG]),
        ("reversed", |a| events(a).reverse(), &[CHAIN, HEAD, RUNTIME_SIG]),
        (
            "the whole log twice",
            |a| {
                let again = events(a).clone();
                events(a).extend(again);
            },
            &[CHAIN],
        ),
    ]);
}

#[test]
fn events_removed_repeated_moved_and_rehashed() {
    assert_noticed(&[
        ("first removed", |a| (drop(events(a).remove(0)), rehash(a)).1, &[RUNTIME_SIG]),
        ("middle removed", |a| (drop(events(a).remove(2)), rehash(a)).1, &[RUNTIME_SIG]),
        ("last removed", |a| (drop(events(a).pop()), rehash(a)).1, &[RUNTIME_SIG]),
        (
            "last removed, head fixed",
            |a| (drop(events(a).pop()), a["log_head_hash"] = a["events"][2]["event_hash"].clone()).1,
            &[RUNTIME_SIG],
        ),
        ("swapped", |a| (events(a).swap(1, 2), rehash(a)).1, &[CHAIN, RUNTIME_SIG]),
        ("swapped and renumbered", |a| (events(a).swap(1, 2), renumber(a), rehash(a)).2, &[RUNTIME_SIG]),
        ("reversed and renumbered", |a| (events(a).reverse(), renumber(a), rehash(a)).2, &[RUNTIME_SIG]),
        (
            "first twice",
            |a| (events(a).insert(0, base()["events"][0].clone()), rehash(a)).1,
            &[CHAIN, RUNTIME_SIG],
        ),
        (
            "first twice, renumbered",
            |a| (events(a).insert(0, base()["events"][0].clone()), renumber(a), rehash(a)).2,
            &[RUNTIME_SIG],
        ),
        (
            "one appended, chained",
            |a| {
                let mut forged = base()["events"][3].clone();
                forged["step_index"] = json!(4);
                forged["parent_event_hash"] = forged["event_hash"].clone();
                forged["event_hash"] = event_hash(&forged);
                events(a).push(forged);
            },
            &[HEAD, RUNTIME_SIG],
        ),
        ("a gap in the steps", |a| (a["events"][3]["step_index"] = json!(9), rehash(a)).1, &[RUNTIME_SIG]),
    ]);
}

#[test]
fn members_of_events() {
    assert_noticed(&[
        ("payload", |a| a["events"][0]["payload"]["n"] = json!(1), &[PAYLOADS]),
        (
            "payload and its hash",
            |a| {
                a["events"][0]["payload"] = json!(1);
                a["events"][0]["payload_hash"] = hash(&json!(1));
            },
            &[CHAIN],
        ),
        (
            "payload and its hash, last event",
            |a| {
                a["events"][3]["payload"] = json!(1);
                a["events"][3]["payload_hash"] = hash(&json!(1));
            },
            &[CHAIN, RUNTIME_SIG],
        ),
        ("payload, rehashed", |a| (a["events"][0]["payload"] = json!(1), rehash(a)).1, &[RUNTIME_SIG]),
        ("payload where there was none", |a| a["events"][2]["payload"] = json!(false), &[PAYLOADS]),
        ("payload taken out", |a| remove(&mut a["events"][0], "payload"), &[PAYLOADS]),
        (
            "payloads swapped",
            |a| {
                let first = a["events"][0]["payload"].take();
                a["events"][0]["payload"] = a["events"][3]["payload"].take();
                a["events"][3]["payload"] = first;
            },
            &[PAYLOADS],
        ),
        ("timestamp", |a| a["events"][0]["timestamp"] = json!("2026-05-13T12:34:56.70Z"), &[CHAIN]),
        (
            "timestamp of the last event",
            |a| a["events"][3]["timestamp"] = json!("2026-05-13T12:34:56.70Z"),
            &[CHAIN, RUNTIME_SIG],
        ),
        (
            "timestamp, rehashed",
            |a| (a["events"][0]["timestamp"] = json!("2026-05-13T12:34:56.70Z"), rehash(a)).1,
            &[RUNTIME_SIG],
        ),
        ("event_type", |a| a["events"][0]["event_type"] = json!("rer.run.ended"), &[CHAIN]),
        ("event_type, no type at all", |a| a["events"][0]["event_type"] = json!("Rer.Run"), &[SCHEMA, CHAIN]),
        ("event_version", |a| a["events"][0]["event_version"] = json!("rer-event/0.1"), &[SCHEMA, CHAIN]),
        ("step_index", |a| a["events"][1]["step_index"] = json!(2), &[CHAIN]),
        ("step_index as text", |a| a["events"][1]["step_index"] = json!("1"), &[SCHEMA, CHAIN]),
        (
            "step_index negative, rehashed",
            |a| (a["events"][0]["step_index"] = json!(-1), rehash(a)).1,
            &[SCHEMA, RUNTIME_SIG],
        ),
        (
            "step_index 2^53, rehashed",
            |a| (a["events"][3]["step_index"] = json!(1_u64 << 53), rehash(a)).1,
            &[SCHEMA, RUNTIME_SIG],
        ),
        ("payload_hash", |a| a["events"][0]["payload_hash"] = hash(&json!(0)), &[CHAIN, PAYLOADS]),
        ("payload_hash of a withheld one", |a| a["events"][1]["payload_hash"] = hash(&json!(0)), &[CHAIN]),
        (
            "payload_hash of a withheld one, rehashed",
            |a| (a["events"][1]["payload_hash"] = hash(&json!(0)), rehash(a)).1,
            &[RUNTIME_SIG],
        ),
        ("event_hash", |a| a["events"][0]["event_hash"] = hash(&json!(0)), &[CHAIN]),
        ("event_hash of the last event", |a| a["events"][3]["event_hash"] = hash(&json!(0)), &[CHAIN, HEAD]),
        (
            "event_hash of the last event and the head",
            |a| {
                a["events"][3]["event_hash"] = hash(&json!(0));
                a["log_head_hash"] = hash(&json!(0));
            },
            &[CHAIN],
        ),
        (
            "event_hash and the link to it",
            |a| {
                a["events"][0]["event_hash"] = hash(&json!(0));
                a["events"][1]["parent_event_hash"] = hash(&json!(0));
            },
            &[CHAIN],
        ),
        ("first parent zeros", |a| a["events"][0]["parent_event_hash"] = json!("0".repeat(64)), &[CHAIN]),
        ("first parent empty", |a| a["events"][0]["parent_event_hash"] = json!(""), &[SCHEMA, CHAIN]),
        ("parent null in the middle", |a| a["events"][2]["parent_event_hash"] = json!(null), &[CHAIN]),
        ("parent absent", |a| remove(&mut a["events"][2], "parent_event_hash"), &[SCHEMA, CHAIN]),
        (
            "last event without its hash",
            |a| remove(&mut a["events"][3], "event_hash"),
            &[SCHEMA, CHAIN, HEAD],
        ),
        (
            "last event without a timestamp",
            |a| remove(&mut a["events"][3], "timestamp"),
            &[SCHEMA, CHAIN, RUNTIME_SIG],
        ),
        ("null for an event", |a| a["events"][1] = json!(null), &[SCHEMA, CHAIN, PAYLOADS]),
        (
            "null for the last event",
            |a| a["events"][3] = json!(null),
            &[SCHEMA, CHAIN, HEAD, RUNTIME_SIG, PAYLOADS],
        ),
        (
            "null for the last event and for the head",
            |a| {
                a["events"][3] = json!(null);
                a["log_head_hash"] = json!(null);
            },
            &[SCHEMA, CHAIN, HEAD, RUNTIME_SIG, PAYLOADS],
        ),
        (
            "an object for events",
            |a| a["events"] = json!({"0": a["events"][0]}),
            &[SCHEMA, CHAIN, HEAD, RUNTIME_SIG, PAYLOADS],
        ),
        ("no events member", |a| remove(a, "events"), &[SCHEMA, CHAIN, HEAD, RUNTIME_SIG, PAYLOADS]),
    ]);
}

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
            |a| a["runtime"]["key_id"] = json!(Key::of(2).public_key().id().to_string()),
            &[ENVELOPE_SIG, RUNTIME_SIG],
        ),
        (
            "key_id padded",
            |a| a["runtime"]["key_id"] = json!(format!("{}=", Key::of(1).public_key().id())),
            &[SCHEMA, ENVELOPE_SIG, RUNTIME_SIG],
        ),
        (
            "key_id in hex",
            |a| a["runtime"]["key_id"] = json!(Key::of(1).public_key().digest().to_string()),
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
                let other = sealed("other", "m", &Key::of(1));
                a["events"] = other["events"].clone();
                a["events"][0]["payload"] = json!(7);
                rehash(a);
            },
            &[RUNTIME_SIG],
        ),
        (
            "the signature of another run",
            |a| a["runtime_signature"] = sealed("other", "m", &Key::of(1))["runtime_signature"].clone(),
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
            |a| a["envelope"] = sealed("run", "other", &Key::of(1))["envelope"].clone(),
            &[ENVELOPE, RUNTIME_SIG],
        ),
        (
            "the same, rehashed",
            |a| (a["envelope"] = sealed("run", "other", &Key::of(1))["envelope"].clone(), rehash(a)).1,
            &[RUNTIME_SIG],
        ),
        (
            "the same envelope of another key",
            |a| a["envelope"] = sealed("run", "m", &Key::of(2))["envelope"].clone(),
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
    fn shout(value: &mut Json) {
        *value = json!(value.as_str().unwrap().to_uppercase());
    }
    assert_noticed(&[
        ("envelope_hash", |a| shout(&mut a["envelope_hash"]), &[SCHEMA, ENVELOPE]),
        ("envelope.signature", |a| shout(&mut a["envelope"]["signature"]), &[SCHEMA, ENVELOPE_SIG]),
        ("event_hash", |a| shout(&mut a["events"][0]["event_hash"]), &[SCHEMA, CHAIN]),
        (
            "event_hash and the link to it",
            |a| {
                shout(&mut a["events"][0]["event_hash"]);
                shout(&mut a["events"][1]["parent_event_hash"]);
            },
            &[SCHEMA, CHAIN],
        ),
        ("log_head_hash", |a| shout(&mut a["log_head_hash"]), &[SCHEMA, HEAD]),
        (
            "log_head_hash and the last event's",
            |a| {
                shout(&mut a["log_head_hash"]);
                shout(&mut a["events"][3]["event_hash"]);
            },
            &[SCHEMA, CHAIN],
        ),
        ("runtime_signature", |a| shout(&mut a["runtime_signature"]), &[SCHEMA, RUNTIME_SIG]),
        ("payload_hash", |a| shout(&mut a["events"][0]["payload_hash"]), &[SCHEMA, CHAIN, PAYLOADS]),
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

/// 2^252 + 27742317777372353535851937790883648493, the order of the group.
const L: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// The same signature with S + L for S: the plain equation holds for both.
fn malleate(signature: &mut Json) {
    let text = signature.as_str().unwrap();
    let mut bytes: Vec<u8> =
        (0..64).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect();
    let mut carry = 0;
    for (byte, more) in bytes[32..].iter_mut().zip(L) {
        let sum = u16::from(*byte) + u16::from(more) + carry;
        *byte = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    assert_eq!(carry, 0);
    *signature = hex(&bytes);
}

#[test]
fn signatures() {
    assert_noticed(&[
        ("S + L in the header's", |a| malleate(&mut a["runtime_signature"]), &[RUNTIME_SIG]),
        ("S + L in the envelope's", |a| malleate(&mut a["envelope"]["signature"]), &[ENVELOPE_SIG]),
        (
            "S + 2L",
            |a| {
                malleate(&mut a["runtime_signature"]);
                malleate(&mut a["runtime_signature"]);
            },
            &[RUNTIME_SIG],
        ),
        ("zeros", |a| a["runtime_signature"] = json!("0".repeat(128)), &[RUNTIME_SIG]),
        (
            "R the identity, S zero",
            |a| a["envelope"]["signature"] = json!(format!("01{}", "0".repeat(126))),
            &[ENVELOPE_SIG],
        ),
        ("of another key, for the header", |a| sign_header(a, &Key::of(2), &[]), &[RUNTIME_SIG]),
        ("of another key, for the envelope", |a| sign_envelope(a, &Key::of(2)), &[ENVELOPE_SIG]),
        (
            "of another key that says so",
            |a| {
                a["runtime"]["key_id"] = json!(Key::of(2).public_key().id().to_string());
                sign_envelope(a, &Key::of(2));
                sign_header(a, &Key::of(2), &[]);
            },
            &[ENVELOPE_SIG, RUNTIME_SIG],
        ),
        (
            "swapped",
            |a| {
                let header = a["runtime_signature"].take();
                a["runtime_signature"] = a["envelope"]["signature"].take();
                a["envelope"]["signature"] = header;
            },
            &[ENVELOPE_SIG, RUNTIME_SIG],
        ),
        ("in base64", |a| a["runtime_signature"] = json!("A".repeat(86)), &[SCHEMA, RUNTIME_SIG]),
        (
            "63 bytes",
            |a| a["runtime_signature"] = json!(&a["runtime_signature"].as_str().unwrap()[2..]),
            &[SCHEMA, RUNTIME_SIG],
        ),
        ("absent", |a| remove(a, "runtime_signature"), &[SCHEMA, RUNTIME_SIG]),
        ("a list of bytes", |a| a["runtime_signature"] = json!([1, 2, 3]), &[SCHEMA, RUNTIME_SIG]),
    ]);
}

/// These need the key: a producer's mistakes, not forgeries. They fail all the same.
#[test]
fn signatures_over_other_bytes() {
    fn header(a: &Json) -> Vec<u8> {
        canonical(without(a, &["envelope", "events", "runtime_signature"]).to_string().as_bytes()).unwrap()
    }
    fn sign(a: &mut Json, message: &[u8]) {
        a["runtime_signature"] = hex(&Key::of(1).sign(message));
    }
    assert_noticed(&[
        (
            "the digest",
            |a| {
                let header = header(a);
                sign(a, Digest::of(&header).as_bytes());
            },
            &[RUNTIME_SIG],
        ),
        (
            "the digest in hex",
            |a| {
                let header = header(a);
                sign(a, Digest::of(&header).to_string().as_bytes());
            },
            &[RUNTIME_SIG],
        ),
        (
            "a line feed after it",
            |a| {
                let header = [header(a), b"\n".to_vec()].concat();
                sign(a, &header);
            },
            &[RUNTIME_SIG],
        ),
        (
            "the whole artifact",
            |a| {
                let all = canonical(without(a, &["runtime_signature"]).to_string().as_bytes()).unwrap();
                sign(a, &all);
            },
            &[RUNTIME_SIG],
        ),
        (
            "a false envelope_hash",
            |a| {
                a["envelope_hash"] = hash(&json!(0));
                sign_header(a, &Key::of(1), &[]);
            },
            &[ENVELOPE, RUNTIME_SIG],
        ),
        (
            "a false log_head_hash",
            |a| {
                a["log_head_hash"] = hash(&json!(0));
                sign_header(a, &Key::of(1), &[]);
            },
            &[HEAD, RUNTIME_SIG],
        ),
        (
            "the envelope with an empty signature",
            |a| {
                a["envelope"]["signature"] = json!("");
                let text = canonical(a["envelope"].to_string().as_bytes()).unwrap();
                a["envelope"]["signature"] = hex(&Key::of(1).sign(&text));
            },
            &[ENVELOPE_SIG],
        ),
    ]);
}

/// §8.1 of the draft says what §6.6 forbids; the reason names it, whatever manifest_hash is.
#[test]
fn a_signature_that_leaves_out_manifest_hash() {
    for manifest_hash in [json!(null), hash(&json!("bundle"))] {
        let mut artifact = base();
        artifact["manifest_hash"] = manifest_hash;
        sign_header(&mut artifact, &Key::of(1), &["manifest_hash"]);
        let report = judge(artifact.to_string().as_bytes(), &Key::of(1).keys());
        let reason = "runtime_signature: the signature leaves out manifest_hash (as §8.1 of the draft has it); §6.6 requires it";
        assert_eq!((failed(&report), report.reasons), (vec![RUNTIME_SIG], vec![reason.to_owned()]));
    }
    // Without the member there is nothing to leave out: what is wrong is its absence.
    let mut artifact = base();
    remove(&mut artifact, "manifest_hash");
    sign_header(&mut artifact, &Key::of(1), &[]);
    let report = judge(artifact.to_string().as_bytes(), &Key::of(1).keys());
    assert_eq!(report.reasons, ["schema_valid: $.manifest_hash: is missing"]);
}

/// What passes by the format, because no hash covers it. A withheld payload is always named.
#[test]
fn anyone_may_withhold_a_payload() {
    for at in 0..4 {
        let mut artifact = base();
        artifact["events"][at]["payload_redacted"] = json!(true);
        artifact["events"][at].as_object_mut().unwrap().remove("payload");
        let report = judge(artifact.to_string().as_bytes(), &Key::of(1).keys());
        assert_eq!(report.reasons, [""; 0]);
        let mut withheld = vec![1, at];
        withheld.sort_unstable();
        withheld.dedup();
        let mut notes: Vec<String> = withheld
            .iter()
            .map(|at| format!("event {at}: payload withheld; its content cannot be checked"))
            .collect();
        notes.push(
            "whether the producer or someone else withheld it cannot be told from an artifact alone".into(),
        );
        assert_eq!(report.notes, notes);
    }
}

#[test]
fn what_no_hash_covers() {
    assert_noticed(&[
        ("null for no payload", |a| a["events"][2]["payload"] = json!(null), &[]),
        (
            "a withheld payload put back",
            |a| {
                a["events"][1]["payload_redacted"] = json!(false);
                a["events"][1]["payload"] = json!("secret");
            },
            &[],
        ),
        ("whole numbers with a point", |a| a["events"][1]["step_index"] = json!(1.0), &[]),
        // And what only looks like it.
        (
            "another payload put back",
            |a| {
                a["events"][1]["payload_redacted"] = json!(false);
                a["events"][1]["payload"] = json!("Secret");
            },
            &[PAYLOADS],
        ),
        ("the flag cleared", |a| a["events"][1]["payload_redacted"] = json!(false), &[PAYLOADS]),
        ("the flag absent", |a| remove(&mut a["events"][1], "payload_redacted"), &[SCHEMA, PAYLOADS]),
        ("the flag a text", |a| a["events"][1]["payload_redacted"] = json!("true"), &[SCHEMA, PAYLOADS]),
        ("the flag 1", |a| a["events"][0]["payload_redacted"] = json!(1), &[SCHEMA]),
        ("the flag null", |a| a["events"][0]["payload_redacted"] = json!(null), &[SCHEMA]),
        ("a payload beside the flag", |a| a["events"][1]["payload"] = json!("secret"), &[SCHEMA]),
        (
            "a forged payload beside the flag",
            |a| {
                a["events"][0]["payload_redacted"] = json!(true);
                a["events"][0]["payload"] = json!("forged");
            },
            &[SCHEMA],
        ),
        ("null beside the flag", |a| a["events"][1]["payload"] = json!(null), &[SCHEMA]),
    ]);
}

/// An artifact that names `key`, with one signature for both places.
fn signed_with(key: &[u8; 32], signature: &Json) -> Json {
    let mut artifact = base();
    artifact["runtime"]["key_id"] = json!(PublicKey::from_raw(key).unwrap().id().to_string());
    artifact["envelope"]["signature"] = signature.clone();
    artifact["runtime_signature"] = signature.clone();
    artifact
}

/// Under a key of small order R = identity, S = 0 fits every message, or one in eight: it proves nothing.
#[test]
fn keys_of_small_order() {
    let identity: [u8; 32] = vector("keys/small_order_identity.bin").try_into().unwrap();
    let parse = |text: &str| -> [u8; 32] {
        core::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
    };
    let torsion = [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        // The same points in encodings that are not canonical.
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ];
    assert_eq!(parse(torsion[0]), identity);
    for text in torsion {
        let key = parse(text);
        let signature = json!(format!("{}{}", torsion[0], "0".repeat(64)));
        let artifact = signed_with(&key, &signature);
        let report = judge(artifact.to_string().as_bytes(), &Keys::from_raw(&key));
        let id = PublicKey::from_raw(&key).unwrap().id();
        let reason = format!("the key {id} is of small order: a signature under it proves nothing");
        assert_eq!(
            report.reasons,
            [format!("envelope_signature: {reason}"), format!("runtime_signature: {reason}")],
            "{text}"
        );
    }
}

/// The cofactored equation holds for this signature, the plain one does not.
#[test]
fn a_key_of_mixed_order() {
    let key = vector("keys/mixed_order.bin");
    let report = judge(&vector("invalid/t124_mixed_order_key_cofactored.json"), &Keys::from_raw(&key));
    let id = PublicKey::from_raw(&key).unwrap().id();
    let reason = format!("the signature is not one of key {id} over these bytes");
    assert_eq!(
        report.reasons,
        [format!("envelope_signature: {reason}"), format!("runtime_signature: {reason}")]
    );
}

/// With both keys at hand it is still the named one that must have signed.
#[test]
fn one_of_two_keys() {
    let mut keys = Key::of(1).keys();
    keys.supply(Key::of(2).public_key());
    let mut artifact = base();
    sign_envelope(&mut artifact, &Key::of(2));
    let report = judge(artifact.to_string().as_bytes(), &keys);
    assert_eq!(failed(&report), [ENVELOPE_SIG]);
    sign_header(&mut artifact, &Key::of(2), &[]);
    let report = judge(artifact.to_string().as_bytes(), &keys);
    let reason = format!("the signature is not one of key {} over these bytes", Key::of(1).public_key().id());
    assert_eq!(
        report.reasons,
        [format!("envelope_signature: {reason}"), format!("runtime_signature: {reason}")]
    );
    // Wholly signed by the other, and naming it: that is another artifact, and its signer is told.
    artifact["runtime"]["key_id"] = json!(Key::of(2).public_key().id().to_string());
    sign_header(&mut artifact, &Key::of(2), &[]);
    let report = judge(artifact.to_string().as_bytes(), &keys);
    assert_eq!(report.reasons, [""; 0]);
    assert_eq!(report.signer.unwrap().key_id, Some(Key::of(2).public_key().id().to_string()));
}
