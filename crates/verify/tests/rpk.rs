//! The six checks of `.rpk`, with their reasons.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::Path;

use proptest::prelude::*;
use reenact_formats::rpk::hash_walk::compute_digests;
use reenact_formats::rpk::{HmacKey, RpkHead, RpkStepView};
use reenact_json::digest::Hasher;
use reenact_json::shown::is_unsafe;
use reenact_json::{Limits, Value};
use reenact_verify::{CheckId, FormatId, Keys, Options, Report, TargetOutcome, Trust, render, rpk, verify};
use serde_json::{Value as Json, json};

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn example(name: &str) -> Vec<u8> {
    std::fs::read(folder("examples/runs").join(name)).unwrap()
}

fn shared() -> Keys {
    let mut keys = Keys::default();
    keys.set_hmac_key(HmacKey::from_text(&example("shared.key")).unwrap());
    keys
}

fn report_of(bytes: &[u8], keys: &Keys) -> Report {
    let report = verify(bytes, keys, &Options { format: Some(FormatId::Rpk), ..Options::default() });
    let outcome = TargetOutcome::Report(report.clone());
    let (line, text) = (
        outcome.to_json("x"),
        render::outcome_text("x", &outcome, &reenact_verify::Demands::default(), &render::plain),
    );
    assert!(line.len().max(text.len()) < 64 * 1024, "a report of {} and {} bytes", line.len(), text.len());
    assert!(!line.chars().chain(text.lines().flat_map(str::chars)).any(is_unsafe), "{text}");
    assert_eq!(report.pass(), report.reasons.is_empty());
    for check in report.failed() {
        assert!(report.reasons.iter().any(|reason| reason.starts_with(&format!("{check}: "))), "{check}");
    }
    report
}

fn failed(report: &Report) -> Vec<CheckId> {
    report.failed().collect()
}

/// Returns a document with its proper checksum.
fn with_checksum(mut document: Json) -> Vec<u8> {
    let text = serde_json::to_vec(&document).unwrap();
    let head = RpkHead::read(&text, &Limits::default()).unwrap();
    let checksum = compute_digests(&head, None, |_, _, _| {}).checksum.unwrap();
    document["checksum"] = json!(format!("sha256:{checksum}"));
    serde_json::to_vec(&document).unwrap()
}

fn minimal() -> Json {
    serde_json::from_slice(&example("minimal.rpk")).unwrap()
}

const ALL: [CheckId; 6] =
    [rpk::PARSE, rpk::VERSION, rpk::SCHEMA_VALID, rpk::CHECKSUM, rpk::STEP_HASHES, rpk::SIGNATURE];

#[test]
fn every_example() {
    for name in ["minimal.rpk", "invoice.rpk"] {
        let report = verify(&example(name), &Keys::default(), &Options::default());
        assert_eq!(
            (report.format.as_str(), report.pass()),
            ("rpk/1.0", true),
            "{name}: {:?}",
            report.reasons
        );
        assert_eq!(report.check(rpk::SIGNATURE), None, "{name}");
        assert_eq!((report.notes, report.signer), (Vec::<String>::new(), None), "{name}");
    }
    let report = verify(&example("invoice.bundle"), &shared(), &Options::default());
    assert!(report.pass() && report.check(rpk::SIGNATURE) == Some(true), "{:?}", report.reasons);
    assert_eq!(
        report.notes,
        [
            "this is a bundle: values were masked before it was handed on (profile example, policy 1.0+example)",
            "signature.key_id is covered by no signature: it is only a label",
        ]
    );
    let full: Json = serde_json::from_slice(&example("invoice.rpk")).unwrap();
    let types: Vec<&str> = full["payload"]["run"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["type"].as_str().unwrap())
        .collect();
    assert_eq!(types, reenact_formats::rpk::STEP_TYPES);
    let bundle = String::from_utf8(example("invoice.bundle")).unwrap();
    for secret in ["example-0000", "example-1111", "ada@example.com"] {
        assert!(!bundle.contains(secret), "{secret}");
    }
}

#[test]
fn every_published_step() {
    let text = std::fs::read_to_string(folder("vectors/rpk/steps.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 19);
    for line in text.lines() {
        let row = Value::parse(line.as_bytes(), &Limits::default()).unwrap();
        let digest = RpkStepView::of(row.member("step").unwrap()).digest(&mut Hasher::new()).unwrap();
        let name = row.member("name").unwrap().string().unwrap().into_owned();
        assert!(row.member("hash").unwrap().is_string(&format!("sha256:{digest}")), "{name}");
    }
}

#[test]
fn what_cannot_be_read() {
    let good = String::from_utf8(example("minimal.rpk")).unwrap();
    let with = |value: &str| good.replace("\"arch\": \"x86_64\"", &format!("\"arch\": {value}")).into_bytes();
    let nested = |depth: usize| with(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    let utf16: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let cases: [(&str, Vec<u8>, &str); 12] = [
        ("empty", Vec::new(), "line 1, column 1 ($): the text is empty"),
        ("torn", good.as_bytes()[..700].to_vec(), "was due"),
        ("byte order mark", [b"\xef\xbb\xbf", good.as_bytes()].concat(), "begins with a byte order mark"),
        ("UTF-16", utf16, "is not UTF-8 (it looks like UTF-16)"),
        (
            "not UTF-8",
            with("\"\u{0}\"").iter().map(|b| if *b == 0 { 0xFF } else { *b }).collect(),
            "is not UTF-8",
        ),
        ("NaN", with("NaN"), "found `N`, a value was due"),
        ("-Infinity", with("-Infinity"), "is not a JSON number"),
        ("900 deep", nested(900), "nested deeper than the limit of 512 levels"),
        ("100,000 deep", nested(100_000), "nested deeper than the limit of 512 levels"),
        ("twice", with("1, \"\\u0061rch\": 2"), "the member name \"arch\" stands twice in one object"),
        ("half a pair", with("\"\\ud800\""), "lone surrogate: this escape is half a character"),
        ("more behind it", [good.as_bytes(), b"{}"].concat(), "data after the end of the value"),
    ];
    for (what, bytes, why) in cases {
        let report = report_of(&bytes, &shared());
        assert_eq!((report.format.as_str(), failed(&report)), ("rpk/?", ALL.to_vec()), "{what}");
        assert!(
            report.reasons[0].starts_with("parse: not JSON that can be trusted: "),
            "{what}: {:?}",
            report.reasons
        );
        assert!(report.reasons[0].contains(why), "{what}: {:?}", report.reasons);
    }
    for (text, found) in [("null", "null"), ("[]", "an array"), ("1", "a number")] {
        let report = report_of(text.as_bytes(), &Keys::default());
        assert_eq!(report.reasons[0], format!("parse: an artifact is an object, this is {found}"));
    }
}

#[test]
fn every_tear_is_refused() {
    let good = example("invoice.bundle");
    for end in 0..good.len() - 1 {
        assert!(!verify(&good[..end], &shared(), &Options::default()).pass(), "{end}");
    }
}

#[test]
fn versions() {
    for (version, format, reason) in [
        (json!("2.0"), "rpk/2.0", "version: version 2.0 cannot be read here: only 1.x can"),
        (json!("0.9"), "rpk/0.9", "version: version 0.9 cannot be read here: only 1.x can"),
        (json!("1"), "rpk/?", "version: \"1\" is no version: it must be two numbers, such as 1.0"),
        (json!(1.0), "rpk/?", "version: version must be a string, not a number"),
    ] {
        let mut document = minimal();
        document["version"] = version;
        let report = report_of(&with_checksum(document), &Keys::default());
        assert_eq!((report.format.as_str(), report.reasons[0].as_str()), (format, reason));
        assert_eq!(failed(&report), ALL[1..]);
        assert!(report.reasons[1..].iter().all(|reason| reason.contains(": not evaluated: ")));
    }
    let mut document = minimal();
    document.as_object_mut().unwrap().remove("version");
    let report = report_of(&with_checksum(document), &Keys::default());
    assert_eq!(report.reasons[0], "version: version is missing");
    for version in ["1.7", "001.00"] {
        let mut document = minimal();
        document["version"] = json!(version);
        document["payload"]["future"] = json!({"kept": true});
        let report = report_of(&with_checksum(document), &Keys::default());
        assert_eq!((report.format, report.reasons), (format!("rpk/{version}"), Vec::new()));
    }
}

#[test]
fn values_without_a_canonical_form() {
    let good = example("minimal.rpk");
    let good = String::from_utf8(good).unwrap();
    let digits = "7".repeat(5_000);
    let cases = [
        (
            "\"boundary\": \"output\"",
            "\"boundary\": 1e999",
            vec![rpk::CHECKSUM, rpk::STEP_HASHES],
            "too large for",
        ),
        (
            "\"arch\": \"x86_64\"",
            "\"arch\": -1e999",
            vec![rpk::CHECKSUM],
            "$.payload.run.environment_fingerprint.arch",
        ),
        (
            "\"arch\": \"x86_64\"",
            &format!("\"arch\": {digits}"),
            vec![rpk::CHECKSUM],
            "an integer of 5000 digits",
        ),
        (
            "\"created_at\": \"2026",
            "\"created_at\": \"0001-01-01T00:00:00+05:00 2026",
            vec![rpk::CHECKSUM],
            "recomputed sha256:",
        ),
        (
            "2026-11-14T08:30:00.000000Z\",\n    \"run_id\"",
            "0001-01-01T00:00:00+05:00\",\n    \"run_id\"",
            vec![rpk::CHECKSUM],
            "lies outside the years 1 to 9999",
        ),
    ];
    for (old, new, checks, why) in cases {
        let text = good.replacen(old, new, 1);
        assert_ne!(text, good, "{old}");
        let report = report_of(text.as_bytes(), &Keys::default());
        assert_eq!(failed(&report), checks, "{new:.40}: {:?}", report.reasons);
        assert!(report.reasons.iter().any(|reason| reason.contains(why)), "{new:.40}: {:?}", report.reasons);
    }
    // A step's own hash does not cover its timestamp and still holds.
    let text = good.replacen("\"timestamp\": null", "\"timestamp\": 1e999", 1);
    assert_eq!(failed(&report_of(text.as_bytes(), &Keys::default())), [rpk::CHECKSUM]);
}

#[test]
fn hashes() {
    let mut document = minimal();
    document["payload"]["run"]["steps"][0]["output"]["text"] = json!("9,240.00 EUR");
    let report = report_of(&with_checksum(document.clone()), &Keys::default());
    assert_eq!(failed(&report), [rpk::STEP_HASHES]);
    let carried = document["payload"]["run"]["steps"][0]["hash"].as_str().unwrap();
    assert!(
        report.reasons[0].starts_with(&format!("step_hashes: step 0: hash is {carried}, recomputed sha256:"))
    );
    let report = report_of(&serde_json::to_vec(&document).unwrap(), &Keys::default());
    assert_eq!(failed(&report), [rpk::CHECKSUM, rpk::STEP_HASHES]);
    let mut document = minimal();
    document["payload"]["run"]["steps"] = json!([null, 7, {}]);
    let report = report_of(&with_checksum(document), &Keys::default());
    assert_eq!(failed(&report), [rpk::SCHEMA_VALID, rpk::STEP_HASHES]);
    assert_eq!(
        report.reasons[..2],
        [
            "schema_valid: $.payload.run.steps[0]: must be an object, not null",
            "schema_valid: $.payload.run.steps[1]: must be an object, not a number"
        ]
    );
    let mut document = minimal();
    document["payload"]["run"].as_object_mut().unwrap().remove("steps");
    let report = report_of(&with_checksum(document), &Keys::default());
    assert_eq!(failed(&report), [rpk::SCHEMA_VALID, rpk::STEP_HASHES]);
}

#[test]
fn the_text_of_the_specification_is_accepted_and_named() {
    let mut document = minimal();
    let step = &mut document["payload"]["run"]["steps"][0];
    step["input"]["request_id"] = json!("req-1");
    let text = serde_json::to_vec(step).unwrap();
    let view = RpkStepView::of(Value::parse(&text, &Limits::default()).unwrap());
    let by_text = view.digest_by_specification(&mut Hasher::new()).unwrap();
    assert_ne!(view.digest(&mut Hasher::new()).unwrap(), by_text);
    step["hash"] = json!(format!("sha256:{by_text}"));
    let report = report_of(&with_checksum(document), &Keys::default());
    assert_eq!(report.reasons, Vec::<String>::new());
    let note =
        "step 0: hash fits the text of the specification (volatile members dropped from metadata alone)";
    assert!(report.notes.contains(&note.to_owned()), "{:?}", report.notes);
}

#[test]
fn notes() {
    let mut document = minimal();
    document["metadata"]["run_id"] = json!("another");
    document["x\u{1b}"] = json!(1);
    document["payload"]["run"]["environment_fingerprint"]["path"] = json!("a//b");
    let mut command = document["payload"]["run"]["steps"][0].clone();
    command["type"] = json!("agent.command");
    let text = serde_json::to_vec(&command).unwrap();
    let view = RpkStepView::of(Value::parse(&text, &Limits::default()).unwrap());
    command["hash"] = json!(format!("sha256:{}", view.digest(&mut Hasher::new()).unwrap()));
    document["payload"]["run"]["steps"].as_array_mut().unwrap().push(command);
    let report = report_of(&with_checksum(document), &Keys::default());
    assert_eq!(report.reasons, Vec::<String>::new());
    assert_eq!(
        report.notes,
        [
            "metadata.run_id is another, but the run's own id is run-minimal",
            "step 1 bears the same id as step 0",
            "step 1: its type is agent.command, which programs write and the specification does not list",
            "the member \"x\\u{1b}\" stands beside what the checksum covers: anyone could have added it",
            "values are not spelled as they are hashed (paths, times, line ends, floats, order): what was checked is what they stand for",
        ]
    );
}

#[test]
fn signatures() {
    let good: Json = serde_json::from_slice(&example("invoice.bundle")).unwrap();
    let judged = |edit: &dyn Fn(&mut Json), keys: &Keys| {
        let mut document = good.clone();
        edit(&mut document);
        report_of(&serde_json::to_vec(&document).unwrap(), keys)
    };
    let mut other = Keys::default();
    other.set_hmac_key(HmacKey::from_text(b"another key").unwrap());
    let trust = |report: &Report| report.signer.as_ref().map(|signer| signer.trust);
    let reason = |report: &Report| report.reasons.first().cloned().unwrap_or_default();
    let report = judged(&|_| {}, &shared());
    assert_eq!((failed(&report), trust(&report)), (vec![], Some(Trust::Supplied)));
    let report = judged(&|_| {}, &other);
    assert_eq!((failed(&report), trust(&report)), (vec![rpk::SIGNATURE], Some(Trust::Unknown)));
    assert_eq!(reason(&report), "signature: it is not one of the given key over this document");
    let report = judged(&|_| {}, &Keys::default());
    assert_eq!(
        reason(&report),
        "signature: no key to check it with: give the shared key \"example\" with --hmac-key-file"
    );
    let report = judged(&|document| document["signature"]["algorithm"] = json!("none"), &shared());
    assert_eq!(reason(&report), "signature: the algorithm is none; only hmac-sha256 can be checked");
    let report = judged(&|document| document["signature"] = json!("x"), &shared());
    assert_eq!(failed(&report), [rpk::SCHEMA_VALID, rpk::SIGNATURE]);
    let report = judged(&|document| document["signature"]["key_id"] = json!("\u{202e}other"), &shared());
    assert_eq!((failed(&report), trust(&report)), (vec![], Some(Trust::Supplied)));
    let report = judged(&|document| drop(document.as_object_mut().unwrap().remove("signature")), &shared());
    assert_eq!((failed(&report), report.check(rpk::SIGNATURE), trust(&report)), (vec![], None, None));
    assert_eq!(report.notes[0], "a shared key was given, but the document is not signed");
    // Edited and with a new checksum, the checksum holds and the signature does not.
    let mut document = good.clone();
    document["metadata"]["owner"] = json!("mallory");
    assert_eq!(failed(&report_of(&with_checksum(document), &shared())), [rpk::SIGNATURE]);
}

#[test]
fn a_flipped_bit_is_noticed() {
    for name in ["minimal.rpk", "invoice.bundle"] {
        let good = example(name);
        let text = String::from_utf8(good.clone()).unwrap();
        let key_id = text.find("\"key_id\": \"").map(|at| at + "\"key_id\": \"".len());
        let mut passed = 0;
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bytes = good.clone();
                bytes[at] ^= 1 << bit;
                let report = verify(&bytes, &shared(), &Options::default());
                if !report.pass() {
                    continue;
                }
                passed += 1;
                let is_label = key_id.is_some_and(|start| (start..start + "example".len()).contains(&at));
                let is_told = report.notes.iter().any(|note| {
                    note.starts_with("values are not spelled") || note.ends_with("anyone could have added it")
                });
                assert!(is_label || is_told, "{name}: bit {bit} of byte {at}: {:?}", report.notes);
            }
        }
        println!("{name}: {passed} flips pass, each with a note");
    }
}

#[test]
fn many_faults_make_a_short_report() {
    let mut document = minimal();
    let bad = json!({"id": "\u{202e}".repeat(9_000), "type": "\u{1b}[2J", "hash": "h".repeat(9_000)});
    document["payload"]["run"]["steps"] = json!(vec![bad; 500]);
    document["metadata"]["run_id"] = json!("\u{9b}".repeat(60_000));
    document["signature"] =
        json!({"algorithm": "\u{0}".repeat(60_000), "key_id": "\u{7}".repeat(60_000), "value": ""});
    let report = report_of(&with_checksum(document), &Keys::default());
    assert_eq!(failed(&report), [rpk::SCHEMA_VALID, rpk::STEP_HASHES, rpk::SIGNATURE]);
    assert!(report.reasons.len() < 60, "{}", report.reasons.len());
}

/// Finding the position of a fault takes a pass over all text before it. One pass for each fault would
/// never end.
#[test]
fn faults_without_number_cost_no_more_than_others() {
    let many = |element: &str, count: usize| vec![element; count].join(",");
    let good = String::from_utf8(example("minimal.rpk")).unwrap();
    let steps =
        many(r#"{"id":"s","input":1e999,"output":0,"metadata":{},"type":"output.final","hash":""}"#, 100_000);
    let text = good.replacen("\"steps\": [", &format!("\"steps\": [{steps},1e999,"), 1);
    let report = report_of(text.as_bytes(), &shared());
    assert_eq!(failed(&report), [rpk::SCHEMA_VALID, rpk::CHECKSUM, rpk::STEP_HASHES]);
    assert_eq!(
        report.reasons.iter().find(|reason| reason.starts_with("checksum: ")).unwrap(),
        "checksum: it cannot be recomputed: the number 1e999 at $.payload.run.steps[0].input is too large for an IEEE 754 double"
    );
    let names: Vec<String> = (0..100_000).map(|name| format!("\"{name}\":1e999")).collect();
    let text = good.replacen("\"run\": {", &format!("{},\"run\": {{", names.join(",")), 1);
    assert_eq!(failed(&report_of(text.as_bytes(), &shared())), [rpk::CHECKSUM]);
}

#[test]
fn an_object_of_100_001_members() {
    let good = String::from_utf8(example("minimal.rpk")).unwrap();
    let with = |names: &str| {
        let text = good.replacen("\"arch\": ", &format!("{names}\"arch\": "), 1);
        let document: Json = serde_json::from_str(&text).unwrap();
        text.replacen(
            document["checksum"].as_str().unwrap(),
            serde_json::from_slice::<Json>(&with_checksum(document.clone())).unwrap()["checksum"]
                .as_str()
                .unwrap(),
            1,
        )
    };
    let names: String = (0..100_001).rev().map(|name| format!("\"name-{name}\": {name}, ")).collect();
    let report = report_of(with(&names).as_bytes(), &Keys::default());
    assert_eq!(report.reasons, Vec::<String>::new());
    let report = report_of(with(&format!("\"name-\\u0037\": 0, {names}")).as_bytes(), &Keys::default());
    assert_eq!(failed(&report), ALL);
    assert!(
        report.reasons[0].contains("the member name \"name-7\" stands twice in one object"),
        "{:?}",
        report.reasons
    );
}

#[test]
fn more_than_the_limit() {
    let good = example("minimal.rpk");
    let limits = Limits { max_bytes: good.len() - 1, ..Limits::default() };
    let report = verify(
        &good,
        &Keys::default(),
        &Options { format: Some(FormatId::Rpk), limits, ..Options::default() },
    );
    assert_eq!(failed(&report), ALL);
    let size = good.len();
    assert!(
        report.reasons[0]
            .contains(&format!("the text has {size} bytes, more than the limit of {}", size - 1)),
        "{:?}",
        report.reasons
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_text_is_answered(bytes in any::<Vec<u8>>(), cut in 0..900_usize, noise in "[\\[\\]{}:,\"a0.e\\\\-]{1,6}") {
        let _ = report_of(&bytes, &shared());
        let good = example("minimal.rpk");
        let spoilt = [&good[..cut], noise.as_bytes(), &good[cut..]].concat();
        let _ = report_of(&spoilt, &shared());
    }
}
