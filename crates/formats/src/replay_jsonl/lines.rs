//! The lines of a file, one at a time.
//!
//! A replay may be larger than the memory, and so may one of its lines: the room for a line is bounded, and of a longer one
//! only its length is told. A line that lies whole in the reader's own room is read there.

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
    /// A line that came in pieces.
    line: Vec<u8>,
    /// How much of the reader's room the line before took.
    taken: usize,
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
        Self { reader, longest, line: Vec::new(), taken: 0, number: 0, hasher: None }
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
        self.reader.consume(core::mem::take(&mut self.taken));
        let Some(length) = self.next_line_feed()?.filter(|length| *length <= self.longest) else {
            return self.gathered_line();
        };
        self.number += 1;
        self.taken = length + 1;
        // What is there is there: nothing is read here.
        let line = self.reader.fill_buf()?.get(..=length).unwrap_or_default();
        if let Some(hasher) = &mut self.hasher {
            hasher.put(line);
        }
        Ok(Some(match line {
            [text @ .., b'\r', b'\n'] => {
                Line { number: self.number, text: Ok(text), ending: Ending::CarriageReturn }
            }
            _ => {
                let text = line.get(..length).unwrap_or_default();
                Line { number: self.number, text: Ok(text), ending: Ending::LineFeed }
            }
        }))
    }

    /// Where the next line feed stands in what the reader has, or reads if it has nothing.
    fn next_line_feed(&mut self) -> io::Result<Option<usize>> {
        loop {
            match self.reader.fill_buf() {
                Ok(bytes) => return Ok(memchr::memchr(b'\n', bytes)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The next line, if there is one, where it does not lie in the reader's room as a whole.
    fn gathered_line(&mut self) -> io::Result<Option<Line<'_>>> {
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
        // A reader that gives little at a time meets every seam; one that gives all is read where it lies.
        let at_once = read(text, longest, 8192);
        for room in [1, 2, 3, 7] {
            assert_eq!(read(text, longest, room), at_once, "{room}");
        }
        at_once
    }

    fn read(text: &str, longest: usize, room: usize) -> Vec<(u64, Result<String, u64>, Ending)> {
        let reader = io::BufReader::with_capacity(room, text.as_bytes());
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
    #[test]
    fn long_lines_and_short_ones() {
        for length in [0, 1, 62, 63, 64, 65, 127, 128, 1000] {
            let line = "x".repeat(length);
            let text = format!("{line}\n{line}\r\n{line}");
            let expected = [Ending::LineFeed, Ending::CarriageReturn, Ending::EndOfFile]
                .into_iter()
                .zip(1..)
                .map(|(ending, number)| (number, Ok(line.clone()), ending))
                // There is no empty line after the last line feed.
                .take(if length == 0 { 2 } else { 3 });
            assert_eq!(all(&text, 1000), expected.collect::<Vec<_>>(), "{length}");
        }
    }

    #[test]
    fn a_reader_that_was_interrupted_goes_on() {
        struct Interrupted<'a>(&'a [u8], bool);
        impl Read for Interrupted<'_> {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                self.1 = !self.1;
                if self.1 { Err(io::ErrorKind::Interrupted.into()) } else { self.0.read(out) }
            }
        }
        let mut lines = Lines::new(io::BufReader::with_capacity(2, Interrupted(b"a\nbcd\n", false)));
        assert_eq!(lines.next_line().unwrap().unwrap().text, Ok(&b"a"[..]));
        assert_eq!(lines.next_line().unwrap().unwrap().text, Ok(&b"bcd"[..]));
        assert_eq!(lines.next_line().unwrap(), None);
    }
}
