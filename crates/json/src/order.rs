//! The order of member names: by UTF-16 code units (RFC 8785 §3.2.3).

use core::cmp::Ordering;

use crate::string::{self, Characters};

/// A member name as it stands in the text: the bytes between its quotes.
#[derive(Clone, Copy)]
pub(crate) struct RawName<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) escaped: bool,
}

/// Compares two names by the UTF-16 code units of what they spell.
pub(crate) fn compare(a: RawName<'_>, b: RawName<'_>) -> Ordering {
    if !a.escaped && !b.escaped {
        return compare_utf8(a.text, b.text);
    }
    Characters::new(a.text).map(rank).cmp(Characters::new(b.text).map(rank))
}

/// Compares the names that begin at two offsets of a scanned text. It reads no further than they are alike: sorting
/// compares one name with many, and a long one must not cost its length each time.
pub(crate) fn compare_at(input: &[u8], a: usize, b: usize) -> Ordering {
    const STEP: usize = 64;
    let (a, b) = (input.get(a..).unwrap_or_default(), input.get(b..).unwrap_or_default());
    let mut same = 0;
    while let (Some(x), Some(y)) = (a.get(same..same + STEP), b.get(same..same + STEP))
        && x == y
        && string::run(x, 0, &mut 0) == STEP
    {
        same += STEP;
    }
    // A step may have ended inside a character.
    while a.get(same).is_some_and(|byte| byte & 0xC0 == 0x80) && same > 0 {
        same -= 1;
    }
    Characters::new(&a[same..]).map(rank).cmp(Characters::new(&b[same..]).map(rank))
}

/// UTF-8 bytes sort like code points. That is UTF-16 order too, but for one place: characters beyond U+FFFF (lead byte
/// 0xF0 and up) are surrogate pairs in UTF-16 and come *before* U+E000 to U+FFFF (lead bytes 0xEE and 0xEF).
fn compare_utf8(a: &[u8], b: &[u8]) -> Ordering {
    let by_bytes = a.cmp(b);
    if by_bytes == Ordering::Equal {
        return by_bytes;
    }
    let Some((x, y)) = a.iter().zip(b).find(|(x, y)| x != y) else {
        return by_bytes; // one is the beginning of the other
    };
    // A difference inside a character has equal lead bytes before it, so only differing lead bytes matter here.
    if *x >= 0xEE && *y >= 0xEE && (*x >= 0xF0) != (*y >= 0xF0) { by_bytes.reverse() } else { by_bytes }
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

    fn raw(text: &str) -> RawName<'_> {
        RawName { text: text.as_bytes(), escaped: text.contains('\\') }
    }

    #[test]
    fn surrogates_come_before_the_private_area() {
        assert_eq!(compare(raw("\u{10000}"), raw("\u{E000}")), Ordering::Less);
        assert_eq!(compare(raw("\u{FFFF}"), raw("\u{10FFFF}")), Ordering::Greater);
        assert_eq!(compare(raw("\u{D7FF}"), raw("\u{10000}")), Ordering::Less);
        assert_eq!(compare(raw("a"), raw("ab")), Ordering::Less);
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
            let plain = |text| RawName { text, escaped: false };
            prop_assert_eq!(compare(plain(a.as_bytes()), plain(b.as_bytes())), expected);
            let by_rank = a.chars().map(rank).cmp(b.chars().map(rank));
            prop_assert_eq!(by_rank, expected);
        }
    }
}
