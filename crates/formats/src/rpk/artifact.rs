//! Members of a document as they stand, right or wrong, found in one strict scan.

use reenact_json::{Limits, ScannedText, Scanner, SyntaxError, Value, ValueKind};

/// Reason why a text cannot be read as an artifact at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RpkReadError {
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

/// Members of an artifact.
#[derive(Debug, Default)]
pub struct RpkHead<'a> {
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
    /// Members of `payload.run`.
    pub run_members: RpkRunView<'a>,
    /// First member name at the root that the format does not know. No checksum covers such members.
    pub unknown_member: Option<Value<'a>>,
    pub(super) scanned: ScannedText<'a>,
}

/// Members of `payload.run`.
#[derive(Debug, Clone, Copy, Default)]
pub struct RpkRunView<'a> {
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
    /// Optional members, in the order of [`RpkRunView::OPTIONAL`].
    pub optional: [Option<Value<'a>>; 7],
}

impl<'a> RpkRunView<'a> {
    /// Names of the optional members, with the kind of each.
    pub const OPTIONAL: [(&'static str, ValueKind); 7] = [
        ("source", ValueKind::String),
        ("provider", ValueKind::String),
        ("agent", ValueKind::String),
        ("capture_mode", ValueKind::String),
        ("listener_session_id", ValueKind::String),
        ("listener_process", ValueKind::Object),
        ("listener_bind", ValueKind::Object),
    ];

    fn slot(&mut self, name: Value<'_>) -> Option<&mut Option<Value<'a>>> {
        if let Some(at) = Self::OPTIONAL.iter().position(|(known, _)| name.is_string(known)) {
            return self.optional.get_mut(at);
        }
        name.with_string_bytes(|name| match name {
            b"id" => Some(&mut self.id),
            b"timestamp" => Some(&mut self.timestamp),
            b"environment_fingerprint" => Some(&mut self.environment_fingerprint),
            b"runtime_versions" => Some(&mut self.runtime_versions),
            b"steps" => Some(&mut self.steps),
            _ => None,
        })?
    }
}

impl<'a> RpkHead<'a> {
    /// Reads a text that should be an artifact, to its last byte.
    ///
    /// # Errors
    ///
    /// [`RpkReadError`] if the text is not JSON, or not an object.
    pub fn read(text: &'a [u8], limits: &Limits) -> Result<Self, RpkReadError> {
        let mut scanner = Scanner::new(text, limits)?.with_code_point_order();
        let kind = scanner.kind()?;
        if kind != ValueKind::Object {
            // A syntax error anywhere in the text comes before the complaint about its kind.
            scanner.value()?;
            scanner.finish()?;
            return Err(RpkReadError::NotAnObject { found: kind.name() });
        }
        let mut head = Self::default();
        let mut root = scanner.enter_object()?;
        while let Some(name) = scanner.next_name(&mut root)? {
            if name.is_string("payload") && scanner.kind()? == ValueKind::Object {
                head.read_payload(&mut scanner)?;
                continue;
            }
            let value = scanner.value()?;
            head.set_root_member(name, value);
        }
        scanner.finish()?;
        head.scanned = scanner.into_scanned();
        Ok(head)
    }

    /// Stores a member of the root.
    fn set_root_member(&mut self, name: Value<'a>, value: Value<'a>) {
        let slot = name.with_string_bytes(|name| match name {
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
                self.unknown_member.get_or_insert(name);
            }
        }
    }

    fn read_payload(&mut self, scanner: &mut Scanner<'a>) -> Result<(), SyntaxError> {
        let mut payload = scanner.enter_object()?;
        while let Some(name) = scanner.next_name(&mut payload)? {
            if !name.is_string("run") {
                scanner.value()?;
            } else if scanner.kind()? != ValueKind::Object {
                self.run = Some(scanner.value()?);
            } else {
                let mut run = scanner.enter_object()?;
                while let Some(name) = scanner.next_name(&mut run)? {
                    let value = scanner.value()?;
                    if let Some(slot) = self.run_members.slot(name) {
                        *slot = Some(value);
                    }
                }
                self.run = scanner.finished_object(&run);
            }
        }
        self.payload = scanner.finished_object(&payload);
        Ok(())
    }

    /// Returns true if the document says of itself that it is a bundle: its secrets were masked before it was handed
    /// on.
    pub fn is_bundle(&self) -> bool {
        let bundle = self.metadata.and_then(|metadata| metadata.member("bundle"));
        bundle.and_then(|bundle| bundle.boolean()) == Some(true)
    }
}
