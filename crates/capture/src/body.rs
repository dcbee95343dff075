//! An answer's body as it is kept: in memory, or, where it is too long for that, in a [`Spool`] that grows piece by piece.

use std::time::Duration;

use reenact_record::{Pen, RecordError, Spool, StepId};
use sha2::{Digest, Sha256};

use crate::unpacking::{Reads, Unpacked, Unpacking};

/// A body that is too long for memory, while it comes.
pub(crate) struct SpooledBody {
    unpacking: Unpacking,
    /// The error with which the body was lost, if it was.
    spool: Result<Spool, RecordError>,
}

/// A body that is over.
pub(crate) struct FinishedBody {
    pub(crate) kept: Kept,
    pub(crate) unpacked: Unpacked,
}

/// Place of a body.
pub(crate) enum Kept {
    Whole(Vec<u8>),
    Spooled(Box<Spool>),
    /// The body was lost on its way.
    Lost(RecordError),
}

impl SpooledBody {
    /// Begins the body with which a step returns. At most `max_body_bytes` of it are decoded.
    pub(crate) fn new(pen: &Pen, step: &StepId, codings: &[String], max_body_bytes: usize) -> Self {
        Self { unpacking: Unpacking::new(codings, max_body_bytes), spool: pen.spool(step) }
    }

    /// Takes bytes and the reads that brought them, counted from the start of the body.
    pub(crate) fn push(&mut self, bytes: &[u8], reads: &[(Duration, usize)]) {
        let spool = &mut self.spool;
        self.unpacking.push(bytes, reads, |piece| keep(spool, piece));
    }

    /// Ends the body. `is_whole` says that its end came.
    pub(crate) fn finish(self, is_whole: bool) -> FinishedBody {
        let Self { unpacking, mut spool } = self;
        let unpacked = unpacking.finish(is_whole, None, |piece| keep(&mut spool, piece));
        let kept = spool.map_or_else(Kept::Lost, |spool| Kept::Spooled(Box::new(spool)));
        FinishedBody { kept, unpacked }
    }
}

fn keep(spool: &mut Result<Spool, RecordError>, piece: &[u8]) {
    if let Ok(open) = spool
        && let Err(error) = open.push(piece)
    {
        *spool = Err(error);
    }
}

impl FinishedBody {
    /// Makes one of a body that is in memory.
    pub(crate) fn whole(
        codings: &[String],
        raw: Vec<u8>,
        reads: Reads,
        is_whole: bool,
        max_body_bytes: usize,
    ) -> Self {
        if codings.is_empty() {
            let wire_sha256 = Sha256::digest(&raw).into();
            let unpacked = Unpacked { wire_sha256, came: raw.len(), reads, is_decoded: false, fault: None };
            return Self { kept: Kept::Whole(raw), unpacked };
        }
        let mut body = Vec::new();
        let mut unpacking = Unpacking::new(codings, max_body_bytes);
        unpacking.push(&raw, &reads, |piece| body.extend_from_slice(piece));
        let all = Some((&raw[..], &reads));
        let unpacked = unpacking.finish(is_whole, all, |piece| body.extend_from_slice(piece));
        Self { kept: Kept::Whole(body), unpacked }
    }

    /// Returns the bytes in memory: all or none.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.kept {
            Kept::Whole(body) => body,
            Kept::Spooled(_) | Kept::Lost(_) => b"",
        }
    }

    /// Returns the number of bytes kept.
    pub(crate) fn length(&self) -> usize {
        self.unpacked.reads.last().map_or(0, |(_, to)| *to)
    }

    /// Returns true if bytes that came are not kept.
    pub(crate) fn is_short(&self) -> bool {
        matches!(self.kept, Kept::Lost(_)) || self.unpacked.is_decoded && self.unpacked.fault.is_some()
    }
}
