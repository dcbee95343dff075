//! Replay Bundles to be broken, for the tests beside this folder.
#![allow(clippy::unwrap_used, dead_code, reason = "each test file uses a part of this one")]

#[path = "../archive_builder/mod.rs"]
pub(crate) mod archive_builder;

use archive_builder::{END, entry, gzip};
use reenact_json::Digest;
use serde_json::{Value as Json, json};

/// Invented secret of the form that a rule knows.
pub(crate) const SECRET: &str = "key: sk-proj-4fGhT7yUq2WzX8cVbN3mKj6L\n";

/// Parts of a bundle.
#[derive(Clone)]
pub(crate) struct BundleDraft {
    pub(crate) manifest: Json,
    /// Files in the order of the archive.
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", Digest::of(bytes))
}

impl BundleDraft {
    /// Returns a bundle with a config, a trace and a summary, all listed.
    pub(crate) fn sound() -> Self {
        let mut draft = Self {
            manifest: json!({"schema_version": 1, "assay_version": "reenact/0.1.0", "files": {}}),
            files: Vec::new(),
        };
        draft.add("files/eval.yaml", b"suite: invoices\n");
        draft.add("files/trace.jsonl", b"{\"prompt\":\"Is invoice 2041 paid?\",\"response\":\"No.\"}\n");
        draft.add("outputs/summary.json", b"{\"exit_code\":0}");
        let config = draft.digest("files/eval.yaml");
        draft.manifest["config_digest"] = json!(config);
        draft.manifest["trace_digest"] = json!(draft.digest("files/trace.jsonl"));
        draft.manifest["trace_path"] = json!("files/trace.jsonl");
        draft.manifest["outputs"] = json!({"summary": "outputs/summary.json"});
        draft
    }

    /// Returns the same bundle with a changed manifest.
    pub(crate) fn with(change: impl FnOnce(&mut Json)) -> Self {
        let mut draft = Self::sound();
        change(&mut draft.manifest);
        draft
    }

    /// Adds a file and lists it.
    pub(crate) fn add(&mut self, name: &str, content: &[u8]) {
        self.manifest["files"][name] = json!({"sha256": sha256(content), "size": content.len()});
        self.files.push((name.to_owned(), content.to_vec()));
    }

    /// Returns the same bundle with one more file, listed.
    pub(crate) fn adding(name: &str, content: &[u8]) -> Self {
        let mut draft = Self::sound();
        draft.add(name, content);
        draft
    }

    /// Returns the same bundle with one more file that the manifest does not list.
    pub(crate) fn adding_unlisted(name: &str, content: &[u8]) -> Self {
        let mut draft = Self::sound();
        draft.files.push((name.to_owned(), content.to_vec()));
        draft
    }

    pub(crate) fn digest(&self, name: &str) -> String {
        sha256(&self.files.iter().find(|(found, _)| found == name).unwrap().1)
    }

    /// Returns the members in the order of the archive.
    pub(crate) fn members(&self) -> Vec<(String, Vec<u8>)> {
        let manifest = ("manifest.json".to_owned(), self.manifest.to_string().into_bytes());
        [vec![manifest], self.files.clone()].concat()
    }

    /// Returns a tar without its end.
    pub(crate) fn tar(&self) -> Vec<u8> {
        self.members().iter().flat_map(|(name, content)| entry(b'0', name.as_bytes(), content)).collect()
    }

    /// Returns the archive.
    pub(crate) fn pack(&self) -> Vec<u8> {
        self.pack_with(&[])
    }

    /// Returns the archive with more entries at its end.
    pub(crate) fn pack_with(&self, more: &[u8]) -> Vec<u8> {
        gzip(&[&self.tar()[..], more, &END].concat())
    }
}
