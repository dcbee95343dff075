//! Late secrets: values that became known as secrets while the run was recorded, and that stand in events from before.
//!
//! A value may be seen in a body or an answer before it is used as a credential. The masks did not know it then, and what
//! is in the journal is not written again: its hashes are in the chain. So the events are looked through once more at the
//! end, and those that hold such a value are named, for a person to withhold. The record itself does not name them: it
//! would tell its readers where to look. Start reading at [`Recorder::late_secrets`].

use std::io::{self, BufRead, BufReader, Read};

use base64ct::{Base64, Encoding};
use reenact_json::{Limits, Value, ValueKind};
use reenact_secrets::KnownValueSearch;

use crate::error::RecordError;
use crate::recorder::{Ended, Recorder};

/// Longest event that is searched string by string, in bytes; longer ones are searched in parts of this length.
const MAX_EVENT_BYTES: usize = 16 << 20;

/// Bytes of a part that are searched again with the next one: longer than any secret of a header in any spelling.
const OVERLAP_BYTES: usize = 256 << 10;

/// Largest number of events that are named.
const MAX_NAMED: usize = 256;

/// Events that hold values which became known as secrets later.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LateSecrets {
    /// Indices of the events, ascending; at most 256.
    pub events: Vec<u64>,
    /// Number of further events.
    pub more: u64,
}

impl LateSecrets {
    fn add(&mut self, event: u64) {
        match self.events.len() {
            ..MAX_NAMED => self.events.push(event),
            _ => self.more += 1,
        }
    }
}

impl Recorder<Ended> {
    /// Looks through the events for values that became known as secrets after an event was written. Reads the journal
    /// once, in parts, unless all secrets were known from the beginning.
    ///
    /// # Errors
    /// [`RecordError::Io`] if the journal cannot be read.
    pub fn late_secrets(&self) -> Result<LateSecrets, RecordError> {
        let shared = &self.inner.shared;
        let Some((search, events)) = shared.masks.late_secrets() else { return Ok(LateSecrets::default()) };
        let (path, reader) = {
            let state = shared.lock_state();
            (state.journal.path().to_owned(), state.journal.events_reader())
        };
        let found = reader.and_then(|reader| search_events(reader, search, events, MAX_EVENT_BYTES));
        found.map_err(|error| RecordError::io(&path, &error))
    }
}

/// Searches the first `events` lines that `reader` gives. Lines longer than `max_bytes` are searched in parts.
fn search_events(
    reader: impl Read,
    mut search: KnownValueSearch,
    events: u64,
    max_bytes: usize,
) -> io::Result<LateSecrets> {
    let mut reader = BufReader::with_capacity(256 << 10, reader);
    let (mut found, mut line) = (LateSecrets::default(), Vec::new());
    for event in 0..events {
        line.clear();
        line.shrink_to(1 << 20);
        let read = (&mut reader).take(max_bytes as u64).read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        if line.ends_with(b"\n") || read < max_bytes {
            if is_in_event(&mut search, &line) {
                found.add(event);
            }
            continue;
        }
        // The event is longer: its text is searched as it stands in the journal.
        let mut holds = search.is_in(&line);
        while !line.ends_with(b"\n") {
            let overlap = line.len().saturating_sub(OVERLAP_BYTES.min(max_bytes / 2));
            line.drain(..overlap);
            if (&mut reader).take(max_bytes as u64).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            holds = holds || search.is_in(&line);
        }
        if holds {
            found.add(event);
        }
    }
    Ok(found)
}

/// Returns true if a string of the event holds one of the values: each string is searched as the masks read it.
fn is_in_event(search: &mut KnownValueSearch, line: &[u8]) -> bool {
    match Value::parse(line.trim_ascii_end(), &Limits::default()) {
        Ok(event) => is_in_value(search, event),
        Err(_) => search.is_in(line),
    }
}

fn is_in_value(search: &mut KnownValueSearch, value: Value<'_>) -> bool {
    match value.kind() {
        ValueKind::String => value.string_bytes().is_some_and(|text| search.is_in(&text)),
        ValueKind::Array => value.elements().any(|element| is_in_value(search, element)),
        ValueKind::Object => value.members().any(|(name, member)| {
            let is_base64 = name.is_string("base64");
            let decoded =
                member.string().filter(|_| is_base64).and_then(|text| Base64::decode_vec(&text).ok());
            name.string_bytes().is_some_and(|name| search.is_in(&name))
                || decoded.is_some_and(|bytes| search.is_in(&bytes))
                || is_in_value(search, member)
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events that hold the value as a part of a text, in a name, in base64, across the parts of a long event, and none.
    #[test]
    fn each_event_with_the_value_is_named_once() {
        let value = b"correct/horse-battery";
        let long = format!("{{\"a\":\"{}correct\\/horse-battery{}\"}}", "x".repeat(1_015), "y".repeat(3_000));
        let base64 = Base64::encode_string(&[&[0xff, 0], &value[..], &[0xfe]].concat());
        let lines = [
            r#"{"a":"say correct/horse-battery"}"#.to_owned(),
            r#"{"a":"[masked:credential:1]"}"#.to_owned(),
            r#"{"a":[{"correct%2Fhorse-battery":1}],"b":"correct/horse-battery"}"#.to_owned(),
            format!("{{\"http\":{{\"body\":{{\"base64\":\"{base64}\"}}}}}}"),
            long,
            "{}".to_owned(),
        ];
        let journal = lines.join("\n") + "\n";
        let found = |events, max_bytes| {
            let search = KnownValueSearch::new([&value[..]]);
            search_events(journal.as_bytes(), search, events, max_bytes).unwrap()
        };
        for max_bytes in [1 << 20, 1_024] {
            let expected = LateSecrets { events: vec![0, 2, 3, 4], more: 0 };
            assert_eq!(found(u64::MAX, max_bytes), expected, "{max_bytes}");
        }
        assert_eq!(found(1, 1 << 20).events, [0]);
    }

    #[test]
    fn only_so_many_are_named() {
        let journal = "{\"a\":\"correct-horse\"}\n".repeat(300);
        let search = KnownValueSearch::new([&b"correct-horse"[..]]);
        let found = search_events(journal.as_bytes(), search, u64::MAX, 1 << 20).unwrap();
        assert_eq!((found.events.len(), found.events.last(), found.more), (256, Some(&255), 44));
    }
}
