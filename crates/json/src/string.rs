//! JSON strings: strict scan, decoding, canonical text.

use crate::block::{self, BLOCK};
use crate::canonical::Sink;
use crate::run::{HIGH, LONG, run, skip_plain, stops};
use crate::syntax::{SyntaxError, SyntaxFault};

/// What the scan of one string found. The string itself lies between the byte after its opening quote and `end`.
#[derive(Debug, Clone, Copy)]
pub struct StringSpan {
    /// The offset of the closing quote.
    pub end: usize,
    /// Whether any escape occurs: if not, the bytes are the text.
    pub escaped: bool,
    /// Whether it is spelled as RFC 8785 §3.2.2.2 spells it.
    pub canonical: bool,
}

/// The end of a string that is printable ASCII without escapes, and its first eight bytes as a number that sorts as they do.
/// Most strings are; `None` means only that this one needs [`scan`].
#[inline(always)]
pub fn scan_plain(input: &[u8], start: usize) -> Option<(usize, u64)> {
    let first = word(input, start);
    let mut next = first;
    let mut end = start;
    let mut words = 0;
    loop {
        let found = stops(next);
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
        if words == LONG {
            end = skip_plain(input, end);
        }
        next = word(input, end);
    }
    Some((end, sortable(first, end - start)))
}

/// Eight bytes of a text, the first one lowest; zeros, which end every run, stand for those behind its end.
#[inline(always)]
fn word(input: &[u8], at: usize) -> u64 {
    match input.get(at..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => last_word(input, at),
    }
}

#[inline(never)]
fn last_word(input: &[u8], at: usize) -> u64 {
    let rest = input.get(at..).unwrap_or_default();
    rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// The first eight bytes of a text, of which `length` count, as a number that sorts as they do.
#[inline]
fn sortable(word: u64, length: usize) -> u64 {
    let counted = if length < 8 { word & ((1 << (8 * length)) - 1) } else { word };
    counted.swap_bytes()
}

/// What [`scan_plain`] gives for a string whose place is known.
#[inline]
pub(crate) fn key(input: &[u8], start: usize, end: usize) -> u64 {
    sortable(word(input, start), end - start)
}

/// As [`key`], of a name that is known beforehand.
pub(crate) const fn key_of(name: &[u8]) -> u64 {
    let mut key = 0;
    let mut at = 0;
    while at < 8 {
        key = key << 8 | if at < name.len() { name[at] as u64 } else { 0 };
        at += 1;
    }
    key
}

/// Scans a string whose opening quote lies just before `start`.
#[inline(never)]
pub fn scan(input: &[u8], start: usize) -> Result<StringSpan, Box<SyntaxError>> {
    let mut at = start;
    let mut seen = 0;
    let mut escaped = false;
    let mut canonical = true;
    let mut short = 0_u32;
    loop {
        // Where short escapes are few, a closer look at each is cheap; where there are more, they are many.
        if short >= MANY {
            at = block::pass_blocks(input, at, &mut Strict { seen: &mut seen });
        }
        at = run(input, at, &mut seen);
        match input.get(at) {
            Some(b'"') => break,
            Some(b'\\') => {
                escaped = true;
                short += 1;
                // Short escapes, which most are, take no call.
                at = match input.get(at + 1) {
                    Some(&kind) if SHORT[usize::from(kind)] != 0 && kind != b'/' => at + 2,
                    Some(b'u') if let Some(next) = units(input, at, &mut canonical) => {
                        short = 0;
                        next
                    }
                    _ => escape(input, at, &mut canonical)?,
                };
            }
            Some(&found) => return Err(fault(at, SyntaxFault::ControlCharacter { found })),
            None => return Err(fault(at, SyntaxFault::End { wanted: "a closing quote" })),
        }
    }
    if seen & HIGH != 0 {
        let bytes = input.get(start..at).unwrap_or_default();
        if !is_utf8(bytes)
            && let Err(error) = core::str::from_utf8(bytes)
        {
            return Err(fault(start + error.valid_up_to(), SyntaxFault::NotUtf8));
        }
    }
    Ok(StringSpan { end: at, escaped, canonical })
}

/// Whether bytes are UTF-8; where they are not, the standard library says from which byte on.
fn is_utf8(bytes: &[u8]) -> bool {
    simdutf8::basic::from_utf8(bytes).is_ok()
}

/// After how many short escapes in a row [`scan`] expects more.
const MANY: u32 = 3;

/// What a string may hold without a closer look; gathers whether it is beyond printable ASCII as [`run`] does.
struct Strict<'s> {
    seen: &'s mut u64,
}

impl block::BlockRule for Strict<'_> {
    #[inline(always)]
    fn passes(&mut self, kind: u8) -> bool {
        SHORT[usize::from(kind)] != 0 && kind != b'/'
    }

    #[inline(always)]
    fn is_text(&mut self, block: &[u8; BLOCK]) -> bool {
        // One question for what nearly all blocks are; two where it is not answered.
        if block.iter().fold(true, |all, byte| all & (byte.wrapping_add(1).cast_signed() > 0x20)) {
            return true;
        }
        let (mut control, mut seen) = (false, 0);
        for &byte in block {
            control |= byte < 0x20;
            // 0x7F, one further, is beyond ASCII too.
            seen |= byte | byte.wrapping_add(1);
        }
        *self.seen |= u64::from(seen);
        !control
    }
}

/// The length of eight escapes.
const UNITS: usize = 8 * 6;

/// Whether eight escapes in a row are in lower case and of one unit each that is a character beyond U+0FFF, as nearly all text of
/// other scripts is. Each byte is asked the same, so that it becomes a few instructions on many bytes.
#[inline]
fn are_units(block: &[u8; UNITS]) -> bool {
    const SHAPE: &[u8; UNITS] = b"\\uX000\\uX000\\uX000\\uX000\\uX000\\uX000\\uX000\\uX000";
    let mut fit = true;
    for (&byte, &shape) in block.iter().zip(SHAPE) {
        let is_digit = byte.is_ascii_digit() | matches!(byte, b'a'..=b'f');
        // 0 leads what may have a shorter spelling, d what may be half a character.
        let is_lead = is_digit & (byte != b'0') & (byte != b'd');
        fit &= (byte == shape) & (shape != b'X') & (shape != b'0')
            | is_digit & (shape == b'0')
            | is_lead & (shape == b'X');
    }
    fit
}

/// Where the `\u` escapes from `at` on end that need only one look, if there is any: those of one unit that is a character.
#[inline]
fn units(input: &[u8], at: usize, canonical: &mut bool) -> Option<usize> {
    let mut end = at;
    let mut all_canonical = true;
    while input.get(end..).and_then(<[u8]>::first_chunk).is_some_and(are_units) {
        end += UNITS;
        all_canonical = false;
    }
    while let Some(&[b'\\', b'u', a, b, c, d]) = input.get(end..).and_then(<[u8]>::first_chunk::<6>) {
        let digits = [a, b, c, d].map(|digit| HEX[usize::from(digit)]);
        let any = digits.iter().fold(0, |any, digit| any | digit);
        let [a, b, c, low] = digits.map(|digit| digit & !UPPER);
        if any >= NO_DIGIT || (a == 0xD && b > 7) {
            break;
        }
        // As in `unicode_escape`: a control character without a short escape, in lower case.
        let is_control = a | b == 0 && c < 2 && !(c == 0 && matches!(low, 8 | 9 | 10 | 12 | 13));
        all_canonical &= is_control && any & UPPER == 0;
        end += 6;
    }
    *canonical &= all_canonical;
    (end > at).then_some(end)
}

#[cold]
fn fault(offset: usize, fault: SyntaxFault) -> Box<SyntaxError> {
    Box::new(SyntaxError { offset, fault })
}

/// Reads the escape whose backslash lies at `at`; returns the offset after it.
fn escape(input: &[u8], at: usize, canonical: &mut bool) -> Result<usize, Box<SyntaxError>> {
    match input.get(at + 1) {
        Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'/') => {
            *canonical = false;
            Ok(at + 2)
        }
        Some(b'u') => unicode_escape(input, at, canonical),
        Some(_) => Err(fault(at, SyntaxFault::Escape)),
        None => Err(fault(at + 1, SyntaxFault::End { wanted: "the rest of an escape" })),
    }
}

fn unicode_escape(input: &[u8], at: usize, canonical: &mut bool) -> Result<usize, Box<SyntaxError>> {
    let unit = code_unit(input, at)?;
    match unit {
        // Only control characters without a short escape are canonical as \u, and only with lower-case digits.
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
                _ => Err(fault(at, SyntaxFault::LoneSurrogate)),
            }
        }
        0xDC00..=0xDFFF => Err(fault(at, SyntaxFault::LoneSurrogate)),
        _ => {
            *canonical = false;
            Ok(at + 6)
        }
    }
}

/// Beside the value of a hexadecimal digit: it is in upper case.
const UPPER: u8 = 16;
/// No value of a digit is as large.
const NO_DIGIT: u8 = 2 * UPPER;

/// What each byte counts as a hexadecimal digit; [`NO_DIGIT`] where it is none.
const HEX: [u8; 256] = {
    let mut table = [NO_DIGIT; 256];
    let mut value: u8 = 0;
    while value < 16 {
        table[b"0123456789ABCDEF"[value as usize] as usize] = value | UPPER;
        // Last, so that 0 to 9 are of no case.
        table[b"0123456789abcdef"[value as usize] as usize] = value;
        value += 1;
    }
    table
};

/// The code unit that the `\uXXXX` at `at` spells.
#[inline]
fn code_unit(input: &[u8], at: usize) -> Result<u16, Box<SyntaxError>> {
    let Some(digits) = input.get(at + 2..at + 6) else {
        return Err(fault(input.len(), SyntaxFault::End { wanted: "the rest of an escape" }));
    };
    let mut unit = 0;
    let mut wrong = 0;
    for &digit in digits {
        let value = HEX[usize::from(digit)];
        wrong |= value;
        unit = unit << 4 | u16::from(value & 15);
    }
    if wrong >= NO_DIGIT { Err(fault(at, SyntaxFault::Escape)) } else { Ok(unit) }
}

/// The characters that the text between two quotes spells. The text must have passed [`scan`]; of other text, this gives
/// what it can and stops.
///
/// Nothing is read ahead: whoever needs three characters of a long name does not pay for its length.
#[derive(Debug, Clone)]
pub struct Characters<'a> {
    rest: &'a [u8],
}

impl<'a> Characters<'a> {
    /// The characters of the text between two quotes.
    pub fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// The next character as it is written.
    #[inline]
    fn written(&mut self) -> Option<char> {
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

    fn unit(&mut self) -> Option<u16> {
        let mut unit = 0;
        for _ in 0..4 {
            unit = unit << 4 | self.written()?.to_digit(16)?;
        }
        u16::try_from(unit).ok()
    }
}

impl Iterator for Characters<'_> {
    type Item = char;

    #[inline]
    fn next(&mut self) -> Option<char> {
        let character = self.written()?;
        if character != '\\' {
            return Some(character);
        }
        Some(match self.written()? {
            'b' => '\u{8}',
            'f' => '\u{C}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let high = self.unit()?;
                match char::from_u32(u32::from(high)) {
                    Some(character) => character,
                    None => {
                        self.written()?;
                        self.written()?;
                        let low = self.unit()?;
                        char::decode_utf16([high, low]).next()?.ok()?
                    }
                }
            }
            other => other,
        })
    }
}

/// What each short escape spells; zero where there is none.
pub(crate) const SHORT: [u8; 256] = {
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

/// The character that the `\uXXXX` at `at` spells, or that one and the next, and where the text goes on.
#[inline(always)]
pub(crate) fn unicode(text: &[u8], at: usize) -> (char, usize) {
    let unit = |at: usize| {
        let digits = text.get(at..).and_then(<[u8]>::first_chunk::<6>).unwrap_or(b"\\u0000");
        let [a, b, c, d] =
            [digits[2], digits[3], digits[4], digits[5]].map(|digit| u16::from(HEX[usize::from(digit)] & 15));
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

/// Writes text as a canonical JSON string, quotes included (RFC 8785 §3.2.2.2).
pub(crate) fn write_text<S: Sink>(text: &str, out: &mut S) {
    out.put(b"\"");
    write_content(text.as_bytes(), out);
    out.put(b"\"");
}

/// Writes what stands between the quotes. All that needs an escape is one byte, so that the text may be a piece of a longer one.
pub(crate) fn write_content<S: Sink>(bytes: &[u8], out: &mut S) {
    let mut at = 0;
    loop {
        let end = run(bytes, at, &mut 0);
        out.put(bytes.get(at..end).unwrap_or_default());
        let Some(&byte) = bytes.get(end) else { return };
        write_escape(byte, out);
        at = end + 1;
    }
}

fn write_escape<S: Sink>(byte: u8, out: &mut S) {
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

/// Writes the canonical form of a string that has passed [`scan`], given as the text between its quotes. Runs without
/// an escape are copied; escapes that are canonical already are copied with them.
pub(crate) fn write_scanned<S: Sink>(text: &[u8], out: &mut S) {
    out.put(b"\"");
    let mut copied = 0;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte != b'\\' {
            at = run(text, at, &mut 0).max(at + 1);
            continue;
        }
        let mut canonical = true;
        let Ok(next) = escape(text, at, &mut canonical) else { break };
        if !canonical {
            out.put(text.get(copied..at).unwrap_or_default());
            let mut buffer = [0; 4];
            for character in Characters::new(text.get(at..next).unwrap_or_default()) {
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
