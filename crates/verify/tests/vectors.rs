//! Every published RER vector gives the check results that its index expects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use reenact_verify::disk::{self, RecordPath};
use reenact_verify::{Check, CheckId, FormatId, Keys, Options, Report, Trust, rer, verify, verify_or_err};
use serde_json::Value;

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/rer")
}

fn index() -> Value {
    serde_json::from_str(&std::fs::read_to_string(vectors().join("index.json")).unwrap_or_default())
        .unwrap_or_default()
}

fn rows<'a>(index: &'a Value, kind: &str) -> Vec<&'a Value> {
    index["vectors"].as_array().into_iter().flatten().filter(|row| row["kind"] == kind).collect()
}

fn path(row: &Value, member: &str) -> PathBuf {
    vectors().join(row[member].as_str().unwrap_or_default())
}

fn failing(numbers: &Value) -> BTreeSet<u64> {
    numbers.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
}

/// Returns the numbers of the failed checks.
fn failed(checks: &[Check]) -> BTreeSet<u64> {
    (1..).zip(checks).filter(|(_, check)| check.holds != Some(true)).map(|(at, _)| at).collect()
}

/// Compares a report with its row; returns the difference, if any.
fn compare(row: &Value, report: &Report) -> Option<String> {
    let failed = failed(&report.checks);
    let mut accepted = vec![failing(&row["expected_failed"])];
    // Rows of certainty `judgement` are rulings: exactly the expected set must fail.
    if row["certainty"] != "judgement" {
        accepted.extend(row["alternatives"].as_array().into_iter().flatten().map(failing));
    }
    for check in report.failed() {
        let prefix = format!("{check}: ");
        assert!(report.reasons.iter().any(|reason| reason.starts_with(&prefix)), "{}: {check}", row["id"]);
    }
    (!accepted.contains(&failed))
        .then(|| format!("{}: {failed:?}, expected {accepted:?}; {:#?}", row["id"], report.reasons))
}

#[test]
fn every_artifact_gives_the_expected_matrix() {
    let index = index();
    let names: Vec<&str> = rer::CHECKS.into_iter().map(CheckId::name).collect();
    assert_eq!(serde_json::json!(names), index["artifact_checks"]);
    let rows = rows(&index, "artifact");
    assert_eq!(rows.len(), 119, "all rows are there");
    let mut wrong = Vec::new();
    for row in rows {
        let bytes = std::fs::read(path(row, "file")).unwrap();
        let keys = Keys::from_raw(&std::fs::read(path(row, "key")).unwrap());
        let options = Options { format: Some(FormatId::Rer), ..Options::default() };
        let report = verify(&bytes, &keys, &options);
        wrong.extend(compare(row, &report));
        assert_eq!(verify_or_err(&bytes, &keys, &options).is_ok(), report.pass(), "{}", row["id"]);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_bundle_gives_the_expected_matrix() {
    let index = index();
    let names: Vec<&str> = rer::bundle::CHECKS.into_iter().map(CheckId::name).collect();
    assert_eq!(serde_json::json!(names), index["bundle_checks"]);
    let rows = rows(&index, "bundle");
    assert_eq!(rows.len(), 31, "all rows are there");
    let mut wrong = Vec::new();
    for row in rows {
        let content = disk::open(&RecordPath::Bundle(path(row, "file"))).unwrap();
        let report = content.verify(&Keys::default(), &Options::default());
        wrong.extend(compare(row, &report));
        for check in report.artifact_checks() {
            let expected = row["expected_artifact_checks"][check.id.name()].as_bool();
            assert_eq!(check.holds, expected, "{}: {} {:#?}", row["id"], check.id, report.reasons);
        }
        // A bundle's own key proves nothing about its maker, and an invalid key nothing at all.
        let key_is_bad = row["expected_artifact_checks"]["envelope_signature"] == false;
        let trust = report.signer.map(|signer| signer.trust);
        assert_eq!(
            trust,
            Some(if key_is_bad { Trust::Unknown } else { Trust::SelfAsserted }),
            "{}",
            row["id"]
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
