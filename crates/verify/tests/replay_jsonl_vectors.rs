//! Every published vector of REPLAY.jsonl gives the codes that its index expects.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use reenact_formats::recognise;
use reenact_verify::replay_jsonl::{CHECKS, RECEIPT, ReplayJsonlOptions, verify_bytes};
use reenact_verify::{CheckId, FormatId, Keys, Options, Report, verify};
use serde_json::{Value, json};

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/replay_jsonl")
}

fn rows() -> Vec<Value> {
    let index = std::fs::read_to_string(vectors().join("index.json")).unwrap();
    let index: Value = serde_json::from_str(&index).unwrap();
    index["vectors"].as_array().unwrap().clone()
}

fn read(row: &Value, member: &str) -> Option<Vec<u8>> {
    let name = row[member].as_str()?;
    Some(std::fs::read(vectors().join(row["dir"].as_str().unwrap()).join(name)).unwrap())
}

fn report_of(row: &Value) -> Report {
    let receipt = read(row, "receipt");
    let beside = ReplayJsonlOptions { receipt: receipt.as_deref(), digest: false };
    verify_bytes(&read(row, "replay").unwrap(), &beside, &Options::default())
}

#[test]
fn every_row_gives_the_expected_codes() {
    let rows = rows();
    assert_eq!(rows.len(), 38, "all rows are there");
    let mut wrong = Vec::new();
    for row in &rows {
        let report = report_of(row);
        let found = json!([report.pass(), report.codes(), report.warnings()]);
        let expected = json!([row["expected_ok"], row["expected_codes"], row["expected_warnings"]]);
        if found != expected {
            wrong.push(format!("{}: {found}, expected {expected}: {:#?}", row["id"], report.reasons));
        }
        let checks: Vec<CheckId> = report.checks.iter().map(|check| check.id).collect();
        assert_eq!(checks, CHECKS);
        for check in report.failed() {
            let prefix = format!("{check}: ");
            assert!(
                report.reasons.iter().any(|reason| reason.starts_with(&prefix)),
                "{}: {check}",
                row["id"]
            );
        }
        assert_eq!(report.check(RECEIPT).is_none(), row["receipt"].is_null(), "{}", row["id"]);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_row_is_told_by_its_content() {
    for row in rows() {
        let replay = read(&row, "replay").unwrap();
        assert_eq!(
            recognise(&replay, &Options::default().limits),
            Ok(FormatId::ReplayJsonl),
            "{}",
            row["id"]
        );
        let report = verify(&replay, &Keys::default(), &Options::default());
        let codes = row["expected_codes"].as_array().unwrap().iter();
        let own: Vec<&Value> = codes.filter(|code| code.as_str().unwrap().starts_with("E_")).collect();
        assert_eq!(json!(report.codes()), json!(own), "{}: the file alone", row["id"]);
    }
}
