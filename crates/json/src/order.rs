//! The order of member names: by UTF-16 code units (RFC 8785 §3.2.3), or by code points, as most languages sort text.

use core::cmp::Ordering;

use crate::string::Characters;

/// What names are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// UTF-16 code units.
    #[default]
    Utf16,
    /// Code points, which is also how UTF-8 sorts.
    CodePoints,
}

impl Order {
    /// Compares two names, as they stand between their quotes, by what they spell.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Utf16 => compare(a, b),
            Self::CodePoints => compare_by(a, b, u32::from),
        }
    }
}

/// Compares two names, as they stand between their quotes, by the UTF-16 code units of what they spell.
pub(crate) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    compare_by(a, b, rank)
}

/// It reads no further than they are alike: sorting compares one name with many, and a long one must not cost its whole
/// length each time.
fn compare_by(a: &[u8], b: &[u8], rank: fn(char) -> u32) -> Ordering {
    let alike = a.iter().zip(b).take_while(|(x, y)| x == y && **x != b'\\').count();
    // The first difference may lie inside a character.
    let inside = |at: usize| [a, b].iter().any(|name| name.get(at).is_some_and(|byte| byte & 0xC0 == 0x80));
    let from = (0..=alike).rev().find(|&at| !inside(at)).unwrap_or(0);
    Characters::new(&a[from..]).map(rank).cmp(Characters::new(&b[from..]).map(rank))
}

/// A number that sorts characters like their UTF-16 code units do.
fn rank(character: char) -> u32 {
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
        assert_eq!(compare(raw("\u{10000}"), raw("\u{E000}")), Ordering::Less);
        assert_eq!(compare(raw("\u{FFFF}"), raw("\u{10FFFF}")), Ordering::Greater);
        assert_eq!(compare(raw("\u{D7FF}"), raw("\u{10000}")), Ordering::Less);
        assert_eq!(compare(raw("a"), raw("ab")), Ordering::Less);
        assert_eq!(Order::CodePoints.compare(raw("\u{10000}"), raw("\u{E000}")), Ordering::Greater);
    }

    #[test]
    fn escapes_are_compared_by_what_they_spell() {
        assert_eq!(compare(raw(r"\u0061"), raw("a")), Ordering::Equal);
        assert_eq!(compare(raw(r"\ud83d\ude00"), raw("\u{1F600}")), Ordering::Equal);
        assert_eq!(compare(raw(r"\n"), raw("a")), Ordering::Less);
    }

    proptest! {
        #[test]
        fn agrees_with_utf16(a in "\\PC{0,6}", b in "\\PC{0,6}") {
            let expected = a.encode_utf16().cmp(b.encode_utf16());
            prop_assert_eq!(compare(&quoted(&a), &quoted(&b)), expected);
            let by_rank = a.chars().map(rank).cmp(b.chars().map(rank));
            prop_assert_eq!(by_rank, expected);
            prop_assert_eq!(Order::CodePoints.compare(&quoted(&a), &quoted(&b)), a.cmp(&b));
        }
    }
}
