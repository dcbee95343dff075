//! Tests of the `$text` rule: every value comes back as its canonical text.

use super::*;
use proptest::prelude::*;

const PROFILES: [Profile; 3] = [Profile::Rpk, Profile::ReplayJsonl, Profile::ModelIo];

fn encoded(text: &str, profile: Profile) -> Result<String, TextRuleError> {
    let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
    let mut out = Vec::new();
    TextRule::new(profile).encode(value, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

fn decoded(text: &str, profile: Profile) -> Result<String, TextRuleError> {
    let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
    let mut out = Vec::new();
    TextRule::new(profile).decode(value, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

fn canonical_text(text: &str, profile: Profile) -> String {
    let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
    String::from_utf8(canonical::to_vec(value, profile).unwrap()).unwrap()
}

/// Encodes a text, normalises it by RFC 8785, and asserts that decoding gives the canonical text. Returns the
/// normalised text.
fn assert_round_trip(text: &str, profile: Profile) -> String {
    let encoded = encoded(text, profile).unwrap();
    let carried = canonical_text(&encoded, Profile::Jcs);
    assert_eq!(
        decoded(&carried, profile).unwrap(),
        canonical_text(text, profile),
        "{profile} {text} {carried}"
    );
    carried
}

#[test]
fn what_the_carrier_can_say_stays_what_it_is() {
    for profile in PROFILES {
        assert_eq!(
            assert_round_trip(r#"{"b":[1,"é",null],"a":{"$text":1,"x":true}}"#, profile),
            r#"{"a":{"$text":1,"x":true},"b":[1,"é",null]}"#
        );
    }
}

#[test]
fn numbers_that_the_carrier_would_change() {
    for (profile, text, carried) in [
        (Profile::Rpk, r#"{"a":1.0}"#, r#"{"a":{"$text":"1.0"}}"#),
        (Profile::Rpk, "[1.5,1e16]", r#"[1.5,{"$text":"1e+16"}]"#),
        (Profile::Rpk, "9007199254740993", r#"{"$text":"9007199254740993"}"#),
        (Profile::Rpk, "-0.0", r#"{"$text":"-0.0"}"#),
        (Profile::Rpk, "0.30000000000000004", r#"0.3"#),
        (Profile::ReplayJsonl, r#"[1.0,1]"#, r#"[{"$text":"1.0"},1]"#),
        (Profile::ReplayJsonl, "18446744073709551615", r#"{"$text":"18446744073709551615"}"#),
        (Profile::ModelIo, "[9007199254740993,1.0]", "[9007199254740992,1]"),
    ] {
        assert_eq!(assert_round_trip(text, profile), carried, "{profile} {text}");
    }
}

#[test]
fn paths_that_are_never_at_rest() {
    assert_eq!(
        assert_round_trip(r#"{"path":"./C:/x","cwd":"a//b","name":"./C:/x"}"#, Profile::Rpk),
        r#"{"cwd":"a/b","name":"./C:/x","path":{"$text":"\"C:/x\""}}"#
    );
    assert_eq!(
        assert_round_trip(r#"{"tags":["b","a",2.0]}"#, Profile::Rpk),
        r#"{"tags":["a","b",{"$text":"2.0"}]}"#
    );
}

#[test]
fn what_looks_like_a_mark_is_wrapped() {
    for profile in PROFILES {
        assert_eq!(assert_round_trip(r#"{"$text":"x"}"#, profile), r#"{"$text":"{\"$text\":\"x\"}"}"#);
        assert_eq!(
            assert_round_trip(r#"[{"\u0024text":{"$text":[]}}]"#, profile),
            r#"[{"$text":"{\"$text\":{\"$text\":[]}}"}]"#
        );
    }
}

#[test]
fn names_in_the_order_of_the_profile() {
    let text = "{\"\u{ff5e}\":1.0,\"\u{1f600}\":2.0}";
    assert_round_trip(text, Profile::Rpk);
    assert_round_trip(text, Profile::ReplayJsonl);
}

#[test]
fn what_no_encoder_makes_is_refused() {
    for text in [r#"{"$text":1}"#, r#"{"$text":"not JSON"}"#, r#"[{"$text":""}]"#, r#"{"$text":"1 2"}"#] {
        assert_eq!(decoded(text, Profile::Rpk), Err(TextRuleError::Marker), "{text}");
    }
    let fault = encoded(r#"{"timestamp":"0001-01-01T00:00:00+05:00"}"#, Profile::Rpk);
    assert!(matches!(fault, Err(TextRuleError::Canonical(CanonicalFault::Time { .. }))), "{fault:?}");
}

#[test]
fn a_number_that_no_double_holds_is_carried_as_its_text() {
    for profile in PROFILES {
        for (text, carried, back) in [
            ("1e999", r#"{"$text":"1e999"}"#, "1e999"),
            (
                r#"{"b":[-1E+400,"x"],"a":2}"#,
                r#"{"a":2,"b":[{"$text":"-1E+400"},"x"]}"#,
                r#"{"a":2,"b":[-1E+400,"x"]}"#,
            ),
            (r#"{"$text":1e999}"#, r#"{"$text":"{\"$text\":1e999}"}"#, r#"{"$text":1e999}"#),
            (r#"["number0x0.",1e999]"#, r#"["number0x0.",{"$text":"1e999"}]"#, r#"["number0x0.",1e999]"#),
        ] {
            let encoded = canonical_text(&encoded(text, profile).unwrap(), Profile::Jcs);
            assert_eq!(encoded, carried, "{profile} {text}");
            assert_eq!(decoded(&encoded, profile).unwrap(), back, "{profile} {text}");
        }
    }
    let digits = "123456789012345678901234567890";
    let carried = encoded(&format!(r#"{{"n":{digits}}}"#), Profile::ReplayJsonl).unwrap();
    assert_eq!(carried, format!(r#"{{"n":{{"$text":"{digits}"}}}}"#));
    assert_eq!(decoded(&carried, Profile::ReplayJsonl).unwrap(), format!(r#"{{"n":{digits}}}"#));
}

#[test]
fn deep_values_take_one_walk() {
    let deep = |inside: &str| format!("{}{inside}{}", "[{\"$text\":1,\"a\":".repeat(200), "}]".repeat(200));
    for profile in PROFILES {
        assert_round_trip(&deep("1.0"), profile);
        assert_round_trip(&deep("{\"$text\":\"1.0\"}"), profile);
    }
}

/// Returns a strategy for documents with numbers, strings and names that some profile treats in a special way.
fn json() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        "-?(0|[1-9][0-9]{0,22})".prop_map(|text| text),
        "-?(0|[1-9][0-9]{0,16})\\.[0-9]{1,18}",
        "-?[1-9](\\.[0-9]{1,16})?[eE][+-]?[0-9]{1,2}",
    ];
    let string = prop_oneof![
        any::<String>(),
        "[a-zA-Z:./\\\\]{0,12}",
        "20[0-9]{2}-0[1-9]-1[0-9]T0[0-9]:00:00(\\.[0-9]{1,9})?(Z|\\+0[0-9]:30)?",
    ];
    let string = string.prop_map(|text| {
        let mut out = String::new();
        reenact_json::print::write_string(&text, &mut out);
        out
    });
    let word = prop::sample::select(vec![
        "null".to_owned(),
        "true".into(),
        "false".into(),
        "{}".into(),
        "[]".into(),
    ]);
    prop_oneof![number, string, word].prop_recursive(4, 40, 6, |inner| {
        let name = prop::sample::select(vec![
            "$text",
            "path",
            "tags",
            "labels",
            "timestamp",
            "created_at",
            "file",
            "a",
            "b",
            "é",
            "\u{ff5e}",
            "\u{1f600}",
            "out_dir",
            "pid",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            inner.clone().prop_map(|value| format!("{{\"$text\":{value}}}")),
            prop::collection::btree_map(name, inner, 0..5).prop_map(|members| {
                let members: Vec<String> =
                    members.into_iter().rev().map(|(name, value)| format!("\"{name}\" : {value}")).collect();
                format!("{{{}}}", members.join(", "))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn everything_comes_back(text in json()) {
        for profile in PROFILES {
            let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
            match canonical::to_vec(value, profile) {
                Ok(expected) => {
                    let carried = canonical_text(&encoded(&text, profile).unwrap(), Profile::Jcs);
                    let back = decoded(&carried, profile).unwrap().into_bytes();
                    prop_assert_eq!(back, expected, "{} {}", profile, carried);
                }
                Err(CanonicalFault::Number { .. }) => {
                    // There is no canonical text to compare with, but what comes back is carried in the same way.
                    let Ok(carried) = encoded(&text, profile) else { continue };
                    let carried = canonical_text(&carried, Profile::Jcs);
                    let back = decoded(&carried, profile).unwrap();
                    let again = canonical_text(&encoded(&back, profile).unwrap(), Profile::Jcs);
                    prop_assert_eq!(again, carried, "{} {}", profile, back);
                }
                Err(fault) => prop_assert_eq!(encoded(&text, profile), Err(TextRuleError::Canonical(fault))),
            }
        }
    }
}
