//! What a string spells: its escapes written out.

use crate::block::{self, BLOCK};
use crate::canonical::Sink;
use crate::run::next_backslash;
use crate::string::{SHORT, unicode};

/// Writes what a string spells that has passed [`crate::string::scan`], given as the text between its quotes. It goes through a small
/// buffer, so that no copy of a long string is made, and a sink is not called for each escape.
pub(crate) fn write_spelled<S: Sink>(text: &[u8], out: &mut S) {
    let mut speller = Speller { text, at: 0, gathered: [0; PIECE + ROOM], filled: 0, out };
    let mut from = 0;
    while let Some(block) = text.get(from..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        let mut escapes = block::escapes(block::places_of(block, b'\\'));
        while escapes != 0 {
            let end = from + escapes.trailing_zeros() as usize;
            // What lies before is a part of the escape before.
            if end >= speller.at {
                speller.escape(end);
            }
            escapes &= escapes - 1;
        }
        from = speller.at.max(from + BLOCK);
    }
    loop {
        let end = next_backslash(text, speller.at);
        if end >= text.len() {
            break;
        }
        speller.escape(end);
    }
    speller.run(text.len());
    speller.out.put(&speller.gathered[..speller.filled]);
}

/// A hash takes pieces of this size as they lie.
const PIECE: usize = 4096;

/// A piece is full before a run and a character are added.
const ROOM: usize = 96;

/// Spells out a text.
struct Speller<'a, S> {
    text: &'a [u8],
    /// How far it is spelled out.
    at: usize,
    gathered: [u8; PIECE + ROOM],
    filled: usize,
    out: &'a mut S,
}

impl<S: Sink> Speller<'_, S> {
    /// Spells out the run up to the backslash at `end`, and the escape; what follows it too if it is of the same kind.
    #[inline(always)]
    fn escape(&mut self, end: usize) {
        self.run(end);
        let kind = self.text.get(end + 1).copied().unwrap_or(b'?');
        let short = SHORT[usize::from(kind)];
        if short != 0 {
            self.gathered[self.filled] = short;
            self.filled += 1;
            self.at = end + 2;
        } else {
            self.units(end);
        }
    }

    /// Spells out the run up to `end`; leaves room for a character.
    #[inline(always)]
    fn run(&mut self, end: usize) {
        let length = end - self.at;
        if self.filled >= PIECE {
            self.out.put(&self.gathered[..self.filled]);
            self.filled = 0;
        }
        // Sixteen bytes are copied, however many of them count: that takes no call.
        if length <= 16
            && let Some(run) = self.text.get(self.at..).and_then(<[u8]>::first_chunk::<16>)
            && let Some(slot) = self.gathered.get_mut(self.filled..).and_then(<[u8]>::first_chunk_mut::<16>)
        {
            *slot = *run;
            self.filled += length;
        } else {
            let run = self.text.get(self.at..end).unwrap_or_default();
            self.filled = out_of_turn(run, &mut self.gathered, self.filled, self.out);
        }
        self.at = end;
    }

    /// Spells out the `\u` escapes from `at` on: text of another script is nothing else.
    fn units(&mut self, mut at: usize) {
        loop {
            let (character, next) = unicode(self.text, at);
            let length = character.len_utf8();
            if let Some(slot) = self.gathered.get_mut(self.filled..self.filled + length) {
                character.encode_utf8(slot);
            }
            self.filled += length;
            at = next;
            if self.filled >= PIECE || self.text.get(at..at + 2) != Some(b"\\u") {
                break;
            }
        }
        self.at = at;
    }
}

/// Writes a run behind what is in the buffer; returns how much is in it then.
fn out_of_turn<S: Sink>(run: &[u8], gathered: &mut [u8; PIECE + ROOM], filled: usize, out: &mut S) -> usize {
    if run.len() <= BLOCK
        && let Some(slot) = gathered.get_mut(filled..filled + run.len())
    {
        slot.copy_from_slice(run);
        return filled + run.len();
    }
    out.put(gathered.get(..filled).unwrap_or_default());
    out.put(run);
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::string::{Characters, scan};
    use proptest::prelude::*;

    const PIECES: [&str; 11] = [
        "a",
        "plain text of some length",
        r"\n",
        r#"\""#,
        r"\\",
        r"\/",
        r"\u0001",
        r"\u4e16",
        r"\uD83D\ude00",
        "é",
        r"\u001F",
    ];

    proptest! {
        #[test]
        fn dense_escapes(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..1_500)) {
            let text = pieces.concat();
            let mut out = Vec::new();
            write_spelled(text.as_bytes(), &mut out);
            prop_assert_eq!(String::from_utf8(out), Ok(Characters::new(text.as_bytes()).collect::<String>()));
            let span = scan(format!("{text}\"{text}").as_bytes(), 0).unwrap();
            prop_assert_eq!(span.end, text.len());
            prop_assert_eq!(span.escaped, text.contains('\\'));
            let others = [r"\/", r"\u4e16", r"\uD83D\ude00", r"\u001F"];
            prop_assert_eq!(span.canonical, !pieces.iter().any(|piece| others.contains(piece)));
        }
    }
}
