//! Runs of bytes that need no closer look: where the next quote, backslash or control character stands.
//!
//! Words of eight bytes for what is short, which most strings are; blocks for what is long.

const ONES: u64 = u64::MAX / 255;
pub(crate) const HIGH: u64 = ONES << 7;

/// Marks, in its highest bit, each byte that ends a plain run: a quote, a backslash or a control character. Only the
/// lowest mark is sure: a subtraction can disturb the bytes above the one that it finds.
#[inline]
fn marks(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let slash = word ^ (ONES * b'\\' as u64);
    let found = (quote.wrapping_sub(ONES) & !quote)
        | (slash.wrapping_sub(ONES) & !slash)
        | (word.wrapping_sub(ONES * 0x20) & !word);
    found & HIGH
}

/// Marks, in its highest bit, each byte of a word that is a quote, a backslash, a control character or beyond printable ASCII; only
/// the lowest mark is sure. Below 0x80, adding carries nothing into the next byte, so that
/// four additions tell what is neither a quote, nor a backslash, nor a control character.
#[inline]
pub fn stops(word: u64) -> u64 {
    let quote = (word ^ (ONES * b'"' as u64)).wrapping_add(!HIGH);
    let slash = (word ^ (ONES * b'\\' as u64)).wrapping_add(!HIGH);
    let control = word.wrapping_add(ONES * (0x80 - 0x20));
    (!(quote & slash & control) | beyond_printable(word)) & HIGH
}

/// Marks, in its highest bit, whether any byte is 0x7F or beyond ASCII, and which is the first.
#[inline]
pub(crate) fn beyond_printable(word: u64) -> u64 {
    (word | word.wrapping_add(ONES)) & HIGH
}

/// What a long run is walked over with: as many bytes at once as the compiler makes of a block.
const BLOCK: usize = 64;
const HALF: usize = BLOCK / 2;

/// How many words a run has before it counts as long.
pub(crate) const LONG: usize = 4;

/// The offset after the blocks from `at` on that are printable ASCII and need no escape. Out of the way of short strings.
#[inline(never)]
pub(crate) fn skip_plain(input: &[u8], at: usize) -> usize {
    let half = |at: usize| {
        let is_plain = input.get(at..).and_then(<[u8]>::first_chunk).is_some_and(is_plain_half);
        if is_plain { HALF } else { 0 }
    };
    // A digest ends soon; what goes on behind half a block is worth more at once.
    let start = at + half(at);
    if start == at {
        return at;
    }
    let rest = input.get(start..).unwrap_or_default();
    let blocks = rest.as_chunks::<BLOCK>().0.iter().take_while(|block| is_plain(block)).count();
    let end = start + BLOCK * blocks;
    if blocks == 0 { end } else { end + half(end) }
}

/// Whether all bytes of a block are printable ASCII that needs no escape. Its quarters are laid over each other: one question is
/// then left of four.
#[inline(always)]
fn is_plain(block: &[u8; BLOCK]) -> bool {
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

/// As [`is_plain`]. Each asked of all bytes, and apart from the others: of so few bytes that becomes the fewest instructions.
#[inline(always)]
fn is_plain_half(half: &[u8; HALF]) -> bool {
    let (mut quote, mut slash, mut other) = (false, false, false);
    for &byte in half {
        quote |= byte == b'"';
        slash |= byte == b'\\';
        other |= byte.wrapping_add(1).cast_signed() <= 0x20;
    }
    !(quote | slash | other)
}

/// The offset of the first byte at or after `at` that ends a plain run, and is neither printable nor part of a character
/// beyond ASCII. Eight bytes at a time, in a long run of ASCII more; `seen` gathers them, so that its high bits tell whether
/// any was 0x7F or beyond ASCII (or stood close behind the run, which costs no more than a closer look).
#[inline]
pub(crate) fn run(input: &[u8], mut at: usize, seen: &mut u64) -> usize {
    let mut words = 0;
    while let Some(bytes) = input.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*bytes);
        *seen |= beyond_printable(word);
        let found = marks(word);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
        words += 1;
        if words == LONG {
            at = skip_plain(input, at);
        }
    }
    while let Some(&byte) = input.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        *seen |= beyond_printable(u64::from(byte));
        at += 1;
    }
    at
}

/// The offset of the next backslash, or the end. Escapes stand close together or far apart: a word, then blocks.
#[inline(always)]
pub(crate) fn next_backslash(text: &[u8], mut at: usize) -> usize {
    for _ in 0..2 {
        let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) else { break };
        let slash = u64::from_le_bytes(*bytes) ^ (ONES * b'\\' as u64);
        let found = slash.wrapping_sub(ONES) & !slash & HIGH;
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

/// Whether the first byte of some white space is a space, and all of it.
#[inline(always)]
pub(crate) fn is_one_space(text: &[u8], at: usize, first: u8) -> bool {
    first == b' ' && text.get(at + 1).is_some_and(|next| *next > b' ')
}

/// The offset after the spaces from `at` on, unless the text ends soon. How deep the next line is indented is hard to foresee:
/// up to 32 spaces take no branch.
#[inline(always)]
pub(crate) fn skip_spaces(text: &[u8], mut at: usize) -> usize {
    const SPACES: u128 = u128::from_le_bytes([b' '; 16]);
    let spaces = |bytes: &[u8; 16]| (u128::from_le_bytes(*bytes) ^ SPACES).trailing_zeros() as usize / 8;
    while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk::<32>) {
        let [first, second] = [0, 1].map(|half| spaces(&bytes.as_chunks::<16>().0[half]));
        // The second half counts if the first is full.
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
            for place in 0..BLOCK {
                let mut block = [b'a'; BLOCK];
                block[place] = byte;
                assert_eq!(is_plain(&block), !stops_at(byte), "{byte:#04x} at {place}");
                let half = block.first_chunk().unwrap();
                assert_eq!(is_plain_half(half), !stops_at(byte) || place >= HALF, "{byte:#04x} at {place}");
            }
        }
    }

    proptest! {
        /// What is skipped is plain, and of what is plain less than a block is left.
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
