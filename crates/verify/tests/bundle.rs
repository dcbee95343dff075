//! RER bundles: the same verdict however they are packed, and what someone without the key can make of one.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test says what it skipped")]

mod bundle {
    mod attacks;
    mod blobs;
    mod keys;
    mod large;
    mod packed;
}
mod bundle_maker;

use bundle_maker::{Files, Run, TestDir, TestKey, archives, judge_path, lay_out, rehash};
use reenact_formats::rer::seal::Signer as _;
use reenact_json::Digest;
use reenact_verify::rer::bundle::{
    ARTIFACT_HASH, BLOB_COMPLETENESS, BLOB_INTEGRITY, BLOB_METADATA, EVENT_COUNT, KEY_INTEGRITY,
    MANIFEST_BINDING, MANIFEST_INTEGRITY, REDACTED_COUNT,
};
use reenact_verify::rer::{ENVELOPE_SIGNATURE, RUNTIME_SIGNATURE};
use reenact_verify::{Keys, Options, Outcome, Report, render, safe};
use serde_json::{Value as Json, json};

fn judge(archive: &[u8], keys: &Keys) -> Report {
    safe(archive, keys, &Options::default())
}

/// The report on these files, the same from every archive and from a folder.
fn everywhere(files: &Files, keys: &Keys, what: &str) -> Report {
    let folder = TestDir::new();
    let report = judge_path(&lay_out(&folder, "b", files), keys);
    for (form, archive) in archives(files) {
        assert_eq!(judge(&archive, keys), report, "{what}: {form}");
    }
    report
}

fn inner_failed(report: &Report) -> Vec<&'static str> {
    report.artifact_checks.iter().filter(|check| check.holds != Some(true)).map(|check| check.name).collect()
}

/// The same members, with a folder around them.
fn wrapped(files: &Files) -> Files {
    files.iter().map(|(name, bytes)| (format!("my run/{name}"), bytes.clone())).collect()
}

fn document(files: &Files, name: &str) -> Json {
    serde_json::from_slice(&files[name]).unwrap()
}

fn put(files: &mut Files, name: &str, value: &Json) {
    files.insert(name.into(), value.to_string().into_bytes());
}

/// Edits a document.
fn edit(files: &mut Files, name: &str, change: impl FnOnce(&mut Json)) {
    let mut value = document(files, name);
    change(&mut value);
    put(files, name, &value);
}

/// Edits the manifest and hashes it anew; gives the hash.
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

/// Writes into the artifact what the manifest's hash has become.
fn bind(files: &mut Files, hash: Digest) {
    edit(files, "artifact.json", |artifact| artifact["manifest_hash"] = json!(hash.to_string()));
}

/// The hash of the artifact as it stands, as the manifest should have it.
fn artifact_hash(files: &Files) -> Json {
    let artifact = bundle_maker::parsed(&files["artifact.json"]);
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

fn stranger_key() -> Vec<u8> {
    TestKey::of(9).public_key().as_bytes().to_vec()
}

fn jwk(key: &TestKey) -> Json {
    json!({"kty": "OKP", "crv": "Ed25519", "x": key.public_key().to_base64url()})
}

const SIGNATURES: &[&str] = &[ENVELOPE_SIGNATURE, RUNTIME_SIGNATURE];
const ALL_BUT_ARTIFACT: &[&str] = &[
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

/// The notes beside the one on the withheld payload.
fn notes(report: &Report) -> Vec<&str> {
    let own = |note: &&String| !note.starts_with("event 1: payload withheld");
    report.notes.iter().filter(own).map(String::as_str).collect()
}

/// A report is for people, and no terminal obeys it.
fn assert_bounded(report: &Report) {
    let outcome = Outcome::Judged(report.clone());
    let text = outcome.to_json("x") + &render::outcome("x", &outcome, &render::plain);
    assert!(text.len() < 64 * 1024, "{} bytes", text.len());
    assert!(!text.lines().flat_map(str::chars).any(reenact_json::shown::is_unsafe), "{text}");
}
