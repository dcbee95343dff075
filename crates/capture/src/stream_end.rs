//! The end of a stream of events, seen while it passes: its client may go on before the body is over.

use reenact_wire::Endpoint;
use reenact_wire::sse::SseReader;

use crate::decode::Decoder;

/// Watches a stream for its last event.
pub(crate) struct StreamEnd {
    endpoint: Option<Endpoint>,
    /// `None` if there is no content coding.
    decoder: Option<Decoder>,
    events: SseReader,
    has_come: bool,
}

impl StreamEnd {
    /// Watches a stream with these codings. `None` if they are unknown: then the stream is passed on, and the record says so
    /// at its end.
    pub(crate) fn new(endpoint: Option<Endpoint>, codings: &[String], max_body_bytes: usize) -> Option<Self> {
        let decoder = match codings {
            [] => None,
            codings => Some(Decoder::new(codings, max_body_bytes).ok()?),
        };
        Some(Self { endpoint, decoder, events: SseReader::new(), has_come: false })
    }

    /// Takes a piece; returns true if it brings the last event.
    pub(crate) fn take(&mut self, piece: &[u8]) -> bool {
        if self.has_come {
            return false;
        }
        let mut decoded = Vec::new();
        let piece = match &mut self.decoder {
            None => piece,
            Some(decoder) => {
                // Damage is recorded when the answer ends.
                let _ = decoder.push(piece, &mut decoded);
                &decoded
            }
        };
        let (endpoint, mut has_come) = (self.endpoint, false);
        self.events.each(piece, |event| {
            has_come |= endpoint.is_some_and(|endpoint| endpoint.ends_stream(event));
        });
        self.has_come = has_come;
        has_come
    }
}
