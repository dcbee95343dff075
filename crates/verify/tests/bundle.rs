//! RER bundles: the same verdict however they are packed, and what someone without the key can make of one.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test says what it skipped")]

mod bundle_maker;

use std::path::Path;
use std::process::Command;

use bundle_maker::{
    BLOBS, Files, Folder, Key, Run, archives, blob_name, bundle, failed, judge_path, rehash, tar,
};
use reenact_formats::rer::Version;
use reenact_formats::rer::seal::Signer as _;
use reenact_json::Digest;
use reenact_verify::rer::bundle::{
    ARTIFACT, ARTIFACT_HASH, BLOB_COMPLETENESS, BLOB_INTEGRITY, BLOB_METADATA, CHECKS, EVENT_COUNT,
    KEY_INTEGRITY, MANIFEST_BINDING, MANIFEST_INTEGRITY, REDACTED_COUNT,
};
use reenact_verify::rer::{ENVELOPE_SIGNATURE, RUNTIME_SIGNATURE};
use reenact_verify::{Format, Keys, Members, Options, Outcome, Report, Trust, render, safe, safe_members};
use serde_json::{Value as Json, json};

fn judge(archive: &[u8], keys: &Keys) -> Report {
    safe(archive, keys, &Options::default())
}

/// The report on these files, the same from every archive and from a folder.
fn everywhere(files: &Files, keys: &Keys, what: &str) -> Report {
    let folder = Folder::new();
    let report = judge_path(&folder.lay_out("b", files), keys);
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

#[test]
fn however_it_is_packed_the_report_is_the_same() {
    let files = bundle();
    let keys = Key::of(1).keys();
    let report = everywhere(&files, &keys, "bare");
    assert_eq!(failed(&report), [""; 0], "{:#?}", report.reasons);
    assert_eq!(report.format, "rer-bundle");
    assert_eq!(report.notes, ["event 1: payload withheld; its content cannot be checked"]);
    for (form, archive) in archives(&wrapped(&files)) {
        assert_eq!(judge(&archive, &keys), report, "{form} with a folder around everything");
    }
}

/// Runs a tool in a folder; `false`, and a line that says so, where there is no such tool.
fn ran(folder: &Path, words: &[&str]) -> bool {
    match Command::new(words[0]).args(&words[1..]).current_dir(folder).output() {
        Ok(output) => {
            assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
            true
        }
        Err(error) => {
            eprintln!("skipped: {} cannot be run here: {error}", words[0]);
            false
        }
    }
}

#[test]
fn ordinary_tools_pack_it_the_same() {
    const PYTHON: &str = "import sys, tarfile, zipfile, os
mode, out, source = sys.argv[1:]
if mode == 'zip':
    with zipfile.ZipFile(out, 'w', zipfile.ZIP_DEFLATED) as archive:
        for folder, _, names in os.walk(source):
            for name in names:
                path = os.path.join(folder, name)
                archive.write(path, os.path.relpath(path, source))
else:
    form = {'pax': tarfile.PAX_FORMAT, 'gnu': tarfile.GNU_FORMAT, 'ustar': tarfile.USTAR_FORMAT}[mode]
    with tarfile.open(out, 'w:gz', format=form) as archive:
        archive.add(source, arcname='around')
";
    let keys = Key::of(1).keys();
    let folder = Folder::new();
    let expected = judge_path(&folder.lay_out("b", &bundle()), &keys);
    assert!(expected.pass());
    let commands: &[&[&str]] = &[
        &["tar", "-cf", "a.tar", "b"],
        &["tar", "-C", "b", "-cf", "dot.tar", "."],
        &["tar", "-C", "b", "-czf", "dot.tar.gz", "."],
        &["tar", "--format=pax", "-czf", "pax.tar.gz", "b"],
        &["tar", "--format=v7", "-czf", "v7.tar.gz", "b"],
        &["zip", "-qr", "info.zip", "b"],
        &["zip", "-qrD", "plain.zip", "b"],
        &["python3", "-c", PYTHON, "zip", "python.zip", "b"],
        &["python3", "-c", PYTHON, "pax", "python-pax.tar.gz", "b"],
        &["python3", "-c", PYTHON, "gnu", "python-gnu.tar.gz", "b"],
        &["python3", "-c", PYTHON, "ustar", "python-ustar.tar.gz", "b"],
    ];
    for words in commands {
        if ran(folder.path(), words) {
            let made = words.iter().find(|word| word.contains(".tar") || word.contains(".zip")).unwrap();
            assert_eq!(judge_path(&folder.path().join(made), &keys), expected, "{words:?}");
        }
    }
}

fn json(files: &Files, name: &str) -> Json {
    serde_json::from_slice(&files[name]).unwrap()
}

fn put(files: &mut Files, name: &str, value: &Json) {
    files.insert(name.into(), value.to_string().into_bytes());
}

/// Edits a document.
fn edit(files: &mut Files, name: &str, change: impl FnOnce(&mut Json)) {
    let mut value = json(files, name);
    change(&mut value);
    put(files, name, &value);
}

/// Edits the manifest and hashes it anew; gives the hash.
fn edit_for_hash(files: &mut Files, change: impl FnOnce(&mut Json)) -> Digest {
    let mut manifest = json(files, "manifest.json");
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
    Run { run_id: "other", ..Run::default() }.bundle(&Key::of(1), |_| {})
}

fn stranger_key() -> Vec<u8> {
    Key::of(9).public_key().as_bytes().to_vec()
}

fn jwk(key: &Key) -> Json {
    json!({"kty": "OKP", "crv": "Ed25519", "x": key.public_key().to_base64url()})
}

/// What is done, how, and the checks of the bundle that then fail, and those of its artifact.
type Attack = (&'static str, fn(&mut Files), &'static [&'static str], &'static [&'static str]);

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

const ATTACKS: &[Attack] = &[
    (
        "a blob of the same length",
        |files| drop(files.insert(blob_name(BLOBS[0]), b"one blub".to_vec())),
        &[BLOB_INTEGRITY],
        &[],
    ),
    (
        "a longer blob",
        |files| drop(files.insert(blob_name(BLOBS[0]), b"one blob, and more".to_vec())),
        &[BLOB_INTEGRITY, BLOB_METADATA],
        &[],
    ),
    ("no blob", |files| drop(files.remove(&blob_name(BLOBS[0]))), &[BLOB_INTEGRITY, BLOB_METADATA], &[]),
    (
        "another blob under another name",
        |files| {
            files.remove(&blob_name(BLOBS[0]));
            files.insert(blob_name(b"new"), b"new".to_vec());
        },
        &[BLOB_INTEGRITY, BLOB_METADATA],
        &[],
    ),
    (
        "a size that lies",
        |files| edit(files, "manifest.json", |m| m["blobs"][0]["size_bytes"] = json!(7)),
        &[MANIFEST_INTEGRITY, BLOB_METADATA],
        &[],
    ),
    (
        "a size that lies, rehashed",
        |files| edit_and_rehash(files, |m| m["blobs"][0]["size_bytes"] = json!("8")),
        &[MANIFEST_BINDING, BLOB_METADATA],
        &[],
    ),
    (
        "another blob, listed, rehashed",
        |files| {
            files.insert(blob_name(b"new"), b"new".to_vec());
            edit_and_rehash(files, |m| {
                let blob = json!({"name": "n", "hash": Digest::of(b"new").to_string(), "size_bytes": 3});
                m["blobs"].as_array_mut().unwrap().push(blob);
            });
        },
        &[MANIFEST_BINDING],
        &[],
    ),
    (
        "a blob struck off the list",
        |files| edit_and_rehash(files, |m| drop(m["blobs"].as_array_mut().unwrap().remove(0))),
        &[MANIFEST_BINDING, BLOB_COMPLETENESS],
        &[],
    ),
    (
        "a label of a blob",
        |files| edit(files, "manifest.json", |m| m["blobs"][1]["name"] = json!("invoice.pdf")),
        &[MANIFEST_INTEGRITY],
        &[],
    ),
    (
        "a member more in the manifest",
        |files| edit(files, "manifest.json", |m| m["approved_by"] = json!("me")),
        &[MANIFEST_INTEGRITY],
        &[],
    ),
    (
        "a member more in the manifest, rehashed",
        |files| edit_and_rehash(files, |m| m["approved_by"] = json!("me")),
        &[MANIFEST_BINDING],
        &[],
    ),
    (
        "a member more in the manifest, rehashed and bound",
        |files| {
            let hash = edit_for_hash(files, |m| m["approved_by"] = json!("me"));
            bind(files, hash);
        },
        &[ARTIFACT],
        &[RUNTIME_SIGNATURE],
    ),
    (
        "a bundle_hash in capitals",
        |files| {
            edit(files, "manifest.json", |m| {
                let hash = m["bundle_hash"].as_str().unwrap().to_uppercase();
                m["bundle_hash"] = json!(hash);
            });
        },
        &[MANIFEST_INTEGRITY, MANIFEST_BINDING],
        &[],
    ),
    (
        "the number of events",
        |files| edit(files, "manifest.json", |m| m["total_event_count"] = json!(6)),
        &[MANIFEST_INTEGRITY, EVENT_COUNT],
        &[],
    ),
    (
        "the number of events, rehashed",
        |files| edit_and_rehash(files, |m| m["total_event_count"] = json!(-5)),
        &[MANIFEST_BINDING, EVENT_COUNT],
        &[],
    ),
    (
        "the number of withheld payloads",
        |files| edit(files, "manifest.json", |m| m["redacted_event_count"] = json!(0)),
        &[MANIFEST_INTEGRITY, REDACTED_COUNT],
        &[],
    ),
    (
        "the number of withheld payloads, rehashed",
        |files| edit_and_rehash(files, |m| m["redacted_event_count"] = json!(1.5)),
        &[MANIFEST_BINDING, REDACTED_COUNT],
        &[],
    ),
    (
        "another key",
        |files| drop(files.insert("key.bin".into(), stranger_key())),
        &[ARTIFACT, KEY_INTEGRITY],
        SIGNATURES,
    ),
    (
        "another key, named by the manifest",
        |files| {
            files.insert("key.bin".into(), stranger_key());
            let hash = Digest::of(&stranger_key()).to_string();
            edit_and_rehash(files, |m| m["runtime_key_hash"] = json!(hash));
        },
        &[ARTIFACT, MANIFEST_BINDING],
        SIGNATURES,
    ),
    (
        "another key, named by the manifest and the artifact",
        |files| {
            files.insert("key.bin".into(), stranger_key());
            let id = Key::of(9).public_key().id().to_string();
            edit(files, "artifact.json", |artifact| artifact["runtime"]["key_id"] = json!(id));
            let (key, artifact) = (Digest::of(&stranger_key()).to_string(), artifact_hash(files));
            let hash = edit_for_hash(files, |m| {
                m["runtime_key_hash"] = json!(key);
                m["artifact_hash"] = artifact;
            });
            bind(files, hash);
        },
        &[ARTIFACT],
        SIGNATURES,
    ),
    (
        "another key's hash in the manifest",
        |files| {
            let hash = Digest::of(&stranger_key()).to_string();
            edit(files, "manifest.json", |m| m["runtime_key_hash"] = json!(hash));
        },
        &[MANIFEST_INTEGRITY, KEY_INTEGRITY],
        &[],
    ),
    (
        "another key beside the right one",
        |files| put(files, "key.jwk", &jwk(&Key::of(9))),
        &[ARTIFACT, KEY_INTEGRITY],
        SIGNATURES,
    ),
    (
        "a key.jwk that is none",
        |files| drop(files.insert("key.jwk".into(), b"{}".to_vec())),
        &[ARTIFACT, KEY_INTEGRITY],
        SIGNATURES,
    ),
    (
        "a key of 33 bytes",
        |files| files.get_mut("key.bin").unwrap().push(0),
        &[ARTIFACT, KEY_INTEGRITY],
        SIGNATURES,
    ),
    ("no key", |files| drop(files.remove("key.bin")), &[ARTIFACT, KEY_INTEGRITY], SIGNATURES),
    ("a payload withheld", |files| withhold(files, 2), &[ARTIFACT_HASH, REDACTED_COUNT], &[]),
    (
        "a payload withheld, and the manifest fits",
        |files| {
            withhold(files, 0);
            let artifact = artifact_hash(files);
            edit_and_rehash(files, |m| {
                m["redacted_event_count"] = json!(2);
                m["artifact_hash"] = artifact;
            });
        },
        &[MANIFEST_BINDING],
        &[],
    ),
    (
        "a payload withheld, and the manifest fits and is bound",
        |files| {
            withhold(files, 0);
            let artifact = artifact_hash(files);
            let hash = edit_for_hash(files, |m| {
                m["redacted_event_count"] = json!(2);
                m["artifact_hash"] = artifact;
            });
            bind(files, hash);
        },
        &[ARTIFACT],
        &[RUNTIME_SIGNATURE],
    ),
    (
        "another run's artifact",
        |files| drop(files.insert("artifact.json".into(), other_run()["artifact.json"].clone())),
        &[ARTIFACT_HASH, MANIFEST_BINDING],
        &[],
    ),
    (
        "another run's manifest",
        |files| drop(files.insert("manifest.json".into(), other_run()["manifest.json"].clone())),
        &[ARTIFACT_HASH, MANIFEST_BINDING],
        &[],
    ),
    (
        "the same run, sealed without a bundle",
        |files| drop(files.insert("artifact.json".into(), Run::default().artifact(&Key::of(1), None))),
        &[MANIFEST_BINDING],
        &[],
    ),
    (
        "manifest_hash null",
        |files| edit(files, "artifact.json", |artifact| artifact["manifest_hash"] = Json::Null),
        &[ARTIFACT, MANIFEST_BINDING],
        &[RUNTIME_SIGNATURE],
    ),
    (
        "an artifact of 0.1",
        |files| *files = Run { version: Version::V01, ..Run::default() }.bundle(&Key::of(1), |_| {}),
        &[MANIFEST_BINDING],
        &[],
    ),
    (
        "an event less",
        |files| {
            edit(files, "artifact.json", |artifact| drop(artifact["events"].as_array_mut().unwrap().pop()))
        },
        &[ARTIFACT, ARTIFACT_HASH, EVENT_COUNT],
        &["log_head", RUNTIME_SIGNATURE],
    ),
    (
        "a manifest that is no object",
        |files| drop(files.insert("manifest.json".into(), b"[]".to_vec())),
        ALL_BUT_ARTIFACT,
        &[],
    ),
    (
        "a manifest with a name twice",
        |files| {
            let text = String::from_utf8(files["manifest.json"].clone()).unwrap();
            files.insert("manifest.json".into(), text.replacen('{', "{\"blobs\":[],", 1).into_bytes());
        },
        ALL_BUT_ARTIFACT,
        &[],
    ),
    (
        "an empty manifest",
        |files| drop(files.insert("manifest.json".into(), b"{}".to_vec())),
        // No blob was written but for those that the events name, and none is listed.
        ALL_BUT_ARTIFACT,
        &[],
    ),
];

#[test]
fn each_attack_fails_exactly_the_checks_that_it_touches() {
    for (what, attack, outer, inner) in ATTACKS {
        let mut files = bundle();
        attack(&mut files);
        let report = everywhere(&files, &Keys::default(), what);
        assert_eq!(failed(&report), *outer, "{what}: {:#?}", report.reasons);
        assert_eq!(inner_failed(&report), *inner, "{what}: {:#?}", report.reasons);
        assert_eq!(Outcome::Judged(report.clone()).exit_code(), 1, "{what}");
        for name in report.failed() {
            let begin = format!("{name}: ");
            assert!(report.reasons.iter().any(|reason| reason.starts_with(&begin)), "{what}: {name}");
        }
        assert!(!report.verdict.contains("intact") && !report.verdict.contains("verified"), "{what}");
    }
}

#[test]
fn every_member_of_the_manifest_is_needed() {
    let expected: &[(&str, &[&str])] = &[
        ("artifact_hash", &[MANIFEST_BINDING, ARTIFACT_HASH]),
        ("runtime_key_hash", &[MANIFEST_BINDING, KEY_INTEGRITY]),
        ("total_event_count", &[MANIFEST_BINDING, EVENT_COUNT]),
        ("redacted_event_count", &[MANIFEST_BINDING, REDACTED_COUNT]),
        ("blobs", &[MANIFEST_BINDING, BLOB_INTEGRITY, BLOB_COMPLETENESS, BLOB_METADATA]),
    ];
    for (name, checks) in expected {
        let values =
            [None, Some(json!(null)), Some(json!({})), Some(json!("")), Some(json!([[]])), Some(json!(true))];
        for value in values {
            let mut files = bundle();
            edit_and_rehash(&mut files, |manifest| match &value {
                None => drop(manifest.as_object_mut().unwrap().remove(*name)),
                Some(value) => manifest[*name] = value.clone(),
            });
            let report = judge(&tar(&files), &Keys::default());
            let mut found = failed(&report);
            found.sort_unstable();
            let mut checks = checks.to_vec();
            checks.sort_unstable();
            assert_eq!(found, checks, "{name} = {value:?}: {:#?}", report.reasons);
        }
    }
}

#[test]
fn who_vouches_for_the_key() {
    let files = bundle();
    let own = everywhere(&files, &Keys::default(), "own key");
    assert!(own.pass());
    assert_eq!(own.signer.as_ref().unwrap().trust, Trust::SelfAsserted);
    assert!(own.verdict.contains("signer unknown"), "{}", own.verdict);
    let supplied = everywhere(&files, &Key::of(1).keys(), "supplied");
    assert_eq!(supplied.signer.as_ref().unwrap().trust, Trust::Supplied);
    assert_eq!(failed(&supplied), [""; 0]);
    assert!(supplied.verdict.contains("signed by the key that you supplied"), "{}", supplied.verdict);
    // Someone else's key says nothing about this bundle; a stranger's bundle stays a stranger's.
    let other = everywhere(&files, &Key::of(2).keys(), "another key supplied");
    assert_eq!((other.signer, other.verdict), (own.signer.clone(), own.verdict.clone()));
    for report in [&own, &supplied] {
        let outcome = Outcome::Judged(report.clone());
        let text = outcome.to_json("x") + &render::outcome("x", &outcome, &render::plain);
        assert!(!text.to_lowercase().contains("verified"), "{text}");
    }
}

#[test]
fn a_bundle_that_a_stranger_signed_anew_is_intact_and_nobodys() {
    let files = Run::default().bundle(&Key::of(9), |_| {});
    let report = everywhere(&files, &Key::of(1).keys(), "signed anew");
    assert!(report.pass());
    assert_eq!(report.signer.unwrap().trust, Trust::SelfAsserted);
    assert!(report.verdict.contains("signer unknown"), "{}", report.verdict);
}

#[test]
fn keys_may_come_from_either_side() {
    let keys = Key::of(1).keys();
    let mut files = bundle();
    files.remove("key.bin");
    let report = everywhere(&files, &keys, "no key file");
    assert_eq!((failed(&report), report.signer.unwrap().trust), (vec![], Trust::Supplied));

    put(&mut files, "key.jwk", &jwk(&Key::of(1)));
    let report = everywhere(&files, &Keys::default(), "key.jwk only");
    assert_eq!((failed(&report), report.signer.unwrap().trust), (vec![], Trust::SelfAsserted));

    // With the right key at hand the artifact is intact, and the bundle still brings another.
    put(&mut files, "key.jwk", &jwk(&Key::of(9)));
    let report = everywhere(&files, &keys, "another key.jwk");
    assert_eq!(failed(&report), [KEY_INTEGRITY]);
    files.insert("key.bin".into(), stranger_key());
    assert_eq!(failed(&everywhere(&files, &keys, "another key twice")), [KEY_INTEGRITY]);
}

/// The manifest and the artifact must mean one key, also when both were signed for.
#[test]
fn a_signer_cannot_pass_another_key_off() {
    let hash = Digest::of(&stranger_key()).to_string();
    let mut files = Run::default().bundle(&Key::of(1), |m| m["runtime_key_hash"] = json!(hash));
    files.insert("key.bin".into(), stranger_key());
    let report = everywhere(&files, &Key::of(1).keys(), "two keys");
    assert_eq!(failed(&report), [KEY_INTEGRITY]);
    assert_eq!(report.reasons, ["key_integrity: the bundle's key is not the one that the artifact names"]);
}

#[test]
fn a_private_key_in_a_bundle_is_told() {
    let mut files = bundle();
    let mut private = jwk(&Key::of(1));
    private["d"] = json!("A".repeat(43));
    put(&mut files, "key.jwk", &private);
    let report = everywhere(&files, &Keys::default(), "private key");
    assert!(report.pass(), "{:#?}", report.reasons);
    let note = "key.jwk holds the private key: whoever has this bundle can sign as its signer";
    assert!(report.notes.iter().any(|found| found == note), "{:#?}", report.notes);
}

/// The notes beside the one on the withheld payload.
fn notes(report: &Report) -> Vec<&str> {
    let own = |note: &&String| !note.starts_with("event 1: payload withheld");
    report.notes.iter().filter(own).map(String::as_str).collect()
}

#[test]
fn blobs_are_found_by_their_hash() {
    for name in
        ["blobs/x.bin", "x", "a/b/c", "blobs/artifact.json", "x/manifest.json", "key.bin.old", "a/key.jwk"]
    {
        let mut files = bundle();
        let blob = files.remove(&blob_name(BLOBS[0])).unwrap();
        files.insert(name.into(), blob);
        let report = everywhere(&files, &Keys::default(), name);
        assert_eq!((failed(&report), notes(&report)), (vec![], vec![]), "{name}: {:#?}", report.reasons);
    }
}

#[test]
fn files_that_nothing_vouches_for_are_told() {
    let mut files = bundle();
    let strangers = ["README.md", "blobs/extra.bin", "x/artifact.json", "x/key.bin", "blobs/manifest.json"];
    strangers.iter().for_each(|name| drop(files.insert((*name).into(), b"{}".to_vec())));
    let report = everywhere(&files, &Keys::default(), "strangers");
    assert!(report.pass(), "{:#?}", report.reasons);
    let mut expected =
        strangers.map(|name| format!("{name} is not listed in the manifest: nothing vouches for it"));
    expected.sort();
    assert_eq!(notes(&report), expected);
}

#[test]
fn a_changed_blob_is_changed_and_not_unlisted() {
    let mut files = bundle();
    files.insert(blob_name(BLOBS[0]), b"one blub".to_vec());
    let report = everywhere(&files, &Keys::default(), "changed");
    let (name, hash) = (blob_name(BLOBS[0]), Digest::of(b"one blub"));
    assert_eq!(report.reasons, [format!("blob_integrity: blobs[0]: {name} has the hash {hash}")]);
    assert_eq!(notes(&report), [""; 0]);
}

/// The blob is there, so that the checks hold; but whoever opens it by its name gets something else.
#[test]
fn a_changed_blob_beside_the_true_one_is_told() {
    let mut files = bundle();
    files.insert(blob_name(BLOBS[0]), b"one blub".to_vec());
    files.insert("blobs/hidden.bin".into(), BLOBS[0].to_vec());
    let report = everywhere(&files, &Keys::default(), "beside");
    assert!(report.pass());
    let (name, hash) = (blob_name(BLOBS[0]), Digest::of(b"one blub"));
    assert_eq!(
        notes(&report),
        [format!("{name} is not the blob that its name says: it has the hash {hash}")]
    );

    let mut files = bundle();
    files.insert(blob_name(BLOBS[0]), BLOBS[1].to_vec());
    files.insert(blob_name(BLOBS[1]), BLOBS[0].to_vec());
    let report = everywhere(&files, &Keys::default(), "swapped");
    assert!(report.pass());
    assert_eq!(notes(&report).len(), 2, "{:#?}", report.notes);
}

#[test]
fn names_of_blobs_are_labels() {
    let labels = ["../../etc/passwd", "/etc/passwd", "C:\\x", "", "\u{1b}[2J\u{202e}", "blobs/"];
    for label in labels {
        let files = Run::default().bundle(&Key::of(1), |m| m["blobs"][0]["name"] = json!(label));
        let report = everywhere(&files, &Keys::default(), label);
        assert_eq!((failed(&report), notes(&report)), (vec![], vec![]), "{label}");
    }
    for label in [json!(null), json!(7), json!(["x"])] {
        let files = Run::default().bundle(&Key::of(1), |m| m["blobs"][0]["name"] = label.clone());
        assert!(everywhere(&files, &Keys::default(), "label").pass(), "{label}");
    }
}

#[test]
fn hashes_that_are_paths_are_no_hashes() {
    for hash in ["../../artifact.json", "../../../../etc/passwd", "", "\u{1b}[2J"] {
        let files = Run::default().bundle(&Key::of(1), |m| {
            let entry = json!({"name": "x", "hash": hash, "size_bytes": 1});
            m["blobs"].as_array_mut().unwrap().push(entry);
        });
        let report = everywhere(&files, &Keys::default(), hash);
        assert_eq!(failed(&report), [BLOB_INTEGRITY, BLOB_METADATA], "{hash}");
        assert_bounded(&report);
    }
}

#[test]
fn one_blob_listed_twice_must_have_one_size() {
    let twice = |size: usize| {
        Run::default().bundle(&Key::of(1), |m| {
            let mut again = m["blobs"][0].clone();
            again["size_bytes"] = json!(size);
            m["blobs"].as_array_mut().unwrap().push(again);
        })
    };
    let report = everywhere(&twice(BLOBS[0].len()), &Keys::default(), "the same size");
    assert_eq!(failed(&report), [""; 0]);
    let report = everywhere(&twice(1), &Keys::default(), "another size");
    assert_eq!(report.reasons, ["blob_metadata: blobs[2]: size_bytes is 1, the blob has 8 bytes"]);
}

/// A report is for people, and no terminal obeys it.
fn assert_bounded(report: &Report) {
    let outcome = Outcome::Judged(report.clone());
    let text = outcome.to_json("x") + &render::outcome("x", &outcome, &render::plain);
    assert!(text.len() < 64 * 1024, "{} bytes", text.len());
    assert!(!text.lines().flat_map(str::chars).any(reenact_json::shown::is_unsafe), "{text}");
}

#[test]
fn a_hundred_thousand_blobs_that_are_not_there() {
    let files = Run::default().bundle(&Key::of(1), |m| {
        let entry = |number: u32| json!({"name": "x", "hash": Digest::of(&number.to_le_bytes()).to_string(), "size_bytes": 4});
        m["blobs"].as_array_mut().unwrap().extend((0..100_000).map(entry));
    });
    let report = judge(&tar(&files), &Keys::default());
    assert_eq!(failed(&report), [BLOB_INTEGRITY, BLOB_METADATA]);
    let more = report.reasons.iter().filter(|reason| reason.ends_with("and 99980 more of this kind"));
    assert_eq!(more.count(), 2);
    assert_bounded(&report);
}

/// As many as an artifact may hold: the reasons stay few.
#[test]
fn many_written_blobs_that_are_not_listed() {
    let blobs = (0_u32..3_000).map(|number| number.to_le_bytes().to_vec()).collect();
    let run = Run { blobs, ..Run::default() };
    let mut files = run.bundle(&Key::of(1), |m| m["blobs"] = json!([]));
    files.retain(|name, _| !name.starts_with("blobs/"));
    let report = judge(&tar(&files), &Keys::default());
    assert_eq!(failed(&report), [BLOB_COMPLETENESS]);
    assert_eq!(report.reasons.len(), 21, "{:#?}", report.reasons);
    assert_eq!(report.reasons[20], "blob_completeness: and 2980 more of this kind");
    assert_bounded(&report);
}

#[test]
fn many_files_that_nothing_vouches_for() {
    let mut files = bundle();
    (0..5_000).for_each(|number| drop(files.insert(format!("x/{number}\u{202e}"), Vec::new())));
    let report = judge(&tar(&files), &Keys::default());
    assert!(report.pass());
    assert_eq!(notes(&report).len(), 21);
    assert_bounded(&report);
}

#[test]
fn a_manifest_of_two_hundred_megabytes_of_junk() {
    let files = bundle();
    let mut members = Members::default();
    for (name, bytes) in files.iter().filter(|(name, _)| *name != "manifest.json") {
        members.take(name, &mut bytes.as_slice()).unwrap();
    }
    // Reading a string to its end takes its time without optimisation: less of it shows the same.
    for (junk, size, reason) in
        [("\u{7}", 200 << 20, "byte 0x07"), ("\"", 10 << 20, "a closing quote was due")]
    {
        let mut manifest = vec![b'x'; size];
        manifest[..junk.len()].copy_from_slice(junk.as_bytes());
        members.take("manifest.json", &mut manifest.as_slice()).unwrap();
        drop(manifest);
        let report = safe_members(&members, &Keys::default(), &Options::default());
        assert_eq!(failed(&report), ALL_BUT_ARTIFACT);
        assert!(report.reasons[0].contains(reason), "{}", report.reasons[0]);
        assert_bounded(&report);
    }
}

#[test]
fn documents_that_are_too_large_are_refused_in_every_form() {
    for (name, size) in [("key.bin", 1025), ("key.jwk", (1 << 20) + 1)] {
        let mut files = bundle();
        files.insert(name.into(), vec![b' '; size]);
        let folder = Folder::new();
        let report = judge_path(&folder.lay_out("b", &files), &Keys::default());
        assert_eq!(failed(&report), CHECKS.map(|(name, _)| name), "{name}");
        let limit = size - 1;
        assert_eq!(
            report.reasons[0],
            format!("artifact: the folder cannot be read: {name} is larger than {limit} bytes")
        );
        for (form, archive) in archives(&files) {
            let report = judge(&archive, &Keys::default());
            assert_eq!(failed(&report), CHECKS.map(|(name, _)| name), "{name}: {form}");
            let fault =
                format!("the size of a member in bytes is over the limit of {limit} (member \"{name}\")");
            assert_eq!(report.reasons[0], format!("artifact: the archive cannot be read: {fault}"));
        }
    }
}

#[test]
fn what_is_no_bundle_is_unknown_unless_it_is_asked_for() {
    // A manifest alone is what Replay Bundles have; that this one is of another kind is said.
    for (missing, format) in [("artifact.json", "replay-bundle/?"), ("manifest.json", "unknown")] {
        let mut files = bundle();
        files.remove(missing);
        for (form, archive) in archives(&files) {
            let report = judge(&archive, &Keys::default());
            assert_eq!((report.format.as_str(), report.pass()), (format, false), "{missing}: {form}");
            let is_told = report.notes.iter().any(|note| note.contains("whose artifact.json is missing"));
            assert_eq!(is_told, missing == "artifact.json", "{form}");
            let options = Options { format: Some(Format::RerBundle), ..Options::default() };
            let report = safe(&archive, &Keys::default(), &options);
            assert_eq!((report.format.as_str(), report.pass()), ("rer-bundle", false), "{missing}: {form}");
        }
    }
}

#[test]
fn a_folder_around_some_of_it_is_part_of_the_names() {
    let mut files = wrapped(&bundle());
    files.insert("other/x".into(), Vec::new());
    for (form, archive) in archives(&files) {
        let report = judge(&archive, &Keys::default());
        assert_eq!((report.format.as_str(), report.pass()), ("unknown", false), "{form}");
    }
    // A second bundle inside the first is a folder of files that nothing vouches for.
    let mut files = bundle();
    files.extend(wrapped(&other_run()));
    let report = everywhere(&files, &Keys::default(), "one in the other");
    assert!(report.pass());
    assert_eq!(notes(&report).len(), 3, "{:#?}", report.notes);
}
