//! Properties of redaction that hold for every text.

mod support;

use proptest::collection::vec;
use proptest::prelude::*;
use reenact_secrets::{Redactor, RulePack, renumbered};
use std::sync::LazyLock;
use support::{SEEDS, made, true_cases};

static CASES: LazyLock<Vec<(String, String)>> = LazyLock::new(true_cases);

/// Pieces from which hostile texts are put together.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => (0..CASES.len(), any::<u64>())
            .prop_map(|(case, seed)| made(&CASES[case].1, seed).text.into_bytes()),
        3 => "[ -~]{0,12}".prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..12),
        2 => prop::sample::select(vec![
            "[masked:",
            "[masked:a:1]",
            "[masked:token:",
            ":2]",
            "]",
            "\\",
            "\"",
            "\\\"",
            "\\n",
            "%22",
            "key",
            "token is ",
            "password=",
            "api_key: ",
            "sk-",
            "eyJ",
            "://",
            ":",
            "@",
            "-----BEGIN ",
            "PRIVATE KEY-----",
            "-----END ",
            "Bearer ",
            "known-value-1",
            "known/value \"2\"",
            "=",
            ",",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ]
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    vec(piece(), 0..12).prop_map(|pieces| pieces.concat())
}

fn redactor() -> Redactor {
    let mut redactor = Redactor::new(RulePack::standard());
    redactor.add_known("environment", b"known-value-1");
    redactor.add_known("environment", b"known/value \"2\"");
    redactor
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_secret_survives(
        case in 0..CASES.len(),
        seed in 0..SEEDS,
        before in "[ -~]{0,20}",
        after in "[ -~]{0,20}",
    ) {
        let made = made(&CASES[case].1, seed);
        let text = format!("{before}\n{}\n{after}", made.text);
        let redacted = redactor().redact(text.as_bytes());
        for span in made.spans {
            let secret = made.text[span].as_bytes();
            prop_assert!(!contains(&redacted.bytes, secret), "{}", String::from_utf8_lossy(&redacted.bytes));
        }
    }

    #[test]
    fn known_values_never_survive(text in text()) {
        let redacted = redactor().redact(&text);
        prop_assert!(!contains(&redacted.bytes, b"known-value-1"));
        prop_assert!(!contains(&redacted.bytes, b"known/value \"2\""));
    }

    #[test]
    fn twice_is_once(text in text()) {
        let mut redactor = redactor();
        let once = redactor.redact(&text).bytes.into_owned();
        let twice = redactor.redact(&once).bytes.into_owned();
        prop_assert_eq!(String::from_utf8_lossy(&twice), String::from_utf8_lossy(&once));
    }

    #[test]
    fn cuts_tell_the_whole_difference(text in text()) {
        let redacted = redactor().redact(&text);
        let mut rebuilt = Vec::new();
        let mut from = 0;
        for cut in &redacted.masked_spans {
            rebuilt.extend_from_slice(&text[from..cut.source_span.start]);
            prop_assert_eq!(rebuilt.len(), cut.result_span.start);
            rebuilt.extend_from_slice(&redacted.bytes[cut.result_span.clone()]);
            from = cut.source_span.end;
        }
        rebuilt.extend_from_slice(&text[from..]);
        prop_assert_eq!(&rebuilt[..], &redacted.bytes[..]);
    }

    #[test]
    fn positions_go_forward_and_reach_the_end(text in text()) {
        let redacted = redactor().redact(&text);
        let positions: Vec<usize> = (0..=text.len()).map(|at| redacted.result_offset(at)).collect();
        prop_assert!(positions.is_sorted());
        prop_assert_eq!(positions.first(), Some(&0));
        prop_assert_eq!(positions.last(), Some(&redacted.bytes.len()));
    }

    #[test]
    fn findings_are_in_order_and_apart(text in text()) {
        let mut end = 0;
        for finding in RulePack::standard().scan(&text) {
            prop_assert!(end <= finding.span.start && !finding.span.is_empty());
            end = finding.span.end;
        }
        prop_assert!(end <= text.len());
    }

    #[test]
    fn renumbering_twice_is_renumbering_once(text in text()) {
        let once = renumbered(&text).into_owned();
        let twice = renumbered(&once).into_owned();
        prop_assert_eq!(twice, once);
    }

    /// Two runs that meet the same secrets in another order agree after renumbering.
    #[test]
    fn renumbering_forgets_what_came_before(text in text(), earlier in text()) {
        // Marks of the text itself keep their numbers, so they are spoiled first.
        let text = String::from_utf8_lossy(&text).replace("[masked:", "[masked ").into_bytes();
        let fresh = redactor().redact(&text).bytes.into_owned();
        let mut used = redactor();
        used.redact(&earlier);
        let later = used.redact(&text).bytes.into_owned();
        prop_assert_eq!(renumbered(&fresh).into_owned(), renumbered(&later).into_owned());
    }

    #[test]
    fn json_stays_json(
        values in vec("\\PC{0,20}|n?known-value-1|known/value \"2\"", 0..6),
        case in 0..CASES.len(),
        seed: u64,
    ) {
        let secret = made(&CASES[case].1, seed).text;
        let strings: Vec<String> = values.iter().chain([&secret]).map(|value| quoted(value)).collect();
        let text = format!("[{}]", strings.join(","));
        let redacted = redactor().redact(text.as_bytes()).bytes.into_owned();
        prop_assert!(is_array_of_strings(&redacted), "{}", String::from_utf8_lossy(&redacted));
    }
}

fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|character| match character {
            '"' | '\\' => format!("\\{character}"),
            '\n' => "\\n".into(),
            _ if character < ' ' => format!("\\u{:04x}", u32::from(character)),
            _ => character.into(),
        })
        .collect();
    format!("\"{escaped}\"")
}

/// Returns true if the bytes are `["…","…"]` with valid JSON escapes.
fn is_array_of_strings(text: &[u8]) -> bool {
    let Some(mut rest) = text.strip_prefix(b"[") else { return false };
    loop {
        let Some(mut inside) = rest.strip_prefix(b"\"") else { return false };
        loop {
            inside = match inside {
                [b'"', after @ ..] => break rest = after,
                [b'\\', b'u', a, b, c, d, after @ ..]
                    if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) =>
                {
                    after
                }
                [b'\\', b'"' | b'\\' | b'/' | b'n' | b'r' | b't' | b'b' | b'f', after @ ..] => after,
                [b'\\', ..] | [] => return false,
                [_, after @ ..] => after,
            };
        }
        match rest {
            b"]" => return true,
            [b',', after @ ..] => rest = after,
            _ => return false,
        }
    }
}
