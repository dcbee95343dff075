//! What stands before the data of a block: its kind, and the codes of its data (RFC 1951 §3.2.3, §3.2.6, §3.2.7).

use super::bits::Bits;
use super::code::{Code, Entry};
use crate::error::{Malformation, PackError};

/// The codes of literals and lengths, and of distances.
pub(super) struct Codes {
    pub(super) literals: Code<11, 8192>,
    pub(super) distances: Code<9, 2048>,
    /// The code of the lengths of the other two.
    lengths: Code<7, 128>,
    is_fixed: bool,
}

/// What follows a block's header.
pub(super) enum Kind {
    /// So many bytes as they are.
    Stored(usize),
    /// Data in the codes.
    Coded,
}

/// The lengths from 257 up, each with its extra bits (§3.2.5).
const LENGTHS: [(u16, u8); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];

/// The distances, each with its extra bits (§3.2.5).
const DISTANCES: [(u16, u8); 30] = [
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 1),
    (7, 1),
    (9, 2),
    (13, 2),
    (17, 3),
    (25, 3),
    (33, 4),
    (49, 4),
    (65, 5),
    (97, 5),
    (129, 6),
    (193, 6),
    (257, 7),
    (385, 7),
    (513, 8),
    (769, 8),
    (1025, 9),
    (1537, 9),
    (2049, 10),
    (3073, 10),
    (4097, 11),
    (6145, 11),
    (8193, 12),
    (12289, 12),
    (16385, 13),
    (24577, 13),
];

/// In which order the code of the lengths is written (§3.2.7).
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

const END: usize = 256;
const MOST_LITERALS: usize = 286;
const MOST_DISTANCES: usize = 30;

fn literal(symbol: usize) -> Entry {
    match (u8::try_from(symbol), symbol.checked_sub(END + 1)) {
        (Ok(byte), _) => Entry::literal(byte),
        (Err(_), None) => Entry::end(),
        (Err(_), Some(at)) => {
            LENGTHS.get(at).map_or(Entry::reserved(), |(base, extra)| Entry::range(*base, *extra))
        }
    }
}

fn distance(symbol: usize) -> Entry {
    DISTANCES.get(symbol).map_or(Entry::reserved(), |(base, extra)| Entry::range(*base, *extra))
}

impl Codes {
    pub(super) fn new() -> Codes {
        Codes { literals: Code::new(), distances: Code::new(), lengths: Code::new(), is_fixed: false }
    }

    /// Reads a header: whether the block is the last, and what follows. `None`: the input ends inside it.
    pub(super) fn read(&mut self, bits: &mut Bits<'_>) -> Result<Option<(bool, Kind)>, PackError> {
        let Some(first) = bits.take(3) else { return Ok(None) };
        let kind = match first >> 1 {
            0 => {
                let Some([a, b, c, d]) = bits.take_bytes() else { return Ok(None) };
                if [a, b] != [!c, !d] {
                    return Err(malformed());
                }
                Kind::Stored(usize::from(u16::from_le_bytes([a, b])))
            }
            1 => {
                self.fix()?;
                Kind::Coded
            }
            2 => {
                if self.declared(bits)?.is_none() {
                    return Ok(None);
                }
                Kind::Coded
            }
            _ => return Err(malformed()),
        };
        Ok(Some((first & 1 == 1, kind)))
    }

    /// Takes the fixed codes (§3.2.6), unless they are those already: such a block may be ten bits long.
    fn fix(&mut self) -> Result<(), PackError> {
        if !self.is_fixed {
            let mut lengths = [8; 288];
            lengths[144..256].fill(9);
            lengths[256..280].fill(7);
            self.take(&lengths, &[5; 32])?;
            self.is_fixed = true;
        }
        Ok(())
    }

    fn take(&mut self, literals: &[u8], distances: &[u8]) -> Result<(), PackError> {
        self.is_fixed = false;
        self.literals.build(literals, literal).ok_or_else(malformed)?;
        self.distances.build(distances, distance).ok_or_else(malformed)
    }

    /// Takes the codes that the block declares (§3.2.7).
    fn declared(&mut self, bits: &mut Bits<'_>) -> Result<Option<()>, PackError> {
        let Some(sizes) = bits.take(14) else { return Ok(None) };
        let literals = usize::from(sizes & 31) + 257;
        let distances = usize::from(sizes >> 5 & 31) + 1;
        if literals > MOST_LITERALS || distances > MOST_DISTANCES {
            return Err(malformed());
        }
        let mut lengths = [0; ORDER.len()];
        for place in ORDER.iter().take(usize::from(sizes >> 10) + 4) {
            let Some(length) = bits.take(3) else { return Ok(None) };
            lengths[*place] = (length & 7) as u8;
        }
        // The symbol is kept as a distance without extra bits.
        self.lengths
            .build(&lengths, |symbol| Entry::range(u16::try_from(symbol).unwrap_or(0), 0))
            .ok_or_else(malformed)?;

        let mut all = [0_u8; MOST_LITERALS + MOST_DISTANCES];
        let all = &mut all[..literals + distances];
        let mut at = 0;
        while at < all.len() {
            bits.refill();
            let entry = self.lengths.at(bits.peek());
            if !bits.has(entry) {
                return Ok(None);
            }
            if entry.is_special() {
                return Err(malformed());
            }
            let symbol = entry.value(bits.peek());
            bits.skip(entry);
            let (length, extra, least) = match symbol {
                16 => (at.checked_sub(1).map(|before| all[before]).ok_or_else(malformed)?, 2, 3),
                17 => (0, 3, 3),
                18 => (0, 7, 11),
                length => (u8::try_from(length).unwrap_or(0), 0, 1),
            };
            let Some(more) = bits.take(extra) else { return Ok(None) };
            let end = at + least + usize::from(more);
            // Lengths may go on from the one code into the other, but not beyond.
            all.get_mut(at..end).ok_or_else(malformed)?.fill(length);
            at = end;
        }
        let (literals, distances) = all.split_at(literals);
        if literals.get(END) == Some(&0) {
            return Err(malformed());
        }
        self.take(literals, distances).map(Some)
    }
}

pub(super) fn malformed() -> PackError {
    PackError::malformed(Malformation::Deflate)
}
