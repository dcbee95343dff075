//! Finding bytes eight at a time.

const ONES: u64 = u64::MAX / 255;
const HIGHEST: u64 = ONES << 7;

/// In the highest bit of each byte whether it is zero; a wrong one stands only above a right one.
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHEST
}

/// Where one of two bytes first stands from `from` on; the end of the text if nowhere.
pub(crate) fn find(text: &[u8], from: usize, one: u8, two: u8) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let (one_everywhere, two_everywhere) = (ONES * u64::from(one), ONES * u64::from(two));
    let (words, _) = rest.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let hit = zeros(word ^ one_everywhere) | zeros(word ^ two_everywhere);
        if hit != 0 {
            return from + 8 * at + (hit.trailing_zeros() / 8) as usize;
        }
    }
    let looked = 8 * words.len();
    let tail = rest.get(looked..).unwrap_or_default();
    tail.iter().position(|byte| *byte == one || *byte == two).map_or(text.len(), |at| from + looked + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_same_as_looking_at_each(
            text in proptest::collection::vec(prop::sample::select(vec![0, 1, b'"', b'#', b'\\', 0x80, 0xff]), 0..40),
            from in 0_usize..41,
        ) {
            let expected = (from..text.len()).find(|at| matches!(text[*at], b'"' | b'\\')).unwrap_or(text.len());
            prop_assert_eq!(find(&text, from, b'"', b'\\'), expected);
        }
    }
}
