//! Envelopes read from documents.

use std::collections::BTreeSet;

use reenact_formats::rer::envelope::approvers::PinnedApprovers;
use reenact_formats::rer::envelope::money::Money;
use reenact_formats::rer::envelope::permission::{ApprovalRule, Envelope, EnvelopeEnforcement, SignerType};
use reenact_formats::rer::structure::{RerPath, RerStructureFault, RerStructureProblem};

use crate::{NOON, UNLIMITED, dollars, json, rule};

/// Returns a whole envelope, with one piece of its text replaced.
fn envelope_with(from: &str, to: &str) -> String {
    let whole = format!(
        r#"{{"envelope_version":"rer-envelope/0.2","permissions":{{"allowed_models":["m","m"],"allowed_tools":["t","\u0074\u0022"]}},
        "limits":{{"max_steps":4e0,"max_spend_usd":0.50,"rate_limit_rpm":60}},"expiry":"2026-05-13T14:00:00.000000001+02:00",
        "metadata":{{"reenact":{{"enforcement":"enforce"}}}},
        "required_approvals":[{{"action":"tool.call","tool_pattern":"pay_*","signer_types":["human","delegate"]}},
            {{"action":"model.call","model_pattern":"","signer_types":[]}},{{"action":"x"}}],
        "required_signer_types":["automated"],"signature":"{}"}}"#,
        "ab".repeat(64)
    );
    assert!(whole.contains(from), "{from}");
    whole.replacen(from, to, 1)
}

fn read(text: &str) -> Result<Envelope, RerStructureFault> {
    Envelope::read(json(text))
}

#[test]
fn every_field_is_read() {
    let expected = Envelope {
        allowed_models: ["m".into()].into(),
        allowed_tools: ["t".into(), "t\"".into()].into(),
        max_steps: Some(4),
        max_spend: Some(Money::from_picodollars(500_000_000_000)),
        rate_limit_rpm: Some(60),
        expiry: Some(NOON + 1),
        required_approvals: vec![
            ApprovalRule {
                signer_types: Some(vec![SignerType::Human, SignerType::Delegate]),
                ..rule("tool.call", Some("pay_*"), None)
            },
            ApprovalRule { signer_types: Some(vec![]), ..rule("model.call", None, Some("")) },
            rule("x", None, None),
        ],
        required_signer_types: vec![SignerType::Automated],
        allowed_forms: BTreeSet::new(),
        approvers: PinnedApprovers::Absent,
        authorised_until: None,
        enforcement: EnvelopeEnforcement::Enforced,
    };
    assert_eq!(read(&envelope_with("", "")), Ok(expected));
}

#[test]
fn what_is_absent_restricts_nothing() {
    let text = format!(
        r#"{{"envelope_version":"rer-envelope/0.1","permissions":{{"allowed_models":[],"allowed_tools":[]}},"limits":{{}},"signature":"{}"}}"#,
        "0".repeat(128)
    );
    assert_eq!(read(&text), Ok(UNLIMITED));
}

#[test]
fn words_of_enforcement() {
    let word = |metadata: &str| {
        let from = r#"{"reenact":{"enforcement":"enforce"}}"#;
        read(&envelope_with(from, metadata)).unwrap().enforcement
    };
    assert_eq!(word(r#"{"reenact":{"enforcement":"observe"}}"#), EnvelopeEnforcement::Observed);
    assert_eq!(
        word(r#"{"reen\u0061ct":{"enf\u006frcement":"\u006fbserve"}}"#),
        EnvelopeEnforcement::Observed
    );
    assert_eq!(word(r#"{"reenact":{"enforcement":"imported"}}"#), EnvelopeEnforcement::Imported);
    for enforced in [
        "{}",
        r#"{"reenact":null}"#,
        r#"{"reenact":["observe"]}"#,
        r#"{"reenact":{}}"#,
        r#"{"reenact":{"enforcement":"Observe"}}"#,
        r#"{"reenact":{"enforcement":null}}"#,
        r#"{"enforcement":"observe"}"#,
        r#"{"reenact":{"reenact":{"enforcement":"observe"}}}"#,
    ] {
        assert_eq!(word(enforced), EnvelopeEnforcement::Enforced, "{enforced}");
    }
}

#[test]
fn forms_that_are_allowed_by_path() {
    let forms = |list: &str| {
        let from = r#"{"reenact":{"enforcement":"enforce"}}"#;
        read(&envelope_with(from, &format!(r#"{{"allowed_forms":{list}}}"#))).map(|read| read.allowed_forms)
    };
    let paths = ["$.plugins", "$.input[].type=new"].map(str::to_owned);
    assert_eq!(forms(r#"["$.plugins","$.input[].type=new"]"#), Ok(paths.into()));
    assert_eq!(forms("[]"), Ok(BTreeSet::new()));
    let fault = RerStructureFault {
        path: RerPath::Member("envelope.metadata.allowed_forms"),
        problem: RerStructureProblem::Value { wanted: "a list of paths that begin with $" },
    };
    for wrong in
        ["null", "true", r#""$.plugins""#, r#"["plugins"]"#, r#"[["$.plugins"]]"#, r#"{"$.plugins":1}"#]
    {
        assert_eq!(forms(wrong), Err(fault.clone()), "{wrong}");
    }
}

#[test]
fn faults_of_structure_are_refused() {
    let at = |place, problem| Err(RerStructureFault { path: place, problem });
    let kind = |wanted, found| RerStructureProblem::Kind { wanted, found };
    for (from, to, place, problem) in [
        (
            "rer-envelope/0.2",
            "rer-envelope/0.3",
            RerPath::Member("envelope.envelope_version"),
            RerStructureProblem::UnknownVersion,
        ),
        (
            "\"rer-envelope/0.2\"",
            "2",
            RerPath::Member("envelope.envelope_version"),
            kind("a string", "a number"),
        ),
        (
            "\"limits\":{\"max_steps\"",
            "\"limit\":{\"max_steps\"",
            RerPath::Member("envelope.limits"),
            RerStructureProblem::Missing,
        ),
        (
            "\"max_steps\":4e0",
            "\"max_steps\":0",
            RerPath::Member("envelope.limits.max_steps"),
            RerStructureProblem::Value { wanted: "a whole number of 1 or more" },
        ),
        (
            "\"max_steps\":4e0",
            "\"max_steps\":null",
            RerPath::Member("envelope.limits.max_steps"),
            kind("a whole number of 1 or more", "null"),
        ),
        (
            "\"rate_limit_rpm\":60",
            "\"rate_limit_rpm\":1.5",
            RerPath::Member("envelope.limits.rate_limit_rpm"),
            RerStructureProblem::Value { wanted: "a whole number of 1 or more" },
        ),
        (
            "\"max_spend_usd\":0.50",
            "\"max_spend_usd\":-0.01",
            RerPath::Member("envelope.limits.max_spend_usd"),
            RerStructureProblem::Value { wanted: "0 or more" },
        ),
        (
            "\"max_spend_usd\":0.50",
            "\"max_spend_usd\":\"0.50\"",
            RerPath::Member("envelope.limits.max_spend_usd"),
            kind("a number", "a string"),
        ),
        (
            "\"max_spend_usd\"",
            "\"max_spent\"",
            RerPath::Member("envelope.limits"),
            RerStructureProblem::Unknown { name: "max_spent".into() },
        ),
        (
            "2026-05-13T14:00:00.000000001+02:00",
            "tomorrow",
            RerPath::Member("envelope.expiry"),
            RerStructureProblem::Value { wanted: "an RFC 3339 timestamp" },
        ),
        (
            "[\"m\",\"m\"]",
            "[\"m\",7]",
            RerPath::Element("envelope.permissions.allowed_models", 1),
            kind("a string", "a number"),
        ),
        (
            "\"action\":\"x\"",
            "\"actions\":\"x\"",
            RerPath::ElementMember("envelope.required_approvals", 2, "action"),
            RerStructureProblem::Missing,
        ),
        (
            "[\"human\",\"delegate\"]",
            "[\"Human\"]",
            RerPath::ElementMember("envelope.required_approvals", 0, "signer_types"),
            RerStructureProblem::Value { wanted: "\"human\", \"delegate\" or \"automated\"" },
        ),
        (
            "[\"automated\"]",
            "[\"automated\",\"robot\"]",
            RerPath::Element("envelope.required_signer_types", 1),
            RerStructureProblem::Value { wanted: "\"human\", \"delegate\" or \"automated\"" },
        ),
        (
            "\"ab",
            "\"AB",
            RerPath::Member("envelope.signature"),
            RerStructureProblem::Value { wanted: "128 lower-case hexadecimal digits" },
        ),
        (
            "rer-envelope/0.2",
            "rer-envelope/0.1",
            RerPath::Member("envelope.required_approvals"),
            RerStructureProblem::NotIn01,
        ),
    ] {
        assert_eq!(read(&envelope_with(from, to)), at(place, problem), "{to}");
    }
    for not_an_object in ["7", "[]", "null", "\"x\""] {
        let expected = at(RerPath::Member("envelope.envelope_version"), RerStructureProblem::Missing);
        assert_eq!(read(not_an_object), expected, "{not_an_object}");
    }
}

/// The syntax allows these texts (check 1 goes no further), but they name no instant: that must not read as "no
/// expiry".
#[test]
fn an_expiry_that_names_no_moment_is_refused() {
    for never in ["2026-02-30T00:00:00Z", "2026-04-31T00:00:00Z", "1900-02-29T00:00:00Z"] {
        let text = envelope_with("2026-05-13T14:00:00.000000001+02:00", never);
        let problem = RerStructureProblem::Value { wanted: "a day that the calendar has" };
        assert_eq!(
            read(&text),
            Err(RerStructureFault { path: RerPath::Member("envelope.expiry"), problem }),
            "{never}"
        );
    }
}

/// One canonical number, one limit: a number can be respelled without breaking a signature.
#[test]
fn a_limit_is_what_its_canonical_form_says() {
    let limit = |spelled: &str| {
        read(&envelope_with("\"max_spend_usd\":0.50", &format!("\"max_spend_usd\":{spelled}")))
            .unwrap()
            .max_spend
    };
    for zero in ["0", "-0", "0.0", "-0e5", "1e-400", "-1e-400"] {
        assert_eq!(limit(zero), Some(Money::default()), "{zero}");
    }
    for half in ["0.5", "5e-1", "0.50000000000000000001", "0.49999999999999999999"] {
        assert_eq!(limit(half), Some(dollars("0.5")), "{half}");
    }
    assert_eq!(limit("1e300"), Some(Money::from_picodollars(u128::MAX)));
    // A number without a canonical form, so no signature covers it; still a limit.
    assert_eq!(limit("9007199254740993"), Some(dollars("9007199254740993")));
}
