//! The members of a document as they stand, right or wrong, found in one strict scan.

use reenact_json::{Kind, Limits, Scanned, Scanner, SyntaxError, Value};

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

/// The members of an artifact.
#[derive(Debug, Default)]
pub struct Head<'a> {
    /// `version`
    pub version: Option<Value<'a>>,
    /// `metadata`
    pub metadata: Option<Value<'a>>,
    /// `payload`
    pub payload: Option<Value<'a>>,
    /// `checksum`
    pub checksum: Option<Value<'a>>,
    /// `signature`
    pub signature: Option<Value<'a>>,
    /// `payload.run`
    pub run: Option<Value<'a>>,
    /// The members of the run.
    pub of_run: RunView<'a>,
    /// The first member name at the root that the format does not know. No checksum covers such members.
    pub unknown: Option<Value<'a>>,
    pub(super) scanned: Scanned<'a>,
}

/// The members of `payload.run`.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunView<'a> {
    /// `id`
    pub id: Option<Value<'a>>,
    /// `timestamp`
    pub timestamp: Option<Value<'a>>,
    /// `environment_fingerprint`
    pub environment_fingerprint: Option<Value<'a>>,
    /// `runtime_versions`
    pub runtime_versions: Option<Value<'a>>,
    /// `steps`
    pub steps: Option<Value<'a>>,
    /// The optional members, in the order of [`RunView::OPTIONAL`].
    pub optional: [Option<Value<'a>>; 7],
}

impl<'a> RunView<'a> {
    /// The optional members, and the kind of each.
    pub const OPTIONAL: [(&'static str, Kind); 7] = [
        ("source", Kind::String),
        ("provider", Kind::String),
        ("agent", Kind::String),
        ("capture_mode", Kind::String),
        ("listener_session_id", Kind::String),
        ("listener_process", Kind::Object),
        ("listener_bind", Kind::Object),
    ];

    fn slot(&mut self, name: Value<'_>) -> Option<&mut Option<Value<'a>>> {
        if let Some(at) = Self::OPTIONAL.iter().position(|(known, _)| name.is_string(known)) {
            return self.optional.get_mut(at);
        }
        name.read_string(|name| match name {
            b"id" => Some(&mut self.id),
            b"timestamp" => Some(&mut self.timestamp),
            b"environment_fingerprint" => Some(&mut self.environment_fingerprint),
            b"runtime_versions" => Some(&mut self.runtime_versions),
            b"steps" => Some(&mut self.steps),
            _ => None,
        })?
    }
}

impl<'a> Head<'a> {
    /// Reads a text that should be an artifact, to its last byte.
    pub fn read(text: &'a [u8], limits: &Limits) -> Result<Self, ReadError> {
        let mut scanner = Scanner::new(text, limits)?.noting_disorder();
        let kind = scanner.kind()?;
        if kind != Kind::Object {
            // Bad JSON is bad JSON first, whatever it would have been.
            scanner.value()?;
            scanner.finish()?;
            return Err(ReadError::NotAnObject { found: kind.name() });
        }
        let mut head = Self::default();
        let mut root = scanner.enter_object()?;
        while let Some(name) = scanner.next_name(&mut root)? {
            if name.is_string("payload") && scanner.kind()? == Kind::Object {
                head.read_payload(&mut scanner)?;
                continue;
            }
            let value = scanner.value()?;
            head.note(name, value);
        }
        scanner.finish()?;
        head.scanned = scanner.into_scanned();
        Ok(head)
    }

    /// Takes a member of the root.
    fn note(&mut self, name: Value<'a>, value: Value<'a>) {
        let slot = name.read_string(|name| match name {
            b"version" => Some(&mut self.version),
            b"metadata" => Some(&mut self.metadata),
            b"payload" => Some(&mut self.payload),
            b"checksum" => Some(&mut self.checksum),
            b"signature" => Some(&mut self.signature),
            _ => None,
        });
        match slot.flatten() {
            Some(slot) => *slot = Some(value),
            None => {
                self.unknown.get_or_insert(name);
            }
        }
    }

    fn read_payload(&mut self, scanner: &mut Scanner<'a>) -> Result<(), SyntaxError> {
        let mut payload = scanner.enter_object()?;
        while let Some(name) = scanner.next_name(&mut payload)? {
            if !name.is_string("run") {
                scanner.value()?;
            } else if scanner.kind()? != Kind::Object {
                self.run = Some(scanner.value()?);
            } else {
                let mut run = scanner.enter_object()?;
                while let Some(name) = scanner.next_name(&mut run)? {
                    let value = scanner.value()?;
                    if let Some(slot) = self.of_run.slot(name) {
                        *slot = Some(value);
                    }
                }
                self.run = scanner.left(&run);
            }
        }
        self.payload = scanner.left(&payload);
        Ok(())
    }

    /// Whether it says of itself that it is a bundle: its secrets were masked before it was handed on.
    pub fn is_bundle(&self) -> bool {
        let bundle = self.metadata.and_then(|metadata| metadata.member("bundle"));
        bundle.and_then(|bundle| bundle.boolean()) == Some(true)
    }
}
