//! Writer of documents, to the byte as the format's own programs write them: canonical values, two spaces for each
//! level, one line feed at the end.
//!
//! The canonical form is not idempotent (see [`RpkForm`]), so it is possible to write a document that does not
//! verify. The result is therefore read again, and refused if it does not verify. Start reading at
//! [`RpkDocumentBuilder`].

use reenact_json::canonical::{self, ByteSink};
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, Digest, Limits, Shown, SyntaxError, Value, ValueKind};

use super::artifact::RpkReadError;
use super::canonical::RpkForm;
use super::hash_walk::compute_digests;
use super::object_builder::{RpkObjectBuilder, json_list, json_string};
use super::version::{self, RpkVersionFault};
use super::{
    HASH_PREFIX, HmacKey, RpkHead, RpkStepItem, RpkStepView, RpkStructureFault, SIGNATURE_PREFIX, hmac,
    structure,
};

/// Reason why a document cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RpkWriteError {
    /// A part is not JSON.
    #[error("{what} is not JSON: {error}")]
    Syntax {
        /// Name of the part.
        what: &'static str,
        /// Syntax error.
        error: SyntaxError,
    },
    /// A part must be an object and is not.
    #[error("{what} must be an object")]
    NotAnObject {
        /// Name of the part.
        what: &'static str,
    },
    /// JSON without a canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalFault),
    /// A version that this format does not have.
    #[error(transparent)]
    Version(#[from] RpkVersionFault),
    /// Not of the published shape. Holds the first fault.
    #[error("not of the published shape: {0}")]
    Structure(RpkStructureFault),
    /// The document cannot be read back: the same member is given twice, or it is too deep.
    #[error("the document cannot be read: {0}")]
    Unreadable(#[from] RpkReadError),
    /// A value whose canonical form is not its own canonical form: no reader could confirm the hashes.
    #[error(
        "{} would not verify: a path in it has no stable spelling (such as ./C:/x)", Shown::new(.what)
    )]
    Unstable {
        /// `the document`, `the signature`, or a step.
        what: String,
    },
}

/// Key to sign with, and its name.
#[derive(Debug, Clone, Copy)]
pub struct HmacSigning<'a> {
    /// The shared key.
    pub key: &'a HmacKey,
    /// Name of the key in the document.
    pub key_id: &'a str,
}

/// Step to append. Values are JSON text.
#[derive(Debug, Clone, Copy)]
pub struct NewRpkStep<'a> {
    /// Id of the step, such as `step-000001`.
    pub id: &'a str,
    /// Type of the step, one of [`super::STEP_TYPES`].
    pub step_type: &'a str,
    /// Input of the step: any value.
    pub input: &'a [u8],
    /// Output of the step: any value.
    pub output: &'a [u8],
    /// Metadata of the step: an object.
    pub metadata: &'a [u8],
    /// Time of the step; `None` is written as null.
    pub timestamp: Option<&'a str>,
}

/// Members of a document beside the steps. Values are JSON text.
#[derive(Debug, Clone, Copy)]
pub struct RpkRunHeader<'a> {
    /// Version, such as `1.0`.
    pub version: &'a str,
    /// Id of the run.
    pub id: &'a str,
    /// Beginning of the run.
    pub timestamp: &'a str,
    /// Environment: an object. Names that tell whose machine it was are left out.
    pub environment_fingerprint: &'a [u8],
    /// Versions of runtimes: an object.
    pub runtime_versions: &'a [u8],
    /// Further members of the run, such as `provider`.
    pub extra_members: &'a [(&'a str, &'a [u8])],
    /// Members of the document's metadata beside `run_id` and `created_at`.
    pub metadata: &'a [(&'a str, &'a [u8])],
    /// Time at which the document was made.
    pub created_at: &'a str,
}

/// Builder of a document: collects the steps.
#[derive(Debug, Clone, Default)]
pub struct RpkDocumentBuilder {
    steps: Vec<Vec<u8>>,
}

impl RpkDocumentBuilder {
    /// Begins a document without steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a step; returns its hash.
    ///
    /// # Errors
    ///
    /// [`RpkWriteError`] if a value is not JSON, or has no canonical form.
    pub fn append(&mut self, step: &NewRpkStep<'_>) -> Result<Digest, RpkWriteError> {
        let part = |what, text| parse(what, text);
        let view = RpkStepView {
            input: Some(part("input", step.input)?),
            output: Some(part("output", step.output)?),
            metadata: Some(object("metadata", step.metadata)?),
            ..RpkStepView::default()
        };
        let step_type = json_string(step.step_type);
        let view = RpkStepView { step_type: Some(part("type", &step_type)?), ..view };
        let digest = view.digest(&mut Hasher::new())?;
        let mut text = RpkObjectBuilder::new();
        text.text("hash", &format!("{HASH_PREFIX}{digest}"))
            .text("id", step.id)
            .raw("input", step.input)
            .raw("metadata", step.metadata)
            .raw("output", step.output)
            .raw("timestamp", &step.timestamp.map_or(b"null".to_vec(), json_string))
            .raw("type", &step_type);
        self.steps.push(text.close());
        Ok(digest)
    }

    /// Writes the whole document, and verifies the result.
    ///
    /// # Errors
    ///
    /// [`RpkWriteError`]; [`RpkWriteError::Unstable`] if a path has no stable spelling.
    pub fn finish(
        self,
        run: &RpkRunHeader<'_>,
        signing: Option<HmacSigning<'_>>,
    ) -> Result<Vec<u8>, RpkWriteError> {
        let environment = object("environment_fingerprint", run.environment_fingerprint)?;
        let environment =
            super::object_builder::without_machine_names(environment, |_| false, &mut Vec::new());
        object("runtime_versions", run.runtime_versions)?;
        let mut of_run = RpkObjectBuilder::new();
        of_run
            .raw("environment_fingerprint", &environment)
            .text("id", run.id)
            .raw("runtime_versions", run.runtime_versions)
            .raw("steps", &json_list(&self.steps))
            .text("timestamp", run.timestamp);
        for (name, value) in run.extra_members {
            parse("a member of the run", value)?;
            of_run.raw(name, value);
        }
        let mut metadata = RpkObjectBuilder::new();
        metadata.text("created_at", run.created_at).text("run_id", run.id);
        for (name, value) in run.metadata {
            parse("a member of the metadata", value)?;
            metadata.raw(name, value);
        }
        let mut payload = RpkObjectBuilder::new();
        payload.raw("run", &of_run.close());
        let mut root = RpkObjectBuilder::new();
        root.raw("metadata", &metadata.close()).raw("payload", &payload.close()).text("version", run.version);
        seal_document(root, signing)
    }
}

fn parse<'a>(what: &'static str, text: &'a [u8]) -> Result<Value<'a>, RpkWriteError> {
    Value::parse(text, &Limits::default()).map_err(|error| RpkWriteError::Syntax { what, error })
}

fn object<'a>(what: &'static str, text: &'a [u8]) -> Result<Value<'a>, RpkWriteError> {
    let value = parse(what, text)?;
    if value.kind() == ValueKind::Object { Ok(value) } else { Err(RpkWriteError::NotAnObject { what }) }
}

/// Returns a document with a signature, in place of the one that it has. It is written anew: checksum and spelling are
/// those of this writer, and everything that the checksum covers is the same. Step hashes are not computed anew.
///
/// # Errors
///
/// [`RpkWriteError`] if the document cannot be read, or would not verify.
pub fn sign(document: &[u8], signing: HmacSigning<'_>) -> Result<Vec<u8>, RpkWriteError> {
    let mut root = RpkObjectBuilder::new();
    for (name, value) in object("the document", document)?.members() {
        if !name.is_string("checksum") && !name.is_string("signature") {
            root.member(name, value);
        }
    }
    seal_document(root, Some(signing))
}

/// Adds the checksum, and the signature if a key is given, to a document that has neither; writes it and verifies the
/// result.
pub(super) fn seal_document(
    mut root: RpkObjectBuilder,
    signing: Option<HmacSigning<'_>>,
) -> Result<Vec<u8>, RpkWriteError> {
    let limits = Limits::default();
    let checksum = {
        let unsealed = root.closed_copy();
        let head = RpkHead::read(&unsealed, &limits)?;
        compute_digests(&head, None, |_, _, _| {}).checksum?
    };
    let checksum = format!("{HASH_PREFIX}{checksum}");
    root.text("checksum", &checksum);
    if let Some(HmacSigning { key, key_id }) = signing {
        let unsigned = root.closed_copy();
        let head = RpkHead::read(&unsigned, &limits)?;
        let sums = compute_digests(&head, Some(key), |_, _, _| {});
        sums.checksum?;
        let code = sums.hmac.map_or(String::new(), |code| code.to_string());
        let mut signature = RpkObjectBuilder::new();
        signature
            .text("algorithm", hmac::ALGORITHM)
            .text("key_id", key_id)
            .text("value", &format!("{SIGNATURE_PREFIX}{code}"));
        root.raw("signature", &signature.close());
    }
    let sealed = root.close();
    let value = Value::parse(&sealed, &limits).map_err(RpkReadError::from)?;
    let compact = canonical::to_vec(value, RpkForm)?;
    let mut written = Vec::with_capacity(compact.len() * 3 / 2);
    indent(&compact, &mut written);
    verify_written(&written, signing)?;
    Ok(written)
}

/// Reads the written document as any reader would, and compares all hashes.
fn verify_written(written: &[u8], signing: Option<HmacSigning<'_>>) -> Result<(), RpkWriteError> {
    let head = RpkHead::read(written, &Limits::default())?;
    version::check(head.version)?;
    let mut fault = None;
    let mut note = |found| {
        fault.get_or_insert(found);
    };
    structure::check_head(&head, &mut note);
    let mut unstable = None;
    let sums = compute_digests(&head, signing.map(|signing| signing.key), |index, item, digest| {
        structure::check_step(index, &item, &mut note);
        let RpkStepItem::Step(step) = item else { return };
        let carried =
            step.hash.and_then(|hash| structure::parse_prefixed_digest(&hash.string()?, HASH_PREFIX));
        if carried.is_some() && carried != digest.ok() {
            unstable.get_or_insert(index);
        }
    });
    if let Some(fault) = fault {
        return Err(RpkWriteError::Structure(fault));
    }
    if let Some(index) = unstable {
        return Err(RpkWriteError::Unstable { what: format!("step {index}") });
    }
    let carried =
        |value: Option<Value<'_>>, prefix| structure::parse_prefixed_digest(&value?.string()?, prefix);
    if carried(head.checksum, HASH_PREFIX) != Some(sums.checksum?) {
        return Err(RpkWriteError::Unstable { what: "the document".into() });
    }
    let code = head.signature.and_then(|signature| signature.member("value"));
    if signing.is_some() && carried(code, SIGNATURE_PREFIX) != sums.hmac {
        return Err(RpkWriteError::Unstable { what: "the signature".into() });
    }
    Ok(())
}

/// Writes compact JSON on lines, two spaces for each level, with a line feed at the end.
pub fn indent<S: ByteSink>(compact: &[u8], out: &mut S) {
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

/// Returns the offset behind the string whose opening quote is at `at`.
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
