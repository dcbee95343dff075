//! `reenact hash`: the hash of a JSON document's canonical form, or of the part of it that a format hashes.
//!
//! Meant for checking another implementation, one hash at a time. Start reading at `HashedPart`, the table of
//! what can be hashed.

use std::path::PathBuf;

use clap::ValueEnum;
use reenact_formats::Profile;
use reenact_formats::model_io::core_hash;
use reenact_formats::rer::{RerEventView, envelope};
use reenact_formats::rpk::hash_walk::compute_digests;
use reenact_formats::rpk::{RpkHead, RpkStepView};
use reenact_json::digest::Hasher;
use reenact_json::print::PrintObjectWriter;
use reenact_json::{Digest, Limits, Value, ValueKind, canonical};

use super::{document_refused, read_document};
use crate::output::{self, CommandError};

/// Print the SHA-256 of a JSON document's canonical form, or of the part that a format hashes
///
/// Input that is not strict JSON, or that has no canonical form, is refused: nothing is written, the reason goes to
/// standard error, and the exit code is 1.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact hash --profile jcs payload.json\n  reenact hash --of rer-envelope envelope.json --json"
)]
#[command(
    override_usage = "reenact hash [--json] --profile <PROFILE> [FILE]\n       reenact hash [--json] --of <OF> [FILE]"
)]
pub(super) struct HashArgs {
    /// Hash the whole document in this canonical form: jcs (RFC 8785), rpk, rpk-step, model-io, replay-jsonl
    #[arg(long, value_parser = super::profile, required_unless_present = "of", conflicts_with = "of")]
    profile: Option<Profile>,

    /// Hash what a format hashes of such a document
    #[arg(long, value_enum)]
    of: Option<HashedPart>,

    /// A file, or - for standard input
    #[arg(default_value = "-", hide_default_value = true, value_name = "FILE")]
    file: PathBuf,

    /// The hash in a JSON object, with what was hashed
    #[arg(long)]
    json: bool,
}

/// Part of a document that a format hashes, and the format's name for the hash.
#[derive(Clone, Copy, ValueEnum)]
enum HashedPart {
    /// Version, metadata and payload of an .rpk artifact: what `checksum` holds
    RpkArtifact,
    /// Type, input, output and metadata of an .rpk step: what its `hash` holds
    RpkStep,
    /// A Model IO session without times and metrics: its `model_io_hash`
    ModelIoCore,
    /// An RER envelope without its signature: what `envelope_hash` holds
    RerEnvelope,
    /// The six header members of an RER event: what `event_hash` holds
    RerEvent,
}

impl HashArgs {
    /// Prints the hash as `sha256:` and 64 hexadecimal digits.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let bytes = read_document(&self.file)?;
        let value = Value::parse(&bytes, &Limits::default())
            .map_err(|error| document_refused(&self.file, error.describe(&bytes)))?;
        let digest = self.digest(value).map_err(|why| document_refused(&self.file, why))?;
        let hash = format!("sha256:{digest}");
        output::print(&if self.json { self.as_json(&hash) } else { hash + "\n" })?;
        Ok(0)
    }

    /// Returns the hash as one line of JSON.
    fn as_json(&self, hash: &str) -> String {
        let mut line = String::new();
        let mut object = PrintObjectWriter::open(&mut line);
        object.string("file", self.file.to_string_lossy().as_ref());
        object.string("profile", self.profile.map(Profile::name));
        let of = self.of.and_then(|of| of.to_possible_value());
        object.string("of", of.as_ref().map(|of| of.get_name()));
        object.string("hash", hash);
        object.close();
        line + "\n"
    }

    /// Computes the hash that was asked for. A document of another kind is refused, because its hash would be
    /// meaningless.
    fn digest(&self, value: Value<'_>) -> Result<Digest, String> {
        let mut hasher = Hasher::new();
        match self.of {
            None => {
                let profile = self.profile.unwrap_or(Profile::Jcs);
                canonical::digest(value, profile, &mut hasher).map_err(|fault| fault.to_string())
            }
            Some(of @ (HashedPart::RpkArtifact | HashedPart::RpkStep))
                if value.kind() != ValueKind::Object =>
            {
                let what = if matches!(of, HashedPart::RpkStep) { "a step" } else { "an artifact" };
                Err(format!("{what} is an object, this is {}", value.kind().name()))
            }
            Some(HashedPart::RpkArtifact) => {
                let head =
                    RpkHead::read(value.text(), &Limits::default()).map_err(|error| error.to_string())?;
                compute_digests(&head, None, |_, _, _| {}).checksum.map_err(|fault| fault.to_string())
            }
            Some(HashedPart::RpkStep) if value.member("type").is_none() => {
                Err("this is no step: it has no type".into())
            }
            Some(HashedPart::RpkStep) => {
                RpkStepView::of(value).digest(&mut hasher).map_err(|fault| fault.to_string())
            }
            Some(HashedPart::ModelIoCore) => {
                core_hash::hash(value.text(), &Limits::default()).map_err(|fault| fault.to_string())
            }
            Some(HashedPart::RerEnvelope) if value.member("envelope_version").is_none() => {
                Err("this is no envelope: it has no envelope_version".into())
            }
            Some(HashedPart::RerEnvelope) => envelope::hash(Some(value)).map_err(|fault| fault.to_string()),
            Some(HashedPart::RerEvent) if value.kind() != ValueKind::Object => {
                Err(format!("an event is an object, this is {}", value.kind().name()))
            }
            Some(HashedPart::RerEvent) => {
                RerEventView::of(value).hash(&mut hasher).map_err(|fault| fault.to_string())
            }
        }
    }
}
