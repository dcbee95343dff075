//! Strings in ASCII: everything beyond the printable characters is escaped, line ends are one line feed.

use reenact_json::canonical::Sink;
use reenact_json::token::{BLOCK, BlockRule, Characters, pass_blocks, stops};

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// What becomes of the ends of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnds {
    /// CR LF and CR become LF: the rule for values.
    Unified,
    /// They stay: the rule for names.
    Kept,
}

/// The offset of the first byte at or after `at` that does not stand for itself.
#[inline]
fn run(text: &[u8], mut at: usize) -> usize {
    while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let found = stops(u64::from_le_bytes(*bytes));
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

/// The end of a string whose opening quote lies at `at`, if all of it is printable ASCII without escapes: it is then its own
/// text. Most strings are.
#[inline]
pub(super) fn plain(text: &[u8], at: usize) -> Option<usize> {
    let end = run(text, at + 1);
    (text.get(end) == Some(&b'"')).then_some(end + 1)
}

/// Writes the string whose opening quote lies at `at`. Returns where it ends, and whether it was spelled otherwise.
pub(super) fn write<S: Sink>(text: &[u8], at: usize, ends: LineEnds, out: &mut S) -> (usize, bool) {
    let mut copier = Copier { text, copied: at, is_changed: false, out };
    let mut at = at + 1;
    let mut after_return = false;
    let mut short = 0_u32;
    loop {
        let from = if short < MANY || after_return { at } else { pass_blocks(text, at, &mut Printable) };
        let end = run(text, from);
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
                Some(b'u') if let Some(next) = canonical_unicode(text, at) => {
                    at = run_of_unicode(text, next);
                    after_return = false;
                    short = 0;
                    continue;
                }
                Some(b'u') => match unicode(text, at) {
                    Some(found) => found,
                    None => break,
                },
                Some(b'n') => ('\n', at + 2),
                Some(b'r') => ('\r', at + 2),
                Some(_) => ('/', at + 2),
                None => break,
            },
            Some(_) => {
                at = copier.beyond_ascii(at);
                after_return = false;
                continue;
            }
        };
        let unified = ends == LineEnds::Unified;
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

/// After how many short escapes in a row [`write`] expects more.
const MANY: u32 = 3;

/// What stands for itself here, line feeds included where no carriage return stands before them.
struct Printable;

impl BlockRule for Printable {
    #[inline(always)]
    fn passes(&mut self, kind: u8) -> bool {
        matches!(kind, b'n' | b't' | b'b' | b'f')
    }

    #[inline(always)]
    fn is_text(&mut self, block: &[u8; BLOCK]) -> bool {
        let (mut low, mut high) = (false, false);
        for &byte in block {
            low |= byte.cast_signed() < 0x20;
            high |= byte == 0x7F;
        }
        !(low | high)
    }
}

/// Where the `\u` escape at `at` ends, with its second half if it has one, if this form spells it so. Text beyond ASCII is
/// nothing but these.
#[inline]
fn canonical_unicode(text: &[u8], at: usize) -> Option<usize> {
    let unit = |at: usize| {
        let digits = text.get(at..)?.first_chunk::<6>()?;
        let values = [digits[2], digits[3], digits[4], digits[5]].map(|digit| VALUES[usize::from(digit)]);
        let is_unit = digits[..2] == *b"\\u" && values.iter().all(|value| *value < 16);
        is_unit.then(|| values.iter().fold(0, |unit, value| unit << 4 | u16::from(*value)))
    };
    match unit(at)? {
        0x08..=0x0A | 0x0C | 0x0D | 0x20..=0x7E | 0xDC00..=0xDFFF => None,
        0xD800..=0xDBFF => matches!(unit(at + 6)?, 0xDC00..=0xDFFF).then_some(at + 12),
        _ => Some(at + 6),
    }
}

/// Where a run of `\u` escapes from `at` on ends, as far as they need only one look: in lower case, of one unit, beyond
/// U+0FFF. Text of other scripts comes in long runs of these.
#[inline]
fn run_of_unicode(text: &[u8], mut at: usize) -> usize {
    while let Some([b'\\', b'u', lead, a, b, c]) = text.get(at..).and_then(<[u8]>::first_chunk::<6>) {
        let [lead, a, b, c] = [lead, a, b, c].map(|digit| VALUES[usize::from(*digit)]);
        // 0 leads what has a shorter spelling, D what may be half a character.
        if !matches!(lead, 1..=12 | 14 | 15) || (a | b | c) >= 16 {
            break;
        }
        at += 6;
    }
    at
}

/// What lower-case hexadecimal digits stand for; 16 for every other byte.
const VALUES: [u8; 256] = {
    let mut values = [16; 256];
    let mut value = 0;
    while value < 16 {
        values[DIGITS[value as usize] as usize] = value;
        value += 1;
    }
    values
};

/// The character that the `\u` escape at `at` spells, with its second half if it has one, and where it ends.
fn unicode(text: &[u8], at: usize) -> Option<(char, usize)> {
    let one = text.get(at..at + 6)?;
    let is_pair = matches!(one, [_, _, b'd' | b'D', b'8'..=b'9' | b'a'..=b'b' | b'A'..=b'B', ..]);
    let end = if is_pair { at + 12 } else { at + 6 };
    Some((Characters::new(text.get(at..end)?).next()?, end))
}

/// Copies a text but for some pieces of it.
struct Copier<'a, S> {
    text: &'a [u8],
    copied: usize,
    is_changed: bool,
    out: &'a mut S,
}

impl<S: Sink> Copier<'_, S> {
    /// Writes `bytes` in the place of what stands from `from` to `to`.
    fn replace(&mut self, from: usize, to: usize, bytes: &[u8]) {
        self.out.put(self.text.get(self.copied..from).unwrap_or_default());
        self.out.put(bytes);
        self.copied = to;
        self.is_changed = true;
    }

    /// Writes a character as this form spells it, unless it stands there so.
    fn respell(&mut self, from: usize, to: usize, character: char) {
        let mut spelled = Spelled::default();
        spelled.push(character);
        if self.text.get(from..to) != Some(spelled.bytes()) {
            self.replace(from, to, spelled.bytes());
        }
    }

    /// Escapes the characters from `at` on that stand there beyond ASCII; returns where they end.
    fn beyond_ascii(&mut self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| **byte >= 0x7F).count();
        let run = core::str::from_utf8(&rest[..length]).unwrap_or_default();
        self.replace(at, at + length.max(1), b"");
        let mut spelled = Spelled::default();
        for character in run.chars() {
            spelled.push(character);
            if spelled.used > Spelled::ROOM - 12 {
                self.out.put(spelled.bytes());
                spelled.used = 0;
            }
        }
        self.out.put(spelled.bytes());
        at + length.max(1)
    }

    fn finish(self, end: usize) -> bool {
        self.out.put(self.text.get(self.copied..end).unwrap_or_default());
        self.is_changed
    }
}

/// Characters as this form spells them.
struct Spelled {
    bytes: [u8; Self::ROOM],
    used: usize,
}

impl Default for Spelled {
    fn default() -> Self {
        Self { bytes: [0; Self::ROOM], used: 0 }
    }
}

impl Spelled {
    const ROOM: usize = 192;

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }

    fn append(&mut self, bytes: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.used..self.used + bytes.len()) {
            room.copy_from_slice(bytes);
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

/// Writes text of ours as such a string, quotes included.
pub fn write_text<S: Sink>(text: &str, out: &mut S) {
    out.put(b"\"");
    let mut spelled = Spelled::default();
    for character in text.chars() {
        spelled.push(character);
        if spelled.used > Spelled::ROOM - 12 {
            out.put(spelled.bytes());
            spelled.used = 0;
        }
    }
    out.put(spelled.bytes());
    out.put(b"\"");
}

/// What a string spells whose text between the quotes this is, with its line ends unified.
pub(super) fn unified(quoted: &[u8]) -> String {
    let mut after_return = false;
    Characters::new(quoted)
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

    fn written(text: &str, ends: LineEnds) -> (String, bool) {
        let mut out = Vec::new();
        let (end, is_changed) = write(text.as_bytes(), 0, ends, &mut out);
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
            assert_eq!(written(text, LineEnds::Unified), (expected.into(), text != expected), "{text}");
        }
        assert_eq!(written(r#""a\r\n\r""#, LineEnds::Kept), (r#""a\r\n\r""#.into(), false));
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
            let mut kept = Vec::new();
            write_text(&text, &mut kept);
            let kept = String::from_utf8(kept).unwrap();
            prop_assert!(kept.bytes().all(|byte| matches!(byte, 0x20..=0x7E)));
            prop_assert_eq!(written(&quoted, LineEnds::Kept), (kept.clone(), quoted != kept));
            let normal = text.replace("\r\n", "\n").replace('\r', "\n");
            prop_assert_eq!(&unified(&quoted.as_bytes()[1..quoted.len() - 1]), &normal);
            let mut unified = Vec::new();
            write_text(&normal, &mut unified);
            prop_assert_eq!(written(&quoted, LineEnds::Unified).0, String::from_utf8(unified).unwrap());
        }
    }
}
