//! A streaming view of an artifact (§3): its events one at a time, its other members when all is read.
//!
//! An artifact may hold hundreds of thousands of events. The reader walks the text once and keeps none of them.

use reenact_json::scanner::{OpenArray, OpenObject};
use reenact_json::{Kind, Limits, Scanner, SyntaxError, Value};

use super::{EventView, Version};

/// Why a text cannot be read as an artifact at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is not JSON that we read.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// It is JSON, but not an object.
    #[error("an artifact is an object, this is {found}")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
}

/// The members of an artifact beside its events, as they stand, right or wrong.
#[derive(Debug, Clone, Default)]
pub struct Head<'a> {
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
    /// The artifact as a whole, once all of it is read.
    pub document: Option<Value<'a>>,
    /// What `events` is; `None` if there is no such member.
    pub events: Option<Kind>,
    /// The first member name that the format does not know. Such members are covered by no hash.
    pub unknown: Option<Value<'a>>,
    /// Whether the whole text is canonical. One line feed at its end does not count.
    pub is_canonical: bool,
}

impl<'a> Head<'a> {
    /// The version, if it is one that we know.
    pub fn version(&self) -> Option<Version> {
        Version::of(self.artifact_version, Version::artifact)
    }

    /// `runtime.key_id`, if it is a string.
    pub fn key_id(&self) -> Option<std::borrow::Cow<'a, str>> {
        self.runtime?.member("key_id")?.string()
    }

    fn slot(&mut self, name: Value<'_>) -> Option<&mut Option<Value<'a>>> {
        name.read_string(|name| match name {
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
pub enum Item<'a> {
    /// An object, with its members as they stand.
    Event(EventView<'a>),
    /// Something that is no event.
    NotAnObject(Kind),
}

/// Reads an artifact from its text.
pub struct ArtifactReader<'a> {
    input: &'a [u8],
    scanner: Scanner<'a>,
    root: OpenObject,
    events: Option<OpenArray>,
    at_end: bool,
    head: Head<'a>,
}

impl<'a> ArtifactReader<'a> {
    /// Opens a text that should be an artifact.
    pub fn open(input: &'a [u8], limits: &Limits) -> Result<Self, ReadError> {
        let mut scanner = Scanner::new(input, limits)?;
        let kind = scanner.kind()?;
        if kind != Kind::Object {
            // Bad JSON is bad JSON first, whatever it would have been.
            scanner.value()?;
            scanner.finish()?;
            return Err(ReadError::NotAnObject { found: kind.name() });
        }
        let root = scanner.enter_object()?;
        Ok(Self { input, scanner, root, events: None, at_end: false, head: Head::default() })
    }

    /// The next event. `None` when the whole text has been read and found to be good JSON; only then does
    /// [`ArtifactReader::head`] hold all members, since they may stand in any order.
    pub fn next_event(&mut self) -> Result<Option<Item<'a>>, SyntaxError> {
        while !self.at_end {
            if let Some(array) = &mut self.events {
                if self.scanner.next_element(array)? {
                    return self.event().map(Some);
                }
                self.events = None;
            }
            let Some(name) = self.scanner.next_name(&mut self.root)? else {
                self.end()?;
                break;
            };
            if name.is_string("events") {
                let kind = self.scanner.kind()?;
                self.head.events = Some(kind);
                if kind == Kind::Array {
                    self.events = Some(self.scanner.enter_array()?);
                    continue;
                }
            }
            let value = self.scanner.value()?;
            match self.head.slot(name) {
                Some(slot) => *slot = Some(value),
                None if name.is_string("events") => {}
                None => {
                    self.head.unknown.get_or_insert(name);
                }
            }
        }
        Ok(None)
    }

    fn event(&mut self) -> Result<Item<'a>, SyntaxError> {
        match self.scanner.kind()? {
            Kind::Object => EventView::read(&mut self.scanner).map(Item::Event),
            other => {
                self.scanner.value()?;
                Ok(Item::NotAnObject(other))
            }
        }
    }

    fn end(&mut self) -> Result<(), SyntaxError> {
        self.at_end = true;
        let rest = self.input.get(self.scanner.offset()..).unwrap_or_default();
        self.head.document = self.scanner.left(&self.root);
        self.head.is_canonical = self.scanner.is_canonical() && matches!(rest, b"" | b"\n");
        self.scanner.finish()
    }

    /// The members read so far.
    pub fn head(&self) -> &Head<'a> {
        &self.head
    }

    /// How far the text has been read, in bytes.
    pub fn offset(&self) -> usize {
        self.scanner.offset()
    }

    /// The members, when all is read.
    pub fn into_head(self) -> Head<'a> {
        self.head
    }
}
