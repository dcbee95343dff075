//! Canonical bytes under the profile `replay-jsonl`: exact samples, then properties over generated documents with
//! serde_json as the oracle. The oracle's doubles are printed by Ryū, as version 1.0.140 did; later versions print
//! them differently.
#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use reenact_formats::Profile;
use reenact_formats::replay_jsonl::canonical as replay_jsonl;
use reenact_json::digest::{Digest, Hasher};
use reenact_json::{CanonicalFault, Limits, NumberFault, Value, canonical};
use serde_json::Value as Json;

fn parse(text: &str) -> Value<'_> {
    let limits = Limits { max_depth: Limits::MAX_DEPTH, ..Limits::default() };
    Value::parse(text.as_bytes(), &limits).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn canonical_of(text: &str) -> Result<String, CanonicalFault> {
    canonical::to_vec(parse(text), Profile::ReplayJsonl).map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn samples() {
    for (text, expected) in [
        (r#"{ "b" : 1.0 , "a" : [ ] }"#, r#"{"a":[],"b":1.0}"#),
        (r#"{"big":1e21,"ratio":1.0}"#, r#"{"big":1e21,"ratio":1.0}"#),
        (r#"[1e+16,1E2,0.000001,-0]"#, "[1e16,100.0,1e-6,-0.0]"),
        (r#"{"a\"b":1,"\u0061":2}"#, r#"{"a":2,"a\"b":1}"#),
        // By code point, where RFC 8785 has it the other way round.
        ("{\"\u{10000}\":1,\"\u{FFFF}\":2}", "{\"\u{FFFF}\":2,\"\u{10000}\":1}"),
        (r#""\/\u001F\ud83d\ude00""#, "\"/\\u001f\u{1F600}\""),
        ("18446744073709551615", "18446744073709551615"),
        ("{}", "{}"),
        (" null ", "null"),
    ] {
        assert_eq!(canonical_of(text).as_deref(), Ok(expected), "{text}");
        assert_eq!(replay_jsonl::is_canonical(parse(text)), text.trim() == expected, "{text}");
        assert!(replay_jsonl::is_canonical(parse(expected)), "{expected}");
        let digest = canonical::digest(parse(text), Profile::ReplayJsonl, &mut Hasher::new());
        assert_eq!(digest, Ok(Digest::of(expected.as_bytes())), "{text}");
    }
}

#[test]
fn numbers_without_a_text() {
    let fault = |path: &str, literal: &str, fault| CanonicalFault::Number {
        path: path.into(),
        literal: literal.into(),
        fault,
    };
    let inexact = fault("$.a[1]", "18446744073709551617", NumberFault::Inexact);
    assert_eq!(canonical_of(r#"{"a":[1,18446744073709551617]}"#), Err(inexact));
    assert_eq!(canonical_of("[1e999]"), Err(fault("$[0]", "1e999", NumberFault::Overflow)));
    let long = "9".repeat(5_000);
    assert_eq!(canonical_of(&long), Err(fault("$", &long[..60], NumberFault::Overflow)));
}

#[test]
fn members_left_out() {
    for (text, expected) in [
        (r#"{"b":{"x":1},"x":[{"x":2}],"a":1}"#, r#"{"a":1,"b":{"x":1}}"#),
        (r#"{"\u0078":1}"#, "{}"),
        (r#"{"a":1,"x":2}"#, r#"{"a":1}"#),
        (r#"["x"]"#, r#"["x"]"#),
    ] {
        let mut out = Vec::new();
        replay_jsonl::write_without(parse(text), &["x"], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected, "{text}");
    }
}

#[test]
fn depth_and_disorder_cost_no_more_than_length() {
    let depth = 900;
    let text = format!("{}null{}", r#"{"b":0,"a":"#.repeat(depth), "}".repeat(depth));
    let expected = format!("{}null{}", r#"{"a":"#.repeat(depth), r#","b":0}"#.repeat(depth));
    assert_eq!(canonical_of(&text), Ok(expected));
    let object = |numbers: &mut dyn Iterator<Item = usize>| {
        let members: Vec<String> = numbers.map(|n| format!("\"{n:06}\":{n}")).collect();
        format!("{{{}}}", members.join(","))
    };
    let shuffled = object(&mut (0..200_000).map(|n| (n * 7_919 + 13) % 200_000));
    assert_eq!(canonical_of(&shuffled), Ok(object(&mut (0..200_000))));
}

/// Returns the canonical form, computed another way.
fn oracle(value: &Json) -> String {
    match value {
        Json::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            let text: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{}:{}", serde_json::to_string(name).unwrap(), oracle(value)))
                .collect();
            format!("{{{}}}", text.join(","))
        }
        Json::Array(items) => format!("[{}]", items.iter().map(oracle).collect::<Vec<_>>().join(",")),
        Json::Number(number) if number.is_f64() => {
            ryu::Buffer::new().format_finite(number.as_f64().unwrap()).to_owned()
        }
        _ => value.to_string(),
    }
}

/// Documents whose numbers serde_json reads exactly, spelled in odd ways.
fn document() -> impl Strategy<Value = String> {
    let space = select(vec!["", "", " ", "\n\t", "\r"]);
    let number = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(|n| format!("{n:e}")),
        (-1_000_000..1_000_000_i32).prop_map(|n| format!("{:.3}", f64::from(n) / 1000.0)),
        Just("-0".to_owned()),
    ];
    let text = any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap());
    let escaped = any::<String>().prop_map(|text| {
        let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        format!("\"{units}\"")
    });
    let scalar =
        prop_oneof![number, text, escaped, select(vec!["true", "false", "null"]).prop_map(str::to_owned)];
    let leaf = (space.clone(), scalar).prop_map(|(space, scalar)| format!("{space}{scalar}{space}"));
    leaf.prop_recursive(4, 40, 6, move |inner| {
        let name = "[a-c\u{E000}-\u{E002}\u{10000}-\u{10002}\"\\\\\n]{0,3}";
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            (btree_map(name, inner, 0..7), any::<u8>()).prop_map(|(members, turn)| {
                let mut members: Vec<String> = members
                    .into_iter()
                    .map(|(name, value)| format!("{}:{value}", serde_json::to_string(&name).unwrap()))
                    .collect();
                let turn = usize::from(turn) % members.len().max(1);
                members.rotate_left(turn);
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn agrees_with_serde_json(text in document()) {
        let expected = oracle(&serde_json::from_str(&text).unwrap());
        prop_assert_eq!(canonical_of(&text), Ok(expected.clone()));
        // Canonical text stays as it is.
        prop_assert_eq!(canonical_of(&expected), Ok(expected.clone()));
        prop_assert!(replay_jsonl::is_canonical(parse(&expected)));
        prop_assert_eq!(replay_jsonl::is_canonical(parse(&text)), text.trim_ascii() == expected);
    }
}
