//! A document with its secrets masked, to hand on: the format's `.bundle`, itself an ordinary document.
//!
//! What is a secret, a [`Mask`] decides. The whole of a step's input, output and metadata goes through it, so do the run's
//! environment and runtime versions, and so does every member that the format does not know. Every step is hashed anew: the
//! masked document is the document.

use reenact_json::digest::Hasher;
use reenact_json::{Kind, Limits, Value};

use super::artifact::ReadError;
use super::compose::{self, Composed, list, quoted};
use super::migrate::Removed;
use super::write::{Signing, WriteError, seal};
use super::{HASH_PREFIX, Head, RunView, StepView};

/// What is put in the place of a secret.
pub const MASK: &str = "[REDACTED]";

/// Says what is a secret.
pub trait Mask {
    /// Whether the value under this name is one, whatever it is.
    fn is_secret(&self, name: &str) -> bool;

    /// The text with the secrets in it masked; `None` if there are none. `name` is that of the member whose value it is.
    fn masked(&self, name: Option<&str>, text: &str) -> Option<String>;
}

/// What the bundle says of how it was made.
#[derive(Debug, Clone, Copy)]
pub struct Policy<'a> {
    /// Such as `default`.
    pub profile: &'a str,
    /// The version of its rules.
    pub version: &'a str,
}

/// A bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// Its text.
    pub bytes: Vec<u8>,
    /// How many values were masked, whole or in part.
    pub masked: usize,
    /// What of the source is not in it.
    pub removed: Vec<Removed>,
}

/// Why there is no bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// The source cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// The source has no run with steps.
    #[error("$.payload.run must be a run with its id, timestamp and steps")]
    NoRun,
    /// The bundle cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Makes a bundle of a document, which should have been verified before.
pub fn bundle(
    source: &[u8],
    mask: &dyn Mask,
    policy: &Policy<'_>,
    signing: Option<Signing<'_>>,
) -> Result<Bundle, BundleError> {
    let head = Head::read(source, &Limits::default())?;
    let text = |value: Option<Value<'_>>| Some(value?.string()?.into_owned());
    let (Some(run), Some(id), Some(timestamp)) =
        (head.run, text(head.of_run.id), text(head.of_run.timestamp))
    else {
        return Err(BundleError::NoRun);
    };
    let mut masker = Masker { mask, masked: 0, removed: Vec::new() };
    let run = masker.run(run, &head.of_run)?;
    let mut payload = Composed::new();
    payload.raw("run", &run);
    for (name, value) in head.payload.into_iter().flat_map(|payload| payload.members()) {
        if !name.is_string("run") {
            masker.member(name, value, &mut payload);
        }
    }
    let mut metadata = Composed::new();
    metadata
        .raw("bundle", b"true")
        .text("created_at", &timestamp)
        .text("redaction_policy_version", policy.version)
        .text("redaction_profile", policy.profile)
        .text("run_id", &id)
        .text("source_run_id", &id);
    for (name, _) in head.metadata.into_iter().flat_map(|metadata| metadata.members()) {
        let name = name.string().unwrap_or_default();
        if name != "run_id" && name != "created_at" {
            masker.remove(
                format!("$.metadata.{}", reenact_json::Shown::new(&name)),
                "it is not the bundle's own",
            );
        }
    }
    let version = text(head.version).unwrap_or_else(|| "1.0".into());
    let mut root = Composed::new();
    root.raw("metadata", &metadata.close()).raw("payload", &payload.close()).text("version", &version);
    let document = Value::parse(source, &Limits::default()).map_err(ReadError::from)?;
    for (name, value) in document.members() {
        match name.string().as_deref() {
            Some("metadata" | "payload" | "version" | "checksum") => {}
            Some("signature") => masker.remove("$.signature", "it signs the old document"),
            _ => masker.member(name, value, &mut root),
        }
    }
    let bytes = seal(root, signing)?;
    Ok(Bundle { bytes, masked: masker.masked, removed: masker.removed })
}

struct Masker<'m> {
    mask: &'m dyn Mask,
    masked: usize,
    removed: Vec<Removed>,
}

impl Masker<'_> {
    fn remove(&mut self, path: impl Into<String>, why: &'static str) {
        self.removed.push(Removed { path: path.into(), why });
    }

    fn run(&mut self, run: Value<'_>, of_run: &RunView<'_>) -> Result<Vec<u8>, BundleError> {
        let mut out = Composed::new();
        for (name, value) in run.members() {
            let spelled = name.string().unwrap_or_default();
            match spelled.as_ref() {
                "id" | "timestamp" => {
                    out.member(name, value);
                }
                "environment_fingerprint" => {
                    let mut names = Vec::new();
                    let kept = compose::environment(value, &mut names);
                    for machine in names {
                        let machine = reenact_json::Shown::new(&machine).to_string();
                        let path = format!("$.payload.run.environment_fingerprint.{machine}");
                        self.remove(path, "it says whose machine it was");
                    }
                    let kept = Value::parse(&kept, &Limits::default()).map_err(ReadError::from)?;
                    out.raw(&spelled, &self.value(None, kept));
                }
                "runtime_versions" => {
                    out.raw(&spelled, &self.value(None, value));
                }
                "steps" => {
                    let steps = of_run.steps.filter(|steps| steps.kind() == Kind::Array);
                    let steps = steps.ok_or(BundleError::NoRun)?;
                    let mut texts = Vec::new();
                    for (index, step) in steps.elements().enumerate() {
                        texts.push(self.step(index, step)?);
                    }
                    out.raw("steps", &list(&texts));
                }
                known if RunView::OPTIONAL.iter().any(|(optional, _)| *optional == known) => {
                    self.remove(format!("$.payload.run.{known}"), "it says how the source was captured");
                }
                _ => self.member(name, value, &mut out),
            }
        }
        Ok(out.close())
    }

    fn step(&mut self, index: usize, step: Value<'_>) -> Result<Vec<u8>, BundleError> {
        let view = StepView::of(step);
        let mut part = |value: Option<Value<'_>>, absent: &[u8]| match value {
            Some(value) => self.value(None, value),
            None => absent.to_vec(),
        };
        let (input, output) = (part(view.input, b"null"), part(view.output, b"null"));
        let metadata = part(view.metadata, b"{}");
        let parse = |text| Value::parse(text, &Limits::default()).map_err(ReadError::from);
        let masked = StepView {
            input: Some(parse(&input)?),
            output: Some(parse(&output)?),
            metadata: Some(parse(&metadata)?),
            step_type: view.step_type,
            ..StepView::default()
        };
        let digest = masked.digest(&mut Hasher::new()).map_err(WriteError::from)?;
        let mut out = Composed::new();
        out.raw("hash", &quoted(&format!("{HASH_PREFIX}{digest}")))
            .raw("input", &input)
            .raw("metadata", &metadata)
            .raw("output", &output)
            .raw("timestamp", b"null");
        for (name, value) in step.members() {
            match name.string().unwrap_or_default().as_ref() {
                "hash" | "input" | "metadata" | "output" => {}
                "id" | "type" => {
                    out.member(name, value);
                }
                "timestamp" if value.is_null() => {}
                "timestamp" => {
                    self.remove(format!("$.payload.run.steps[{index}].timestamp"), "no bundle keeps it");
                }
                _ => self.member(name, value, &mut out),
            }
        }
        Ok(out.close())
    }

    /// Writes a member that the format does not know, masked like everything else.
    fn member(&mut self, name: Value<'_>, value: Value<'_>, out: &mut Composed) {
        let spelled = name.string().unwrap_or_default();
        let masked = self.value(Some(&spelled), value);
        out.raw(&spelled, &masked);
    }

    /// A value with its secrets masked, as JSON text. `name` is the one that it stands under.
    fn value(&mut self, name: Option<&str>, value: Value<'_>) -> Vec<u8> {
        if name.is_some_and(|name| self.mask.is_secret(name)) {
            self.masked += 1;
            return quoted(MASK);
        }
        match value.kind() {
            Kind::Object => {
                let mut out = Composed::new();
                for (name, value) in value.members() {
                    self.member(name, value, &mut out);
                }
                out.close()
            }
            Kind::Array => {
                let items: Vec<Vec<u8>> = value.elements().map(|item| self.value(None, item)).collect();
                list(&items)
            }
            Kind::String => {
                let text = value.string().unwrap_or_default();
                match self.mask.masked(name, &text) {
                    Some(masked) => {
                        self.masked += 1;
                        quoted(&masked)
                    }
                    None => value.text().to_vec(),
                }
            }
            _ => value.text().to_vec(),
        }
    }
}
