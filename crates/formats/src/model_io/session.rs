//! A streaming reader of sessions (§3): its interactions one at a time, its other members at the end.
//!
//! A file may hold any number of interactions, whatever the format allows. The reader walks the text once and keeps
//! none.

use reenact_json::scanner::{OpenArray, OpenObject};
use reenact_json::{Limits, Scanner, SyntaxError, Value, ValueKind};

use super::InteractionView;

/// Reason why a text cannot be read as a session at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelIoReadError {
    /// The text is not JSON within the limits.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The text is JSON, but not an object.
    #[error("a session is an object, this is {}", .found.name())]
    NotAnObject {
        /// Kind of the value.
        found: ValueKind,
    },
}

/// Members of a session beside its interactions, as they stand, right or wrong. Members that the format does not know
/// are skipped (§6.2).
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelIoHead<'a> {
    /// `model_io_schema_version`
    pub model_io_schema_version: Option<Value<'a>>,
    /// `adapter_id`
    pub adapter_id: Option<Value<'a>>,
    /// `model_id`
    pub model_id: Option<Value<'a>>,
    /// `mode`
    pub mode: Option<Value<'a>>,
    /// Kind of `interactions`; `None` if there is no such member.
    pub interactions: Option<ValueKind>,
    /// `created_at_utc`, which no hash covers.
    pub created_at_utc: Option<Value<'a>>,
    /// `ended_at_utc`, which no hash covers.
    pub ended_at_utc: Option<Value<'a>>,
    /// `stats`, which no hash covers.
    pub stats: Option<Value<'a>>,
}

impl<'a> ModelIoHead<'a> {
    fn slot(&mut self, name: Value<'_>) -> Option<&mut Option<Value<'a>>> {
        name.with_string_bytes(|name| match name {
            b"model_io_schema_version" => Some(&mut self.model_io_schema_version),
            b"adapter_id" => Some(&mut self.adapter_id),
            b"model_id" => Some(&mut self.model_id),
            b"mode" => Some(&mut self.mode),
            b"created_at_utc" => Some(&mut self.created_at_utc),
            b"ended_at_utc" => Some(&mut self.ended_at_utc),
            b"stats" => Some(&mut self.stats),
            _ => None,
        })?
    }
}

/// Streaming reader of a session's text.
pub struct ModelIoReader<'a> {
    scanner: Scanner<'a>,
    root: OpenObject,
    interactions: Option<OpenArray>,
    at_end: bool,
    head: ModelIoHead<'a>,
}

impl<'a> ModelIoReader<'a> {
    /// Opens a text that should be a session.
    ///
    /// # Errors
    ///
    /// [`ModelIoReadError`] if the text is not JSON, or not an object.
    pub fn open(input: &'a [u8], limits: &Limits) -> Result<Self, ModelIoReadError> {
        let mut scanner = Scanner::new(input, limits)?;
        let found = scanner.kind()?;
        if found != ValueKind::Object {
            // A syntax error anywhere in the text comes before the complaint about its kind.
            scanner.value()?;
            scanner.finish()?;
            return Err(ModelIoReadError::NotAnObject { found });
        }
        let root = scanner.enter_object()?;
        Ok(Self { scanner, root, interactions: None, at_end: false, head: ModelIoHead::default() })
    }

    /// Returns the next element of `interactions`.
    ///
    /// `None` means that the whole text has been read and is valid JSON. Only then does [`ModelIoReader::head`] hold
    /// all members, since they may come in any order.
    ///
    /// # Errors
    ///
    /// [`SyntaxError`] at the first byte that is not JSON within the limits.
    pub fn next_interaction(&mut self) -> Result<Option<InteractionView<'a>>, SyntaxError> {
        while !self.at_end {
            if let Some(array) = &mut self.interactions {
                if self.scanner.next_element(array)? {
                    return InteractionView::read(&mut self.scanner).map(Some);
                }
                self.interactions = None;
            }
            let Some(name) = self.scanner.next_name(&mut self.root)? else {
                self.at_end = true;
                self.scanner.finish()?;
                break;
            };
            if name.is_string("interactions") {
                let kind = self.scanner.kind()?;
                self.head.interactions = Some(kind);
                if kind == ValueKind::Array {
                    self.interactions = Some(self.scanner.enter_array()?);
                    continue;
                }
            }
            let value = self.scanner.value()?;
            if let Some(slot) = self.head.slot(name) {
                *slot = Some(value);
            }
        }
        Ok(None)
    }

    /// Returns the members read so far.
    pub fn head(&self) -> &ModelIoHead<'a> {
        &self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_json::SyntaxFault;

    fn read(text: &str) -> Result<(usize, Option<ValueKind>), ModelIoReadError> {
        let mut reader = ModelIoReader::open(text.as_bytes(), &Limits::default())?;
        let mut count = 0;
        while reader.next_interaction()?.is_some() {
            count += 1;
        }
        Ok((count, reader.head().interactions))
    }

    #[test]
    fn members_stand_in_any_order() {
        let text = r#"{"interactions":[{"i":0},null,7,"x",[],{}],"unknown":[1],"mode":"record"}"#;
        assert_eq!(read(text), Ok((6, Some(ValueKind::Array))));
        let mut reader = ModelIoReader::open(text.as_bytes(), &Limits::default()).unwrap();
        assert!(reader.head().mode.is_none());
        while reader.next_interaction().unwrap().is_some() {}
        assert!(reader.head().mode.is_some_and(|mode| mode.is_string("record")));
        assert!(reader.next_interaction().unwrap().is_none(), "the end stays the end");
    }

    #[test]
    fn what_is_no_session() {
        assert_eq!(read(r#"{"interactions":{}}"#), Ok((0, Some(ValueKind::Object))));
        assert_eq!(read("{}"), Ok((0, None)));
        assert_eq!(read("[]"), Err(ModelIoReadError::NotAnObject { found: ValueKind::Array }));
        let fault = |text: &str| match read(text) {
            Err(ModelIoReadError::Syntax(error)) => Some((error.offset, error.fault)),
            _ => None,
        };
        assert_eq!(fault("[] x"), Some((3, SyntaxFault::TrailingData)));
        assert_eq!(fault("{} x"), Some((3, SyntaxFault::TrailingData)));
        let twice = r#"{"interactions":[],"interactions":[{}]}"#;
        assert_eq!(fault(twice), Some((19, SyntaxFault::DuplicateName { name: "interactions".into() })));
    }
}
