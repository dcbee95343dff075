//! Bundles of `.rpk`: a document with its secrets masked, to hand on. A `.bundle` is itself an ordinary document.
//!
//! An [`RpkMask`] decides what a secret is. It is applied to the whole of a step's input, output and metadata, to the
//! run's environment and runtime versions, and to every member that the format does not know. Every step is hashed
//! anew: the masked document is the document. Start reading at [`make_bundle`].

use reenact_json::digest::Hasher;
use reenact_json::{Limits, Value, ValueKind};

use super::artifact::RpkReadError;
use super::migrate::RemovedMember;
use super::object_builder::{self, RpkObjectBuilder, json_list, json_string};
use super::write::{HmacSigning, RpkWriteError, seal_document};
use super::{HASH_PREFIX, RpkHead, RpkRunView, RpkStepView};

/// Text that replaces a secret.
pub const MASK_TEXT: &str = "[REDACTED]";

/// Detector of secrets.
pub trait RpkMask {
    /// Returns true if a value under this name is a secret, whatever the value is.
    fn is_secret(&self, name: &str) -> bool;

    /// Returns the text with its secrets masked; `None` if there are none. `name` is that of the member whose value
    /// the text is.
    fn masked(&self, name: Option<&str>, text: &str) -> Option<String>;

    /// Returns true if a top-level name of the environment, in lower case, tells whose machine it was, beside the names that every
    /// program of the format leaves out.
    fn is_machine_name(&self, _name: &str) -> bool {
        false
    }
}

/// Redaction policy that the bundle's metadata names.
#[derive(Debug, Clone, Copy)]
pub struct RpkMaskPolicy<'a> {
    /// Name of the profile, such as `default`.
    pub profile: &'a str,
    /// Version of the profile's rules.
    pub version: &'a str,
}

/// Result of [`make_bundle`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpkBundle {
    /// Text of the bundle.
    pub bytes: Vec<u8>,
    /// Number of values that were masked, whole or in part.
    pub masked_count: usize,
    /// Members of the source that are not in the bundle.
    pub removed: Vec<RemovedMember>,
}

/// Reason why no bundle was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RpkBundleError {
    /// The source cannot be read.
    #[error(transparent)]
    Unreadable(#[from] RpkReadError),
    /// The source has no run with steps.
    #[error("$.payload.run must be a run with its id, timestamp and steps")]
    NoRun,
    /// The bundle cannot be written.
    #[error(transparent)]
    Write(#[from] RpkWriteError),
}

/// Makes a bundle of a document, which should have been verified before.
///
/// # Errors
///
/// [`RpkBundleError`] if the source has no run, or the bundle would not verify.
pub fn make_bundle(
    source: &[u8],
    mask: &dyn RpkMask,
    policy: &RpkMaskPolicy<'_>,
    signing: Option<HmacSigning<'_>>,
) -> Result<RpkBundle, RpkBundleError> {
    let head = RpkHead::read(source, &Limits::default())?;
    let text = |value: Option<Value<'_>>| Some(value?.string()?.into_owned());
    let (Some(run), Some(id), Some(timestamp)) =
        (head.run, text(head.run_members.id), text(head.run_members.timestamp))
    else {
        return Err(RpkBundleError::NoRun);
    };
    let mut masker = RpkMasker { mask, masked_count: 0, removed: Vec::new() };
    let run = masker.run(run, &head.run_members)?;
    let mut payload = RpkObjectBuilder::new();
    payload.raw("run", &run);
    for (name, value) in head.payload.into_iter().flat_map(|payload| payload.members()) {
        if !name.is_string("run") {
            masker.member(name, value, &mut payload);
        }
    }
    let mut metadata = RpkObjectBuilder::new();
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
    let mut root = RpkObjectBuilder::new();
    root.raw("metadata", &metadata.close()).raw("payload", &payload.close()).text("version", &version);
    let document = Value::parse(source, &Limits::default()).map_err(RpkReadError::from)?;
    for (name, value) in document.members() {
        match name.string().as_deref() {
            Some("metadata" | "payload" | "version" | "checksum") => {}
            Some("signature") => masker.remove("$.signature", "it signs the old document"),
            _ => masker.member(name, value, &mut root),
        }
    }
    let bytes = seal_document(root, signing)?;
    Ok(RpkBundle { bytes, masked_count: masker.masked_count, removed: masker.removed })
}

struct RpkMasker<'m> {
    mask: &'m dyn RpkMask,
    masked_count: usize,
    removed: Vec<RemovedMember>,
}

impl RpkMasker<'_> {
    fn remove(&mut self, path: impl Into<String>, why: &'static str) {
        self.removed.push(RemovedMember { path: path.into(), reason: why });
    }

    fn run(&mut self, run: Value<'_>, of_run: &RpkRunView<'_>) -> Result<Vec<u8>, RpkBundleError> {
        let mut out = RpkObjectBuilder::new();
        for (name, value) in run.members() {
            let spelled = name.string().unwrap_or_default();
            match spelled.as_ref() {
                "id" | "timestamp" => {
                    out.member(name, value);
                }
                "environment_fingerprint" => {
                    let mut names = Vec::new();
                    let is_more = |name: &str| self.mask.is_machine_name(name);
                    let remaining = object_builder::without_machine_names(value, is_more, &mut names);
                    for machine in names {
                        let machine = reenact_json::Shown::new(&machine).to_string();
                        let path = format!("$.payload.run.environment_fingerprint.{machine}");
                        self.remove(path, "it says whose machine it was");
                    }
                    let remaining =
                        Value::parse(&remaining, &Limits::default()).map_err(RpkReadError::from)?;
                    out.raw(&spelled, &self.value(None, remaining));
                }
                "runtime_versions" => {
                    out.raw(&spelled, &self.value(None, value));
                }
                "steps" => {
                    let steps = of_run.steps.filter(|steps| steps.kind() == ValueKind::Array);
                    let steps = steps.ok_or(RpkBundleError::NoRun)?;
                    let mut texts = Vec::new();
                    for (index, step) in steps.elements().enumerate() {
                        texts.push(self.step(index, step)?);
                    }
                    out.raw("steps", &json_list(&texts));
                }
                known if RpkRunView::OPTIONAL.iter().any(|(optional, _)| *optional == known) => {
                    self.remove(format!("$.payload.run.{known}"), "it says how the source was captured");
                }
                _ => self.member(name, value, &mut out),
            }
        }
        Ok(out.close())
    }

    fn step(&mut self, index: usize, step: Value<'_>) -> Result<Vec<u8>, RpkBundleError> {
        let view = RpkStepView::of(step);
        let mut part = |value: Option<Value<'_>>, absent: &[u8]| match value {
            Some(value) => self.value(None, value),
            None => absent.to_vec(),
        };
        let (input, output) = (part(view.input, b"null"), part(view.output, b"null"));
        let metadata = part(view.metadata, b"{}");
        let parse = |text| Value::parse(text, &Limits::default()).map_err(RpkReadError::from);
        let masked = RpkStepView {
            input: Some(parse(&input)?),
            output: Some(parse(&output)?),
            metadata: Some(parse(&metadata)?),
            step_type: view.step_type,
            ..RpkStepView::default()
        };
        let digest = masked.digest(&mut Hasher::new()).map_err(RpkWriteError::from)?;
        let mut out = RpkObjectBuilder::new();
        out.raw("hash", &json_string(&format!("{HASH_PREFIX}{digest}")))
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
    fn member(&mut self, name: Value<'_>, value: Value<'_>, out: &mut RpkObjectBuilder) {
        let spelled = name.string().unwrap_or_default();
        let masked = self.value(Some(&spelled), value);
        out.raw(&spelled, &masked);
    }

    /// Returns a value with its secrets masked, as JSON text. `name` is the member name that the value stands under.
    fn value(&mut self, name: Option<&str>, value: Value<'_>) -> Vec<u8> {
        if name.is_some_and(|name| self.mask.is_secret(name)) {
            self.masked_count += 1;
            return json_string(MASK_TEXT);
        }
        match value.kind() {
            ValueKind::Object => {
                let mut out = RpkObjectBuilder::new();
                for (name, value) in value.members() {
                    self.member(name, value, &mut out);
                }
                out.close()
            }
            ValueKind::Array => {
                let items: Vec<Vec<u8>> = value.elements().map(|item| self.value(None, item)).collect();
                json_list(&items)
            }
            ValueKind::String => {
                let text = value.string().unwrap_or_default();
                match self.mask.masked(name, &text) {
                    Some(masked) => {
                        self.masked_count += 1;
                        json_string(&masked)
                    }
                    None => value.text().to_vec(),
                }
            }
            _ => value.text().to_vec(),
        }
    }
}
