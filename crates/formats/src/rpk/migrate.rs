//! A document of version 0.9 or 1.x as one of another 1.x.
//!
//! Nothing is lost in silence: members that the format does not know stay where they are, and what has to go is named. Step
//! hashes are computed anew; how many were right before is written into the metadata.

use reenact_json::digest::Hasher;
use reenact_json::{Digest, Kind, Limits, Shown, Value};

use super::artifact::ReadError;
use super::compose::{self, Composed, list, quoted};
use super::structure::prefixed;
use super::survey::survey;
use super::version;
use super::write::{WriteError, seal};
use super::{HASH_PREFIX, Head, StepView};

/// A document in its new version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// Its text.
    pub bytes: Vec<u8>,
    /// The version that it had.
    pub source_version: String,
    /// The version that it has.
    pub target_version: String,
    /// How many step hashes were right.
    pub preserved: usize,
    /// How many were not, or were not there.
    pub recomputed: usize,
    /// What is no longer there, as JSON paths into the source, each with why.
    pub removed: Vec<Removed>,
}

/// Something that is not in the new document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Where it stood.
    pub path: String,
    /// Why it went.
    pub why: &'static str,
}

/// Why a document cannot be migrated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// A version that cannot be migrated.
    #[error("version {} cannot be migrated: only 0.9 and 1.x can", Shown::new(.found))]
    Source {
        /// The version, or what stands in its place.
        found: String,
    },
    /// A version that cannot be migrated to.
    #[error("cannot migrate to version {}: only to 1.x, such as 1.0", Shown::new(.asked))]
    Target {
        /// What was asked for.
        asked: String,
    },
    /// A member without which there is no run.
    #[error("$.{path} must be {wanted}")]
    Shape {
        /// Where.
        path: &'static str,
        /// What belongs there.
        wanted: &'static str,
    },
    /// The source is not what it was when it was written.
    #[error("the source is damaged: checksum is {carried}, recomputed sha256:{computed}")]
    Checksum {
        /// What it carries; safe to print.
        carried: String,
        /// What it should be.
        computed: Digest,
    },
    /// The new document cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Which rules the source was written by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// 0.9: other names for the same members.
    Legacy,
    /// 1.x.
    Current,
}

/// Migrates a document to `target`, a version 1.x.
pub fn migrate(bytes: &[u8], target: &str) -> Result<Migrated, MigrateError> {
    if version::major(target) != Some("1") {
        return Err(MigrateError::Target { asked: target.to_owned() });
    }
    let head = Head::read(bytes, &Limits::default())?;
    let (source, source_version) = source(&head)?;
    let computed = survey(&head, None, |_, _, _| {}).checksum.map_err(WriteError::from)?;
    let carried = head.checksum.and_then(|checksum| checksum.string()).unwrap_or_default();
    if prefixed(&carried, HASH_PREFIX) != Some(computed) {
        return Err(MigrateError::Checksum { carried: Shown::new(&carried).to_string(), computed });
    }
    let mut migration = Migration { source, preserved: 0, recomputed: 0, removed: Vec::new() };
    let payload = migration.payload(&head)?;
    let metadata = migration.metadata(&head, &source_version, target)?;
    let mut root = Composed::new();
    root.raw("metadata", &metadata).raw("payload", &payload).text("version", target);
    let document = Value::parse(bytes, &Limits::default()).map_err(ReadError::from)?;
    for (name, value) in document.members() {
        match name.string().as_deref() {
            Some("metadata" | "payload" | "version" | "checksum") => {}
            Some("signature") => {
                migration.remove("$.signature", "it signs the old document");
            }
            _ => {
                root.member(name, value);
            }
        }
    }
    let bytes = seal(root, None)?;
    let Migration { preserved, recomputed, removed, .. } = migration;
    Ok(Migrated { bytes, source_version, target_version: target.to_owned(), preserved, recomputed, removed })
}

fn source(head: &Head<'_>) -> Result<(Source, String), MigrateError> {
    let text = head.version.and_then(|version| version.string()).unwrap_or_default().into_owned();
    match version::major(&text) {
        Some("1") => Ok((Source::Current, text)),
        _ if text == "0.9" => Ok((Source::Legacy, text)),
        _ if text.is_empty() => Err(MigrateError::Source { found: "(none)".into() }),
        _ => Err(MigrateError::Source { found: text }),
    }
}

struct Migration {
    source: Source,
    preserved: usize,
    recomputed: usize,
    removed: Vec<Removed>,
}

impl Migration {
    fn remove(&mut self, path: impl Into<String>, why: &'static str) {
        self.removed.push(Removed { path: path.into(), why });
    }

    fn metadata(&self, head: &Head<'_>, from: &str, to: &str) -> Result<Vec<u8>, MigrateError> {
        let metadata = object("metadata", head.metadata)?;
        let mut out = Composed::new();
        let ours = |name: &str| {
            name.starts_with("migration_")
                && matches!(
                    &name["migration_".len()..],
                    "source_version"
                        | "target_version"
                        | "status"
                        | "preserved_step_hashes"
                        | "recomputed_step_hashes"
                )
        };
        for (name, value) in metadata.members().filter(|(name, _)| !ours(&name.string().unwrap_or_default()))
        {
            out.member(name, value);
        }
        for (name, of_run) in [("run_id", head.of_run.id), ("created_at", head.of_run.timestamp)] {
            if let (None, Some(value)) = (metadata.member(name), of_run) {
                out.raw(name, value.text());
            }
        }
        out.text("migration_source_version", from)
            .text("migration_target_version", to)
            .text("migration_status", if from == to { "already_current" } else { "migrated" })
            .raw("migration_preserved_step_hashes", self.preserved.to_string().as_bytes())
            .raw("migration_recomputed_step_hashes", self.recomputed.to_string().as_bytes());
        Ok(out.close())
    }

    fn payload(&mut self, head: &Head<'_>) -> Result<Vec<u8>, MigrateError> {
        let payload = object("payload", head.payload)?;
        let run = object("payload.run", head.run)?;
        let run = self.run(run, head)?;
        let mut out = Composed::new();
        out.raw("run", &run);
        for (name, value) in payload.members().filter(|(name, _)| !name.is_string("run")) {
            out.member(name, value);
        }
        Ok(out.close())
    }

    fn run(&mut self, run: Value<'_>, head: &Head<'_>) -> Result<Vec<u8>, MigrateError> {
        let of_run = &head.of_run;
        for (path, value) in [("payload.run.id", of_run.id), ("payload.run.timestamp", of_run.timestamp)] {
            if value.is_none_or(|value| value.kind() != Kind::String) {
                return Err(MigrateError::Shape { path, wanted: "a string" });
            }
        }
        let Some(steps) = of_run.steps.filter(|steps| steps.kind() == Kind::Array) else {
            return Err(MigrateError::Shape { path: "payload.run.steps", wanted: "an array" });
        };
        let renamed = [("env_fingerprint", "environment_fingerprint"), ("runtime", "runtime_versions")];
        let mut out = Composed::new();
        for (old, new) in renamed {
            let (value, name) = self.renamed(run, old, new);
            let text = match value {
                Some(value) if new == "environment_fingerprint" => {
                    let mut names = Vec::new();
                    let text = compose::environment(value, &mut names);
                    for machine in names {
                        let path = format!("$.payload.run.{name}.{}", Shown::new(&machine));
                        self.remove(path, "it says whose machine it was");
                    }
                    text
                }
                Some(value) => value.text().to_vec(),
                None => b"{}".to_vec(),
            };
            out.raw(new, &text);
        }
        let mut texts = Vec::new();
        for step in steps.elements() {
            if step.kind() != Kind::Object {
                let wanted = "an object in each place";
                return Err(MigrateError::Shape { path: "payload.run.steps", wanted });
            }
            texts.push(self.step(step)?);
        }
        out.raw("steps", &list(&texts));
        for (name, value) in run.members() {
            let spelled = name.string().unwrap_or_default();
            let is_written = spelled == "steps" || renamed.iter().any(|(_, new)| spelled == *new);
            let is_renamed =
                renamed.iter().any(|(old, new)| spelled == *old && self.is_renamed(run, old, new));
            if !is_written && !is_renamed {
                out.member(name, value);
            }
        }
        Ok(out.close())
    }

    /// The value that goes under the name `new`, and the name under which it stands.
    fn renamed<'a>(
        &self,
        object: Value<'a>,
        old: &'static str,
        new: &'static str,
    ) -> (Option<Value<'a>>, &'static str) {
        let name = if self.is_renamed(object, old, new) { old } else { new };
        (object.member(name), name)
    }

    /// Whether a member still bears its name of 0.9. Beside one of the new name it is a member like any other.
    fn is_renamed(&self, object: Value<'_>, old: &str, new: &str) -> bool {
        self.source == Source::Legacy && object.member(new).is_none() && object.member(old).is_some()
    }

    fn step(&mut self, step: Value<'_>) -> Result<Vec<u8>, MigrateError> {
        let empty = Value::parse(b"{}", &Limits::default()).map_err(ReadError::from)?;
        let nothing = Value::parse(b"null", &Limits::default()).map_err(ReadError::from)?;
        let renamed = [("request", "input"), ("response", "output"), ("step_hash", "hash")];
        let [input, output, hash] = renamed.map(|(old, new)| self.renamed(step, old, new).0);
        let view = StepView {
            input: Some(input.unwrap_or(nothing)),
            output: Some(output.unwrap_or(nothing)),
            metadata: Some(step.member("metadata").filter(|metadata| !metadata.is_null()).unwrap_or(empty)),
            step_type: step.member("type"),
            timestamp: Some(step.member("timestamp").unwrap_or(nothing)),
            ..StepView::default()
        };
        let digest = view.digest(&mut Hasher::new()).map_err(WriteError::from)?;
        let carried = hash.and_then(|hash| prefixed(&hash.string()?, HASH_PREFIX));
        *(if carried == Some(digest) { &mut self.preserved } else { &mut self.recomputed }) += 1;
        let mut out = Composed::new();
        out.raw("hash", &quoted(&format!("{HASH_PREFIX}{digest}")));
        let parts = [
            ("input", view.input),
            ("output", view.output),
            ("metadata", view.metadata),
            ("timestamp", view.timestamp),
        ];
        for (name, value) in parts {
            out.raw(name, value.map_or(b"null", |value| value.text()));
        }
        for (name, value) in step.members() {
            let spelled = name.string().unwrap_or_default();
            let is_written = spelled == "hash" || parts.iter().any(|(written, _)| spelled == *written);
            let is_renamed =
                renamed.iter().any(|(old, new)| spelled == *old && self.is_renamed(step, old, new));
            if !is_written && !is_renamed {
                out.member(name, value);
            }
        }
        Ok(out.close())
    }
}

fn object<'a>(path: &'static str, value: Option<Value<'a>>) -> Result<Value<'a>, MigrateError> {
    value
        .filter(|value| value.kind() == Kind::Object)
        .ok_or(MigrateError::Shape { path, wanted: "an object" })
}
