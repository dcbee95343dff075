//! One event: when, what, who says so, and what it carries.

use std::borrow::Cow;

use reenact_formats::FormatId;
use reenact_formats::rer::EventType;
use reenact_formats::rer::payload::{PayloadWord, Source};
use reenact_json::Value;

use crate::event_index::EventEntry;
use crate::reader;
use crate::run::RunInner;

/// An event of a run. A handle: what it says is read where it lies, when it is asked.
#[derive(Debug, Clone, Copy)]
pub struct Event<'r> {
    pub(crate) run: &'r RunInner,
    index: usize,
    entry: &'r EventEntry,
}

/// What an event carries.
#[derive(Debug, Clone, Copy)]
pub enum EventPayload<'r> {
    /// This.
    Present(Value<'r>),
    /// Something that was taken out after it was recorded; its digest is still in the record.
    Withheld,
    /// Nothing.
    None,
}

impl<'r> EventPayload<'r> {
    /// The value, if there is one.
    pub fn value(self) -> Option<Value<'r>> {
        match self {
            Self::Present(value) => Some(value),
            Self::Withheld | Self::None => None,
        }
    }
}

impl<'r> Event<'r> {
    pub(crate) fn new(run: &'r RunInner, index: usize, entry: &'r EventEntry) -> Self {
        Self { run, index, entry }
    }

    /// Its place among the events, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// What happened.
    pub fn kind(&self) -> Option<EventType> {
        self.entry.kind
    }

    /// Whose words its payload is in.
    pub fn payload_format(&self) -> FormatId {
        if self.entry.in_payload_format { self.run.parts.payload_format } else { FormatId::Rer }
    }

    /// What the format that it was read from calls it. Untrusted text.
    pub fn name(&self) -> Cow<'r, str> {
        self.entry.name.value(&self.run.bytes).and_then(|name| name.string()).unwrap_or_default()
    }

    /// When, as the record says it. Untrusted text.
    pub fn time(&self) -> Option<Cow<'r, str>> {
        self.entry.time.value(&self.run.bytes)?.string()
    }

    /// What it carries, in the words of its dialect: of an event that was imported, the item that it was made from.
    pub fn payload(&self) -> EventPayload<'r> {
        if self.entry.withheld {
            return EventPayload::Withheld;
        }
        self.entry.payload.value(&self.run.bytes).map_or(EventPayload::None, EventPayload::Present)
    }

    /// Whether what it carried was taken out.
    pub fn is_withheld(&self) -> bool {
        self.entry.withheld
    }

    /// The step that it belongs to; empty if the record does not say. Untrusted text.
    pub fn step_id(&self) -> Cow<'r, str> {
        let payload = self.payload().value();
        payload
            .and_then(|payload| reader::reader_of(self.payload_format()).step_id(self, payload))
            .unwrap_or_default()
    }

    /// How the record came to know of the event; `None` if it does not say, or says something else.
    pub fn source(&self) -> Option<Source> {
        if self.is_imported() {
            return Some(Source::Imported);
        }
        self.payload().value()?.member("source").and_then(Source::of)
    }

    /// Whether it was made from an item of another format.
    pub(crate) fn is_imported(&self) -> bool {
        self.entry.in_payload_format && self.run.parts.is_imported
    }

    /// The event that ends what this one begins, or begins what it ends; itself, if it is both.
    pub fn partner(&self) -> Option<usize> {
        self.entry.partner()
    }
}
