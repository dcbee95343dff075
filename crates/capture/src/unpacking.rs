//! An answer's body on its way into the record: content codings removed as far as possible, each piece with its time.
//!
//! Bytes that cannot be decoded are not kept: masks see nothing in compressed bytes.

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::decode::{Decoder, Undecodable};

/// Reads of a body: the time of each, since the request, and the length of the body behind it.
pub(crate) type Reads = Vec<(Duration, usize)>;

/// A body while it comes.
pub(crate) struct Unpacking {
    /// `None` when there is no coding, or none any more.
    decoder: Option<Decoder>,
    has_coding: bool,
    fault: Option<Undecodable>,
    /// SHA-256 of what came.
    wire: Sha256,
    came: usize,
    /// Time of the last piece.
    last: Duration,
    /// Bytes given out so far.
    given: usize,
    reads: Reads,
}

/// Facts about a body that is over.
pub(crate) struct Unpacked {
    pub(crate) wire_sha256: [u8; 32],
    /// Bytes that came, before decoding.
    pub(crate) came: usize,
    /// Reads of the bytes that were given out.
    pub(crate) reads: Reads,
    /// True if codings were removed.
    pub(crate) is_decoded: bool,
    /// Reason why not all could be given out.
    pub(crate) fault: Option<Undecodable>,
}

impl Unpacking {
    /// Begins a body with these codings, of which at most `max_body_bytes` are decoded.
    pub(crate) fn new(codings: &[String], max_body_bytes: usize) -> Self {
        let has_coding = !codings.is_empty();
        let decoder = has_coding.then(|| Decoder::new(codings, max_body_bytes)).transpose();
        let fault = decoder.as_ref().err().cloned();
        Self {
            decoder: decoder.ok().flatten(),
            has_coding,
            fault,
            wire: Sha256::new(),
            came: 0,
            last: Duration::ZERO,
            given: 0,
            reads: Vec::new(),
        }
    }

    /// Takes bytes and the reads that brought them, counted from the start of the body; gives out what can be kept.
    pub(crate) fn push(&mut self, bytes: &[u8], reads: &[(Duration, usize)], mut give: impl FnMut(&[u8])) {
        self.wire.update(bytes);
        self.unpack(bytes, reads, &mut give);
        if self.came == 0 && self.is_plain(bytes) {
            self.unpack(bytes, reads, &mut give);
        }
        self.came += bytes.len();
        self.last = reads.last().map_or(self.last, |(at, _)| *at);
    }

    /// Returns true if a body only claims to be compressed, and is text; from then on it is taken as it comes.
    fn is_plain(&mut self, start: &[u8]) -> bool {
        let is_plain = self.has_coding && self.fault.is_some() && self.given == 0 && is_text(start);
        if is_plain {
            self.has_coding = false;
            self.decoder = None;
        }
        is_plain
    }

    fn unpack(&mut self, bytes: &[u8], reads: &[(Duration, usize)], give: &mut impl FnMut(&[u8])) {
        let mut from = 0;
        for &(at, to) in reads {
            let to = to.saturating_sub(self.came).min(bytes.len());
            let piece = bytes.get(from..to).unwrap_or_default();
            from = to;
            if !self.has_coding {
                self.gives(at, piece, give);
            } else if let Some(decoder) = self.decoder.as_mut().filter(|_| self.fault.is_none()) {
                let mut decoded = Vec::new();
                self.fault = decoder.push(piece, &mut decoded).err();
                self.gives(at, &decoded, give);
            }
        }
    }

    fn gives(&mut self, at: Duration, piece: &[u8], give: &mut impl FnMut(&[u8])) {
        if !piece.is_empty() {
            self.given += piece.len();
            self.reads.push((at, self.given));
            give(piece);
        }
    }

    /// Ends the body. `is_whole` says that its end came; `all` is the whole of it, where that is in memory.
    pub(crate) fn finish(
        mut self,
        is_whole: bool,
        all: Option<(&[u8], &Reads)>,
        mut give: impl FnMut(&[u8]),
    ) -> Unpacked {
        // Some servers say a coding and send nothing, as in answers to HEAD.
        let came = self.came;
        let decoder = self.decoder.take().filter(|_| is_whole && self.came > 0 && self.fault.is_none());
        if let Some(decoder) = decoder {
            let mut decoded = Vec::new();
            self.fault = decoder.finish(&mut decoded).err();
            self.gives(self.last, &decoded, &mut give);
            if let Some((all, reads)) = all
                && self.is_plain(all)
            {
                self.came = 0;
                self.unpack(all, reads, &mut give);
            }
        }
        Unpacked {
            wire_sha256: self.wire.finalize().into(),
            came,
            reads: self.reads,
            is_decoded: self.has_coding,
            fault: self.fault,
        }
    }
}

/// Returns true for UTF-8, perhaps without the end of its last character.
fn is_text(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}
