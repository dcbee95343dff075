//! Unescaping of strings into a sink, without a copy of the whole string.

use crate::block::{self, BLOCK};
use crate::byte_scan::next_backslash;
use crate::canonical::ByteSink;
use crate::string::{SHORT_ESCAPES, decode_unicode_escape};

/// Writes the unescaped text of a string that has passed [`crate::string::scan`]; `text` is the content between its quotes. The
/// output goes through a small buffer, so that no copy of a long string is made and the sink is not called for each escape.
pub(crate) fn write_unescaped<S: ByteSink>(text: &[u8], out: &mut S) {
    let mut unescaper = Unescaper { text, at: 0, buffer: [0; BUFFER_BYTES + SPARE_BYTES], buffered: 0, out };
    let mut from = 0;
    while let Some(block) = text.get(from..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        let mut escapes = block::escape_start_mask(block::byte_mask(block, b'\\'));
        while escapes != 0 {
            let end = from + escapes.trailing_zeros() as usize;
            // A backslash before the cursor belongs to an escape that is decoded already.
            if end >= unescaper.at {
                unescaper.decode_escape(end);
            }
            escapes &= escapes - 1;
        }
        from = unescaper.at.max(from + BLOCK);
    }
    loop {
        let end = next_backslash(text, unescaper.at);
        if end >= text.len() {
            break;
        }
        unescaper.decode_escape(end);
    }
    unescaper.copy_run(text.len());
    unescaper.out.put(&unescaper.buffer[..unescaper.buffered]);
}

/// Size of the buffer at which it is flushed, in bytes; large enough for a hash to take it without buffering.
const BUFFER_BYTES: usize = 4096;

/// Bytes behind the flush size, for one run of up to 64 bytes and one character: the buffer is checked only before them.
const SPARE_BYTES: usize = 96;

/// State of [`write_unescaped`].
struct Unescaper<'a, S> {
    text: &'a [u8],
    /// Offset in `text` up to which the text is unescaped.
    at: usize,
    buffer: [u8; BUFFER_BYTES + SPARE_BYTES],
    /// Bytes in `buffer` that are not flushed yet.
    buffered: usize,
    out: &'a mut S,
}

impl<S: ByteSink> Unescaper<'_, S> {
    /// Copies the run up to the backslash at `end` and decodes the escape there, and the `\u` escapes behind it if it is one.
    #[inline(always)]
    fn decode_escape(&mut self, end: usize) {
        self.copy_run(end);
        let kind = self.text.get(end + 1).copied().unwrap_or(b'?');
        let short = SHORT_ESCAPES[usize::from(kind)];
        if short != 0 {
            self.buffer[self.buffered] = short;
            self.buffered += 1;
            self.at = end + 2;
        } else {
            self.decode_unit_escapes(end);
        }
    }

    /// Copies the run up to `end`. Afterwards the buffer has space for a character.
    #[inline(always)]
    fn copy_run(&mut self, end: usize) {
        let length = end - self.at;
        if self.buffered >= BUFFER_BYTES {
            self.out.put(&self.buffer[..self.buffered]);
            self.buffered = 0;
        }
        // Always copy 16 bytes, however many count: a copy of fixed size needs no call.
        if length <= 16
            && let Some(run) = self.text.get(self.at..).and_then(<[u8]>::first_chunk::<16>)
            && let Some(slot) = self.buffer.get_mut(self.buffered..).and_then(<[u8]>::first_chunk_mut::<16>)
        {
            *slot = *run;
            self.buffered += length;
        } else {
            let run = self.text.get(self.at..end).unwrap_or_default();
            self.buffered = copy_long_run(run, &mut self.buffer, self.buffered, self.out);
        }
        self.at = end;
    }

    /// Decodes consecutive `\u` escapes from `at` on. Escaped text of other scripts consists of nothing else.
    fn decode_unit_escapes(&mut self, mut at: usize) {
        loop {
            let (character, next) = decode_unicode_escape(self.text, at);
            let length = character.len_utf8();
            if let Some(slot) = self.buffer.get_mut(self.buffered..self.buffered + length) {
                character.encode_utf8(slot);
            }
            self.buffered += length;
            at = next;
            if self.buffered >= BUFFER_BYTES || self.text.get(at..at + 2) != Some(b"\\u") {
                break;
            }
        }
        self.at = at;
    }
}

/// Copies a run to the buffer, or flushes the buffer and passes a run of more than a block to the sink. Returns the number of
/// buffered bytes.
fn copy_long_run<S: ByteSink>(
    run: &[u8],
    gathered: &mut [u8; BUFFER_BYTES + SPARE_BYTES],
    filled: usize,
    out: &mut S,
) -> usize {
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
    use crate::string::{UnescapedChars, scan};
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
            write_unescaped(text.as_bytes(), &mut out);
            prop_assert_eq!(String::from_utf8(out), Ok(UnescapedChars::new(text.as_bytes()).collect::<String>()));
            let span = scan(format!("{text}\"{text}").as_bytes(), 0).unwrap();
            prop_assert_eq!(span.end, text.len());
            prop_assert_eq!(span.escaped, text.contains('\\'));
            let others = [r"\/", r"\u4e16", r"\uD83D\ude00", r"\u001F"];
            prop_assert_eq!(span.canonical, !pieces.iter().any(|piece| others.contains(piece)));
        }
    }
}
