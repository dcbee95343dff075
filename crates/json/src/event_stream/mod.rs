//! Framing of event streams: server-sent events (HTML, section 9.2) and JSON lines. Independent of any vendor.
//!
//! [`SseReader`] takes a stream in pieces, as it arrives, and loses no byte of it. [`for_each_stream_line`] passes over a
//! stream that is complete, takes both framings, and returns byte ranges. Both read lines and fields by the same functions. A
//! reader buffers the incomplete event only, whose size its caller must bound.

mod line;
mod reader;

pub use line::{StreamLine, for_each_stream_line, is_stream};
pub use reader::{RawSseEvent, SseEvent, SseReader};
