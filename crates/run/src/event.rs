//! One event of a run: its type, time, source and payload.

use std::borrow::Cow;

use reenact_formats::FormatId;
use reenact_formats::rer::EventType;
use reenact_formats::rer::payload::{EventSource, PayloadWord};
use reenact_json::Value;

use crate::event_index::EventEntry;
use crate::reader;
use crate::run::RunInner;

/// Event of a run. A handle of three words: each method parses what it returns from the run's bytes.
#[derive(Debug, Clone, Copy)]
pub struct Event<'r> {
    pub(crate) run: &'r RunInner,
    index: usize,
    entry: &'r EventEntry,
}

/// Payload of an event.
#[derive(Debug, Clone, Copy)]
pub enum EventPayload<'r> {
    /// The event has a payload.
    Present(Value<'r>),
    /// The payload was withheld after it was recorded; its digest is still in the record.
    Withheld,
    /// The event has no payload.
    None,
}

impl<'r> EventPayload<'r> {
    /// Returns the JSON value of a payload that is present.
    pub fn value(self) -> Option<Value<'r>> {
        match self {
            Self::Present(value) => Some(value),
            Self::Withheld | Self::None => None,
        }
    }
}

impl<'r> Event<'r> {
    /// Makes the handle of the event at an index.
    pub(crate) fn new(run: &'r RunInner, index: usize, entry: &'r EventEntry) -> Self {
        Self { run, index, entry }
    }

    /// Returns the index of the event in its run, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the event type; `None` if it is not in RER's vocabulary.
    pub fn kind(&self) -> Option<EventType> {
        self.entry.kind
    }

    /// Returns the format in whose vocabulary the payload is written. In an imported artifact, the events that
    /// begin and end the record are RER, all others the source's format.
    pub fn payload_format(&self) -> FormatId {
        if self.entry.in_payload_format { self.run.parts.payload_format } else { FormatId::Rer }
    }

    /// Returns the event's type or name in the format that it was read from. Untrusted text.
    pub fn name(&self) -> Cow<'r, str> {
        self.entry.name.value(&self.run.bytes).and_then(|name| name.string()).unwrap_or_default()
    }

    /// Returns the event's time as the record writes it. Untrusted text.
    pub fn time(&self) -> Option<Cow<'r, str>> {
        self.entry.time.value(&self.run.bytes)?.string()
    }

    /// Returns the payload in the vocabulary of [`Event::payload_format`]: for an imported event, the item that
    /// the event was made from.
    pub fn payload(&self) -> EventPayload<'r> {
        if self.entry.withheld {
            return EventPayload::Withheld;
        }
        self.entry.payload.value(&self.run.bytes).map_or(EventPayload::None, EventPayload::Present)
    }

    /// Returns true if the payload was withheld.
    pub fn is_withheld(&self) -> bool {
        self.entry.withheld
    }

    /// Returns the id of the step that the event belongs to; empty if the record does not say. Untrusted text.
    pub fn step_id(&self) -> Cow<'r, str> {
        let payload = self.payload().value();
        payload
            .and_then(|payload| reader::reader_of(self.payload_format()).step_id(self, payload))
            .unwrap_or_default()
    }

    /// Returns how the recorder learnt of the event; `None` if the record does not say, or says an unknown
    /// word.
    pub fn source(&self) -> Option<EventSource> {
        if self.is_imported() {
            return Some(EventSource::Imported);
        }
        self.payload().value()?.member("source").and_then(EventSource::of)
    }

    /// Returns true if the event was made from an item of another format.
    pub(crate) fn is_imported(&self) -> bool {
        self.entry.in_payload_format && self.run.parts.is_imported
    }

    /// Returns the index of the event at the other end of the action: of a call its return, of a return its
    /// call; of an event that is both, its own index.
    pub fn partner(&self) -> Option<usize> {
        self.entry.partner()
    }
}
