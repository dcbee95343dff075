//! Bits of a deflate stream, the lowest of each byte first (RFC 1951 §3.1.1).

use super::code::Entry;

/// The next bits of some input. Bits above `count` are either zero or those that the input has there.
#[derive(Clone, Copy)]
pub(super) struct Bits<'i> {
    whole: &'i [u8],
    /// What was not taken of the input yet.
    left: &'i [u8],
    buffer: u64,
    count: u8,
}

/// What is left of a byte between two inputs: fewer than eight bits.
#[derive(Clone, Copy, Default)]
pub(super) struct Rest {
    buffer: u64,
    count: u8,
}

impl<'i> Bits<'i> {
    #[inline]
    pub(super) fn new(rest: Rest, input: &'i [u8]) -> Bits<'i> {
        Bits { whole: input, left: input, buffer: rest.buffer, count: rest.count }
    }

    /// Gives whole bytes back to the input: how many of it were used, and the bits that are left.
    pub(super) fn finish(mut self) -> (usize, Rest) {
        self.give_back();
        (self.whole.len() - self.left.len(), Rest { buffer: self.buffer, count: self.count })
    }

    fn give_back(&mut self) {
        let used = (self.whole.len() - self.left.len()).saturating_sub(usize::from(self.count / 8));
        self.left = self.whole.get(used..).unwrap_or_default();
        self.count %= 8;
        self.buffer &= (1 << self.count) - 1;
    }

    /// Makes at least 56 bits ready, if there are `AHEAD` more bytes of input, eight or more; says whether there are.
    #[inline(always)]
    pub(super) fn refill_from<const AHEAD: usize>(&mut self) -> bool {
        let Some(word) = self.left.first_chunk::<AHEAD>().and_then(|ahead| ahead.first_chunk()) else {
            return false;
        };
        // Bits above `count` are put there twice, and are the same both times.
        self.buffer |= u64::from_le_bytes(*word) << (self.count & 63);
        self.left = self.left.get(usize::from((63 - (self.count & 63)) / 8)..).unwrap_or_default();
        self.count |= 56;
        true
    }

    /// Makes as many bits ready as there are, at least 56 unless the input ends.
    pub(super) fn refill(&mut self) {
        while self.count < 56
            && let Some((byte, left)) = self.left.split_first()
        {
            self.buffer |= u64::from(*byte) << self.count;
            self.left = left;
            self.count += 8;
        }
    }

    /// Whether all bits are ready that this goes past.
    pub(super) fn has(&self, entry: Entry) -> bool {
        self.count >= entry.bits()
    }

    /// The bits that are ready; those that are not may be anything.
    #[inline(always)]
    pub(super) fn peek(&self) -> u64 {
        self.buffer
    }

    /// Goes past the bits of an entry, which are ready.
    #[inline(always)]
    pub(super) fn skip(&mut self, entry: Entry) {
        self.buffer = entry.shifted(self.buffer);
        self.count = self.count.wrapping_sub(entry.bits());
    }

    /// Takes at most 16 bits, if the input has them.
    pub(super) fn take(&mut self, count: u8) -> Option<u16> {
        self.refill();
        if self.count < count {
            return None;
        }
        let value = self.buffer & ((1 << count) - 1);
        self.buffer >>= count;
        self.count -= count;
        u16::try_from(value).ok()
    }

    /// Goes to the next whole byte and takes `N` bytes from there, if the input has them.
    pub(super) fn take_bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.give_back();
        (self.buffer, self.count) = (0, 0);
        let (bytes, left) = self.left.split_first_chunk()?;
        self.left = left;
        Some(*bytes)
    }

    /// Takes at most so many bytes. There is no bit ready, as after [`Bits::take_bytes`].
    pub(super) fn take_slice(&mut self, most: usize) -> &'i [u8] {
        let (taken, left) = self.left.split_at(most.min(self.left.len()));
        self.left = left;
        taken
    }
}
