//! RER bundles: the same report however they are packed, and every change that needs no key is noticed.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test says what it skipped")]

mod bundle {
    mod attacks;
    mod blobs;
    mod keys;
    mod large;
    mod packed;
}
mod bundle_fixture;

use bundle_fixture::{Files, Run, TestDir, TestKey, archives, lay_out, rehash, report_of_path};
use reenact_formats::rer::seal::Signer as _;
use reenact_json::Digest;
use reenact_verify::rer::bundle::{
    ARTIFACT_HASH, BLOB_COMPLETENESS, BLOB_INTEGRITY, BLOB_METADATA, EVENT_COUNT, KEY_INTEGRITY,
    MANIFEST_BINDING, MANIFEST_INTEGRITY, REDACTED_COUNT,
};
use reenact_verify::rer::{ENVELOPE_SIGNATURE, RUNTIME_SIGNATURE};
use reenact_verify::{CheckId, Demands, Keys, Options, Report, TargetOutcome, render, verify};
use serde_json::{Value as Json, json};

fn report_of(archive: &[u8], keys: &Keys) -> Report {
    verify(archive, keys, &Options::default())
}

/// Returns the report on these files, after asserting that it is the same from every archive and from a
/// folder.
fn report_in_every_form(files: &Files, keys: &Keys, what: &str) -> Report {
    let folder = TestDir::new();
    let report = report_of_path(&lay_out(&folder, "b", files), keys);
    for (form, archive) in archives(files) {
        assert_eq!(report_of(&archive, keys), report, "{what}: {form}");
    }
    report
}

fn inner_failed(report: &Report) -> Vec<CheckId> {
    report.artifact_checks().iter().filter(|check| check.holds != Some(true)).map(|check| check.id).collect()
}

/// Returns the same members inside a folder.
fn wrapped(files: &Files) -> Files {
    files.iter().map(|(name, bytes)| (format!("my run/{name}"), bytes.clone())).collect()
}

fn document(files: &Files, name: &str) -> Json {
    serde_json::from_slice(&files[name]).unwrap()
}

fn put(files: &mut Files, name: &str, value: &Json) {
    files.insert(name.into(), value.to_string().into_bytes());
}

/// Edits a JSON document.
fn edit(files: &mut Files, name: &str, change: impl FnOnce(&mut Json)) {
    let mut value = document(files, name);
    change(&mut value);
    put(files, name, &value);
}

/// Edits the manifest, updates its hash, and returns the hash.
fn edit_for_hash(files: &mut Files, change: impl FnOnce(&mut Json)) -> Digest {
    let mut manifest = document(files, "manifest.json");
    change(&mut manifest);
    let hash = rehash(&mut manifest);
    put(files, "manifest.json", &manifest);
    hash
}

fn edit_and_rehash(files: &mut Files, change: impl FnOnce(&mut Json)) {
    edit_for_hash(files, change);
}

/// Writes the manifest's hash into the artifact.
fn bind(files: &mut Files, hash: Digest) {
    edit(files, "artifact.json", |artifact| artifact["manifest_hash"] = json!(hash.to_string()));
}

/// Returns the hash of the artifact in the form that the manifest needs.
fn artifact_hash(files: &Files) -> Json {
    let artifact = bundle_fixture::parsed(&files["artifact.json"]);
    json!(reenact_formats::rer::manifest::artifact_hash(artifact).unwrap().to_string())
}

fn withhold(files: &mut Files, event: usize) {
    edit(files, "artifact.json", |artifact| {
        let event = artifact["events"][event].as_object_mut().unwrap();
        event.remove("payload");
        event.insert("payload_redacted".into(), json!(true));
    });
}

fn other_run() -> Files {
    Run { run_id: "other", ..Run::default() }.bundle(&TestKey::of(1), |_| {})
}

fn other_key() -> Vec<u8> {
    TestKey::of(9).public_key().as_bytes().to_vec()
}

fn jwk(key: &TestKey) -> Json {
    json!({"kty": "OKP", "crv": "Ed25519", "x": key.public_key().to_base64url()})
}

const SIGNATURES: &[CheckId] = &[ENVELOPE_SIGNATURE, RUNTIME_SIGNATURE];
const ALL_BUT_ARTIFACT: &[CheckId] = &[
    MANIFEST_INTEGRITY,
    ARTIFACT_HASH,
    MANIFEST_BINDING,
    KEY_INTEGRITY,
    BLOB_INTEGRITY,
    BLOB_COMPLETENESS,
    EVENT_COUNT,
    REDACTED_COUNT,
    BLOB_METADATA,
];

/// Returns the notes except the one on the withheld payload.
fn notes(report: &Report) -> Vec<&str> {
    let own = |note: &&String| !note.starts_with("event 1: payload withheld");
    report.notes.iter().filter(own).map(String::as_str).collect()
}

/// Asserts that a report is short and has no character that acts on a terminal.
fn assert_bounded(report: &Report) {
    let outcome = TargetOutcome::Report(report.clone());
    let text =
        outcome.to_json("x") + &render::outcome_text("x", &outcome, &Demands::default(), &render::plain);
    assert!(text.len() < 64 * 1024, "{} bytes", text.len());
    assert!(!text.lines().flat_map(str::chars).any(reenact_json::shown::is_unsafe), "{text}");
}
