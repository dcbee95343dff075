//! Marks that stand where secrets stood: `[masked:RULE:N]`. Start reading at [`parse_mark`].

use core::ops::Range;
use memchr::memmem;
use std::borrow::Cow;

/// Beginning of a mark.
pub(crate) const MARK_PREFIX: &str = "[masked:";
/// Longest name of a rule in a mark, in bytes. A longer one is no mark of ours.
const MAX_RULE_BYTES: usize = 40;
/// Longest number in a mark, in digits: shorter than any known value (8 bytes), so that none can
/// hide as a number.
const MAX_NUMBER_DIGITS: usize = 7;

/// Mark in a text.
pub(crate) struct MaskMark<'t> {
    /// Name of the rule.
    pub(crate) rule: &'t [u8],
    /// Decimal digits of the number.
    pub(crate) number: &'t [u8],
    /// Byte span of the mark in the text.
    pub(crate) span: Range<usize>,
}

/// Returns the mark for the value with this number.
pub(crate) fn format_mark(rule: &str, number: usize) -> String {
    format!("[masked:{rule}:{number}]")
}

/// Returns the marks in a text, in order. The rule of a mark may be unknown.
pub(crate) fn find_marks(text: &[u8]) -> impl Iterator<Item = MaskMark<'_>> {
    let mut from = 0;
    let finder = memmem::Finder::new(MARK_PREFIX);
    core::iter::from_fn(move || {
        loop {
            let open = from + finder.find(text.get(from..)?)?;
            match parse_mark(text, open) {
                Some(mark) => {
                    from = mark.span.end;
                    return Some(mark);
                }
                None => from = open + 1,
            }
        }
    })
}

/// Parses the mark that begins at `open`.
pub(crate) fn parse_mark(text: &[u8], open: usize) -> Option<MaskMark<'_>> {
    let inside = text.get(open..)?.strip_prefix(MARK_PREFIX.as_bytes())?;
    let rule = leading_run(inside, MAX_RULE_BYTES, |byte| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
    })?;
    let behind = inside.get(rule.len()..)?.strip_prefix(b":")?;
    let number = leading_run(behind, MAX_NUMBER_DIGITS, |byte| byte.is_ascii_digit())?;
    if number.starts_with(b"0") || behind.get(number.len()) != Some(&b']') {
        return None;
    }
    let end = open + MARK_PREFIX.len() + rule.len() + 1 + number.len() + 1;
    Some(MaskMark { rule, number, span: open..end })
}

/// Returns the bytes at the front that fit: at least one, at most `max_bytes`.
fn leading_run(text: &[u8], max_bytes: usize, fits: impl Fn(u8) -> bool) -> Option<&[u8]> {
    let length = text.iter().take(max_bytes + 1).take_while(|byte| fits(**byte)).count();
    if (1..=max_bytes).contains(&length) { text.get(..length) } else { None }
}

/// Returns a text with its marks renumbered by first appearance, per rule.
///
/// Numbers depend on the order in which a run met its secrets. Two texts that differ in nothing
/// else become equal by this, which match keys rely on.
pub fn renumbered(text: &[u8]) -> Cow<'_, [u8]> {
    use std::collections::HashMap;
    let mut numbers: HashMap<(&[u8], &[u8]), usize> = HashMap::new();
    let mut counts: HashMap<&[u8], usize> = HashMap::new();
    let mut result: Vec<u8> = Vec::new();
    let mut copied = 0;
    for found in find_marks(text) {
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
