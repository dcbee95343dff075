//! Why something cannot be converted.

use reenact_formats::rer::seal::SealError;
use reenact_formats::{model_io, replay_bundle, replay_jsonl, rpk};

use crate::text_rule::TextRuleError;

/// Why something cannot be converted. Nothing of it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The source cannot be read. Holds the place and the fault.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// A value of the source that its own format cannot write.
    #[error("{place}: {fault}")]
    Text {
        /// Which item.
        place: String,
        /// What is wrong with it.
        fault: TextRuleError,
    },
    /// The artifact cannot be sealed.
    #[error("the artifact cannot be sealed: {0}")]
    Seal(#[from] SealError),
    /// The artifact would be larger than any that can be read.
    #[error("the artifact would have {bytes} bytes, more than can be read")]
    TooLarge {
        /// How many.
        bytes: usize,
    },
    /// An `.rpk` that its lines would blow up.
    #[error("the .rpk would have {bytes} bytes, more than the limit of {limit}: its values are nested deep")]
    IndentedTooLarge {
        /// How many.
        bytes: usize,
        /// How many there may be.
        limit: usize,
    },
    /// No salt was to be had.
    #[error("the operating system gave no randomness")]
    NoRandomness,
    /// An imported record that does not hold what an import writes.
    #[error("event {event}: {what} is not what an import writes")]
    NotAnImport {
        /// Which event, from 0.
        event: usize,
        /// What of it.
        what: &'static str,
    },
    /// A part of an imported record was withheld, and with it what it was imported from.
    #[error("event {event} is withheld, so that the original cannot be given back")]
    Withheld {
        /// Which event, from 0.
        event: usize,
    },
    /// Source and target are of one format.
    #[error("it is {format} already")]
    SameFormat {
        /// Which.
        format: &'static str,
    },
    /// RER is not written by exporting: a record is imported into it.
    #[error("an RER artifact is made by importing")]
    NotATarget,
    /// An `.rpk` that cannot be written.
    #[error("the .rpk cannot be written: {0}")]
    Rpk(#[from] rpk::write::RpkWriteError),
    /// A Model IO session that cannot be written: a limit of the format, and which interaction breaks it.
    #[error("interaction {interaction}: {fault}")]
    ModelIo {
        /// Which interaction, from 0.
        interaction: usize,
        /// What is wrong.
        fault: model_io::ModelIoWriteFault,
    },
    /// A REPLAY.jsonl that cannot be written.
    #[error("the replay cannot be written: {0}")]
    ReplayJsonl(#[from] replay_jsonl::ReplayJsonlWriteError),
    /// A Replay Bundle that cannot be written.
    #[error("the bundle cannot be written: {0}")]
    ReplayBundle(#[from] replay_bundle::ReplayBundleWriteError),
}
