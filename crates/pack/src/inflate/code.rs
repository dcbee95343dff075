//! Huffman codes as tables (RFC 1951 §3.2.2): the next bits are the place of what they begin with.
//!
//! A table has a main part for the first bits of a code, and parts behind it for the rest of longer codes. What one look-up must
//! tell is packed into one number, so that decoding needs no second one.

/// No code is longer (§3.2.7).
const LONGEST: usize = 15;

/// What bits stand for.
///
/// ```text
/// bits 0-7    how many bits to go past: the code's and the extra bits after it
/// bits 8-11   how many of them are the code's; in a link, how many bits choose from the part it leads to
/// bits 14-15  what it is, if it is no literal, length or distance
/// bits 16-30  the literal; the shortest length or distance; where the part begins
/// bit  31     it is a literal
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry(u32);

impl Entry {
    const LITERAL: u32 = 1 << 31;
    const SPECIAL: u32 = 1 << 15;
    const LINK: u32 = 1 << 14;
    const END: u32 = 1 << 13;
    /// What is no code at all.
    const NONE: Entry = Entry(Self::SPECIAL | 1);

    /// A byte.
    pub(super) const fn literal(byte: u8) -> Entry {
        Entry(Self::LITERAL | (byte as u32) << 16)
    }

    /// The end of a block.
    pub(super) const fn end() -> Entry {
        Entry(Self::SPECIAL | Self::END)
    }

    /// A length or a distance from `base` up, as its extra bits say. `base` is below 2^15.
    pub(super) const fn range(base: u16, extra: u8) -> Entry {
        Entry((base as u32) << 16 | extra as u32)
    }

    /// A symbol that must not be used.
    pub(super) const fn reserved() -> Entry {
        Entry(Self::SPECIAL)
    }

    fn link(start: usize, main: u32, choosing: u32) -> Option<Entry> {
        Some(Entry(u32::try_from(start).ok()? << 16 | Self::SPECIAL | Self::LINK | choosing << 8 | main))
    }

    /// With a code of so many bits.
    fn coded(self, bits: u32) -> Entry {
        Entry(self.0 + bits * 0x101)
    }

    /// How many bits to go past: fewer than 64.
    #[inline(always)]
    pub(super) fn bits(self) -> u8 {
        self.0.to_le_bytes()[0]
    }

    /// What follows the bits to go past.
    #[inline(always)]
    pub(super) fn shifted(self, bits: u64) -> u64 {
        bits.wrapping_shr(self.0)
    }

    #[inline(always)]
    pub(super) fn is_literal(self) -> bool {
        self.0 & Self::LITERAL != 0
    }

    /// Neither a literal nor a length nor a distance.
    #[inline(always)]
    pub(super) fn is_special(self) -> bool {
        self.0 & Self::SPECIAL != 0
    }

    #[inline(always)]
    pub(super) fn is_link(self) -> bool {
        self.0 & Self::LINK != 0
    }

    #[inline(always)]
    pub(super) fn is_end(self) -> bool {
        self.0 & Self::END != 0
    }

    /// The byte of a literal.
    #[inline(always)]
    pub(super) fn byte(self) -> u8 {
        (self.0 >> 16 & 0xFF) as u8
    }

    /// The length or the distance, out of the bits that begin with its code.
    #[inline(always)]
    pub(super) fn value(self, bits: u64) -> usize {
        let extra = (bits & !u64::MAX.wrapping_shl(self.0)).wrapping_shr(self.0 >> 8);
        (self.0 >> 16) as usize + (extra & 0xFFFF) as usize
    }
}

/// A code whose first `MAIN` bits are looked up at once. `SIZE` is a power of two with room for every part.
pub(super) struct Code<const MAIN: u32, const SIZE: usize> {
    entries: Box<[Entry; SIZE]>,
}

impl<const MAIN: u32, const SIZE: usize> Code<MAIN, SIZE> {
    pub(super) fn new() -> Self {
        Code { entries: Box::new([Entry::NONE; SIZE]) }
    }

    /// What these bits begin with. A link is to be followed with the bits behind it.
    #[inline(always)]
    pub(super) fn at(&self, bits: u64) -> Entry {
        self.entries[(bits & 0xFFFF) as usize & ((1 << MAIN) - 1) & (SIZE - 1)]
    }

    /// Where a link leads with the bits behind it.
    #[inline(always)]
    pub(super) fn follow(&self, link: Entry, bits: u64) -> Entry {
        let choice = (bits & 0xFFFF) as usize & ((1 << (link.0 >> 8 & 15)) - 1);
        self.entries[((link.0 >> 16 & 0x7FFF) as usize + choice) & (SIZE - 1)]
    }

    /// Takes the code in which the symbol of each place has so many bits; none means that it is not used. `None`: there is no
    /// such code. One that leaves bits without a meaning is none, but for that of a single symbol or of no symbol.
    pub(super) fn build(&mut self, lengths: &[u8], meaning: impl Fn(usize) -> Entry) -> Option<()> {
        let mut counts = [0_u32; LONGEST + 1];
        for length in lengths {
            *counts.get_mut(usize::from(*length))? += 1;
        }
        counts[0] = 0;
        let mut next = [0_u32; LONGEST + 1];
        let (mut code, mut longest) = (0, 0);
        for (length, count) in (1_u32..).zip(&counts[1..]) {
            code *= 2;
            next[length as usize] = code;
            code += count;
            if code > 1 << length {
                return None;
            }
            if *count > 0 {
                longest = length;
            }
        }
        let used: u32 = counts.iter().sum();
        if code < 1 << LONGEST && (used > 1 || longest > 1) {
            return None;
        }
        self.entries[..1 << MAIN].fill(Entry::NONE);
        let choosing = longest.saturating_sub(MAIN);
        let mut free = 1 << MAIN;
        for (symbol, length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            let next = next.get_mut(usize::from(*length))?;
            let length = u32::from(*length);
            let code = (*next << (32 - length)).reverse_bits() as usize;
            *next += 1;
            let entry = meaning(symbol);
            if length <= MAIN {
                let places = self.entries[..1 << MAIN].iter_mut().skip(code).step_by(1 << length);
                places.for_each(|place| *place = entry.coded(length));
                continue;
            }
            let main = self.entries.get_mut(code & ((1 << MAIN) - 1))?;
            if !main.is_link() {
                *main = Entry::link(free, MAIN, choosing)?;
                free += 1 << choosing;
            }
            let start = (main.0 >> 16 & 0x7FFF) as usize;
            let part = self.entries.get_mut(start..start + (1 << choosing))?;
            let places = part.iter_mut().skip(code >> MAIN).step_by(1 << (length - MAIN));
            places.for_each(|place| *place = entry.coded(length - MAIN));
        }
        Some(())
    }
}
