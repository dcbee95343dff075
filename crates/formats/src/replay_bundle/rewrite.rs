//! A bundle made of a bundle: its manifest and its files as they are, and what is added to them.
//!
//! A bundle says what its run was. So a document that it holds is never replaced, and one of which it holds only the
//! digest is added only if it has that digest. Members of the manifest that are not known stay where they are.
//! Files outside the three folders are read and never written: they move into one. Start reading at [`rewrite`].

use std::collections::BTreeMap;

use reenact_json::writer::ObjectWriter;
use reenact_json::{Digest, Shown, SyntaxError, Value, ValueKind};

use super::manifest::{OutputsView, SeedsView};
use super::manifest_writer::write_file_facts;
use super::new_manifest::BundleSeeds;
use super::writer::{ReplayBundleWriteError, archive};
use super::{
    FILES_FOLDER, MANIFEST, MAX_WRITTEN_NAME_BYTES, ManifestView, OUTPUTS_FOLDER, is_in_layout,
    manifest_limits, read_digest,
};

/// Document that can be given to a bundle from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BundleDocument {
    /// Configuration of the run.
    Config,
    /// Baseline that the run was compared with.
    Baseline,
    /// Report in JUnit's format.
    Junit,
    /// Report in SARIF.
    Sarif,
}

impl BundleDocument {
    /// Returns the document's name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Baseline => "baseline",
            Self::Junit => "JUnit report",
            Self::Sarif => "SARIF report",
        }
    }
}

/// File that is given to a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedBundleFile {
    /// Document that the file is.
    pub document: BundleDocument,
    /// Name of the file in the bundle.
    pub name: String,
    /// Bytes of the file.
    pub content: Vec<u8>,
}

/// Bundle that was made of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewrittenBundle {
    /// The archive.
    pub bytes: Vec<u8>,
    /// Number of files in it, the manifest not counted.
    pub file_count: usize,
    /// Names of the files that moved into one of the three folders, each with its new name.
    pub moved: Vec<(String, String)>,
}

/// Reason why a bundle was not made of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BundleRewriteError {
    /// The manifest is not JSON.
    #[error("manifest.json: {0}")]
    Manifest(#[from] SyntaxError),
    /// A document is added that the bundle holds already.
    #[error("the bundle holds its {} already, and what a bundle says of its run is not replaced", .document.name())]
    AlreadyThere {
        /// Document that was given.
        document: BundleDocument,
    },
    /// A document is added whose digest is not the one that the bundle names.
    #[error(
        "that is not the {} of this bundle: its digest is sha256:{found}, the bundle names sha256:{named}", .document.name()
    )]
    AnotherDocument {
        /// Document that was given.
        document: BundleDocument,
        /// Digest of the given file.
        found: Digest,
        /// Digest in the manifest.
        named: Digest,
    },
    /// A seed is added that the bundle names already, with another value.
    #[error("the bundle says that its {member} was {}, and what a bundle says of its run is not replaced", Shown::new(.named))]
    AnotherSeed {
        /// Member of `seeds`.
        member: &'static str,
        /// Seed in the manifest.
        named: String,
    },
    /// Two files would have the same name.
    #[error("two files would be named \"{}\"", Shown::new(.name))]
    Collision {
        /// The name.
        name: String,
    },
    /// A file name too long for a plain tar header.
    #[error("\"{}\" is longer than {MAX_WRITTEN_NAME_BYTES} bytes", Shown::new(.name))]
    LongName {
        /// Name of the file.
        name: String,
    },
    /// The archive cannot be packed.
    #[error(transparent)]
    Write(#[from] ReplayBundleWriteError),
}

/// Makes a bundle of the manifest and the files of another, with files and seeds added. The bundle that they come from
/// should have been verified before.
///
/// # Errors
///
/// [`BundleRewriteError`] if an addition contradicts the bundle, or the bundle cannot be packed.
pub fn rewrite<'f>(
    manifest: &[u8],
    files: impl IntoIterator<Item = (&'f str, &'f [u8])>,
    added: &'f [AddedBundleFile],
    seeds: &BundleSeeds,
) -> Result<RewrittenBundle, BundleRewriteError> {
    let document = Value::parse(manifest, &manifest_limits())?;
    let view = ManifestView::of(document);
    let outputs = view.outputs.map(OutputsView::of).unwrap_or_default();
    let mut packed: BTreeMap<String, &[u8]> = BTreeMap::new();
    let mut moved: Vec<(String, String)> = Vec::new();
    for (name, content) in files.into_iter().filter(|(name, _)| *name != MANIFEST) {
        let place = name_in_layout(name, &outputs);
        if place.len() > MAX_WRITTEN_NAME_BYTES {
            return Err(BundleRewriteError::LongName { name: place });
        }
        if place != name {
            moved.push((name.to_owned(), place.clone()));
        }
        if packed.insert(place.clone(), content).is_some() {
            return Err(BundleRewriteError::Collision { name: place });
        }
    }
    let mut change = ManifestChange::default();
    let new_name = |value: Value<'_>| {
        let name = value.string()?;
        moved.iter().find(|(old, _)| *old == name).map(|(_, new)| json_string(new))
    };
    if let Some(path) = view.trace_path.and_then(new_name) {
        change.set("trace_path", path);
    }
    for (member, value) in outputs.named() {
        if let Some(path) = new_name(value) {
            change.set_in("outputs", member, path);
        }
    }
    for file in added {
        let is_packed = |digest: Digest| packed.values().any(|content| Digest::of(content) == digest);
        change.add(file, &view, &outputs, is_packed)?;
        if packed.insert(file.name.clone(), &file.content).is_some() {
            return Err(BundleRewriteError::Collision { name: file.name.clone() });
        }
    }
    change.add_seeds(seeds, view.seeds.map(SeedsView::of).unwrap_or_default())?;
    let facts = write_file_facts(packed.iter().map(|(name, content)| (name.as_str(), *content)));
    change.set("files", facts);
    let manifest = change.applied_to(document);
    let bytes = archive(&manifest, packed.iter().map(|(name, content)| (name.as_str(), *content)))?;
    Ok(RewrittenBundle { bytes, file_count: packed.len(), moved })
}

/// Returns the name under which a file is written: its own if it lies in one of the three folders, else one in
/// `outputs/` for an output and in `files/` for anything else.
fn name_in_layout(name: &str, outputs: &OutputsView<'_>) -> String {
    if is_in_layout(name) {
        return name.to_owned();
    }
    if outputs.named().any(|(_, output)| output.is_string(name)) {
        let base = name.rsplit('/').next().unwrap_or(name);
        return format!("{OUTPUTS_FOLDER}{base}");
    }
    format!("{FILES_FOLDER}{name}")
}

/// Members of a manifest that are set anew, as JSON text.
#[derive(Debug, Default)]
struct ManifestChange {
    /// Members of the root.
    members: BTreeMap<&'static str, Vec<u8>>,
    /// Members of objects in the root, by the name of the object.
    inner: BTreeMap<&'static str, BTreeMap<&'static str, Vec<u8>>>,
}

impl ManifestChange {
    fn set(&mut self, name: &'static str, value: Vec<u8>) {
        self.members.insert(name, value);
    }

    fn set_in(&mut self, object: &'static str, name: &'static str, value: Vec<u8>) {
        self.inner.entry(object).or_default().insert(name, value);
    }

    /// Adds a file. `is_packed` returns true for the digest of a file that the bundle holds.
    fn add(
        &mut self,
        file: &AddedBundleFile,
        view: &ManifestView<'_>,
        outputs: &OutputsView<'_>,
        is_packed: impl Fn(Digest) -> bool,
    ) -> Result<(), BundleRewriteError> {
        let document = file.document;
        let (member, named) = match document {
            BundleDocument::Config => ("config_digest", view.config_digest),
            BundleDocument::Baseline => ("baseline_digest", view.baseline_digest),
            BundleDocument::Junit | BundleDocument::Sarif => {
                let (member, output) = match document {
                    BundleDocument::Junit => ("junit", outputs.junit),
                    _ => ("sarif", outputs.sarif),
                };
                if output.is_some() {
                    return Err(BundleRewriteError::AlreadyThere { document });
                }
                self.set_in("outputs", member, json_string(&file.name));
                return Ok(());
            }
        };
        let found = Digest::of(&file.content);
        match named.and_then(|named| read_digest(&named.string()?)) {
            Some(named) if is_packed(named) => Err(BundleRewriteError::AlreadyThere { document }),
            Some(named) if named != found => {
                Err(BundleRewriteError::AnotherDocument { document, found, named })
            }
            _ => {
                self.set(member, json_string(&format!("sha256:{found}")));
                Ok(())
            }
        }
    }

    /// Adds seeds. One that the bundle names already must be the same.
    fn add_seeds(&mut self, seeds: &BundleSeeds, named: SeedsView<'_>) -> Result<(), BundleRewriteError> {
        let given = [
            ("order_seed", seeds.order_seed.as_ref(), named.order_seed),
            ("judge_seed", seeds.judge_seed.as_ref(), named.judge_seed),
        ];
        for (member, seed, named) in given {
            let Some(seed) = seed else { continue };
            let named = named.map(|named| match named.string() {
                Some(text) => text.into_owned(),
                None => String::from_utf8_lossy(named.text()).into_owned(),
            });
            match named {
                Some(named) if named != *seed => {
                    return Err(BundleRewriteError::AnotherSeed { member, named });
                }
                Some(_) => {}
                None => self.set_in("seeds", member, json_string(seed)),
            }
        }
        Ok(())
    }

    /// Returns the manifest with the changes: members keep their places, and new ones follow.
    fn applied_to(mut self, manifest: Value<'_>) -> Vec<u8> {
        let mut object = ObjectWriter::new();
        for (name, value) in manifest.members() {
            let name = name.string().unwrap_or_default();
            if let Some(new) = self.members.remove(&*name) {
                object.raw(&name, &new);
            } else if let Some((name, changed)) = self.inner.remove_entry(&*name) {
                write_merged(value, changed, object.name(name));
            } else {
                object.raw(&name, value.text());
            }
        }
        for (name, new) in self.members {
            object.raw(name, &new);
        }
        for (name, new) in self.inner {
            object.object(name, |object| new.iter().for_each(|(name, value)| object.raw(name, value)));
        }
        object.close()
    }
}

/// Appends an object with changed members; anything but an object counts as an empty one.
fn write_merged(value: Value<'_>, mut changed: BTreeMap<&'static str, Vec<u8>>, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::open(out);
    let members = (value.kind() == ValueKind::Object).then(|| value.members());
    for (name, value) in members.into_iter().flatten() {
        let name = name.string().unwrap_or_default();
        match changed.remove(&*name) {
            Some(new) => object.raw(&name, &new),
            None => object.raw(&name, value.text()),
        }
    }
    for (name, new) in changed {
        object.raw(name, &new);
    }
    object.close();
}

/// Returns a string as JSON.
fn json_string(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    reenact_json::canonical::write_string(text, &mut out);
    out
}
