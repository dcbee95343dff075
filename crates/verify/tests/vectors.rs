//! Every published RER vector gives the matrix that its index expects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use reenact_verify::{Format, Keys, Options, rer, safe, strict};
use serde_json::Value;

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/rer")
}

/// Judgement rows for which DESIGN has ruled: the expected set, and no alternative.
fn is_ruled(row: &Value) -> bool {
    row["certainty"] == "judgement"
}

fn failing(numbers: &Value) -> BTreeSet<u64> {
    numbers.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
}

#[test]
fn every_artifact_gives_the_expected_matrix() {
    let index: Value = serde_json::from_slice(&std::fs::read(vectors().join("index.json")).unwrap()).unwrap();
    let names: Vec<&str> = rer::CHECKS.iter().map(|(name, _)| *name).collect();
    assert_eq!(serde_json::json!(names), index["artifact_checks"]);
    let rows = index["vectors"].as_array().unwrap();
    assert_eq!(rows.len(), 119, "all rows are there");
    let mut wrong = Vec::new();
    for row in rows {
        let bytes = std::fs::read(vectors().join(row["file"].as_str().unwrap())).unwrap();
        let key = std::fs::read(vectors().join(row["key"].as_str().unwrap())).unwrap();
        let options = Options { format: Some(Format::Rer), ..Options::default() };
        let keys = Keys::from_raw(&key);
        let report = safe(&bytes, &keys, &options);

        let failed: BTreeSet<u64> = (1..)
            .zip(&report.checks)
            .filter(|(_, check)| check.holds != Some(true))
            .map(|(at, _)| at)
            .collect();
        let mut accepted = vec![failing(&row["expected_failed"])];
        if !is_ruled(row) {
            accepted.extend(row["alternatives"].as_array().unwrap().iter().map(failing));
        }
        if !accepted.contains(&failed) {
            wrong.push(format!("{}: {failed:?}, expected {accepted:?}; {:#?}", row["id"], report.reasons));
        }
        for name in report.failed() {
            let prefix = format!("{name}: ");
            assert!(report.reasons.iter().any(|reason| reason.starts_with(&prefix)), "{}: {name}", row["id"]);
        }
        assert_eq!(strict(&bytes, &keys, &options).is_ok(), report.pass(), "{}", row["id"]);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
