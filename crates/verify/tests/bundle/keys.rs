//! Who vouches for the key of a bundle.

use reenact_json::Digest;
use reenact_verify::rer::bundle::KEY_INTEGRITY;
use reenact_verify::{Keys, Outcome, Trust, render};
use serde_json::json;

use crate::bundle_maker::{KeyRing as _, Run, TestKey, bundle, failed};
use crate::{everywhere, jwk, put, stranger_key};

#[test]
fn who_vouches_for_the_key() {
    let files = bundle();
    let own = everywhere(&files, &Keys::default(), "own key");
    assert!(own.pass());
    assert_eq!(own.signer.as_ref().unwrap().trust, Trust::SelfAsserted);
    assert!(own.verdict.contains("signer unknown"), "{}", own.verdict);
    let supplied = everywhere(&files, &TestKey::of(1).keys(), "supplied");
    assert_eq!(supplied.signer.as_ref().unwrap().trust, Trust::Supplied);
    assert_eq!(failed(&supplied), [""; 0]);
    assert!(supplied.verdict.contains("signed by the key that you supplied"), "{}", supplied.verdict);
    // Someone else's key says nothing about this bundle; a stranger's bundle stays a stranger's.
    let other = everywhere(&files, &TestKey::of(2).keys(), "another key supplied");
    assert_eq!((other.signer, other.verdict), (own.signer.clone(), own.verdict.clone()));
    for report in [&own, &supplied] {
        let outcome = Outcome::Judged(report.clone());
        let text = outcome.to_json("x") + &render::outcome("x", &outcome, &render::plain);
        assert!(!text.to_lowercase().contains("verified"), "{text}");
    }
}

#[test]
fn a_bundle_that_a_stranger_signed_anew_is_intact_and_nobodys() {
    let files = Run::default().bundle(&TestKey::of(9), |_| {});
    let report = everywhere(&files, &TestKey::of(1).keys(), "signed anew");
    assert!(report.pass());
    assert_eq!(report.signer.unwrap().trust, Trust::SelfAsserted);
    assert!(report.verdict.contains("signer unknown"), "{}", report.verdict);
}

#[test]
fn keys_may_come_from_either_side() {
    let keys = TestKey::of(1).keys();
    let mut files = bundle();
    files.remove("key.bin");
    let report = everywhere(&files, &keys, "no key file");
    assert_eq!((failed(&report), report.signer.unwrap().trust), (vec![], Trust::Supplied));

    put(&mut files, "key.jwk", &jwk(&TestKey::of(1)));
    let report = everywhere(&files, &Keys::default(), "key.jwk only");
    assert_eq!((failed(&report), report.signer.unwrap().trust), (vec![], Trust::SelfAsserted));

    // With the right key at hand the artifact is intact, and the bundle still brings another.
    put(&mut files, "key.jwk", &jwk(&TestKey::of(9)));
    let report = everywhere(&files, &keys, "another key.jwk");
    assert_eq!(failed(&report), [KEY_INTEGRITY]);
    files.insert("key.bin".into(), stranger_key());
    assert_eq!(failed(&everywhere(&files, &keys, "another key twice")), [KEY_INTEGRITY]);
}

/// The manifest and the artifact must mean one key, also when both were signed for.
#[test]
fn a_signer_cannot_pass_another_key_off() {
    let hash = Digest::of(&stranger_key()).to_string();
    let mut files = Run::default().bundle(&TestKey::of(1), |m| m["runtime_key_hash"] = json!(hash));
    files.insert("key.bin".into(), stranger_key());
    let report = everywhere(&files, &TestKey::of(1).keys(), "two keys");
    assert_eq!(failed(&report), [KEY_INTEGRITY]);
    assert_eq!(report.reasons, ["key_integrity: the bundle's key is not the one that the artifact names"]);
}

#[test]
fn a_private_key_in_a_bundle_is_told() {
    let mut files = bundle();
    let mut private = jwk(&TestKey::of(1));
    private["d"] = json!("A".repeat(43));
    put(&mut files, "key.jwk", &private);
    let report = everywhere(&files, &Keys::default(), "private key");
    assert!(report.pass(), "{:#?}", report.reasons);
    let note = "key.jwk holds the private key: whoever has this bundle can sign as its signer";
    assert!(report.notes.iter().any(|found| found == note), "{:#?}", report.notes);
}
