//! Replay Bundles that the real tool wrote, and the ones that a script broke. Every real one verifies; every one that the real
//! tool refuses is refused, for what was done to it; of the others we refuse more, and each of those is listed here.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read stops")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use reenact_verify::{Keys, Options, Report, safe};
use serde_json::Value;

/// `REENACT_PEERS`, or the folder beside the project.
fn folder() -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/peers"));
    let folder = std::env::var_os("REENACT_PEERS").map_or_else(beside, PathBuf::from).join("replay_bundles");
    if !folder.is_dir() {
        println!("skipped: no {}", folder.display());
        return None;
    }
    Some(folder)
}

fn judged(folder: &std::path::Path, row: &Value) -> Report {
    let bytes = fs::read(folder.join(row["path"].as_str().unwrap())).unwrap();
    safe(&bytes, &Keys::default(), &Options::default())
}

/// The checks that do not hold, of each bundle by its number.
fn expected(id: &str) -> Option<&'static [&'static str]> {
    const ALL: &[&str] = &["archive", "manifest", "paths", "files", "digests", "contents", "secrets"];
    const MANIFEST: &[&str] = &["manifest", "paths", "files", "digests", "contents"];
    Some(match id.split('_').next().unwrap() {
        "t00" | "t09" | "t34" | "t35" | "t36" | "t37" | "t38" | "t56" | "t65" | "t78" => &[],
        "t01" | "t02" => &["files", "digests"],
        "t03" => &["paths", "files", "digests"],
        "t04" | "t42" | "t46" | "t74" => &["files"],
        "t05" => &["files", "secrets"],
        "t07" | "t08" => &["secrets"],
        "t17" | "t62" | "t66" | "t68" => MANIFEST,
        "t18" | "t21" | "t22" | "t23" => &["manifest"],
        "t25" | "t28" => &["files"],
        "t30" => &["digests"],
        // Nothing tells that this empty file was to be a bundle.
        "t61" => &["recognised"],
        "t16" | "t33" | "t39" | "t40" | "t41" | "t43" | "t45" | "t48" | "t50" | "t51" | "t52" | "t54"
        | "t55" | "t58" | "t59" | "t69" | "t70" | "t71" => ALL,
        _ => return None,
    })
}

#[test]
fn every_row_of_the_index() {
    let Some(folder) = folder() else { return };
    let index: Value = serde_json::from_slice(&fs::read(folder.join("index.json")).unwrap()).unwrap();
    let rows = index["bundles"].as_array().unwrap();
    let mut wrong = BTreeMap::new();
    for row in rows {
        let id = row["id"].as_str().unwrap();
        let report = judged(&folder, row);
        let failed: Vec<&str> = report.failed().collect();
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
