//! Nothing is left of a secret that is cut anywhere, in a stream of any layout.
#![allow(clippy::unwrap_used)]

mod support;

use proptest::collection::vec;
use proptest::prelude::*;
use reenact_secrets::{Redactor, RulePack};
use std::sync::LazyLock;
use support::{SEEDS, made, true_cases};

static CASES: LazyLock<Vec<(String, String)>> = LazyLock::new(true_cases);

/// Events with `@` for a string, each with an event for another text that is sent in between.
const SHAPES: [[&str; 2]; 8] = [
    [
        r#"data: {"id":"chatcmpl-1","model":"m","choices":[{"index":0,"delta":{"content":"@"},"finish_reason":null}]}"#,
        r#"data: {"id":"chatcmpl-1","model":"m","choices":[{"index":1,"delta":{"content":"@"},"finish_reason":null}]}"#,
    ],
    [
        r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"@"}}]}}]}"#,
        r#"data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"@"},"index":1}]}}]}"#,
    ],
    [
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"@"}}"#,
        r#"data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"@"}}"#,
    ],
    [
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"@"}}"#,
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"@"}}"#,
    ],
    [
        r#"data: {"type":"response.output_text.delta","sequence_number":3,"output_index":0,"delta":"@"}"#,
        r#"data: {"type":"response.output_text.delta","sequence_number":4,"output_index":1,"delta":"@"}"#,
    ],
    [r#"data: {"delta":"@","item_id":"a"}"#, r#"data: {"delta":"@","item_id":"b"}"#],
    [r#"{"message":{"content":"@"}}"#, r#"{"message":{"thinking":"@"}}"#],
    [r#"data: {"parts":[{"text":"@"}]}"#, ": comment"],
];

/// Returns a text as a JSON string holds it; some characters that need no escape get one.
fn quoted(text: &str, odd: &[bool]) -> String {
    let is_odd = |at: usize| odd.get(at % odd.len().max(1)) == Some(&true);
    let escaped = text.chars().enumerate().map(|(at, character)| match character {
        '"' | '\\' => format!("\\{character}"),
        '\n' => "\\n".into(),
        '/' if is_odd(at) => "\\/".into(),
        _ if character < ' ' || is_odd(at) => {
            character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }
        _ => character.into(),
    });
    escaped.collect()
}

/// Returns the strings in the place of `@`, joined and with their escapes decoded.
fn joined_strings(stream: &str, [shape, _]: [&str; 2]) -> String {
    let (before, behind) = shape.split_once('@').unwrap();
    let pieces = stream.lines().filter_map(|line| line.strip_prefix(before)?.strip_suffix(behind));
    let mut said = String::new();
    let mut rest: &str = &pieces.collect::<String>();
    while let Some((plain, escape)) = rest.split_once('\\') {
        said.push_str(plain);
        let (character, length) = match escape.as_bytes()[0] {
            b'n' => ('\n', 1),
            b'u' => (char::from_u32(u32::from_str_radix(&escape[1..5], 16).unwrap()).unwrap(), 5),
            other => (char::from(other), 1),
        };
        said.push(character);
        rest = &escape[length..];
    }
    said + rest
}

/// Returns the pieces of a text that is cut at some places.
fn pieces<'t>(text: &'t str, cuts: &[usize]) -> impl Iterator<Item = &'t str> {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| starts[cut % starts.len()]).collect();
    cuts.extend([0, text.len()]);
    cuts.sort_unstable();
    (1..cuts.len()).map(move |at| &text[cuts[at - 1]..cuts[at]])
}

/// Returns a stream that sends a text in pieces, with another one in between.
fn stream(shape: [&str; 2], text: &str, cuts: &[usize], odd: &[bool], line_end: &str) -> String {
    let mut stream = String::new();
    for (at, piece) in pieces(text, cuts).enumerate() {
        stream += &shape[0].replace('@', &quoted(piece, odd));
        stream += &line_end.repeat(2);
        if at % 3 == 1 {
            stream += &shape[1].replace('@', "meanwhile ");
            stream += &line_end.repeat(2);
        }
    }
    stream + "data: [DONE]" + &line_end.repeat(2)
}

/// Removes the marks of a text: their rules' names are words that a secret may contain, too.
fn without_marks(text: &str) -> String {
    let mut pieces = text.split("[masked:");
    let first = pieces.next().unwrap().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once(']').unwrap().1)
}

fn redactor() -> Redactor {
    let mut redactor = Redactor::new(RulePack::standard());
    redactor.add_known("environment", KNOWN.as_bytes());
    redactor
}

/// A value that JSON must spell with escapes.
const KNOWN: &str = "known \"odd\"\\value/é\n+1";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn nothing_of_a_secret_stays(
        case in 0..CASES.len(),
        seed in 0..SEEDS,
        shape in 0..SHAPES.len(),
        cuts in vec(any::<usize>(), 0..12),
        odd in vec(prop::bool::weighted(0.1), 1..7),
        line_end in prop::sample::select(vec!["\n", "\r\n"]),
        before in "[ -~]{0,10}",
    ) {
        let made = made(&CASES[case].1, seed);
        let text = format!("{before}\n{}\n", made.text);
        let found = RulePack::standard().scan(text.as_bytes());
        let stream = stream(SHAPES[shape], &text, &cuts, &odd, line_end);
        let redacted = redactor().redact(stream.as_bytes()).bytes.into_owned();
        let redacted = String::from_utf8(redacted).unwrap();
        let told = joined_strings(&redacted, SHAPES[shape]);
        // The same is removed as of the whole text, and what a piece alone looks like: `X-A`, `mz-Credential=…`.
        let removed = |text: &str| -> usize {
            redactor().redact(text.as_bytes()).masked_spans.iter().map(|masked| masked.source_span.len()).sum()
        };
        let kept = text.len().saturating_sub(removed(&text) + pieces(&text, &cuts).map(removed).sum::<usize>());
        let marks = told.matches("[masked:").count();
        prop_assert!(marks > 0 && told.len() >= kept, "{}", told);
        let (bare, said) = (without_marks(&redacted), without_marks(&told));
        for finding in found {
            let secret = &text.as_bytes()[finding.span];
            for part in secret.windows(8.min(secret.len())) {
                // Words that also stand elsewhere are no part of the secret.
                let times = |text: &[u8]| text.windows(part.len()).filter(|there| *there == part).count();
                if times(text.as_bytes()) == times(secret) {
                    prop_assert_eq!(times(bare.as_bytes()), 0, "{}", redacted);
                    prop_assert_eq!(times(said.as_bytes()), 0, "{}", told);
                }
            }
        }
        // Nothing else was removed.
        let kept = redacted.matches("meanwhile ").count();
        prop_assert_eq!(kept, stream.matches("meanwhile ").count(), "{}", redacted);
    }

    #[test]
    fn nothing_of_a_known_value_stays(
        shape in 0..SHAPES.len(),
        cuts in vec(any::<usize>(), 0..12),
        odd in vec(any::<bool>(), 1..5),
        // A backslash before the value would begin an escape, and be masked too.
        before in "[ -\\[\\]-~]{0,10}",
        behind in "[ -~]{0,10}",
    ) {
        let text = format!("{before}{KNOWN}{behind}");
        let stream = stream(SHAPES[shape], &text, &cuts, &odd, "\n");
        let redacted = redactor().redact(stream.as_bytes()).bytes.into_owned();
        let told = joined_strings(&String::from_utf8(redacted).unwrap(), SHAPES[shape]);
        prop_assert_eq!(told, format!("{before}[masked:environment:1]{behind}"));
    }

    #[test]
    fn twice_is_once(
        case in 0..CASES.len(),
        seed in 0..SEEDS,
        shape in 0..SHAPES.len(),
        cuts in vec(any::<usize>(), 0..8),
        tail in 0_usize..60,
    ) {
        let text = made(&CASES[case].1, seed).text;
        let stream = stream(SHAPES[shape], &text, &cuts, &[false], "\n");
        let mut redactor = redactor();
        let cut = &stream.as_bytes()[..stream.len().saturating_sub(tail)];
        let once = redactor.redact(cut).bytes.into_owned();
        let twice = redactor.redact(&once).bytes.into_owned();
        prop_assert_eq!(String::from_utf8_lossy(&twice), String::from_utf8_lossy(&once));
    }

    #[test]
    fn no_stream_is_too_odd(
        pieces in vec(prop_oneof![
            prop::sample::select(vec![
                "data:", "data: ", "{", "}", "[", "]", "\"", "\\", ":", ",", "\n", "\r", "\r\n", "\"index\":1", "\\u00",
                "known \\\"odd\\\"\\\\value/é", "sk-proj-", "null", "\u{feff}", "event: x\n", "\"a\":", "ghp_",
            ]).prop_map(String::from),
            "[ -~]{0,8}",
        ], 0..60),
    ) {
        let text = format!("data: {}", pieces.concat());
        let redacted = redactor().redact(text.as_bytes());
        let mut rebuilt = Vec::new();
        let mut from = 0;
        for cut in &redacted.masked_spans {
            rebuilt.extend_from_slice(&text.as_bytes()[from..cut.source_span.start]);
            prop_assert_eq!(rebuilt.len(), cut.result_span.start);
            rebuilt.extend_from_slice(&redacted.bytes[cut.result_span.clone()]);
            from = cut.source_span.end;
        }
        rebuilt.extend_from_slice(&text.as_bytes()[from..]);
        prop_assert_eq!(&rebuilt[..], &redacted.bytes[..]);
        let positions: Vec<usize> = (0..=text.len()).map(|at| redacted.result_offset(at)).collect();
        prop_assert!(positions.is_sorted());
        prop_assert_eq!(positions.last(), Some(&redacted.bytes.len()));
    }
}
