//! Replay Bundles that the reference tool wrote, and copies that a script broke.
//!
//! Every real one passes. Every one that the tool refuses fails for the change that was made to it.
//! Some that the tool accepts fail here, and each of those is listed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot read stops, and says what it skips"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use reenact_verify::replay_bundle::{CHECKS, CONTENTS, DIGESTS, FILES, MANIFEST, PATHS, SECRETS};
use reenact_verify::{CheckId, FormatId, Keys, Options, RECOGNISED, Report, verify};
use serde_json::Value;

/// Returns the folder that `REENACT_PEERS` names, or the one beside the project.
fn folder() -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/peers"));
    let folder = std::env::var_os("REENACT_PEERS").map_or_else(beside, PathBuf::from).join("replay_bundles");
    if !folder.is_dir() {
        println!("skipped: no {}", folder.display());
        return None;
    }
    Some(folder)
}

fn report_of(folder: &std::path::Path, row: &Value) -> Report {
    let bytes = fs::read(folder.join(row["path"].as_str().unwrap())).unwrap();
    verify(&bytes, &Keys::default(), &Options::default())
}

/// Returns the checks that fail, for each bundle by its number.
fn expected(id: &str) -> Option<&'static [CheckId]> {
    const BEHIND_MANIFEST: &[CheckId] = &[MANIFEST, PATHS, FILES, DIGESTS, CONTENTS];
    Some(match id.split('_').next().unwrap() {
        "t00" | "t09" | "t34" | "t35" | "t36" | "t37" | "t38" | "t56" | "t65" | "t79" | "t83" => &[],
        "t01" | "t02" => &[FILES, DIGESTS],
        "t03" => &[PATHS, FILES, DIGESTS],
        "t04" | "t42" | "t46" | "t74" => &[FILES],
        "t05" => &[FILES, SECRETS],
        "t07" | "t08" => &[SECRETS],
        "t62" | "t66" | "t68" => BEHIND_MANIFEST,
        "t18" | "t21" | "t22" | "t23" => &[MANIFEST],
        "t25" | "t28" => &[FILES],
        "t30" => &[DIGESTS],
        "t76" | "t77" => &[PATHS, DIGESTS],
        "t80" | "t81" => &[CONTENTS],
        "t82" => &[PATHS, FILES],
        // No member by which these would be recognised is readable.
        "t17" | "t54" | "t58" | "t59" | "t61" => &[RECOGNISED],
        "t16" | "t33" | "t39" | "t40" | "t41" | "t43" | "t45" | "t48" | "t50" | "t51" | "t52" | "t55"
        | "t69" | "t70" | "t71" => &CHECKS,
        _ => return None,
    })
}

/// With a format given, the report says what is wrong with a file.
#[test]
fn asked_for_by_name() {
    let Some(folder) = folder() else { return };
    let options = Options { format: Some(FormatId::ReplayBundle), ..Options::default() };
    for (name, reason) in [
        ("t54_second_gzip_member", "archive: there is data after a gzip stream"),
        ("t58_truncated_gzip", "archive: the archive ends inside a gzip stream"),
        ("t59_bad_crc", "archive: the checksum of a gzip stream does not match"),
        ("t61_empty_file", "archive: it is no archive; a Replay Bundle is a tar inside gzip"),
        ("t17_missing_manifest", "manifest: manifest.json is missing"),
    ] {
        let bytes = fs::read(folder.join("tampered").join(format!("{name}.tar.gz"))).unwrap();
        let report = verify(&bytes, &Keys::default(), &options);
        assert_eq!(report.reasons.first().map(String::as_str), Some(reason), "{name}");
    }
}

#[test]
fn every_row_of_the_index() {
    let Some(folder) = folder() else { return };
    let index: Value = serde_json::from_slice(&fs::read(folder.join("index.json")).unwrap()).unwrap();
    let rows = index["bundles"].as_array().unwrap();
    let mut wrong = BTreeMap::new();
    for row in rows {
        let id = row["id"].as_str().unwrap();
        let report = report_of(&folder, row);
        let failed: Vec<CheckId> = report.failed().collect();
        if row["verify_exit"] == 2 {
            assert!(!report.pass(), "{id}: the real tool refuses it");
        }
        if row["kind"] == "real" {
            assert!(report.pass(), "{id}: {:?}", report.reasons);
            assert_eq!(report.format, "replay-bundle/1", "{id}");
        } else if Some(failed.as_slice()) != expected(id) {
            wrong.insert(id, (failed, report.reasons.clone()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(rows.len() >= 77);
}
