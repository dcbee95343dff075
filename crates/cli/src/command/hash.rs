//! `reenact hash`: the hash of a JSON document's canonical form, or of what a format selects of it.

use std::path::PathBuf;

use clap::ValueEnum;
use reenact_formats::Profile;
use reenact_formats::model_io::core;
use reenact_formats::rer::{EventView, envelope};
use reenact_formats::rpk::survey::survey;
use reenact_formats::rpk::{Head, StepView};
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Kind, Limits, Value, canonical};

use super::{document, refused};
use crate::output::{self, Ending};

/// Print the SHA-256 of a JSON document's canonical form, or of the part that a format hashes
///
/// Input that is not strict JSON, or that has no canonical form, is refused: nothing is written, the reason goes to
/// standard error, and the exit code is 1.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact hash --profile jcs payload.json\n  reenact hash --of rer-envelope envelope.json"
)]
#[command(override_usage = "reenact hash --profile <PROFILE> [FILE]\n       reenact hash --of <OF> [FILE]")]
pub(super) struct Hash {
    /// Hash the whole document in this canonical form: jcs (RFC 8785), rpk, rpk-step, model-io, replay-jsonl
    #[arg(long, value_parser = super::profile, required_unless_present = "of", conflicts_with = "of")]
    profile: Option<Profile>,

    /// Hash what a format hashes of such a document
    #[arg(long, value_enum)]
    of: Option<Of>,

    /// A file, or - for standard input
    #[arg(default_value = "-", hide_default_value = true, value_name = "FILE")]
    file: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Of {
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

impl Hash {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let bytes = document(&self.file)?;
        let value = Value::parse(&bytes, &Limits::default())
            .map_err(|error| refused(&self.file, error.describe(&bytes)))?;
        let digest = self.digest(value).map_err(|why| refused(&self.file, why))?;
        output::print(&format!("sha256:{digest}\n"))?;
        Ok(0)
    }

    fn digest(&self, value: Value<'_>) -> Result<Digest, String> {
        let mut hasher = Hasher::new();
        match self.of {
            None => {
                let profile = self.profile.unwrap_or(Profile::Jcs);
                canonical::digest(value, profile, &mut hasher).map_err(|fault| fault.to_string())
            }
            Some(of @ (Of::RpkArtifact | Of::RpkStep)) if value.kind() != Kind::Object => {
                let what = if matches!(of, Of::RpkStep) { "a step" } else { "an artifact" };
                Err(format!("{what} is an object, this is {}", value.kind().name()))
            }
            Some(Of::RpkArtifact) => {
                let head = Head::read(value.text(), &Limits::default()).map_err(|error| error.to_string())?;
                survey(&head, None, |_, _, _| {}).checksum.map_err(|fault| fault.to_string())
            }
            Some(Of::RpkStep) if value.member("type").is_none() => {
                Err("this is no step: it has no type".into())
            }
            Some(Of::RpkStep) => StepView::of(value).digest(&mut hasher).map_err(|fault| fault.to_string()),
            Some(Of::ModelIoCore) => {
                core::hash(value.text(), &Limits::default()).map_err(|fault| fault.to_string())
            }
            Some(Of::RerEnvelope) if value.member("envelope_version").is_none() => {
                Err("this is no envelope: it has no envelope_version".into())
            }
            Some(Of::RerEnvelope) => envelope::hash(Some(value)).map_err(|fault| fault.to_string()),
            Some(Of::RerEvent) if value.kind() != Kind::Object => {
                Err(format!("an event is an object, this is {}", value.kind().name()))
            }
            Some(Of::RerEvent) => EventView::of(value).hash(&mut hasher).map_err(|fault| fault.to_string()),
        }
    }
}
