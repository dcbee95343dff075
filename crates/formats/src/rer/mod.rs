//! RER run artifacts: hash-chained, signed records of one run (draft-car-rer-artifact-00), versions 0.1 and 0.2.
//!
//! | module | clause | what it holds |
//! |---|---|---|
//! | [`approval`] | §8.2 | approval tokens: signing and verification |
//! | [`artifact`] | §3 | a streaming reader: the members of the document, one event at a time |
//! | [`event`] | §4 | the members of one event, and its hash |
//! | [`event_type`] | §4.1 | the table of event types |
//! | [`payload`] | §4.1 | the payload of each event: writer and view |
//! | [`envelope`] | §5 | permissions, the policy function, the bytes that are signed |
//! | [`header`] | §6.6 | the bytes that the runtime signs |
//! | [`manifest`] | §9.1 | the manifest of a bundle, and the hashes that bind it |
//! | [`structure`] | §7.1, check 1 | every way in which a document is not of the published shape |
//! | [`time`] | §4.1, §5.1.1 | the syntax of timestamps |
//! | [`rewrite`] | §9, §10.3 | payloads withheld after the fact; an artifact bound to a bundle |
//! | [`seal`] | §4 to §6 | the writer of artifacts, in canonical form, with a [`seal::Signer`] |
//!
//! Start reading at [`artifact`] for the reader's side and at [`seal`] for the writer's.

pub mod approval;
pub mod artifact;
pub mod envelope;
pub mod event;
pub mod event_type;
mod format_rows;
pub mod header;
pub mod manifest;
pub mod payload;
pub mod rewrite;
pub mod seal;
pub mod structure;
pub mod time;

use reenact_json::{CanonicalFault, Value};

pub use artifact::{RerArtifactReader, RerEventItem, RerHead};
pub use event::{IndexedMember, RerEventView};
pub use event_type::{Callee, EventType, Role};
pub use format_rows::{ARTIFACT, ARTIFACT_FILE, BUNDLE, JWK_FILE, KEY_FILE};
pub use structure::{RerStructureFault, RerStructureProblem};

/// Published version of the format (§3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RerVersion {
    /// `rer-artifact/0.1`
    V01,
    /// `rer-artifact/0.2`
    V02,
}

impl RerVersion {
    /// Both versions, the older first.
    pub const ALL: [RerVersion; 2] = [RerVersion::V01, RerVersion::V02];

    /// Returns the number alone, such as `0.2`.
    pub fn number(self) -> &'static str {
        match self {
            Self::V01 => "0.1",
            Self::V02 => "0.2",
        }
    }

    /// Returns the identifier of artifacts of this version.
    pub fn artifact(self) -> &'static str {
        match self {
            Self::V01 => "rer-artifact/0.1",
            Self::V02 => "rer-artifact/0.2",
        }
    }

    /// Returns the identifier of envelopes of this version.
    pub fn envelope(self) -> &'static str {
        match self {
            Self::V01 => "rer-envelope/0.1",
            Self::V02 => "rer-envelope/0.2",
        }
    }

    /// Returns the identifier of events of this version.
    pub fn event(self) -> &'static str {
        match self {
            Self::V01 => "rer-event/0.1",
            Self::V02 => "rer-event/0.2",
        }
    }

    /// Returns the version that `value` names. `identifier` is one of [`RerVersion::artifact`],
    /// [`RerVersion::envelope`] and [`RerVersion::event`].
    pub fn of(value: Option<Value<'_>>, identifier: fn(Self) -> &'static str) -> Option<Self> {
        let value = value?;
        Self::ALL.into_iter().find(|version| value.is_string(identifier(*version)))
    }
}

/// Reason why a hash cannot be computed from a document as it stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RerHashFault {
    /// A member that the hash covers is absent.
    #[error("{member} is missing")]
    Missing {
        /// Name of the member.
        member: &'static str,
    },
    /// The value to hash is not an object.
    #[error("{what} is {found}, not an object")]
    NotAnObject {
        /// Name of the value that was to be hashed.
        what: &'static str,
        /// Kind of the value, in words.
        found: &'static str,
    },
    /// A covered value has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalFault),
}
