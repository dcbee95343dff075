//! Framing of streams of events: server-sent events (HTML, section 9.2) and JSON, one value a line. Knows no vendor.
//!
//! [`SseReader`] takes a stream in pieces, as it arrives, and loses no byte of it. [`stream_lines`] goes through a stream that is there
//! as a whole, takes both framings, and gives places in the text. Both read lines and fields by the same functions. A reader holds
//! no more than the event that is not complete: its caller bounds the stream.

mod line;
mod reader;

pub use line::{StreamLine, is_stream, stream_lines};
pub use reader::{RawEvent, SseEvent, SseReader};
