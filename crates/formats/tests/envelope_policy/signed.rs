//! The bytes of an envelope that a platform signs.

use proptest::collection::vec;
use proptest::prelude::*;
use reenact_formats::rer::RerHashFault;
use reenact_formats::rer::envelope::authorisable;

use crate::json;

fn signed(text: &str) -> Result<String, RerHashFault> {
    authorisable(json(text)).map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn a_platform_signs_the_canonical_envelope_without_signatures() {
    for (text, expected) in [
        (r#"{"b":1.0,"a":[2e0],"signature":"x"}"#, r#"{"a":[2],"b":1}"#),
        // Spelled with escapes, in any order.
        (
            r#"{"sign\u0061ture":"x","m\u0065tadata":{"z":1,"\u0061uthorization":{},"a":2},"a":"\u0041"}"#,
            r#"{"a":"A","metadata":{"a":2,"z":1}}"#,
        ),
        // Absent and empty are different envelopes; with only the authorization, metadata counts as empty.
        ("{}", "{}"),
        (r#"{"metadata":{}}"#, r#"{"metadata":{}}"#),
        (r#"{"metadata":{"authorization":{"key_id":"k","signature":"s"}}}"#, r#"{"metadata":{}}"#),
        (r#"{"metadata":{"authorization":null},"signature":null}"#, r#"{"metadata":{}}"#),
        // Only there: anywhere else these names are data.
        (
            r#"{"authorization":1,"limits":{"signature":2,"authorization":3},"metadata":{"a":{"authorization":4},"signature":5}}"#,
            r#"{"authorization":1,"limits":{"authorization":3,"signature":2},"metadata":{"a":{"authorization":4},"signature":5}}"#,
        ),
        (r#"{"metadata":["authorization"]}"#, r#"{"metadata":["authorization"]}"#),
        (r#"{"signature":"only"}"#, "{}"),
    ] {
        assert_eq!(signed(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn only_objects_with_a_canonical_form_can_be_authorised() {
    for (text, found) in [("[]", "an array"), ("null", "null"), ("\"x\"", "a string"), ("1", "a number")] {
        assert_eq!(signed(text), Err(RerHashFault::NotAnObject { what: "envelope", found }), "{text}");
    }
    assert!(matches!(signed(r#"{"a":9007199254740993}"#), Err(RerHashFault::Canonical(_))));
    assert!(matches!(signed(r#"{"metadata":{"a":1e400}}"#), Err(RerHashFault::Canonical(_))));
}

proptest! {
    /// However a document is spelled, the platform signs the same bytes; any change of a value changes them.
    #[test]
    fn one_envelope_one_text(names in vec("[a-c]", 1..4), value in 0..9_u8, swap in any::<bool>()) {
        let mut members: Vec<String> = names.iter().enumerate()
            .map(|(at, name)| format!("\"{name}{at}\":{value}")).collect();
        let metadata = "\"metadata\":{\"authorization\":{\"key_id\":\"k\"},\"n\":1}".to_owned();
        let mut ordered = members.clone();
        ordered.push(metadata.clone());
        members.insert(0, metadata);
        members.insert(usize::from(swap), "\"signature\":\"x\"".into());
        let one = signed(&format!("{{{}}}", ordered.join(","))).unwrap();
        let other = signed(&format!("{{ {} }}", members.join(" , ").replace('n', "\\u006e").replace("sig\\u006e", "sign"))).unwrap();
        prop_assert_eq!(&one, &other);
        let bumped = signed(&format!("{{{}}}", ordered.join(",").replace("\"n\":1", "\"n\":2"))).unwrap();
        prop_assert_ne!(one, bumped);
    }
}
