//! The published schemas are valid, and agree with the structural check in code.
//!
//! The `jsonschema` crate judges each document by the schemas, `structure` by its own rules; a document on which they
//! differ is a bug in one of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

#[path = "schemas/mutation.rs"]
mod mutation;
#[path = "schemas/oracle.rs"]
mod oracle;

use std::collections::BTreeSet;

use mutation::{NAMES, TestRng};
use oracle::{Schemas, errors, faults, files, folder, is_within, pointer};
use reenact_formats::rer::RerStructureFault;
use reenact_formats::rer::artifact::RerReadError;
use serde_json::{Value, json};

/// Returns the rows of the vectors' index, each with its artifact if serde_json reads it.
fn vectors() -> Vec<(Value, Option<Value>)> {
    let read = |name: &str| std::fs::read(folder("vectors/rer").join(name)).unwrap();
    let index: Value = serde_json::from_slice(&read("index.json")).unwrap();
    let rows = index["vectors"].as_array().unwrap().iter().filter(|row| row["kind"] == "artifact");
    rows.map(|row| (row.clone(), serde_json::from_slice(&read(row["file"].as_str().unwrap())).ok())).collect()
}

/// Judges a document both ways and asserts that the verdicts agree. Returns the faults, if the code could read it.
fn agreed_faults(schemas: &Schemas, document: &Value) -> Result<Vec<RerStructureFault>, RerReadError> {
    let found = faults(&serde_json::to_vec(document).unwrap());
    if is_sound(&found) != schemas.accept(document) {
        let errors = schemas.of_artifact(document).map(|schema| errors(schema, document));
        panic!("the code says {found:?}, the schema {errors:?} of {document:#}");
    }
    found
}

fn is_sound(found: &Result<Vec<RerStructureFault>, RerReadError>) -> bool {
    matches!(found, Ok(faults) if faults.is_empty())
}

/// Asserts that both judges also point at the same paths after one edit of a sound document. Returns true if it is
/// still sound.
fn check_single_edit(schemas: &Schemas, document: &Value, edited: &str) -> bool {
    let found = agreed_faults(schemas, document);
    let (Some(schema), Ok(faults)) = (schemas.of_artifact(document), &found) else { return false };
    let (places, errors): (BTreeSet<_>, _) = (faults.iter().map(pointer).collect(), errors(schema, document));
    // A sub-record of another version is checked against that version in code, and against the artifact's by the
    // schema.
    let is_version = edited.ends_with("_version");
    let top = |at: &str| at.split('/').take(2).collect::<Vec<_>>().join("/");
    let names = |places: &BTreeSet<String>, at: &str| {
        places.iter().any(|place| if is_version { top(place) == top(at) } else { is_within(at, place) })
    };
    for place in &places {
        let is_named =
            errors.iter().any(|error| is_within(error, place)) || is_version && names(&errors, place);
        assert!(is_named, "after {edited}: the code names {place}, the schema {errors:?}");
    }
    for error in &errors {
        assert!(names(&places, error), "after {edited}: the schema names {error}, the code {places:?}");
    }
    is_sound(&found)
}

#[test]
fn each_single_edit() {
    let schemas = Schemas::load();
    let mut rng = TestRng(1);
    let (mut documents, mut sound) = (0, 0);
    for version in ["0.1", "0.2"] {
        let base = mutation::full_artifact(version);
        assert_eq!(agreed_faults(&schemas, &base), Ok(Vec::new()));
        let mut check = |document: &Value, edited: &str| {
            documents += 1;
            sound += usize::from(check_single_edit(&schemas, document, edited));
        };
        for at in mutation::pointers(&base) {
            for value in mutation::candidates(&base, &at, &mut rng) {
                let mut document = base.clone();
                *document.pointer_mut(&at).unwrap() = value;
                check(&document, &at);
            }
            let mut document = base.clone();
            if !at.is_empty() {
                mutation::remove(&mut document, &at);
                check(&document, &at);
            }
            for name in NAMES.into_iter().filter(|_| base.pointer(&at).is_some_and(Value::is_object)) {
                let mut document = base.clone();
                let members = document.pointer_mut(&at).unwrap().as_object_mut().unwrap();
                if members.contains_key(name) {
                    continue;
                }
                members.insert(name.to_owned(), Value::Null);
                check(&document, &format!("{at}/{name}"));
            }
        }
    }
    println!("{documents} documents, {sound} of them sound");
    assert!(documents > 5_000 && sound * 20 > documents, "{documents} documents, {sound} of them sound");
}

#[test]
fn many_edits() {
    let schemas = Schemas::load();
    let mut rng = TestRng(2);
    let mut bases: Vec<Value> = vectors().into_iter().filter_map(|(_, artifact)| artifact).collect();
    bases.iter().for_each(|base| drop(agreed_faults(&schemas, base)));
    // Small documents only, or nearly every edit would be one of an event. The end of the log holds the odd parts of
    // some vectors.
    for base in &mut bases {
        if let Some(events) = base.get_mut("events").and_then(Value::as_array_mut) {
            events.drain(..events.len().saturating_sub(2));
        }
    }
    bases.retain(|base| base.to_string().len() < 4_000);
    assert!(bases.len() > 90, "{}", bases.len());
    for _ in 0..bases.len() {
        bases.extend(["0.1", "0.2"].map(mutation::full_artifact));
    }
    // With the single edits more than 20,000; in a debug build a document costs half a millisecond.
    let (documents, mut sound) = (15_000, 0);
    for _ in 0..documents {
        let mut document = rng.pick(&bases).clone();
        for _ in 0..*rng.pick(&[1, 1, 2, 3]) {
            mutation::mutate(&mut document, &mut rng);
        }
        sound += usize::from(is_sound(&agreed_faults(&schemas, &document)));
    }
    println!("{documents} documents, {sound} of them sound");
    assert!(sound * 10 > documents, "{sound} of {documents} are sound");
}

#[test]
fn numbers_however_they_are_spelled() {
    let schemas = Schemas::load();
    let base = serde_json::to_string(&mutation::full_artifact("0.2")).unwrap();
    let spellings = [
        ("4e0", true, true),
        ("40E-1", true, true),
        ("4.000", true, true),
        ("0.4e+1", true, true),
        ("0", true, false),
        ("-0", true, false),
        ("-0.0", true, false),
        ("0e5", true, false),
        ("1", true, true),
        ("0.9", false, false),
        ("9007199254740991", true, true),
        ("9007199254740991.0", true, true),
        ("9.007199254740991e15", true, true),
        ("9007199254740992", false, false),
        ("9.007199254740992e15", false, false),
        ("1e300", false, false),
        ("-1", false, false),
        ("1e-300", false, false),
        ("18446744073709551616", false, false),
    ];
    for (spelling, is_index, is_limit) in spellings {
        for (member, expected) in [("\"max_steps\":4", is_limit), ("\"step_index\":2", is_index)] {
            let (name, _) = member.rsplit_once(':').unwrap();
            let text = base.replace(member, &format!("{name}:{spelling}"));
            assert_ne!(text, base);
            let is_sound = faults(text.as_bytes()).unwrap().is_empty();
            assert_eq!((spelling, name, is_sound), (spelling, name, expected));
            assert_eq!(
                (spelling, name, schemas.accept(&serde_json::from_str(&text).unwrap())),
                (spelling, name, expected)
            );
        }
    }
}

#[test]
fn a_schema_is_for_its_version_alone() {
    let schemas = Schemas::load();
    for (version, other) in [("0.1", "0.2"), ("0.2", "0.1")] {
        let schema = schemas.of(&format!("rer-artifact-{version}.schema.json"));
        assert!(schema.is_valid(&mutation::full_artifact(version)));
        assert!(errors(schema, &mutation::full_artifact(other)).contains("/artifact_version"));
        let mut without = mutation::full_artifact(version);
        mutation::remove(&mut without, "/artifact_version");
        assert_eq!(errors(schema, &without), BTreeSet::from(["/artifact_version".to_owned()]));
        for nothing in [json!([]), json!("rer-artifact"), Value::Null] {
            assert_eq!(errors(schema, &nothing), BTreeSet::from([String::new()]));
        }
        let full = mutation::full_artifact(version);
        assert!(schemas.of(&format!("rer-envelope-{version}.schema.json")).is_valid(&full["envelope"]));
        assert!(schemas.of(&format!("rer-event-{version}.schema.json")).is_valid(&full["events"][1]));
    }
}

/// Vectors that no schema can judge: they fail before there is a value, or by their bytes.
const BEYOND_SCHEMAS: [&str; 11] = [
    "v40_nested_400",
    "t132_truncated",
    "t133_trailing_data",
    "t135_nan_token",
    "t136_comment",
    "t138_utf16",
    "t139_bad_utf8",
    "t144_duplicate_name_last_good",
    "t147_duplicate_name_escaped",
    "t148_lone_surrogate",
    "t151_number_overflow",
];

#[test]
fn vectors_agree() {
    let schemas = Schemas::load();
    let verdict = |artifact: Option<Value>| artifact.map(|artifact| schemas.accept(&artifact));
    let differ: BTreeSet<String> = vectors()
        .into_iter()
        .filter_map(|(row, artifact)| {
            let expected = row["expected_checks"]["schema_valid"].as_bool();
            (verdict(artifact) != expected).then(|| row["id"].as_str().unwrap().to_owned())
        })
        .collect();
    assert_eq!(differ, BEYOND_SCHEMAS.map(str::to_owned).into());
}

#[test]
fn manifests() {
    let schemas = Schemas::load();
    let schema = schemas.of("rer-manifest-0.2.schema.json");
    let hash = "0123456789abcdef".repeat(4);
    let manifest = json!({
        "artifact_hash": hash, "runtime_key_hash": hash, "total_event_count": 2, "redacted_event_count": 0,
        "blobs": [{ "name": "../a", "hash": hash, "size_bytes": 0, "media_type": "text/plain" }], "bundle_hash": hash, "note": "open",
    });
    assert_eq!(errors(schema, &manifest), BTreeSet::new());
    for at in mutation::pointers(&manifest).iter().filter(|at| !at.is_empty()) {
        let mut without = manifest.clone();
        mutation::remove(&mut without, at);
        let is_required = !matches!(at.as_str(), "/note" | "/blobs/0" | "/blobs/0/media_type");
        assert_eq!(
            errors(schema, &without),
            is_required.then(|| at.clone()).into_iter().collect(),
            "without {at}"
        );
    }
    for (at, good, bad) in [
        ("/artifact_hash", json!("a".repeat(64)), json!(format!("{hash}\n"))),
        ("/runtime_key_hash", json!("0".repeat(64)), json!(hash.to_uppercase())),
        ("/bundle_hash", json!("f".repeat(64)), json!(hash[1..])),
        ("/total_event_count", json!(5.0), json!("5")),
        ("/redacted_event_count", json!(9_007_199_254_740_991_u64), json!(9_007_199_254_740_992_u64)),
        ("/blobs", json!([]), json!({})),
        ("/blobs/0/name", json!(""), Value::Null),
        ("/blobs/0/hash", json!("b".repeat(64)), json!("g".repeat(64))),
        ("/blobs/0/size_bytes", json!(1e3), json!(-1)),
    ] {
        for (value, expected) in [(good, None), (bad, Some(at.to_owned()))] {
            let mut edited = manifest.clone();
            *edited.pointer_mut(at).unwrap() = value;
            assert_eq!(errors(schema, &edited), expected.into_iter().collect(), "{at}");
        }
    }
}

#[test]
fn bundles_agree() {
    let schemas = Schemas::load();
    let mut refused = BTreeSet::new();
    for outcome in ["bundles_valid", "bundles_invalid"] {
        for bundle in std::fs::read_dir(folder("vectors/rer").join(outcome)).unwrap() {
            let bundle = bundle.unwrap().path();
            let read = |name: &str| serde_json::from_slice(&std::fs::read(bundle.join(name)).ok()?).ok();
            if let Some(artifact) = read("artifact.json") {
                drop(agreed_faults(&schemas, &artifact));
            }
            let is_refused =
                |manifest: Value| !schemas.of("rer-manifest-0.2.schema.json").is_valid(&manifest);
            if read("manifest.json").is_some_and(is_refused) {
                refused.insert(bundle.file_name().unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    let expected = ["bt20_key_hash_as_key_id", "bt29_manifest_hash_uppercase", "bt32_blobs_missing"];
    assert_eq!(refused, expected.map(str::to_owned).into());
}

/// Calls `see` with every schema inside a schema, and its path.
fn each_schema<'a>(schema: &'a Value, at: &str, see: &mut dyn FnMut(&str, &'a Value)) {
    see(at, schema);
    for (keyword, inner) in schema.as_object().into_iter().flatten() {
        match keyword.as_str() {
            "properties" | "$defs" => {
                let named = inner.as_object().unwrap().iter();
                named.for_each(|(name, inner)| each_schema(inner, &format!("{at}/{keyword}/{name}"), see));
            }
            "items" | "not" | "if" | "then" | "else" => each_schema(inner, &format!("{at}/{keyword}"), see),
            _ => {}
        }
    }
}

#[test]
fn each_file_is_a_schema_that_says_what_it_means() {
    let files = files();
    for (file, schema) in &files {
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{file}");
        assert_eq!(schema["$id"], *file, "the name of a file is its identifier");
        assert!(jsonschema::draft202012::meta::is_valid(schema), "{file}");
        assert_eq!(schema.to_string().matches("://").count(), 1, "{file}: no address but the dialect's");
        each_schema(schema, "", &mut |at, inner| {
            let place = format!("{file}#{at}");
            let is_rule = at.contains("/not") || at.contains("/if") || at.contains("/then");
            let is_elsewhere = at.ends_with("/items") && inner.get("$ref").is_some();
            if !is_rule && !is_elsewhere {
                assert!(
                    inner["description"].as_str().is_some_and(|text| text.len() > 10),
                    "{place} says nothing"
                );
            }
            if let Some(pattern) = inner["pattern"].as_str().filter(|_| !is_rule) {
                assert!(pattern.starts_with('^') && pattern.ends_with('$'), "{place} is not anchored");
                // Many engines let `$` match before a line end.
                assert!(
                    inner.get("maxLength").or(inner.get("not")).is_some(),
                    "{place} may let a line end by"
                );
            }
            if inner["type"] == "integer" {
                assert_eq!(inner["maximum"], json!(9_007_199_254_740_991_u64), "{place}");
            }
            let is_open = at.ends_with("/metadata")
                || ["rer-manifest", "model-io", "rpk"].iter().any(|open| file.starts_with(open));
            if inner["type"] == "object" && !is_open {
                assert_eq!(inner["additionalProperties"], json!(false), "{place} is open");
            }
            if let Some(reference) =
                inner["$ref"].as_str().filter(|reference| !reference.starts_with("#/$defs/"))
            {
                assert!(files.contains_key(reference), "{place}: {reference}");
            }
        });
    }
}

#[test]
fn the_readme_lists_every_file() {
    let readme = std::fs::read_to_string(folder("schemas").join("README.md")).unwrap();
    let is_separator = |letter: char| letter.is_whitespace() || "`\"'()[]|,/".contains(letter);
    let listed: BTreeSet<&str> = readme
        .split(is_separator)
        .filter(|word| {
            word.ends_with(".schema.json") && word.starts_with(|first: char| first.is_ascii_alphabetic())
        })
        .collect();
    assert_eq!(listed, files().keys().map(String::as_str).collect());
}
