//! JSON strings: strict scan, unescaping, canonical text.
//!
//! [`scan_plain`] is the fast path for plain ASCII strings, [`scan`] takes all others. Decoding into a sink is in
//! `unescape`, the search for special bytes in `byte_scan` and `block`.

use crate::block::{self, BLOCK};
use crate::byte_scan::{HIGH_BITS, LONG_RUN_WORDS, non_plain_bits, plain_run_end, skip_plain};
use crate::canonical::ByteSink;
use crate::syntax::{SyntaxError, SyntaxFault};

/// Result of [`scan`]. The content of the string is from the byte after its opening quote up to `end`.
#[derive(Debug, Clone, Copy)]
pub struct StringSpan {
    /// Offset of the closing quote.
    pub end: usize,
    /// True if any escape occurs; without one, the bytes are the decoded text.
    pub escaped: bool,
    /// True if the string is written as RFC 8785 §3.2.2.2 writes it.
    pub canonical: bool,
}

/// Returns the offset of the closing quote and the sort key of a plain string: printable ASCII without escapes, as most
/// strings are. The sort key is the first eight bytes as a big-endian number. `None` means only that the string needs [`scan`].
/// `start` is the offset behind the opening quote.
#[inline(always)]
pub fn scan_plain(input: &[u8], start: usize) -> Option<(usize, u64)> {
    let first = load_word(input, start);
    let mut next = first;
    let mut end = start;
    let mut words = 0;
    loop {
        let found = non_plain_bits(next);
        if found != 0 {
            let shift = found.trailing_zeros() & !7;
            if (next >> shift) & 0xFF != u64::from(b'"') {
                return None;
            }
            end += shift as usize / 8;
            break;
        }
        end += 8;
        words += 1;
        if words == LONG_RUN_WORDS {
            end = skip_plain(input, end);
        }
        next = load_word(input, end);
    }
    Some((end, to_sort_key(first, end - start)))
}

/// Loads eight bytes, little-endian. Bytes behind the end of the text are zeros, which end every plain run.
#[inline(always)]
fn load_word(input: &[u8], at: usize) -> u64 {
    match input.get(at..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => load_last_word(input, at),
    }
}

/// Loads the last bytes of the text; kept apart, since it is rarely needed.
#[inline(never)]
fn load_last_word(input: &[u8], at: usize) -> u64 {
    let rest = input.get(at..).unwrap_or_default();
    rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Turns a little-endian word, of which the first `length` bytes count, into a number that sorts as those bytes do.
#[inline]
fn to_sort_key(word: u64, length: usize) -> u64 {
    let counted = if length < 8 { word & ((1 << (8 * length)) - 1) } else { word };
    counted.swap_bytes()
}

/// Returns the sort key of the name from `start` to `end`, as [`scan_plain`] does.
#[inline]
pub(crate) fn sort_key_at(input: &[u8], start: usize, end: usize) -> u64 {
    to_sort_key(load_word(input, start), end - start)
}

/// Returns the sort key of a name; `const`, for names that are known at compile time.
pub(crate) const fn sort_key_of(name: &[u8]) -> u64 {
    let mut key = 0;
    let mut at = 0;
    while at < 8 {
        key = key << 8 | if at < name.len() { name[at] as u64 } else { 0 };
        at += 1;
    }
    key
}

/// Scans a string of any form. `start` is the offset behind the opening quote.
///
/// # Errors
/// The first control character, bad escape, lone surrogate or byte that is not UTF-8, or the missing closing quote.
#[inline(never)]
pub fn scan(input: &[u8], start: usize) -> Result<StringSpan, Box<SyntaxError>> {
    let mut at = start;
    let mut seen = 0;
    let mut escaped = false;
    let mut canonical = true;
    let mut short = 0_u32;
    loop {
        // Few short escapes are cheap one by one; after some in a row, many more are likely, and blocks are faster.
        if short >= DENSE_ESCAPES {
            at = block::skip_blocks(input, at, &mut StrictStringRule { seen: &mut seen });
        }
        at = plain_run_end(input, at, &mut seen);
        match input.get(at) {
            Some(b'"') => break,
            Some(b'\\') => {
                escaped = true;
                short += 1;
                // Most escapes are short; those need no call.
                at = match input.get(at + 1) {
                    Some(&kind) if SHORT_ESCAPES[usize::from(kind)] != 0 && kind != b'/' => at + 2,
                    Some(b'u') if let Some(next) = skip_unit_escapes(input, at, &mut canonical) => {
                        short = 0;
                        next
                    }
                    _ => scan_escape(input, at, &mut canonical)?,
                };
            }
            Some(&found) => return Err(boxed_error(at, SyntaxFault::ControlCharacter { found })),
            None => return Err(boxed_error(at, SyntaxFault::End { wanted: "a closing quote" })),
        }
    }
    if seen & HIGH_BITS != 0 {
        let bytes = input.get(start..at).unwrap_or_default();
        if !is_utf8(bytes)
            && let Err(error) = core::str::from_utf8(bytes)
        {
            return Err(boxed_error(start + error.valid_up_to(), SyntaxFault::NotUtf8));
        }
    }
    Ok(StringSpan { end: at, escaped, canonical })
}

/// Returns true if bytes are UTF-8. For the offset of a fault, the standard library is asked again.
fn is_utf8(bytes: &[u8]) -> bool {
    simdutf8::basic::from_utf8(bytes).is_ok()
}

/// Number of short escapes in a row after which [`scan`] expects many more.
const DENSE_ESCAPES: u32 = 3;

/// Block rule of [`scan`]: accepts text without control characters and canonical short escapes.
struct StrictStringRule<'s> {
    seen: &'s mut u64,
}

impl block::BlockRule for StrictStringRule<'_> {
    #[inline(always)]
    fn accepts_escape(&mut self, kind: u8) -> bool {
        SHORT_ESCAPES[usize::from(kind)] != 0 && kind != b'/'
    }

    #[inline(always)]
    fn accepts_block(&mut self, block: &[u8; BLOCK]) -> bool {
        // One comparison accepts printable ASCII, which nearly all blocks are; other blocks take the loop below.
        if block.iter().fold(true, |all, byte| all & (byte.wrapping_add(1).cast_signed() > 0x20)) {
            return true;
        }
        let (mut control, mut seen) = (false, 0);
        for &byte in block {
            control |= byte < 0x20;
            // 0x7F counts as beyond ASCII: adding one sets its high bit.
            seen |= byte | byte.wrapping_add(1);
        }
        *self.seen |= u64::from(seen);
        !control
    }
}

/// Length of eight `\uXXXX` escapes, in bytes.
const EIGHT_ESCAPES_BYTES: usize = 8 * 6;

/// Returns true for eight escapes in a row with lower-case digits, each of one code unit that is a character beyond U+0FFF, as
/// in nearly all escaped text of other scripts. All bytes take the same comparisons, so that the loop compiles to SIMD
/// instructions.
#[inline]
fn are_eight_unit_escapes(block: &[u8; EIGHT_ESCAPES_BYTES]) -> bool {
    const SHAPE: &[u8; EIGHT_ESCAPES_BYTES] = b"\\uX000\\uX000\\uX000\\uX000\\uX000\\uX000\\uX000\\uX000";
    let mut fit = true;
    for (&byte, &shape) in block.iter().zip(SHAPE) {
        let is_digit = byte.is_ascii_digit() | matches!(byte, b'a'..=b'f');
        // A first digit 0 may have a shorter spelling, and d may be half of a surrogate pair: both need the slow path.
        let is_lead = is_digit & (byte != b'0') & (byte != b'd');
        fit &= (byte == shape) & (shape != b'X') & (shape != b'0')
            | is_digit & (shape == b'0')
            | is_lead & (shape == b'X');
    }
    fit
}

/// Skips the `\u` escapes from `at` on that are one code unit and a character, and returns the offset behind them; `None` if
/// the first one is not of that kind. Clears `canonical` if one of them has a shorter spelling.
#[inline]
fn skip_unit_escapes(input: &[u8], at: usize, canonical: &mut bool) -> Option<usize> {
    let mut end = at;
    let mut all_canonical = true;
    while input.get(end..).and_then(<[u8]>::first_chunk).is_some_and(are_eight_unit_escapes) {
        end += EIGHT_ESCAPES_BYTES;
        all_canonical = false;
    }
    while let Some(&[b'\\', b'u', a, b, c, d]) = input.get(end..).and_then(<[u8]>::first_chunk::<6>) {
        let digits = [a, b, c, d].map(|digit| HEX_VALUES[usize::from(digit)]);
        let any = digits.iter().fold(0, |any, digit| any | digit);
        let [a, b, c, low] = digits.map(|digit| digit & !UPPER_CASE_FLAG);
        if any >= NOT_HEX || (a == 0xD && b > 7) {
            break;
        }
        // Canonical as in `scan_unicode_escape`: a control character without a short escape, in lower case.
        let is_control = a | b == 0 && c < 2 && !(c == 0 && matches!(low, 8 | 9 | 10 | 12 | 13));
        all_canonical &= is_control && any & UPPER_CASE_FLAG == 0;
        end += 6;
    }
    *canonical &= all_canonical;
    (end > at).then_some(end)
}

#[cold]
fn boxed_error(offset: usize, fault: SyntaxFault) -> Box<SyntaxError> {
    Box::new(SyntaxError { offset, fault })
}

/// Checks the escape whose backslash is at `at` and returns the offset behind it. Clears `canonical` if RFC 8785 writes the
/// character otherwise.
fn scan_escape(input: &[u8], at: usize, canonical: &mut bool) -> Result<usize, Box<SyntaxError>> {
    match input.get(at + 1) {
        Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'/') => {
            *canonical = false;
            Ok(at + 2)
        }
        Some(b'u') => scan_unicode_escape(input, at, canonical),
        Some(_) => Err(boxed_error(at, SyntaxFault::Escape)),
        None => Err(boxed_error(at + 1, SyntaxFault::End { wanted: "the rest of an escape" })),
    }
}

/// Checks a `\u` escape, and the second half of a surrogate pair. See [`scan_escape`].
fn scan_unicode_escape(input: &[u8], at: usize, canonical: &mut bool) -> Result<usize, Box<SyntaxError>> {
    let unit = code_unit(input, at)?;
    match unit {
        // RFC 8785 writes only control characters without a short escape as \u, and with lower-case digits.
        0..=0x1F if !matches!(unit, 0x08 | 0x09 | 0x0A | 0x0C | 0x0D) => {
            *canonical &= !input.get(at + 5).is_some_and(u8::is_ascii_uppercase);
            Ok(at + 6)
        }
        0xD800..=0xDBFF => {
            *canonical = false;
            let pair = input.get(at + 6..at + 8) == Some(b"\\u");
            match pair.then(|| code_unit(input, at + 6)) {
                Some(Ok(0xDC00..=0xDFFF)) => Ok(at + 12),
                Some(Err(error)) => Err(error),
                _ => Err(boxed_error(at, SyntaxFault::LoneSurrogate)),
            }
        }
        0xDC00..=0xDFFF => Err(boxed_error(at, SyntaxFault::LoneSurrogate)),
        _ => {
            *canonical = false;
            Ok(at + 6)
        }
    }
}

/// Flag in [`HEX_VALUES`] for an upper-case digit.
const UPPER_CASE_FLAG: u8 = 16;
/// Value in [`HEX_VALUES`] of bytes that are no hexadecimal digit; larger than that of any digit.
const NOT_HEX: u8 = 2 * UPPER_CASE_FLAG;

/// Value of each byte as a hexadecimal digit, with [`UPPER_CASE_FLAG`]; [`NOT_HEX`] for other bytes.
const HEX_VALUES: [u8; 256] = {
    let mut table = [NOT_HEX; 256];
    let mut value: u8 = 0;
    while value < 16 {
        table[b"0123456789ABCDEF"[value as usize] as usize] = value | UPPER_CASE_FLAG;
        // After the upper case, so that 0 to 9 have no flag.
        table[b"0123456789abcdef"[value as usize] as usize] = value;
        value += 1;
    }
    table
};

/// Returns the UTF-16 code unit of the `\uXXXX` at `at`.
#[inline]
fn code_unit(input: &[u8], at: usize) -> Result<u16, Box<SyntaxError>> {
    let Some(digits) = input.get(at + 2..at + 6) else {
        return Err(boxed_error(input.len(), SyntaxFault::End { wanted: "the rest of an escape" }));
    };
    let mut unit = 0;
    let mut wrong = 0;
    for &digit in digits {
        let value = HEX_VALUES[usize::from(digit)];
        wrong |= value;
        unit = unit << 4 | u16::from(value & 15);
    }
    if wrong >= NOT_HEX { Err(boxed_error(at, SyntaxFault::Escape)) } else { Ok(unit) }
}

/// Iterator over the unescaped characters of a string. The text must have passed [`scan`]; for other text, the iterator stops
/// at the first fault.
///
/// Nothing is read ahead: the first three characters of a long name cost three characters.
#[derive(Debug, Clone)]
pub struct UnescapedChars<'a> {
    rest: &'a [u8],
}

impl<'a> UnescapedChars<'a> {
    /// Creates an iterator over the text between two quotes.
    pub fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// Returns the next character as written, escapes included.
    #[inline]
    fn next_raw_char(&mut self) -> Option<char> {
        let length = match *self.rest.first()? {
            ascii @ ..0x80 => {
                self.rest = &self.rest[1..];
                return Some(char::from(ascii));
            }
            0x80..0xE0 => 2,
            0xE0..0xF0 => 3,
            0xF0.. => 4,
        };
        let (character, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        core::str::from_utf8(character).ok()?.chars().next()
    }

    /// Reads four hexadecimal digits as a UTF-16 code unit.
    fn next_hex_unit(&mut self) -> Option<u16> {
        let mut unit = 0;
        for _ in 0..4 {
            unit = unit << 4 | self.next_raw_char()?.to_digit(16)?;
        }
        u16::try_from(unit).ok()
    }
}

impl Iterator for UnescapedChars<'_> {
    type Item = char;

    #[inline]
    fn next(&mut self) -> Option<char> {
        let character = self.next_raw_char()?;
        if character != '\\' {
            return Some(character);
        }
        Some(match self.next_raw_char()? {
            'b' => '\u{8}',
            'f' => '\u{C}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let high = self.next_hex_unit()?;
                match char::from_u32(u32::from(high)) {
                    Some(character) => character,
                    None => {
                        self.next_raw_char()?;
                        self.next_raw_char()?;
                        let low = self.next_hex_unit()?;
                        char::decode_utf16([high, low]).next()?.ok()?
                    }
                }
            }
            other => other,
        })
    }
}

/// Byte that each short escape stands for, by the byte behind the backslash; zero if there is no such escape.
pub(crate) const SHORT_ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    table[b'n' as usize] = b'\n';
    table[b't' as usize] = b'\t';
    table[b'r' as usize] = b'\r';
    table[b'b' as usize] = 0x08;
    table[b'f' as usize] = 0x0C;
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'/' as usize] = b'/';
    table
};

/// Decodes the `\uXXXX` at `at`, or the surrogate pair that begins there. Returns the character and the offset behind it.
#[inline(always)]
pub(crate) fn decode_unicode_escape(text: &[u8], at: usize) -> (char, usize) {
    let unit = |at: usize| {
        let digits = text.get(at..).and_then(<[u8]>::first_chunk::<6>).unwrap_or(b"\\u0000");
        let [a, b, c, d] = [digits[2], digits[3], digits[4], digits[5]]
            .map(|digit| u16::from(HEX_VALUES[usize::from(digit)] & 15));
        a << 12 | b << 8 | c << 4 | d
    };
    let first = unit(at);
    match char::from_u32(u32::from(first)) {
        Some(character) => (character, at + 6),
        None => {
            let pair = char::decode_utf16([first, unit(at + 6)]).next();
            (pair.and_then(Result::ok).unwrap_or_default(), at + 12)
        }
    }
}

/// Writes unescaped text as a canonical JSON string, quotes included (RFC 8785 §3.2.2.2).
pub(crate) fn write_quoted<S: ByteSink>(text: &str, out: &mut S) {
    out.put(b"\"");
    write_content(text.as_bytes(), out);
    out.put(b"\"");
}

/// Writes unescaped text as the content of a canonical string, without quotes. Only single bytes are escaped, so that the text
/// may be a piece of a longer one, cut anywhere.
pub(crate) fn write_content<S: ByteSink>(bytes: &[u8], out: &mut S) {
    let mut at = 0;
    loop {
        let end = plain_run_end(bytes, at, &mut 0);
        out.put(bytes.get(at..end).unwrap_or_default());
        let Some(&byte) = bytes.get(end) else { return };
        write_escape(byte, out);
        at = end + 1;
    }
}

/// Writes the canonical escape of a byte that needs one.
fn write_escape<S: ByteSink>(byte: u8, out: &mut S) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => out.put(b"\\\""),
        b'\\' => out.put(b"\\\\"),
        0x08 => out.put(b"\\b"),
        b'\t' => out.put(b"\\t"),
        b'\n' => out.put(b"\\n"),
        0x0C => out.put(b"\\f"),
        b'\r' => out.put(b"\\r"),
        other => {
            let digits = [DIGITS[usize::from(other >> 4)], DIGITS[usize::from(other & 15)]];
            out.put(b"\\u00");
            out.put(&digits);
        }
    }
}

/// Writes the canonical form of a string that has passed [`scan`], quotes included; `text` is the content between its quotes.
/// Runs without an escape are copied, together with escapes that are canonical already.
pub(crate) fn write_canonical<S: ByteSink>(text: &[u8], out: &mut S) {
    out.put(b"\"");
    let mut copied = 0;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte != b'\\' {
            at = plain_run_end(text, at, &mut 0).max(at + 1);
            continue;
        }
        let mut canonical = true;
        let Ok(next) = scan_escape(text, at, &mut canonical) else { break };
        if !canonical {
            out.put(text.get(copied..at).unwrap_or_default());
            let mut buffer = [0; 4];
            for character in UnescapedChars::new(text.get(at..next).unwrap_or_default()) {
                write_content(character.encode_utf8(&mut buffer).as_bytes(), out);
            }
            copied = next;
        }
        at = next;
    }
    out.put(text.get(copied..).unwrap_or_default());
    out.put(b"\"");
}

#[cfg(test)]
mod tests;
