//! Scanning of strings in blocks of 64 bytes, with one bit of a `u64` for each byte.
//!
//! Text that is full of escapes is checked a block at a time, not an escape at a time. The loops are written so that the
//! compiler turns them into SIMD instructions.

/// Length of a block, in bytes: one for each bit of a `u64`.
pub const BLOCK: usize = 64;

/// Returns a mask with bit `i` set if byte `i` of the block is `wanted`. Each byte gets the bit of its index modulo 8, and a
/// multiplication adds up eight of them: this compiles to a few instructions on many bytes.
#[inline(always)]
pub(crate) fn byte_mask(block: &[u8; BLOCK], wanted: u8) -> u64 {
    const SUM: u64 = u64::MAX / 255;
    let mut bits = [0_u8; BLOCK];
    for (at, (bit, byte)) in bits.iter_mut().zip(block).enumerate() {
        *bit = if *byte == wanted { 1 << (at % 8) } else { 0 };
    }
    let mut mask = [0; 8];
    for (mask_byte, eight) in mask.iter_mut().zip(bits.as_chunks::<8>().0) {
        *mask_byte = u64::from_le_bytes(*eight).wrapping_mul(SUM).to_be_bytes()[0];
    }
    u64::from_le_bytes(mask)
}

/// Returns the backslashes of a block that begin an escape: in a run of backslashes every other one, from the first on. The
/// first byte of the block must not be the second byte of an escape.
#[inline(always)]
pub(crate) fn escape_start_mask(backslash_mask: u64) -> u64 {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    // The subtraction carries through a run, so that its bits alternate from its first bit on.
    let behind = backslash_mask << 1;
    ((behind | ODD).wrapping_sub(backslash_mask) ^ ODD) & backslash_mask
}

/// Rule for the bytes that [`skip_blocks`] may skip.
pub trait BlockRule {
    /// Returns true if the escape of a backslash and `kind` may be skipped. Not asked for `\"` and `\\`, which always may.
    fn accepts_escape(&mut self, kind: u8) -> bool;
    /// Returns true if all bytes of the block, quotes and backslashes aside, may stand in a string.
    fn accepts_block(&mut self, block: &[u8; BLOCK]) -> bool;
}

/// Skips blocks of a string from `at` on, which must not lie inside an escape. Returns the offset at which it stopped: the
/// closing quote, an escape or the start of a block that the rule does not accept, or less than a block before the end of
/// the text. The caller continues from there byte by byte.
#[inline]
pub fn skip_blocks<R: BlockRule>(text: &[u8], mut at: usize, rule: &mut R) -> usize {
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        if !rule.accepts_block(block) {
            break;
        }
        let (quotes, slashes) = (byte_mask(block, b'"'), byte_mask(block, b'\\'));
        let escapes = escape_start_mask(slashes);
        let escaped = escapes << 1;
        let ends = quotes & !escaped;
        // The bits before the closing quote, or all bits if there is none.
        let inside = (ends & ends.wrapping_neg()).wrapping_sub(1);
        let mut others = escaped & inside & !(quotes | slashes);
        while others != 0 {
            let position = others.trailing_zeros() as usize;
            if !rule.accepts_escape(block[position % BLOCK]) {
                return at + position - 1;
            }
            others &= others - 1;
        }
        if ends != 0 {
            return at + ends.trailing_zeros() as usize;
        }
        // A backslash that ends the block is read again with the next block.
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
        fn accepts_escape(&mut self, kind: u8) -> bool {
            kind == b'n'
        }

        fn accepts_block(&mut self, block: &[u8; BLOCK]) -> bool {
            block.iter().all(|byte| *byte >= 0x20)
        }
    }

    /// The same scan, one byte after the other.
    fn first_stop_bytewise(text: &[u8]) -> usize {
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
            // The `a` keeps a backslash from escaping the quote that ends the text.
            let text = format!("{}a\"", pieces.concat());
            let expected = first_stop_bytewise(text.as_bytes());
            // Far from the end, so that only the text stops the scan.
            let padded = format!("{text}{}", "x".repeat(2 * BLOCK));
            prop_assert_eq!(skip_blocks(padded.as_bytes(), 0, &mut Letters), expected);
        }

        #[test]
        fn places(bytes in prop::collection::vec(prop::sample::select(b"\"\\a\x80\xff\0".to_vec()), BLOCK)) {
            let block: [u8; BLOCK] = bytes.try_into().unwrap();
            for wanted in [b'"', b'\\', 0x80] {
                let expected = (0..BLOCK).filter(|at| block[*at] == wanted).fold(0, |bits, at| bits | 1 << at);
                prop_assert_eq!(byte_mask(&block, wanted), expected);
            }
        }
    }
}
