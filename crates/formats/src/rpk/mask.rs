//! Secrets as the format's own programs define them: their redaction profile `default`, policy version `1.0`.
//!
//! Thirteen names, and nine patterns that are tried one after the other on every text but those under ten harmless
//! names. Here the patterns of keys are tried under the harmless names too: a key in a `url` is a key. The policy
//! misses current forms (keys with a dash in them, PEM, passwords in prose); before handing a bundle to strangers,
//! apply a better scanner as well.
//!
//! The patterns are written out by hand, each in time linear in the text, since a verifier should not depend on a
//! regular expression engine. Each is quoted as its authors wrote it; a test compares them with such an engine.

use super::bundle::{MASK_TEXT, RpkMask, RpkMaskPolicy};

/// Policy as it is named in bundles.
pub const DEFAULT_POLICY: RpkMaskPolicy<'static> = RpkMaskPolicy { profile: "default", version: "1.0" };

/// Mask of that policy.
#[derive(Debug, Clone, Copy, Default)]
pub struct DefaultMask;

/// Names whose value is a secret, whatever it is.
const SECRET_NAMES: [&str; 13] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "apikey",
    "api_key",
    "token",
    "access_token",
    "refresh_token",
    "password",
    "secret",
    "set-cookie",
    "cookie",
];

/// Names whose text is left as it is, but for keys.
const HARMLESS_NAMES: [&str; 10] =
    ["tool", "model", "provider", "method", "url", "status", "status_code", "name", "host", "path"];

impl RpkMask for DefaultMask {
    fn is_secret(&self, name: &str) -> bool {
        SECRET_NAMES.contains(&name.to_lowercase().as_str())
    }

    fn masked(&self, name: Option<&str>, text: &str) -> Option<String> {
        let is_harmless = name.is_some_and(|name| HARMLESS_NAMES.contains(&name.to_lowercase().as_str()));
        let patterns = if is_harmless { &PATTERNS[..KEY_PATTERNS] } else { &PATTERNS[..] };
        let mut chars: Vec<char> = text.chars().collect();
        let mut is_masked = false;
        for pattern in patterns {
            if let Some(masked) = mask_matches(&chars, *pattern) {
                (chars, is_masked) = (masked, true);
            }
        }
        is_masked.then(|| chars.into_iter().collect())
    }
}

/// Matcher of one pattern at a word boundary: takes the text and an offset in characters.
type MaskPattern = fn(&[char], usize) -> MaskMatch;

/// Result of a pattern at an offset.
enum MaskMatch {
    /// A match that ends at this offset.
    Match(usize),
    /// No match here, nor anywhere before this offset.
    NoMatchBefore(usize),
}

/// In the order of their authors.
const PATTERNS: [MaskPattern; 9] = [
    // \bsk-[A-Za-z0-9]{10,}\b
    |text, at| run_after(text, at, "sk-", 10, usize::MAX, |c| c.is_ascii_alphanumeric()),
    // \bAKIA[0-9A-Z]{16}\b
    |text, at| run_after(text, at, "AKIA", 16, 16, |c| c.is_ascii_digit() || c.is_ascii_uppercase()),
    // \bAIza[0-9A-Za-z_-]{35}\b
    |text, at| run_after(text, at, "AIza", 35, 35, is_base64url),
    // \bgh[pousr]_[A-Za-z0-9]{20,}\b
    |text, at| match text.get(at + 2) {
        Some('p' | 'o' | 'u' | 's' | 'r') if text[at..].starts_with(&['g', 'h']) => {
            run_after(text, at + 3, "_", 20, usize::MAX, |c| c.is_ascii_alphanumeric())
        }
        _ => MaskMatch::NoMatchBefore(at + 1),
    },
    bearer,
    json_web_token,
    token_word,
    card_number,
    mail_address,
];

/// Number of patterns, from the first on, that are of keys and tokens in transit.
const KEY_PATTERNS: usize = 6;

/// Returns the text with every match masked; `None` if there is none.
fn mask_matches(text: &[char], pattern: MaskPattern) -> Option<Vec<char>> {
    let (mut at, mut copied) = (0, 0);
    let mut out: Option<Vec<char>> = None;
    while at < text.len() {
        if !is_boundary(text, at) {
            at += 1;
            continue;
        }
        match pattern(text, at) {
            MaskMatch::Match(end) => {
                let out = out.get_or_insert_default();
                out.extend(&text[copied..at]);
                out.extend(MASK_TEXT.chars());
                (at, copied) = (end, end);
            }
            MaskMatch::NoMatchBefore(next) => at = next.max(at + 1),
        }
    }
    if let Some(out) = &mut out {
        out.extend(&text[copied..]);
    }
    out
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns true for Python's `\s`.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

fn is_base64url(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// Returns true at a `\b`: exactly one of the two characters around this offset is a word character.
fn is_boundary(text: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| text.get(before)).is_some_and(|c| is_word_char(*c));
    let after = text.get(at).is_some_and(|c| is_word_char(*c));
    before != after
}

/// Returns the end of the run of matching characters from `at` on.
fn run_end(text: &[char], at: usize, is_part: impl Fn(char) -> bool) -> usize {
    let length = text.get(at..).map_or(0, |rest| rest.iter().take_while(|c| is_part(**c)).count());
    at + length
}

/// Returns the last word boundary from `first` to `last`, both inclusive.
fn last_boundary(text: &[char], first: usize, last: usize) -> Option<usize> {
    (first..=last).rev().find(|at| is_boundary(text, *at))
}

/// Matches a word, then from `min_length` to `max_length` characters of a kind, up to a word boundary.
fn run_after(
    text: &[char],
    at: usize,
    word: &str,
    min_length: usize,
    max_length: usize,
    is_part: impl Fn(char) -> bool,
) -> MaskMatch {
    if !text.get(at..).is_some_and(|rest| rest.iter().copied().take(word.len()).eq(word.chars())) {
        return MaskMatch::NoMatchBefore(at + 1);
    }
    let start = at + word.len();
    let within = &text[..text.len().min(start.saturating_add(max_length))];
    let end = run_end(within, start, is_part);
    match last_boundary(text, start + min_length, end) {
        Some(end) => MaskMatch::Match(end),
        // Another such word can begin at the earliest behind this one.
        None => MaskMatch::NoMatchBefore(start),
    }
}

/// Matches `(?i)\bbearer\s+[A-Za-z0-9._-]{8,}\b`.
fn bearer(text: &[char], at: usize) -> MaskMatch {
    if !has_word_at(text, at, "bearer") {
        return MaskMatch::NoMatchBefore(at + 1);
    }
    let gap = at + "bearer".len();
    let start = run_end(text, gap, is_space);
    if start == gap {
        return MaskMatch::NoMatchBefore(gap);
    }
    let end = run_end(text, start, is_name_part);
    last_boundary(text, start + 8, end).map_or(MaskMatch::NoMatchBefore(start), MaskMatch::Match)
}

/// Returns true if the text continues with an ASCII word, in any case of letters.
fn has_word_at(text: &[char], at: usize, word: &str) -> bool {
    let same = |(found, wanted): (&char, char)| found.eq_ignore_ascii_case(&wanted);
    text.get(at..at + word.len()).is_some_and(|found| found.iter().zip(word.chars()).all(same))
}

/// Matches `\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\b`.
fn json_web_token(text: &[char], at: usize) -> MaskMatch {
    if !text.get(at..).is_some_and(|rest| rest.starts_with(&['e', 'y', 'J'])) {
        return MaskMatch::NoMatchBefore(at + 1);
    }
    let head = (at + 3, run_end(text, at + 3, is_base64url));
    let body = (head.1 + 1, run_end(text, head.1 + 1, is_base64url));
    let code = (body.1 + 1, run_end(text, body.1 + 1, is_base64url));
    let is_long = |(start, end): (usize, usize)| end >= start + 10 && text.get(end) == Some(&'.');
    let end = if is_long(head) && is_long(body) { last_boundary(text, code.0 + 10, code.1) } else { None };
    // A match that begins later in the same run would fail for the same reason.
    end.map_or(MaskMatch::NoMatchBefore(head.1), MaskMatch::Match)
}

/// Matches `(?i)\b[a-z0-9._-]{3,}token(?:[a-z0-9._-]{3,})?\b`.
fn token_word(text: &[char], at: usize) -> MaskMatch {
    let end = run_end(text, at, is_name_part);
    let word = "token".len();
    let last = last_boundary(text, at, end).unwrap_or(at);
    for token in (at + 3..(end + 1).saturating_sub(word)).rev().filter(|i| has_word_at(text, *i, "token")) {
        let behind = token + word;
        if last >= behind + 3 {
            return MaskMatch::Match(last);
        }
        if is_boundary(text, behind) {
            return MaskMatch::Match(behind);
        }
    }
    // A match that begins later in the same run has fewer words to choose from, and the same end.
    MaskMatch::NoMatchBefore(end)
}

/// Matches `\b(?:\d[ -]?){13,19}\b`.
fn card_number(text: &[char], at: usize) -> MaskMatch {
    let mut ends = Vec::new();
    let mut next = at;
    while ends.len() < 19 && text.get(next).is_some_and(|c| c.is_numeric()) {
        let behind = next + 1;
        next = if matches!(text.get(behind), Some(' ' | '-')) { behind + 1 } else { behind };
        ends.push([next, behind]);
    }
    let ends = ends.get(12..).unwrap_or_default();
    match ends.iter().rev().flatten().find(|end| is_boundary(text, **end)) {
        Some(end) => MaskMatch::Match(*end),
        None => MaskMatch::NoMatchBefore(at + 1),
    }
}

/// Matches `\b[\w.+-]+@[\w.-]+\.[A-Za-z]{2,}\b`.
fn mail_address(text: &[char], at: usize) -> MaskMatch {
    let who = run_end(text, at, |c| is_word_char(c) || matches!(c, '.' | '+' | '-'));
    if who == at || text.get(who) != Some(&'@') {
        return MaskMatch::NoMatchBefore(who);
    }
    let host = who + 1;
    let end = run_end(text, host, |c| is_word_char(c) || matches!(c, '.' | '-'));
    for point in (host + 1..end).rev().filter(|point| text[*point] == '.') {
        let letters = run_end(text, point + 1, |c| c.is_ascii_alphabetic());
        if letters >= point + 3 && is_boundary(text, letters) {
            return MaskMatch::Match(letters);
        }
    }
    MaskMatch::NoMatchBefore(host)
}
