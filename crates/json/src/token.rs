//! Pieces of text that has passed the scanner, for writers of canonical forms.
//!
//! Offsets are those of the whole text. What cannot stand in scanned text is passed over, and never a panic.

use crate::canonical::{CanonicalFault, Sink};
use crate::limits::Limits;
use crate::number::{self, Integers};
use crate::position::Position;
use crate::run::{is_one_space, skip_spaces};
use crate::scanner::Scanner;
use crate::string;
use crate::value::Value;

pub use crate::block::{BLOCK, BlockRule, pass_blocks};
pub use crate::number::{NumberSpan, scan as scan_number};
pub use crate::order::Order;
pub use crate::run::stops;
pub use crate::string::{Characters, StringSpan, scan as scan_string, scan_plain};

/// Writes the string whose opening quote lies at `at`; returns where it ends.
#[inline]
pub fn write_string<S: Sink>(text: &[u8], at: usize, out: &mut S) -> usize {
    if let Some((end, _)) = string::scan_plain(text, at + 1) {
        out.put(&text[at..=end]);
        return end + 1;
    }
    let Ok(span) = string::scan(text, at + 1) else { return text.len() };
    if span.canonical {
        out.put(&text[at..=span.end]);
    } else {
        string::write_scanned(&text[at + 1..span.end], out);
    }
    span.end + 1
}

/// Writes the number at `at`; returns where it ends.
pub(crate) fn write_number<S: Sink>(
    text: &[u8],
    at: usize,
    integers: Integers,
    out: &mut S,
) -> Result<usize, CanonicalFault> {
    let Some(span) = scan_number(text, at) else { return Ok(text.len()) };
    let literal = &text[at..span.end];
    if number::is_canonical(literal, span.integer) {
        out.put(literal);
        return Ok(span.end);
    }
    let mut buffer = ryu_js::Buffer::new();
    match number::canonical(literal, integers, &mut buffer) {
        Ok(printed) => out.put(printed),
        Err(fault) => {
            let literal = literal.iter().take(60).map(|&byte| char::from(byte)).collect();
            let path = Position::of(text, at).path;
            return Err(CanonicalFault::Number { path, literal, fault });
        }
    }
    Ok(span.end)
}

/// The offset of the next byte that is not white space.
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

/// Whether the member whose name's opening quote lies at `at` bears one of these names.
pub fn is_named(text: &[u8], at: usize, names: &[&str]) -> bool {
    let name = scanned(text, at);
    names.iter().any(|known| name.is_some_and(|name| name.is_string(known)))
}

/// Where the value of the member at `at` ends.
pub fn end_of_member(text: &[u8], at: usize) -> usize {
    let colon = scanned(text, at).map_or(text.len(), |name| skip_space(text, at + name.text().len()));
    end_of_value(text, colon + 1)
}

/// Where the value at `at` ends; white space may come first.
pub fn end_of_value(text: &[u8], at: usize) -> usize {
    let value = skip_space(text, at);
    scanned(text, value).map_or(text.len(), |found| value + found.text().len())
}

fn scanned(text: &[u8], at: usize) -> Option<Value<'_>> {
    let limits = Limits { depth: Limits::DEEPEST, bytes: Limits::LARGEST };
    Scanner::over(text, at, limits).value().ok()
}
