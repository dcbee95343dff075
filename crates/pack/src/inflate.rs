//! One step of raw inflate. Who feeds it, and how far it may go, is the business of gzip and zip.

use crate::error::{Malformation, PackError};
use crate::input::count;
use flate2::{Decompress, FlushDecompress, Status};

/// A raw deflate stream on its way out.
pub(crate) struct Inflater(Decompress);

/// What a step did.
pub(crate) struct Step {
    /// Bytes taken from the input.
    pub(crate) used: usize,
    /// Bytes put into the output.
    pub(crate) made: usize,
    /// The stream's last block is complete.
    pub(crate) ended: bool,
}

impl Inflater {
    pub(crate) fn new() -> Inflater {
        Inflater(Decompress::new(false))
    }

    /// Inflates what fits. A step that neither uses nor makes anything has run out of input or of room.
    pub(crate) fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, PackError> {
        let (used, made) = (self.0.total_in(), self.0.total_out());
        let status = self
            .0
            .decompress(input, output, FlushDecompress::None)
            .map_err(|_| PackError::malformed(Malformation::Deflate))?;
        let moved = |now: u64, before: u64, most: usize| {
            usize::try_from(now.saturating_sub(before)).map_or(most, |moved| moved.min(most))
        };
        let step = Step {
            used: moved(self.0.total_in(), used, input.len()),
            made: moved(self.0.total_out(), made, output.len()),
            ended: status == Status::StreamEnd,
        };
        // Input and room at hand and still no move: the decoder is stuck, and so would be our loop.
        if step.used == 0 && step.made == 0 && !step.ended && count(input.len().min(output.len())) > 0 {
            return Err(PackError::malformed(Malformation::Deflate));
        }
        Ok(step)
    }
}
