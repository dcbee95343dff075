//! Finds where any of many literals begins, in one pass.
//!
//! Of each literal the three neighbouring bytes are chosen that are rarest in prose, JSON and code, and put
//! into one of 64 bins. A table says for which bins a byte may come first, second or third; where three bytes
//! in a row agree on a bin, its literals are compared. All other bytes cost one lookup.

/// Something to look for.
#[derive(Clone, Copy)]
pub(crate) struct Literal<'a> {
    pub(crate) bytes: &'a [u8],
    /// Whether ASCII letters match in either case.
    pub(crate) any_case: bool,
}

/// The literals, arranged.
pub(crate) struct Sieve {
    table: Box<[Row; 256]>,
    bins: Vec<Vec<Entry>>,
}

/// The bins for which a byte may come first, second, third.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Row {
    first: u64,
    second: u64,
    third: u64,
}

struct Entry {
    id: usize,
    bytes: Box<[u8]>,
    any_case: bool,
    /// Where the three bytes lie in the literal.
    offset: usize,
    triple: Triple,
}

/// The three bytes of a literal in one number, so that most of what a bin lets through costs one comparison.
#[derive(Clone, Copy)]
struct Triple {
    bytes: u32,
    /// The bits that are not looked at: the case of letters, and the whole byte that a literal of two does not have.
    blind: u32,
}

impl Triple {
    fn is(self, there: u32) -> bool {
        there | self.blind == self.bytes
    }
}

const BINS: usize = 64;

impl Sieve {
    /// Arranges literals; a literal's place in the list is its id. One of fewer than two bytes is never
    /// found.
    pub(crate) fn new<'a>(literals: impl IntoIterator<Item = Literal<'a>>) -> Self {
        let table = Box::new([Row::default(); 256]);
        let mut sieve = Self { table, bins: (0..BINS).map(|_| Vec::new()).collect() };
        for (id, literal) in literals.into_iter().enumerate() {
            sieve.add(id, &literal);
        }
        sieve
    }

    fn add(&mut self, id: usize, literal: &Literal<'_>) {
        let Some((offset, one, two, three)) = rarest(literal.bytes) else { return };
        // The same bytes always go to the same bin; others are spread.
        let bin = (usize::from(two) * 7 + usize::from(one) * 3 + three.map_or(0, usize::from)) % BINS;
        let bit = 1 << bin;
        let spellings = |byte: u8| {
            let other = if literal.any_case { byte ^ 0x20 } else { byte };
            // Only letters have another case.
            [byte, if byte.is_ascii_alphabetic() { other } else { byte }].map(usize::from)
        };
        spellings(one).into_iter().for_each(|byte| self.table[byte].first |= bit);
        spellings(two).into_iter().for_each(|byte| self.table[byte].second |= bit);
        match three {
            Some(three) => spellings(three).into_iter().for_each(|byte| self.table[byte].third |= bit),
            None => self.table.iter_mut().for_each(|row| row.third |= bit),
        }
        let case = |byte: u8| if literal.any_case && byte.is_ascii_alphabetic() { 0x20 } else { 0 };
        let blind = u32::from_le_bytes([case(one), case(two), three.map_or(0xff, case), 0]);
        let bytes = u32::from_le_bytes([one, two, three.unwrap_or(0), 0]) | blind;
        let triple = Triple { bytes, blind };
        let entry = Entry { id, bytes: literal.bytes.into(), any_case: literal.any_case, offset, triple };
        self.bins[bin].push(entry);
    }

    /// Calls `found` with the id and the start of each literal in the text, roughly in order.
    pub(crate) fn search(&self, text: &[u8], mut found: impl FnMut(usize, usize)) {
        let (mut one, mut two) = (0, 0);
        for (at, byte) in text.iter().enumerate() {
            let row = &self.table[usize::from(*byte)];
            let hit = two & row.third;
            two = one & row.second;
            one = row.first;
            if hit != 0 {
                self.compare(text, at - 2, hit, &mut found);
            }
        }
        // A literal of two bytes may end the text; then any byte is its third.
        if two & self.table[0].third != 0 {
            self.compare(text, text.len() - 2, two & self.table[0].third, &mut found);
        }
    }

    #[inline(never)]
    fn compare(&self, text: &[u8], from: usize, mut hit: u64, found: &mut impl FnMut(usize, usize)) {
        let byte = |at: usize| text.get(from + at).copied().unwrap_or(0);
        let there = u32::from_le_bytes([byte(0), byte(1), byte(2), 0]);
        while hit != 0 {
            let bin = &self.bins[hit.trailing_zeros() as usize];
            for entry in bin.iter().filter(|entry| entry.triple.is(there)) {
                let Some(start) = from.checked_sub(entry.offset) else { continue };
                let Some(there) = text.get(start..start + entry.bytes.len()) else { continue };
                let same = if entry.any_case {
                    there.eq_ignore_ascii_case(&entry.bytes)
                } else {
                    *there == *entry.bytes
                };
                if same {
                    found(entry.id, start);
                }
            }
            hit &= hit - 1;
        }
    }
}

/// The rarest three bytes in a row, and where they lie; the only two of a literal that has no more.
fn rarest(literal: &[u8]) -> Option<(usize, u8, u8, Option<u8>)> {
    if let &[one, two] = literal {
        return Some((0, one, two, None));
    }
    let triples = literal.windows(3).take(24).enumerate();
    let (offset, triple) =
        triples.min_by_key(|(_, triple)| triple.iter().map(|byte| commonness(*byte)).sum::<u32>())?;
    match *triple {
        [one, two, three] => Some((offset, one, two, Some(three))),
        _ => None,
    }
}

/// How common a byte is in what models read and write; only the order matters.
fn commonness(byte: u8) -> u32 {
    match byte {
        b' ' | b'e' | b't' | b'a' => 100,
        b'o' | b'i' | b'n' | b's' | b'r' => 80,
        b'"' | b'h' | b'l' | b'd' | b'u' | b'c' => 60,
        b'm' | b'f' | b'p' | b',' | b'\\' | b':' => 40,
        b'g' | b'w' | b'y' | b'b' | b'.' | b'-' => 25,
        b'0'..=b'9' | b'_' | b'/' | b'\n' => 20,
        b'v' | b'k' => 12,
        b'A'..=b'Z' | b'x' => 8,
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(literals: &[(&str, bool)], text: &str) -> Vec<(usize, usize)> {
        let literals =
            literals.iter().map(|(text, any_case)| Literal { bytes: text.as_bytes(), any_case: *any_case });
        let mut all = Vec::new();
        Sieve::new(literals).search(text.as_bytes(), |id, at| all.push((id, at)));
        all.sort_unstable();
        all
    }

    #[test]
    fn each_place_is_found_once() {
        let literals = [("sk-", false), ("sk-ant-", false), ("key", true), ("-----", false)];
        assert_eq!(found(&literals, "sk-ant-x KEY sk-"), [(0, 0), (0, 13), (1, 0), (2, 9)]);
        assert_eq!(found(&literals, "-------"), [(3, 0), (3, 1), (3, 2)]);
        assert_eq!(found(&literals, "s"), []);
        assert_eq!(found(&literals, ""), []);
    }

    proptest! {
        #[test]
        fn the_same_as_looking_everywhere(
            literals in proptest::collection::vec(("[a-dA-D_]{2,5}", any::<bool>()), 0..70),
            text in "[a-dA-D_]{0,60}",
        ) {
            let literals: Vec<(&str, bool)> =
                literals.iter().map(|(text, any_case)| (text.as_str(), *any_case)).collect();
            let mut expected = Vec::new();
            for (id, (literal, any_case)) in literals.iter().enumerate() {
                for at in 0..text.len() {
                    let Some(there) = text.get(at..at + literal.len()) else { continue };
                    if there == *literal || (*any_case && there.eq_ignore_ascii_case(literal)) {
                        expected.push((id, at));
                    }
                }
            }
            prop_assert_eq!(found(&literals, &text), expected);
        }
    }
}
