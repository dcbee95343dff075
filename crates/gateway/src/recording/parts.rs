//! The body of an answer as it is kept: in memory, or, where that would take too much of it, in a spool that grows part by part.

use std::time::Duration;

use reenact_record::{Pen, RecordError, Spool, StepId};
use sha2::{Digest, Sha256};

use super::job::Reads;
use super::unpacking::{Unpacked, Unpacking};

/// A body that is too long for memory, as far as it has come.
pub(super) struct Parts {
    unpacking: Unpacking,
    /// The error with which it was lost, if it was.
    spool: Result<Spool, RecordError>,
}

/// A body that is over.
pub(super) struct Body {
    pub(super) kept: Kept,
    pub(super) unpacked: Unpacked,
}

/// Where it is.
pub(super) enum Kept {
    Whole(Vec<u8>),
    Spooled(Box<Spool>),
    /// It was lost on its way.
    Lost(RecordError),
}

impl Parts {
    /// Begins the body with which a step returns, with these codings, of which at most `most` bytes are decoded.
    pub(super) fn new(pen: &Pen, step: &StepId, codings: &[String], most: usize) -> Self {
        Self { unpacking: Unpacking::new(codings, most), spool: pen.spool(step) }
    }

    /// Takes what came, and when how much of the whole had come.
    pub(super) fn push(&mut self, bytes: &[u8], reads: &[(Duration, usize)]) {
        let spool = &mut self.spool;
        self.unpacking.push(bytes, reads, |piece| keep(spool, piece));
    }

    /// It is over; `is_whole` if its end came.
    pub(super) fn finish(self, is_whole: bool) -> Body {
        let Self { unpacking, mut spool } = self;
        let unpacked = unpacking.finish(is_whole, None, |piece| keep(&mut spool, piece));
        let kept = spool.map_or_else(Kept::Lost, |spool| Kept::Spooled(Box::new(spool)));
        Body { kept, unpacked }
    }
}

fn keep(spool: &mut Result<Spool, RecordError>, piece: &[u8]) {
    if let Ok(open) = spool
        && let Err(error) = open.push(piece)
    {
        *spool = Err(error);
    }
}

impl Body {
    /// A body that came whole into memory.
    pub(super) fn whole(codings: &[String], raw: Vec<u8>, reads: Reads, is_whole: bool, most: usize) -> Self {
        if codings.is_empty() {
            let wire_sha256 = Sha256::digest(&raw).into();
            let unpacked = Unpacked { wire_sha256, came: raw.len(), reads, is_decoded: false, fault: None };
            return Self { kept: Kept::Whole(raw), unpacked };
        }
        let mut body = Vec::new();
        let mut unpacking = Unpacking::new(codings, most);
        unpacking.push(&raw, &reads, |piece| body.extend_from_slice(piece));
        let all = Some((&raw[..], &reads));
        let unpacked = unpacking.finish(is_whole, all, |piece| body.extend_from_slice(piece));
        Self { kept: Kept::Whole(body), unpacked }
    }

    /// What is in memory of it.
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.kept {
            Kept::Whole(body) => body,
            Kept::Spooled(_) | Kept::Lost(_) => b"",
        }
    }

    /// How many bytes are kept.
    pub(super) fn length(&self) -> usize {
        self.unpacked.reads.last().map_or(0, |(_, to)| *to)
    }

    /// Whether some of what came is not kept.
    pub(super) fn is_short(&self) -> bool {
        matches!(self.kept, Kept::Lost(_)) || self.unpacked.is_decoded && self.unpacked.fault.is_some()
    }
}
