//! Authorizations: signed for one envelope and one runtime, in a domain of their own.

use reenact_formats::rer::envelope::authorization::{
    Authorization, AuthorizationFault, AuthorizationTerms, AuthorizedRuntime, authorise,
};
use reenact_formats::rer::envelope::signable;
use reenact_formats::rer::seal::Signer;
use reenact_json::Digest;
use reenact_testkit::fixture::TestKey;

use crate::json;

const ENVELOPE: &str = r#"{"b":1,"a":[],"signature":"x"}"#;

fn any() -> AuthorizationTerms {
    AuthorizationTerms { runtime: AuthorizedRuntime::Any, not_after: None }
}

fn authorised(envelope: &str, terms: &AuthorizationTerms) -> String {
    String::from_utf8(authorise(json(envelope), terms, &TestKey::of(2)).unwrap()).unwrap()
}

/// Returns true if the platform's signature holds.
fn holds(envelope: &str) -> bool {
    let read = Authorization::read(json(envelope)).unwrap().unwrap();
    read.is_signed_by(&TestKey::of(2).public_key(), json(envelope)).unwrap()
}

#[test]
fn what_is_signed() {
    let platform = TestKey::of(2);
    let (id, runtime) = (platform.public_key().id(), TestKey::of(1).public_key().id());
    let hash = Digest::of(br#"{"a":[],"b":1,"metadata":{}}"#);
    let hex = |signature: [u8; 64]| signature.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let text = format!(
        r#"{{"authorization":"reenact-authorization/1","envelope_hash":"{hash}","not_after":"2026-05-13T12:00:00Z","runtime_key_id":"{runtime}"}}"#
    );
    let terms = AuthorizationTerms {
        runtime: AuthorizedRuntime::Key(runtime),
        not_after: Some("2026-05-13T12:00:00Z".into()),
    };
    let expected = format!(
        r#"{{"a":[],"b":1,"metadata":{{"authorization":{{"key_id":"{id}","not_after":"2026-05-13T12:00:00Z","runtime_key_id":"{runtime}","signature":"{}"}}}}}}"#,
        hex(platform.sign(text.as_bytes()))
    );
    assert_eq!(authorised(ENVELOPE, &terms), expected);
    let text = format!(
        r#"{{"authorization":"reenact-authorization/1","envelope_hash":"{hash}","runtime_key_id":"*"}}"#
    );
    let expected = format!(
        r#"{{"a":[],"b":1,"metadata":{{"authorization":{{"key_id":"{id}","runtime_key_id":"*","signature":"{}"}}}}}}"#,
        hex(platform.sign(text.as_bytes()))
    );
    assert_eq!(authorised(ENVELOPE, &any()), expected);
    // Authorised anew, the first authorization is gone.
    assert_eq!(authorised(&authorised(ENVELOPE, &terms), &any()), expected);
}

#[test]
fn any_change_breaks_it() {
    let runtime = AuthorizedRuntime::Key(TestKey::of(1).public_key().id());
    let terms = AuthorizationTerms { runtime, not_after: Some("2026-05-13T12:00:00Z".into()) };
    let good = authorised(r#"{"a":1,"metadata":{"n":1}}"#, &terms);
    assert!(holds(&good));
    // The runtime's own signature comes later, and is not covered.
    assert!(holds(&good.replacen('{', r#"{"signature":"later","#, 1)));
    let other = TestKey::of(3).public_key().id().to_string();
    for (from, to) in [
        ("\"a\":1", "\"a\":2"),
        ("\"n\":1", "\"n\":2"),
        ("2026-05-13", "2036-05-13"),
        (",\"not_after\":\"2026-05-13T12:00:00Z\"", ""),
        (TestKey::of(1).public_key().id().to_string().as_str(), "*"),
        (TestKey::of(1).public_key().id().to_string().as_str(), &other),
        (TestKey::of(2).public_key().id().to_string().as_str(), &other),
    ] {
        assert!(good.contains(from), "{from}");
        assert!(!holds(&good.replacen(from, to, 1)), "{from}");
    }
}

/// The signature of a run under the platform's own key is none of its authorizations.
#[test]
fn a_runs_signature_authorises_nothing() {
    let platform = TestKey::of(2);
    let plain = r#"{"a":1,"metadata":{}}"#;
    let signature = platform.sign(&signable(Some(json(plain))).unwrap());
    let signature: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
    let id = platform.public_key().id();
    let moved = format!(
        r#"{{"a":1,"metadata":{{"authorization":{{"key_id":"{id}","runtime_key_id":"*","signature":"{signature}"}}}}}}"#
    );
    assert!(!holds(&moved));
    let of_0_1_0 = moved.replace(r#""runtime_key_id":"*","#, "");
    let legacy = AuthorizationFault::Legacy { key_id: id.to_string() };
    assert_eq!(Authorization::read(json(&of_0_1_0)), Err(legacy));
}

#[test]
fn refused_forms() {
    let good = authorised("{}", &any());
    let member = |member: &str, wanted| Err(AuthorizationFault::Member { member: member.to_owned(), wanted });
    let id = TestKey::of(2).public_key().id().to_string();
    let edited = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        Authorization::read(json(&good.replacen(from, to, 1)))
    };
    assert_eq!(edited(&id, "platform"), member("key_id", "the id of a key"));
    assert_eq!(
        edited("\"*\"", "\"**\""),
        member("runtime_key_id", "the id of the runtime's key, or \"*\" for any")
    );
    assert_eq!(
        edited("\"*\"", "7"),
        member("runtime_key_id", "the id of the runtime's key, or \"*\" for any")
    );
    assert_eq!(
        edited("\"signature\":\"", "\"signature\":\"0"),
        member("signature", "128 lower-case hexadecimal digits")
    );
    assert_eq!(
        edited("\"key_id\"", "\"more\":1,\"key_id\""),
        member("more", "left out: there is no such member")
    );
    for bad in ["\"2026-02-30T00:00:00Z\"", "\"tomorrow\"", "null", "1"] {
        let edited = edited("\"key_id\"", &format!("\"not_after\":{bad},\"key_id\""));
        assert_eq!(edited, member("not_after", "a time like 2026-12-31T00:00:00Z"), "{bad}");
    }
    for bad in ["null", "[]", "\"x\""] {
        let text = format!(r#"{{"metadata":{{"authorization":{bad}}}}}"#);
        assert_eq!(Authorization::read(json(&text)), Err(AuthorizationFault::NotAnObject), "{bad}");
    }
    for none in ["{}", r#"{"metadata":{}}"#, r#"{"metadata":[]}"#, r#"{"authorization":{}}"#] {
        assert_eq!(Authorization::read(json(none)), Ok(None), "{none}");
    }
}
