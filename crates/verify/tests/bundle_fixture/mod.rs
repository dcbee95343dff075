//! RER bundles for the tests beside this folder: made, packed in every way, and laid out on disk.
#![allow(clippy::unwrap_used, dead_code, reason = "each test file uses a part of this one")]

#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use reenact_formats::rer::seal::{ArtifactBuilder, NewEvent, RerRunHeader, Signer as _};
use reenact_formats::rer::{RerVersion, manifest};
use reenact_json::{Digest, Value};
use reenact_pack::{ArchiveLimits, TarGzWriter, TarStyle, TarWriter, ZipMethod, ZipWriter};
use reenact_verify::disk::{self, PathArgument, RecordContent};
use reenact_verify::{Keys, Options, Report};
use serde_json::{Value as Json, json};

pub(crate) use reenact_testkit::fixture::{TestDir, TestKey};
pub(crate) use support::{KeyRing, failed};

/// Files of a bundle by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

pub(crate) const BLOBS: [&[u8]; 2] = [b"one blob", b"another"];

/// Run to be bundled.
pub(crate) struct Run {
    pub(crate) run_id: &'static str,
    pub(crate) version: RerVersion,
    pub(crate) blobs: Vec<Vec<u8>>,
}

impl Default for Run {
    fn default() -> Self {
        Self { run_id: "run", version: RerVersion::V02, blobs: BLOBS.map(<[u8]>::to_vec).into() }
    }
}

impl Run {
    /// Returns the artifact: a start, a withheld payload, each blob written, an end.
    pub(crate) fn artifact(&self, key: &TestKey, manifest_hash: Option<Digest>) -> Vec<u8> {
        let mut chain = ArtifactBuilder::new(self.version);
        let written = |blob: &Vec<u8>| json!({"artifact_hash": Digest::of(blob).to_string()}).to_string();
        let mut events = vec![
            ("rer.run.started", "{}".to_owned(), false),
            ("rer.tool.called", "\"secret\"".to_owned(), true),
        ];
        events.extend(self.blobs.iter().map(|blob| ("rer.artifact.written", written(blob), false)));
        events.push(("rer.run.ended", "{}".to_owned(), false));
        for (step_index, (event_type, payload, redacted)) in (0..).zip(&events) {
            let timestamp = "2026-05-13T12:34:56.7Z";
            let (payload, redacted) = (Some(payload.as_bytes()), *redacted);
            chain.append(&NewEvent { step_index, event_type, timestamp, payload, redacted }).unwrap();
        }
        let minor = if self.version == RerVersion::V01 { "0.1" } else { "0.2" };
        let envelope = json!({
            "envelope_version": format!("rer-envelope/{minor}"),
            "permissions": {"allowed_models": ["m"], "allowed_tools": ["t"]},
            "limits": {"max_steps": 9},
            "metadata": {},
        })
        .to_string();
        let run = RerRunHeader {
            run_id: self.run_id,
            implementation: "reenact",
            version: "1",
            envelope: envelope.as_bytes(),
            manifest_hash,
        };
        chain.seal(&run, key).unwrap()
    }

    /// Returns a bundle as its signer makes it; `change` edits the manifest before it is hashed and
    /// signed.
    pub(crate) fn bundle(&self, key: &TestKey, change: impl FnOnce(&mut Json)) -> Files {
        let unbound = self.artifact(key, None);
        let blobs: Vec<Json> = (0..)
            .zip(&self.blobs)
            .map(|(index, blob)| json!({"name": format!("file {index}"), "hash": Digest::of(blob).to_string(), "size_bytes": blob.len()}))
            .collect();
        let mut manifest = json!({
            "artifact_hash": manifest::artifact_hash(parsed(&unbound)).unwrap().to_string(),
            "runtime_key_hash": key.public_key().digest().to_string(),
            "total_event_count": 3 + self.blobs.len(),
            "redacted_event_count": 1,
            "blobs": blobs,
        });
        change(&mut manifest);
        let bundle_hash = rehash(&mut manifest);
        let mut files = Files::from([
            ("artifact.json".into(), self.artifact(key, Some(bundle_hash))),
            ("manifest.json".into(), manifest.to_string().into_bytes()),
            ("key.bin".into(), key.public_key().as_bytes().to_vec()),
        ]);
        files.extend(self.blobs.iter().map(|blob| (blob_name(blob), blob.clone())));
        files
    }
}

pub(crate) fn parsed(bytes: &[u8]) -> Value<'_> {
    Value::parse(bytes, &reenact_json::Limits::default()).unwrap()
}

/// Sets the right `bundle_hash`, as anyone can.
pub(crate) fn rehash(manifest: &mut Json) -> Digest {
    let hash = manifest::bundle_hash(parsed(manifest.to_string().as_bytes())).unwrap();
    manifest["bundle_hash"] = json!(hash.to_string());
    hash
}

pub(crate) fn blob_name(blob: &[u8]) -> String {
    format!("blobs/{}.bin", Digest::of(blob))
}

/// Returns the bundle of [`Run::default`] by the key of seed 1.
pub(crate) fn bundle() -> Files {
    Run::default().bundle(&TestKey::of(1), |_| {})
}

pub(crate) fn tar(files: &Files) -> Vec<u8> {
    let mut writer = TarWriter::new(Vec::new(), TarStyle::Ustar, ArchiveLimits::default());
    files.iter().for_each(|(name, bytes)| writer.add(name, bytes.len() as u64, bytes.as_slice()).unwrap());
    writer.finish().unwrap()
}

pub(crate) fn tar_gz(files: &Files) -> Vec<u8> {
    let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, ArchiveLimits::default()).unwrap();
    files.iter().for_each(|(name, bytes)| writer.add(name, bytes.len() as u64, bytes.as_slice()).unwrap());
    writer.finish().unwrap()
}

pub(crate) fn zip(files: &Files, method: ZipMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()), ArchiveLimits::default());
    for (name, bytes) in files {
        writer.add(name, bytes.len() as u64, method, bytes.as_slice()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Returns the same members in every kind of archive.
pub(crate) fn archives(files: &Files) -> [(&'static str, Vec<u8>); 4] {
    [
        ("tar", tar(files)),
        ("tar.gz", tar_gz(files)),
        ("zip, deflated", zip(files, ZipMethod::Deflated)),
        ("zip, stored", zip(files, ZipMethod::Stored)),
    ]
}

/// Writes a bundle into a folder `name`.
pub(crate) fn lay_out(folder: &TestDir, name: &str, files: &Files) -> PathBuf {
    files.iter().for_each(|(file, bytes)| drop(folder.write(format!("{name}/{file}"), bytes)));
    folder.join(name)
}

/// Reads a path as the commands do.
pub(crate) fn open(path: &Path) -> RecordContent {
    match disk::look_up(path.as_os_str()) {
        PathArgument::Record(place) => disk::open(&place).unwrap(),
        other => unreachable!("{other:?}"),
    }
}

pub(crate) fn report_of_path(path: &Path, keys: &Keys) -> Report {
    open(path).verify(keys, &Options::default())
}

#[test]
fn the_bundle_is_sound() {
    let folder = TestDir::new();
    let report = report_of_path(&lay_out(&folder, "b", &bundle()), &TestKey::of(1).keys());
    assert_eq!(failed(&report), [""; 0], "{:#?}", report.reasons);
}
