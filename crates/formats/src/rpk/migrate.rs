//! Migration of a document of version 0.9 or 1.x to another 1.x.
//!
//! Nothing is lost silently: members that the format does not know stay where they are, and removed members are
//! listed. Step hashes are computed anew; the number of those that were right before is written into the metadata.
//! Start reading at [`migrate`].

use reenact_json::digest::Hasher;
use reenact_json::{Digest, Limits, Shown, Value, ValueKind};

use super::artifact::RpkReadError;
use super::hash_walk::compute_digests;
use super::object_builder::{self, RpkObjectBuilder, json_list, json_string};
use super::structure::parse_prefixed_digest;
use super::version;
use super::write::{RpkWriteError, seal_document};
use super::{HASH_PREFIX, RpkHead, RpkStepView};

/// Result of [`migrate`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigratedDocument {
    /// Text of the new document.
    pub bytes: Vec<u8>,
    /// Version of the source.
    pub source_version: String,
    /// Version of the new document.
    pub target_version: String,
    /// Number of step hashes that were right.
    pub preserved_hashes: usize,
    /// Number of step hashes that were wrong or missing.
    pub recomputed_hashes: usize,
    /// Members that are no longer there.
    pub removed: Vec<RemovedMember>,
}

/// Member of the source that is not in the new document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedMember {
    /// JSON path of the member in the source.
    pub path: String,
    /// Reason for the removal.
    pub reason: &'static str,
}

/// Reason why a document cannot be migrated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RpkMigrateError {
    /// The source cannot be read.
    #[error(transparent)]
    Unreadable(#[from] RpkReadError),
    /// A version that cannot be migrated.
    #[error("version {} cannot be migrated: only 0.9 and 1.x can", Shown::new(.found))]
    Source {
        /// Version, or `(none)`.
        found: String,
    },
    /// A version that cannot be migrated to.
    #[error("cannot migrate to version {}: only to 1.x, such as 1.0", Shown::new(.requested))]
    Target {
        /// Version that was asked for.
        requested: String,
    },
    /// A required member of the run is missing or of the wrong kind.
    #[error("$.{path} must be {wanted}")]
    Shape {
        /// JSON path of the member, without `$.`.
        path: &'static str,
        /// Kind that belongs there, in words.
        wanted: &'static str,
    },
    /// The checksum does not match: the source was changed after it was written.
    #[error("the source is damaged: checksum is {carried}, recomputed sha256:{computed}")]
    Checksum {
        /// Checksum that the source carries; safe to print.
        carried: String,
        /// Checksum that it should carry.
        computed: Digest,
    },
    /// The new document cannot be written.
    #[error(transparent)]
    Write(#[from] RpkWriteError),
}

/// Rules by which the source was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceGeneration {
    /// 0.9: other names for the same members.
    Legacy,
    /// 1.x.
    Current,
}

/// Migrates a document to `target`, a version 1.x.
///
/// # Errors
///
/// [`RpkMigrateError`] if either version is not supported, or the source is damaged or has no run.
pub fn migrate(bytes: &[u8], target: &str) -> Result<MigratedDocument, RpkMigrateError> {
    if version::major(target) != Some("1") {
        return Err(RpkMigrateError::Target { requested: target.to_owned() });
    }
    let head = RpkHead::read(bytes, &Limits::default())?;
    let (source, source_version) = source_generation(&head)?;
    let computed = compute_digests(&head, None, |_, _, _| {}).checksum.map_err(RpkWriteError::from)?;
    let carried = head.checksum.and_then(|checksum| checksum.string()).unwrap_or_default();
    if parse_prefixed_digest(&carried, HASH_PREFIX) != Some(computed) {
        return Err(RpkMigrateError::Checksum { carried: Shown::new(&carried).to_string(), computed });
    }
    let mut migration = RpkMigration { source, preserved: 0, recomputed: 0, removed: Vec::new() };
    let payload = migration.payload(&head)?;
    let metadata = migration.metadata(&head, &source_version, target)?;
    let mut root = RpkObjectBuilder::new();
    root.raw("metadata", &metadata).raw("payload", &payload).text("version", target);
    let document = Value::parse(bytes, &Limits::default()).map_err(RpkReadError::from)?;
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
    let bytes = seal_document(root, None)?;
    let RpkMigration { preserved, recomputed, removed, .. } = migration;
    Ok(MigratedDocument {
        bytes,
        source_version,
        target_version: target.to_owned(),
        preserved_hashes: preserved,
        recomputed_hashes: recomputed,
        removed,
    })
}

fn source_generation(head: &RpkHead<'_>) -> Result<(SourceGeneration, String), RpkMigrateError> {
    let text = head.version.and_then(|version| version.string()).unwrap_or_default().into_owned();
    match version::major(&text) {
        Some("1") => Ok((SourceGeneration::Current, text)),
        _ if text == "0.9" => Ok((SourceGeneration::Legacy, text)),
        _ if text.is_empty() => Err(RpkMigrateError::Source { found: "(none)".into() }),
        _ => Err(RpkMigrateError::Source { found: text }),
    }
}

struct RpkMigration {
    source: SourceGeneration,
    preserved: usize,
    recomputed: usize,
    removed: Vec<RemovedMember>,
}

impl RpkMigration {
    fn remove(&mut self, path: impl Into<String>, why: &'static str) {
        self.removed.push(RemovedMember { path: path.into(), reason: why });
    }

    fn metadata(&self, head: &RpkHead<'_>, from: &str, to: &str) -> Result<Vec<u8>, RpkMigrateError> {
        let metadata = object("metadata", head.metadata)?;
        let mut out = RpkObjectBuilder::new();
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
        for (name, of_run) in [("run_id", head.run_members.id), ("created_at", head.run_members.timestamp)] {
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

    fn payload(&mut self, head: &RpkHead<'_>) -> Result<Vec<u8>, RpkMigrateError> {
        let payload = object("payload", head.payload)?;
        let run = object("payload.run", head.run)?;
        let run = self.run(run, head)?;
        let mut out = RpkObjectBuilder::new();
        out.raw("run", &run);
        for (name, value) in payload.members().filter(|(name, _)| !name.is_string("run")) {
            out.member(name, value);
        }
        Ok(out.close())
    }

    fn run(&mut self, run: Value<'_>, head: &RpkHead<'_>) -> Result<Vec<u8>, RpkMigrateError> {
        let of_run = &head.run_members;
        for (path, value) in [("payload.run.id", of_run.id), ("payload.run.timestamp", of_run.timestamp)] {
            if value.is_none_or(|value| value.kind() != ValueKind::String) {
                return Err(RpkMigrateError::Shape { path, wanted: "a string" });
            }
        }
        let Some(steps) = of_run.steps.filter(|steps| steps.kind() == ValueKind::Array) else {
            return Err(RpkMigrateError::Shape { path: "payload.run.steps", wanted: "an array" });
        };
        let renamed = [("env_fingerprint", "environment_fingerprint"), ("runtime", "runtime_versions")];
        let mut out = RpkObjectBuilder::new();
        for (old, new) in renamed {
            let (value, name) = self.member_under_either_name(run, old, new);
            let text = match value {
                Some(value) if new == "environment_fingerprint" => {
                    let mut names = Vec::new();
                    let text = object_builder::without_machine_names(value, |_| false, &mut names);
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
            if step.kind() != ValueKind::Object {
                let wanted = "an object in each place";
                return Err(RpkMigrateError::Shape { path: "payload.run.steps", wanted });
            }
            texts.push(self.step(step)?);
        }
        out.raw("steps", &json_list(&texts));
        for (name, value) in run.members() {
            let spelled = name.string().unwrap_or_default();
            let is_written = spelled == "steps" || renamed.iter().any(|(_, new)| spelled == *new);
            let is_renamed =
                renamed.iter().any(|(old, new)| spelled == *old && self.has_only_old_name(run, old, new));
            if !is_written && !is_renamed {
                out.member(name, value);
            }
        }
        Ok(out.close())
    }

    /// Returns the value that goes under the name `new`, and the name under which it stands.
    fn member_under_either_name<'a>(
        &self,
        object: Value<'a>,
        old: &'static str,
        new: &'static str,
    ) -> (Option<Value<'a>>, &'static str) {
        let name = if self.has_only_old_name(object, old, new) { old } else { new };
        (object.member(name), name)
    }

    /// Returns true if a member still has its name of 0.9. Beside one of the new name, the old name is a member like
    /// any other.
    fn has_only_old_name(&self, object: Value<'_>, old: &str, new: &str) -> bool {
        self.source == SourceGeneration::Legacy
            && object.member(new).is_none()
            && object.member(old).is_some()
    }

    fn step(&mut self, step: Value<'_>) -> Result<Vec<u8>, RpkMigrateError> {
        let empty = Value::parse(b"{}", &Limits::default()).map_err(RpkReadError::from)?;
        let nothing = Value::parse(b"null", &Limits::default()).map_err(RpkReadError::from)?;
        let renamed = [("request", "input"), ("response", "output"), ("step_hash", "hash")];
        let [input, output, hash] = renamed.map(|(old, new)| self.member_under_either_name(step, old, new).0);
        let view = RpkStepView {
            input: Some(input.unwrap_or(nothing)),
            output: Some(output.unwrap_or(nothing)),
            metadata: Some(step.member("metadata").filter(|metadata| !metadata.is_null()).unwrap_or(empty)),
            step_type: step.member("type"),
            timestamp: Some(step.member("timestamp").unwrap_or(nothing)),
            ..RpkStepView::default()
        };
        let digest = view.digest(&mut Hasher::new()).map_err(RpkWriteError::from)?;
        let carried = hash.and_then(|hash| parse_prefixed_digest(&hash.string()?, HASH_PREFIX));
        *(if carried == Some(digest) { &mut self.preserved } else { &mut self.recomputed }) += 1;
        let mut out = RpkObjectBuilder::new();
        out.raw("hash", &json_string(&format!("{HASH_PREFIX}{digest}")));
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
                renamed.iter().any(|(old, new)| spelled == *old && self.has_only_old_name(step, old, new));
            if !is_written && !is_renamed {
                out.member(name, value);
            }
        }
        Ok(out.close())
    }
}

fn object<'a>(path: &'static str, value: Option<Value<'a>>) -> Result<Value<'a>, RpkMigrateError> {
    value
        .filter(|value| value.kind() == ValueKind::Object)
        .ok_or(RpkMigrateError::Shape { path, wanted: "an object" })
}
