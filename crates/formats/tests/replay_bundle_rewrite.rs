//! Bundles made of bundles: everything stays as it was, and nothing that a bundle says of its run is replaced.

#![allow(clippy::unwrap_used, reason = "a test that cannot read stops")]

use std::collections::BTreeMap;

use reenact_formats::replay_bundle::new_manifest::BundleSeeds;
use reenact_formats::replay_bundle::{
    AddedBundleFile, BundleDocument, BundleRewriteError, MANIFEST, RewrittenBundle, archive_rules, rewrite,
};
use reenact_json::{Digest, Limits, Value};
use reenact_pack::{PackError, read_tar_gz};

const MANIFEST_TEXT: &str = r#"{"schema_version":1,"assay_version":"6.21.0","created_at":"2026-01-28T14:00:00Z","config_digest":"sha256:CONFIG","trace_path":"traces/run.jsonl","outputs":{"summary":"reports/summary.json","html":1},"seeds":{"seed_version":1,"order_seed":"42"},"future":{"a":[1.50]}}"#;

/// Returns a bundle in the layout of the document's own example, with members that are not known.
fn files() -> Vec<(&'static str, &'static [u8])> {
    vec![(MANIFEST, b""), ("reports/summary.json", b"{\"exit_code\":1}"), ("traces/run.jsonl", b"{}\n")]
}

fn rewritten(
    manifest: &str,
    files: &[(&'static str, &'static [u8])],
    added: &[AddedBundleFile],
    seeds: &BundleSeeds,
) -> Result<RewrittenBundle, BundleRewriteError> {
    rewrite(manifest.as_bytes(), files.iter().copied(), added, seeds)
}

fn unpacked(archive: &[u8]) -> BTreeMap<String, String> {
    let mut members = BTreeMap::new();
    read_tar_gz(archive, &archive_rules(), |member| {
        let name = member.name().to_owned();
        members.insert(name, String::from_utf8(member.read_whole(1 << 20)?).unwrap());
        Ok::<(), PackError>(())
    })
    .unwrap();
    members
}

fn config(content: &str) -> AddedBundleFile {
    AddedBundleFile {
        document: BundleDocument::Config,
        name: "files/eval.yaml".into(),
        content: content.as_bytes().to_vec(),
    }
}

fn manifest() -> String {
    MANIFEST_TEXT.replace("CONFIG", &Digest::of(b"suite: x\n").to_string())
}

#[test]
fn files_outside_of_the_layout_move_and_the_manifest_follows() {
    let made = rewritten(&manifest(), &files(), &[], &BundleSeeds::default()).unwrap();
    assert_eq!(
        made.moved,
        [
            ("reports/summary.json".to_owned(), "outputs/summary.json".to_owned()),
            ("traces/run.jsonl".to_owned(), "files/traces/run.jsonl".to_owned()),
        ]
    );
    assert_eq!(made.file_count, 2);
    let members = unpacked(&made.bytes);
    assert_eq!(
        members.keys().collect::<Vec<_>>(),
        ["files/traces/run.jsonl", "manifest.json", "outputs/summary.json"]
    );
    assert_eq!(members["outputs/summary.json"], "{\"exit_code\":1}");
    let digest = |content: &[u8]| Digest::of(content).to_string();
    let expected = manifest()
        .replace("traces/run.jsonl", "files/traces/run.jsonl")
        .replace("reports/summary.json", "outputs/summary.json")
        .replace(
            r#""future":{"a":[1.50]}}"#,
            &format!(
                r#""future":{{"a":[1.50]}},"files":{{"files/traces/run.jsonl":{{"sha256":"sha256:{}","size":3,"mode":420,"content_type":"application/x-ndjson"}},"outputs/summary.json":{{"sha256":"sha256:{}","size":15,"mode":420,"content_type":"application/json"}}}}}}"#,
                digest(b"{}\n"),
                digest(b"{\"exit_code\":1}")
            ),
        );
    assert_eq!(members[MANIFEST], expected);
}

#[test]
fn a_bundle_in_the_layout_is_made_again_to_the_byte() {
    let once = rewritten(&manifest(), &files(), &[config("suite: x\n")], &BundleSeeds::default()).unwrap();
    let members = unpacked(&once.bytes);
    let again = rewrite(
        members[MANIFEST].as_bytes(),
        members.iter().map(|(name, content)| (name.as_str(), content.as_bytes())),
        &[],
        &BundleSeeds::default(),
    )
    .unwrap();
    assert_eq!(again.bytes, once.bytes);
    assert!(again.moved.is_empty());
}

#[test]
fn what_is_given_fills_gaps() {
    let junit = AddedBundleFile {
        document: BundleDocument::Junit,
        name: "outputs/junit.xml".into(),
        content: b"<testsuite/>".to_vec(),
    };
    let seeds =
        BundleSeeds { order_seed: Some("42".into()), judge_seed: Some("7".into()), ..BundleSeeds::default() };
    let made = rewritten(&manifest(), &files(), &[config("suite: x\n"), junit], &seeds).unwrap();
    let members = unpacked(&made.bytes);
    let text = &members[MANIFEST];
    let document = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
    let seeds = document.member("seeds").unwrap();
    assert_eq!(seeds.text(), br#"{"seed_version":1,"order_seed":"42","judge_seed":"7"}"#);
    let outputs = document.member("outputs").unwrap();
    assert_eq!(outputs.text(), br#"{"summary":"outputs/summary.json","html":1,"junit":"outputs/junit.xml"}"#);
    assert_eq!(members["files/eval.yaml"], "suite: x\n");
}

#[test]
fn what_a_bundle_says_of_its_run_is_not_replaced() {
    let named = Digest::of(b"suite: x\n");
    let none = BundleSeeds::default();
    let found = Digest::of(b"suite: y\n");
    assert_eq!(
        rewritten(&manifest(), &files(), &[config("suite: y\n")], &none),
        Err(BundleRewriteError::AnotherDocument { document: BundleDocument::Config, found, named })
    );
    let mut with_config = files();
    with_config.push(("files/eval.yaml", b"suite: x\n"));
    assert_eq!(
        rewritten(&manifest(), &with_config, &[config("suite: x\n")], &none),
        Err(BundleRewriteError::AlreadyThere { document: BundleDocument::Config })
    );
    let seeds = BundleSeeds { order_seed: Some("43".into()), ..BundleSeeds::default() };
    assert_eq!(
        rewritten(&manifest(), &files(), &[], &seeds),
        Err(BundleRewriteError::AnotherSeed { member: "order_seed", named: "42".into() })
    );
}

#[test]
fn files_that_would_share_a_name_are_refused() {
    let mut both = files();
    both.push(("outputs/summary.json", b"{}"));
    assert_eq!(
        rewritten(&manifest(), &both, &[], &BundleSeeds::default()),
        Err(BundleRewriteError::Collision { name: "outputs/summary.json".into() })
    );
}
