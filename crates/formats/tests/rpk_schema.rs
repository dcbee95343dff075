//! The published schema of `.rpk` and the structural check in code agree on every document.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::collections::BTreeSet;
use std::path::Path;

use reenact_formats::rpk::hash_walk::compute_digests;
use reenact_formats::rpk::{AGENT_COMMAND, RpkHead, STEP_TYPES, structure, version};
use reenact_json::Limits;
use serde_json::{Value as Json, json};

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn schema() -> jsonschema::Validator {
    let text = std::fs::read(folder("schemas/rpk-1.0.schema.json")).unwrap();
    jsonschema::options().offline().build(&serde_json::from_slice(&text).unwrap()).unwrap()
}

/// Returns the faults that the code finds in a document, as JSON paths.
fn faults(document: &Json) -> BTreeSet<String> {
    let text = serde_json::to_vec(document).unwrap();
    let Ok(head) = RpkHead::read(&text, &Limits::default()) else { return BTreeSet::from(["$".into()]) };
    let mut found = BTreeSet::new();
    if version::check(head.version).is_err() {
        found.insert("$.version".into());
    }
    let mut note = |fault: structure::RpkStructureFault| {
        found.insert(fault.path.to_string());
    };
    structure::check_head(&head, &mut note);
    compute_digests(&head, None, |index, item, _| structure::check_step(index, &item, &mut note));
    found
}

/// Returns the errors that the schema finds, as JSON paths; a missing member by its own path.
fn errors(schema: &jsonschema::Validator, document: &Json) -> BTreeSet<String> {
    let path = |pointer: &str| {
        pointer.split('/').skip(1).fold("$".to_owned(), |path, part| match part.parse::<usize>() {
            Ok(index) => format!("{path}[{index}]"),
            Err(_) => format!("{path}.{part}"),
        })
    };
    schema
        .iter_errors(document)
        .map(|error| {
            let place = path(error.instance_path().as_str());
            match error.kind() {
                jsonschema::error::ValidationErrorKind::Required { property } => {
                    format!("{place}.{}", property.as_str().unwrap())
                }
                _ => place,
            }
        })
        .collect()
}

fn full_document() -> Json {
    let mut document: Json =
        serde_json::from_slice(&std::fs::read(folder("examples/runs/invoice.bundle")).unwrap()).unwrap();
    let run = &mut document["payload"]["run"];
    for (name, value) in [
        ("source", json!("x")),
        ("provider", json!("x")),
        ("agent", json!("x")),
        ("capture_mode", json!("x")),
        ("listener_session_id", json!("x")),
        ("listener_process", json!({"pid": 1})),
        ("listener_bind", json!({})),
    ] {
        run[name] = value;
    }
    document
}

/// Collects pointers to every value down to the members of steps.
fn collect_pointers(value: &Json, at: &str, depth: usize, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Json::Object(members) if depth < 6 => {
            members
                .iter()
                .for_each(|(name, value)| collect_pointers(value, &format!("{at}/{name}"), depth + 1, found));
        }
        Json::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| collect_pointers(item, &format!("{at}/{index}"), depth + 1, found)),
        _ => {}
    }
}

#[test]
fn every_edit() {
    let schema = schema();
    let base = full_document();
    assert_eq!((faults(&base), errors(&schema, &base)), Default::default());
    let hash = format!("sha256:{}", "0".repeat(64));
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(1.5),
        json!(""),
        json!("x"),
        json!([]),
        json!({}),
        json!([{}, "x", null]),
        json!({"run": {}}),
        json!({"run": []}),
        json!(hash),
        json!(hash.to_uppercase()),
        json!(format!("{hash}\n")),
        json!(format!("hmac-{hash}")),
        json!(&hash[..70]),
        json!("1.0"),
        json!("1.99"),
        json!("001.00"),
        json!("1.0\n"),
        json!("2.0"),
        json!("\u{661}.0"),
        json!("output.final"),
        json!("output.final "),
    ];
    let mut all = Vec::new();
    collect_pointers(&base, "", 0, &mut all);
    let (mut documents, mut sound) = (0, 0);
    let mut check = |document: &Json, what: &str| {
        let (by_code, by_schema) = (faults(document), errors(&schema, document));
        assert_eq!(by_code, by_schema, "{what}");
        documents += 1;
        sound += usize::from(by_code.is_empty());
    };
    for at in &all {
        for value in &values {
            let mut document = base.clone();
            *document.pointer_mut(at).unwrap() = value.clone();
            check(&document, &format!("{at} = {value}"));
        }
        if let Some((parent, name)) = at.rsplit_once('/') {
            let mut document = base.clone();
            if let Some(members) = document.pointer_mut(parent).unwrap().as_object_mut() {
                members.remove(name);
                check(&document, &format!("{at} removed"));
            }
        }
    }
    println!("{documents} documents, {sound} of them sound");
    assert!(documents > 3_000 && sound * 20 > documents, "{documents} documents, {sound} of them sound");
}

#[test]
fn the_eighth_type_is_the_only_difference() {
    let schema = schema();
    for name in STEP_TYPES.iter().chain([&AGENT_COMMAND]) {
        let mut document = full_document();
        document["payload"]["run"]["steps"][0]["type"] = json!(name);
        assert_eq!(faults(&document), BTreeSet::new(), "{name}");
        let expected = (*name == AGENT_COMMAND).then(|| "$.payload.run.steps[0].type".to_owned());
        assert_eq!(errors(&schema, &document), expected.into_iter().collect(), "{name}");
    }
}

#[test]
fn the_examples() {
    let schema = schema();
    for name in ["minimal.rpk", "invoice.rpk", "invoice.bundle"] {
        let document =
            serde_json::from_slice(&std::fs::read(folder("examples/runs").join(name)).unwrap()).unwrap();
        assert_eq!(errors(&schema, &document), BTreeSet::new(), "{name}");
    }
}
