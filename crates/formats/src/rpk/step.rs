//! One step: its members, and its hash.
//!
//! The hash covers the type, the input, the output and the metadata, without volatile members at any depth. It does
//! not cover the id, the timestamp and further members, which only the checksum covers. The specification's text
//! would drop volatile members from the metadata alone; the programs of the format drop them everywhere.

use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, CanonicalForm, Digest, Value, ValueKind};

use super::canonical::{RpkForm, RpkStepForm};

/// Members of a step as they stand, right or wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct RpkStepView<'a> {
    /// `id`
    pub id: Option<Value<'a>>,
    /// `type`
    pub step_type: Option<Value<'a>>,
    /// `input`
    pub input: Option<Value<'a>>,
    /// `output`
    pub output: Option<Value<'a>>,
    /// `metadata`
    pub metadata: Option<Value<'a>>,
    /// `timestamp`
    pub timestamp: Option<Value<'a>>,
    /// `hash`
    pub hash: Option<Value<'a>>,
}

/// One element of `steps`.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::large_enum_variant, reason = "nearly every element is a step")]
pub enum RpkStepItem<'a> {
    /// An object, with its members as they stand.
    Step(RpkStepView<'a>),
    /// Any other kind of value.
    NotAnObject(ValueKind),
}

impl<'a> RpkStepView<'a> {
    /// Picks the members of an object.
    pub fn of(step: Value<'a>) -> Self {
        let mut view = Self::default();
        for (name, value) in step.members() {
            if let Some((slot, _)) = view.slot(name) {
                *slot = Some(value);
            }
        }
        view
    }

    /// Returns the slot of a member, and true if the hash covers it; `None` if the format does not know the name.
    pub(super) fn slot(&mut self, name: Value<'_>) -> Option<(&mut Option<Value<'a>>, bool)> {
        name.with_string_bytes(|name| {
            Some(match name {
                b"id" => (&mut self.id, false),
                b"type" => (&mut self.step_type, true),
                b"input" => (&mut self.input, true),
                b"output" => (&mut self.output, true),
                b"metadata" => (&mut self.metadata, true),
                b"timestamp" => (&mut self.timestamp, false),
                b"hash" => (&mut self.hash, false),
                _ => return None,
            })
        })?
    }

    /// Returns true if the four members that the hash covers are present, so that none needs a default.
    pub(super) fn is_complete(&self) -> bool {
        let is_there = |value: Option<Value<'_>>| value.is_some();
        is_there(self.input)
            && is_there(self.output)
            && is_there(self.step_type)
            && self.metadata.is_some_and(|metadata| !metadata.is_null())
    }

    /// Returns the step's hash, as the programs of the format compute it.
    ///
    /// # Errors
    ///
    /// [`CanonicalFault`] if a covered value has no canonical form.
    pub fn digest(&self, hasher: &mut Hasher) -> Result<Digest, CanonicalFault> {
        self.digest_by(RpkStepForm, hasher)
    }

    /// Returns the step's hash by the specification's text: volatile members are dropped from the metadata alone.
    ///
    /// # Errors
    ///
    /// [`CanonicalFault`] if a covered value has no canonical form.
    pub fn digest_by_specification(&self, hasher: &mut Hasher) -> Result<Digest, CanonicalFault> {
        self.digest_by(RpkForm, hasher)
    }

    fn digest_by(&self, of_data: impl CanonicalForm, hasher: &mut Hasher) -> Result<Digest, CanonicalFault> {
        hasher.clear();
        let metadata = self.metadata.filter(|metadata| !metadata.is_null());
        let written = write_member(b"{\"input\":", self.input, of_data, b"null", hasher)
            .and_then(|()| write_member(b",\"metadata\":", metadata, RpkStepForm, b"{}", hasher))
            .and_then(|()| write_member(b",\"output\":", self.output, of_data, b"null", hasher))
            .and_then(|()| write_member(b",\"type\":", self.step_type, RpkStepForm, b"null", hasher));
        hasher.put(b"}");
        let digest = hasher.finish();
        written.map(|()| digest)
    }
}

/// Writes a member, or `absent` if there is none.
fn write_member(
    name: &[u8],
    value: Option<Value<'_>>,
    form: impl CanonicalForm,
    absent: &[u8],
    hasher: &mut Hasher,
) -> Result<(), CanonicalFault> {
    hasher.put(name);
    match value {
        Some(value) => form.write(value, hasher),
        None => {
            hasher.put(absent);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_json::Limits;

    fn view(text: &str) -> RpkStepView<'_> {
        RpkStepView::of(Value::parse(text.as_bytes(), &Limits::default()).unwrap())
    }

    #[test]
    fn an_empty_step() {
        let expected = "c541a9ca442337d90887ddab05bf18ee7ccabbf44a0ebe6ca95942a651962796";
        for text in [
            r#"{"type":"output.final","input":{},"output":{},"metadata":{}}"#,
            r#"{"type":"output.final","input":{},"output":{},"metadata":null,"id":"x","timestamp":1}"#,
            r#"{"type":"output.final","input":{"pid":7},"output":{"Trace_ID":[]},"hash":"y"}"#,
        ] {
            assert_eq!(view(text).digest(&mut Hasher::new()).unwrap().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn absent_input_is_null() {
        let a = view(r#"{"type":"error.event","metadata":{}}"#);
        let b = view(r#"{"type":"error.event","metadata":{},"input":null,"output":null}"#);
        assert_eq!(a.digest(&mut Hasher::new()), b.digest(&mut Hasher::new()));
    }

    #[test]
    fn the_text_of_the_specification_keeps_volatile_inputs() {
        let step = view(r#"{"type":"t","input":{"pid":1},"output":{},"metadata":{"pid":1}}"#);
        let by_text = br#"{"input":{"pid":1},"metadata":{},"output":{},"type":"t"}"#;
        let by_programs = br#"{"input":{},"metadata":{},"output":{},"type":"t"}"#;
        assert_eq!(step.digest_by_specification(&mut Hasher::new()), Ok(Digest::of(by_text)));
        assert_eq!(step.digest(&mut Hasher::new()), Ok(Digest::of(by_programs)));
    }
}
