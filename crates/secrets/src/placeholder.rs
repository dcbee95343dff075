//! The marks that stand where secrets stood: `[masked:RULE:N]`.

use core::ops::Range;
use memchr::memmem;
use std::borrow::Cow;

/// How a mark begins.
pub(crate) const OPEN: &str = "[masked:";
/// No rule's name and no number is longer: what is longer is no mark of ours.
const LONGEST_RULE: usize = 40;
/// Shorter than any value that is known, so that none can hide as a number.
const LONGEST_NUMBER: usize = 7;

/// A mark in a text.
pub(crate) struct Mark<'t> {
    pub(crate) rule: &'t [u8],
    pub(crate) number: &'t [u8],
    pub(crate) span: Range<usize>,
}

/// The mark for the value with this number.
pub(crate) fn mark(rule: &str, number: usize) -> String {
    format!("[masked:{rule}:{number}]")
}

/// The marks in a text, in order.
pub(crate) fn marks(text: &[u8]) -> impl Iterator<Item = Mark<'_>> {
    let mut from = 0;
    let finder = memmem::Finder::new(OPEN);
    core::iter::from_fn(move || {
        loop {
            let open = from + finder.find(text.get(from..)?)?;
            match read(text, open) {
                Some(mark) => {
                    from = mark.span.end;
                    return Some(mark);
                }
                None => from = open + 1,
            }
        }
    })
}

/// The mark that begins at `open`.
pub(crate) fn read(text: &[u8], open: usize) -> Option<Mark<'_>> {
    let inside = text.get(open..)?.strip_prefix(OPEN.as_bytes())?;
    let rule =
        run(inside, LONGEST_RULE, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')?;
    let behind = inside.get(rule.len()..)?.strip_prefix(b":")?;
    let number = run(behind, LONGEST_NUMBER, |byte| byte.is_ascii_digit())?;
    if number.starts_with(b"0") || behind.get(number.len()) != Some(&b']') {
        return None;
    }
    let end = open + OPEN.len() + rule.len() + 1 + number.len() + 1;
    Some(Mark { rule, number, span: open..end })
}

/// The bytes at the front that fit; at least one, at most `longest`.
fn run(text: &[u8], longest: usize, fits: impl Fn(u8) -> bool) -> Option<&[u8]> {
    let length = text.iter().take(longest + 1).take_while(|byte| fits(**byte)).count();
    if (1..=longest).contains(&length) { text.get(..length) } else { None }
}

/// The text with its marks numbered by first appearance, per rule: what depends on the order in which a whole
/// run met its secrets is gone, and two texts that differ in nothing else become equal.
pub fn renumbered(text: &[u8]) -> Cow<'_, [u8]> {
    use std::collections::HashMap;
    let mut numbers: HashMap<(&[u8], &[u8]), usize> = HashMap::new();
    let mut counts: HashMap<&[u8], usize> = HashMap::new();
    let mut result: Vec<u8> = Vec::new();
    let mut copied = 0;
    for found in marks(text) {
        let number = *numbers.entry((found.rule, found.number)).or_insert_with(|| {
            let count = counts.entry(found.rule).or_default();
            *count += 1;
            *count
        });
        let digits = number.to_string();
        if digits.as_bytes() == found.number {
            continue;
        }
        let digits_start = found.span.end - 1 - found.number.len();
        result.extend_from_slice(&text[copied..digits_start]);
        result.extend_from_slice(digits.as_bytes());
        copied = found.span.end - 1;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    result.extend_from_slice(&text[copied..]);
    Cow::Owned(result)
}
