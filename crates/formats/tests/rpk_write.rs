//! The `.rpk` writer: to the byte as the format's own programs write, and always verifiable; other documents are
//! refused.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on stops, and says what it skips"
)]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use reenact_formats::rpk::bundle::{RpkBundleError, RpkMask, RpkMaskPolicy, make_bundle};
use reenact_formats::rpk::hash_walk::compute_digests;
use reenact_formats::rpk::mask::{DEFAULT_POLICY, DefaultMask};
use reenact_formats::rpk::migrate::{RemovedMember, RpkMigrateError, migrate};
use reenact_formats::rpk::structure::{RpkPath, RpkStructureProblem, parse_prefixed_digest};
use reenact_formats::rpk::write::{HmacSigning, NewRpkStep, RpkDocumentBuilder, RpkRunHeader, RpkWriteError};
use reenact_formats::rpk::{HmacKey, RpkHead, RpkStepItem, RpkStepView, RpkStructureFault};
use reenact_json::{Limits, NumberFault, Value};
use serde_json::{Value as Json, json};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Reads a file of another program, if present: in `../shared/peers`, or in the folder that `REENACT_PEERS` names.
fn peer(name: &str) -> Option<Vec<u8>> {
    let peers = std::env::var_os("REENACT_PEERS").map_or(folder("../shared/peers"), PathBuf::from);
    let file = std::fs::read(peers.join("rpk_artifacts").join(name)).ok();
    if file.is_none() {
        println!("skipped: there is no ../shared/peers/rpk_artifacts/{name}");
    }
    file
}

const RUN: RpkRunHeader<'_> = RpkRunHeader {
    version: "1.0",
    id: "run-1",
    timestamp: "2026-02-21T14:00:00+05:30",
    environment_fingerprint: br#"{"os": "linux", "Home ": "/root", "HOSTNAME": "h"}"#,
    runtime_versions: b"{}",
    extra_members: &[],
    metadata: &[],
    created_at: "2026-02-21T14:00:00Z",
};

fn step<'a>(input: &'a [u8], metadata: &'a [u8]) -> NewRpkStep<'a> {
    NewRpkStep { id: "s1", step_type: "tool.request", input, output: b"null", metadata, timestamp: None }
}

fn written(input: &str, run: &RpkRunHeader<'_>) -> Result<String, RpkWriteError> {
    let mut draft = RpkDocumentBuilder::new();
    draft.append(&step(input.as_bytes(), b"{}"))?;
    draft.finish(run, None).map(|bytes| String::from_utf8(bytes).unwrap())
}

/// Reads a document; returns true if every carried hash is right.
fn has_valid_hashes(bytes: &[u8]) -> bool {
    let head = RpkHead::read(bytes, &Limits::default()).unwrap();
    let mut steps = true;
    let sums = compute_digests(&head, None, |_, item, digest| {
        let RpkStepItem::Step(step) = item else { return steps = false };
        steps &= step.hash.and_then(|hash| parse_prefixed_digest(&hash.string()?, "sha256:")) == digest.ok();
    });
    steps
        && head.checksum.and_then(|sum| parse_prefixed_digest(&sum.string()?, "sha256:"))
            == sums.checksum.ok()
}

#[test]
fn a_document_to_the_byte() {
    let text = written(r#"{"path": "C:\\a\\..\\b", "n": 0.30000000000000004, "t": "é\r\n"}"#, &RUN).unwrap();
    assert!(has_valid_hashes(text.as_bytes()));
    let expected = r#"{
  "checksum": "CHECKSUM",
  "metadata": {
    "created_at": "2026-02-21T14:00:00.000000Z",
    "run_id": "run-1"
  },
  "payload": {
    "run": {
      "environment_fingerprint": {
        "os": "linux"
      },
      "id": "run-1",
      "runtime_versions": {},
      "steps": [
        {
          "hash": "HASH",
          "id": "s1",
          "input": {
            "n": 0.3,
            "path": "/c/b",
            "t": "\u00e9\n"
          },
          "metadata": {},
          "output": null,
          "timestamp": null,
          "type": "tool.request"
        }
      ],
      "timestamp": "2026-02-21T08:30:00.000000Z"
    }
  },
  "version": "1.0"
}
"#;
    let document: Json = serde_json::from_str(&text).unwrap();
    let expected = expected
        .replace("CHECKSUM", document["checksum"].as_str().unwrap())
        .replace("HASH", document["payload"]["run"]["steps"][0]["hash"].as_str().unwrap());
    assert_eq!(text, expected);
}

/// The reference writes such a file and then refuses it.
#[test]
fn a_path_without_a_stable_spelling_is_refused() {
    let unstable = |what: &str| Err(RpkWriteError::Unstable { what: what.into() });
    assert_eq!(written(r#"{"path": "./C:/x"}"#, &RUN), unstable("step 0"));
    // Volatile members are no part of a step's hash, but of the checksum.
    let run = RpkRunHeader { runtime_versions: br#"{"dir": "./C:/x"}"#, ..RUN };
    assert_eq!(written("1", &run), unstable("the document"));
}

#[test]
fn what_cannot_be_written() {
    let fault = |place, problem| Err(RpkWriteError::Structure(RpkStructureFault { path: place, problem }));
    assert!(matches!(written("{", &RUN), Err(RpkWriteError::Syntax { what: "input", .. })));
    let overflow = written("[1e400]", &RUN).unwrap_err().to_string();
    assert_eq!(overflow, format!("the number 1e400 at $[0] {}", NumberFault::Overflow));
    let mut draft = RpkDocumentBuilder::new();
    assert_eq!(draft.append(&step(b"1", b"[]")), Err(RpkWriteError::NotAnObject { what: "metadata" }));
    draft.append(&NewRpkStep { step_type: "tool.call", ..step(b"1", b"{}") }).unwrap();
    let place = RpkPath::StepMember(0, "type");
    let found = draft.finish(&RUN, None);
    assert!(matches!(&found, Err(RpkWriteError::Structure(fault)) if fault.path == place), "{found:?}");
    let more: &[(&str, &[u8])] = &[("provider", b"null")];
    let wrong = RpkStructureProblem::Kind { wanted: "a string", found: "null" };
    assert_eq!(
        written("1", &RpkRunHeader { extra_members: more, ..RUN }),
        fault(RpkPath::Member("payload.run.provider"), wrong)
    );
    let version = written("1", &RpkRunHeader { version: "2.0", ..RUN }).unwrap_err();
    assert_eq!(version.to_string(), "version 2.0 cannot be read here: only 1.x can");
    let more: &[(&str, &[u8])] = &[("id", b"1")];
    let twice = written("1", &RpkRunHeader { extra_members: more, ..RUN }).unwrap_err().to_string();
    assert!(twice.ends_with("the member name \"id\" stands twice in one object"), "{twice}");
    let deep = format!("{}{}", "[".repeat(509), "]".repeat(509));
    assert!(matches!(written(&deep, &RUN), Err(RpkWriteError::Unreadable(_))));
}

#[test]
fn members_beyond_the_known_and_minors_are_kept() {
    let more: &[(&str, &[u8])] = &[("future", br#"{"z":1,"a":[2]}"#)];
    let run = RpkRunHeader { version: "1.4", extra_members: more, metadata: &[("owner", b"\"t\"")], ..RUN };
    let document: Json = serde_json::from_str(&written("1", &run).unwrap()).unwrap();
    assert_eq!(document["version"], "1.4");
    assert_eq!(document["payload"]["run"]["future"], json!({"a": [2], "z": 1}));
    assert_eq!(document["metadata"]["owner"], "t");
}

#[test]
fn migration_keeps_what_it_does_not_know() {
    let legacy = std::fs::read(folder("examples/runs/legacy-0.9.rpk")).unwrap();
    let migrated = migrate(&legacy, "1.3").unwrap();
    assert!(has_valid_hashes(&migrated.bytes));
    let document: Json = serde_json::from_slice(&migrated.bytes).unwrap();
    let expected = json!({
        "created_at": "2026-02-22T19:00:00.000000Z", "owner": "billing", "run_id": "run-invoice-0.9",
        "migration_source_version": "0.9", "migration_target_version": "1.3", "migration_status": "migrated",
        "migration_preserved_step_hashes": 0, "migration_recomputed_step_hashes": 1,
    });
    assert_eq!((&document["version"], &document["metadata"]), (&json!("1.3"), &expected));
    let run = &document["payload"]["run"];
    assert_eq!(run["environment_fingerprint"], json!({"os": "linux"}));
    assert_eq!(run["runtime_versions"], json!({"python": "3.11.9"}));
    let step = &run["steps"][0];
    assert_eq!((&step["note"], &step["timestamp"]), (&json!("kept"), &Json::Null));
    assert_eq!(
        (&step["input"], &step["output"]),
        (&json!({"id": "INV-1042"}), &json!({"total": "1,240.00 EUR"}))
    );
    for old in ["request", "response", "step_hash"] {
        assert_eq!(step.get(old), None, "{old}");
    }
    let removed: Vec<_> = migrated.removed.iter().map(|gone| gone.path.as_str()).collect();
    assert_eq!(removed, ["$.payload.run.env_fingerprint.hostname"]);

    // A second migration changes nothing but the notes of the migration.
    let again = migrate(&migrated.bytes, "1.3").unwrap();
    assert_eq!((again.preserved_hashes, again.recomputed_hashes, again.removed.len()), (1, 0, 0));
    let document: Json = serde_json::from_slice(&again.bytes).unwrap();
    assert_eq!(document["metadata"]["migration_status"], "already_current");
    assert_eq!(migrate(&again.bytes, "1.3").unwrap().bytes, again.bytes);

    let signed = std::fs::read(folder("examples/runs/invoice.bundle")).unwrap();
    let migrated = migrate(&signed, "1.0").unwrap();
    let removed: Vec<_> = migrated.removed.iter().map(|gone| gone.path.as_str()).collect();
    assert_eq!((removed, migrated.preserved_hashes), (vec!["$.signature"], 7));
}

#[test]
fn what_cannot_be_migrated() {
    let legacy = String::from_utf8(std::fs::read(folder("examples/runs/legacy-0.9.rpk")).unwrap()).unwrap();
    let why = |text: &str, target: &str| migrate(text.as_bytes(), target).unwrap_err();
    assert_eq!(why(&legacy, "2.0"), RpkMigrateError::Target { requested: "2.0".into() });
    assert_eq!(
        why(&legacy.replace("\"0.9\"", "\"0.8\""), "1.0"),
        RpkMigrateError::Source { found: "0.8".into() }
    );
    assert_eq!(why("{}", "1.0"), RpkMigrateError::Source { found: "(none)".into() });
    assert!(matches!(why(&legacy.replace("INV-1042", "INV-1043"), "1.0"), RpkMigrateError::Checksum { .. }));
    assert!(matches!(why("[", "1.0"), RpkMigrateError::Unreadable(_)));
}

/// Mask of the words that a test lists.
struct WordMask<'a> {
    names: &'a [&'a str],
    texts: &'a [&'a str],
}

impl RpkMask for WordMask<'_> {
    fn is_secret(&self, name: &str) -> bool {
        self.names.contains(&name.to_lowercase().as_str())
    }

    fn masked(&self, _: Option<&str>, text: &str) -> Option<String> {
        let masked =
            self.texts.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "[REDACTED]"));
        (masked != text).then_some(masked)
    }
}

#[test]
fn a_bundle_masks_everything_and_says_what_it_left_out() {
    let mut draft = RpkDocumentBuilder::new();
    draft.append(&step(br#"{"a": ["k-1", {"token": {"x": 1}}]}"#, br#"{"pid": "k-1"}"#)).unwrap();
    let more: &[(&str, &[u8])] = &[("provider", b"\"p\""), ("future", b"\"k-1\""), ("token", b"null")];
    let source = draft
        .finish(&RpkRunHeader { extra_members: more, metadata: &[("owner", b"1")], ..RUN }, None)
        .unwrap();
    let key = HmacKey::from_text(b"k").unwrap();
    let signing = HmacSigning { key: &key, key_id: "default" };
    let mask = WordMask { names: &["token"], texts: &["k-1"] };
    let policy = RpkMaskPolicy { profile: "p", version: "v" };
    let made = make_bundle(&source, &mask, &policy, Some(signing)).unwrap();
    assert!(has_valid_hashes(&made.bytes));
    assert_eq!(made.masked_count, 5);
    let removed: Vec<_> = made.removed.iter().map(|gone| gone.path.as_str()).collect();
    assert_eq!(removed, ["$.payload.run.provider", "$.metadata.owner"]);
    let document: Json = serde_json::from_slice(&made.bytes).unwrap();
    let run = &document["payload"]["run"];
    assert_eq!((&run["future"], &run["token"]), (&json!("[REDACTED]"), &json!("[REDACTED]")));
    let step = &run["steps"][0];
    assert_eq!(step["input"], json!({"a": ["[REDACTED]", {"token": "[REDACTED]"}]}));
    assert!(!String::from_utf8(made.bytes).unwrap().contains("k-1"));
    // Members beside the checksum are handed on too, masked like the rest; the old signature is not.
    let mut signed: Json = serde_json::from_slice(&source).unwrap();
    signed["signature"] = json!({});
    signed["note"] = json!({"token": 1, "text": "k-1 or k-2"});
    let made = make_bundle(signed.to_string().as_bytes(), &mask, &policy, None).unwrap();
    let document: Json = serde_json::from_slice(&made.bytes).unwrap();
    assert_eq!(document["note"], json!({"token": "[REDACTED]", "text": "[REDACTED] or k-2"}));
    assert_eq!((document.get("signature"), made.masked_count), (None, 7));
    let gone = RemovedMember { path: "$.signature".into(), reason: "it signs the old document" };
    assert_eq!(made.removed.last(), Some(&gone));
    assert_eq!(make_bundle(b"{}", &mask, &policy, None), Err(RpkBundleError::NoRun));
}

#[test]
fn a_bundle_of_the_reference_to_the_byte() {
    let (Some(source), Some(expected)) =
        (peer("m5_source_unredacted.rpk"), peer("ref_bundle_default.bundle"))
    else {
        return;
    };
    let made = make_bundle(&source, &DefaultMask, &DEFAULT_POLICY, None).unwrap();
    assert_eq!(String::from_utf8(made.bytes), String::from_utf8(expected));
}

/// Every file that the reference wrote comes out the same when its values go through our writer.
#[test]
fn files_of_the_reference_to_the_byte() {
    let names = [
        "ref_bundle_custom.bundle",
        "ref_bundle_default.bundle",
        "ref_bundle_signed.bundle",
        "ref_empty_run.rpk",
        "ref_exotic_all_types.rpk",
        "ref_live_demo_stream.rpk",
        "ref_llm_fake_stream.rpk",
        "ref_migrated_0.9_to_1.0.rpk",
        "ref_record_demo.rpk",
        "ref_record_target.rpk",
        "ref_replay_hybrid.rpk",
        "ref_replay_passive.rpk",
        "ref_replay_stub.rpk",
        "ref_replay_stub_offset_clock.rpk",
    ];
    let key = HmacKey::from_text(b"dev-signing-key").unwrap();
    for name in names {
        let Some(bytes) = peer(name) else { return };
        let head = RpkHead::read(&bytes, &Limits::default()).unwrap();
        let text = |value: Option<Value<'_>>| value.and_then(|value| value.string()).unwrap().into_owned();
        let raw = |value: Option<Value<'_>>| value.unwrap().text().to_vec();
        let mut draft = RpkDocumentBuilder::new();
        for step in head.run_members.steps.unwrap().elements().map(RpkStepView::of) {
            let (id, step_type) = (text(step.id), text(step.step_type));
            let (input, output, metadata) = (raw(step.input), raw(step.output), raw(step.metadata));
            let timestamp = step.timestamp.and_then(|time| time.string());
            draft
                .append(&NewRpkStep {
                    id: &id,
                    step_type: &step_type,
                    input: &input,
                    output: &output,
                    metadata: &metadata,
                    timestamp: timestamp.as_deref(),
                })
                .unwrap();
        }
        let others = |value: Value<'_>, known: &[&str]| -> Vec<(String, Vec<u8>)> {
            let named = value
                .members()
                .map(|(name, value)| (name.string().unwrap().into_owned(), value.text().to_vec()));
            named.filter(|(name, _)| !known.contains(&name.as_str())).collect()
        };
        let of_run = ["id", "timestamp", "environment_fingerprint", "runtime_versions", "steps"];
        let more = others(head.run.unwrap(), &of_run);
        let metadata = others(head.metadata.unwrap(), &["run_id", "created_at"]);
        let more: Vec<(&str, &[u8])> =
            more.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        let metadata: Vec<(&str, &[u8])> =
            metadata.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        let run = RpkRunHeader {
            version: &text(head.version),
            id: &text(head.run_members.id),
            timestamp: &text(head.run_members.timestamp),
            environment_fingerprint: &raw(head.run_members.environment_fingerprint),
            runtime_versions: &raw(head.run_members.runtime_versions),
            extra_members: &more,
            metadata: &metadata,
            created_at: &text(head.metadata.unwrap().member("created_at")),
        };
        let key_id = head.signature.map(|signature| text(signature.member("key_id")));
        let signing = key_id.as_deref().map(|key_id| HmacSigning { key: &key, key_id });
        let written = draft.finish(&run, signing).unwrap();
        assert_eq!(String::from_utf8(written), String::from_utf8(bytes.clone()), "{name}");
    }
}

proptest! {
    #[test]
    fn what_is_written_holds(path in "[./\\\\:a-cC ]{0,12}", number in any::<f64>(), text in any::<String>(), time in "[0-9TZ:.+-]{0,28}") {
        let input = json!({"file_path": path, "n": number, "tags": [text, "b", "a"], "timestamp": time, "request_id": 7});
        match written(&input.to_string(), &RUN) {
            Ok(document) => prop_assert!(has_valid_hashes(document.as_bytes())),
            // A path that gets a drive only when it is normalized; a year beyond 9999.
            Err(error) => prop_assert!(
                matches!(error, RpkWriteError::Unstable { .. } | RpkWriteError::Canonical(_)), "{:?}", error
            ),
        }
    }
}
