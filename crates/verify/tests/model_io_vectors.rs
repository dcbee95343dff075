//! Every published Model IO vector gives the violations, in order, and the hash that its index expects.
//!
//! The expected answers are those of the reference implementation, which reads more than this project:
//! duplicate names, lone surrogates, any depth. Those rows are refused here, by name.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use reenact_formats::Profile;
use reenact_formats::model_io::{content_hash, core_hash};
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Limits, Value, canonical};
use reenact_verify::model_io::{MI1, PARSE, SCHEMA};
use reenact_verify::{CheckId, FormatId, Keys, Options, Report, verify};
use serde_json::{Value as Json, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/model_io")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

fn rows() -> Vec<(String, Json, Vec<u8>)> {
    let index: Json = serde_json::from_str(&read("index.json")).unwrap();
    let rows = index["files"].as_array().unwrap().iter().map(|row| {
        let name = row["file"].as_str().unwrap().to_owned();
        let bytes = std::fs::read(folder().join("files").join(&name)).unwrap();
        (name, row.clone(), bytes)
    });
    rows.collect()
}

fn report_of(bytes: &[u8]) -> Report {
    verify(bytes, &Keys::default(), &Options { format: Some(FormatId::ModelIo), ..Options::default() })
}

fn violations(report: &Report) -> Json {
    let list = report.violations().into_iter().flatten().map(|violation| {
        json!({"rule_id": violation.rule_id, "path": violation.path, "message": violation.message})
    });
    list.collect()
}

fn hash(report: &Report) -> Option<&str> {
    report.digests.iter().find(|(name, _)| *name == "model_io_hash").map(|(_, hash)| hash.as_str())
}

/// Returns true if the only violation is that the text is not JSON, for this reason.
fn is_refused(report: &Report, why: &str) -> bool {
    let [only] = report.violations().unwrap_or_default() else { return false };
    (only.rule_id, only.path.as_str()) == ("PARSE", "$")
        && only.message.starts_with("Invalid JSON: ")
        && only.message.contains(why)
        && report.checks.iter().all(|check| check.holds == Some(false))
}

#[test]
fn each_file_gives_the_expected_violations_and_hash() {
    let rows = rows();
    assert_eq!(rows.len(), 94, "all rows are there");
    let mut kinds = [0; 4];
    for (name, row, bytes) in &rows {
        let report = report_of(bytes);
        let why = match row["refused"].as_str() {
            Some("lone surrogate") => Some("lone surrogate"),
            Some("duplicate name") => Some("stands twice in one object"),
            Some("depth") => Some("nested deeper"),
            _ => (row["reference"] == "parse error").then_some(""),
        };
        let kind = match (why, row["reference"].as_str().unwrap()) {
            (Some(why), _) => {
                assert!(is_refused(&report, why), "{name}: {:?}", report.violations());
                0
            }
            (None, "throws") => {
                let message = "mode must be one of [record, replay], got [object Object]";
                let expected = json!([{"rule_id": "MI3", "path": "$.mode", "message": message}]);
                assert_eq!(violations(&report), expected, "{name}");
                1
            }
            (None, _) => {
                assert_eq!(violations(&report), row["violations"], "{name}");
                assert_eq!(json!(hash(&report)), row["model_io_hash"], "{name}");
                2 + usize::from(report.pass())
            }
        };
        kinds[kind] += 1;
        assert_eq!(hash(&report).is_some(), report.pass(), "{name}");
        checks_follow(name, &report);
    }
    assert_eq!(kinds, [11, 1, 66, 16], "refused, thrown, invalid, valid");
}

/// Asserts that a check holds if and only if it was reached and no violation names it.
fn checks_follow(name: &str, report: &Report) {
    let list = report.violations().unwrap_or_default();
    let breaks = |rule: CheckId| list.iter().any(|violation| rule == violation.rule_id);
    let is_object = !list.iter().any(|violation| violation.path == "$");
    for check in &report.checks {
        let reached = match check.id {
            MI1 => is_object,
            SCHEMA => !breaks(PARSE),
            _ => !breaks(PARSE) && !breaks(SCHEMA),
        };
        assert_eq!(check.holds, Some(reached && !breaks(check.id)), "{name}: {}", check.id);
        let has_reason = report.reasons.iter().any(|reason| reason.starts_with(&format!("{}: ", check.id)));
        assert_eq!(has_reason, check.holds == Some(false), "{name}: {}", check.id);
    }
    let names: Vec<&str> = report.checks.iter().map(|check| check.id.name()).collect();
    assert_eq!(names.join(" "), "MI1 MI2 MI3 MI4 MI5 MI6 MI7 MI8 MI9 MI10 MI11 MI12 SCHEMA", "{name}");
}

const WITHOUT_A_CORE: [&str; 11] = [
    "invalid_mi1_missing.json: model_io_schema_version is missing",
    "invalid_mi5_string.json: interaction 0: i is a string, not a number",
    "invalid_mi5_null.json: interaction 0: i is null, not a number",
    "invalid_mi5_bool.json: interaction 0: i is true, not a number",
    "invalid_mi5_array.json: interaction 0: i is an array, not a number",
    "invalid_mi6_missing.json: interaction 0: prompt_hash is missing",
    "invalid_mi8_undefined_pairs.json: interaction 0: i is missing",
    "invalid_mi8_type_confusion.json: interaction 1: i is a string, not a number",
    "invalid_element_bool.json: interaction 0: i is missing",
    "invalid_schema_missing_model.json: model_id is missing",
    "invalid_schema_recording_session_format.json: interaction 0: i is missing",
];

/// The hash of an invalid session equals that of the reference, too. If a member is missing or an index
/// is not a number, the reference hashes the rest, and this project hashes nothing.
#[test]
fn each_core_has_the_expected_hash() {
    let mut refused = Vec::new();
    let mut agreed = 0;
    for (name, row, bytes) in rows() {
        match core_hash::hash(&bytes, &Limits::default()) {
            Ok(digest) => {
                assert_eq!(json!(content_hash(&digest)), row["core_hash"], "{name}");
                agreed += 1;
            }
            Err(_) if row["core_hash"].is_null() || row["refused"].is_string() => {}
            Err(fault) => refused.push(format!("{name}: {fault}")),
        }
    }
    assert_eq!(agreed, 65);
    assert_eq!(refused, WITHOUT_A_CORE);
}

#[test]
fn each_canonical_text() {
    // The reference has no limit of depth; this is the project's own.
    let limits = Limits { max_depth: Limits::MAX_DEPTH, ..Limits::default() };
    let mut counts = [0; 3];
    for line in (read("canonical.jsonl") + &read("canonical_fuzz.jsonl")).lines() {
        let row: Json = serde_json::from_str(line).unwrap();
        let (name, input) = (&row["name"], row["input_json"].as_str().unwrap());
        let parsed = Value::parse(input.as_bytes(), &limits);
        let ours = parsed.as_ref().ok().and_then(|value| canonical::to_vec(*value, Profile::ModelIo).ok());
        let kind = match (ours, row["canonical"].as_str()) {
            (Some(ours), Some(theirs)) => {
                assert_eq!(String::from_utf8_lossy(&ours), theirs, "{name}");
                let value = parsed.unwrap();
                let digest = canonical::digest(value, Profile::ModelIo, &mut Hasher::new());
                assert_eq!(digest.unwrap().to_string(), row["sha256"].as_str().unwrap(), "{name}");
                assert_eq!(Digest::of(&ours).to_string(), row["sha256"].as_str().unwrap(), "{name}");
                0
            }
            (None, None) => 1,
            (None, Some(_)) => {
                let why = parsed.unwrap_err().fault.to_string();
                assert!(why.contains("lone surrogate") || why.contains("stands twice"), "{name}: {why}");
                2
            }
            (Some(ours), None) => panic!("{name}: {}", String::from_utf8_lossy(&ours)),
        };
        counts[kind] += 1;
    }
    assert_eq!(counts, [361, 29, 115], "alike, refused by both, refused by us alone");
}
