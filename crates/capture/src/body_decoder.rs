//! Decoder for an answer's body on its way into the record: removes content codings as far as possible, and
//! keeps the time of each piece.
//!
//! Bytes that cannot be decoded are not kept, because masks see nothing in compressed bytes. Start reading at
//! [`BodyDecoder::push`].

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::decode::{ContentDecoder, Undecodable};

/// Reads of a body: for each the time since the request, and the length of the body after it.
pub(crate) type BodyReads = Vec<(Duration, usize)>;

/// Decoder of one body, while it is received.
pub(crate) struct BodyDecoder {
    /// `None` if there is no coding, or none any more.
    decoder: Option<ContentDecoder>,
    /// True if the headers name a coding, and the body is not plain text in spite of that.
    has_coding: bool,
    /// First error of the decoder; nothing is decoded after it.
    fault: Option<Undecodable>,
    /// SHA-256 of the bytes as they came.
    wire_hash: Sha256,
    /// Bytes received, before decoding.
    wire_bytes: usize,
    /// Time of the last piece, since the request.
    last_read_at: Duration,
    /// Bytes emitted so far.
    decoded_bytes: usize,
    /// Reads of the bytes emitted so far.
    reads: BodyReads,
}

/// Facts about a body that has ended.
pub(crate) struct BodyFacts {
    /// SHA-256 of the bytes as they came.
    pub(crate) wire_sha256: [u8; 32],
    /// Bytes received, before decoding.
    pub(crate) wire_bytes: usize,
    /// Reads of the decoded bytes.
    pub(crate) reads: BodyReads,
    /// True if codings were removed.
    pub(crate) is_decoded: bool,
    /// Reason why not all bytes could be decoded.
    pub(crate) fault: Option<Undecodable>,
}

impl BodyDecoder {
    /// Begins a body with these codings, of which at most `max_body_bytes` are decoded.
    pub(crate) fn new(codings: &[String], max_body_bytes: usize) -> Self {
        let has_coding = !codings.is_empty();
        let decoder = has_coding.then(|| ContentDecoder::new(codings, max_body_bytes)).transpose();
        let fault = decoder.as_ref().err().cloned();
        Self {
            decoder: decoder.ok().flatten(),
            has_coding,
            fault,
            wire_hash: Sha256::new(),
            wire_bytes: 0,
            last_read_at: Duration::ZERO,
            decoded_bytes: 0,
            reads: Vec::new(),
        }
    }

    /// Takes bytes and the reads that brought them, and emits the decoded bytes. Offsets in `reads` count from
    /// the start of the body.
    pub(crate) fn push(&mut self, bytes: &[u8], reads: &[(Duration, usize)], mut give: impl FnMut(&[u8])) {
        self.wire_hash.update(bytes);
        self.decode(bytes, reads, &mut give);
        if self.wire_bytes == 0 && self.fall_back_to_plain(bytes) {
            self.decode(bytes, reads, &mut give);
        }
        self.wire_bytes += bytes.len();
        self.last_read_at = reads.last().map_or(self.last_read_at, |(at, _)| *at);
    }

    /// Returns true if the body claims a coding and is plain text. From then on bytes are taken as they come.
    ///
    /// Only a body whose first bytes fail to decode can fall back: after decoded output a fault is damage.
    fn fall_back_to_plain(&mut self, start: &[u8]) -> bool {
        let is_plain = self.has_coding && self.fault.is_some() && self.decoded_bytes == 0 && is_text(start);
        if is_plain {
            self.has_coding = false;
            self.decoder = None;
        }
        is_plain
    }

    /// Decodes bytes read by read, so that each decoded piece keeps its time.
    fn decode(&mut self, bytes: &[u8], reads: &[(Duration, usize)], give: &mut impl FnMut(&[u8])) {
        let mut from = 0;
        for &(at, to) in reads {
            let to = to.saturating_sub(self.wire_bytes).min(bytes.len());
            let piece = bytes.get(from..to).unwrap_or_default();
            from = to;
            if !self.has_coding {
                self.emit(at, piece, give);
            } else if let Some(decoder) = self.decoder.as_mut().filter(|_| self.fault.is_none()) {
                let mut decoded = Vec::new();
                self.fault = decoder.push(piece, &mut decoded).err();
                self.emit(at, &decoded, give);
            }
        }
    }

    /// Passes a piece on, and notes its time and end.
    fn emit(&mut self, at: Duration, piece: &[u8], give: &mut impl FnMut(&[u8])) {
        if !piece.is_empty() {
            self.decoded_bytes += piece.len();
            self.reads.push((at, self.decoded_bytes));
            give(piece);
        }
    }

    /// Ends the body. `is_whole` is true if its end was received; `all` is the whole body, if that is in
    /// memory.
    pub(crate) fn finish(
        mut self,
        is_whole: bool,
        all: Option<(&[u8], &BodyReads)>,
        mut give: impl FnMut(&[u8]),
    ) -> BodyFacts {
        // Some servers announce a coding and send no body, as in answers to HEAD.
        let came = self.wire_bytes;
        let decoder = self.decoder.take().filter(|_| is_whole && self.wire_bytes > 0 && self.fault.is_none());
        if let Some(decoder) = decoder {
            let mut decoded = Vec::new();
            self.fault = decoder.finish(&mut decoded).err();
            self.emit(self.last_read_at, &decoded, &mut give);
            if let Some((all, reads)) = all
                && self.fall_back_to_plain(all)
            {
                self.wire_bytes = 0;
                self.decode(all, reads, &mut give);
            }
        }
        BodyFacts {
            wire_sha256: self.wire_hash.finalize().into(),
            wire_bytes: came,
            reads: self.reads,
            is_decoded: self.has_coding,
            fault: self.fault,
        }
    }
}

/// Returns true for UTF-8, possibly cut inside its last character.
fn is_text(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}
