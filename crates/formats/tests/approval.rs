//! Approval tokens: one text each, bound to one question, refused for each fault by its name.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::collections::BTreeSet;
use std::sync::LazyLock;

use proptest::prelude::*;
use reenact_formats::key::KeyId;
use reenact_formats::rer::approval::verify::MAX_CLOCK_SKEW_NANOS;
use reenact_formats::rer::approval::{
    ApprovalDecision, ApprovalQuestion, ApprovalToken, ApprovalTokenDraft, ApprovalVerdict, Approver,
    MAX_TOKEN_BYTES, SignFault, TokenFault, TokenRefusal, input_hash, sign, verify_token,
};
use reenact_formats::rer::envelope::permission::SignerType::{self, Automated, Delegate, Human};
use reenact_formats::rer::envelope::policy::Action;
use reenact_formats::rer::seal::Signer;
use reenact_formats::rer::time;
use reenact_json::{Digest, Limits, Value};
use reenact_testkit::fixture::TestKey;

/// Returns `key` as an approver's.
fn approver(key: &TestKey, signer_type: SignerType) -> Approver {
    Approver { key: key.public_key(), signer_type }
}

const INPUT: &[u8] = br#"{"to": "ACME", "amount": 12.50}"#;

fn draft() -> ApprovalTokenDraft<'static> {
    ApprovalTokenDraft {
        approval_id: "0198c000-0000-7000-8000-000000000001",
        run_id: "0198c000-0000-7000-8000-000000000002",
        action: Action::Tool,
        name: "pay_invoice",
        input_hash: input_hash(INPUT),
        decision: ApprovalDecision::Granted,
        signer_type: Human,
        issued_at: "2026-05-13T12:00:00Z",
        expires_at: "2026-05-13T12:10:00Z",
    }
}

fn expected() -> ApprovalQuestion<'static> {
    let draft = draft();
    ApprovalQuestion {
        run_id: draft.run_id,
        approval_id: draft.approval_id,
        action: draft.action,
        name: draft.name,
        input_hash: draft.input_hash,
        signer_types: Some(&[Human]),
        pinned: pinned(),
    }
}

/// Returns the keys 1 and 2.
fn pinned() -> &'static BTreeSet<KeyId> {
    static PINNED: LazyLock<BTreeSet<KeyId>> =
        LazyLock::new(|| [1, 2].map(|seed| TestKey::of(seed).public_key().id()).into());
    &PINNED
}

fn at(text: &str) -> i128 {
    time::instant(text).unwrap()
}

/// Verifies a token at 12:05, with key 1 registered as a person's.
fn verify_at_12_05(token: &[u8]) -> Result<ApprovalVerdict, TokenRefusal> {
    verify_token(token, &expected(), &[approver(&TestKey::of(1), Human)], at("2026-05-13T12:05:00Z"))
}

fn signed(draft: &ApprovalTokenDraft<'_>) -> Vec<u8> {
    sign(draft, &TestKey::of(1)).unwrap()
}

#[test]
fn one_text() {
    let token = signed(&draft());
    let key_id = TestKey::of(1).public_key().id();
    let text = String::from_utf8(token.clone()).unwrap();
    let (before, after) = text.split_once(",\"signature\":\"").unwrap();
    let (signature, after) = after.split_once('"').unwrap();
    assert_eq!(
        format!("{before}{after}"),
        format!(
            "{{\"action\":\"tool.call\",\"approval_id\":\"0198c000-0000-7000-8000-000000000001\",\"decision\":\"granted\",\
             \"expires_at\":\"2026-05-13T12:10:00Z\",\
             \"input_hash\":\"{}\",\
             \"issued_at\":\"2026-05-13T12:00:00Z\",\"key_id\":\"{key_id}\",\
             \"run_id\":\"0198c000-0000-7000-8000-000000000002\",\"signer_type\":\"human\",\
             \"token_version\":\"reenact-approval/1\",\"tool\":\"pay_invoice\"}}",
            Digest::of(br#"{"amount":12.5,"to":"ACME"}"#)
        )
    );
    assert_eq!(signature.len(), 86);
    assert!(ApprovalToken::read(&token).unwrap().is_signed_by(&TestKey::of(1).public_key()));
    assert!(!ApprovalToken::read(&token).unwrap().is_signed_by(&TestKey::of(2).public_key()));
    assert_eq!(verify_at_12_05(&token), Ok(ApprovalVerdict::Granted { signer_type: Human }));
}

#[test]
fn a_denial_may_say_why() {
    for reason in [None, Some("too much".to_owned()), Some(String::new())] {
        let decision = ApprovalDecision::Denied { reason: reason.clone() };
        let token = signed(&ApprovalTokenDraft { decision, ..draft() });
        assert_eq!(verify_at_12_05(&token), Ok(ApprovalVerdict::Denied { signer_type: Human, reason }));
    }
}

#[test]
fn inputs_are_hashed_as_values_or_as_bytes() {
    assert_eq!(input_hash(b"{ \"b\": 1.0, \"a\": \"\\u0041\" }"), Digest::of(b"{\"a\":\"A\",\"b\":1}"));
    assert_eq!(input_hash(b"{\"a\":\"A\",\"b\":1}"), Digest::of(b"{\"a\":\"A\",\"b\":1}"));
    // Not JSON that is accepted as evidence: each is hashed by its bytes.
    for bytes in [&b"not json"[..], b"", b"{\"a\":1,\"a\":2}", b"\xff", b"1e999"] {
        assert_eq!(input_hash(bytes), Digest::of(bytes));
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    for decision in [ApprovalDecision::Granted, ApprovalDecision::Denied { reason: Some("no".into()) }] {
        let token = signed(&ApprovalTokenDraft { decision, ..draft() });
        for at in 0..token.len() * 8 {
            let mut flipped = token.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            let refusal = verify_at_12_05(&flipped).unwrap_err();
            assert!(
                matches!(
                    refusal,
                    TokenRefusal::Malformed(_) | TokenRefusal::UnknownKey { .. } | TokenRefusal::Forged
                ),
                "bit {at}: {refusal}"
            );
        }
    }
}

#[test]
fn bound_to_one_question() {
    let other = |draft: ApprovalTokenDraft<'_>| verify_at_12_05(&signed(&draft)).unwrap_err();
    assert_eq!(other(ApprovalTokenDraft { run_id: "another", ..draft() }), TokenRefusal::OtherRun);
    assert_eq!(other(ApprovalTokenDraft { approval_id: "another", ..draft() }), TokenRefusal::OtherApproval);
    assert_eq!(other(ApprovalTokenDraft { action: Action::Model, ..draft() }), TokenRefusal::OtherAction);
    assert_eq!(other(ApprovalTokenDraft { name: "pay_invoices", ..draft() }), TokenRefusal::OtherName);
    assert_eq!(
        other(ApprovalTokenDraft { input_hash: input_hash(b"{}"), ..draft() }),
        TokenRefusal::OtherInput
    );
}

#[test]
fn by_one_of_the_approvers() {
    let now = at("2026-05-13T12:05:00Z");
    let token = signed(&draft());
    let judged = |approvers: &[Approver], types: Option<&[SignerType]>| {
        verify_token(&token, &ApprovalQuestion { signer_types: types, ..expected() }, approvers, now)
    };
    let foreign = TokenRefusal::UnknownKey { key_id: TestKey::of(1).public_key().id() };
    assert_eq!(judged(&[], None), Err(foreign.clone()));
    assert_eq!(judged(&[approver(&TestKey::of(2), Human)], None), Err(foreign));
    let granted = Ok(ApprovalVerdict::Granted { signer_type: Human });
    assert_eq!(judged(&[approver(&TestKey::of(2), Human), approver(&TestKey::of(1), Human)], None), granted);
    // The type is the one that the key is registered with, whatever the token claims.
    assert_eq!(
        judged(&[approver(&TestKey::of(1), Automated)], None),
        Err(TokenRefusal::WrongSignerType { claimed: Human, registered: Automated })
    );
    assert_eq!(
        judged(&[approver(&TestKey::of(1), Automated), approver(&TestKey::of(1), Human)], None),
        granted
    );
    let human = [approver(&TestKey::of(1), Human)];
    let not_allowed = Err(TokenRefusal::SignerTypeNotAllowed { signer_type: Human });
    assert_eq!(judged(&human, Some(&[Delegate, Automated])), not_allowed);
    assert_eq!(judged(&human, Some(&[])), not_allowed);
    assert_eq!(judged(&human, Some(&[Delegate, Human])), granted);
}

/// A key that the user has, and that the envelope does not name for this action, approves nothing.
#[test]
fn by_a_key_that_is_pinned() {
    let judged = |pinned: &BTreeSet<KeyId>| {
        let question = ApprovalQuestion { pinned, ..expected() };
        let approvers = [approver(&TestKey::of(1), Human)];
        verify_token(&signed(&draft()), &question, &approvers, at("2026-05-13T12:05:00Z"))
    };
    let key_id = TestKey::of(1).public_key().id();
    let granted = ApprovalVerdict::Granted { signer_type: Human };
    assert_eq!(judged(&[key_id].into()), Ok(granted));
    for pinned in [[].into(), [TestKey::of(2).public_key().id()].into()] {
        assert_eq!(judged(&pinned), Err(TokenRefusal::NotPinned { key_id }));
    }
}

#[test]
fn forged() {
    // Signed with another key, under the approver's id.
    let theirs = String::from_utf8(sign(&draft(), &TestKey::of(2)).unwrap()).unwrap();
    let (ours, their_id) = (TestKey::of(1).public_key().id(), TestKey::of(2).public_key().id());
    let forged = theirs.replace(&their_id.to_string(), &ours.to_string());
    assert_eq!(verify_at_12_05(forged.as_bytes()), Err(TokenRefusal::Forged));
    // Another token's signature, put into a good token.
    let (good, other) = (signed(&draft()), signed(&ApprovalTokenDraft { name: "pay", ..draft() }));
    let cut = |token: &[u8]| {
        let text = String::from_utf8(token.to_vec()).unwrap();
        text.split_once("\"signature\":\"").unwrap().1[..86].to_owned()
    };
    let swapped = String::from_utf8(good.clone()).unwrap().replace(&cut(&good), &cut(&other));
    assert_eq!(verify_at_12_05(swapped.as_bytes()), Err(TokenRefusal::Forged));
}

#[test]
fn in_its_time() {
    let (token, approvers) = (signed(&draft()), [approver(&TestKey::of(1), Human)]);
    let judged = |now: i128| verify_token(&token, &expected(), &approvers, now).map(|_| ());
    let (issued, expires) = (at("2026-05-13T12:00:00Z"), at("2026-05-13T12:10:00Z"));
    assert_eq!(judged(issued - MAX_CLOCK_SKEW_NANOS - 1), Err(TokenRefusal::NotYetValid));
    assert_eq!(judged(issued - MAX_CLOCK_SKEW_NANOS), Ok(()));
    assert_eq!(judged(expires - 1), Ok(()));
    assert_eq!(judged(expires), Err(TokenRefusal::Expired));
    assert_eq!(judged(i128::MAX), Err(TokenRefusal::Expired));
    assert_eq!(judged(i128::MIN), Err(TokenRefusal::NotYetValid));
}

/// Edits the token's text once, verifies it, and returns the first fault.
fn edited(from: &str, to: &str) -> TokenFault {
    let token = String::from_utf8(signed(&draft())).unwrap();
    assert!(token.contains(from), "{from}");
    match verify_at_12_05(token.replacen(from, to, 1).as_bytes()) {
        Err(TokenRefusal::Malformed(fault)) => fault,
        other => panic!("{from} to {to}: {other:?}"),
    }
}

#[test]
fn malformed() {
    let value = |member, wanted| TokenFault::Value { member, wanted };
    let missing = |member| TokenFault::Missing { member };
    assert_eq!(edited("{", "{\"a\":\"\","), TokenFault::Unknown { name: "a".into() });
    assert_eq!(edited("\"tool\":", "\"Tool\":"), TokenFault::Unknown { name: "Tool".into() });
    assert_eq!(
        edited("reenact-approval/1", "reenact-approval/2"),
        value("token_version", "\"reenact-approval/1\"")
    );
    assert_eq!(edited("tool.call", "tool.calls"), value("action", "\"model.call\" or \"tool.call\""));
    assert_eq!(edited("\"tool.call\"", "7"), TokenFault::NotText { member: "action", found: "a number" });
    assert_eq!(
        edited("\"tool\":\"pay_invoice\"", "\"tool\":null"),
        TokenFault::NotText { member: "tool", found: "null" }
    );
    assert_eq!(
        edited("\"tool\":\"pay_invoice\"", "\"tool\":\"\""),
        value("tool", "a text of at least one character")
    );
    assert_eq!(edited(",\"tool\":\"pay_invoice\"", ""), missing("tool"));
    assert_eq!(
        edited("\"tool\":\"pay_invoice\"", "\"model\":\"m\",\"tool\":\"t\""),
        TokenFault::OutOfPlace { member: "model" }
    );
    assert_eq!(
        edited("\"run_id\"", "\"reason\":\"r\",\"run_id\""),
        TokenFault::OutOfPlace { member: "reason" }
    );
    assert_eq!(edited("\"granted\"", "\"maybe\""), value("decision", "\"granted\" or \"denied\""));
    assert_eq!(
        edited("\"human\"", "\"Human\""),
        value("signer_type", "\"human\", \"delegate\" or \"automated\"")
    );
    let time = "a time of RFC 3339 in UTC, such as 2026-05-13T12:00:00Z";
    for bad in [
        "2026-05-13T12:00:00+00:00",
        "2026-05-13t12:00:00Z",
        "2026-05-13T12:00:00z",
        "2026-02-30T12:00:00Z",
        "now",
    ] {
        assert_eq!(edited("2026-05-13T12:00:00Z", bad), value("issued_at", time), "{bad}");
    }
    for bad in ["2026-05-13T12:00:00Z", "2026-05-13T11:59:59Z"] {
        assert_eq!(edited("2026-05-13T12:10:00Z", bad), value("expires_at", "later than issued_at"));
    }
    let hash = input_hash(INPUT).to_string();
    assert_eq!(edited(&hash, &hash.to_uppercase()), value("input_hash", "64 lower-case hexadecimal digits"));
    let id = TestKey::of(1).public_key().id().to_string();
    assert_eq!(edited(&id, &id[1..]), value("key_id", "a key's id"));
    assert_eq!(
        edited("\"signature\":\"", "\"signature\":\"AA"),
        value("signature", "64 bytes in base64url without padding")
    );
    // Another spelling of the same value is no token.
    for (from, to) in [("{", "{ "), ("}", "}\n"), ("pay_invoice", "p\\u0061y_invoice"), ("}", "} ")] {
        assert_eq!(edited(from, to), TokenFault::NotCanonical, "{to}");
    }
    assert!(matches!(edited("}", ""), TokenFault::Json(_)));
    assert!(matches!(edited("{", "{\"action\":\"tool.call\","), TokenFault::Json(_)), "a name twice");
}

#[test]
fn not_even_an_object() {
    let fault = |bytes: &[u8]| match verify_at_12_05(bytes) {
        Err(TokenRefusal::Malformed(fault)) => fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault(b"[]"), TokenFault::NotAnObject { found: "an array" });
    assert!(matches!(fault(b""), TokenFault::Json(_)));
    assert!(matches!(fault("[".repeat(1000).as_bytes()), TokenFault::Json(_)));
    assert_eq!(fault(&vec![b' '; MAX_TOKEN_BYTES + 1]), TokenFault::TooLong);
    assert_eq!(fault(b"{}"), TokenFault::Missing { member: "token_version" });
}

#[test]
fn what_nobody_would_read_is_not_signed() {
    let refused = |draft: ApprovalTokenDraft<'_>| match sign(&draft, &TestKey::of(1)) {
        Err(SignFault::Draft(fault)) => fault,
        other => panic!("{other:?}"),
    };
    let long = "x".repeat(MAX_TOKEN_BYTES);
    assert_eq!(refused(ApprovalTokenDraft { name: &long, ..draft() }), TokenFault::TooLong);
    assert_eq!(
        refused(ApprovalTokenDraft { name: "", ..draft() }),
        TokenFault::Value { member: "tool", wanted: "a text of at least one character" }
    );
    assert!(matches!(
        refused(ApprovalTokenDraft { issued_at: "soon", ..draft() }),
        TokenFault::Value { member: "issued_at", .. }
    ));
}

#[test]
fn every_refusal_has_a_word() {
    let refusals = [
        (TokenRefusal::Malformed(TokenFault::NotCanonical), "malformed"),
        (TokenRefusal::UnknownKey { key_id: TestKey::of(1).public_key().id() }, "foreign"),
        (TokenRefusal::Forged, "forged"),
        (TokenRefusal::OtherApproval, "other_approval"),
        (TokenRefusal::OtherRun, "other_run"),
        (TokenRefusal::OtherAction, "other_action"),
        (TokenRefusal::OtherName, "other_name"),
        (TokenRefusal::OtherInput, "other_input"),
        (TokenRefusal::WrongSignerType { claimed: Human, registered: Delegate }, "wrong_signer_type"),
        (TokenRefusal::SignerTypeNotAllowed { signer_type: Delegate }, "signer_type_not_allowed"),
        (TokenRefusal::NotYetValid, "not_yet_valid"),
        (TokenRefusal::Expired, "expired"),
    ];
    for (refusal, code) in refusals {
        assert_eq!(refusal.code(), code);
    }
}

proptest! {
    #[test]
    fn whatever_is_signed_is_read_back(
        (approval_id, run_id, name) in ("\\PC{1,40}", "\\PC{1,40}", any::<String>()),
        input in any::<Vec<u8>>(),
        is_tool in any::<bool>(),
        reason in any::<Option<Option<String>>>(),
        signer_type in prop::sample::select(vec![Human, Delegate, Automated]),
    ) {
        prop_assume!(!name.is_empty());
        let decision = match reason {
            None => ApprovalDecision::Granted,
            Some(reason) => ApprovalDecision::Denied { reason },
        };
        let action = if is_tool { Action::Tool } else { Action::Model };
        let draft = ApprovalTokenDraft {
            approval_id: &approval_id, run_id: &run_id, action, name: &name, input_hash: input_hash(&input),
            decision, signer_type, ..draft()
        };
        let bytes = signed(&draft);
        let token = ApprovalToken::read(&bytes).unwrap();
        prop_assert_eq!(&token.approval_id, &approval_id);
        prop_assert_eq!(&token.run_id, &run_id);
        prop_assert_eq!(&token.name, &name);
        prop_assert_eq!((token.action, token.signer_type, &token.decision), (action, signer_type, &draft.decision));
        prop_assert_eq!(token.input_hash, draft.input_hash);
        prop_assert!(token.is_signed_by(&TestKey::of(1).public_key()));
        let value = Value::parse(&bytes, &Limits::default()).unwrap();
        prop_assert!(value.is_canonical());
        // The audit reads the type at the top.
        prop_assert_eq!(value.member("signer_type").and_then(SignerType::of), Some(signer_type));
    }

    #[test]
    fn whatever_comes_is_judged(bytes in any::<Vec<u8>>()) {
        prop_assert!(matches!(verify_at_12_05(&bytes), Err(TokenRefusal::Malformed(_))));
    }
}
