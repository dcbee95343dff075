//! Differences between an incoming request and a recorded one, in texts that are safe to print.
//!
//! Distance is counted in leaves of JSON: one changed date in a conversation of megabytes is a distance of one. Unlikeness also
//! counts how much of each leaf is another, and decides which recorded request is the closest. Start reading at `RequestDiff`.

use reenact_json::diff::{self, DiffLimits};
use reenact_json::{Limits, Shown, Value, ValueKind};
use reenact_secrets::renumbered;

use reenact_wire::key::{MatchKeyParts, match_key_header_names, match_key_headers};

use crate::hint::{self, ChangedLeaf, MissHint};
use crate::likeness::{WHOLE_LEAF, text_unlikeness};

/// One difference between two requests. All texts are safe to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestDifference {
    /// Location of the difference: `provider`, `method`, `path`, `header anthropic-version`, `body`, or a JSON
    /// path such as `$.messages[3].content`.
    pub location: String,
    /// Recorded value, cut to the part that differs; `None` if there was none.
    pub recorded: Option<String>,
    /// Value in the incoming request, cut to the part that differs; `None` if there is none.
    pub requested: Option<String>,
    /// Both values as they are; `None` if nothing was cut, or there was no room to keep them.
    pub whole: Option<WholeValues>,
}

/// Both values of a difference, as they are. Of texts beyond 64 KiB the part around the first difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeValues {
    /// Recorded value: safe to print but for its line feeds.
    pub recorded: Option<String>,
    /// Value in the incoming request: safe to print but for its line feeds.
    pub requested: Option<String>,
}

/// Differences between two requests, the first of them with their values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RequestDiff {
    /// First differences, at most [`MAX_LISTED`].
    pub(crate) listed: Vec<RequestDifference>,
    /// Number of all differences.
    pub(crate) distance: usize,
    /// Guesses at the cause, from the differences that are listed.
    pub(crate) hints: Vec<MissHint>,
}

/// Pair of values that differ.
struct DifferingLeaf<'a> {
    location: &'a str,
    recorded: Option<&'a str>,
    requested: Option<&'a str>,
    /// True for texts, which are shown in quotes and from where they differ; false for other JSON.
    is_text: bool,
    /// Number of leaves that the pair counts for.
    leaves: usize,
}

/// Largest number of differences that are listed.
const MAX_LISTED: usize = 20;

/// Largest number of differing leaves of a body whose likeness counts. Further ones count as wholly different.
const MAX_COMPARED_LEAVES: usize = 200;

/// Largest body that is compared as JSON, in bytes. Larger ones are compared as bytes.
const MAX_JSON_BYTES: usize = 32 << 20;

/// Largest number of characters that are shown of a value.
const MAX_SHOWN_CHARS: usize = 60;

/// Number of those characters that precede the first difference of two long texts.
const CONTEXT_CHARS: usize = 16;

/// Longest part of a value that is kept whole, in bytes.
const MAX_WHOLE_BYTES: usize = 64 << 10;

/// Returns the unlikeness of two masked requests: the sum over all leaves that differ, each from 1 to [`WHOLE_LEAF`].
///
/// Stops early, with at least `max`, when the sum cannot be less.
pub(crate) fn unlikeness(recorded: &MatchKeyParts<'_>, requested: &MatchKeyParts<'_>, max: u64) -> u64 {
    let (mut sum, mut seen) = (0, 0);
    // Each leaf counts for one at least.
    let max_counted = usize::try_from(max).unwrap_or(usize::MAX);
    let distance = compare_requests(recorded, requested, max_counted, &mut |leaf| {
        seen += leaf.leaves;
        sum += match (leaf.recorded, leaf.requested) {
            (Some(recorded), Some(requested)) if sum < max => text_unlikeness(recorded, requested),
            _ => WHOLE_LEAF,
        }
        .saturating_mul(leaf.leaves as u64);
    });
    sum.saturating_add(WHOLE_LEAF.saturating_mul(distance.saturating_sub(seen) as u64))
}

impl RequestDiff {
    /// Compares two masked requests, and guesses at the cause of what differs.
    pub(crate) fn between(recorded: &MatchKeyParts<'_>, requested: &MatchKeyParts<'_>) -> Self {
        let mut found = Self::default();
        let mut hints = Vec::new();
        found.distance = compare_requests(recorded, requested, usize::MAX, &mut |leaf| {
            if found.listed.len() < MAX_LISTED {
                found.listed.push(leaf.shown(true));
                let changed = ChangedLeaf::between(leaf.location, leaf.recorded, leaf.requested);
                hint::add_hints(&changed, &mut hints);
            }
        });
        found.hints = hints;
        found
    }

    /// Compares two masked requests: short values alone, and no guesses.
    pub(crate) fn in_short(recorded: &MatchKeyParts<'_>, requested: &MatchKeyParts<'_>) -> Self {
        let mut found = Self::default();
        found.distance = compare_requests(recorded, requested, usize::MAX, &mut |leaf| {
            if found.listed.len() < MAX_LISTED {
                found.listed.push(leaf.shown(false));
            }
        });
        found
    }
}

/// Walks the differences between two masked requests, and returns their number. Stops when `max_counted` are counted.
fn compare_requests(
    recorded: &MatchKeyParts<'_>,
    requested: &MatchKeyParts<'_>,
    max_counted: usize,
    visit: &mut impl FnMut(DifferingLeaf<'_>),
) -> usize {
    let path =
        |parts: &MatchKeyParts<'_>| String::from_utf8_lossy(&renumbered(parts.path.as_bytes())).into_owned();
    let mut distance = 0;
    for (location, recorded, requested) in [
        ("provider", recorded.provider, requested.provider),
        ("method", recorded.method, requested.method),
        ("path", &path(recorded), &path(requested)),
    ] {
        distance += compare_texts(location, Some(recorded), Some(requested), visit);
    }
    // Values of one name are joined in their order and compared as one leaf.
    let (recorded_headers, requested_headers) =
        (match_key_headers(recorded.headers), match_key_headers(requested.headers));
    for name in match_key_header_names() {
        let values = |headers: &[(String, String)]| {
            let values = headers.iter().filter(|(known, _)| known == name);
            let values: Vec<&str> = values.map(|(_, value)| value.as_str()).collect();
            (!values.is_empty()).then(|| values.join(", "))
        };
        let (recorded, requested) = (values(&recorded_headers), values(&requested_headers));
        distance +=
            compare_texts(&format!("header {name}"), recorded.as_deref(), requested.as_deref(), visit);
    }
    let (recorded, requested) = (renumbered(recorded.body), renumbered(requested.body));
    distance + compare_bodies(&recorded, &requested, max_counted.saturating_sub(distance), visit)
}

/// Compares two texts that are one leaf, and returns 1 if they differ.
fn compare_texts(
    location: &str,
    recorded: Option<&str>,
    requested: Option<&str>,
    visit: &mut impl FnMut(DifferingLeaf<'_>),
) -> usize {
    if recorded != requested {
        visit(DifferingLeaf { location, recorded, requested, is_text: true, leaves: 1 });
    }
    usize::from(recorded != requested)
}

/// Compares two bodies leaf by leaf if both are JSON, else as bytes, and returns the number of differences. Bodies that have equal
/// values but other bytes differ in their spelling.
fn compare_bodies(
    recorded: &[u8],
    requested: &[u8],
    max_counted: usize,
    visit: &mut impl FnMut(DifferingLeaf<'_>),
) -> usize {
    if recorded == requested {
        return 0;
    }
    let texts = || (String::from_utf8_lossy(recorded), String::from_utf8_lossy(requested));
    let (left, right) = (parse_json(recorded), parse_json(requested));
    let (Some(left), Some(right)) = (left, right) else {
        let offset = recorded.iter().zip(requested).take_while(|(a, b)| a == b).count();
        let (recorded, requested) = texts();
        let location = format!("body, from byte {offset}");
        // A body of JSON beside an empty one is unlike it in all of its leaves.
        let leaves = [left, right].into_iter().flatten().map(diff::leaf_count).max().unwrap_or(1);
        let (recorded, requested) = (Some(&*recorded), Some(&*requested));
        visit(DifferingLeaf { location: &location, recorded, requested, is_text: true, leaves });
        return 1;
    };
    let found = diff::differences(left, right, DiffLimits { max_listed: MAX_COMPARED_LEAVES, max_counted });
    for difference in found.listed {
        let (left, right) = (difference.left, difference.right);
        let is_string =
            |value: Option<Value<'_>>| value.is_none_or(|value| value.kind() == ValueKind::String);
        let is_text = is_string(left) && is_string(right);
        let text = |value: Value<'_>| match value.string() {
            Some(text) if is_text => text.into_owned(),
            _ => String::from_utf8_lossy(value.text()).into_owned(),
        };
        let leaves = |value: Option<Value<'_>>| value.map_or(0, diff::leaf_count);
        visit(DifferingLeaf {
            location: &difference.path,
            recorded: left.map(text).as_deref(),
            requested: right.map(text).as_deref(),
            is_text,
            leaves: leaves(left).max(leaves(right)),
        });
    }
    if found.count == 0 && max_counted > 0 {
        let (recorded, requested) = texts();
        return compare_texts(
            "body, the same values in another spelling",
            Some(&recorded),
            Some(&requested),
            visit,
        );
    }
    found.count
}

impl DifferingLeaf<'_> {
    /// Returns the difference as it is shown, with the whole values only if they are asked for.
    fn shown(&self, keeps_whole: bool) -> RequestDifference {
        let (recorded, requested) = match self.is_text {
            true => quoted_at_difference(self.recorded, self.requested),
            false => (self.recorded.map(abbreviated), self.requested.map(abbreviated)),
        };
        let is_long = |text: Option<&str>| {
            text.is_some_and(|text| text.contains('\n') || text.chars().nth(MAX_SHOWN_CHARS).is_some())
        };
        let whole = (keeps_whole && (is_long(self.recorded) || is_long(self.requested))).then(|| {
            let from = differs_at(self.recorded.unwrap_or_default(), self.requested.unwrap_or_default());
            WholeValues {
                recorded: self.recorded.map(|text| whole_value(text, from)),
                requested: self.requested.map(|text| whole_value(text, from)),
            }
        });
        RequestDifference { location: Shown::new(self.location).to_string(), recorded, requested, whole }
    }
}

impl WholeValues {
    /// Returns the length of both values, in bytes.
    pub(crate) fn len(&self) -> usize {
        [&self.recorded, &self.requested].into_iter().flatten().map(String::len).sum()
    }
}

/// Returns a text with its line feeds and tabs, and everything else escaped that could act. Of a long one, a part that begins
/// before `differs_at`.
fn whole_value(text: &str, differs_at: usize) -> String {
    let boundary =
        |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let from = match text.len() > MAX_WHOLE_BYTES {
        true => boundary(differs_at.saturating_sub(MAX_WHOLE_BYTES / 4)),
        false => 0,
    };
    let to = boundary(from + MAX_WHOLE_BYTES);
    let shown = |line: &str| {
        line.split('\t').map(|part| Shown::whole(part).to_string()).collect::<Vec<_>>().join("    ")
    };
    let mut lines: Vec<String> = text.get(from..to).unwrap_or_default().split('\n').map(shown).collect();
    if from > 0 {
        lines.insert(0, format!("… ({from} bytes before)"));
    }
    if to < text.len() {
        lines.push(format!("… ({} bytes more)", text.len() - to));
    }
    lines.join("\n")
}

/// Returns the offset at which two texts part, in bytes.
fn differs_at(recorded: &str, requested: &str) -> usize {
    let pair = recorded.char_indices().zip(requested.chars()).find(|((_, a), b)| a != b);
    pair.map_or(recorded.len().min(requested.len()), |((at, _), _)| at)
}

fn parse_json(body: &[u8]) -> Option<Value<'_>> {
    Value::parse(body, &Limits { max_bytes: MAX_JSON_BYTES, ..Limits::default() }).ok()
}

/// Returns two texts in quotes. If one is long, both are cut to the part around their first difference.
fn quoted_at_difference(recorded: Option<&str>, requested: Option<&str>) -> (Option<String>, Option<String>) {
    let (a, b) = (recorded.unwrap_or_default(), requested.unwrap_or_default());
    let is_long = |text: &str| text.chars().nth(MAX_SHOWN_CHARS).is_some();
    if !is_long(a) && !is_long(b) {
        let quoted = |text: &str| format!("\"{}\"", Shown::whole(text));
        return (recorded.map(quoted), requested.map(quoted));
    }
    let differs_at = differs_at(a, b);
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
        let found = RequestDiff::between(&parts("/", &[], recorded), &parts("/", &[], requested));
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
        let found = RequestDiff::between(&parts("/a?k=[masked:q:4]", &beta, ""), &requested);
        let difference = |at: &str, recorded: &str, requested: Option<&str>| RequestDifference {
            location: at.into(),
            recorded: Some(format!("\"{recorded}\"")),
            requested: requested.map(|requested| format!("\"{requested}\"")),
            whole: None,
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
    }

    #[test]
    fn each_leaf_counts_by_the_share_that_differs() {
        let unlike = |recorded: &str, requested: &str, max| {
            unlikeness(&parts("/", &[], recorded), &parts("/", &[], requested), max)
        };
        let all = |recorded, requested| unlike(recorded, requested, u64::MAX);
        assert_eq!(all(r#"{"a":"now: 10:31"}"#, r#"{"a":"now: 10:32"}"#), 100);
        assert_eq!(
            all(r#"{"a":"now: 10:31","b":1}"#, r#"{"a":"now: 10:32","c":[1,2]}"#),
            100 + 1_000 + 2_000
        );
        assert_eq!(all("[1]", "[true]"), 1_000);
        assert_eq!(all("", "[1,2,3]"), 3_000);
        // More leaves than are compared count as wholly different.
        let list = |word: &str| format!("[{}]", vec![format!("\"ten{word}\""); 500].join(","));
        assert_eq!(all(&list("1"), &list("2")), 200 * 250 + 300 * 1_000);
        assert!(unlike(&list("1"), &list("2"), 7) >= 7);
    }

    #[test]
    fn long_values_are_kept_whole() {
        let whole = |recorded: &str, requested: &str| {
            let (recorded, requested) = (one_text(recorded), one_text(requested));
            let found = RequestDiff::between(&parts("/", &[], &recorded), &parts("/", &[], &requested));
            let whole = found.listed.into_iter().next().unwrap().whole;
            whole.map(|whole| (whole.recorded.unwrap(), whole.requested.unwrap()))
        };
        assert_eq!(whole("short", "other"), None);
        assert_eq!(
            whole("two\nlines\u{1b}", "two\n\tlines"),
            Some(("two\nlines\\u{1b}".into(), "two\n    lines".into()))
        );
        let long = "é".repeat(40_000);
        let (recorded, requested) = whole(&format!("{long}1"), &format!("{long}2")).unwrap();
        assert_eq!(recorded, format!("… (63616 bytes before)\n{}1", "é".repeat(8_192)));
        assert!(requested.ends_with('2') && requested.len() < 20_000);
        let (recorded, _) = whole(&format!("1{long}"), &format!("2{long}")).unwrap();
        assert_eq!(recorded, format!("1{}\n… (14466 bytes more)", "é".repeat(32_767)));
    }

    /// Returns a body with one text.
    fn one_text(text: &str) -> String {
        let escaped = text.replace('\n', "\\n").replace('\t', "\\t").replace('\u{1b}', "\\u001b");
        format!(r#"{{"a":"{escaped}"}}"#)
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
