//! Differences between an incoming request and a recorded one, in texts that are short and safe to print.
//!
//! Distance is counted in leaves of JSON: one changed date in a conversation of megabytes is a distance of one.

use std::borrow::Cow;

use reenact_json::diff::{self, DiffLimits};
use reenact_json::{Limits, Shown, Value, ValueKind};
use reenact_secrets::renumbered;

use reenact_wire::key::{MatchKeyParts, match_key_header_names, match_key_headers};

/// One difference between two requests. All texts are safe to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestDifference {
    /// Location of the difference: `provider`, `method`, `path`, `header anthropic-version`, `body`, or a JSON
    /// path such as `$.messages[3].content`.
    pub location: String,
    /// Recorded value; `None` if there was none.
    pub recorded: Option<String>,
    /// Value in the incoming request; `None` if there is none.
    pub requested: Option<String>,
}

/// All differences between two requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RequestDiff {
    /// First differences, at most [`MAX_LISTED`].
    pub(crate) listed: Vec<RequestDifference>,
    /// Number of differences, up to where counting stopped.
    pub(crate) distance: usize,
}

/// Largest number of differences that are listed.
const MAX_LISTED: usize = 20;

/// Largest body that is compared as JSON, in bytes. Larger ones are compared as bytes.
const MAX_JSON_BYTES: usize = 32 << 20;

/// Largest number of characters that are shown of a value.
const MAX_SHOWN_CHARS: usize = 60;

/// Number of those characters that precede the first difference of two long texts.
const CONTEXT_CHARS: usize = 16;

impl RequestDiff {
    /// Compares two masked requests; stops when `max_count` differences are counted.
    pub(crate) fn between(
        recorded: &MatchKeyParts<'_>,
        requested: &MatchKeyParts<'_>,
        max_count: usize,
    ) -> Self {
        let mut found = Self::default();
        found.compare_text("provider", Some(recorded.provider), Some(requested.provider));
        found.compare_text("method", Some(recorded.method), Some(requested.method));
        let path = |parts: &MatchKeyParts<'_>| {
            String::from_utf8_lossy(&renumbered(parts.path.as_bytes())).into_owned()
        };
        found.compare_text("path", Some(&path(recorded)), Some(&path(requested)));
        found.compare_headers(&match_key_headers(recorded.headers), &match_key_headers(requested.headers));
        found.compare_bodies(&renumbered(recorded.body), &renumbered(requested.body), max_count);
        found
    }

    fn add(&mut self, at: String, recorded: Option<String>, requested: Option<String>) {
        if self.listed.len() < MAX_LISTED {
            self.listed.push(RequestDifference { location: at, recorded, requested });
        }
    }

    /// Compares two texts that are one leaf.
    fn compare_text(&mut self, at: &str, recorded: Option<&str>, requested: Option<&str>) {
        if recorded != requested {
            self.distance += 1;
            let (recorded, requested) = quoted_at_difference(recorded, requested);
            self.add(Shown::new(at).to_string(), recorded, requested);
        }
    }

    /// Compares the headers that are part of a match key. Values of one name are joined in their order and
    /// compared as one leaf.
    fn compare_headers(&mut self, recorded: &[(String, String)], requested: &[(String, String)]) {
        for name in match_key_header_names() {
            let values = |headers: &[(String, String)]| {
                let values = headers.iter().filter(|(known, _)| known == name);
                let values: Vec<&str> = values.map(|(_, value)| value.as_str()).collect();
                (!values.is_empty()).then(|| values.join(", "))
            };
            self.compare_text(
                &format!("header {name}"),
                values(recorded).as_deref(),
                values(requested).as_deref(),
            );
        }
    }

    /// Compares two bodies leaf by leaf if both are JSON, else as bytes. Bodies that have equal values but
    /// other bytes differ in their spelling.
    fn compare_bodies(&mut self, recorded: &[u8], requested: &[u8], max_count: usize) {
        if recorded == requested {
            return;
        }
        let (Some(left), Some(right)) = (parse_json(recorded), parse_json(requested)) else {
            self.distance += 1;
            let offset = recorded.iter().zip(requested).take_while(|(a, b)| a == b).count();
            let (recorded, requested) =
                (String::from_utf8_lossy(recorded), String::from_utf8_lossy(requested));
            let (recorded, requested) = quoted_at_difference(Some(&recorded), Some(&requested));
            return self.add(format!("body, from byte {offset}"), recorded, requested);
        };
        let bounds =
            DiffLimits { max_listed: MAX_LISTED, max_counted: max_count.saturating_sub(self.distance) };
        let found = diff::differences(left, right, bounds);
        self.distance += found.count;
        for difference in found.listed {
            let (recorded, requested) = shown_values(difference.left, difference.right);
            self.add(difference.path, recorded, requested);
        }
        if found.count == 0 && bounds.max_counted > 0 {
            self.distance += 1;
            let (recorded, requested) =
                (String::from_utf8_lossy(recorded), String::from_utf8_lossy(requested));
            let (recorded, requested) = quoted_at_difference(Some(&recorded), Some(&requested));
            self.add("body, the same values in another spelling".into(), recorded, requested);
        }
    }
}

fn parse_json(body: &[u8]) -> Option<Value<'_>> {
    Value::parse(body, &Limits { max_bytes: MAX_JSON_BYTES, ..Limits::default() }).ok()
}

/// Returns two values as text. Of two strings, the part around their first difference.
fn shown_values(
    recorded: Option<Value<'_>>,
    requested: Option<Value<'_>>,
) -> (Option<String>, Option<String>) {
    let text = |value: Value<'_>| String::from_utf8_lossy(value.text()).into_owned();
    let is_string = |value: Option<Value<'_>>| value.is_none_or(|value| value.kind() == ValueKind::String);
    if is_string(recorded) && is_string(requested) {
        let string = |value: Option<Value<'_>>| value.and_then(|value| value.string().map(Cow::into_owned));
        return quoted_at_difference(string(recorded).as_deref(), string(requested).as_deref());
    }
    let shown = |value: Value<'_>| abbreviated(&text(value));
    (recorded.map(shown), requested.map(shown))
}

/// Returns two texts in quotes. If one is long, both are cut to the part around their first difference.
fn quoted_at_difference(recorded: Option<&str>, requested: Option<&str>) -> (Option<String>, Option<String>) {
    let (a, b) = (recorded.unwrap_or_default(), requested.unwrap_or_default());
    let is_long = |text: &str| text.chars().nth(MAX_SHOWN_CHARS).is_some();
    if !is_long(a) && !is_long(b) {
        let quoted = |text: &str| format!("\"{}\"", Shown::whole(text));
        return (recorded.map(quoted), requested.map(quoted));
    }
    let differs_at = a.char_indices().zip(b.chars()).find(|((_, a), b)| a != b);
    let differs_at = differs_at.map_or(a.len().min(b.len()), |((at, _), _)| at);
    let cut = |text: &str| {
        let from = text[..differs_at].char_indices().rev().nth(CONTEXT_CHARS - 1).map_or(0, |(at, _)| at);
        let to = text[from..].char_indices().nth(MAX_SHOWN_CHARS).map_or(text.len(), |(at, _)| from + at);
        let (before, behind) = (if from > 0 { "…" } else { "" }, if to < text.len() { "…" } else { "" });
        format!("\"{before}{}{behind}\"", Shown::whole(&text[from..to]))
    };
    (recorded.map(cut), requested.map(cut))
}

/// Returns the beginning of a value; of a longer one also its length in bytes.
fn abbreviated(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((cut, _)) => format!("{}… ({} bytes)", Shown::whole(&text[..cut]), text.len()),
        None => Shown::whole(text).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts<'a>(path: &'a str, headers: &'a [(String, String)], body: &'a str) -> MatchKeyParts<'a> {
        MatchKeyParts { provider: "openai", method: "POST", path, headers, body: body.as_bytes() }
    }

    /// Returns `location: recorded → asked` of the differences between two bodies, and the distance.
    fn bodies(recorded: &str, requested: &str) -> (Vec<String>, usize) {
        let found = RequestDiff::between(&parts("/", &[], recorded), &parts("/", &[], requested), usize::MAX);
        let side = |side: &Option<String>| side.clone().unwrap_or("-".into());
        let line = |found: &RequestDifference| {
            format!("{}: {} → {}", found.location, side(&found.recorded), side(&found.requested))
        };
        (found.listed.iter().map(line).collect(), found.distance)
    }

    fn one(recorded: &str, requested: &str) -> String {
        let (lines, distance) = bodies(recorded, requested);
        assert_eq!((lines.len(), distance), (1, 1), "{lines:?}");
        lines.concat()
    }

    #[test]
    fn short_values_are_shown_whole() {
        assert_eq!(one(r#"{"a":"x"}"#, r#"{"a":"y"}"#), r#"$.a: "x" → "y""#);
        assert_eq!(one(r#"{"a":1}"#, r#"{"a":true}"#), "$.a: 1 → true");
        assert_eq!(one(r#"{"a":1}"#, r#"{"a":"1"}"#), r#"$.a: 1 → "1""#);
        assert_eq!(one("{}", r#"{"a":"\u001b[2J"}"#), r#"$.a: - → "\u{1b}[2J""#);
        assert_eq!(one(r#"{"a":[]}"#, "{}"), "$.a: [] → -");
    }

    #[test]
    fn long_texts_show_where_they_part() {
        let long = |middle: &str| format!(r#"{{"a":"{}{middle}{}"}}"#, "é".repeat(100), "z".repeat(100));
        assert_eq!(
            one(&long("10:31"), &long("10:32")),
            format!("$.a: \"…{0}10:31{1}…\" → \"…{0}10:32{1}…\"", "é".repeat(12), "z".repeat(43))
        );
        // One text that goes on where the other ends.
        let (short, longer) = (format!(r#""{}""#, "a".repeat(70)), format!(r#""{}b""#, "a".repeat(70)));
        assert_eq!(one(&short, &longer), format!("$: \"…{0}\" → \"…{0}b\"", "a".repeat(16)));
        let list = format!("[[{}]]", "1,".repeat(50) + "1");
        let (lines, distance) = bodies("[]", &list);
        assert_eq!((lines.concat(), distance), (format!("$[0]: - → [{}1… (103 bytes)", "1,".repeat(29)), 51));
    }

    #[test]
    fn spelling_and_bytes() {
        assert_eq!(
            one(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#),
            r#"body, the same values in another spelling: "{"a":1,"b":2}" → "{"b":2,"a":1}""#
        );
        assert_eq!(one("--b1\nx", "--b2\nx"), r#"body, from byte 3: "--b1\u{a}x" → "--b2\u{a}x""#);
        assert_eq!(one("", "{}"), r#"body, from byte 0: "" → "{}""#);
    }

    #[test]
    fn everything_else_that_makes_a_key() {
        let beta = [("openai-beta".to_owned(), "x".to_owned()), ("other".to_owned(), "1".to_owned())];
        let requested =
            MatchKeyParts { provider: "anthropic", method: "GET", ..parts("/b?k=[masked:q:9]", &[], "") };
        let found = RequestDiff::between(&parts("/a?k=[masked:q:4]", &beta, ""), &requested, usize::MAX);
        let difference = |at: &str, recorded: &str, requested: Option<&str>| RequestDifference {
            location: at.into(),
            recorded: Some(format!("\"{recorded}\"")),
            requested: requested.map(|requested| format!("\"{requested}\"")),
        };
        let expected = [
            difference("provider", "openai", Some("anthropic")),
            difference("method", "POST", Some("GET")),
            difference("path", "/a?k=[masked:q:1]", Some("/b?k=[masked:q:1]")),
            difference("header openai-beta", "x", None),
        ];
        assert_eq!((found.listed.as_slice(), found.distance), (expected.as_slice(), 4));
    }

    #[test]
    fn marks_are_compared_by_what_they_stand_for() {
        assert_eq!(bodies("\"[masked:k:4]\"", "\"[masked:k:1]\"").1, 0);
        assert_eq!(bodies("[\"[masked:k:4]\",\"[masked:k:4]\"]", "[\"[masked:k:1]\",\"[masked:k:2]\"]").1, 1);
    }

    #[test]
    fn at_most_twenty_are_listed() {
        let list = |from: u32| {
            format!("[{}]", (from..from + 500).map(|n| n.to_string()).collect::<Vec<_>>().join(","))
        };
        let (lines, distance) = bodies(&list(0), &list(1000));
        assert_eq!((lines.len(), distance, lines[19].as_str()), (20, 500, "$[19]: 19 → 1019"));
        let found = RequestDiff::between(&parts("/", &[], &list(0)), &parts("/", &[], &list(1000)), 7);
        assert_eq!(found.distance, 7);
    }

    /// A body of megabytes with one changed word has a distance of one.
    #[test]
    fn one_change_in_five_megabytes() {
        let message =
            r#"{"role":"user","content":[{"type":"text","text":"some \"words\" of a long conversation"}]}"#;
        let history = vec![message; 60_000].join(",");
        let body = |word: &str| {
            format!(r#"{{"model":"m","messages":[{history},{{"content":"{word}"}},{history}]}}"#)
        };
        assert!(history.len() > 5_000_000);
        assert_eq!(
            one(&body("Monday"), &body("Friday")),
            r#"$.messages[60000].content: "Monday" → "Friday""#
        );
    }
}
