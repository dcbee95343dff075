//! Errors of conversions.

use reenact_formats::rer::seal::SealError;
use reenact_formats::{model_io, replay_bundle, replay_jsonl, rpk};

use crate::text_rule::TextRuleError;

/// Reason why a record cannot be converted. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The source cannot be read. Holds the position and the fault.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// A value of the source has no canonical form in its own format.
    #[error("{location}: {fault}")]
    Text {
        /// Item of the source, such as `step 3` or `the document`.
        location: String,
        /// Fault of the value.
        fault: TextRuleError,
    },
    /// The artifact cannot be sealed.
    #[error("the artifact cannot be sealed: {0}")]
    Seal(#[from] SealError),
    /// The artifact would be larger than the largest that can be read.
    #[error("the artifact would have {bytes} bytes, more than can be read")]
    TooLarge {
        /// Size of the artifact, in bytes.
        bytes: usize,
    },
    /// The `.rpk` would be too large, because each level of nesting indents its lines.
    #[error("the .rpk would have {bytes} bytes, more than the limit of {limit}: its values are nested deep")]
    IndentedTooLarge {
        /// Size of the `.rpk`, in bytes.
        bytes: usize,
        /// Largest size allowed, in bytes.
        limit: usize,
    },
    /// No random bits are available for a salt.
    #[error("the operating system gave no randomness")]
    NoRandomness,
    /// The artifact says that it was imported, but does not hold what an import writes.
    #[error("event {event}: {what} is not what an import writes")]
    NotAnImport {
        /// Index of the event, from 0.
        event: usize,
        /// Part of the event that is wrong.
        what: &'static str,
    },
    /// An event of the imported artifact is withheld, and a part of the original with it.
    #[error("event {event} is withheld, so that the original cannot be given back")]
    Withheld {
        /// Index of the event, from 0.
        event: usize,
    },
    /// Source and target have the same format.
    #[error("it is {format} already")]
    SameFormat {
        /// Name of the format.
        format: &'static str,
    },
    /// RER is no target of an export: records are imported into it.
    #[error("an RER artifact is made by importing")]
    NotATarget,
    /// The `.rpk` cannot be written.
    #[error("the .rpk cannot be written: {0}")]
    Rpk(#[from] rpk::write::RpkWriteError),
    /// The Model IO session cannot be written, because an interaction exceeds a limit of the format.
    #[error("interaction {interaction}: {fault}")]
    ModelIo {
        /// Index of the interaction, from 0.
        interaction: usize,
        /// Limit that is exceeded.
        fault: model_io::ModelIoWriteFault,
    },
    /// The REPLAY.jsonl cannot be written.
    #[error("the replay cannot be written: {0}")]
    ReplayJsonl(#[from] replay_jsonl::ReplayJsonlWriteError),
    /// The Replay Bundle cannot be written.
    #[error("the bundle cannot be written: {0}")]
    ReplayBundle(#[from] replay_bundle::ReplayBundleWriteError),
}
