//! Writing documents as the format's own programs write them, to the byte: canonical values, two spaces for each level, one line
//! feed at the end.
//!
//! The canonical form is not idempotent (see [`RpkForm`]), so a document can be written that does not verify. What was put
//! together here is read again, and refused if it would not.

use reenact_json::canonical::{self, Sink};
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, Digest, Kind, Limits, Shown, SyntaxError, Value};

use super::artifact::ReadError;
use super::canonical::RpkForm;
use super::compose::{Composed, list, quoted};
use super::survey::survey;
use super::version::{self, VersionFault};
use super::{HASH_PREFIX, Head, HmacKey, Item, SIGNATURE_PREFIX, StepView, StructureFault, hmac, structure};

/// Why something cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A part that is not JSON.
    #[error("{what} is not JSON: {error}")]
    Syntax {
        /// Which part.
        what: &'static str,
        /// Why not.
        error: SyntaxError,
    },
    /// A part that is another kind of value than it must be.
    #[error("{what} must be an object")]
    NotAnObject {
        /// Which part.
        what: &'static str,
    },
    /// JSON without a canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalFault),
    /// A version that this format does not have.
    #[error(transparent)]
    Version(#[from] VersionFault),
    /// Not of the published shape. Holds the first fault.
    #[error("not of the published shape: {0}")]
    Structure(StructureFault),
    /// The same member given twice, or a document too deep.
    #[error("the document cannot be read: {0}")]
    Unreadable(#[from] ReadError),
    /// A value whose canonical form is not its own canonical form: no reader could confirm the hashes.
    #[error(
        "{} would not verify: a path in it has no stable spelling (such as ./C:/x)", Shown::new(.what)
    )]
    Unstable {
        /// The checksum, or a step.
        what: String,
    },
}

/// A key to sign with, and its name.
#[derive(Debug, Clone, Copy)]
pub struct Signing<'a> {
    /// The shared key.
    pub key: &'a HmacKey,
    /// What the record calls it.
    pub key_id: &'a str,
}

/// A step to append. Values are JSON text.
#[derive(Debug, Clone, Copy)]
pub struct NewStep<'a> {
    /// Such as `step-000001`.
    pub id: &'a str,
    /// One of [`super::STEP_TYPES`].
    pub step_type: &'a str,
    /// Any value.
    pub input: &'a [u8],
    /// Any value.
    pub output: &'a [u8],
    /// An object.
    pub metadata: &'a [u8],
    /// When it was; written as null if nobody knows.
    pub timestamp: Option<&'a str>,
}

/// What a document says of its run beside the steps. Values are JSON text.
#[derive(Debug, Clone, Copy)]
pub struct RunHeader<'a> {
    /// Such as `1.0`.
    pub version: &'a str,
    /// The run's id.
    pub id: &'a str,
    /// When it began.
    pub timestamp: &'a str,
    /// An object. Names that say whose machine it was are left out.
    pub environment_fingerprint: &'a [u8],
    /// An object.
    pub runtime_versions: &'a [u8],
    /// Further members of the run, such as `provider`.
    pub more: &'a [(&'a str, &'a [u8])],
    /// Members of the document's metadata beside `run_id` and `created_at`.
    pub metadata: &'a [(&'a str, &'a [u8])],
    /// When the document was made.
    pub created_at: &'a str,
}

/// The steps of a document that is being written.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    steps: Vec<Vec<u8>>,
}

impl Draft {
    /// No step yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a step; returns its hash.
    pub fn append(&mut self, step: &NewStep<'_>) -> Result<Digest, WriteError> {
        let part = |what, text| parse(what, text);
        let view = StepView {
            input: Some(part("input", step.input)?),
            output: Some(part("output", step.output)?),
            metadata: Some(object("metadata", step.metadata)?),
            ..StepView::default()
        };
        let step_type = quoted(step.step_type);
        let view = StepView { step_type: Some(part("type", &step_type)?), ..view };
        let digest = view.digest(&mut Hasher::new())?;
        let mut text = Composed::new();
        text.text("hash", &format!("{HASH_PREFIX}{digest}"))
            .text("id", step.id)
            .raw("input", step.input)
            .raw("metadata", step.metadata)
            .raw("output", step.output)
            .raw("timestamp", &step.timestamp.map_or(b"null".to_vec(), quoted))
            .raw("type", &step_type);
        self.steps.push(text.close());
        Ok(digest)
    }

    /// The whole document.
    pub fn finish(self, run: &RunHeader<'_>, signing: Option<Signing<'_>>) -> Result<Vec<u8>, WriteError> {
        let environment = object("environment_fingerprint", run.environment_fingerprint)?;
        let environment = super::compose::environment(environment, &mut Vec::new());
        object("runtime_versions", run.runtime_versions)?;
        let mut of_run = Composed::new();
        of_run
            .raw("environment_fingerprint", &environment)
            .text("id", run.id)
            .raw("runtime_versions", run.runtime_versions)
            .raw("steps", &list(&self.steps))
            .text("timestamp", run.timestamp);
        for (name, value) in run.more {
            parse("a member of the run", value)?;
            of_run.raw(name, value);
        }
        let mut metadata = Composed::new();
        metadata.text("created_at", run.created_at).text("run_id", run.id);
        for (name, value) in run.metadata {
            parse("a member of the metadata", value)?;
            metadata.raw(name, value);
        }
        let mut payload = Composed::new();
        payload.raw("run", &of_run.close());
        let mut root = Composed::new();
        root.raw("metadata", &metadata.close()).raw("payload", &payload.close()).text("version", run.version);
        seal(root, signing)
    }
}

fn parse<'a>(what: &'static str, text: &'a [u8]) -> Result<Value<'a>, WriteError> {
    Value::parse(text, &Limits::default()).map_err(|error| WriteError::Syntax { what, error })
}

fn object<'a>(what: &'static str, text: &'a [u8]) -> Result<Value<'a>, WriteError> {
    let value = parse(what, text)?;
    if value.kind() == Kind::Object { Ok(value) } else { Err(WriteError::NotAnObject { what }) }
}

/// Puts the checksum, and the signature if one is asked for, on a document that has neither; writes it; reads it again.
pub(super) fn seal(mut root: Composed, signing: Option<Signing<'_>>) -> Result<Vec<u8>, WriteError> {
    let limits = Limits::default();
    let checksum = {
        let unsealed = root.closed();
        let head = Head::read(&unsealed, &limits)?;
        survey(&head, None, |_, _, _| {}).checksum?
    };
    let checksum = format!("{HASH_PREFIX}{checksum}");
    root.text("checksum", &checksum);
    if let Some(Signing { key, key_id }) = signing {
        let unsigned = root.closed();
        let head = Head::read(&unsigned, &limits)?;
        let sums = survey(&head, Some(key), |_, _, _| {});
        sums.checksum?;
        let code = sums.code.map_or(String::new(), |code| code.to_string());
        let mut signature = Composed::new();
        signature
            .text("algorithm", hmac::ALGORITHM)
            .text("key_id", key_id)
            .text("value", &format!("{SIGNATURE_PREFIX}{code}"));
        root.raw("signature", &signature.close());
    }
    let sealed = root.close();
    let value = Value::parse(&sealed, &limits).map_err(ReadError::from)?;
    let compact = canonical::to_vec(value, RpkForm)?;
    let mut written = Vec::with_capacity(compact.len() * 3 / 2);
    indent(&compact, &mut written);
    confirm(&written, signing)?;
    Ok(written)
}

/// Reads what was written as anybody would.
fn confirm(written: &[u8], signing: Option<Signing<'_>>) -> Result<(), WriteError> {
    let head = Head::read(written, &Limits::default())?;
    version::check(head.version)?;
    let mut fault = None;
    let mut note = |found| {
        fault.get_or_insert(found);
    };
    structure::head(&head, &mut note);
    let mut unstable = None;
    let sums = survey(&head, signing.map(|signing| signing.key), |index, item, digest| {
        structure::step(index, &item, &mut note);
        let Item::Step(step) = item else { return };
        let carried = step.hash.and_then(|hash| structure::prefixed(&hash.string()?, HASH_PREFIX));
        if carried.is_some() && carried != digest.ok() {
            unstable.get_or_insert(index);
        }
    });
    if let Some(fault) = fault {
        return Err(WriteError::Structure(fault));
    }
    if let Some(index) = unstable {
        return Err(WriteError::Unstable { what: format!("step {index}") });
    }
    let carried = |value: Option<Value<'_>>, prefix| structure::prefixed(&value?.string()?, prefix);
    if carried(head.checksum, HASH_PREFIX) != Some(sums.checksum?) {
        return Err(WriteError::Unstable { what: "the document".into() });
    }
    let code = head.signature.and_then(|signature| signature.member("value"));
    if signing.is_some() && carried(code, SIGNATURE_PREFIX) != sums.code {
        return Err(WriteError::Unstable { what: "the signature".into() });
    }
    Ok(())
}

/// Sets compact JSON out on lines, two spaces for each level, with a line feed at the end.
pub fn indent<S: Sink>(compact: &[u8], out: &mut S) {
    const SPACES: [u8; 64] = [b' '; 64];
    let line = |depth: usize, out: &mut S| {
        out.put(b"\n");
        let mut left = depth * 2;
        while left > 0 {
            let piece = left.min(SPACES.len());
            out.put(&SPACES[..piece]);
            left -= piece;
        }
    };
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(&byte) = compact.get(at) {
        match byte {
            b'{' | b'[' if matches!(compact.get(at + 1), Some(b'}' | b']')) => {
                out.put(&compact[at..at + 2]);
                at += 1;
            }
            b'{' | b'[' => {
                depth += 1;
                out.put(&[byte]);
                line(depth, out);
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(depth, out);
                out.put(&[byte]);
            }
            b',' => {
                out.put(b",");
                line(depth, out);
            }
            b':' => out.put(b": "),
            b'"' => {
                let end = end_of_string(compact, at);
                out.put(&compact[at..end]);
                at = end - 1;
            }
            other => out.put(&[other]),
        }
        at += 1;
    }
    out.put(b"\n");
}

/// The offset behind the string whose opening quote lies at `at`.
fn end_of_string(text: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(&byte) = text.get(end) {
        match byte {
            b'"' => return end + 1,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_levels() {
        let mut out = Vec::new();
        indent(br#"{"a":[],"b":{"c":[1,{"d:,{":"\"]"}],"e":{}},"f":-1.5e+20}"#, &mut out);
        let expected = "{\n  \"a\": [],\n  \"b\": {\n    \"c\": [\n      1,\n      {\n        \"d:,{\": \"\\\"]\"\n      }\n    \
                        ],\n    \"e\": {}\n  },\n  \"f\": -1.5e+20\n}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
