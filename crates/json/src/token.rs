//! Tokens of text that has passed the scanner, for writers of other canonical forms.
//!
//! All functions take the whole text and a byte offset in it. On text that was never scanned they return an offset, perhaps the
//! end of the text, and do not panic.

use crate::byte_scan::{is_one_space, skip_spaces};
use crate::canonical::{ByteSink, CanonicalFault};
use crate::limits::Limits;
use crate::number::{self, IntegerPolicy};
use crate::position::Position;
use crate::scanner::Scanner;
use crate::string;
use crate::value::Value;

pub use crate::block::{BLOCK, BlockRule, skip_blocks};
pub use crate::byte_scan::non_plain_bits;
pub use crate::name_order::NameOrder;
pub use crate::number::{NumberSpan, scan as scan_number};
pub use crate::string::{StringSpan, UnescapedChars, scan as scan_string, scan_plain};

/// Writes the RFC 8785 form of the string whose opening quote is at `at`; returns the offset behind its closing quote.
#[inline]
pub fn write_string<S: ByteSink>(text: &[u8], at: usize, out: &mut S) -> usize {
    if let Some((end, _)) = string::scan_plain(text, at + 1) {
        out.put(&text[at..=end]);
        return end + 1;
    }
    let Ok(span) = string::scan(text, at + 1) else { return text.len() };
    if span.canonical {
        out.put(&text[at..=span.end]);
    } else {
        string::write_canonical(&text[at + 1..span.end], out);
    }
    span.end + 1
}

/// Writes the RFC 8785 form of the number at `at`; returns the offset behind it.
///
/// # Errors
/// [`CanonicalFault::Number`] if the number has no canonical text.
pub(crate) fn write_number<S: ByteSink>(
    text: &[u8],
    at: usize,
    integers: IntegerPolicy,
    out: &mut S,
) -> Result<usize, CanonicalFault> {
    let Some(span) = scan_number(text, at) else { return Ok(text.len()) };
    let literal = &text[at..span.end];
    if number::is_canonical(literal, span.is_integer) {
        out.put(literal);
        return Ok(span.end);
    }
    let mut buffer = ryu_js::Buffer::new();
    match number::canonical_text(literal, integers, &mut buffer) {
        Ok(printed) => out.put(printed),
        Err(fault) => {
            let literal = literal.iter().take(60).map(|&byte| char::from(byte)).collect();
            let path = Position::of(text, at).path;
            return Err(CanonicalFault::Number { path, literal, fault });
        }
    }
    Ok(span.end)
}

/// Returns the offset of the next byte that is not white space, at `at` or behind it.
#[inline(always)]
pub fn skip_space(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(byte) if *byte <= b' ' && is_one_space(text, at, *byte) => at + 1,
        Some(byte) if *byte <= b' ' => skip_run_of_space(text, at),
        _ => at,
    }
}

#[inline(never)]
fn skip_run_of_space(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at)
        && *byte <= b' '
    {
        at = skip_spaces(text, at + 1);
    }
    at
}

/// Returns true if the member name whose opening quote is at `at` is one of `names`, after unescaping.
pub fn is_named(text: &[u8], at: usize, names: &[&str]) -> bool {
    let name = value_at(text, at);
    names.iter().any(|known| name.is_some_and(|name| name.is_string(known)))
}

/// Returns the offset behind the value of the member whose name begins at `at`.
pub fn member_end(text: &[u8], at: usize) -> usize {
    let colon = value_at(text, at).map_or(text.len(), |name| skip_space(text, at + name.text().len()));
    value_end(text, colon + 1)
}

/// Returns the offset behind the value at `at`; white space may come first.
pub fn value_end(text: &[u8], at: usize) -> usize {
    let value = skip_space(text, at);
    value_at(text, value).map_or(text.len(), |found| value + found.text().len())
}

/// Scans the value at `at` again.
fn value_at(text: &[u8], at: usize) -> Option<Value<'_>> {
    let limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };
    Scanner::at_offset(text, at, limits).value().ok()
}
