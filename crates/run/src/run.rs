//! Who ran, when, under which permissions, and what happened.

use std::sync::Arc;

use reenact_json::{Digest, Value};
use reenact_verify::Report;

use crate::event::Event;
use crate::exchange::Exchange;
use crate::index::{Entry, Span};
use crate::kind::{Action, Kind};
use crate::summary::Summary;
use crate::tool::ToolUse;

/// A run. Cheap to clone: the bytes are shared.
#[derive(Debug, Clone)]
pub struct Run {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    bytes: Vec<u8>,
    format: String,
    digest: Option<Digest>,
    parts: Parts,
}

/// What a format's reader finds.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) id: String,
    pub(crate) producer: Producer,
    pub(crate) envelope: Span,
    pub(crate) index: Box<[Entry]>,
}

/// What wrote the record, by its own word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Producer {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The key that it signed with.
    pub key_id: Option<String>,
}

impl Run {
    pub(crate) fn new(parts: Parts, bytes: Vec<u8>, report: &Report) -> Self {
        let digest = report.run.as_ref().map(|run| run.digest);
        Self { inner: Arc::new(Inner { bytes, format: report.format.clone(), digest, parts }) }
    }

    /// The run's own id: untrusted text, never to be made a path.
    pub fn id(&self) -> &str {
        &self.inner.parts.id
    }

    /// The format that it was read from, with its version.
    pub fn format(&self) -> &str {
        &self.inner.format
    }

    /// The digest of what was signed, the same for every copy of this record; `None` where nothing could be signed.
    pub fn digest(&self) -> Option<Digest> {
        self.inner.digest
    }

    /// What wrote the record.
    pub fn producer(&self) -> &Producer {
        &self.inner.parts.producer
    }

    /// What the run was permitted.
    pub fn envelope(&self) -> Option<Value<'_>> {
        self.inner.parts.envelope.value(&self.inner.bytes)
    }

    /// What else its author said of it (`envelope.metadata`).
    pub fn metadata(&self) -> Option<Value<'_>> {
        self.envelope()?.member("metadata")
    }

    /// Where it ran, as its first event says.
    pub fn environment(&self) -> Option<Value<'_>> {
        self.started()?.member("environment")
    }

    /// The payload of the event that began the run.
    pub fn started(&self) -> Option<Value<'_>> {
        self.first(Kind::RunStarted)?.payload().value()
    }

    /// The payload of the event that ended the run.
    pub fn ended(&self) -> Option<Value<'_>> {
        self.last(Kind::RunEnded)?.payload().value()
    }

    /// When it began, by the event that says so, or else by the first one.
    pub fn started_at(&self) -> Option<String> {
        self.first(Kind::RunStarted).or_else(|| self.event(0))?.time().map(|time| time.into_owned())
    }

    /// When it ended, by the event that says so; `None` if none does.
    pub fn ended_at(&self) -> Option<String> {
        self.last(Kind::RunEnded)?.time().map(|time| time.into_owned())
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.inner.parts.index.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.inner.parts.index.is_empty()
    }

    /// The event at a place.
    pub fn event(&self, index: usize) -> Option<Event<'_>> {
        Some(Event::new(&self.inner.bytes, index, self.inner.parts.index.get(index)?))
    }

    /// All events, in order.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = Event<'_>> {
        (0..self.len()).filter_map(|index| self.event(index))
    }

    fn first(&self, kind: Kind) -> Option<Event<'_>> {
        self.events().find(|event| event.kind() == kind)
    }

    fn last(&self, kind: Kind) -> Option<Event<'_>> {
        self.events().rfind(|event| event.kind() == kind)
    }

    /// The events that begin such an action, each with the one that ends it.
    fn actions(&self, wanted: &[Action]) -> impl Iterator<Item = (Action, Event<'_>, Option<Event<'_>>)> {
        self.events().filter_map(move |event| {
            let (action, begins) = event.kind().action()?;
            let end = event.partner().and_then(|partner| self.event(partner));
            (begins && wanted.contains(&action)).then_some((action, event, end))
        })
    }

    /// What was asked over HTTP and what was answered, in the order of the asking.
    pub fn exchanges(&self) -> impl Iterator<Item = Exchange<'_>> {
        self.actions(&[Action::Model, Action::Http])
            .map(|(action, called, returned)| Exchange::new(action, called, returned))
    }

    /// The exchange that begins with the event at a place.
    pub fn exchange(&self, index: usize) -> Option<Exchange<'_>> {
        let called = self.event(index)?;
        let (action, begins) = called.kind().action().filter(|(action, _)| *action != Action::Tool)?;
        let returned = called.partner().and_then(|partner| self.event(partner));
        begins.then(|| Exchange::new(action, called, returned))
    }

    /// Tools that were called, and what came of it, in the order of the calls.
    pub fn tool_calls(&self) -> impl Iterator<Item = ToolUse<'_>> {
        self.actions(&[Action::Tool]).map(|(_, called, returned)| ToolUse::new(called, returned))
    }

    /// Counts, models, tokens, time: all of the run is read for it.
    pub fn summary(&self) -> Summary {
        Summary::of(self)
    }
}
