//! Detector for the last event of a stream while it passes.
//!
//! A client may act on the last event, and send its next request, before the body ends. The record must then
//! have the answer before that request, so the exchange is ended as soon as the last event was handed on.

use reenact_wire::Endpoint;
use reenact_wire::sse::SseReader;

use crate::decode::ContentDecoder;

/// Watches a stream for its last event.
pub(crate) struct StreamEndDetector {
    endpoint: Option<Endpoint>,
    /// `None` if there is no content coding.
    decoder: Option<ContentDecoder>,
    events: SseReader,
    /// True once the last event was seen.
    has_ended: bool,
    /// True if the last event reports an error.
    has_failed: bool,
}

impl StreamEndDetector {
    /// Makes a detector for a stream with these codings. Returns `None` if they are unknown: such a stream is
    /// passed on, and the record has a gap at its end.
    pub(crate) fn new(endpoint: Option<Endpoint>, codings: &[String], max_body_bytes: usize) -> Option<Self> {
        let decoder = match codings {
            [] => None,
            codings => Some(ContentDecoder::new(codings, max_body_bytes).ok()?),
        };
        Some(Self { endpoint, decoder, events: SseReader::new(), has_ended: false, has_failed: false })
    }

    /// Returns true if the last event was seen.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns true if the last event was seen, and is no error.
    pub(crate) fn is_whole(&self) -> bool {
        self.has_ended && !self.has_failed
    }

    /// Takes a piece; returns true if it contains the last event.
    pub(crate) fn push(&mut self, piece: &[u8]) -> bool {
        if self.has_ended {
            return false;
        }
        let mut decoded = Vec::new();
        let piece = match &mut self.decoder {
            None => piece,
            Some(decoder) => {
                // Damaged codings are recorded when the answer ends.
                let _ = decoder.push(piece, &mut decoded);
                &decoded
            }
        };
        let (endpoint, mut has_come, mut has_failed) = (self.endpoint, false, false);
        self.events.for_each_event(piece, |event| {
            if endpoint.is_some_and(|endpoint| endpoint.ends_stream(event)) {
                has_come = true;
                has_failed |= endpoint.is_some_and(|endpoint| endpoint.ends_stream_by_error(event));
            }
        });
        self.has_ended = has_come;
        self.has_failed = has_failed;
        has_come
    }
}
