//! The body of an answer on its way into the record: its codings taken off as far as that goes, each piece with its time.
//!
//! What cannot be decoded is not kept: masks see nothing in what is compressed.

use std::time::Duration;

use sha2::{Digest, Sha256};

use super::job::Reads;
use crate::decode::{Decoder, Undecodable};

/// A body while it comes.
pub(super) struct Unpacking {
    /// `None` when there is no coding, or none any more.
    decoder: Option<Decoder>,
    has_coding: bool,
    fault: Option<Undecodable>,
    /// SHA-256 of what came.
    wire: Sha256,
    came: usize,
    /// When the last of it came.
    last: Duration,
    /// How much was given out.
    given: usize,
    reads: Reads,
}

/// What is known when it is over.
pub(super) struct Unpacked {
    pub(super) wire_sha256: [u8; 32],
    /// How many bytes came.
    pub(super) came: usize,
    /// When how much of what was given out had come.
    pub(super) reads: Reads,
    /// Whether codings were taken off.
    pub(super) is_decoded: bool,
    /// Why not all could be given out.
    pub(super) fault: Option<Undecodable>,
}

impl Unpacking {
    /// Begins a body with these codings, of which at most `most` bytes are decoded.
    pub(super) fn new(codings: &[String], most: usize) -> Self {
        let has_coding = !codings.is_empty();
        let decoder = has_coding.then(|| Decoder::new(codings, most)).transpose();
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

    /// Takes what came, and when how much of it had come in all; gives out what can be kept of it.
    pub(super) fn push(&mut self, bytes: &[u8], reads: &[(Duration, usize)], mut give: impl FnMut(&[u8])) {
        self.wire.update(bytes);
        self.unpack(bytes, reads, &mut give);
        if self.came == 0 && self.is_plain(bytes) {
            self.unpack(bytes, reads, &mut give);
        }
        self.came += bytes.len();
        self.last = reads.last().map_or(self.last, |(at, _)| *at);
    }

    /// Whether a body only says that it is compressed, and is text: from then on it is taken as it comes.
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

    /// It is over; `is_whole` if its end came. `all` is the whole of it, for whoever has that.
    pub(super) fn finish(
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

/// Whether bytes are UTF-8, perhaps without the end of their last character.
fn is_text(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}
