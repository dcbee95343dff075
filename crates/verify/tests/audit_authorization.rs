//! The audit rule `authorization`: who allowed the run.
#![allow(clippy::unwrap_used)]

mod audit_fixture;
mod support;

use audit_fixture::{
    PLATFORM, RUNTIME, Run, authorised, authorised_for, both_keys, envelope, hex, kept_verdicts,
};
use reenact_formats::key::PublicKey;
use reenact_formats::rer::envelope::authorization::{AuthorizationTerms, AuthorizedRuntime, authorise};
use reenact_formats::rer::seal::{Signer, sign_envelope};
use reenact_formats::trust::{KeyRole, KeyRoles};
use reenact_json::{Limits, Value};
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
        keys.add(platform.public_key(), trust, KeyRole::Platform.into(), None);
        keys
    };
    for (trust, verdict, reason) in [
        (Trust::Supplied, Pass, format!("authorised by {id} (supplied)")),
        (Trust::Trusted, Pass, format!("authorised by {id} (trusted as platform)")),
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
    assert_authorization(
        signed,
        &both_keys(),
        Pass,
        &format!("authorised by platform (key {id}, trusted as platform)"),
    );
}

/// One artifact of the platform's key is at hand. Its `envelope.signature` is moved into the
/// authorization of a run by somebody else, in the form of 0.1.0 and in that of today.
#[test]
fn a_runs_signature_moved_into_an_authorization() {
    let platform = TestKey::of(PLATFORM);
    let id = platform.public_key().id();
    let plain = envelope(json!({"metadata": {}}));
    let text = plain.to_string();
    let (signed, _) = sign_envelope(text.as_bytes(), &platform).unwrap();
    let signed: Json = serde_json::from_slice(&signed).unwrap();
    let moved = |more: Json| {
        let mut authorization = json!({"key_id": id.to_string(), "signature": signed["signature"]});
        authorization.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        envelope(json!({"metadata": {"authorization": authorization}}))
    };
    let legacy = format!(
        "the authorization by {id} is of the form of 0.1.0: it names no runtime, and a run's own signature could take its place"
    );
    assert_authorization(moved(json!({})), &both_keys(), Inconclusive, &legacy);
    let forged = format!("the authorization is not signed by {id}");
    let runtime = TestKey::of(RUNTIME).public_key().id().to_string();
    for runtime in ["*", &runtime] {
        assert_authorization(moved(json!({"runtime_key_id": runtime})), &both_keys(), Fail, &forged);
    }
}

#[test]
fn authorised_for_which_runtime() {
    let platform = TestKey::of(PLATFORM);
    let id = platform.public_key().id();
    let signed = authorised_for(&envelope(json!({})), &platform, AuthorizedRuntime::Any);
    assert_authorization(
        signed,
        &both_keys(),
        Pass,
        &format!("authorised by platform (key {id}, trusted as platform)"),
    );
    let other = AuthorizedRuntime::Key(TestKey::of(3).public_key().id());
    let signed = authorised_for(&envelope(json!({})), &platform, other);
    let reason = format!("the authorization by {id} is for another runtime's key");
    assert_authorization(signed, &both_keys(), Fail, &reason);
}

/// Two runtimes in one trust store: neither may authorise the other, nor itself, until one is known as a platform's.
#[test]
fn only_a_platform_authorises() {
    let (other, runtime) = (TestKey::of(PLATFORM), TestKey::of(RUNTIME));
    let id = other.public_key().id();
    let ring = |others: KeyRoles, own: KeyRoles| {
        let mut keys = Keys::default();
        keys.add(other.public_key(), Trust::Trusted, others, Some("other".into()));
        keys.add(runtime.public_key(), Trust::Trusted, own, None);
        keys
    };
    let both: KeyRoles = [KeyRole::Runtime, KeyRole::Platform].into_iter().collect();
    let by_other = authorised(&envelope(json!({})), &other);
    for (roles, words) in [
        (KeyRole::Runtime.into(), "runtime"),
        (KeyRole::Approver.into(), "approver"),
        ([KeyRole::Runtime, KeyRole::Approver].into_iter().collect(), "runtime, approver"),
    ] {
        let reason = format!("authorised by {id}, which is trusted as {words} and not as platform");
        assert_authorization(by_other.clone(), &ring(roles, both), Inconclusive, &reason);
    }
    let reason = format!("authorised by other (key {id}, trusted as platform)");
    assert_authorization(by_other, &ring(both, KeyRole::Runtime.into()), Pass, &reason);

    let by_itself = authorised(&envelope(json!({})), &runtime);
    let itself = "self-authorised: the authorization is by the runtime's own key";
    assert_authorization(by_itself.clone(), &ring(both, KeyRole::Runtime.into()), Inconclusive, itself);
    // A key that was given counts for every purpose, but a run's signer is given in order to check the run.
    assert_authorization(by_itself.clone(), &runtime.keys(), Inconclusive, itself);
    let reason = format!("authorised by {} (trusted as platform)", runtime.public_key().id());
    assert_authorization(by_itself, &ring(both, both), Pass, &reason);
}

/// A key that is trusted as a platform's or an approver's seals no run: the record is intact, its signer unknown.
#[test]
fn a_platform_is_no_runtime() {
    let run = Run::new(json!({}));
    let trust = |roles: KeyRoles| {
        let mut keys = Keys::default();
        keys.add(TestKey::of(RUNTIME).public_key(), Trust::Trusted, roles, None);
        let report = report_of(&run.seal(), &keys);
        assert!(report.pass(), "{:?}", report.reasons);
        report.signer.unwrap().trust
    };
    assert_eq!(trust(KeyRole::Runtime.into()), Trust::Trusted);
    assert_eq!(trust(KeyRole::Platform.into()), Trust::Unknown);
    assert_eq!(trust(KeyRole::Approver.into()), Trust::Unknown);
}

/// The end of an authorization is held against the start of the run and each call.
#[test]
fn authorised_until() {
    let platform = TestKey::of(PLATFORM);
    let id = platform.public_key().id();
    let until = |end: &str| {
        let text = envelope(json!({})).to_string();
        let terms = AuthorizationTerms { runtime: AuthorizedRuntime::Any, not_after: Some(end.to_owned()) };
        let envelope = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
        serde_json::from_slice::<Json>(&authorise(envelope, &terms, &platform).unwrap()).unwrap()
    };
    let verdict = |envelope: Json| {
        let run = Run { envelope, ..Run::new(json!({})) }.tool("a", "t").tool("b", "t").unauthorised();
        let rule = report_of(&run.seal(), &both_keys()).audit.unwrap().rules.pop().unwrap();
        (rule.verdict, rule.event, rule.reason)
    };
    let kept = (Pass, None, format!("authorised by platform (key {id}, trusted as platform)"));
    assert_eq!(verdict(until("2999-01-01T00:00:00Z")), kept);
    let late = |event| (Fail, Some(event), "it began after the authorization had ended".to_owned());
    assert_eq!(verdict(until("2026-05-13T11:59:59.999Z")), late(0));
    assert_eq!(verdict(until("2026-05-13T12:00:00Z")), late(2));
    assert_eq!(verdict(until("2026-05-13T12:00:04.999Z")), late(5));
    // The last call began at that very moment; what comes after it is no call.
    assert_eq!(verdict(until("2026-05-13T14:00:05+02:00")), kept);
    let backwards = |run: Run| run.tool("a", "t").clock(1).tool("b", "t").unauthorised();
    let run = backwards(Run { envelope: until("2026-05-13T12:00:02Z"), ..Run::new(json!({})) });
    let rule = report_of(&run.seal(), &both_keys()).audit.unwrap().rules.pop().unwrap();
    let reason = "time runs backwards here, from after the authorization had ended";
    assert_eq!((rule.verdict, rule.event, rule.reason.as_str()), (Inconclusive, Some(5), reason));
}

#[test]
fn forged_authorizations() {
    let platform = TestKey::of(PLATFORM);
    let id = platform.public_key().id().to_string();
    let forged = format!("the authorization is not signed by {id}");
    let good = authorised(&envelope(json!({})), &platform);
    // The signature is over another envelope.
    for other in [
        envelope(json!({"limits": {"max_steps": 1}})),
        envelope(json!({"metadata": {"a": 1}})),
        envelope(json!({"required_signer_types": []})),
    ] {
        let mut moved = good.clone();
        moved["metadata"]["authorization"] =
            authorised(&other, &platform)["metadata"]["authorization"].clone();
        assert_authorization(moved, &both_keys(), Fail, &forged);
    }
    // The signature is of another key.
    let mut of_mallory = good.clone();
    of_mallory["metadata"]["authorization"]["signature"] =
        authorised(&envelope(json!({})), &TestKey::of(3))["metadata"]["authorization"]["signature"].clone();
    assert_authorization(of_mallory, &both_keys(), Fail, &forged);
    // The text is no signature, or no key id.
    let wanted = "metadata.authorization.signature must be 128 lower-case hexadecimal digits";
    let signature = good["metadata"]["authorization"]["signature"].as_str().unwrap().to_owned();
    for bad in ["", "00", &signature.to_uppercase(), &signature[..127], &format!("{signature}0")] {
        let mut bad_signature = good.clone();
        bad_signature["metadata"]["authorization"]["signature"] = bad.into();
        assert_authorization(bad_signature, &both_keys(), Fail, wanted);
    }
    for name in ["", "platform", &format!("{id}="), &format!("{id} ")] {
        let mut bad_id = good.clone();
        bad_id["metadata"]["authorization"]["key_id"] = name.into();
        let wanted = "metadata.authorization.key_id must be the id of a key";
        assert_authorization(bad_id, &both_keys(), Fail, wanted);
    }
    for bad in [json!(null), json!("x"), json!([])] {
        let reason = "metadata.authorization must be an object with key_id, runtime_key_id and signature";
        let envelope = envelope(json!({"metadata": {"authorization": bad}}));
        assert_authorization(envelope, &both_keys(), Fail, reason);
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
        json!({"metadata": {"authorization": {"key_id": weak.id().to_string(), "runtime_key_id": "*", "signature": signature}}}),
    );
    assert_authorization(envelope, &keys, Fail, &format!("the authorization is not signed by {}", weak.id()));
}
