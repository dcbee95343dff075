//! A member while it passes by: hashed and looked through in one window, of any length in the same memory.
//!
//! Text is looked through with what stands around it. Each place counts in the one window in which it has [`AROUND`] bytes before
//! and after it, or the member's beginning or end. No rule looks further than that, so the windows find what one look at
//! the whole member would.

use std::io::{self, Read};

use reenact_json::Digest;
use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;

use super::leak::{self, Leak};

/// How much is looked at at once.
const ROOM: usize = 1 << 20;
/// What a place needs around it: more than the longest secret that a rule knows, a private key in PEM.
const AROUND: usize = 66 << 10;

/// What is known of a member after it passed.
pub(super) struct Passed<'w> {
    pub(super) digest: Digest,
    pub(super) size: u64,
    pub(super) leak: Option<Leak>,
    /// All of it, if it is smaller than the window.
    pub(super) whole: Option<&'w [u8]>,
}

/// The window, to be used for one member after the other.
pub(super) struct Window {
    buffer: Vec<u8>,
    around: usize,
    hasher: Hasher,
}

impl Default for Window {
    fn default() -> Self {
        Self::of(ROOM, AROUND)
    }
}

impl core::fmt::Debug for Window {
    /// Says nothing of what passed.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Window").finish_non_exhaustive()
    }
}

impl Window {
    fn of(room: usize, around: usize) -> Self {
        Self { buffer: vec![0; room], around, hasher: Hasher::new() }
    }

    /// Reads a member to its end.
    pub(super) fn pass(&mut self, content: &mut impl Read) -> io::Result<Passed<'_>> {
        let (mut filled, mut base, mut from) = (0, 0, 0);
        let mut leak = None;
        self.hasher.clear();
        loop {
            let Some(room) = self.buffer.get_mut(filled..).filter(|room| !room.is_empty()) else {
                let to = filled - self.around;
                leak::look(&self.buffer, from, to, base, &mut leak);
                let keep = to - self.around;
                self.buffer.copy_within(keep.., 0);
                (filled, base, from) = (filled - keep, base + keep as u64, self.around);
                continue;
            };
            match content.read(room) {
                Ok(0) => break,
                Ok(count) => {
                    self.hasher.put(&room[..count]);
                    filled += count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let text = &self.buffer[..filled];
        leak::look(text, from, filled, base, &mut leak);
        let whole = (base == 0).then_some(text);
        Ok(Passed { digest: self.hasher.finish(), size: base + filled as u64, leak, whole })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made up; of the shape that a rule knows.
    const SECRET: &str = "sk-proj-4fGhT7yUq2WzX8cVbN3mKj6L";

    /// Gives a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(out.len());
            self.0.read(&mut out[..count])
        }
    }

    #[test]
    fn a_secret_is_found_wherever_it_stands() {
        let mut small = Window::of(400, 100);
        let mut large = Window::default();
        for before in 0..1_000 {
            let text = format!(
                "{}\n{SECRET}\nAuthorization: Basic abc\n{}",
                "x y ".repeat(before),
                "z ".repeat(300)
            );
            let expected = large.pass(&mut text.as_bytes()).unwrap().leak;
            assert_eq!(
                expected.as_ref().map(|leak| (leak.offset, leak.count)),
                Some((4 * before as u64 + 1, 2))
            );
            for step in [7, 64, 4096] {
                let passed = small.pass(&mut Slow(text.as_bytes(), step)).unwrap();
                assert_eq!(passed.leak, expected, "{before}");
                assert_eq!(passed.digest, Digest::of(text.as_bytes()));
                assert_eq!(passed.size, text.len() as u64);
            }
        }
    }

    #[test]
    fn what_fits_is_given_whole() {
        let mut window = Window::of(400, 100);
        for (length, is_whole) in
            [(0, true), (1, true), (399, true), (400, false), (401, false), (5_000, false)]
        {
            let text = vec![b'a'; length];
            let passed = window.pass(&mut text.as_slice()).unwrap();
            assert_eq!((passed.size, passed.leak), (length as u64, None));
            assert_eq!(passed.digest, Digest::of(&text));
            assert_eq!(passed.whole.is_some_and(|whole| whole == text), is_whole, "{length}");
        }
    }
}
