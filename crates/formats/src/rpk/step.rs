//! One step: its members, and its hash.
//!
//! The hash covers the type, the input, the output and the metadata, without volatile members at any depth; not the id, the
//! timestamp and what else a step may hold, which only the checksum covers. The specification's text would drop volatile members
//! from the metadata alone; the programs of the format do it everywhere.

use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, CanonicalForm, Digest, Kind, Value};

use super::canonical::{RpkForm, RpkStepForm};

/// The members of a step as they stand, right or wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct StepView<'a> {
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
pub enum Item<'a> {
    /// An object, with its members as they stand.
    Step(StepView<'a>),
    /// Something that is no step.
    NotAnObject(Kind),
}

impl<'a> StepView<'a> {
    /// The members of an object.
    pub fn of(step: Value<'a>) -> Self {
        let mut view = Self::default();
        for (name, value) in step.members() {
            if let Some((slot, _)) = view.slot(name) {
                *slot = Some(value);
            }
        }
        view
    }

    /// The place of a member, and whether the hash covers it; `None` if the format does not know it.
    pub(super) fn slot(&mut self, name: Value<'_>) -> Option<(&mut Option<Value<'a>>, bool)> {
        name.read_string(|name| {
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

    /// Whether the four members that the hash covers are there, and none needs a stand-in.
    pub(super) fn is_complete(&self) -> bool {
        let is_there = |value: Option<Value<'_>>| value.is_some();
        is_there(self.input)
            && is_there(self.output)
            && is_there(self.step_type)
            && self.metadata.is_some_and(|metadata| !metadata.is_null())
    }

    /// The step's hash, as the programs of the format compute it.
    pub fn digest(&self, hasher: &mut Hasher) -> Result<Digest, CanonicalFault> {
        self.digest_by(RpkStepForm, hasher)
    }

    /// The step's hash, as the specification's text has it: volatile members are dropped from the metadata alone.
    pub fn digest_by_text(&self, hasher: &mut Hasher) -> Result<Digest, CanonicalFault> {
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

/// Writes a member, or what stands for one that is absent.
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

    fn view(text: &str) -> StepView<'_> {
        StepView::of(Value::parse(text.as_bytes(), &Limits::default()).unwrap())
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
        assert_eq!(step.digest_by_text(&mut Hasher::new()), Ok(Digest::of(by_text)));
        assert_eq!(step.digest(&mut Hasher::new()), Ok(Digest::of(by_programs)));
    }
}
