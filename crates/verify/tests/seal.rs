//! Every sealed artifact passes, and every report has its documented shape.
#![allow(clippy::unwrap_used)]

mod support;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use reenact_formats::rer::seal::{ArtifactBuilder, NewEvent, RerRunHeader, SealError, Signer as _};
use reenact_formats::rer::{RerEventItem, RerVersion};
use reenact_json::{CanonicalFault, Digest, NumberFault, SyntaxError, SyntaxFault};
use reenact_testkit::fixture::TestKey;
use reenact_verify::{
    CheckId, Keys, Options, Report, TargetOutcome, Trust, UnreadableTarget, rer, verify, verify_or_err,
};
use serde_json::Value as Json;
use support::{KeyRing as _, canonical, failed, report_of, tricky_artifact, vector};

/// Generates texts of JSON values, in every spelling that has a canonical form.
fn json() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(|number| format!("{number:E}")),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,4})\\.[0-9]{1,20}([eE][+-]?[0-9]{1,2})?",
    ];
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|flag| flag.to_string()),
        number,
        any::<String>().prop_map(|text| quoted(&text, false)),
        any::<String>().prop_map(|text| quoted(&text, true)),
    ];
    leaf.prop_recursive(5, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(" ,\t"))),
            object(inner).prop_map(|text| text),
        ]
    })
}

fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    // Members are reversed, so that most objects need sorting.
    btree_map(any::<String>(), (value, any::<bool>()), 0..5).prop_map(|members| {
        let members: Vec<String> = members
            .iter()
            .rev()
            .map(|(name, (value, escaped))| format!("{} : {value}", quoted(name, *escaped)))
            .collect();
        format!("{{\n{}}}", members.join(","))
    })
}

/// Returns a JSON string, plain or with every character escaped.
fn quoted(text: &str, escaped: bool) -> String {
    if !escaped {
        return serde_json::to_string(text).unwrap();
    }
    let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    format!("\"{units}\"")
}

#[derive(Debug, Clone)]
struct Event {
    gap: u64,
    event_type: String,
    timestamp: String,
    payload: Option<String>,
    redacted: bool,
}

fn event() -> impl Strategy<Value = Event> {
    (
        1_u64..1 << 40,
        "[a-z0-9_]{1,5}(\\.[a-z0-9_]{1,5}){1,3}",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{1,9}Z",
        option::of(json()),
        any::<bool>(),
    )
        .prop_map(|(gap, event_type, timestamp, payload, redacted)| Event {
            gap,
            event_type,
            timestamp,
            payload,
            redacted,
        })
}

/// Generates envelopes with any metadata, any names in their lists, and limits in many spellings.
fn envelope(version: RerVersion) -> impl Strategy<Value = String> {
    let names = || vec(any::<String>(), 0..3).prop_map(|names| serde_json::to_string(&names).unwrap());
    let limits = prop_oneof![
        Just(String::new()),
        Just(r#""max_steps":1"#.to_owned()),
        Just(r#""max_steps":4e0,"rate_limit_rpm":6.00E1"#.to_owned()),
        (0.0..1e9).prop_map(|dollars| format!("\"max_spend_usd\":{dollars:e}")),
    ];
    let expiry = option::of(prop_oneof![Just("2026-05-13t12:34:56+23:59"), Just("1999-12-31T23:59:60.5z")]);
    let approvals = option::of(Just(
        r#","required_approvals":[{"action":"x","tool_pattern":"*"},{"action":"","signer_types":["human"]}],
        "required_signer_types":["automated","delegate"]"#,
    ));
    let metadata = option::of(object(json()));
    (names(), names(), limits, expiry, metadata, approvals).prop_map(
        move |(models, tools, limits, expiry, metadata, approvals)| {
            let expiry = expiry.map_or(String::new(), |time| format!(",\"expiry\":\"{time}\""));
            let metadata = metadata.map_or(String::new(), |metadata| format!(",\"metadata\":{metadata}"));
            let approvals = approvals.filter(|_| version == RerVersion::V02).unwrap_or_default();
            format!(
                r#"{{"permissions":{{"allowed_tools":{tools},"allowed_models":{models}}},"limits":{{{limits}}},
                "envelope_version":"{}"{expiry}{metadata}{approvals}}}"#,
                version.envelope()
            )
        },
    )
}

/// Asserts what every report has, whatever it reports.
fn assert_contract(report: &Report, target: &str) {
    const MEMBERS: [&str; 9] =
        ["target", "format", "pass", "checks", "reasons", "verdict", "notes", "signer", "digests"];
    let line = TargetOutcome::Report(report.clone()).to_json(target);
    assert!(!line.contains(['\n', '\r']), "one line: {line}");
    let read: Json = serde_json::from_str(&line).unwrap();
    assert_eq!(read["target"], target);
    assert_eq!(read["format"], report.format.as_str());
    let ours = reenact_json::Value::parse(line.as_bytes(), &reenact_json::Limits::default()).unwrap();
    let names = |value: reenact_json::Value<'_>| -> Vec<String> {
        value.members().map(|(name, _)| name.string().unwrap().into_owned()).collect()
    };
    let (optional, always): (Vec<String>, Vec<String>) =
        names(ours).into_iter().partition(|name| ["artifact_checks", "audit"].contains(&name.as_str()));
    assert_eq!(always, MEMBERS);
    assert!(optional.len() < 2, "no bundle here: {optional:?}");
    let checks: Vec<&str> = report.checks.iter().map(|check| check.id.name()).collect();
    assert_eq!(names(ours.member("checks").unwrap()), checks);
    if report.format == "unknown" {
        assert_eq!((checks, &read["signer"]), (vec!["recognised"], &Json::Null));
    } else {
        assert_eq!(checks, rer::CHECKS.map(CheckId::name));
        assert_eq!(names(ours.member("signer").unwrap()), ["key_id", "trust", "label"]);
    }

    let checks = read["checks"].as_object().unwrap();
    assert_eq!(read["pass"], !checks.values().any(|holds| holds == false));
    assert_eq!(read["pass"], report.pass());
    let reasons: Vec<&str> =
        read["reasons"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    for (name, holds) in checks {
        let own = reasons.iter().filter(|reason| reason.starts_with(&format!("{name}: "))).count();
        assert!(holds.is_boolean(), "{line}");
        assert_eq!(own == 0, *holds == true, "{name} has {own} reasons: {line}");
    }
    for reason in &reasons {
        let (name, text) = reason.split_once(": ").unwrap();
        assert!(checks.contains_key(name) && !text.is_empty(), "{reason}");
    }
}

/// Asserts that `verify` and `verify_or_err` agree on the same bytes.
fn assert_agree(bytes: &[u8], keys: &Keys) -> Report {
    let report = report_of(bytes, keys);
    match verify_or_err(bytes, keys, &Options::default()) {
        Ok(verified) => {
            assert_eq!(verified.report(), &report);
            assert!(report.pass());
        }
        Err(refused) => {
            assert_eq!(refused.report(), &report);
            assert!(!report.pass());
        }
    }
    assert_contract(&report, "x");
    report
}

/// Everything that goes into an artifact.
#[derive(Debug, Clone)]
struct Run {
    version: RerVersion,
    envelope: String,
    first: u64,
    events: Vec<Event>,
    run_id: String,
    runtime: (String, String),
    manifest_hash: Option<Digest>,
    seed: u8,
}

fn run() -> impl Strategy<Value = Run> {
    let version = prop_oneof![Just(RerVersion::V01), Just(RerVersion::V02)];
    let with_envelope = version.prop_flat_map(|version| (Just(version), envelope(version)));
    let manifest_hash = option::of(any::<[u8; 32]>().prop_map(Digest::from_bytes));
    let texts = any::<(String, String, String)>();
    (with_envelope, 0_u64..1 << 40, vec(event(), 1..6), texts, manifest_hash, any::<u8>()).prop_map(
        |((version, envelope), first, events, (run_id, name, number), manifest_hash, seed)| Run {
            version,
            envelope,
            first,
            events,
            run_id,
            runtime: (name, number),
            manifest_hash,
            seed,
        },
    )
}

impl Run {
    fn seal(&self) -> Vec<u8> {
        let mut chain = ArtifactBuilder::new(self.version);
        let mut step_index = self.first;
        for event in &self.events {
            let new = NewEvent {
                step_index,
                event_type: &event.event_type,
                timestamp: &event.timestamp,
                payload: event.payload.as_deref().map(str::as_bytes),
                redacted: event.redacted,
            };
            chain.append(&new).unwrap();
            step_index += event.gap;
        }
        let header = RerRunHeader {
            run_id: &self.run_id,
            implementation: &self.runtime.0,
            version: &self.runtime.1,
            envelope: self.envelope.as_bytes(),
            manifest_hash: self.manifest_hash,
        };
        chain.seal(&header, &TestKey::of(self.seed)).unwrap()
    }

    /// Returns all notes that the run must cause.
    fn notes(&self) -> Vec<String> {
        let withheld = (0..).zip(&self.events).filter(|(_, event)| event.redacted);
        let mut notes: Vec<String> = withheld
            .map(|(at, _): (usize, _)| format!("event {at}: payload withheld; its content cannot be checked"))
            .collect();
        let mut add = |applies, note: &str| notes.extend(Some(note.to_owned()).filter(|_| applies));
        let by_whom =
            "whether the producer or someone else withheld it cannot be told from an artifact alone";
        add(self.events.iter().any(|event| event.redacted), by_whom);
        let bundled = "manifest_hash is set: this artifact is part of a bundle, which was not checked";
        add(self.manifest_hash.is_some() && self.version == RerVersion::V02, bundled);
        add(true, "the first event is not rer.run.started");
        add(true, "the last event is not rer.run.ended: the run may have gone on unrecorded");
        notes
    }
}

fn assert_verifies(run: &Run) {
    let keys = TestKey::of(run.seed).keys();
    let sealed = run.seal();
    assert_eq!(canonical(&sealed).as_ref(), Some(&sealed));
    let report = assert_agree(&sealed, &keys);
    assert_eq!((failed(&report), report.reasons.as_slice()), (vec![], [].as_slice()));
    assert_eq!((report.format.as_str(), &report.notes), (run.version.artifact(), &run.notes()));
    assert_eq!(verify(&sealed, &keys, &Options::default()), report, "told apart by content");
    let signer = report.signer.unwrap();
    let key_id = TestKey::of(run.seed).public_key().id().to_string();
    assert_eq!((signer.key_id, signer.trust), (Some(key_id), Trust::Supplied));

    // `verify_or_err` returns what was sealed.
    let verified = verify_or_err(&sealed, &keys, &Options::default()).unwrap();
    assert_eq!(verified.head().run_id.unwrap().string().unwrap(), run.run_id);
    let read = verified.events().map(|item| match item {
        RerEventItem::Event(event) => event.payload.map(|payload| payload.text().to_vec()),
        RerEventItem::NotAnObject(_) => None,
    });
    let given = run.events.iter().map(|event| {
        let payload = event.payload.as_ref().filter(|_| !event.redacted)?;
        canonical(payload.as_bytes())
    });
    assert!(read.eq(given));

    // Without the key, or with another, exactly two checks fail.
    for keys in [Keys::default(), TestKey::of(run.seed.wrapping_add(1)).keys()] {
        let report = assert_agree(&sealed, &keys);
        assert_eq!(failed(&report), [rer::ENVELOPE_SIGNATURE, rer::RUNTIME_SIGNATURE]);
        assert_eq!(report.signer.unwrap().trust, Trust::Unknown);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn whatever_is_sealed_verifies(run in run()) {
        assert_verifies(&run);
    }

    #[test]
    fn every_report_keeps_the_contract(at in any::<prop::sample::Index>(), with in any::<Vec<u8>>(), target in any::<String>()) {
        let key = TestKey::of(1);
        let mut damaged = tricky_artifact(&key);
        let at = at.index(damaged.len());
        damaged.splice(at..(at + with.len() / 2).min(damaged.len()), with);
        assert_agree(&damaged, &key.keys());
        assert_contract(&verify(&damaged, &key.keys(), &Options::default()), &target);
    }
}

#[test]
fn every_vector_keeps_the_contract() {
    let index: Json = serde_json::from_slice(&vector("index.json")).unwrap();
    for row in index["vectors"].as_array().unwrap().iter().filter(|row| row["kind"] == "artifact") {
        let bytes = vector(row["file"].as_str().unwrap());
        let keys = Keys::from_raw(&vector(row["key"].as_str().unwrap()));
        assert_agree(&bytes, &keys);
        assert_contract(&verify(&bytes, &keys, &Options::default()), "\u{1b}]0;\u{7}\"\\\u{202e}");
    }
}

#[test]
fn an_unreadable_target_keeps_the_contract() {
    let outcome =
        TargetOutcome::Unreadable(UnreadableTarget { code: "E_NOT_FOUND", message: "\"gone\"".into() });
    assert_eq!(
        outcome.to_json("a\nb"),
        r#"{"target":"a\nb","format":"unknown","pass":false,"checks":{},"reasons":[],"verdict":"failed","notes":[],"signer":null,"digests":{},"error":{"code":"E_NOT_FOUND","message":"\"gone\""}}"#
    );
    assert_eq!(outcome.exit_code(), 2);
}

fn chain_of(step_index: u64, payload: &[u8]) -> Result<ArtifactBuilder, SealError> {
    let mut chain = ArtifactBuilder::new(RerVersion::V02);
    let event = NewEvent {
        step_index,
        event_type: "a.b",
        timestamp: "2026-05-13T12:34:56.7Z",
        payload: Some(payload),
        redacted: false,
    };
    chain.append(&event).map(|_| chain)
}

fn sealed(chain: ArtifactBuilder, envelope: &str) -> Result<Vec<u8>, SealError> {
    let run = RerRunHeader {
        run_id: "",
        implementation: "",
        version: "",
        envelope: envelope.as_bytes(),
        manifest_hash: None,
    };
    chain.seal(&run, &TestKey::of(1))
}

#[test]
fn what_has_no_canonical_form_is_not_sealed() {
    let refused = chain_of(0, b"9007199254740993").unwrap_err();
    let fault = match &refused {
        SealError::Canonical(CanonicalFault::Number { fault, .. }) => Some(*fault),
        _ => None,
    };
    assert_eq!(fault, Some(NumberFault::Inexact), "{refused}");
}

/// Step indices end at 2^53-1, even if a double can hold a greater one.
#[test]
fn a_step_index_that_check_1_refuses_is_not_sealed() {
    let last = chain_of((1 << 53) - 1, b"null").unwrap();
    let report = report_of(&sealed(last, support::ENVELOPE).unwrap(), &TestKey::of(1).keys());
    assert_eq!(report.reasons, [""; 0]);
    for given in [1 << 53, (1 << 53) + 1, 1 << 60, u64::MAX] {
        assert_eq!(chain_of(given, b"null").unwrap_err(), SealError::StepIndexTooLarge { given });
    }
}

/// In an artifact a payload is nested three levels deeper, and an envelope one.
#[test]
fn what_would_be_too_deep_to_read_is_not_sealed() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let too_deep = |offset, limit| {
        Some(SealError::Syntax(SyntaxError { offset, fault: SyntaxFault::TooDeep { limit } }))
    };
    let deepest = chain_of(0, nested(509).as_bytes()).unwrap();
    let report = report_of(&sealed(deepest, support::ENVELOPE).unwrap(), &TestKey::of(1).keys());
    assert_eq!(report.reasons, [""; 0]);
    assert_eq!(chain_of(0, nested(510).as_bytes()).err(), too_deep(509, 509));

    let envelope = |depth| support::ENVELOPE.replace("\"\\u2028\"", &nested(depth));
    let deepest = sealed(chain_of(0, b"{}").unwrap(), &envelope(509)).unwrap();
    assert_eq!(report_of(&deepest, &TestKey::of(1).keys()).reasons, [""; 0]);
    let offset = envelope(510).find("[[[").unwrap() + 509;
    assert_eq!(sealed(chain_of(0, b"{}").unwrap(), &envelope(510)).err(), too_deep(offset, 511));
}
