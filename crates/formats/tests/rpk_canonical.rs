//! Every published vector of the `.rpk` forms, to the byte, and properties of any document.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::Path;

use proptest::prelude::*;
use reenact_formats::Profile;
use reenact_formats::rpk::canonical::RpkCanonicalWriter;
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, Digest, Limits, NumberFault, Scanner, SyntaxFault, Value, canonical};
use serde_json::Value as Json;

fn rows(file: &str) -> Vec<Json> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/rpk").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the form of a text, or the reason why it has none.
fn form(text: &str, profile: Profile) -> Result<String, String> {
    let value = Value::parse(text.as_bytes(), &Limits::default()).map_err(|error| error.to_string())?;
    let bytes = canonical::to_vec(value, profile).map_err(|fault| fault.to_string())?;
    Ok(String::from_utf8(bytes).unwrap())
}

/// Returns both forms, written in one pass.
fn both(text: &str) -> Result<(String, String, bool), CanonicalFault> {
    let mut scanner = Scanner::new(text.as_bytes(), &Limits::default()).unwrap().with_code_point_order();
    scanner.value().unwrap();
    let scanned = scanner.into_scanned();
    let (mut whole, mut stripped) = (Vec::new(), Vec::new());
    let mut walk = RpkCanonicalWriter::new(&scanned, &mut whole, &mut stripped);
    walk.write_value(0)?;
    let is_respelled = walk.is_respelled();
    Ok((String::from_utf8(whole).unwrap(), String::from_utf8(stripped).unwrap(), is_respelled))
}

#[test]
fn every_vector() {
    let files = [
        ("canonical.jsonl", 146),
        ("canonical_floats.jsonl", 435),
        ("canonical_fuzz.jsonl", 359),
        ("canonical_paths.jsonl", 266),
        ("canonical_timestamps.jsonl", 517),
    ];
    for (file, count) in files {
        let rows = rows(file);
        assert_eq!(rows.len(), count, "{file}");
        for row in rows {
            let input = row["input_text"].as_str().unwrap();
            let whole = form(input, Profile::Rpk);
            if row.get("canonical").is_none() || row.get("refused").is_some() {
                assert!(whole.is_err(), "{file}: {input} gives {whole:?}");
                continue;
            }
            let expected = row["canonical"].as_str().unwrap();
            assert_eq!(whole.as_deref(), Ok(expected), "{file}: {input}");
            let digest = Digest::of(expected.as_bytes()).to_string();
            assert_eq!(row["sha256"], digest.as_str(), "{file}: {input}");
            let stripped = row.get("canonical_stripped").map_or(expected, |text| text.as_str().unwrap());
            assert_eq!(form(input, Profile::RpkStep).as_deref(), Ok(stripped), "{file}: {input}");
            let (one, other, _) = both(input).unwrap();
            assert_eq!((one.as_str(), other.as_str()), (expected, stripped), "{file}: {input}");
        }
    }
}

#[test]
fn refusals_say_what_and_where() {
    let fault = |text: &str| {
        let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
        canonical::to_vec(value, Profile::Rpk).unwrap_err()
    };
    let number = |path: &str, literal: &str, fault| CanonicalFault::Number {
        path: path.into(),
        literal: literal.into(),
        fault,
    };
    assert_eq!(fault(r#"{"a":[1,1e400]}"#), number("$.a[1]", "1e400", NumberFault::Overflow));
    let digits = "7".repeat(5_000);
    assert_eq!(
        fault(&format!(r#"{{"n":{digits}}}"#)),
        number("$.n", &digits[..60], NumberFault::TooLong { digits: 5_000 })
    );
    assert_eq!(
        fault(r#"{"x":{"created_at":"0001-01-01T00:00:00+05:00"}}"#),
        CanonicalFault::Time { path: "$.x.created_at".into(), text: "0001-01-01T00:00:00+05:00".into() }
    );
    let syntax = |text: &[u8]| Value::parse(text, &Limits::default()).map(|_| ()).unwrap_err().fault;
    assert_eq!(syntax(br#"{"a":1,"\u0061":2}"#), SyntaxFault::DuplicateName { name: "a".into() });
    assert_eq!(syntax(br#"{"a":"\ud800"}"#), SyntaxFault::LoneSurrogate);
    assert_eq!(syntax(&b"[".repeat(100_000)), SyntaxFault::TooDeep { limit: 512 });
}

#[test]
fn respelling_is_noticed() {
    let is_respelled = |text: &str| both(text).unwrap().2;
    for as_written in [
        r#"{ "a" : [1, 1.5, "x\ny\u00e9"],"path":"/a/b", "tags" : ["a","b"], "timestamp":"2026-02-21T14:00:00.000000Z"}"#,
        r#"{"pid":1,"timestamp":"yesterday"}"#,
    ] {
        assert!(!is_respelled(as_written), "{as_written}");
    }
    for respelled in [
        r#"{"b":1,"a":2}"#,
        r#"{"a":1.50}"#,
        r#"{"a":-0}"#,
        r#"{"a":"\r"}"#,
        r#"{"a":"é"}"#,
        r#"{"\u0061":1}"#,
        r#"{"path":"a//b"}"#,
        r#"{"tags":["b","a"]}"#,
        r#"{"tags":[{"n":1.50}]}"#,
        r#"{"timestamp":"2026-02-21T14:00:00Z"}"#,
    ] {
        assert!(is_respelled(respelled), "{respelled}");
    }
}

/// Documents in which every rule of the form occurs.
fn document() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec![
        "null",
        "true",
        "0",
        "7",
        "12345678901234567890",
        "1.50",
        "0.30000000000000004",
        "1e-7",
        "\"\"",
        "\"a\\r\\nb\"",
        "\"C:\\\\x\\\\..\\\\y\"",
        "\"/b\"",
        "\"2026-02-21T14:00:00+05:30\"",
        "\"é世😀\"",
        "\"\\u00E9\\/\"",
    ]);
    let space = prop::sample::select(vec!["", "", " ", "\n    ", "\r\n\t         "]);
    let leaf = (space.clone(), scalar).prop_map(|(space, scalar)| format!("{space}{scalar}{space}"));
    leaf.prop_recursive(5, 60, 6, move |inner| {
        let name = prop::sample::select(vec![
            "a",
            "tags",
            "labels",
            "pid",
            "Request_ID",
            "path",
            "x_dir",
            "timestamp",
            "captured_at",
            "\\u0062",
            "é",
            "\u{FFFF}",
            "\u{10000}",
            "file",
        ]);
        let member = (name, inner.clone(), space.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(member, 0..9).prop_map(|members| {
                let mut seen = Vec::new();
                let members: Vec<String> = members
                    .into_iter()
                    .filter(|(name, ..)| {
                        !seen.contains(name) && {
                            seen.push(*name);
                            true
                        }
                    })
                    .map(|(name, value, space)| format!("{space}\"{name}\"{space}:{value}"))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// The rules once more, over a tree, as the notes on the format state them: no shared code but the leaves' own.
fn by_tree(value: &Json, top: Option<&str>, stripped: bool) -> String {
    let lowered = |name: &str| name.to_lowercase();
    match value {
        Json::Object(members) => {
            let volatile = ["pid", "request_id", "captured_at"];
            let mut names: Vec<&String> = members.keys().collect();
            names.sort();
            let members: Vec<String> = names
                .into_iter()
                .filter(|name| !stripped || !volatile.contains(&lowered(name).as_str()))
                .map(|name| {
                    let spelled = form(&serde_json::to_string(name).unwrap(), Profile::Rpk).unwrap();
                    format!("{spelled}:{}", by_tree(&members[name], Some(name), stripped))
                })
                .collect();
            format!("{{{}}}", members.join(","))
        }
        Json::Array(items) => {
            let mut items: Vec<String> =
                items.iter().map(|item| by_tree(item, Some("[]"), stripped)).collect();
            if top.is_some_and(|top| ["tags", "labels"].contains(&lowered(top).as_str())) {
                items.sort();
            }
            format!("[{}]", items.join(","))
        }
        leaf => {
            let name = serde_json::to_string(top.unwrap_or("x")).unwrap();
            let text = form(&format!("{{{name}:{leaf}}}"), Profile::Rpk).unwrap();
            let (_, text) = text.split_once(':').unwrap();
            text.strip_suffix('}').unwrap().to_owned()
        }
    }
}

proptest! {
    #[test]
    fn the_walk_keeps_the_rules(text in document()) {
        let (whole, stripped, is_respelled) = both(&text).unwrap();
        // serde_json reads -0 and integers beyond 64 bits as floats: the vectors hold those.
        let tree: Json = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&whole, &by_tree(&tree, None, false));
        prop_assert_eq!(&stripped, &by_tree(&tree, None, true));
        prop_assert_eq!(&form(&text, Profile::Rpk).unwrap(), &whole);
        prop_assert_eq!(&form(&text, Profile::RpkStep).unwrap(), &stripped);
        let squeezed: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        prop_assert_eq!(is_respelled, squeezed != whole);
        let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
        let digest = canonical::digest(value, Profile::RpkStep, &mut Hasher::new()).unwrap();
        prop_assert_eq!(digest, Digest::of(stripped.as_bytes()));
    }
}
