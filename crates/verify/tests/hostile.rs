//! Hostile files: whatever they hold, the verifier answers, its report stays small, and nothing in it
//! acts on a terminal.
#![allow(clippy::unwrap_used)]

mod support;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use reenact_json::Limits;
use reenact_json::shown::is_unsafe;
use reenact_testkit::fixture::TestKey;
use reenact_verify::{Demands, FormatId, Keys, Options, Report, TargetOutcome, render, rer, verify};
use serde_json::{Value as Json, json};
use support::{KeyRing as _, failed, report_of, tricky_artifact};

/// Largest number of lines of a report, since people read it.
const LINES: usize = 150;
const BYTES: usize = 64 * 1024;

fn assert_bounded(report: &Report, what: &str) {
    let outcome = TargetOutcome::Report(report.clone());
    let lines = report.reasons.len() + report.notes.len();
    assert!(lines <= LINES, "{what}: {lines} lines");
    let json = outcome.to_json("x");
    let text = render::outcome_text("x", &outcome, &Demands::default(), &render::plain);
    assert!(json.len() < BYTES, "{what}: {} bytes of JSON", json.len());
    assert!(text.len() < BYTES, "{what}: {} bytes of text", text.len());
    assert!(!json.chars().any(is_unsafe), "{what}: {json}");
    assert!(!text.lines().flat_map(str::chars).any(is_unsafe), "{what}: {text}");
    let own = report.reasons.iter().chain(&report.notes).chain([&report.format, &report.summary]);
    assert!(!own.flat_map(|line| line.chars()).any(is_unsafe), "{what}: {:?}", report);
    assert_eq!(report.pass(), report.reasons.is_empty());
}

/// Verifies bytes in both ways, asserts that the reports are bounded, and returns that of the RER
/// checks.
fn bounded_report(bytes: &[u8], what: &str) -> Report {
    let keys = TestKey::of(1).keys();
    assert_bounded(&verify(bytes, &keys, &Options::default()), what);
    let report = report_of(bytes, &keys);
    assert_bounded(&report, what);
    report
}

/// Returns a valid artifact, to be changed.
fn sound() -> Json {
    serde_json::from_slice(&tricky_artifact(&TestKey::of(1))).unwrap()
}

/// Pointers to every text of an artifact.
const TEXTS: [&str; 22] = [
    "/artifact_version",
    "/run_id",
    "/envelope_hash",
    "/log_head_hash",
    "/manifest_hash",
    "/runtime_signature",
    "/runtime/implementation",
    "/runtime/version",
    "/runtime/key_id",
    "/runtime/algorithm",
    "/envelope/envelope_version",
    "/envelope/signature",
    "/envelope/permissions/allowed_models/0",
    "/events/0/event_version",
    "/events/0/event_type",
    "/events/0/timestamp",
    "/events/0/parent_event_hash",
    "/events/0/payload_hash",
    "/events/0/event_hash",
    "/events/3/parent_event_hash",
    "/events/3/event_hash",
    "/events/0/step_index",
];

const OBJECTS: [&str; 6] =
    ["", "/runtime", "/envelope", "/envelope/permissions", "/envelope/limits", "/events/0"];

/// Characters that act on a terminal or mislead a reader.
const NASTY: [char; 8] =
    ['\0', '\u{1b}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{200b}', '\u{2028}', '\u{10ffff}'];

#[test]
fn texts_of_any_length_everywhere() {
    for (place, character) in TEXTS.iter().zip(NASTY.into_iter().chain(['a', '\\', '"', '😀']).cycle()) {
        let mut artifact = sound();
        *artifact.pointer_mut(place).unwrap() = json!(character.to_string().repeat(60_000));
        let report = bounded_report(artifact.to_string().as_bytes(), place);
        // Any name of a run or a runtime is valid; the others fail check 1, too.
        let free = ["/run_id", "/runtime/implementation", "/runtime/version"];
        let free = free.contains(place) || place.starts_with("/envelope/permissions");
        assert_eq!(report.check(rer::SCHEMA_VALID), Some(free), "{place}");
        assert!(!report.pass(), "{place}");
    }
    for (place, character) in OBJECTS.iter().zip(NASTY) {
        let mut artifact = sound();
        let object = artifact.pointer_mut(place).unwrap().as_object_mut().unwrap();
        object.insert(character.to_string().repeat(60_000), json!(null));
        let report = bounded_report(artifact.to_string().as_bytes(), place);
        assert_eq!(report.check(rer::SCHEMA_VALID), Some(false), "{place}");
    }
}

#[test]
fn ten_megabytes_for_a_key_id_and_a_run_id() {
    let mut artifact = sound();
    artifact["runtime"]["key_id"] = json!("\u{202e}k".repeat(2_500_000));
    artifact["run_id"] = json!("r".repeat(10_000_000));
    let report = bounded_report(artifact.to_string().as_bytes(), "key_id");
    assert_eq!(failed(&report), [rer::SCHEMA_VALID, rer::ENVELOPE_SIGNATURE, rer::RUNTIME_SIGNATURE]);
}

/// Thirty events, each with as many and as long faults as possible.
#[test]
fn every_event_as_wordy_as_can_be() {
    for character in NASTY.into_iter().chain(['a', '\\', '😀']) {
        let long = character.to_string().repeat(250);
        let event = json!({
            "event_version": long, "event_type": long, "timestamp": long, "parent_event_hash": long,
            "payload_hash": long, "event_hash": format!("{long}x"), "step_index": long, "payload_redacted": long,
            long.clone(): long,
        });
        let mut artifact = sound();
        artifact["events"] = Json::Array(vec![event; 30]);
        artifact["log_head_hash"] = json!(long);
        artifact["envelope_hash"] = json!(long);
        artifact["runtime"]["key_id"] = json!(long);
        artifact[&long] = json!(0);
        let report = bounded_report(artifact.to_string().as_bytes(), &character.escape_unicode().to_string());
        assert_eq!(failed(&report), rer::CHECKS);
    }
}

fn with_events(events: &str) -> Vec<u8> {
    let mut artifact = sound();
    artifact["events"] = json!("here");
    artifact.to_string().replace("\"here\"", events).into_bytes()
}

fn many(count: usize, element: &str) -> String {
    format!("[{}]", vec![element; count].join(","))
}

#[test]
fn a_hundred_thousand_things_that_are_no_events() {
    for (element, found) in [("0", "a number"), ("[]", "an array"), ("null", "null"), ("\"\"", "a string")] {
        let report = bounded_report(&with_events(&many(100_000, element)), element);
        assert_eq!(
            failed(&report),
            [rer::SCHEMA_VALID, rer::EVENT_CHAIN, rer::LOG_HEAD, rer::RUNTIME_SIGNATURE, rer::PAYLOAD_HASHES]
        );
        let expected = format!("schema_valid: $.events[0]: must be an object, not {found}");
        assert_eq!(report.reasons[0], expected);
        for check in [rer::SCHEMA_VALID, rer::EVENT_CHAIN, rer::PAYLOAD_HASHES] {
            let rest = format!("{check}: and 99980 more of this kind");
            assert_eq!(report.reasons.iter().filter(|reason| **reason == rest).count(), 1, "{check}");
        }
    }
}

#[test]
fn a_hundred_thousand_events_without_members() {
    let report = bounded_report(&with_events(&many(100_000, "{}")), "{}");
    assert_eq!(
        failed(&report),
        [rer::SCHEMA_VALID, rer::EVENT_CHAIN, rer::LOG_HEAD, rer::RUNTIME_SIGNATURE, rer::PAYLOAD_HASHES]
    );
    // Each event lacks eight members, has no hash, and breaks the chain.
    for rest in [
        "schema_valid: and 799980 more of this kind",
        "event_chain: and 199980 more of this kind",
        "payload_hashes: and 99980 more of this kind",
    ] {
        assert!(report.reasons.iter().any(|reason| reason == rest), "{rest}: {:#?}", report.reasons);
    }
}

#[test]
fn a_hundred_thousand_withheld_payloads() {
    let report = bounded_report(&with_events(&many(100_000, r#"{"payload_redacted":true}"#)), "withheld");
    assert_eq!(report.notes[19], "event 19: payload withheld; its content cannot be checked");
    assert_eq!(report.notes[20], "and 99980 more of this kind");
}

#[test]
fn thousands_of_things_in_an_envelope() {
    for (list, element) in [
        ("required_approvals", "{}"),
        ("required_approvals", "0"),
        ("required_approvals", r#"{"action":0,"tool_pattern":0,"model_pattern":0,"signer_types":[0],"x":0}"#),
        ("required_signer_types", "0"),
        ("required_signer_types", "\"nobody\""),
    ] {
        let mut artifact = sound();
        artifact["envelope"][list] = json!("here");
        let text = artifact.to_string().replace("\"here\"", &many(20_000, element));
        let report = bounded_report(text.as_bytes(), &format!("{list} of {element}"));
        assert_eq!(
            failed(&report),
            [rer::SCHEMA_VALID, rer::ENVELOPE_HASH, rer::ENVELOPE_SIGNATURE, rer::RUNTIME_SIGNATURE]
        );
    }
    for list in ["allowed_models", "allowed_tools"] {
        let mut artifact = sound();
        artifact["envelope"]["permissions"][list] = json!("here");
        let text = artifact.to_string().replace("\"here\"", &many(20_000, "[]"));
        let report = bounded_report(text.as_bytes(), list);
        assert_eq!(
            report.reasons[0],
            format!("schema_valid: $.envelope.permissions.{list}[0]: must be a string, not an array")
        );
    }
}

#[test]
fn thousands_of_unknown_members() {
    let members: Vec<String> = (0..5_000).map(|at| format!("\"x{at}\":0")).collect();
    for place in OBJECTS {
        let mut artifact = sound();
        artifact.pointer_mut(place).unwrap()["here"] = json!(null);
        let text = artifact.to_string().replace("\"here\":null", &members.join(","));
        let report = bounded_report(text.as_bytes(), place);
        let own = report.reasons.iter().filter(|reason| reason.contains("unknown member \"x0\"")).count();
        assert_eq!(own, 1, "{place}: {:#?}", report.reasons);
    }
}

#[test]
fn nesting_without_end() {
    let depth = 100_000;
    let array = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let object = format!("{}0{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    let open = "[".repeat(depth);
    let open_objects = "{\"\u{202e}\":".repeat(depth);
    for text in [&array, &object, &open, &open_objects] {
        assert_eq!(failed(&bounded_report(text.as_bytes(), "bare")), rer::CHECKS);
        for place in ["/events/0/payload", "/envelope/metadata", "/run_id", "/runtime", "/events"] {
            let mut artifact = sound();
            *artifact.pointer_mut(place).unwrap() = json!("here");
            let mutated_artifact = artifact.to_string().replace("\"here\"", text);
            assert_eq!(failed(&bounded_report(mutated_artifact.as_bytes(), place)), rer::CHECKS, "{place}");
        }
    }
    // The deepest limit that a caller may set, and one beyond it.
    for limit in [Limits::MAX_DEPTH, u32::MAX] {
        let limits = Limits { max_depth: limit, ..Limits::default() };
        let options = Options { format: Some(FormatId::Rer), limits, ..Options::default() };
        for depth in [900, 990, 997, 998, 1_000, 5_000] {
            let payload = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            let text = with_events(&format!("[{{\"payload\":{payload}}}]"));
            let report = verify(&text, &Keys::default(), &options);
            assert_bounded(&report, "deep");
            assert_eq!(report.reasons[0].contains("nested deeper"), depth > 997, "{depth}");
        }
    }
}

#[test]
fn numbers_of_any_length() {
    let digits = "9".repeat(5_000);
    let numbers = [
        digits.clone(),
        format!("-{digits}"),
        format!("0.{digits}"),
        format!("1e{digits}"),
        format!("1e-{digits}"),
        format!("{digits}e-4999"),
        "1e400".into(),
        "-0".into(),
        "-0.0e-0".into(),
        "9007199254740993".into(),
    ];
    let places = [
        "/events/0/step_index",
        "/events/3/step_index",
        "/events/0/payload",
        "/envelope/limits/max_spend_usd",
        "/envelope/metadata",
        "/run_id",
        "/runtime/key_id",
        "/log_head_hash",
        "/events/0/payload_hash",
        "/events",
        "/artifact_version",
    ];
    for number in &numbers {
        for place in places {
            let mut artifact = sound();
            *artifact.pointer_mut(place).unwrap() = json!("here");
            let text = artifact.to_string().replace("\"here\"", number);
            assert!(!bounded_report(text.as_bytes(), place).pass(), "{place} {number:.20}");
        }
        let mut artifact = sound();
        artifact["envelope"]["limits"] = json!({"max_steps": "here", "rate_limit_rpm": "here"});
        let text = artifact.to_string().replace("\"here\"", number);
        assert!(!bounded_report(text.as_bytes(), "limits").pass(), "{number:.20}");
    }
}

/// Generates JSON of any kind, with texts that RER knows among the others.
fn anything() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<String>().prop_map(Json::from),
        "[0-9a-f]{64}".prop_map(Json::from),
        "[0-9a-f]{128}".prop_map(Json::from),
        "rer-(artifact|event|envelope)/0\\.[0-3]".prop_map(Json::from),
        Just(json!("2026-05-13T12:34:56.7Z")),
        Just(json!("rer.run.started")),
        Just(sound()["runtime"].clone()),
        Just(sound()["envelope"].clone()),
        Just(sound()["events"].clone()),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Json::from),
            btree_map(name(), inner, 0..10).prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

/// Generates member names of RER, and sometimes others.
fn name() -> impl Strategy<Value = String> {
    const NAMES: [&str; 38] = [
        "artifact_version",
        "run_id",
        "envelope_hash",
        "log_head_hash",
        "manifest_hash",
        "runtime",
        "runtime_signature",
        "envelope",
        "events",
        "implementation",
        "version",
        "key_id",
        "algorithm",
        "envelope_version",
        "permissions",
        "allowed_models",
        "allowed_tools",
        "limits",
        "max_steps",
        "max_spend_usd",
        "rate_limit_rpm",
        "expiry",
        "metadata",
        "required_approvals",
        "action",
        "tool_pattern",
        "model_pattern",
        "signer_types",
        "required_signer_types",
        "signature",
        "event_version",
        "step_index",
        "event_type",
        "parent_event_hash",
        "timestamp",
        "payload",
        "payload_redacted",
        "payload_hash",
    ];
    prop_oneof![
        9 => prop::sample::select(NAMES.to_vec()).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

/// Generates an artifact with some members, at any depth, replaced.
fn mutated_artifact() -> impl Strategy<Value = Json> {
    let places = vec((any::<prop::sample::Index>(), prop::option::of(anything())), 0..6);
    places.prop_map(|places| {
        let mut artifact = sound();
        for (place, thing) in places {
            let all = pointers(&artifact, String::new());
            let at = &all[place.index(all.len())];
            match (thing, at.rsplit_once('/')) {
                (Some(thing), _) => *artifact.pointer_mut(at).unwrap() = thing,
                (None, Some((parent, name))) => match artifact.pointer_mut(parent).unwrap() {
                    Json::Object(members) => {
                        drop(members.remove(&name.replace("~1", "/").replace("~0", "~")))
                    }
                    Json::Array(list) => drop(list.remove(name.parse().unwrap())),
                    _ => {}
                },
                (None, None) => artifact = json!(null),
            }
        }
        artifact
    })
}

fn pointers(value: &Json, at: String) -> Vec<String> {
    let inner: Vec<(String, &Json)> = match value {
        Json::Array(list) => {
            (0..).zip(list).map(|(index, item): (usize, _)| (index.to_string(), item)).collect()
        }
        Json::Object(members) => {
            members.iter().map(|(name, item)| (name.replace('~', "~0").replace('/', "~1"), item)).collect()
        }
        _ => Vec::new(),
    };
    let mut all: Vec<String> =
        inner.into_iter().flat_map(|(name, item)| pointers(item, format!("{at}/{name}"))).collect();
    all.push(at);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_bytes(bytes in any::<Vec<u8>>()) {
        assert_eq!(failed(&bounded_report(&bytes, "bytes")), rer::CHECKS);
    }

    #[test]
    fn any_json(value in anything()) {
        let text = value.to_string();
        let report = bounded_report(text.as_bytes(), &text);
        assert!(!report.pass(), "{text}");
    }

    #[test]
    fn any_members(value in btree_map(name(), anything(), 0..12)) {
        let text = json!(value).to_string();
        let report = bounded_report(text.as_bytes(), &text);
        assert!(!report.pass(), "{text}");
    }

    #[test]
    fn any_members_in_place_of_right_ones(value in mutated_artifact()) {
        let text = value.to_string();
        let report = bounded_report(text.as_bytes(), &text);
        // A pass is right if the change restored the value, or made an absent payload null or the
        // reverse.
        if report.pass() {
            let same = |mut artifact: Json| {
                artifact["events"].as_array_mut().unwrap().iter_mut().for_each(|event| {
                    event["payload"].take();
                });
                artifact
            };
            assert_eq!(same(value), same(sound()));
        }
    }
}

#[test]
fn every_prefix_of_a_garbled_file() {
    let text = tricky_artifact(&TestKey::of(1));
    for end in (0..text.len()).step_by(7) {
        let torn = [&text[..end], b"\xf0\x9f\x1b"].concat();
        assert_eq!(failed(&bounded_report(&torn, "torn")), rer::CHECKS);
    }
}
