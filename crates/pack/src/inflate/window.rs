//! What was made: the last 32 KiB of it, to which the data may refer, and what nobody has taken yet.

use crate::input::BUFFER;

/// How far back a reference may go (RFC 1951 §2).
const HISTORY: usize = 32 << 10;
/// What one turn of decoding makes at most, two literals and the longest length, and what a copy writes beyond its end.
const SLACK: usize = 2 + 258 + COPY;
/// How many bytes are copied at once.
const COPY: usize = 16;
/// What is needed to go on after the history.
const ROOM: usize = BUFFER + 2 * SLACK;
/// There is room a few times, so that the history is moved seldom.
const SIZE: usize = HISTORY + 4 * ROOM;

/// The bytes of a window. Of a known size, so that most bounds are known too.
pub(super) type Bytes = [u8; SIZE];

pub(super) struct Window {
    bytes: Box<Bytes>,
    /// What was made since the last turn begins here.
    start: usize,
    /// Where the next byte goes. Everything before it belongs to the stream.
    end: usize,
    /// From where on there is no room for another turn of decoding.
    limit: usize,
}

impl Window {
    pub(super) fn new() -> Window {
        let bytes = vec![0; SIZE].into_boxed_slice().try_into().unwrap_or_else(|_| Box::new([0; SIZE]));
        Window { bytes, start: 0, end: 0, limit: BUFFER - SLACK }
    }

    /// Forgets everything, for another stream.
    pub(super) fn clear(&mut self) {
        self.end = 0;
        self.turn();
    }

    /// Makes room; what was made before was taken.
    pub(super) fn turn(&mut self) {
        if self.end + ROOM > SIZE {
            self.bytes.copy_within(self.end - HISTORY..self.end, 0);
            self.end = HISTORY;
        }
        self.start = self.end;
        self.limit = self.start + BUFFER - SLACK;
    }

    /// Makes room for one more turn of decoding; what was made stays.
    pub(super) fn stretch(&mut self) {
        self.limit = self.start + BUFFER + SLACK;
    }

    /// What was made since the last turn.
    pub(super) fn made(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// The bytes, where the next goes, and from where on there is no room for another turn of decoding.
    pub(super) fn parts(&mut self) -> (&mut Bytes, &mut usize, usize) {
        (&mut self.bytes, &mut self.end, self.limit)
    }

    /// How many bytes there is room for.
    pub(super) fn room(&self) -> usize {
        self.limit + SLACK - self.end
    }

    /// Puts bytes, as many as there is room for.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(self.end..self.end + bytes.len()) {
            place.copy_from_slice(bytes);
            self.end += bytes.len();
        }
    }
}

/// Repeats at `at` what begins `distance` bytes before it, no further back than the bytes begin. Up to [`COPY`] bytes behind it
/// are overwritten.
#[inline(always)]
pub(super) fn repeat(bytes: &mut Bytes, at: usize, distance: usize, length: usize) {
    let (mut from, mut to) = (at - distance, at);
    let end = at + length;
    if distance >= COPY {
        loop {
            copy(bytes, from, to);
            (from, to) = (from + COPY, to + COPY);
            if to >= end {
                break;
            }
        }
    } else {
        repeat_near(bytes, from, to, end);
    }
}

#[inline(always)]
fn copy(bytes: &mut Bytes, from: usize, to: usize) {
    // Compared to a constant once; the compiler sees that there is no need to again.
    if from < SIZE - COPY && to < SIZE - COPY {
        let mut chunk = [0; COPY];
        chunk.copy_from_slice(&bytes[from..from + COPY]);
        bytes[to..to + COPY].copy_from_slice(&chunk);
    }
}

/// What is repeated begins so near that it overlaps a copy.
#[inline(never)]
fn repeat_near(bytes: &mut Bytes, mut from: usize, mut to: usize, end: usize) {
    if to - from == 1 {
        let byte = bytes[from];
        bytes[to..end].fill(byte);
        return;
    }
    while to < end {
        bytes[to] = bytes[from];
        (from, to) = (from + 1, to + 1);
    }
}
