//! Generated records of odd values, and a long one.

use proptest::prelude::*;
use reenact_formats::FormatId;
use reenact_formats::Profile;
use reenact_json::{Limits, Value, canonical, print};
use reenact_run::convert::{ImportSource, restore};

use crate::corpus::{assert_round_trip, canonical_main, import_source};

fn json() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        "-?(0|[1-9][0-9]{0,19})".prop_map(|text| text),
        "-?(0|[1-9][0-9]{0,9})\\.[0-9]{1,17}",
        "-?[1-9](\\.[0-9]{1,12})?[eE][+-]?[0-9]{1,2}",
    ];
    let string = prop_oneof![any::<String>(), "[a-zA-Z:./\\\\ \r\n]{0,12}", "\\PC{0,40}"];
    let string = string.prop_map(|text| {
        let mut out = String::new();
        print::write_string(&text, &mut out);
        out
    });
    let word = prop::sample::select(vec!["null".to_owned(), "true".into(), "{}".into(), "[]".into()]);
    prop_oneof![number, string, word].prop_recursive(3, 24, 5, |inner| {
        let names = vec![
            "$text",
            "path",
            "tags",
            "created_at",
            "file",
            "a",
            "é",
            "\u{ff5e}",
            "\u{1f600}",
            "model",
            "tool",
        ];
        let member = prop::collection::btree_map(prop::sample::select(names), inner.clone(), 0..5);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            inner.prop_map(|value| format!("{{\"$text\":{value}}}")),
            member.prop_map(|members| {
                let members: Vec<String> =
                    members.into_iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
                format!("{{{}}}", members.join(", "))
            }),
        ]
    })
}

fn has_canonical_form(text: &str, profile: Profile) -> bool {
    Value::parse(text.as_bytes(), &Limits::default())
        .is_ok_and(|value| canonical::to_vec(value, profile).is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn documents_of_steps(around in json(), steps in prop::collection::vec(json(), 0..6), types in prop::collection::vec(0..8_usize, 6)) {
        const TYPES: [&str; 8] = ["prompt.render", "model.request", "model.response", "tool.request", "tool.response", "error.event", "output.final", "x"];
        let steps: Vec<String> = steps.iter().zip(&types).enumerate().map(|(at, (step, kind))| match kind {
            7 => step.clone(),
            kind => format!(r#"{{"type":"{}","id":"step-{at}","input":{step},"output":{step},"metadata":{{}}}}"#, TYPES[*kind]),
        }).collect();
        let text = format!(r#"{{"version":"1.0","x":{around},"payload":{{"run":{{"id":"r","timestamp":"2026-01-01T00:00:00Z","steps":[{}]}}}}}}"#, steps.join(" ,"));
        if has_canonical_form(&text, Profile::Rpk) {
            assert_round_trip(FormatId::Rpk, text.as_bytes(), &[]);
        }
    }

    #[test]
    fn sessions(around in json(), interactions in prop::collection::vec(json(), 0..6)) {
        let interactions: Vec<String> = interactions.iter().enumerate().map(|(at, value)| match at % 3 {
            0 => format!(r#"{{"response_content":{value},"i":{at},"prompt_hash":"x"}}"#),
            _ => value.clone(),
        }).collect();
        let text = format!(r#"{{"mode":"record","interactions":[{}],"stats":{around}}}"#, interactions.join(","));
        if has_canonical_form(&text, Profile::ModelIo) {
            assert_round_trip(FormatId::ModelIo, text.as_bytes(), &[]);
        }
    }

    #[test]
    fn replays(lines in prop::collection::vec(json(), 0..6)) {
        let text: String = lines.iter().filter(|line| !line.contains('\n')).enumerate().map(|(at, line)| {
            let tag = ["ToolCall", "ToolResult", "PlanStart", "Unknown"][at % 4];
            format!("{{\"event\":\"{tag}\",\"id\":\"{at}\",\"params\":{line}}}{}", ["\n", "\r\n", "\n\n"][at % 3])
        }).collect();
        if text.lines().all(|line| line.is_empty() || has_canonical_form(line, Profile::ReplayJsonl)) {
            assert_round_trip(FormatId::ReplayJsonl, text.as_bytes(), &[]);
        }
    }
}

#[test]
fn documents_without_items() {
    for text in ["{}", "[]", "1.0", "\"x\"", r#"{"payload":{"run":{"steps":{}}}}"#, r#"{"payload":7}"#] {
        if text.starts_with('{') {
            assert_round_trip(FormatId::Rpk, text.as_bytes(), &[]);
        }
        assert_round_trip(FormatId::ModelIo, text.as_bytes(), &[]);
    }
    assert_round_trip(FormatId::ReplayJsonl, b"", &[]);
    assert_round_trip(FormatId::ReplayJsonl, b"\n\n", &[]);
}

/// A run of a hundred thousand steps, each with values that RFC 8785 would change.
#[test]
fn a_long_run() {
    let steps: Vec<String> = (0..100_000)
        .map(|at| format!(r#"{{"type":"tool.request","id":"step-{at:06}","input":{{"n":{at}.0,"big":9007199254740993}},"output":null,"metadata":{{}}}}"#))
        .collect();
    let text = format!(r#"{{"version":"1.0","payload":{{"run":{{"steps":[{}]}}}}}}"#, steps.join(","));
    let artifact = import_source(&ImportSource::of(FormatId::Rpk, text.as_bytes())).unwrap();
    assert!(artifact.len() < 8 * text.len(), "{} of {}", artifact.len(), text.len());
    let restored = restore(&artifact, &Limits::default()).unwrap().unwrap();
    assert_eq!(restored.main_file, canonical_main(FormatId::Rpk, text.as_bytes()));
}
