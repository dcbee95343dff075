//! Streams of events: a secret may be cut over many of them, so that none holds it.
//!
//! Vendors stream a text as JSON strings, one event after another, each at the same place of its event. What the strings at a
//! place say together is looked through, whoever the vendor is. A place is the path of names that leads to it; of the elements of
//! a list, those with the same `index` are the same. That may part too little or too much, so two other readings are tried: one that
//! also parts by the ids and types that events have, and one that parts by the last name of the path alone. The finest comes first,
//! and what it finds is not looked at again: else what was told in between would be taken for a part of it.

mod mould;
mod told;
mod walk;

pub(crate) use reenact_json::event_stream::is_stream;
pub(crate) use told::{Parting, Told};

use memchr::memchr2;
use reenact_json::event_stream::{StreamLine, stream_lines};

/// Goes through the lines of a stream.
pub(crate) fn told(text: &[u8]) -> Told {
    let mut walk = walk::Walk::new(text);
    stream_lines(text, |line| walk.line(line));
    walk.finish();
    walk.told
}

/// Whether no event comes after the one that a place lies in: if the stream broke off, it did so here.
pub(crate) fn is_last(text: &[u8], place: usize) -> bool {
    let behind =
        text.get(place..).and_then(|rest| memchr2(b'\n', b'\r', rest)).map_or(text.len(), |at| place + at);
    let mut has_more = false;
    stream_lines(text.get(behind..).unwrap_or_default(), |line| {
        has_more |= matches!(line, StreamLine::Data(_));
    });
    !has_more
}
