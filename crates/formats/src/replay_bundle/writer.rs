//! Writing a bundle: the same bytes for the same manifest and files, and nothing that its readers would refuse.
//!
//! The manifest stands first and holds the digests of all that follows, so each file is read twice: once to hash it, once to
//! write it. One that changed in between is refused. No file is opened here, and no clock is read.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use reenact_json::canonical::{Sink, write_string};
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Limits as JsonLimits, SyntaxError, Value};
use reenact_pack::{NameFault, PackError, TarGzWriter, TarStyle, name_fault};

use super::{
    CASSETTES, FILES, LARGEST_MANIFEST, LONGEST_WRITTEN_NAME, MANIFEST, OUTPUTS, VERSION, content_type,
    is_in_layout, limits, manifest_limits,
};

/// Why a bundle was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A name that could not be read back.
    #[error("{name:?} cannot be a name in a bundle: {fault}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        fault: NameFault,
    },
    /// A name outside the three folders.
    #[error("{name:?} is in none of the folders {FILES}, {OUTPUTS}, {CASSETTES}")]
    Folder {
        /// The name.
        name: String,
    },
    /// A name that no plain tar header holds.
    #[error("{name:?} is longer than {LONGEST_WRITTEN_NAME} bytes")]
    LongName {
        /// The name.
        name: String,
    },
    /// Two files of one name.
    #[error("two files are named {name:?}")]
    Repeated {
        /// The name.
        name: String,
    },
    /// The manifest speaks of a file that is not there.
    #[error("{member} names {name:?}, which is not among the files")]
    NotThere {
        /// Which member of the manifest.
        member: &'static str,
        /// The name.
        name: String,
    },
    /// The producer has no version.
    #[error("assay_version is empty")]
    NoVersion,
    /// Nothing of what §4 asks for.
    #[error("a bundle needs a config, a trace or a summary, or the digest of one of the first two")]
    Nothing,
    /// A value of `env` that is not JSON.
    #[error("env: {0}")]
    Env(#[from] SyntaxError),
    /// The manifest would be too large to be read.
    #[error("the manifest has {bytes} bytes, more than {LARGEST_MANIFEST}")]
    LargeManifest {
        /// Its size.
        bytes: usize,
    },
    /// A file whose bytes were other ones when they were read again.
    #[error("{name:?} changed while it was packed")]
    Changed {
        /// The name.
        name: String,
    },
    /// A file could not be read.
    #[error("{name:?} could not be read: {text}")]
    Unreadable {
        /// The name.
        name: String,
        /// What kind of failure.
        kind: io::ErrorKind,
        /// In words.
        text: String,
    },
    /// The archive could not be written.
    #[error(transparent)]
    Pack(#[from] PackError),
}

/// Bytes that can be read from their beginning as often as needed.
pub trait Source {
    /// A reader at their beginning.
    fn open(&self) -> io::Result<Box<dyn Read + '_>>;
}

impl<T: AsRef<[u8]>> Source for T {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(self.as_ref()))
    }
}

/// A file to be packed.
pub struct NewFile<'a> {
    /// Its name inside the bundle.
    pub name: &'a str,
    /// Its bytes.
    pub content: &'a dyn Source,
}

/// How a bundle holds a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Held {
    /// Not at all.
    #[default]
    Not,
    /// By its digest only.
    Digest(Digest),
    /// As the file of this name.
    File(String),
}

/// `outputs`: which files are what came out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outputs {
    /// The run with its results.
    pub run: Option<String>,
    /// The summary: what a reader is shown first.
    pub summary: Option<String>,
    /// JUnit.
    pub junit: Option<String>,
    /// SARIF.
    pub sarif: Option<String>,
}

/// `replay_coverage`: which tests the bundle holds enough for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Those that can be replayed.
    pub complete: Vec<String>,
    /// Those that cannot.
    pub incomplete: Vec<String>,
    /// Why they cannot.
    pub reason: BTreeMap<String, String>,
}

/// `toolchain`, of which each part may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toolchain {
    /// The compiler.
    pub rustc: Option<String>,
    /// The build tool.
    pub cargo: Option<String>,
    /// The digest of its lock file.
    pub cargo_lock_hash: Option<String>,
    /// The machine.
    pub runner: Option<Runner>,
}

/// `toolchain.runner`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runner {
    /// The operating system.
    pub os: Option<String>,
    /// The processor.
    pub arch: Option<String>,
    /// The image that it ran in.
    pub container_image_digest: Option<String>,
    /// Whether it ran unattended.
    pub ci: Option<bool>,
}

/// `seeds`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seeds {
    /// How seeds are used.
    pub seed_version: Option<u32>,
    /// The seed of the order of tests.
    pub order_seed: Option<String>,
    /// The seed of the judge.
    pub judge_seed: Option<String>,
}

/// `scrub_policy`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScrubPolicy {
    /// Whether prompts are in the bundle.
    pub include_prompts: Option<bool>,
    /// Whether cassettes were masked.
    pub scrub_cassettes: Option<bool>,
    /// The name of the policy.
    pub name: Option<String>,
}

/// What a manifest says; `files` is computed. Whatever is `None` is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewManifest {
    /// Who wrote it; must not be empty.
    pub assay_version: String,
    /// When; left out, the same run gives the same bytes.
    pub created_at: Option<String>,
    /// Where the run lay on its producer's disk. We write none: it says whose machine it was.
    pub source_run_path: Option<String>,
    /// How the run was chosen.
    pub selection_method: Option<String>,
    /// The commit.
    pub git_sha: Option<String>,
    /// Whether there were changes beside it.
    pub git_dirty: Option<bool>,
    /// The run of the workflow.
    pub workflow_run_id: Option<String>,
    /// The config.
    pub config: Held,
    /// The policy in force.
    pub policy_digest: Option<Digest>,
    /// What it was compared with.
    pub baseline_digest: Option<Digest>,
    /// The trace.
    pub trace: Held,
    /// What came out.
    pub outputs: Outputs,
    /// What it was built with.
    pub toolchain: Option<Toolchain>,
    /// What chance began with.
    pub seeds: Option<Seeds>,
    /// What can be replayed.
    pub coverage: Option<Coverage>,
    /// What was taken out.
    pub scrub_policy: Option<ScrubPolicy>,
    /// Anything else: each value as JSON text.
    pub env: BTreeMap<String, String>,
}

/// Writes a bundle; gives the sink back. The sink gets small writes: a file wants a `BufWriter`. After an error what it
/// holds is broken and must be thrown away.
pub fn write<W: Write>(manifest: &NewManifest, files: &[NewFile<'_>], sink: W) -> Result<W, WriteError> {
    let mut packed: BTreeMap<&str, Packed<'_>> = BTreeMap::new();
    for file in files {
        check_name(file.name)?;
        let (digest, size) = hashed(file)?;
        let entry = Packed { content: file.content, digest, size };
        if packed.insert(file.name, entry).is_some() {
            return Err(WriteError::Repeated { name: file.name.to_owned() });
        }
    }
    let text = manifest_text(manifest, &packed)?;
    let mut writer = TarGzWriter::new(sink, TarStyle::Gnu, limits())?;
    writer.add(MANIFEST, text.len() as u64, text.as_slice())?;
    for (name, file) in &packed {
        let unreadable = |error: io::Error| unreadable(name, &error);
        let mut content = Hashing { inner: file.content.open().map_err(unreadable)?, hasher: Hasher::new() };
        match writer.add(name, file.size, &mut content) {
            Err(PackError::Disagreement { .. }) => {
                return Err(WriteError::Changed { name: (*name).to_owned() });
            }
            added => added?,
        }
        if content.hasher.finish() != file.digest {
            return Err(WriteError::Changed { name: (*name).to_owned() });
        }
    }
    Ok(writer.finish()?)
}

struct Packed<'a> {
    content: &'a dyn Source,
    digest: Digest,
    size: u64,
}

/// Hashes what is read through it.
struct Hashing<R> {
    inner: R,
    hasher: Hasher,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.hasher.put(out.get(..count).unwrap_or_default());
        Ok(count)
    }
}

fn check_name(name: &str) -> Result<(), WriteError> {
    let own = || name.to_owned();
    if let Some(fault) = name_fault(name) {
        return Err(WriteError::Name { name: own(), fault });
    }
    if !is_in_layout(name) {
        return Err(WriteError::Folder { name: own() });
    }
    if name.len() > LONGEST_WRITTEN_NAME {
        return Err(WriteError::LongName { name: own() });
    }
    Ok(())
}

fn unreadable(name: &str, error: &io::Error) -> WriteError {
    WriteError::Unreadable { name: name.to_owned(), kind: error.kind(), text: error.to_string() }
}

fn hashed(file: &NewFile<'_>) -> Result<(Digest, u64), WriteError> {
    let failed = |error: io::Error| unreadable(file.name, &error);
    let mut content = Hashing { inner: file.content.open().map_err(failed)?, hasher: Hasher::new() };
    let size = io::copy(&mut content, &mut io::sink()).map_err(failed)?;
    Ok((content.hasher.finish(), size))
}

/// The manifest as the real tool spells it: compact, in the order of its fields, not sorted but for maps.
fn manifest_text(new: &NewManifest, files: &BTreeMap<&str, Packed<'_>>) -> Result<Vec<u8>, WriteError> {
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
