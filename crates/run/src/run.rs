//! The run: its identity, times and envelope, and access to its events, exchanges and tool calls.

use std::sync::{Arc, OnceLock};

use reenact_formats::FormatId;
use reenact_formats::rer::time::instant;
use reenact_formats::rer::{Callee, EventType, Role};
use reenact_json::{Digest, Limits, Value};
use reenact_verify::Report;
use reenact_wire::price::PriceTable;

use crate::event::Event;
use crate::event_index::{ByteSpan, EventEntry};
use crate::exchange::Exchange;
use crate::open::{NamedFiles, NotARun};
use crate::reader::{DocumentContext, replay_bundle};
use crate::step_utility::StepUtilities;
use crate::summary::Summary;
use crate::tool::ToolUse;

/// Recorded run of an agent, read from any format. Cheap to clone: all clones share the bytes.
///
/// All texts of a run are the record's own and untrusted, whether or not the record verifies.
#[derive(Debug, Clone)]
pub struct Run {
    inner: Arc<RunInner>,
}

/// Data that all clones of a run share.
#[derive(Debug)]
pub(crate) struct RunInner {
    pub(crate) bytes: Vec<u8>,
    format: String,
    digest: Option<Digest>,
    pub(crate) parts: RunParts,
    /// Utilities of the tool calls, read from the events when the first is asked for.
    step_utilities: OnceLock<StepUtilities>,
}

/// Parts of a run that a format's reader extracts. Spans point into the bytes that were read.
#[derive(Debug, Default)]
pub(crate) struct RunParts {
    /// Run id, empty if the record has none.
    pub(crate) id: String,
    pub(crate) producer: Producer,
    pub(crate) envelope: ByteSpan,
    /// Environment of the run, in a format that keeps it outside of its events.
    pub(crate) environment: ByteSpan,
    /// Start time, in a format that keeps it outside of its events.
    pub(crate) started_at: ByteSpan,
    /// End time, in a format that keeps it outside of its events.
    pub(crate) ended_at: ByteSpan,
    /// Format in whose vocabulary the payloads are written.
    pub(crate) payload_format: FormatId,
    /// True if the record is an RER artifact whose payloads were imported from another format.
    pub(crate) is_imported: bool,
    /// Facts that items leave to the document around them.
    pub(crate) context: DocumentContext,
    /// Files of a bundle, sorted by name.
    pub(crate) files: Vec<(String, ByteSpan)>,
    /// Bytes to append to those that were read: files that the document holds in encoded form. Spans of files
    /// point there.
    pub(crate) appended_bytes: Vec<u8>,
    /// One entry for each event, in order.
    pub(crate) entries: Box<[EventEntry]>,
}

/// Program that wrote the record, as the record names it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Producer {
    /// Name of the program.
    pub name: Option<String>,
    /// Version of the program.
    pub version: Option<String>,
    /// Id of the key that signed the record.
    pub key_id: Option<String>,
}

impl Run {
    /// Makes a run of the parts and the bytes that a reader returned; format and digest come from the report.
    pub(crate) fn new(mut parts: RunParts, mut bytes: Vec<u8>, report: &Report) -> Self {
        bytes.append(&mut parts.appended_bytes);
        let digest = report.run.as_ref().map(|run| run.digest);
        // No report names a format that nothing can be verified of.
        let format = match report.format_id() {
            None if !parts.is_imported => parts.payload_format.name().to_owned(),
            _ => report.format.clone(),
        };
        Self { inner: Arc::new(RunInner::new(parts, bytes, format, digest)) }
    }

    /// Makes a run of one event in RER's vocabulary, whose other events are not there yet; see [`Run::event_of`].
    pub(crate) fn of_event(line: Vec<u8>) -> Self {
        Self { inner: Arc::new(RunInner::new(RunParts::default(), line, String::new(), None)) }
    }

    /// Returns the event of a run that [`Run::of_event`] made, with its index in the whole run.
    pub(crate) fn event_of<'r>(&'r self, index: usize, entry: &'r EventEntry) -> Event<'r> {
        Event::new(&self.inner, index, entry)
    }

    /// Returns the run's own id. Untrusted text, which must never become a path.
    pub fn id(&self) -> &str {
        &self.inner.parts.id
    }

    /// Returns the format that the run was read from, with its version, such as `rer-artifact/0.2`.
    pub fn format(&self) -> &str {
        &self.inner.format
    }

    /// Returns the format in whose vocabulary the payloads are written: the format that the run was read from,
    /// or the one that an RER artifact was imported from.
    pub fn payload_format(&self) -> FormatId {
        self.inner.parts.payload_format
    }

    /// Returns true if the run is an RER artifact that was made from a record of another format.
    pub fn is_imported(&self) -> bool {
        self.inner.parts.is_imported
    }

    /// Returns the bytes that all spans of the run point into: the document, followed by the files of a bundle.
    pub fn bytes(&self) -> &[u8] {
        &self.inner.bytes
    }

    /// Returns the bytes of the document alone: of an RER bundle, the artifact. These are the bytes that were
    /// verified.
    pub fn document(&self) -> &[u8] {
        crate::convert::export::loss_notes::document(self)
    }

    /// Returns the files of a bundle with their names, sorted by name; none for a record that is one document.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.inner.parts.files.iter().map(|(name, span)| (name.as_str(), span.bytes(&self.inner.bytes)))
    }

    /// Returns the content of a file of a bundle.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.inner.file(name)
    }

    /// Returns the same Replay Bundle with its trace, for a bundle that holds only the digest of its trace. The
    /// caller checks that the trace has that digest.
    ///
    /// # Errors
    /// If the run has no manifest, or the manifest is not JSON.
    pub fn with_trace(&self, trace: Vec<u8>) -> Result<Self, NotARun> {
        let mut files: NamedFiles =
            self.files().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect();
        // No member of a bundle has an empty name, so the trace cannot collide with one.
        files.push((String::new(), trace));
        let (parts, bytes) = replay_bundle::read(files, Some(""), &Limits::default())?;
        let (format, digest) = (self.inner.format.clone(), self.inner.digest);
        Ok(Self { inner: Arc::new(RunInner::new(parts, bytes, format, digest)) })
    }

    /// Returns the digest of the signed content, which is the same for every copy of the record; `None` if the
    /// record has none.
    pub fn digest(&self) -> Option<Digest> {
        self.inner.digest
    }

    /// Returns the program that wrote the record.
    pub fn producer(&self) -> &Producer {
        &self.inner.parts.producer
    }

    /// Returns the envelope: the permissions of the run.
    pub fn envelope(&self) -> Option<Value<'_>> {
        self.inner.parts.envelope.value(&self.inner.bytes)
    }

    /// Returns the free-form metadata of the envelope (`envelope.metadata`).
    pub fn metadata(&self) -> Option<Value<'_>> {
        self.envelope()?.member("metadata")
    }

    /// Returns true if the run was recorded with an upstream of this name.
    pub(crate) fn has_upstream(&self, name: &str) -> bool {
        let upstreams = || self.metadata()?.member("reenact")?.member("upstreams")?.member(name);
        upstreams().is_some()
    }

    /// Returns the environment that the run was recorded in, as the record says.
    pub fn environment(&self) -> Option<Value<'_>> {
        let in_document = self.inner.parts.environment.value(&self.inner.bytes);
        in_document.or_else(|| self.started()?.member("environment"))
    }

    /// Returns the payload of the first event that begins a run.
    pub fn started(&self) -> Option<Value<'_>> {
        self.first(EventType::RunStarted)?.payload().value()
    }

    /// Returns the payload of the last event that ends a run.
    pub fn ended(&self) -> Option<Value<'_>> {
        self.last(EventType::RunEnded)?.payload().value()
    }

    /// Returns the start time: that of the document, else of the event that begins the run, else of the first
    /// event.
    pub fn started_at(&self) -> Option<String> {
        let event = || self.first(EventType::RunStarted).or_else(|| self.event(0))?.time();
        self.document_time(self.inner.parts.started_at).or_else(|| event().map(|time| time.into_owned()))
    }

    /// Returns the end time: that of the document, else of the event that ends the run; `None` if there is
    /// neither.
    pub fn ended_at(&self) -> Option<String> {
        let event = || self.last(EventType::RunEnded)?.time();
        self.document_time(self.inner.parts.ended_at).or_else(|| event().map(|time| time.into_owned()))
    }

    /// Returns start and end of the run, in nanoseconds since 1970-01-01; a run without an end ends with its last event. `None` if the
    /// record does not say.
    pub fn time_span(&self) -> Option<(i128, i128)> {
        let end = self.ended_at().or_else(|| Some(self.events().next_back()?.time()?.into_owned()));
        Some((instant(&self.started_at()?)?, instant(&end?)?))
    }

    /// Returns a time that the document holds outside of its events.
    fn document_time(&self, span: ByteSpan) -> Option<String> {
        span.value(&self.inner.bytes)?.string().map(|text| text.into_owned())
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.inner.parts.entries.len()
    }

    /// Returns true if the run has no events.
    pub fn is_empty(&self) -> bool {
        self.inner.parts.entries.is_empty()
    }

    /// Returns the event at an index, from 0.
    pub fn event(&self, index: usize) -> Option<Event<'_>> {
        self.inner.event(index)
    }

    /// Returns all events, in recorded order.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = Event<'_>> {
        (0..self.len()).filter_map(|index| self.event(index))
    }

    /// Returns the first event of a type.
    fn first(&self, kind: EventType) -> Option<Event<'_>> {
        self.events().find(|event| event.kind() == Some(kind))
    }

    /// Returns the last event of a type.
    fn last(&self, kind: EventType) -> Option<Event<'_>> {
        self.events().rfind(|event| event.kind() == Some(kind))
    }

    /// Returns the events that call one of these callees, each with the event that returns from the call.
    fn actions(&self, wanted: &[Callee]) -> impl Iterator<Item = (Callee, Event<'_>, Option<Event<'_>>)> {
        self.events().filter_map(move |event| {
            let Some(Role::Call(callee)) = event.kind().map(EventType::role) else { return None };
            let end = event.partner().and_then(|partner| self.event(partner));
            wanted.contains(&callee).then_some((callee, event, end))
        })
    }

    /// Returns all requests over HTTP with their answers, to models and to anything else, in the order of the
    /// requests.
    pub fn exchanges(&self) -> impl Iterator<Item = Exchange<'_>> {
        self.actions(&[Callee::Model, Callee::Http])
            .map(|(action, called, returned)| Exchange::new(action, called, returned))
    }

    /// Returns the exchange whose request is the event at an index; `None` if that event is no request over
    /// HTTP.
    pub fn exchange(&self, index: usize) -> Option<Exchange<'_>> {
        let called = self.event(index)?;
        let Some(Role::Call(callee @ (Callee::Model | Callee::Http))) = called.kind().map(EventType::role)
        else {
            return None;
        };
        let returned = called.partner().and_then(|partner| self.event(partner));
        Some(Exchange::new(callee, called, returned))
    }

    /// Returns all tool calls with their results, in the order of the calls.
    pub fn tool_calls(&self) -> impl Iterator<Item = ToolUse<'_>> {
        self.actions(&[Callee::Tool]).map(|(_, called, returned)| ToolUse::new(called, returned))
    }

    /// Returns counts, models, tokens, time, and the cost at list prices. Reads the whole run.
    pub fn summary(&self) -> Summary {
        self.summary_at(&PriceTable::list_prices())
    }

    /// Returns the summary with costs at other prices. Reads the whole run.
    pub fn summary_at(&self, prices: &PriceTable) -> Summary {
        Summary::of(self, prices)
    }
}

impl RunInner {
    pub(crate) fn new(parts: RunParts, bytes: Vec<u8>, format: String, digest: Option<Digest>) -> Self {
        Self { bytes, format, digest, parts, step_utilities: OnceLock::new() }
    }

    fn event(&self, index: usize) -> Option<Event<'_>> {
        Some(Event::new(self, index, self.parts.entries.get(index)?))
    }

    /// Returns the utilities that the agent reported of its steps, by the tool calls that they belong to.
    pub(crate) fn step_utilities(&self) -> &StepUtilities {
        let events = || (0..self.parts.entries.len()).filter_map(|index| self.event(index));
        self.step_utilities.get_or_init(|| StepUtilities::of(events()))
    }

    /// Returns the content of a file of a bundle, by binary search.
    pub(crate) fn file(&self, name: &str) -> Option<&[u8]> {
        let files = &self.parts.files;
        let at = files.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        files.get(at).map(|(_, span)| span.bytes(&self.bytes))
    }
}
