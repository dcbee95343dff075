//! Changes to a bundle that need no key, each with exactly the checks that fail.

use reenact_formats::rer::RerVersion;
use reenact_formats::rer::seal::Signer as _;
use reenact_json::Digest;
use reenact_verify::rer::bundle;
use reenact_verify::rer::bundle::{
    ARTIFACT, ARTIFACT_HASH, BLOB_COMPLETENESS, BLOB_INTEGRITY, BLOB_METADATA, EVENT_COUNT, KEY_INTEGRITY,
    MANIFEST_BINDING, MANIFEST_INTEGRITY, REDACTED_COUNT,
};
use reenact_verify::rer::{LOG_HEAD, RUNTIME_SIGNATURE};
use reenact_verify::{CheckId, Keys, TargetOutcome};
use serde_json::{Value as Json, json};

use crate::bundle_fixture::{BLOBS, Files, Run, TestKey, blob_name, bundle, failed, tar};
use crate::{
    ALL_BUT_ARTIFACT, SIGNATURES, artifact_hash, bind, edit, edit_and_rehash, edit_for_hash, inner_failed,
    jwk, other_key, other_run, put, report_in_every_form, report_of, withhold,
};

/// Name, edit, failed checks of the bundle, and failed checks of its artifact.
type Attack = (&'static str, fn(&mut Files), &'static [CheckId], &'static [CheckId]);

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
        |files| drop(files.insert("key.bin".into(), other_key())),
        &[ARTIFACT, KEY_INTEGRITY],
        SIGNATURES,
    ),
    (
        "another key, named by the manifest",
        |files| {
            files.insert("key.bin".into(), other_key());
            let hash = Digest::of(&other_key()).to_string();
            edit_and_rehash(files, |m| m["runtime_key_hash"] = json!(hash));
        },
        &[ARTIFACT, MANIFEST_BINDING],
        SIGNATURES,
    ),
    (
        "another key, named by the manifest and the artifact",
        |files| {
            files.insert("key.bin".into(), other_key());
            let id = TestKey::of(9).public_key().id().to_string();
            edit(files, "artifact.json", |artifact| artifact["runtime"]["key_id"] = json!(id));
            let (key, artifact) = (Digest::of(&other_key()).to_string(), artifact_hash(files));
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
            let hash = Digest::of(&other_key()).to_string();
            edit(files, "manifest.json", |m| m["runtime_key_hash"] = json!(hash));
        },
        &[MANIFEST_INTEGRITY, KEY_INTEGRITY],
        &[],
    ),
    (
        "another key beside the right one",
        |files| put(files, "key.jwk", &jwk(&TestKey::of(9))),
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
        |files| drop(files.insert("artifact.json".into(), Run::default().artifact(&TestKey::of(1), None))),
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
        |files| *files = Run { version: RerVersion::V01, ..Run::default() }.bundle(&TestKey::of(1), |_| {}),
        &[MANIFEST_BINDING],
        &[],
    ),
    (
        "an event less",
        |files| {
            edit(files, "artifact.json", |artifact| drop(artifact["events"].as_array_mut().unwrap().pop()))
        },
        &[ARTIFACT, ARTIFACT_HASH, EVENT_COUNT],
        &[LOG_HEAD, RUNTIME_SIGNATURE],
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
        // The only blobs are those that the events name, and none is listed.
        ALL_BUT_ARTIFACT,
        &[],
    ),
];

#[test]
fn each_attack_fails_exactly_the_checks_that_it_touches() {
    for (what, attack, outer, inner) in ATTACKS {
        let mut files = bundle();
        attack(&mut files);
        let report = report_in_every_form(&files, &Keys::default(), what);
        assert_eq!(failed(&report), *outer, "{what}: {:#?}", report.reasons);
        assert_eq!(inner_failed(&report), *inner, "{what}: {:#?}", report.reasons);
        assert_eq!(TargetOutcome::Report(report.clone()).exit_code(), 1, "{what}");
        for check in report.failed() {
            let begin = format!("{check}: ");
            assert!(report.reasons.iter().any(|reason| reason.starts_with(&begin)), "{what}: {check}");
        }
        assert!(!report.summary.contains("intact") && !report.summary.contains("verified"), "{what}");
    }
}

/// Nothing is known of the events of an artifact that cannot be read, so no statement about them holds, whatever the manifest
/// counts.
#[test]
fn an_unreadable_artifact_answers_no_check_that_needs_it() {
    let texts: [(&[u8], &str); 4] = [
        (b"", "the artifact could not be read"),
        (b"[]", "the artifact could not be read"),
        (b"{\"events\":[]", "the artifact could not be read"),
        (b"{\"events\":{}}", "the artifact has no list of events"),
    ];
    for (text, reason) in texts {
        let mut files = Run { blobs: Vec::new(), ..Run::default() }.bundle(&TestKey::of(1), |manifest| {
            manifest["total_event_count"] = json!(0);
            manifest["redacted_event_count"] = json!(0);
        });
        files.insert("artifact.json".into(), text.to_vec());
        let report = report_in_every_form(&files, &Keys::default(), reason);
        let of_artifact =
            [ARTIFACT, ARTIFACT_HASH, MANIFEST_BINDING, BLOB_COMPLETENESS, EVENT_COUNT, REDACTED_COUNT];
        let expected: Vec<CheckId> =
            bundle::CHECKS.into_iter().filter(|check| of_artifact.contains(check)).collect();
        assert_eq!(failed(&report), expected, "{:#?}", report.reasons);
        for check in [BLOB_COMPLETENESS, EVENT_COUNT, REDACTED_COUNT] {
            assert!(report.reasons.contains(&format!("{check}: {reason}")), "{:#?}", report.reasons);
        }
    }
}

#[test]
fn every_member_of_the_manifest_is_needed() {
    let expected: &[(&str, &[CheckId])] = &[
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
            let report = report_of(&tar(&files), &Keys::default());
            let mut found = failed(&report);
            found.sort_unstable();
            let mut checks = checks.to_vec();
            checks.sort_unstable();
            assert_eq!(found, checks, "{name} = {value:?}: {:#?}", report.reasons);
        }
    }
}
