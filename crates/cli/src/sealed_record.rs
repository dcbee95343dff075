//! An RER record as the commands need it that write it once more: its artifact, the files beside it, and its signer.
//!
//! `redact` and `share --as rer` start here. Both work on the bytes that were verified, never on a
//! second read of the file, so that what is signed again is what was checked. Start reading at
//! [`SealedRecord::open`].

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use reenact_formats::FormatId;
use reenact_formats::rer::payload::ArtifactWrittenView;
use reenact_formats::rer::rewrite::BundleBlob;
use reenact_json::{Digest, Shown};
use reenact_keys::SecretKey;
use reenact_run::{EventType, Run};
use reenact_verify::Report;

use crate::config::UserConfig;
use crate::output::CommandError;
use crate::runs;

/// An RER artifact or bundle, with the verifier's report on it.
pub(crate) struct SealedRecord {
    /// File or folder from which the record was read; recorded files may lie beside it.
    pub(crate) path: PathBuf,
    /// The parsed events of the artifact.
    pub(crate) run: Run,
    /// Report of the verifier, with the keys that were given.
    pub(crate) report: Report,
    /// Bytes of the artifact alone.
    pub(crate) artifact: Vec<u8>,
    /// Files that the run wrote, by the hexadecimal SHA-256 of their content.
    pub(crate) blobs: BTreeMap<String, Vec<u8>>,
}

impl SealedRecord {
    /// Opens the record that `given` names (see [`runs::open`]).
    ///
    /// # Errors
    ///
    /// If it cannot be opened, or is of another format; the message then says how to convert it.
    pub(crate) fn open(given: &OsStr, keys: &runs::KeyFileArgs) -> Result<Self, CommandError> {
        let runs::OpenedRun { path, run, report } = runs::open(given, keys)?;
        Self::new(path, run, report)
    }

    /// Takes a record that was opened, with its artifact and its files.
    ///
    /// # Errors
    ///
    /// If it is of another format; the message then says how to convert it.
    pub(crate) fn new(path: PathBuf, run: Run, report: Report) -> Result<Self, CommandError> {
        if report.format_id().is_none_or(|id| id.row().dialect != FormatId::Rer) {
            let (name, format) = (path.to_string_lossy(), &report.format);
            return Err(CommandError::impossible(format!(
                "{}: this is {}, and only RER records can be rewritten under their signature; `reenact convert --to rer` makes one of it",
                Shown::whole(&name),
                Shown::new(format),
            )));
        }
        // The bytes that were verified are used again. A second read could return others.
        let artifact = run.document().to_vec();
        let mut blobs: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (_, bytes) in run.files() {
            blobs.insert(Digest::of(bytes).to_string(), bytes.to_vec());
        }
        Ok(Self { path, run, report, artifact, blobs })
    }

    /// Returns true for an RER bundle, false for an artifact alone.
    pub(crate) fn is_bundle(&self) -> bool {
        self.report.format_id() == Some(FormatId::RerBundle)
    }

    /// Refuses a record that does not verify: a new signature must not make a forged record good.
    pub(crate) fn require_verified(&self) -> Result<(), CommandError> {
        require_verified(&self.path, &self.report)
    }

    /// Returns the private key that signed the record, which must be one of the user's own.
    ///
    /// # Errors
    ///
    /// If the user does not have the key.
    pub(crate) fn signing_key(&self) -> Result<SecretKey, CommandError> {
        let key_id = self.run.producer().key_id.clone().unwrap_or_default();
        UserConfig::require()?.signing_key(&key_id)?.ok_or_else(|| {
            CommandError::impossible(format!(
                "a bundle is signed again by the key that signed its artifact ({}), and none of your keys is that one; `reenact keys list` shows yours",
                Shown::new(&key_id)
            ))
        })
    }

    /// Returns the entries of the record's files for the manifest of a bundle.
    ///
    /// Each file has the name by which the first `rer.artifact.written` event speaks of it. Events in `withheld`
    /// (0-based indices) do not count, since their payloads go; a file without a name is listed by its digest.
    pub(crate) fn named_blobs(&self, withheld: &[usize]) -> Vec<BundleBlob> {
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        let written = self.run.events().filter(|event| event.kind() == Some(EventType::ArtifactWritten));
        for event in written.filter(|event| !withheld.contains(&event.index())) {
            let Some(written) = event.payload().value().map(ArtifactWrittenView::read) else { continue };
            if let (Ok(hash), Ok(name)) =
                (written.artifact_hash.required_text(), written.name.required_text())
            {
                names.entry(hash.into_owned()).or_insert_with(|| name.into_owned());
            }
        }
        let label = |(hash, bytes): (&String, &Vec<u8>)| BundleBlob {
            name: names.get(hash).unwrap_or(hash).clone(),
            hash: Digest::of(bytes),
            size_bytes: bytes.len() as u64,
        };
        self.blobs.iter().map(label).collect()
    }

    /// Returns the name and the hexadecimal SHA-256 of each file that an event speaks of and that is not here.
    pub(crate) fn missing_files(&self) -> Vec<(String, String)> {
        let mut missing = Vec::new();
        for event in self.run.events().filter(|event| event.kind() == Some(EventType::ArtifactWritten)) {
            let Some(written) = event.payload().value().map(ArtifactWrittenView::read) else { continue };
            let hash = written.artifact_hash.required_text().unwrap_or_default();
            if !self.blobs.contains_key(hash.as_ref()) {
                let name = written.name.required_text().unwrap_or_default();
                missing.push((name.into_owned(), hash.into_owned()));
            }
        }
        missing
    }
}

/// Refuses a record that does not verify: what is made of it would look as if it did.
pub(crate) fn require_verified(path: &Path, report: &Report) -> Result<(), CommandError> {
    if report.pass() {
        return Ok(());
    }
    let (name, why) = (path.to_string_lossy(), report.reasons.first().map_or("", String::as_str));
    Err(CommandError::refused(format!(
        "{}: it does not verify, so nothing was made of it: {}; `reenact verify` says more, and --key gives a key",
        Shown::whole(&name),
        Shown::whole(why)
    )))
}
