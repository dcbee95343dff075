//! Strings in ASCII: everything beyond the printable characters is escaped, line ends become one line feed.

use reenact_json::canonical::ByteSink;
use reenact_json::token::{BLOCK, BlockRule, UnescapedChars, non_plain_bits, skip_blocks};

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Treatment of line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEndPolicy {
    /// CR LF and CR become LF: the rule for values.
    Unified,
    /// Line ends stay: the rule for names.
    Kept,
}

/// Returns the offset of the first byte at or after `at` that is not printable ASCII, or is a quote or a backslash.
#[inline]
fn printable_end(text: &[u8], mut at: usize) -> usize {
    while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let found = non_plain_bits(u64::from_le_bytes(*bytes));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while text.get(at).is_some_and(|byte| matches!(byte, 0x20..=0x7E) && !matches!(byte, b'"' | b'\\')) {
        at += 1;
    }
    at
}

/// Returns the end of a string whose opening quote is at `at`, if all of it is printable ASCII without escapes, as in
/// most strings: the string is then canonical.
#[inline]
pub(super) fn plain_string_end(text: &[u8], at: usize) -> Option<usize> {
    let end = printable_end(text, at + 1);
    (text.get(end) == Some(&b'"')).then_some(end + 1)
}

/// Writes the string whose opening quote is at `at`. Returns the offset behind it, and true if its spelling changed.
pub(super) fn write_string<S: ByteSink>(
    text: &[u8],
    at: usize,
    ends: LineEndPolicy,
    out: &mut S,
) -> (usize, bool) {
    let mut copier = RespellingCopier { text, copied_to: at, is_changed: false, out };
    let mut at = at + 1;
    let mut after_return = false;
    let mut short = 0_u32;
    loop {
        let from = if short < ESCAPES_BEFORE_BLOCKS || after_return {
            at
        } else {
            skip_blocks(text, at, &mut PrintableBlocks)
        };
        let end = printable_end(text, from);
        short += 1;
        after_return &= end == at;
        at = end;
        let (character, next) = match text.get(at) {
            None => break,
            Some(b'"') => {
                at += 1;
                break;
            }
            Some(b'\\') => match text.get(at + 1) {
                Some(b'"' | b'\\' | b'b' | b'f' | b't') => {
                    at += 2;
                    after_return = false;
                    continue;
                }
                Some(b'n') if !after_return => {
                    at += 2;
                    continue;
                }
                Some(b'u') if let Some(next) = canonical_escape_end(text, at) => {
                    at = canonical_escape_run_end(text, next);
                    after_return = false;
                    short = 0;
                    continue;
                }
                Some(b'u') => match decode_unicode_escape(text, at) {
                    Some(found) => found,
                    None => break,
                },
                Some(b'n') => ('\n', at + 2),
                Some(b'r') => ('\r', at + 2),
                Some(_) => ('/', at + 2),
                None => break,
            },
            Some(_) => {
                at = copier.escape_non_ascii(at);
                after_return = false;
                continue;
            }
        };
        let unified = ends == LineEndPolicy::Unified;
        match character {
            '\r' if unified => copier.replace(at, next, b"\\n"),
            '\n' if unified && after_return => copier.replace(at, next, b""),
            other => copier.respell(at, next, other),
        }
        after_return = unified && character == '\r';
        at = next;
    }
    let is_changed = copier.finish(at);
    (at, is_changed)
}

/// Number of short escapes in a row after which [`write_string`] expects more, and scans by blocks.
const ESCAPES_BEFORE_BLOCKS: u32 = 3;

/// Block rule for text that is canonical as it stands, with line feeds where no carriage return comes before them.
struct PrintableBlocks;

impl BlockRule for PrintableBlocks {
    #[inline(always)]
    fn accepts_escape(&mut self, kind: u8) -> bool {
        matches!(kind, b'n' | b't' | b'b' | b'f')
    }

    #[inline(always)]
    fn accepts_block(&mut self, block: &[u8; BLOCK]) -> bool {
        let (mut low, mut high) = (false, false);
        for &byte in block {
            low |= byte.cast_signed() < 0x20;
            high |= byte == 0x7F;
        }
        !(low | high)
    }
}

/// Returns the end of the `\u` escape at `at`, with its second half if it is a surrogate pair, if the escape is
/// canonical. All text beyond ASCII consists of these.
#[inline]
fn canonical_escape_end(text: &[u8], at: usize) -> Option<usize> {
    let unit = |at: usize| {
        let digits = text.get(at..)?.first_chunk::<6>()?;
        let values = [digits[2], digits[3], digits[4], digits[5]].map(|digit| HEX_VALUES[usize::from(digit)]);
        let is_unit = digits[..2] == *b"\\u" && values.iter().all(|value| *value < 16);
        is_unit.then(|| values.iter().fold(0, |unit, value| unit << 4 | u16::from(*value)))
    };
    match unit(at)? {
        0x08..=0x0A | 0x0C | 0x0D | 0x20..=0x7E | 0xDC00..=0xDFFF => None,
        0xD800..=0xDBFF => matches!(unit(at + 6)?, 0xDC00..=0xDFFF).then_some(at + 12),
        _ => Some(at + 6),
    }
}

/// Returns the end of a run of `\u` escapes from `at` on that need only one look: lower case, one unit each, beyond
/// U+0FFF. Text in other scripts comes in long runs of these.
#[inline]
fn canonical_escape_run_end(text: &[u8], mut at: usize) -> usize {
    while let Some([b'\\', b'u', lead, a, b, c]) = text.get(at..).and_then(<[u8]>::first_chunk::<6>) {
        let [lead, a, b, c] = [lead, a, b, c].map(|digit| HEX_VALUES[usize::from(*digit)]);
        // A leading 0 has a shorter spelling; a leading D may be half of a pair.
        if !matches!(lead, 1..=12 | 14 | 15) || (a | b | c) >= 16 {
            break;
        }
        at += 6;
    }
    at
}

/// Values of lower-case hexadecimal digits; 16 for every other byte.
const HEX_VALUES: [u8; 256] = {
    let mut values = [16; 256];
    let mut value = 0;
    while value < 16 {
        values[DIGITS[value as usize] as usize] = value;
        value += 1;
    }
    values
};

/// Decodes the `\u` escape at `at`, with its second half if it is a surrogate pair; returns the character and the
/// end.
fn decode_unicode_escape(text: &[u8], at: usize) -> Option<(char, usize)> {
    let one = text.get(at..at + 6)?;
    let is_pair = matches!(one, [_, _, b'd' | b'D', b'8'..=b'9' | b'a'..=b'b' | b'A'..=b'B', ..]);
    let end = if is_pair { at + 12 } else { at + 6 };
    Some((UnescapedChars::new(text.get(at..end)?).next()?, end))
}

/// Copier of a text that replaces some parts of it.
struct RespellingCopier<'a, S> {
    text: &'a [u8],
    copied_to: usize,
    is_changed: bool,
    out: &'a mut S,
}

impl<S: ByteSink> RespellingCopier<'_, S> {
    /// Writes `bytes` in place of the text from `from` to `to`.
    fn replace(&mut self, from: usize, to: usize, bytes: &[u8]) {
        self.out.put(self.text.get(self.copied_to..from).unwrap_or_default());
        self.out.put(bytes);
        self.copied_to = to;
        self.is_changed = true;
    }

    /// Writes a character in canonical spelling, unless the text has that spelling already.
    fn respell(&mut self, from: usize, to: usize, character: char) {
        let mut spelled = EscapeBuffer::default();
        spelled.push(character);
        if self.text.get(from..to) != Some(spelled.bytes()) {
            self.replace(from, to, spelled.bytes());
        }
    }

    /// Escapes the run of non-ASCII characters at `at`; returns its end.
    fn escape_non_ascii(&mut self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| **byte >= 0x7F).count();
        let run = core::str::from_utf8(&rest[..length]).unwrap_or_default();
        self.replace(at, at + length.max(1), b"");
        let mut spelled = EscapeBuffer::default();
        for character in run.chars() {
            spelled.push(character);
            if spelled.used > EscapeBuffer::CAPACITY - 12 {
                self.out.put(spelled.bytes());
                spelled.used = 0;
            }
        }
        self.out.put(spelled.bytes());
        at + length.max(1)
    }

    fn finish(self, end: usize) -> bool {
        self.out.put(self.text.get(self.copied_to..end).unwrap_or_default());
        self.is_changed
    }
}

/// Buffer of characters in canonical spelling.
struct EscapeBuffer {
    bytes: [u8; Self::CAPACITY],
    used: usize,
}

impl Default for EscapeBuffer {
    fn default() -> Self {
        Self { bytes: [0; Self::CAPACITY], used: 0 }
    }
}

impl EscapeBuffer {
    const CAPACITY: usize = 192;

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }

    fn append(&mut self, bytes: &[u8]) {
        if let Some(target) = self.bytes.get_mut(self.used..self.used + bytes.len()) {
            target.copy_from_slice(bytes);
            self.used += bytes.len();
        }
    }

    fn push(&mut self, character: char) {
        match character {
            '"' => self.append(b"\\\""),
            '\\' => self.append(b"\\\\"),
            '\n' => self.append(b"\\n"),
            '\r' => self.append(b"\\r"),
            '\t' => self.append(b"\\t"),
            '\u{8}' => self.append(b"\\b"),
            '\u{C}' => self.append(b"\\f"),
            ' '..='~' => self.append(&[u8::try_from(character).unwrap_or(b'?')]),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let digit = |shift: u16| DIGITS[usize::from(*unit >> shift & 15)];
                    self.append(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
                }
            }
        }
    }
}

/// Writes a text as a JSON string in ASCII, quotes included. Line ends are kept.
pub fn write_text<S: ByteSink>(text: &str, out: &mut S) {
    out.put(b"\"");
    let mut spelled = EscapeBuffer::default();
    for character in text.chars() {
        spelled.push(character);
        if spelled.used > EscapeBuffer::CAPACITY - 12 {
            out.put(spelled.bytes());
            spelled.used = 0;
        }
    }
    out.put(spelled.bytes());
    out.put(b"\"");
}

/// Decodes the text between a string's quotes, with CR LF and CR as LF.
pub(super) fn unescaped_with_line_feeds(quoted: &[u8]) -> String {
    let mut after_return = false;
    UnescapedChars::new(quoted)
        .filter_map(|character| {
            let is_second = after_return && character == '\n';
            after_return = character == '\r';
            (!is_second).then_some(if after_return { '\n' } else { character })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(text: &str, ends: LineEndPolicy) -> (String, bool) {
        let mut out = Vec::new();
        let (end, is_changed) = write_string(text.as_bytes(), 0, ends, &mut out);
        assert_eq!(end, text.len());
        (String::from_utf8(out).unwrap(), is_changed)
    }

    #[test]
    fn known_spellings() {
        for (text, expected) in [
            (r#""plain""#, r#""plain""#),
            (r#""\" \\ \b \f \n \t""#, r#""\" \\ \b \f \n \t""#),
            (r#""a\r\nb\rc\r\r\nd""#, r#""a\nb\nc\n\nd""#),
            (r#""\u000d\u000a\u000a""#, r#""\n\n""#),
            (r#""\/\u0041\u00E9\u00e9\ud83d\uDE00""#, r#""/A\u00e9\u00e9\ud83d\ude00""#),
            ("\"é世😀\u{7f}x\"", r#""\u00e9\u4e16\ud83d\ude00\u007fx""#),
            (r#""\u007f\u001F\u0022\u005c""#, r#""\u007f\u001f\"\\""#),
            (
                r#""\r\u4e16\uac00\n\u4e16\ue000\uD7FF\ufffd\u0fff""#,
                r#""\n\u4e16\uac00\n\u4e16\ue000\ud7ff\ufffd\u0fff""#,
            ),
            (r#""\u4e16\ud83d\ude00\u4e16\u0041""#, r#""\u4e16\ud83d\ude00\u4e16A""#),
        ] {
            assert_eq!(written(text, LineEndPolicy::Unified), (expected.into(), text != expected), "{text}");
        }
        assert_eq!(written(r#""a\r\n\r""#, LineEndPolicy::Kept), (r#""a\r\n\r""#.into(), false));
    }

    proptest! {
        #[test]
        fn both_ways_agree(text in any::<String>(), seed in any::<u64>()) {
            // Each character raw or as an escape, by the bits of the seed.
            let mut quoted = String::from("\"");
            for (at, character) in text.chars().enumerate() {
                let must = matches!(character, '\0'..='\u{1F}' | '"' | '\\');
                if must || seed >> (at % 64) & 1 == 1 {
                    let is_lower = seed >> ((at + 31) % 64) & 1 == 1;
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        let digits = if is_lower { format!("{unit:04x}") } else { format!("{unit:04X}") };
                        quoted.extend(["\\u", &digits]);
                    }
                } else {
                    quoted.push(character);
                }
            }
            quoted.push('"');
            let mut escaped = Vec::new();
            write_text(&text, &mut escaped);
            let escaped = String::from_utf8(escaped).unwrap();
            prop_assert!(escaped.bytes().all(|byte| matches!(byte, 0x20..=0x7E)));
            prop_assert_eq!(written(&quoted, LineEndPolicy::Kept), (escaped.clone(), quoted != escaped));
            let normal = text.replace("\r\n", "\n").replace('\r', "\n");
            prop_assert_eq!(&unescaped_with_line_feeds(&quoted.as_bytes()[1..quoted.len() - 1]), &normal);
            let mut unified = Vec::new();
            write_text(&normal, &mut unified);
            prop_assert_eq!(written(&quoted, LineEndPolicy::Unified).0, String::from_utf8(unified).unwrap());
        }
    }
}
