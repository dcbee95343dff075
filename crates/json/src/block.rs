//! Blocks of 64 bytes, of which each byte is one bit: text full of escapes is read a block at a time, not an escape at a time.

/// How many bytes a block has.
pub const BLOCK: usize = 64;

/// One bit for each byte that is `wanted`. Written so that it becomes a few instructions on many bytes: each byte is given
/// the bit of its place among eight, and a multiplication adds the eight up.
#[inline(always)]
pub(crate) fn places_of(block: &[u8; BLOCK], wanted: u8) -> u64 {
    const SUM: u64 = u64::MAX / 255;
    let mut bits = [0_u8; BLOCK];
    for (at, (bit, byte)) in bits.iter_mut().zip(block).enumerate() {
        *bit = if *byte == wanted { 1 << (at % 8) } else { 0 };
    }
    let mut places = [0; 8];
    for (place, eight) in places.iter_mut().zip(bits.as_chunks::<8>().0) {
        *place = u64::from_le_bytes(*eight).wrapping_mul(SUM).to_be_bytes()[0];
    }
    u64::from_le_bytes(places)
}

/// Of the backslashes of a block, those that begin an escape, if the first byte of the block is not the rest of one. Of a
/// run of backslashes, every other one does, from the first on.
#[inline(always)]
pub(crate) fn escapes(slashes: u64) -> u64 {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    // Subtracting carries through a run, so that its bits alternate from wherever it begins.
    let behind = slashes << 1;
    ((behind | ODD).wrapping_sub(slashes) ^ ODD) & slashes
}

/// Bytes of a string over which [`pass_blocks`] goes.
pub trait BlockRule {
    /// What may stand behind a backslash, beside a quote and a backslash.
    fn passes(&mut self, kind: u8) -> bool;
    /// Whether all bytes of a block may stand in a string, quotes and backslashes aside.
    fn is_text(&mut self, block: &[u8; BLOCK]) -> bool;
}

/// Goes over the blocks of a string from `at` on, where no escape is under way. Returns where it stopped: at the closing
/// quote, at an escape or in a block that takes a closer look, or close to the end of the text.
#[inline]
pub fn pass_blocks<R: BlockRule>(text: &[u8], mut at: usize, rule: &mut R) -> usize {
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        if !rule.is_text(block) {
            break;
        }
        let (quotes, slashes) = (places_of(block, b'"'), places_of(block, b'\\'));
        let escapes = escapes(slashes);
        let escaped = escapes << 1;
        let ends = quotes & !escaped;
        // What lies before the closing quote, or everything.
        let inside = (ends & ends.wrapping_neg()).wrapping_sub(1);
        let mut others = escaped & inside & !(quotes | slashes);
        while others != 0 {
            let place = others.trailing_zeros() as usize;
            if !rule.passes(block[place % BLOCK]) {
                return at + place - 1;
            }
            others &= others - 1;
        }
        if ends != 0 {
            return at + ends.trailing_zeros() as usize;
        }
        // An escape that the block cuts is read with the next one.
        at += BLOCK - usize::from(escapes >> 63 != 0);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Letters;

    impl BlockRule for Letters {
        fn passes(&mut self, kind: u8) -> bool {
            kind == b'n'
        }

        fn is_text(&mut self, block: &[u8; BLOCK]) -> bool {
            block.iter().all(|byte| *byte >= 0x20)
        }
    }

    /// One byte after the other.
    fn stop(text: &[u8]) -> usize {
        let mut at = 0;
        loop {
            match (text[at], text.get(at + 1)) {
                (b'"', _) => return at,
                (b'\\', Some(b'n' | b'"' | b'\\')) => at += 2,
                (b'\\', _) => return at,
                _ => at += 1,
            }
        }
    }

    proptest! {
        #[test]
        fn blocks_and_bytes_agree(pieces in prop::collection::vec("\\\\{0,5}[a\"nu]{0,3}", 0..80)) {
            // Not a backslash before the quote that ends it.
            let text = format!("{}a\"", pieces.concat());
            let expected = stop(text.as_bytes());
            // Far from the end, so that only the text stops it.
            let padded = format!("{text}{}", "x".repeat(2 * BLOCK));
            prop_assert_eq!(pass_blocks(padded.as_bytes(), 0, &mut Letters), expected);
        }

        #[test]
        fn places(bytes in prop::collection::vec(prop::sample::select(b"\"\\a\x80\xff\0".to_vec()), BLOCK)) {
            let block: [u8; BLOCK] = bytes.try_into().unwrap();
            for wanted in [b'"', b'\\', 0x80] {
                let expected = (0..BLOCK).filter(|at| block[*at] == wanted).fold(0, |bits, at| bits | 1 << at);
                prop_assert_eq!(places_of(&block, wanted), expected);
            }
        }
    }
}
