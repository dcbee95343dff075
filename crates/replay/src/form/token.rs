//! Tokens of a text: the words that may differ between two runs of an agent, such as uuids, times and durations.
//!
//! A text is split into tokens and the literal text between them. Whether a token may differ is decided later, when two
//! requests are compared: here only its kind and its spelling count. Start reading at [`split`].

use core::ops::Range;

use super::spelling::{MONTHS, WEEKDAYS, moment_at};

/// Kind of a token, which says under which condition two of them may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TokenKind {
    /// UUID with hyphens.
    Uuid,
    /// Id that an agent's row declares.
    Id,
    /// Word that an agent's row declares to change no answer.
    Free,
    /// Date or time.
    Moment,
    /// Duration, in a result of a tool.
    Duration,
    /// Number behind a text that an agent's row names, in a result of a tool.
    Number,
}

impl TokenKind {
    /// Returns the byte that stands for the kind in a skeleton.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Uuid => b'u',
            Self::Id => b'i',
            Self::Free => b'f',
            Self::Moment => b'm',
            Self::Duration => b'd',
            Self::Number => b'n',
        }
    }
}

/// Piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenPiece {
    /// Text that is equal in every run.
    Literal(Range<usize>),
    /// Word that may differ.
    Token(TokenKind, Range<usize>),
}

/// Words to look for beyond uuids and moments.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TextRules<'r> {
    /// True for a result of a tool, where durations and labelled numbers count.
    pub(crate) is_tool_result: bool,
    /// Texts behind which a number stands, in results of tools.
    pub(crate) number_labels: &'r [String],
    /// Texts behind which a word of some kind stands.
    pub(crate) word_labels: &'r [(String, TokenKind)],
}

/// Length of a UUID with hyphens, in bytes.
const UUID_BYTES: usize = 36;
/// Longest id behind a label, in bytes.
const MAX_ID_BYTES: usize = 128;

/// Splits a text into its pieces, in order and without gaps.
pub(crate) fn split(text: &str, rules: &TextRules<'_>, mut take: impl FnMut(TokenPiece)) {
    let bytes = text.as_bytes();
    let (mut at, mut literal) = (0, 0);
    while at < bytes.len() {
        let Some((kind, length)) = token_at(bytes, at, rules) else {
            at = next_start(bytes, at);
            continue;
        };
        if literal < at {
            take(TokenPiece::Literal(literal..at));
        }
        take(TokenPiece::Token(kind, at..at + length));
        at += length;
        literal = at;
    }
    if literal < bytes.len() {
        take(TokenPiece::Literal(literal..bytes.len()));
    }
}

/// Returns true for a byte that belongs to a word. Letters beyond ASCII do not: in many scripts nothing stands between a word and a date.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// Returns the next place after `at` where a word begins.
fn next_start(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at + 1..).unwrap_or_default();
    let mut before = bytes.get(at).copied().unwrap_or_default();
    for (distance, &byte) in rest.iter().enumerate() {
        if is_word_byte(byte) && !is_word_byte(before) {
            return at + 1 + distance;
        }
        before = byte;
    }
    bytes.len()
}

/// Returns the token that begins at a place where a word may begin, and its length.
fn token_at(bytes: &[u8], at: usize, rules: &TextRules<'_>) -> Option<(TokenKind, usize)> {
    let first = *bytes.get(at)?;
    let is_start = at == 0 || !bytes.get(at - 1).is_some_and(|before| is_word_byte(*before));
    if !is_start || !is_word_byte(first) {
        return None;
    }
    let before = &bytes[..at];
    if let Some((_, kind)) = rules.word_labels.iter().find(|(label, _)| before.ends_with(label.as_bytes())) {
        let is_id_byte = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'-' || **byte == b'_';
        let length = bytes[at..].iter().take(MAX_ID_BYTES).take_while(is_id_byte).count();
        return (length > 0).then_some((*kind, length));
    }
    if first.is_ascii_hexdigit() && is_uuid(bytes, at) {
        return Some((TokenKind::Uuid, UUID_BYTES));
    }
    if !first.is_ascii_digit() && !begins_a_name(bytes, at) {
        return None;
    }
    if rules.is_tool_result && first.is_ascii_digit() {
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_whole = !bytes.get(at + digits).is_some_and(|byte| is_word_byte(*byte));
        if is_whole && rules.number_labels.iter().any(|label| before.ends_with(label.as_bytes())) {
            return Some((TokenKind::Number, digits));
        }
    }
    // A part of a number with a dot or a comma is no date.
    let is_fraction = at >= 2
        && matches!(bytes.get(at - 1), Some(b'.' | b','))
        && bytes.get(at - 2).is_some_and(u8::is_ascii_digit);
    if !is_fraction && let Some((length, _)) = moment_at(bytes, at) {
        return Some((TokenKind::Moment, length));
    }
    let length = if rules.is_tool_result && !is_fraction { duration_length(bytes, at) } else { None };
    length.map(|length| (TokenKind::Duration, length))
}

/// Returns true if the name of a day or a month may begin here.
fn begins_a_name(bytes: &[u8], at: usize) -> bool {
    let Some(word) = bytes.get(at..at + 3) else { return false };
    word[0].is_ascii_uppercase()
        && (WEEKDAYS.iter().any(|name| name.as_bytes().starts_with(word))
            || MONTHS.iter().any(|name| name.as_bytes().starts_with(word)))
}

/// Returns true if a UUID with hyphens stands here, and ends with its word.
fn is_uuid(bytes: &[u8], at: usize) -> bool {
    let Some(text) = bytes.get(at..at + UUID_BYTES) else { return false };
    let has_form = text.iter().enumerate().all(|(index, byte)| match index {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    let behind = bytes.get(at + UUID_BYTES);
    has_form && !behind.is_some_and(|byte| is_word_byte(*byte) || *byte == b'-')
}

/// Units of durations, and whether a blank may stand before the unit.
const UNITS: [(&str, bool); 22] = [
    ("ns", true),
    ("us", true),
    ("µs", true),
    ("μs", true),
    ("ms", true),
    ("s", true),
    ("sec", true),
    ("secs", true),
    ("second", true),
    ("seconds", true),
    ("millisecond", true),
    ("milliseconds", true),
    ("m", false),
    ("min", true),
    ("mins", true),
    ("minute", true),
    ("minutes", true),
    ("h", false),
    ("hr", true),
    ("hrs", true),
    ("hour", true),
    ("hours", true),
];

/// Returns the length of a duration such as `0.12s`, `3 ms` or `0m0.004s`.
fn duration_length(bytes: &[u8], at: usize) -> Option<usize> {
    let mut end = at;
    let mut parts = 0;
    while let Some((length, is_last)) = duration_part(bytes, end) {
        end += length;
        parts += 1;
        if is_last || parts == 4 {
            break;
        }
    }
    let is_cut = bytes.get(end).is_some_and(|byte| is_word_byte(*byte));
    (end > at && !is_cut).then_some(end - at)
}

/// Returns the length of a number with a unit, and whether nothing may follow in the same duration.
fn duration_part(bytes: &[u8], at: usize) -> Option<(usize, bool)> {
    let rest = bytes.get(at..)?;
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut length = digits(rest);
    if length == 0 {
        return None;
    }
    if rest.get(length) == Some(&b'.') {
        let fraction = digits(rest.get(length + 1..).unwrap_or_default());
        if fraction > 0 {
            length += 1 + fraction;
        }
    }
    let has_blank = rest.get(length) == Some(&b' ');
    let unit_at = length + usize::from(has_blank);
    let unit = rest.get(unit_at..)?;
    // The longest unit: `m` begins `ms` and `min`.
    let fits = UNITS
        .iter()
        .filter(|(name, takes_blank)| unit.starts_with(name.as_bytes()) && (*takes_blank || !has_blank));
    let (name, _) = fits.max_by_key(|(name, _)| name.len())?;
    let end = unit_at + name.len();
    let goes_on = rest.get(end).is_some_and(u8::is_ascii_digit) && !has_blank;
    Some((end, !goes_on))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the tokens of a text, by kind.
    fn tokens(text: &str, rules: &TextRules<'_>) -> Vec<(TokenKind, String)> {
        let mut tokens = Vec::new();
        split(text, rules, |piece| {
            if let TokenPiece::Token(kind, range) = piece {
                tokens.push((kind, text[range].to_owned()));
            }
        });
        tokens
    }

    fn plain(text: &str) -> Vec<String> {
        tokens(text, &TextRules::default()).into_iter().map(|(_, text)| text).collect()
    }

    fn in_result(text: &str) -> Vec<String> {
        let rules = TextRules { is_tool_result: true, ..TextRules::default() };
        tokens(text, &rules).into_iter().map(|(_, text)| text).collect()
    }

    const UUID: &str = "0193b3a1-7c1e-7d2a-8c55-0123456789ab";

    #[test]
    fn words_that_differ_from_run_to_run() {
        let none: [&str; 0] = [];
        assert_eq!(plain(&format!("msg_{UUID}, {UUID}.")), [UUID, UUID]);
        assert_eq!(plain(&format!("x{UUID} {UUID}a {UUID}-1")), none);
        assert_eq!(plain("Today's date is 2026-11-17."), ["2026-11-17"]);
        assert_eq!(plain("run_shell_command_1763350000123_0"), ["1763350000123"]);
        assert_eq!(plain("call Tue Nov 17 2026 (local)"), ["Tue Nov 17 2026"]);
        assert_eq!(plain("at 12:30:05 and 14:30"), ["12:30:05"]);
        assert_eq!(plain("version 1.17632026-11-17"), none);
        assert_eq!(plain("a2026-11-17 2026-11-17a"), none);
        assert_eq!(plain("今天是2026-11-17。 “2026-11-17”"), ["2026-11-17", "2026-11-17"]);
        assert_eq!(plain("The current month is November 2026 — use it."), ["November 2026"]);
        assert_eq!(plain("port 8080, pid 10823, wait 5s, 3 passed in 0.12s"), none);
    }

    #[test]
    fn durations_are_of_results_alone() {
        for (text, expected) in [
            ("3 passed in 0.12s", vec!["0.12s"]),
            ("real\t0m0.004s", vec!["0m0.004s"]),
            ("took 12 ms, or 1h2m3s", vec!["12 ms", "1h2m3s"]),
            ("Wall time: 0.0 seconds", vec!["0.0 seconds"]),
            ("(5µs) 7μs", vec!["5µs", "7μs"]),
            ("5 m of rope, 5 h, 5ml, 3 sheep, s5, 5S", vec![]),
            ("10.0.0.1s", vec![]),
        ] {
            assert_eq!(in_result(text), expected, "{text}");
            assert_eq!(plain(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn labels_of_a_row() {
        let labels = ["Process Group PGID: ".to_owned()];
        let words = [("cch=".to_owned(), TokenKind::Id)];
        let rules = TextRules { is_tool_result: true, number_labels: &labels, word_labels: &words };
        assert_eq!(
            tokens("Process Group PGID: 10823\nPID: 7; cch=a-1_z; Process Group PGID: x", &rules),
            [(TokenKind::Number, "10823".to_owned()), (TokenKind::Id, "a-1_z".to_owned())]
        );
        let outside = TextRules { is_tool_result: false, ..rules };
        assert_eq!(tokens("Process Group PGID: 10823", &outside), []);
    }

    proptest! {
        #[test]
        fn pieces_are_the_whole_text(text in "[a-fA-F0-9 :.,TZ+/_µé-]{0,80}", is_tool_result: bool) {
            let labels = ["a ".to_owned()];
            let words = [("b=".to_owned(), TokenKind::Free)];
            let rules = TextRules { is_tool_result, number_labels: &labels, word_labels: &words };
            let mut end = 0;
            split(&text, &rules, |piece| {
                let (TokenPiece::Literal(range) | TokenPiece::Token(_, range)) = piece;
                assert!(range.start == end && range.end > end && text.get(range.clone()).is_some());
                end = range.end;
            });
            prop_assert_eq!(end, text.len());
        }
    }
}
