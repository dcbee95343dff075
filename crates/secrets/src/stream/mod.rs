//! Streams of events: a secret may be cut over many events, so that none of them holds it.
//!
//! Vendors stream a text as JSON strings, one event after another, each at the same path of its
//! event. The strings at one path are joined and searched, whichever vendor sends them. A path
//! consists of the member names that lead to the string; of the elements of a list, those with the
//! same `index` count as the same. That may separate too little or too much, so two other groupings
//! are tried: a finer one that also separates by the ids and types of events, and a coarser one by
//! the last member name alone ([`StreamGrouping`]). The finest comes first, and what it finds is
//! masked for the next: otherwise text sent in between would be taken for a part of the secret.
//!
//! Start reading at [`collect_texts`].

mod document;
mod event_template;
mod event_walker;
mod stream_texts;

pub(crate) use document::{for_each_joined, is_document};
pub(crate) use reenact_json::event_stream::is_stream;
pub(crate) use stream_texts::{StreamGrouping, StreamTexts};

use memchr::memchr2;
use reenact_json::event_stream::{StreamLine, for_each_stream_line};

/// Collects the strings of all events of a stream, grouped by their paths.
pub(crate) fn collect_texts(text: &[u8]) -> StreamTexts {
    let mut walk = event_walker::EventWalker::new(text);
    for_each_stream_line(text, |line| walk.push_line(line));
    walk.finish();
    walk.texts
}

/// Returns true if no event follows the one at `offset`: if the stream was cut, it was cut
/// here.
pub(crate) fn is_in_last_event(text: &[u8], offset: usize) -> bool {
    let behind =
        text.get(offset..).and_then(|rest| memchr2(b'\n', b'\r', rest)).map_or(text.len(), |at| offset + at);
    let mut has_more = false;
    for_each_stream_line(text.get(behind..).unwrap_or_default(), |line| {
        has_more |= matches!(line, StreamLine::Data(_));
    });
    !has_more
}
