//! Lines of a file, one at a time, in bounded memory.
//!
//! A replay may be larger than memory, and so may one of its lines: the line buffer is bounded, and of a longer line
//! only the length is reported. A line that lies whole in the reader's own buffer is not copied. Start reading at
//! [`ReplayLineReader::next_line`].

use std::io::{self, BufRead, Read};

use reenact_json::Digest;
use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;

/// Longest line that is read, in bytes. Params are never shortened, so a line may well hold a whole file.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// End of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnding {
    /// A line feed, as it should be.
    LineFeed,
    /// A carriage return before the line feed.
    CarriageReturn,
    /// The end of the file.
    EndOfFile,
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayLine<'a> {
    /// Number of the line, 1-based, blank lines included.
    pub number: u64,
    /// Bytes without the line ending; `Err` holds the length of a line over the limit, in bytes.
    pub text: Result<&'a [u8], u64>,
    /// End of the line.
    pub ending: LineEnding,
}

/// Reader of lines, with a limit on their length and an optional hash over all bytes.
pub struct ReplayLineReader<R> {
    reader: R,
    max_line_bytes: usize,
    /// Buffer for a line that comes in pieces.
    line: Vec<u8>,
    /// Number of bytes in the reader's buffer that belong to the line before and are not consumed yet.
    unconsumed_bytes: usize,
    number: u64,
    hasher: Option<Hasher>,
}

impl<R: BufRead> ReplayLineReader<R> {
    /// Reads the lines of `reader`, up to [`MAX_LINE_BYTES`] each.
    pub fn new(reader: R) -> Self {
        Self::with_max_line_bytes(reader, MAX_LINE_BYTES)
    }

    /// Reads lines up to another limit, in bytes.
    pub fn with_max_line_bytes(reader: R, max_line_bytes: usize) -> Self {
        Self { reader, max_line_bytes, line: Vec::new(), unconsumed_bytes: 0, number: 0, hasher: None }
    }

    /// Hashes every byte that is read; see [`ReplayLineReader::digest`].
    pub fn with_hashing(mut self) -> Self {
        self.hasher = Some(Hasher::new());
        self
    }

    /// Returns the SHA-256 of all bytes read so far, if [`ReplayLineReader::with_hashing`] was called.
    pub fn digest(&mut self) -> Option<Digest> {
        self.hasher.as_mut().map(Hasher::finish)
    }

    /// Returns the next line; `None` at the end. A file that ends with a line feed has no empty line after it.
    ///
    /// # Errors
    ///
    /// Errors of the reader, but for interruptions, after which reading goes on.
    pub fn next_line(&mut self) -> io::Result<Option<ReplayLine<'_>>> {
        self.reader.consume(core::mem::take(&mut self.unconsumed_bytes));
        let Some(length) = self.find_line_feed()?.filter(|length| *length <= self.max_line_bytes) else {
            return self.assemble_line();
        };
        self.number += 1;
        self.unconsumed_bytes = length + 1;
        // The buffer is not empty, so this call reads nothing.
        let line = self.reader.fill_buf()?.get(..=length).unwrap_or_default();
        if let Some(hasher) = &mut self.hasher {
            hasher.put(line);
        }
        Ok(Some(match line {
            [text @ .., b'\r', b'\n'] => {
                ReplayLine { number: self.number, text: Ok(text), ending: LineEnding::CarriageReturn }
            }
            _ => {
                let text = line.get(..length).unwrap_or_default();
                ReplayLine { number: self.number, text: Ok(text), ending: LineEnding::LineFeed }
            }
        }))
    }

    /// Returns the offset of the next line feed in the reader's buffer, filling the buffer if it is empty.
    fn find_line_feed(&mut self) -> io::Result<Option<usize>> {
        loop {
            match self.reader.fill_buf() {
                Ok(bytes) => return Ok(memchr::memchr(b'\n', bytes)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the next line, if there is one, where it does not lie in the reader's buffer as a whole.
    fn assemble_line(&mut self) -> io::Result<Option<ReplayLine<'_>>> {
        // Room for the line and its ending, and no more.
        let max_bytes = self.max_line_bytes as u64 + 2;
        let mut length = self.read_piece(max_bytes)?;
        if length == 0 {
            return Ok(None);
        }
        self.number += 1;
        let mut is_too_long = false;
        // The two bytes of CR LF may come in two pieces.
        let mut is_split = false;
        while !self.line.ends_with(b"\n") && self.line.len() as u64 == max_bytes {
            is_too_long = true;
            is_split = self.line.ends_with(b"\r");
            let more = self.read_piece(max_bytes)?;
            length += more;
            if more == 0 {
                break;
            }
        }
        let (ending, taken) = match self.line.as_slice() {
            [.., b'\r', b'\n'] => (LineEnding::CarriageReturn, 2),
            [b'\n'] if is_split => (LineEnding::CarriageReturn, 2),
            [.., b'\n'] => (LineEnding::LineFeed, 1),
            _ => (LineEnding::EndOfFile, 0),
        };
        let text = self.line.get(..self.line.len().saturating_sub(taken)).unwrap_or_default();
        let text = if is_too_long || text.len() > self.max_line_bytes {
            Err(length - taken as u64)
        } else {
            Ok(text)
        };
        Ok(Some(ReplayLine { number: self.number, text, ending }))
    }

    /// Reads to the end of the line, at most `max_bytes`; returns the number of bytes read.
    fn read_piece(&mut self, max_bytes: u64) -> io::Result<u64> {
        self.line.clear();
        let count = self.reader.by_ref().take(max_bytes).read_until(b'\n', &mut self.line)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.put(&self.line);
        }
        Ok(count as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, max_line_bytes: usize) -> Vec<(u64, Result<String, u64>, LineEnding)> {
        // A reader with a tiny buffer meets every seam; one with a large buffer is read in place.
        let at_once = read(text, max_line_bytes, 8192);
        for capacity in [1, 2, 3, 7] {
            assert_eq!(read(text, max_line_bytes, capacity), at_once, "{capacity}");
        }
        at_once
    }

    fn read(
        text: &str,
        max_line_bytes: usize,
        capacity: usize,
    ) -> Vec<(u64, Result<String, u64>, LineEnding)> {
        let reader = io::BufReader::with_capacity(capacity, text.as_bytes());
        let mut lines = ReplayLineReader::with_max_line_bytes(reader, max_line_bytes).with_hashing();
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
        assert_eq!(all("a\n", 8), [(1, ok("a"), LineEnding::LineFeed)]);
        assert_eq!(
            all("a\r\n\n\rb", 8),
            [
                (1, ok("a"), LineEnding::CarriageReturn),
                (2, ok(""), LineEnding::LineFeed),
                (3, ok("\rb"), LineEnding::EndOfFile)
            ]
        );
    }

    #[test]
    fn the_limit_is_exact() {
        let ok = |text: &str| Ok(text.to_owned());
        assert_eq!(all("12345678\r\nx", 8)[0], (1, ok("12345678"), LineEnding::CarriageReturn));
        assert_eq!(all("12345678", 8), [(1, ok("12345678"), LineEnding::EndOfFile)]);
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
            let expected = [LineEnding::LineFeed, LineEnding::CarriageReturn, LineEnding::EndOfFile]
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
        let mut lines =
            ReplayLineReader::new(io::BufReader::with_capacity(2, Interrupted(b"a\nbcd\n", false)));
        assert_eq!(lines.next_line().unwrap().unwrap().text, Ok(&b"a"[..]));
        assert_eq!(lines.next_line().unwrap().unwrap().text, Ok(&b"bcd"[..]));
        assert_eq!(lines.next_line().unwrap(), None);
    }
}
