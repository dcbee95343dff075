//! A streaming reader of artifacts (§3): their events one at a time, their other members at the end.
//!
//! An artifact may hold hundreds of thousands of events. The reader walks the text once and keeps none of them. Start
//! reading at [`RerArtifactReader::next_event`].

use reenact_json::scanner::{OpenArray, OpenObject};
use reenact_json::{Limits, Scanner, SyntaxError, Value, ValueKind};

use super::{RerEventView, RerVersion};

/// Reason why a text cannot be read as an artifact at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RerReadError {
    /// The text is not JSON within the limits.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The text is JSON, but not an object.
    #[error("an artifact is an object, this is {found}")]
    NotAnObject {
        /// Kind of the value, in words.
        found: &'static str,
    },
}

/// Members of an artifact beside its events, as they stand, right or wrong.
#[derive(Debug, Clone, Default)]
pub struct RerHead<'a> {
    /// `artifact_version`
    pub artifact_version: Option<Value<'a>>,
    /// `run_id`
    pub run_id: Option<Value<'a>>,
    /// `envelope_hash`
    pub envelope_hash: Option<Value<'a>>,
    /// `log_head_hash`
    pub log_head_hash: Option<Value<'a>>,
    /// `manifest_hash`
    pub manifest_hash: Option<Value<'a>>,
    /// `runtime`
    pub runtime: Option<Value<'a>>,
    /// `runtime_signature`
    pub runtime_signature: Option<Value<'a>>,
    /// `envelope`
    pub envelope: Option<Value<'a>>,
    /// The whole artifact, once all of it is read.
    pub document: Option<Value<'a>>,
    /// Kind of `events`; `None` if there is no such member.
    pub events: Option<ValueKind>,
    /// First member name that the format does not know. No hash covers such members.
    pub unknown_member: Option<Value<'a>>,
    /// True if the whole text is canonical. One line feed at its end does not count.
    pub is_canonical: bool,
}

impl<'a> RerHead<'a> {
    /// Returns the version, if it is a known one.
    pub fn version(&self) -> Option<RerVersion> {
        RerVersion::of(self.artifact_version, RerVersion::artifact)
    }

    /// Returns `runtime.key_id`, if it is a string.
    pub fn key_id(&self) -> Option<std::borrow::Cow<'a, str>> {
        self.runtime?.member("key_id")?.string()
    }

    fn slot(&mut self, name: Value<'_>) -> Option<&mut Option<Value<'a>>> {
        name.with_string_bytes(|name| match name {
            b"artifact_version" => Some(&mut self.artifact_version),
            b"run_id" => Some(&mut self.run_id),
            b"envelope_hash" => Some(&mut self.envelope_hash),
            b"log_head_hash" => Some(&mut self.log_head_hash),
            b"manifest_hash" => Some(&mut self.manifest_hash),
            b"runtime" => Some(&mut self.runtime),
            b"runtime_signature" => Some(&mut self.runtime_signature),
            b"envelope" => Some(&mut self.envelope),
            _ => None,
        })?
    }
}

/// One element of `events`.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::large_enum_variant, reason = "nearly every element is an event")]
pub enum RerEventItem<'a> {
    /// An object, with its members as they stand.
    Event(RerEventView<'a>),
    /// Any other kind of value.
    NotAnObject(ValueKind),
}

/// Streaming reader of an artifact's text.
pub struct RerArtifactReader<'a> {
    input: &'a [u8],
    scanner: Scanner<'a>,
    root: OpenObject,
    events: Option<OpenArray>,
    at_end: bool,
    head: RerHead<'a>,
}

impl<'a> RerArtifactReader<'a> {
    /// Opens a text that should be an artifact.
    ///
    /// # Errors
    ///
    /// [`RerReadError`] if the text is not JSON, or not an object.
    pub fn open(input: &'a [u8], limits: &Limits) -> Result<Self, RerReadError> {
        let mut scanner = Scanner::new(input, limits)?;
        let kind = scanner.kind()?;
        if kind != ValueKind::Object {
            // A syntax error anywhere in the text comes before the complaint about its kind.
            scanner.value()?;
            scanner.finish()?;
            return Err(RerReadError::NotAnObject { found: kind.name() });
        }
        let root = scanner.enter_object()?;
        Ok(Self { input, scanner, root, events: None, at_end: false, head: RerHead::default() })
    }

    /// Returns the next element of `events`.
    ///
    /// `None` means that the whole text has been read and is valid JSON. Only then does [`RerArtifactReader::head`]
    /// hold all members, since they may come in any order.
    ///
    /// # Errors
    ///
    /// [`SyntaxError`] at the first byte that is not JSON within the limits.
    pub fn next_event(&mut self) -> Result<Option<RerEventItem<'a>>, SyntaxError> {
        while !self.at_end {
            if let Some(array) = &mut self.events {
                if self.scanner.next_element(array)? {
                    return self.read_event().map(Some);
                }
                self.events = None;
            }
            let Some(name) = self.scanner.next_name(&mut self.root)? else {
                self.finish()?;
                break;
            };
            if name.is_string("events") {
                let kind = self.scanner.kind()?;
                self.head.events = Some(kind);
                if kind == ValueKind::Array {
                    self.events = Some(self.scanner.enter_array()?);
                    continue;
                }
            }
            let value = self.scanner.value()?;
            match self.head.slot(name) {
                Some(slot) => *slot = Some(value),
                None if name.is_string("events") => {}
                None => {
                    self.head.unknown_member.get_or_insert(name);
                }
            }
        }
        Ok(None)
    }

    fn read_event(&mut self) -> Result<RerEventItem<'a>, SyntaxError> {
        match self.scanner.kind()? {
            ValueKind::Object => RerEventView::read(&mut self.scanner).map(RerEventItem::Event),
            other => {
                self.scanner.value()?;
                Ok(RerEventItem::NotAnObject(other))
            }
        }
    }

    fn finish(&mut self) -> Result<(), SyntaxError> {
        self.at_end = true;
        let rest = self.input.get(self.scanner.offset()..).unwrap_or_default();
        self.head.document = self.scanner.finished_object(&self.root);
        self.head.is_canonical = self.scanner.is_canonical() && matches!(rest, b"" | b"\n");
        self.scanner.finish()
    }

    /// Returns the members read so far.
    pub fn head(&self) -> &RerHead<'a> {
        &self.head
    }

    /// Returns the number of bytes read so far.
    pub fn offset(&self) -> usize {
        self.scanner.offset()
    }

    /// Returns the members; to be called when all is read.
    pub fn into_head(self) -> RerHead<'a> {
        self.head
    }
}
