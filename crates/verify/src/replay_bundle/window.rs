//! [`ScanWindow`]: hashes and searches a member of any length in a fixed amount of memory.
//!
//! Secrets are recognised by the text around them. Each position counts in the one window in which it
//! has [`CONTEXT_BYTES`] before and after it, or the beginning or end of the member. No rule looks
//! further than that, so the windows find the same as one look at the whole member.

use std::io::{self, Read};

use reenact_json::Digest;
use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;

use super::leak::{self, Leak};

/// Size of the window, in bytes.
const WINDOW_BYTES: usize = 1 << 20;
/// Context that a position needs on both sides, in bytes: more than the longest secret that a rule
/// knows, a private key in PEM.
const CONTEXT_BYTES: usize = 66 << 10;

/// Result of scanning a member.
pub(super) struct ScannedMember<'w> {
    /// SHA-256 of the content.
    pub(super) digest: Digest,
    /// Length of the content in bytes.
    pub(super) size: u64,
    /// Places that look like secrets.
    pub(super) leak: Option<Leak>,
    /// Content, if it is smaller than the window.
    pub(super) whole: Option<&'w [u8]>,
}

/// Window that is reused for one member after the other.
pub(super) struct ScanWindow {
    /// Storage of the window.
    buffer: Vec<u8>,
    /// Context on both sides, in bytes.
    context_bytes: usize,
    /// Hasher of the whole content, reused for every member.
    hasher: Hasher,
}

impl Default for ScanWindow {
    fn default() -> Self {
        Self::with_sizes(WINDOW_BYTES, CONTEXT_BYTES)
    }
}

impl core::fmt::Debug for ScanWindow {
    /// Formats the name only, since the content may be secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ScanWindow").finish_non_exhaustive()
    }
}

impl ScanWindow {
    /// Creates a window of `buffer_bytes` bytes with this context.
    fn with_sizes(buffer_bytes: usize, context_bytes: usize) -> Self {
        Self { buffer: vec![0; buffer_bytes], context_bytes, hasher: Hasher::new() }
    }

    /// Reads a member to its end.
    pub(super) fn scan(&mut self, content: &mut impl Read) -> io::Result<ScannedMember<'_>> {
        let (mut filled, mut base, mut from) = (0, 0, 0);
        let mut leak = None;
        self.hasher.clear();
        loop {
            let Some(unfilled) = self.buffer.get_mut(filled..).filter(|unfilled| !unfilled.is_empty()) else {
                let to = filled - self.context_bytes;
                leak::scan(&self.buffer, from, to, base, &mut leak);
                let keep = to - self.context_bytes;
                self.buffer.copy_within(keep.., 0);
                (filled, base, from) = (filled - keep, base + keep as u64, self.context_bytes);
                continue;
            };
            match content.read(unfilled) {
                Ok(0) => break,
                Ok(count) => {
                    self.hasher.put(&unfilled[..count]);
                    filled += count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let text = &self.buffer[..filled];
        leak::scan(text, from, filled, base, &mut leak);
        let whole = (base == 0).then_some(text);
        Ok(ScannedMember { digest: self.hasher.finish(), size: base + filled as u64, leak, whole })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Invented text of the form that a rule knows.
    const SECRET: &str = "sk-proj-4fGhT7yUq2WzX8cVbN3mKj6L";

    /// Reader that returns a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(out.len());
            self.0.read(&mut out[..count])
        }
    }

    #[test]
    fn a_secret_is_found_wherever_it_stands() {
        let mut small = ScanWindow::with_sizes(400, 100);
        let mut large = ScanWindow::default();
        for before in 0..1_000 {
            let text = format!(
                "{}\n{SECRET}\nAuthorization: Basic abc\n{}",
                "x y ".repeat(before),
                "z ".repeat(300)
            );
            let expected = large.scan(&mut text.as_bytes()).unwrap().leak;
            assert_eq!(
                expected.as_ref().map(|leak| (leak.offset, leak.count)),
                Some((4 * before as u64 + 1, 2))
            );
            for step in [7, 64, 4096] {
                let passed = small.scan(&mut Slow(text.as_bytes(), step)).unwrap();
                assert_eq!(passed.leak, expected, "{before}");
                assert_eq!(passed.digest, Digest::of(text.as_bytes()));
                assert_eq!(passed.size, text.len() as u64);
            }
        }
    }

    #[test]
    fn what_fits_is_given_whole() {
        let mut window = ScanWindow::with_sizes(400, 100);
        for (length, is_whole) in
            [(0, true), (1, true), (399, true), (400, false), (401, false), (5_000, false)]
        {
            let text = vec![b'a'; length];
            let passed = window.scan(&mut text.as_slice()).unwrap();
            assert_eq!((passed.size, passed.leak), (length as u64, None));
            assert_eq!(passed.digest, Digest::of(&text));
            assert_eq!(passed.whole.is_some_and(|whole| whole == text), is_whole, "{length}");
        }
    }
}
