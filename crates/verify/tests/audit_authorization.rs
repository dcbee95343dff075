//! The audit rule `authorization`: who allowed the run.
#![allow(clippy::unwrap_used)]

mod audit_fixture;
mod support;

use audit_fixture::{
    PLATFORM, RUNTIME, Run, authorised, both_keys, envelope, hex, kept_verdicts, platform_signature,
};
use reenact_formats::key::PublicKey;
use reenact_formats::rer::seal::Signer;
use reenact_testkit::fixture::TestKey;
use reenact_verify::audit::AuditVerdict::{self, Fail, Inconclusive, Pass};
use reenact_verify::audit::RuleVerdict;
use reenact_verify::{Keys, Trust};
use serde_json::{Value as Json, json};
use support::{KeyRing as _, report_of};

/// Asserts the verdict on `authorization` of a run with this envelope.
#[track_caller]
fn assert_authorization(envelope: Json, keys: &Keys, verdict: AuditVerdict, reason: &str) {
    let run = Run { envelope, ..Run::new(json!({})) }.unauthorised();
    let report = report_of(&run.seal(), keys);
    assert!(report.pass(), "{:?}", report.reasons);
    let mut expected = kept_verdicts(&run.envelope);
    *expected.last_mut().unwrap() =
        RuleVerdict { rule: "authorization", verdict, event: None, reason: reason.into() };
    assert_eq!(report.audit.unwrap().rules, expected);
}

#[test]
fn who_authorised() {
    let (platform, runtime) = (TestKey::of(PLATFORM), TestKey::of(RUNTIME));
    let id = platform.public_key().id();
    let signed = authorised(&envelope(json!({})), &platform);
    let knowing = |trust| {
        let mut keys = runtime.keys();
        keys.add(platform.public_key(), trust, None);
        keys
    };
    for (trust, verdict, reason) in [
        (Trust::Supplied, Pass, format!("authorised by {id} (supplied)")),
        (Trust::Trusted, Pass, format!("authorised by {id} (trusted)")),
        (Trust::Superseded, Pass, format!("authorised by {id} (superseded)")),
        (Trust::Compromised, Inconclusive, format!("authorised by {id}, which is marked as compromised")),
        (Trust::SelfAsserted, Inconclusive, format!("authorised by {id}, which nobody vouches for")),
        (Trust::Unknown, Inconclusive, format!("authorised by {id}, which nobody vouches for")),
    ] {
        assert_authorization(signed.clone(), &knowing(trust), verdict, &reason);
    }
    let reason = format!("authorised by {id}, but that key is not at hand");
    assert_authorization(signed, &runtime.keys(), Inconclusive, &reason);
    let own = authorised(&envelope(json!({})), &runtime);
    assert_authorization(
        own,
        &both_keys(),
        Inconclusive,
        "self-authorised: the authorization is by the runtime's own key",
    );
    let alone = "self-authorised: only the runtime's own key signed the envelope";
    for metadata in [json!({}), json!({"metadata": {}}), json!({"metadata": {"Authorization": {}}})] {
        assert_authorization(envelope(metadata), &both_keys(), Inconclusive, alone);
    }
    // With other metadata.
    let signed = authorised(&envelope(json!({"metadata": {"a": 1, "reenact": {"z": "é"}}})), &platform);
    assert_authorization(signed, &both_keys(), Pass, &format!("authorised by {id} (trusted)"));
}

#[test]
fn forged_authorizations() {
    let platform = TestKey::of(PLATFORM);
    let id = platform.public_key().id().to_string();
    let forged = format!("the authorization is not signed by {id}");
    let with = |authorization: Json| envelope(json!({"metadata": {"authorization": authorization}}));
    let by = |signature: &str| with(json!({"key_id": id, "signature": signature}));
    let good = authorised(&envelope(json!({})), &platform);
    let signature = good["metadata"]["authorization"]["signature"].as_str().unwrap();
    // The signature is over another envelope.
    for other in [
        envelope(json!({"limits": {"max_steps": 1}})),
        envelope(json!({"metadata": {"a": 1}})),
        envelope(json!({"required_signer_types": []})),
    ] {
        let signature = platform_signature(&other, &platform);
        assert_authorization(by(&signature), &both_keys(), Fail, &forged);
    }
    // The signature names another key, or is malformed.
    let mallory = authorised(&envelope(json!({})), &TestKey::of(3));
    let of_mallory = mallory["metadata"]["authorization"]["signature"].as_str().unwrap();
    for bad in [
        of_mallory,
        "",
        "00",
        &"0".repeat(128),
        &signature.to_uppercase(),
        &signature[..127],
        &format!("{signature}0"),
        &format!(" {}", &signature[1..]),
    ] {
        assert_authorization(by(bad), &both_keys(), Fail, &forged);
    }
    let incomplete = "metadata.authorization needs a key_id and a signature";
    for bad in [
        json!({}),
        json!(null),
        json!("x"),
        json!([]),
        json!({"key_id": id}),
        json!({"signature": signature}),
        json!({"key_id": 7, "signature": signature}),
        json!({"key_id": id, "signature": null}),
    ] {
        assert_authorization(with(bad), &both_keys(), Fail, incomplete);
    }
    // A name that is not a key id names no key. The runtime's own id with one more character is not
    // another key.
    let own = TestKey::of(RUNTIME).public_key().id().to_string();
    for name in ["", "platform", &format!("{id}="), &format!("{id} "), &format!("{own}=")] {
        let reason = format!("authorised by {name}, but that key is not at hand");
        let envelope = with(json!({"key_id": name, "signature": signature}));
        assert_authorization(envelope, &both_keys(), Inconclusive, &reason);
    }
}

/// With a key of small order, one signature fits every message.
#[test]
fn a_weak_key_authorises_nothing() {
    let mut identity = [0; 32];
    identity[0] = 1;
    let weak = PublicKey::from_raw(&identity).unwrap();
    let signature = format!("{}{}", hex(&identity), "0".repeat(64));
    let mut keys = both_keys();
    keys.add_supplied(weak);
    let envelope = envelope(
        json!({"metadata": {"authorization": {"key_id": weak.id().to_string(), "signature": signature}}}),
    );
    assert_authorization(envelope, &keys, Fail, &format!("the authorization is not signed by {}", weak.id()));
}
