//! Raw inflate (RFC 1951), a step at a time. Who feeds it, and how far it may go, is the business of gzip and zip.
//!
//! What is made lies in the inflater's own window, to which later data refers anyhow: nothing is copied to be handed out. Each
//! part of a stream is read whole or not at all, so that there is no state inside of one; for that the input must reach
//! [`AHEAD`] bytes ahead, as long as there are so many.
//!
//! It is our own because what meets hostile bytes first should have no unsafe code, and the one library without any takes
//! twice the time.

mod bits;
mod code;
mod data;
mod header;
mod window;

use crate::error::PackError;
use bits::{Bits, Rest};
pub(crate) use data::Stop;
use data::decode;
use header::{Codes, Kind};
use window::Window;

/// How many bytes a step must see, unless there are fewer: more than the header of any block has, which is 563 bytes long at most.
pub(crate) const AHEAD: usize = 1 << 10;

/// A raw deflate stream on its way out.
pub(crate) struct Inflater {
    window: Window,
    codes: Box<Codes>,
    rest: Rest,
    state: State,
    is_last: bool,
}

#[derive(Clone, Copy)]
enum State {
    /// Before a block.
    Header,
    /// In a block of bytes as they are; so many are left.
    Stored(usize),
    /// In a block of data.
    Coded,
    /// The last block is complete.
    Ended,
}

/// What a step did.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    /// Bytes taken from the input.
    pub(crate) used: usize,
    /// Bytes made.
    pub(crate) made: usize,
    /// Why it went no further.
    pub(crate) stop: Stop,
}

impl Step {
    /// There is no use in another step with the same input.
    pub(crate) fn is_stuck(&self) -> bool {
        self.used == 0 && self.made == 0
    }
}

impl Inflater {
    pub(crate) fn new() -> Inflater {
        Inflater {
            window: Window::new(),
            codes: Box::new(Codes::new()),
            rest: Rest::default(),
            state: State::Header,
            is_last: false,
        }
    }

    /// Begins another stream.
    pub(crate) fn clear(&mut self) {
        self.window.clear();
        (self.rest, self.state, self.is_last) = (Rest::default(), State::Header, false);
    }

    /// Makes room for 64 KiB. What was made before is gone.
    pub(crate) fn turn(&mut self) {
        self.window.turn();
    }

    /// Makes room to find out whether anything is left to be made. What was made stays.
    pub(crate) fn stretch(&mut self) {
        self.window.stretch();
    }

    /// Takes bytes as if they had been made, as many as there is room for; says how many.
    pub(crate) fn copy(&mut self, bytes: &[u8]) -> usize {
        let bytes = &bytes[..bytes.len().min(self.window.room())];
        self.window.put(bytes);
        bytes.len()
    }

    /// Inflates some input, as far as there is room.
    pub(crate) fn step(&mut self, input: &[u8]) -> Result<Step, PackError> {
        let before = self.window.made().len();
        let mut bits = Bits::new(self.rest, input);
        let stop = self.blocks(&mut bits)?;
        let (used, rest) = bits.finish();
        self.rest = rest;
        Ok(Step { used, made: self.window.made().len() - before, stop })
    }

    fn blocks(&mut self, bits: &mut Bits<'_>) -> Result<Stop, PackError> {
        loop {
            match self.state {
                State::Header => {
                    let before = *bits;
                    let Some((is_last, kind)) = self.codes.read(bits)? else {
                        *bits = before;
                        return Ok(Stop::Input);
                    };
                    self.is_last = is_last;
                    self.state = match kind {
                        Kind::Stored(length) => State::Stored(length),
                        Kind::Coded => State::Coded,
                    };
                }
                State::Stored(0) => self.end_block(),
                State::Stored(left) => {
                    let room = self.window.room();
                    let bytes = bits.take_slice(left.min(room));
                    self.window.put(bytes);
                    self.state = State::Stored(left - bytes.len());
                    if bytes.is_empty() {
                        return Ok(if room == 0 { Stop::Room } else { Stop::Input });
                    }
                }
                State::Coded => match decode(&self.codes, bits, &mut self.window)? {
                    Stop::End => self.end_block(),
                    stop => return Ok(stop),
                },
                State::Ended => return Ok(Stop::End),
            }
        }
    }

    fn end_block(&mut self) {
        self.state = if self.is_last { State::Ended } else { State::Header };
    }

    /// What was made since the last turn.
    pub(crate) fn made(&self) -> &[u8] {
        self.window.made()
    }
}

#[cfg(test)]
mod tests;
