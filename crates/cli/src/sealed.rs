//! An RER record as the commands need it that write it once more: its artifact, the files beside it, and its signer.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;

use reenact_formats::FormatId;
use reenact_formats::rer::payload::ArtifactWrittenView;
use reenact_formats::rer::rewrite::Blob;
use reenact_json::{Digest, Shown};
use reenact_keys::SecretKey;
use reenact_run::{EventType, Run};
use reenact_verify::Report;

use crate::config::Config;
use crate::output::Ending;
use crate::runs;

/// An RER record.
pub(crate) struct Sealed {
    pub(crate) path: PathBuf,
    pub(crate) run: Run,
    pub(crate) report: Report,
    /// The bytes of the artifact alone.
    pub(crate) artifact: Vec<u8>,
    /// Files that lie beside it, by their digests.
    pub(crate) blobs: BTreeMap<String, Vec<u8>>,
}

impl Sealed {
    /// Opens the record that is meant. Another format is refused, with what to do instead.
    pub(crate) fn open(given: &OsStr, keys: &runs::KeyFiles) -> Result<Self, Ending> {
        let runs::Found { path, run, report } = runs::open(given, keys)?;
        if report.id().is_none_or(|id| id.row().dialect != FormatId::Rer) {
            let (name, format) = (path.to_string_lossy(), &report.format);
            return Err(Ending::impossible(format!(
                "{}: this is {}, and only RER records can be rewritten under their signature; `reenact convert --to rer` makes one of it",
                Shown::whole(&name),
                Shown::new(format),
            )));
        }
        // Nothing is read twice: what was judged is what is signed again.
        let artifact = run.document().to_vec();
        let mut blobs: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (_, bytes) in run.files() {
            blobs.insert(Digest::of(bytes).to_string(), bytes.to_vec());
        }
        Ok(Self { path, run, report, artifact, blobs })
    }

    /// Whether it is a bundle, and not an artifact alone.
    pub(crate) fn is_bundle(&self) -> bool {
        self.report.id() == Some(FormatId::RerBundle)
    }

    /// The record must verify before anything is made of it: a new signature must not make a forged record good.
    pub(crate) fn must_hold(&self) -> Result<(), Ending> {
        if self.report.pass() {
            return Ok(());
        }
        let name = self.path.to_string_lossy();
        let why = self.report.reasons.first().map_or("", String::as_str);
        Err(Ending::refused(format!(
            "{}: it does not verify, so nothing was made of it: {}; `reenact verify` says more, and --key gives a key",
            Shown::whole(&name),
            Shown::whole(why),
        )))
    }

    /// The private key that signed it, which must be one of the user's own.
    pub(crate) fn signer(&self) -> Result<SecretKey, Ending> {
        let key_id = self.run.producer().key_id.clone().unwrap_or_default();
        Config::require()?.signing_key(&key_id)?.ok_or_else(|| {
            Ending::impossible(format!(
                "a bundle is signed again by the key that signed its artifact ({}), and none of your keys is that one; `reenact keys list` shows yours",
                Shown::new(&key_id)
            ))
        })
    }

    /// What a bundle of these files says of them: each under the name by which an event speaks of it, unless that is withheld.
    pub(crate) fn labels(&self, withheld: &[usize]) -> Vec<Blob> {
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        let written = self.run.events().filter(|event| event.kind() == Some(EventType::ArtifactWritten));
        for event in written.filter(|event| !withheld.contains(&event.index())) {
            let Some(written) = event.payload().value().map(ArtifactWrittenView::read) else { continue };
            if let (Ok(hash), Ok(name)) = (written.artifact_hash.needed_text(), written.name.needed_text()) {
                names.entry(hash.into_owned()).or_insert_with(|| name.into_owned());
            }
        }
        let label = |(hash, bytes): (&String, &Vec<u8>)| Blob {
            name: names.get(hash).unwrap_or(hash).clone(),
            hash: Digest::of(bytes),
            size: bytes.len() as u64,
        };
        self.blobs.iter().map(label).collect()
    }

    /// Files that events speak of and that are not here.
    pub(crate) fn missing(&self) -> Vec<(String, String)> {
        let mut missing = Vec::new();
        for event in self.run.events().filter(|event| event.kind() == Some(EventType::ArtifactWritten)) {
            let Some(written) = event.payload().value().map(ArtifactWrittenView::read) else { continue };
            let hash = written.artifact_hash.needed_text().unwrap_or_default();
            if !self.blobs.contains_key(hash.as_ref()) {
                let name = written.name.needed_text().unwrap_or_default();
                missing.push((name.into_owned(), hash.into_owned()));
            }
        }
        missing
    }
}
