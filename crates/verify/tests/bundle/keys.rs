//! The key of a bundle, and who vouches for it.

use reenact_formats::rer::seal::Signer as _;
use reenact_json::Digest;
use reenact_verify::rer::bundle::KEY_INTEGRITY;
use reenact_verify::{Demands, Keys, TargetOutcome, Trust, render};
use serde_json::json;

use crate::bundle_fixture::{KeyRing as _, Run, TestKey, bundle, failed};
use crate::{jwk, notes, other_key, put, report_in_every_form};

#[test]
fn who_vouches_for_the_key() {
    let files = bundle();
    let own = report_in_every_form(&files, &Keys::default(), "own key");
    assert!(own.pass());
    assert_eq!(own.signer.as_ref().unwrap().trust, Trust::SelfAsserted);
    assert!(own.summary.contains("signer unknown"), "{}", own.summary);
    let supplied = report_in_every_form(&files, &TestKey::of(1).keys(), "supplied");
    assert_eq!(supplied.signer.as_ref().unwrap().trust, Trust::Supplied);
    assert_eq!(failed(&supplied), [""; 0]);
    assert!(supplied.summary.contains("signed by the key that you supplied"), "{}", supplied.summary);
    // Another key says nothing about this bundle.
    let other = report_in_every_form(&files, &TestKey::of(2).keys(), "another key supplied");
    assert_eq!((other.signer, other.summary), (own.signer.clone(), own.summary.clone()));
    for report in [&own, &supplied] {
        let outcome = TargetOutcome::Report(report.clone());
        let text =
            outcome.to_json("x") + &render::outcome_text("x", &outcome, &Demands::default(), &render::plain);
        assert!(!text.to_lowercase().contains("verified"), "{text}");
    }
}

#[test]
fn a_bundle_that_a_stranger_signed_anew_is_intact_and_nobodys() {
    let files = Run::default().bundle(&TestKey::of(9), |_| {});
    let report = report_in_every_form(&files, &TestKey::of(1).keys(), "signed anew");
    assert!(report.pass());
    assert_eq!(report.signer.unwrap().trust, Trust::SelfAsserted);
    assert!(report.summary.contains("signer unknown"), "{}", report.summary);
}

#[test]
fn keys_may_come_from_either_side() {
    let keys = TestKey::of(1).keys();
    let mut files = bundle();
    files.remove("key.bin");
    let report = report_in_every_form(&files, &keys, "no key file");
    // The key that was given checks the signatures, but the bundle still lacks the one that its manifest names.
    assert_eq!((failed(&report), report.signer.unwrap().trust), (vec![KEY_INTEGRITY], Trust::Supplied));
    assert_eq!(report.reasons, ["key_integrity: the bundle holds no key: neither key.bin nor key.jwk"]);

    put(&mut files, "key.jwk", &jwk(&TestKey::of(1)));
    let report = report_in_every_form(&files, &Keys::default(), "key.jwk only");
    assert_eq!((failed(&report), report.signer.unwrap().trust), (vec![], Trust::SelfAsserted));

    // With the right key supplied the artifact is intact, but the bundle contains another key.
    put(&mut files, "key.jwk", &jwk(&TestKey::of(9)));
    let report = report_in_every_form(&files, &keys, "another key.jwk");
    assert_eq!(failed(&report), [KEY_INTEGRITY]);
    files.insert("key.bin".into(), other_key());
    assert_eq!(failed(&report_in_every_form(&files, &keys, "another key twice")), [KEY_INTEGRITY]);
}

/// The manifest and the artifact must name the same key, even if both are signed.
#[test]
fn a_signer_cannot_pass_another_key_off() {
    let hash = Digest::of(&other_key()).to_string();
    let mut files = Run::default().bundle(&TestKey::of(1), |m| m["runtime_key_hash"] = json!(hash));
    files.insert("key.bin".into(), other_key());
    let report = report_in_every_form(&files, &TestKey::of(1).keys(), "two keys");
    assert_eq!(failed(&report), [KEY_INTEGRITY]);
    assert_eq!(report.reasons, ["key_integrity: the bundle's key is not the one that the artifact names"]);
}

#[test]
fn a_false_kid_is_noticed() {
    let (key, other) = (TestKey::of(1), TestKey::of(9));
    let (id, other) = (key.public_key().id().to_string(), other.public_key().id().to_string());
    let mut files = bundle();
    let mut with_kid = |kid: &str| {
        let mut named = jwk(&key);
        named["kid"] = json!(kid);
        put(&mut files, "key.jwk", &named);
        report_in_every_form(&files, &key.keys(), kid)
    };
    let own = with_kid(&id);
    assert_eq!((failed(&own), notes(&own)), (vec![], vec![]));
    let label = with_kid("ci\u{1b}[2J");
    assert!(label.pass());
    assert_eq!(
        notes(&label),
        [format!("key.jwk calls its key \"ci\\u{{1b}}[2J\", which is no id of it: {id}")]
    );
    let false_kid = with_kid(&other);
    assert_eq!(
        false_kid.reasons,
        [format!("key_integrity: key.jwk: its kid is {other}, but the key in it is {id}")]
    );
}

#[test]
fn a_private_key_in_a_bundle_is_told() {
    let mut files = bundle();
    let mut private = jwk(&TestKey::of(1));
    private["d"] = json!("A".repeat(43));
    put(&mut files, "key.jwk", &private);
    let report = report_in_every_form(&files, &Keys::default(), "private key");
    assert!(report.pass(), "{:#?}", report.reasons);
    let note = "key.jwk holds the private key: whoever has this bundle can sign as its signer";
    assert!(report.notes.iter().any(|found| found == note), "{:#?}", report.notes);
}
