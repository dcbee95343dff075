//! Who ran, when, under which permissions, and what happened.

use std::sync::Arc;

use reenact_formats::FormatId;
use reenact_formats::rer::{Callee, EventType, Role};
use reenact_json::{Digest, Limits, Value};
use reenact_verify::Report;
use reenact_wire::price::PriceTable;

use crate::event::Event;
use crate::event_index::{ByteSpan, EventEntry};
use crate::exchange::Exchange;
use crate::open::{NamedFiles, NotARun};
use crate::reader::{DocumentContext, replay_bundle};
use crate::summary::Summary;
use crate::tool::ToolUse;

/// A run. Cheap to clone: the bytes are shared.
#[derive(Debug, Clone)]
pub struct Run {
    inner: Arc<RunInner>,
}

/// What all handles of a run share.
#[derive(Debug)]
pub(crate) struct RunInner {
    pub(crate) bytes: Vec<u8>,
    format: String,
    digest: Option<Digest>,
    pub(crate) parts: RunParts,
}

/// What a format's reader finds.
#[derive(Debug, Default)]
pub(crate) struct RunParts {
    pub(crate) id: String,
    pub(crate) producer: Producer,
    pub(crate) envelope: ByteSpan,
    /// Where it ran, in a format that keeps this beside its events.
    pub(crate) environment: ByteSpan,
    /// When it began and ended, in a format that keeps this beside its events.
    pub(crate) started_at: ByteSpan,
    pub(crate) ended_at: ByteSpan,
    pub(crate) payload_format: FormatId,
    /// Whether the payloads came from another format.
    pub(crate) is_imported: bool,
    /// What the items of a format leave to the document around them.
    pub(crate) context: DocumentContext,
    /// The files of a bundle, by name.
    pub(crate) files: Vec<(String, ByteSpan)>,
    /// What is to lie behind the bytes that were read: files that these hold in another form.
    pub(crate) appended_bytes: Vec<u8>,
    pub(crate) entries: Box<[EventEntry]>,
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
    pub(crate) fn new(mut parts: RunParts, mut bytes: Vec<u8>, report: &Report) -> Self {
        bytes.append(&mut parts.appended_bytes);
        let digest = report.run.as_ref().map(|run| run.digest);
        Self { inner: Arc::new(RunInner { bytes, format: report.format.clone(), digest, parts }) }
    }

    /// The run's own id: untrusted text, never to be made a path.
    pub fn id(&self) -> &str {
        &self.inner.parts.id
    }

    /// The format that it was read from, with its version.
    pub fn format(&self) -> &str {
        &self.inner.format
    }

    /// Whose words its payloads are in: those of the format that it was read from, or imported from.
    pub fn payload_format(&self) -> FormatId {
        self.inner.parts.payload_format
    }

    /// Whether it is an RER artifact that was made from a record of another format.
    pub fn is_imported(&self) -> bool {
        self.inner.parts.is_imported
    }

    /// The bytes that it was read from: of a bundle, those of its files, one after the other.
    pub fn bytes(&self) -> &[u8] {
        &self.inner.bytes
    }

    /// The bytes of its document alone: of an RER bundle, the artifact. They are those that were judged.
    pub fn document(&self) -> &[u8] {
        crate::convert::export::loss_notes::document(self)
    }

    /// The files of a bundle, in the order of their names; none of a record that is one document.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.inner.parts.files.iter().map(|(name, span)| (name.as_str(), span.bytes(&self.inner.bytes)))
    }

    /// The file of that name.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.inner.file(name)
    }

    /// The same Replay Bundle with the trace that it holds only the digest of. Whether it is that trace, is for whoever gives it to
    /// check.
    pub fn with_trace(&self, trace: Vec<u8>) -> Result<Self, NotARun> {
        let mut files: NamedFiles =
            self.files().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect();
        // No member of a bundle has an empty name.
        files.push((String::new(), trace));
        let (parts, bytes) = replay_bundle::read(files, Some(""), &Limits::default())?;
        let (format, digest) = (self.inner.format.clone(), self.inner.digest);
        Ok(Self { inner: Arc::new(RunInner { bytes, format, digest, parts }) })
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

    /// Where it ran, as the record says.
    pub fn environment(&self) -> Option<Value<'_>> {
        let in_document = self.inner.parts.environment.value(&self.inner.bytes);
        in_document.or_else(|| self.started()?.member("environment"))
    }

    /// The payload of the event that began the run.
    pub fn started(&self) -> Option<Value<'_>> {
        self.first(EventType::RunStarted)?.payload().value()
    }

    /// The payload of the event that ended the run.
    pub fn ended(&self) -> Option<Value<'_>> {
        self.last(EventType::RunEnded)?.payload().value()
    }

    /// When it began, by the event that says so, or else by the first one.
    pub fn started_at(&self) -> Option<String> {
        let event = || self.first(EventType::RunStarted).or_else(|| self.event(0))?.time();
        self.document_time(self.inner.parts.started_at).or_else(|| event().map(|time| time.into_owned()))
    }

    /// When it ended, by the event that says so; `None` if none does.
    pub fn ended_at(&self) -> Option<String> {
        let event = || self.last(EventType::RunEnded)?.time();
        self.document_time(self.inner.parts.ended_at).or_else(|| event().map(|time| time.into_owned()))
    }

    /// A time that stands beside the events.
    fn document_time(&self, span: ByteSpan) -> Option<String> {
        span.value(&self.inner.bytes)?.string().map(|text| text.into_owned())
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.inner.parts.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.inner.parts.entries.is_empty()
    }

    /// The event at a place.
    pub fn event(&self, index: usize) -> Option<Event<'_>> {
        Some(Event::new(&self.inner, index, self.inner.parts.entries.get(index)?))
    }

    /// All events, in order.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = Event<'_>> {
        (0..self.len()).filter_map(|index| self.event(index))
    }

    fn first(&self, kind: EventType) -> Option<Event<'_>> {
        self.events().find(|event| event.kind() == Some(kind))
    }

    fn last(&self, kind: EventType) -> Option<Event<'_>> {
        self.events().rfind(|event| event.kind() == Some(kind))
    }

    /// The events that begin such an action, each with the one that ends it.
    fn actions(&self, wanted: &[Callee]) -> impl Iterator<Item = (Callee, Event<'_>, Option<Event<'_>>)> {
        self.events().filter_map(move |event| {
            let Some(Role::Call(callee)) = event.kind().map(EventType::role) else { return None };
            let end = event.partner().and_then(|partner| self.event(partner));
            wanted.contains(&callee).then_some((callee, event, end))
        })
    }

    /// What was asked over HTTP and what was answered, in the order of the asking.
    pub fn exchanges(&self) -> impl Iterator<Item = Exchange<'_>> {
        self.actions(&[Callee::Model, Callee::Http])
            .map(|(action, called, returned)| Exchange::new(action, called, returned))
    }

    /// The exchange that begins with the event at a place.
    pub fn exchange(&self, index: usize) -> Option<Exchange<'_>> {
        let called = self.event(index)?;
        let Some(Role::Call(callee @ (Callee::Model | Callee::Http))) = called.kind().map(EventType::role)
        else {
            return None;
        };
        let returned = called.partner().and_then(|partner| self.event(partner));
        Some(Exchange::new(callee, called, returned))
    }

    /// Tools that were called, and what came of it, in the order of the calls.
    pub fn tool_calls(&self) -> impl Iterator<Item = ToolUse<'_>> {
        self.actions(&[Callee::Tool]).map(|(_, called, returned)| ToolUse::new(called, returned))
    }

    /// Counts, models, tokens, time, and what it cost at list prices: all of the run is read for it.
    pub fn summary(&self) -> Summary {
        self.summary_at(&PriceTable::list_prices())
    }

    /// The same at other prices.
    pub fn summary_at(&self, prices: &PriceTable) -> Summary {
        Summary::of(self, prices)
    }
}

impl RunInner {
    /// The file of that name in a bundle.
    pub(crate) fn file(&self, name: &str) -> Option<&[u8]> {
        let files = &self.parts.files;
        let at = files.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        files.get(at).map(|(_, span)| span.bytes(&self.bytes))
    }
}
