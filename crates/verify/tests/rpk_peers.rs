//! Files of the format's own programs, valid and tampered with, get the verdict of those programs.
//!
//! They belong to others and are not part of this repository. If `../shared` is missing, these tests
//! print that and end.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on stops, and says what it skips"
)]

use std::path::{Path, PathBuf};

use reenact_formats::rpk::HmacKey;
use reenact_formats::rpk::migrate::migrate;
use reenact_verify::{CheckId, FormatId, Keys, Options, Report, Trust, rpk, verify};
use serde_json::Value as Json;

/// Returns the folder of these files: the one that `REENACT_PEERS` names, or `../shared/peers`.
fn peers() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/peers");
    let folder = std::env::var_os("REENACT_PEERS").map_or(beside, PathBuf::from).join("rpk_artifacts");
    if !folder.is_dir() {
        println!("skipped: there is no ../shared/peers/rpk_artifacts");
        return None;
    }
    Some(folder)
}

fn manifest(folder: &Path) -> Json {
    serde_json::from_slice(&std::fs::read(folder.join("manifest.json")).unwrap()).unwrap()
}

fn report_of(bytes: &[u8], key: Option<&str>) -> Report {
    let mut keys = Keys::default();
    if let Some(key) = key {
        keys.set_hmac_key(HmacKey::from_text(key.as_bytes()).unwrap());
    }
    let report = verify(bytes, &keys, &Options::default());
    let forced = verify(bytes, &keys, &Options { format: Some(FormatId::Rpk), ..Options::default() });
    if report.format != "unknown" {
        assert_eq!(report, forced);
    }
    forced
}

/// Files that the reference accepts and this project refuses, with the failed check.
const STRICTER: [(&str, CheckId); 3] = [
    ("tampered/t32_duplicate_key_last_good.rpk", rpk::PARSE),
    ("tampered/t39_version_arabic_digits.rpk", rpk::VERSION),
    ("tampered/t42_step_hash_trailing_newline.rpk", rpk::SCHEMA_VALID),
];

/// Returns the ids of the steps whose hash fails, according to the reasons of a report.
fn stale(report: &Report, document: &Json) -> Vec<String> {
    let prefix = format!("{}: step ", rpk::STEP_HASHES);
    let indices = report.reasons.iter().filter_map(|reason| reason.strip_prefix(&prefix)?.split(':').next());
    indices
        .map(|index| {
            let step = &document["payload"]["run"]["steps"][index.parse::<usize>().unwrap()];
            step["id"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn every_file() {
    let Some(folder) = peers() else { return };
    let manifest = manifest(&folder);
    let entries = manifest["entries"].as_array().unwrap();
    assert!(entries.len() >= 65, "{}", entries.len());
    for entry in entries {
        let name = entry["file"].as_str().unwrap();
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let report = report_of(&bytes, None);
        for check in report.failed() {
            let prefix = format!("{check}: ");
            assert!(report.reasons.iter().any(|reason| reason.starts_with(&prefix)), "{name}: {check}");
        }
        let stale_by_reference = entry["stale_step_hashes"].as_array();
        let is_stale = stale_by_reference.is_some_and(|stale| !stale.is_empty());
        let is_good = entry["verify_allow_unsigned"]["exit"] == 0;
        match STRICTER.iter().find(|(file, _)| *file == name) {
            Some((_, check)) => assert_eq!(report.check(*check), Some(false), "{name}"),
            None => assert_eq!(report.pass(), is_good && !is_stale, "{name}: {:#?}", report.reasons),
        }
        let evaluated = report.check(rpk::PARSE) == Some(true) && report.check(rpk::VERSION) == Some(true);
        if let (Some(expected), true) = (stale_by_reference, evaluated) {
            let expected: Vec<&str> = expected.iter().map(|id| id.as_str().unwrap()).collect();
            // The reference stops at the first fault; this verifier goes on, so steps without canonical
            // form fail, too.
            let document: Json = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(stale(&report, &document), expected, "{name}");
        }
        if entry["read"] == "accept" && !STRICTER.iter().any(|(file, _)| *file == name) {
            for check in [rpk::PARSE, rpk::VERSION, rpk::SCHEMA_VALID, rpk::CHECKSUM] {
                assert_eq!(report.check(check), Some(true), "{name}: {check}");
            }
        }
    }
}

#[test]
fn signatures() {
    let Some(folder) = peers() else { return };
    let manifest = manifest(&folder);
    let key = manifest["signing_key"].as_str().unwrap();
    let mut signed = 0;
    for entry in manifest["entries"].as_array().unwrap() {
        let Some(with_key) = entry.get("verify_with_key") else { continue };
        signed += 1;
        let name = entry["file"].as_str().unwrap();
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let status = |given: &Json| given["json"]["verification_status"].as_str().map(str::to_owned);
        for (given, key) in [
            (with_key, Some(key)),
            (&entry["verify_wrong_key"], Some("another key")),
            (&entry["verify_no_key"], None),
        ] {
            let report = report_of(&bytes, key);
            let expected = match status(given).as_deref() {
                Some("verified") => Some(true),
                Some("missing_signature") => None,
                _ => Some(false),
            };
            let found = report.check(rpk::SIGNATURE);
            assert_eq!(found, expected, "{name}: {key:?} {given} {:#?}", report.reasons);
            let trust = report.signer.map(|signer| signer.trust);
            let expected = expected.map(|holds| if holds { Trust::Supplied } else { Trust::Unknown });
            assert_eq!(trust, expected, "{name}");
        }
    }
    assert!(signed >= 9, "{signed}");
}

#[test]
fn pairs_of_runs() {
    let Some(folder) = peers() else { return };
    let mut judged = 0;
    for case in std::fs::read_dir(folder.parent().unwrap().join("rpk_diff")).unwrap() {
        let case = case.unwrap().path();
        for side in ["left.rpk", "right.rpk"] {
            let report = report_of(&std::fs::read(case.join(side)).unwrap(), None);
            // Two of the cases contain a hash that does not fit its step.
            let is_stale = side == "right.rpk"
                && ["12_stale_hash_hides_change", "13_hash_only_change"]
                    .iter()
                    .any(|name| case.ends_with(name));
            let failed: Vec<CheckId> = report.failed().collect();
            assert_eq!(failed, if is_stale { vec![rpk::STEP_HASHES] } else { Vec::new() }, "{case:?} {side}");
            judged += 1;
        }
    }
    assert!(judged >= 12, "{judged}");
}

#[test]
fn migration_gives_the_bytes_of_the_reference() {
    let Some(folder) = peers() else { return };
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    // The source of the reference's own migration had the right step hash; the one here has zeros in its place.
    let legacy = String::from_utf8(read("legacy_0.9_badhash.rpk")).unwrap();
    let zeros = format!("sha256:{}", "0".repeat(64));
    let right = "sha256:fb9af6219cca86d167f3b7e06c90b12b640e5abebd79250f3a5cbe32cfa2860c";
    let restored = with_new_checksum(&legacy.replace(&zeros, right));
    let migrated = migrate(restored.as_bytes(), "1.0").unwrap();
    assert_eq!((migrated.preserved_hashes, migrated.recomputed_hashes), (1, 0));
    let paths: Vec<&str> = migrated.removed.iter().map(|removed| removed.path.as_str()).collect();
    assert_eq!(paths, ["$.payload.run.env_fingerprint.hostname"]);
    assert_eq!(
        String::from_utf8(migrated.bytes).unwrap(),
        String::from_utf8(read("ref_migrated_0.9_to_1.0.rpk")).unwrap()
    );
    let migrated = migrate(legacy.as_bytes(), "1.0").unwrap();
    assert_eq!((migrated.preserved_hashes, migrated.recomputed_hashes), (0, 1));
    assert!(report_of(&migrated.bytes, None).pass());
}

/// Returns the document with its proper checksum, taken from the verifier's reason.
fn with_new_checksum(text: &str) -> String {
    let reenact_formats::rpk::migrate::RpkMigrateError::Checksum { carried, computed } =
        migrate(text.as_bytes(), "1.0").unwrap_err()
    else {
        return text.to_owned();
    };
    text.replace(&carried, &format!("sha256:{computed}"))
}
