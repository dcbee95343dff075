//! Body of an answer as it is stored: in memory, or, if too long for that, in a [`Spool`] that grows piece by
//! piece.

use std::time::Duration;

use reenact_record::{EventWriter, RecordError, Spool, StepId};
use sha2::{Digest, Sha256};

use crate::body_decoder::{BodyDecoder, BodyFacts, BodyReads};

/// Body that is too long for memory, while it is received.
pub(crate) struct SpooledBody {
    /// Decoder between the received bytes and the spool.
    decoder: BodyDecoder,
    /// Spool, or the error with which the body was lost.
    spool: Result<Spool, RecordError>,
}

/// Body that has ended.
pub(crate) struct FinishedBody {
    pub(crate) stored: StoredBody,
    pub(crate) facts: BodyFacts,
}

/// Place of a body's bytes.
pub(crate) enum StoredBody {
    /// Whole body in memory.
    InMemory(Vec<u8>),
    /// Whole body in a spool file.
    Spooled(Box<Spool>),
    /// Body that could not be written to its spool.
    Lost(RecordError),
}

impl SpooledBody {
    /// Begins the body with which a step returns. At most `max_body_bytes` of it are decoded.
    pub(crate) fn new(
        writer: &EventWriter,
        step: &StepId,
        codings: &[String],
        max_body_bytes: usize,
    ) -> Self {
        Self { decoder: BodyDecoder::new(codings, max_body_bytes), spool: writer.spool(step) }
    }

    /// Appends bytes and the reads that brought them. Offsets in `reads` count from the start of the body.
    pub(crate) fn push(&mut self, bytes: &[u8], reads: &[(Duration, usize)]) {
        let spool = &mut self.spool;
        self.decoder.push(bytes, reads, |piece| push_to_spool(spool, piece));
    }

    /// Ends the body. `is_whole` is true if its end was received.
    pub(crate) fn finish(self, is_whole: bool) -> FinishedBody {
        let Self { decoder: unpacking, mut spool } = self;
        let unpacked = unpacking.finish(is_whole, None, |piece| push_to_spool(&mut spool, piece));
        let stored = spool.map_or_else(StoredBody::Lost, |spool| StoredBody::Spooled(Box::new(spool)));
        FinishedBody { stored, facts: unpacked }
    }
}

/// Appends a piece to the spool, which becomes an error if that fails.
fn push_to_spool(spool: &mut Result<Spool, RecordError>, piece: &[u8]) {
    if let Ok(open) = spool
        && let Err(error) = open.push(piece)
    {
        *spool = Err(error);
    }
}

impl FinishedBody {
    /// Decodes a body that is in memory. `is_whole` is true if its end was received.
    pub(crate) fn from_memory(
        codings: &[String],
        raw: Vec<u8>,
        reads: BodyReads,
        is_whole: bool,
        max_body_bytes: usize,
    ) -> Self {
        if codings.is_empty() {
            let wire_sha256 = Sha256::digest(&raw).into();
            let facts =
                BodyFacts { wire_sha256, wire_bytes: raw.len(), reads, is_decoded: false, fault: None };
            return Self { stored: StoredBody::InMemory(raw), facts };
        }
        let mut body = Vec::new();
        let mut unpacking = BodyDecoder::new(codings, max_body_bytes);
        unpacking.push(&raw, &reads, |piece| body.extend_from_slice(piece));
        let all = Some((&raw[..], &reads));
        let facts = unpacking.finish(is_whole, all, |piece| body.extend_from_slice(piece));
        Self { stored: StoredBody::InMemory(body), facts }
    }

    /// Returns the bytes if they are in memory, else none.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.stored {
            StoredBody::InMemory(body) => body,
            StoredBody::Spooled(_) | StoredBody::Lost(_) => b"",
        }
    }

    /// Returns the number of bytes that are stored.
    pub(crate) fn length(&self) -> usize {
        self.facts.reads.last().map_or(0, |(_, to)| *to)
    }

    /// Returns true if received bytes are not stored.
    pub(crate) fn is_incomplete(&self) -> bool {
        matches!(self.stored, StoredBody::Lost(_)) || self.facts.is_decoded && self.facts.fault.is_some()
    }
}
