//! RER run artifacts: hash-chained, signed records of one run (draft-car-rer-artifact-00), versions 0.1 and 0.2.
//!
//! | module | clause | what it holds |
//! |---|---|---|
//! | [`approval`] | §8.2 | what an approver signs, and whether it answers a question |
//! | [`artifact`] | §3 | a streaming view: the members of the document, one event at a time |
//! | [`event`] | §4 | the members of one event, and its hash |
//! | [`event_type`] | §4.1 | the table of event types |
//! | [`payload`] | §4.1 | the payload of each event: written, and read |
//! | [`envelope`] | §5 | the bytes that are signed, and their hash |
//! | [`header`] | §6.6 | the bytes that the runtime signs |
//! | [`manifest`] | §9.1 | the manifest of a bundle, and the hashes that bind it |
//! | [`structure`] | §7.1, check 1 | every way in which a document is not of the published shape |
//! | [`time`] | §4.1, §5.1.1 | the syntax of timestamps |
//! | [`rewrite`] | §9, §10.3 | payloads withheld after the fact; an artifact bound to a bundle |
//! | [`seal`] | §4 to §6 | writing an artifact, in canonical form, with a [`seal::Signer`] |

pub mod approval;
pub mod artifact;
pub mod envelope;
pub mod event;
pub mod event_type;
pub mod header;
pub mod manifest;
pub mod payload;
pub mod rewrite;
mod row;
pub mod seal;
pub mod structure;
pub mod time;

use reenact_json::{CanonicalFault, Value};

pub use artifact::{ArtifactReader, Head, Item};
pub use event::{EventView, Noted};
pub use event_type::{Callee, EventType, Role};
pub use row::{ARTIFACT, ARTIFACT_FILE, BUNDLE, JWK_FILE, KEY_FILE};
pub use structure::{Problem, StructureFault};

/// The two published versions (§3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// `rer-artifact/0.1`
    V01,
    /// `rer-artifact/0.2`
    V02,
}

impl Version {
    /// Both.
    pub const ALL: [Version; 2] = [Version::V01, Version::V02];

    /// The number alone.
    pub fn number(self) -> &'static str {
        match self {
            Self::V01 => "0.1",
            Self::V02 => "0.2",
        }
    }

    /// The identifier of artifacts.
    pub fn artifact(self) -> &'static str {
        match self {
            Self::V01 => "rer-artifact/0.1",
            Self::V02 => "rer-artifact/0.2",
        }
    }

    /// The identifier of envelopes.
    pub fn envelope(self) -> &'static str {
        match self {
            Self::V01 => "rer-envelope/0.1",
            Self::V02 => "rer-envelope/0.2",
        }
    }

    /// The identifier of events.
    pub fn event(self) -> &'static str {
        match self {
            Self::V01 => "rer-event/0.1",
            Self::V02 => "rer-event/0.2",
        }
    }

    /// The version of which `value` is an identifier, as `identifier` spells it.
    pub fn of(value: Option<Value<'_>>, identifier: fn(Self) -> &'static str) -> Option<Self> {
        let value = value?;
        Self::ALL.into_iter().find(|version| value.is_string(identifier(*version)))
    }
}

/// Why a hash cannot be computed from what stands there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HashFault {
    /// A member that the hash covers is absent.
    #[error("{member} is missing")]
    Missing {
        /// Its name.
        member: &'static str,
    },
    /// The thing to hash is not an object.
    #[error("{what} is {found}, not an object")]
    NotAnObject {
        /// What was to be hashed.
        what: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// A value in it has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalFault),
}
