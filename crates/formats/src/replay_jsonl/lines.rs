//! The lines of a file, one at a time.
//!
//! A replay may be larger than the memory, and so may one of its lines: the room for a line is bounded, and of a longer one
//! only its length is told.

use std::io::{self, BufRead, Read};

use reenact_json::Digest;
use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;

/// The longest line that is read. Params are never shortened, so a line may well hold a file.
pub const LONGEST_LINE: usize = 64 << 20;

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With a line feed, as it should.
    LineFeed,
    /// With a carriage return before the line feed.
    CarriageReturn,
    /// With the file.
    EndOfFile,
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Counted from 1, blank lines included.
    pub number: u64,
    /// Without its ending; `Err` holds the length of a line that is over the limit.
    pub text: Result<&'a [u8], u64>,
    /// How it ends.
    pub ending: Ending,
}

/// Reads lines.
pub struct Lines<R> {
    reader: R,
    longest: usize,
    line: Vec<u8>,
    number: u64,
    hasher: Option<Hasher>,
}

impl<R: BufRead> Lines<R> {
    /// The lines of what `reader` gives.
    pub fn new(reader: R) -> Self {
        Self::bounded(reader, LONGEST_LINE)
    }

    /// As [`Lines::new`], with another limit.
    pub fn bounded(reader: R, longest: usize) -> Self {
        Self { reader, longest, line: Vec::new(), number: 0, hasher: None }
    }

    /// Hashes every byte on the way; see [`Lines::digest`].
    pub fn hashing(mut self) -> Self {
        self.hasher = Some(Hasher::new());
        self
    }

    /// The SHA-256 of all that was read, if it was asked for.
    pub fn digest(&mut self) -> Option<Digest> {
        self.hasher.as_mut().map(Hasher::finish)
    }

    /// The next line; `None` at the end. A file that ends with a line feed has no empty line after it.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        // Room for the line and its ending, and no more.
        let most = self.longest as u64 + 2;
        let mut length = self.piece(most)?;
        if length == 0 {
            return Ok(None);
        }
        self.number += 1;
        let mut is_too_long = false;
        // The two bytes of an ending may come in two pieces.
        let mut is_split = false;
        while !self.line.ends_with(b"\n") && self.line.len() as u64 == most {
            is_too_long = true;
            is_split = self.line.ends_with(b"\r");
            let more = self.piece(most)?;
            length += more;
            if more == 0 {
                break;
            }
        }
        let (ending, taken) = match self.line.as_slice() {
            [.., b'\r', b'\n'] => (Ending::CarriageReturn, 2),
            [b'\n'] if is_split => (Ending::CarriageReturn, 2),
            [.., b'\n'] => (Ending::LineFeed, 1),
            _ => (Ending::EndOfFile, 0),
        };
        let text = self.line.get(..self.line.len().saturating_sub(taken)).unwrap_or_default();
        let text =
            if is_too_long || text.len() > self.longest { Err(length - taken as u64) } else { Ok(text) };
        Ok(Some(Line { number: self.number, text, ending }))
    }

    /// Reads to the end of the line, but no more than `most` bytes; says how many there were.
    fn piece(&mut self, most: u64) -> io::Result<u64> {
        self.line.clear();
        let count = self.reader.by_ref().take(most).read_until(b'\n', &mut self.line)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.put(&self.line);
        }
        Ok(count as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, longest: usize) -> Vec<(u64, Result<String, u64>, Ending)> {
        // A reader that gives little at a time meets every seam.
        let reader = io::BufReader::with_capacity(3, text.as_bytes());
        let mut lines = Lines::bounded(reader, longest).hashing();
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            let content = line.text.map(|text| String::from_utf8(text.to_vec()).unwrap());
            found.push((line.number, content, line.ending));
        }
        assert_eq!(lines.digest(), Some(Digest::of(text.as_bytes())));
        found
    }

    #[test]
    fn every_ending() {
        let ok = |text: &str| Ok(text.to_owned());
        assert_eq!(all("", 8), []);
        assert_eq!(all("a\n", 8), [(1, ok("a"), Ending::LineFeed)]);
        assert_eq!(
            all("a\r\n\n\rb", 8),
            [
                (1, ok("a"), Ending::CarriageReturn),
                (2, ok(""), Ending::LineFeed),
                (3, ok("\rb"), Ending::EndOfFile)
            ]
        );
    }

    #[test]
    fn the_limit_is_exact() {
        let ok = |text: &str| Ok(text.to_owned());
        assert_eq!(all("12345678\r\nx", 8)[0], (1, ok("12345678"), Ending::CarriageReturn));
        assert_eq!(all("12345678", 8), [(1, ok("12345678"), Ending::EndOfFile)]);
        for ending in ["", "\n", "\r\n"] {
            for length in [9, 10, 11, 20, 21, 29, 30, 31] {
                let text = format!("{}{ending}", "x".repeat(length));
                assert_eq!(all(&text, 8)[0].1, Err(length as u64), "{length} {ending:?}");
                assert_eq!(all(&format!("{text}\ny"), 8).last().unwrap().1, ok("y"));
            }
        }
    }
}
