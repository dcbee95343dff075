//! The manifest of a new bundle as text.

use std::collections::BTreeMap;

use reenact_json::canonical::write_string;
use reenact_json::{Digest, Limits as JsonLimits, Value};

use super::draft::{Coverage, Held, NewManifest, Outputs, Toolchain};
use super::writer::{Packed, WriteError};
use super::{LARGEST_MANIFEST, VERSION, content_type, manifest_limits};

/// The manifest as the real tool spells it: compact, in the order of its fields, not sorted but for maps.
pub(super) fn manifest_text(
    new: &NewManifest,
    files: &BTreeMap<&str, Packed<'_>>,
) -> Result<Vec<u8>, WriteError> {
    if new.assay_version.is_empty() {
        return Err(WriteError::NoVersion);
    }
    let there = |member: &'static str, name: &str| match files.get(name) {
        Some(file) => Ok(file.digest),
        None => Err(WriteError::NotThere { member, name: name.to_owned() }),
    };
    let (config, _) = held(&new.config, "config_digest", there)?;
    let (trace, trace_path) = held(&new.trace, "trace_path", there)?;
    let Outputs { run, summary, junit, sarif } = &new.outputs;
    let outputs = [("run", run), ("summary", summary), ("junit", junit), ("sarif", sarif)];
    for name in outputs.iter().filter_map(|(_, name)| name.as_deref()) {
        there("outputs", name)?;
    }
    if config.is_none() && trace.is_none() && summary.is_none() {
        return Err(WriteError::Nothing);
    }
    let spelled = |digest: Option<Digest>| digest.map(|digest| format!("sha256:{digest}"));
    let mut text = Vec::new();
    let mut root = Writer::open(&mut text);
    root.raw("schema_version", VERSION.to_string().as_bytes());
    root.string("assay_version", Some(&new.assay_version));
    root.string("created_at", new.created_at.as_ref());
    root.string("source_run_path", new.source_run_path.as_ref());
    root.string("selection_method", new.selection_method.as_ref());
    root.string("git_sha", new.git_sha.as_ref());
    root.boolean("git_dirty", new.git_dirty);
    root.string("workflow_run_id", new.workflow_run_id.as_ref());
    root.string("config_digest", spelled(config).as_ref());
    root.string("policy_digest", spelled(new.policy_digest).as_ref());
    root.string("baseline_digest", spelled(new.baseline_digest).as_ref());
    root.string("trace_digest", spelled(trace).as_ref());
    root.string("trace_path", trace_path.as_ref());
    if new.outputs != Outputs::default() {
        root.object("outputs", |object| {
            outputs.iter().for_each(|(name, path)| object.string(name, path.as_ref()))
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
            object.string("order_seed", seeds.order_seed.as_ref());
            object.string("judge_seed", seeds.judge_seed.as_ref());
        });
    }
    if let Some(coverage) = &new.coverage {
        root.object("replay_coverage", |object| write_coverage(coverage, object));
    }
    if let Some(policy) = &new.scrub_policy {
        root.object("scrub_policy", |object| {
            object.boolean("include_prompts", policy.include_prompts);
            object.boolean("scrub_cassettes", policy.scrub_cassettes);
            object.string("name", policy.name.as_ref());
        });
    }
    root.object("files", |object| files.iter().for_each(|(name, file)| write_file(name, file, object)));
    if !new.env.is_empty() {
        let limits = JsonLimits { depth: manifest_limits().depth - 2, ..manifest_limits() };
        new.env.values().try_for_each(|value| Value::parse(value.as_bytes(), &limits).map(drop))?;
        root.object("env", |object| {
            new.env.iter().for_each(|(name, value)| object.raw(name, value.trim_ascii().as_bytes()));
        });
    }
    root.close();
    if text.len() as u64 > LARGEST_MANIFEST {
        return Err(WriteError::LargeManifest { bytes: text.len() });
    }
    Ok(text)
}

/// The digest of a document, and the name of its file.
fn held(
    document: &Held,
    member: &'static str,
    there: impl Fn(&'static str, &str) -> Result<Digest, WriteError>,
) -> Result<(Option<Digest>, Option<String>), WriteError> {
    Ok(match document {
        Held::Not => (None, None),
        Held::Digest(digest) => (Some(*digest), None),
        Held::File(name) => (Some(there(member, name)?), Some(name.clone())),
    })
}

fn write_toolchain(toolchain: &Toolchain, object: &mut Writer<'_>) {
    object.string("rustc", toolchain.rustc.as_ref());
    object.string("cargo", toolchain.cargo.as_ref());
    object.string("cargo_lock_hash", toolchain.cargo_lock_hash.as_ref());
    if let Some(runner) = &toolchain.runner {
        object.object("runner", |object| {
            object.string("os", runner.os.as_ref());
            object.string("arch", runner.arch.as_ref());
            object.string("container_image_digest", runner.container_image_digest.as_ref());
            object.boolean("ci", runner.ci);
        });
    }
}

fn write_coverage(coverage: &Coverage, object: &mut Writer<'_>) {
    object.strings("complete_tests", &coverage.complete);
    object.strings("incomplete_tests", &coverage.incomplete);
    if !coverage.reason.is_empty() {
        object.object("reason", |object| {
            coverage.reason.iter().for_each(|(test, why)| object.string(test, Some(why)));
        });
    }
}

fn write_file(name: &str, file: &Packed<'_>, object: &mut Writer<'_>) {
    object.object(name, |object| {
        object.string("sha256", Some(&format!("sha256:{}", file.digest)));
        object.raw("size", file.size.to_string().as_bytes());
        // Readable by everyone, written by its owner: the only mode that is written.
        object.raw("mode", 0o644.to_string().as_bytes());
        object.string("content_type", content_type(name).map(str::to_owned).as_ref());
    });
}

/// An object in the making. Strings are spelled as RFC 8785 does, which is how the real tool spells them too.
struct Writer<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl<'a> Writer<'a> {
    fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_empty: true }
    }

    fn name(&mut self, name: &str) -> &mut Vec<u8> {
        if !self.is_empty {
            self.out.push(b',');
        }
        self.is_empty = false;
        write_string(name, self.out);
        self.out.push(b':');
        self.out
    }

    fn string(&mut self, name: &str, text: Option<&String>) {
        if let Some(text) = text {
            write_string(text, self.name(name));
        }
    }

    fn boolean(&mut self, name: &str, value: Option<bool>) {
        if let Some(value) = value {
            self.raw(name, if value { b"true" } else { b"false" });
        }
    }

    fn strings(&mut self, name: &str, texts: &[String]) {
        let out = self.name(name);
        out.push(b'[');
        for (at, text) in texts.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            write_string(text, out);
        }
        out.push(b']');
    }

    fn raw(&mut self, name: &str, text: &[u8]) {
        self.name(name).extend_from_slice(text);
    }

    fn object(&mut self, name: &str, fill: impl FnOnce(&mut Writer<'_>)) {
        let mut object = Writer::open(self.name(name));
        fill(&mut object);
        object.close();
    }

    fn close(self) {
        self.out.push(b'}');
    }
}
