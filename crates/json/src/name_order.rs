//! Order of member names in canonical forms: by UTF-16 code units (RFC 8785 §3.2.3), or by code points, as most languages sort
//! text. The two differ only for characters beyond U+FFFF.

use core::cmp::Ordering;

use crate::string::UnescapedChars;

/// Order by which a canonical form sorts member names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NameOrder {
    /// By UTF-16 code units, as in RFC 8785.
    #[default]
    Utf16,
    /// By code points, which is also the order of the UTF-8 bytes.
    CodePoints,
}

impl NameOrder {
    /// Compares two names, given as written between their quotes, after unescaping.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Utf16 => compare_utf16(a, b),
            Self::CodePoints => compare_by(a, b, u32::from),
        }
    }
}

/// Compares two names, given as written between their quotes, by the UTF-16 code units of their unescaped text.
pub(crate) fn compare_utf16(a: &[u8], b: &[u8]) -> Ordering {
    compare_by(a, b, utf16_rank)
}

/// Compares two names by the rank of each unescaped character. Reads only up to the first difference: sorting compares one
/// name with many, and a long name must not cost its whole length each time.
fn compare_by(a: &[u8], b: &[u8], rank: fn(char) -> u32) -> Ordering {
    let alike = a.iter().zip(b).take_while(|(x, y)| x == y && **x != b'\\').count();
    // The first difference may lie inside a multi-byte character: step back to its first byte.
    let inside = |at: usize| [a, b].iter().any(|name| name.get(at).is_some_and(|byte| byte & 0xC0 == 0x80));
    let from = (0..=alike).rev().find(|&at| !inside(at)).unwrap_or(0);
    UnescapedChars::new(&a[from..]).map(rank).cmp(UnescapedChars::new(&b[from..]).map(rank))
}

/// Returns a number that sorts characters as their UTF-16 code units do: surrogate pairs come before U+E000 to U+FFFF.
fn utf16_rank(character: char) -> u32 {
    match u32::from(character) {
        below @ ..0xE000 => below,
        private @ 0xE000..=0xFFFF => 0x0020_0000 + private,
        beyond => 0xD800 + (beyond - 0x1_0000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn raw(text: &str) -> &[u8] {
        text.as_bytes()
    }

    fn quoted(text: &str) -> Vec<u8> {
        text.replace('\\', "\\\\").into_bytes()
    }

    #[test]
    fn surrogates_come_before_the_private_area() {
        assert_eq!(compare_utf16(raw("\u{10000}"), raw("\u{E000}")), Ordering::Less);
        assert_eq!(compare_utf16(raw("\u{FFFF}"), raw("\u{10FFFF}")), Ordering::Greater);
        assert_eq!(compare_utf16(raw("\u{D7FF}"), raw("\u{10000}")), Ordering::Less);
        assert_eq!(compare_utf16(raw("a"), raw("ab")), Ordering::Less);
        assert_eq!(NameOrder::CodePoints.compare(raw("\u{10000}"), raw("\u{E000}")), Ordering::Greater);
    }

    #[test]
    fn escapes_are_compared_by_what_they_spell() {
        assert_eq!(compare_utf16(raw(r"\u0061"), raw("a")), Ordering::Equal);
        assert_eq!(compare_utf16(raw(r"\ud83d\ude00"), raw("\u{1F600}")), Ordering::Equal);
        assert_eq!(compare_utf16(raw(r"\n"), raw("a")), Ordering::Less);
    }

    proptest! {
        #[test]
        fn agrees_with_utf16(a in "\\PC{0,6}", b in "\\PC{0,6}") {
            let expected = a.encode_utf16().cmp(b.encode_utf16());
            prop_assert_eq!(compare_utf16(&quoted(&a), &quoted(&b)), expected);
            let by_rank = a.chars().map(utf16_rank).cmp(b.chars().map(utf16_rank));
            prop_assert_eq!(by_rank, expected);
            prop_assert_eq!(NameOrder::CodePoints.compare(&quoted(&a), &quoted(&b)), a.cmp(&b));
        }
    }
}
