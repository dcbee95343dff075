//! The published schema of Model IO and the verifier agree on every document, as far as a schema can
//! tell.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use reenact_verify::{FormatId, Keys, Options, Report, verify};
use serde_json::{Value as Json, json};

fn schema() -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/model-io-1.0.0.schema.json");
    let schema = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    jsonschema::options().offline().build(&schema).unwrap()
}

fn report_of(document: &Json) -> Report {
    let options = Options { format: Some(FormatId::ModelIo), ..Options::default() };
    verify(&serde_json::to_vec(document).unwrap(), &Keys::default(), &options)
}

/// Returns the violations that a schema could find. A schema knows neither the position of an
/// interaction, nor hashes, nor the bytes of UTF-8.
fn expressible(report: &Report) -> Vec<String> {
    let list = report.violations().into_iter().flatten().filter(|violation| match violation.rule_id {
        "MI5" => {
            let (_, found) = violation.message.rsplit_once(", got ").unwrap();
            found.parse::<u64>().map_or(true, |index| index > 9_007_199_254_740_991)
        }
        "MI7" => !violation.message.starts_with("response_hash mismatch"),
        "MI8" | "MI9" | "MI11" => false,
        _ => true,
    });
    list.map(|violation| format!("{} {}", violation.rule_id, violation.path)).collect()
}

fn session() -> Json {
    json!({
        "model_io_schema_version": "1.0.0", "adapter_id": "a", "model_id": "m", "mode": "record",
        "created_at_utc": "2026-01-05T00:00:00Z", "stats": {"total_interactions": 2}, "more": [1],
        "interactions": [
            {"i": 0, "prompt_hash": HASH, "response_hash": EMPTY, "response_content": "", "latency_ms": 7},
            {"i": 1, "prompt_hash": HASH, "response_hash": EMPTY, "response_content": "", "note": {}},
        ],
    })
}

const HASH: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Appends JSON pointers to every value of a document.
fn places(value: &Json, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Json::Object(members) => {
            members.iter().for_each(|(name, inner)| places(inner, &format!("{at}/{name}"), found));
        }
        Json::Array(list) => {
            list.iter().enumerate().for_each(|(n, inner)| places(inner, &format!("{at}/{n}"), found));
        }
        _ => {}
    }
}

fn without(document: &Json, place: &str) -> Json {
    let mut edited = document.clone();
    let (parent, name) = place.rsplit_once('/').unwrap();
    match edited.pointer_mut(parent).unwrap() {
        Json::Object(members) => drop(members.remove(name)),
        Json::Array(list) => drop(list.remove(name.parse().unwrap())),
        _ => {}
    }
    edited
}

fn foreign_values() -> Vec<Json> {
    let mut all = vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(1.0),
        json!(1.5),
        json!(1e300),
        json!(9_007_199_254_740_992_u64),
        json!([]),
        json!({}),
        json!([null]),
        json!([{}]),
    ];
    let texts = [
        "", " ", "x", "record", "replay", "Record", "record\n", "1.0.0", "01.2.3", "1.0.0\n", "1.0",
        "1.0.0.0", "1..0", "1.0.0-rc", "٣.0.0", HASH, "sha256:", "é",
    ];
    all.extend(texts.map(Json::from));
    all.extend(
        [HASH.to_uppercase(), format!("{HASH}\n"), format!("{HASH}0"), HASH[1..].to_owned()].map(Json::from),
    );
    all
}

#[test]
fn each_edit_is_judged_alike() {
    let (schema, session) = (schema(), session());
    assert!(schema.is_valid(&session) && report_of(&session).pass());
    let mut all = Vec::new();
    places(&session, "", &mut all);
    let mut documents: Vec<(String, Json)> = Vec::new();
    for place in &all {
        if !place.is_empty() {
            documents.push((format!("without {place}"), without(&session, place)));
        }
        for stranger in foreign_values() {
            let mut edited = session.clone();
            *edited.pointer_mut(place).unwrap() = stranger.clone();
            documents.push((format!("{place} = {stranger}"), edited));
        }
    }
    let mut refused = 0;
    for (what, document) in &documents {
        let found = expressible(&report_of(document));
        assert_eq!(schema.is_valid(document), found.is_empty(), "{what}: {found:?}");
        refused += usize::from(!found.is_empty());
    }
    assert!(documents.len() > 800 && refused > 400, "{refused} of {}", documents.len());
}

#[test]
fn as_many_interactions_as_allowed() {
    let schema = schema();
    for (count, expected) in [(0, true), (10_000, true), (10_001, false)] {
        let one =
            |i: usize| json!({"i": i, "prompt_hash": HASH, "response_hash": EMPTY, "response_content": ""});
        let mut document = session();
        document["interactions"] = (0..count).map(one).collect();
        assert_eq!(schema.is_valid(&document), expected, "{count}");
        assert_eq!(expressible(&report_of(&document)).is_empty(), expected, "{count}");
    }
}

#[test]
fn published_vectors() {
    let schema = schema();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/model_io/files");
    let mut compared = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        // Documents that serde_json refuses cannot be compared.
        let Ok(document) = serde_json::from_slice::<Json>(&bytes) else { continue };
        let options = Options { format: Some(FormatId::ModelIo), ..Options::default() };
        let report = verify(&bytes, &Keys::default(), &options);
        if report.violations().into_iter().flatten().any(|violation| violation.rule_id == "PARSE") {
            continue;
        }
        let found = expressible(&report);
        assert_eq!(schema.is_valid(&document), found.is_empty(), "{}: {found:?}", path.display());
        compared += 1;
    }
    assert_eq!(compared, 81);
}
