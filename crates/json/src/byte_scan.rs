//! Search for the bytes that end a plain run of a string: quotes, backslashes and control characters; and for white space.
//!
//! Short runs, which most strings are, are searched in words of eight bytes (SWAR), long ones in blocks that the compiler turns
//! into SIMD instructions.

/// Lowest bit of each byte of a word; times a byte, that byte eight times.
const ONES: u64 = u64::MAX / 255;
/// Highest bit of each byte of a word.
pub(crate) const HIGH_BITS: u64 = ONES << 7;

/// Returns a word with the highest bit set in each byte that is a quote, a backslash or a control character. Only the lowest
/// set bit is reliable: the subtraction can borrow from the bytes above it.
#[inline]
fn delimiter_bits(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let slash = word ^ (ONES * b'\\' as u64);
    let found = (quote.wrapping_sub(ONES) & !quote)
        | (slash.wrapping_sub(ONES) & !slash)
        | (word.wrapping_sub(ONES * 0x20) & !word);
    found & HIGH_BITS
}

/// Returns a word with the highest bit set in each byte that is a quote, a backslash, a control character or beyond printable
/// ASCII. Only the lowest set bit is reliable. Below 0x80 an addition carries nothing into the next byte, so that four
/// additions find all of them.
#[inline]
pub fn non_plain_bits(word: u64) -> u64 {
    let quote = (word ^ (ONES * b'"' as u64)).wrapping_add(!HIGH_BITS);
    let slash = (word ^ (ONES * b'\\' as u64)).wrapping_add(!HIGH_BITS);
    let control = word.wrapping_add(ONES * (0x80 - 0x20));
    (!(quote & slash & control) | non_printable_bits(word)) & HIGH_BITS
}

/// Returns a word with the highest bit set in each byte that is 0x7F or beyond ASCII. Only the lowest set bit is reliable.
#[inline]
pub(crate) fn non_printable_bits(word: u64) -> u64 {
    (word | word.wrapping_add(ONES)) & HIGH_BITS
}

/// Bytes of a long run that are tested at once.
const BLOCK: usize = 64;
const HALF_BLOCK: usize = BLOCK / 2;

/// Number of words after which a run counts as long.
pub(crate) const LONG_RUN_WORDS: usize = 4;

/// Returns the offset behind the blocks from `at` on that are printable ASCII and need no escape. Not inlined, to keep the loop
/// for short strings small.
#[inline(never)]
pub(crate) fn skip_plain(input: &[u8], at: usize) -> usize {
    let half = |at: usize| {
        let is_plain = input.get(at..).and_then(<[u8]>::first_chunk).is_some_and(is_plain_half);
        if is_plain { HALF_BLOCK } else { 0 }
    };
    // A digest ends within half a block; a run that goes on is worth whole blocks.
    let start = at + half(at);
    if start == at {
        return at;
    }
    let rest = input.get(start..).unwrap_or_default();
    let blocks = rest.as_chunks::<BLOCK>().0.iter().take_while(|block| is_plain_block(block)).count();
    let end = start + BLOCK * blocks;
    if blocks == 0 { end } else { end + half(end) }
}

/// Returns true if all bytes of a block are printable ASCII that needs no escape. The quarters of the block are combined
/// first, which leaves one test of four.
#[inline(always)]
fn is_plain_block(block: &[u8; BLOCK]) -> bool {
    let mut stops = [0_u8; BLOCK / 4];
    for quarter in block.as_chunks::<{ BLOCK / 4 }>().0 {
        for (stop, &byte) in stops.iter_mut().zip(quarter) {
            // Below 0x20, 0x7F, and beyond.
            let is_other = byte.wrapping_add(1).cast_signed() <= 0x20;
            *stop |= if (byte == b'"') | (byte == b'\\') | is_other { 0xFF } else { 0 };
        }
    }
    !stops.iter().fold(false, |any, stop| any | (*stop != 0))
}

/// Returns the same as [`is_plain_block`] for half a block. The three conditions are tested apart, which compiles to the fewest
/// instructions for so few bytes.
#[inline(always)]
fn is_plain_half(half: &[u8; HALF_BLOCK]) -> bool {
    let (mut quote, mut slash, mut other) = (false, false, false);
    for &byte in half {
        quote |= byte == b'"';
        slash |= byte == b'\\';
        other |= byte.wrapping_add(1).cast_signed() <= 0x20;
    }
    !(quote | slash | other)
}

/// Returns the offset of the first quote, backslash or control character at or after `at`, or the end of the text.
///
/// `high_bits` collects the non-printable bits of all words that were read: a high bit in it means that a byte of the run, or
/// one close behind it, may be 0x7F or beyond ASCII, and that the run needs a check for UTF-8.
#[inline]
pub(crate) fn plain_run_end(input: &[u8], mut at: usize, high_bits: &mut u64) -> usize {
    let mut words = 0;
    while let Some(bytes) = input.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*bytes);
        *high_bits |= non_printable_bits(word);
        let found = delimiter_bits(word);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
        words += 1;
        if words == LONG_RUN_WORDS {
            at = skip_plain(input, at);
        }
    }
    while let Some(&byte) = input.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        *high_bits |= non_printable_bits(u64::from(byte));
        at += 1;
    }
    at
}

/// Returns the offset of the next backslash, or the end of the text. Escapes stand close together or far apart: two words are
/// searched first, then blocks of 32 bytes.
#[inline(always)]
pub(crate) fn next_backslash(text: &[u8], mut at: usize) -> usize {
    for _ in 0..2 {
        let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) else { break };
        let slash = u64::from_le_bytes(*bytes) ^ (ONES * b'\\' as u64);
        let found = slash.wrapping_sub(ONES) & !slash & HIGH_BITS;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<32>) {
        if block.iter().fold(false, |found, &byte| found | (byte == b'\\')) {
            break;
        }
        at += 32;
    }
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|&byte| byte == b'\\').unwrap_or(rest.len())
}

/// Returns true if the white space at `at`, whose first byte is `first`, is a single space.
#[inline(always)]
pub(crate) fn is_one_space(text: &[u8], at: usize, first: u8) -> bool {
    first == b' ' && text.get(at + 1).is_some_and(|next| *next > b' ')
}

/// Returns the offset behind the spaces from `at` on; less than 32 bytes before the end of the text it returns `at`. The depth
/// of an indentation is hard to predict, so up to 32 spaces take no branch.
#[inline(always)]
pub(crate) fn skip_spaces(text: &[u8], mut at: usize) -> usize {
    const SPACES: u128 = u128::from_le_bytes([b' '; 16]);
    let spaces = |bytes: &[u8; 16]| (u128::from_le_bytes(*bytes) ^ SPACES).trailing_zeros() as usize / 8;
    while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk::<32>) {
        let [first, second] = [0, 1].map(|half| spaces(&bytes.as_chunks::<16>().0[half]));
        // The second half counts only if the first is full.
        let count = first + (second & 0_usize.wrapping_sub(first / 16));
        at += count;
        if count < 32 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stops_at(byte: u8) -> bool {
        !matches!(byte, 0x20..=0x7E) || matches!(byte, b'"' | b'\\')
    }

    #[test]
    fn every_byte_in_every_place_of_a_block() {
        for byte in 0..=u8::MAX {
            for position in 0..BLOCK {
                let mut block = [b'a'; BLOCK];
                block[position] = byte;
                assert_eq!(is_plain_block(&block), !stops_at(byte), "{byte:#04x} at {position}");
                let half = block.first_chunk().unwrap();
                assert_eq!(
                    is_plain_half(half),
                    !stops_at(byte) || position >= HALF_BLOCK,
                    "{byte:#04x} at {position}"
                );
            }
        }
    }

    proptest! {
        /// All skipped bytes are plain, and less than a block of plain bytes is left.
        #[test]
        fn blocks_and_bytes_agree(length in 0..300_usize, behind in 0..200_usize, byte in any::<u8>(), at in 0..70_usize) {
            let mut text = vec![b'a'; length];
            text.push(byte);
            text.resize(length + 1 + behind, b'b');
            let expected = text.iter().skip(at).position(|byte| stops_at(*byte)).map_or(text.len(), |end| at + end);
            let found = skip_plain(&text, at);
            prop_assert!(at <= found && found <= expected.max(at), "{} {} {}", at, found, expected);
            prop_assert!(expected < found + BLOCK || at > text.len(), "{} {} {}", at, found, expected);
        }
    }
}
