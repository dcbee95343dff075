//! JSON text of a new bundle's manifest.

use std::collections::BTreeMap;

use reenact_json::writer::ObjectWriter;
use reenact_json::{Digest, Limits, Value};

use super::new_manifest::{BundleOutputs, BundleToolchain, DocumentInclusion, NewManifest, ReplayCoverage};
use super::writer::{HashedFile, ReplayBundleWriteError};
use super::{MAX_MANIFEST_BYTES, VERSION, content_type, manifest_limits};

type ManifestObjectWriter<'o> = ObjectWriter<&'o mut Vec<u8>>;

/// Returns the manifest as the real tool spells it: compact, members in the order of its struct fields, only maps
/// sorted.
///
/// Fails if a named file is not among `files`, or if the bundle would hold nothing to replay (§4).
pub(super) fn manifest_text(
    new: &NewManifest,
    files: &BTreeMap<&str, HashedFile<'_>>,
) -> Result<Vec<u8>, ReplayBundleWriteError> {
    if new.assay_version.is_empty() {
        return Err(ReplayBundleWriteError::NoVersion);
    }
    let there = |member: &'static str, name: &str| match files.get(name) {
        Some(file) => Ok(file.digest),
        None => Err(ReplayBundleWriteError::MissingFile { member, name: name.to_owned() }),
    };
    let (config, _) = resolve_document(&new.config, "config_digest", there)?;
    let (trace, trace_path) = resolve_document(&new.trace, "trace_path", there)?;
    let BundleOutputs { run, summary, junit, sarif } = &new.outputs;
    let outputs = [("run", run), ("summary", summary), ("junit", junit), ("sarif", sarif)];
    for name in outputs.iter().filter_map(|(_, name)| name.as_deref()) {
        there("outputs", name)?;
    }
    if config.is_none() && trace.is_none() && summary.is_none() {
        return Err(ReplayBundleWriteError::NothingToReplay);
    }
    let spelled = |digest: Option<Digest>| digest.map(|digest| format!("sha256:{digest}"));
    let mut text = Vec::new();
    let mut object = ObjectWriter::open(&mut text);
    let root = &mut object;
    root.raw("schema_version", VERSION.to_string().as_bytes());
    optional_string(root, "assay_version", Some(&new.assay_version));
    optional_string(root, "created_at", new.created_at.as_ref());
    optional_string(root, "source_run_path", new.source_run_path.as_ref());
    optional_string(root, "selection_method", new.selection_method.as_ref());
    optional_string(root, "git_sha", new.git_sha.as_ref());
    optional_boolean(root, "git_dirty", new.git_dirty);
    optional_string(root, "workflow_run_id", new.workflow_run_id.as_ref());
    optional_string(root, "config_digest", spelled(config).as_ref());
    optional_string(root, "policy_digest", spelled(new.policy_digest).as_ref());
    optional_string(root, "baseline_digest", spelled(new.baseline_digest).as_ref());
    optional_string(root, "trace_digest", spelled(trace).as_ref());
    optional_string(root, "trace_path", trace_path.as_ref());
    if new.outputs != BundleOutputs::default() {
        root.object("outputs", |object| {
            outputs.iter().for_each(|(name, path)| optional_string(object, name, path.as_ref()))
        });
    }
    if let Some(toolchain) = &new.toolchain {
        root.object("toolchain", |object| write_toolchain(toolchain, object));
    }
    if let Some(seeds) = &new.seeds {
        root.object("seeds", |object| {
            if let Some(version) = seeds.seed_version {
                object.raw("seed_version", version.to_string().as_bytes());
            }
            optional_string(object, "order_seed", seeds.order_seed.as_ref());
            optional_string(object, "judge_seed", seeds.judge_seed.as_ref());
        });
    }
    if let Some(coverage) = &new.coverage {
        root.object("replay_coverage", |object| write_coverage(coverage, object));
    }
    if let Some(policy) = &new.scrub_policy {
        root.object("scrub_policy", |object| {
            optional_boolean(object, "include_prompts", policy.include_prompts);
            optional_boolean(object, "scrub_cassettes", policy.scrub_cassettes);
            optional_string(object, "name", policy.name.as_ref());
        });
    }
    root.object("files", |object| {
        files.iter().for_each(|(name, file)| write_file(name, file.digest, file.size, object))
    });
    if !new.env.is_empty() {
        let limits = Limits { max_depth: manifest_limits().max_depth - 2, ..manifest_limits() };
        new.env.values().try_for_each(|value| Value::parse(value.as_bytes(), &limits).map(drop))?;
        root.object("env", |object| {
            new.env.iter().for_each(|(name, value)| object.raw(name, value.trim_ascii().as_bytes()));
        });
    }
    object.close();
    if text.len() as u64 > MAX_MANIFEST_BYTES {
        return Err(ReplayBundleWriteError::LargeManifest { bytes: text.len() });
    }
    Ok(text)
}

/// Returns the digest of a document and the name of its file, as far as they are included. `there` returns the digest
/// of a packed file.
fn resolve_document(
    document: &DocumentInclusion,
    member: &'static str,
    there: impl Fn(&'static str, &str) -> Result<Digest, ReplayBundleWriteError>,
) -> Result<(Option<Digest>, Option<String>), ReplayBundleWriteError> {
    Ok(match document {
        DocumentInclusion::Absent => (None, None),
        DocumentInclusion::Digest(digest) => (Some(*digest), None),
        DocumentInclusion::File(name) => (Some(there(member, name)?), Some(name.clone())),
    })
}

fn write_toolchain(toolchain: &BundleToolchain, object: &mut ManifestObjectWriter<'_>) {
    optional_string(object, "rustc", toolchain.rustc.as_ref());
    optional_string(object, "cargo", toolchain.cargo.as_ref());
    optional_string(object, "cargo_lock_hash", toolchain.cargo_lock_hash.as_ref());
    if let Some(runner) = &toolchain.runner {
        object.object("runner", |object| {
            optional_string(object, "os", runner.os.as_ref());
            optional_string(object, "arch", runner.arch.as_ref());
            optional_string(object, "container_image_digest", runner.container_image_digest.as_ref());
            optional_boolean(object, "ci", runner.ci);
        });
    }
    optional_string(object, "recorder", toolchain.recorder.as_ref());
    optional_string(object, "agent", toolchain.agent.as_ref());
}

fn write_coverage(coverage: &ReplayCoverage, object: &mut ManifestObjectWriter<'_>) {
    object.strings("complete_tests", &coverage.complete);
    object.strings("incomplete_tests", &coverage.incomplete);
    if !coverage.reason.is_empty() {
        object.object("reason", |object| {
            coverage.reason.iter().for_each(|(test, why)| optional_string(object, test, Some(why)));
        });
    }
}

/// Returns the `files` member for files whose bytes are known, sorted by name.
pub(super) fn write_file_facts<'f>(files: impl IntoIterator<Item = (&'f str, &'f [u8])>) -> Vec<u8> {
    let mut text = Vec::new();
    let mut object = ObjectWriter::open(&mut text);
    for (name, content) in files {
        write_file(name, Digest::of(content), content.len() as u64, &mut object);
    }
    object.close();
    text
}

fn write_file(name: &str, digest: Digest, size: u64, object: &mut ManifestObjectWriter<'_>) {
    object.object(name, |object| {
        optional_string(object, "sha256", Some(&format!("sha256:{digest}")));
        object.raw("size", size.to_string().as_bytes());
        // Readable by everyone, writable by its owner: the only mode that is written.
        object.raw("mode", 0o644.to_string().as_bytes());
        optional_string(object, "content_type", content_type(name).map(str::to_owned).as_ref());
    });
}

/// Appends a string member if there is one.
fn optional_string(object: &mut ManifestObjectWriter<'_>, name: &str, text: Option<&String>) {
    if let Some(text) = text {
        object.string(name, text);
    }
}

/// Appends a boolean member if there is one.
fn optional_boolean(object: &mut ManifestObjectWriter<'_>, name: &str, value: Option<bool>) {
    if let Some(value) = value {
        object.boolean(name, value);
    }
}
