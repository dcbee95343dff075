//! `.rpk` artifacts, version 1: the steps of one run, each with its hash, under one checksum.
//!
//! | module | what it holds |
//! |---|---|
//! | [`canonical`] | the two canonical forms |
//! | [`artifact`] | the members of a document, in one strict scan |
//! | [`version`] | the versions that can be read |
//! | [`structure`] | every way in which a document is not of the published shape |
//! | [`step`] | the members of one step, and its hash |
//! | [`hash_walk`] | the checksum, every step's hash and the signature's HMAC, in one pass |
//! | [`hmac`] | keys of signatures, and the signed message |
//! | [`write`](mod@write) | the writer of documents, to the byte as the format's own programs write them |
//! | [`migrate`](mod@migrate) | migration from version 0.9 or 1.x to another 1.x |
//! | [`stub_replay`](mod@stub_replay) | the document of a stub replay |
//! | [`bundle`] | a document with its secrets masked, to hand on |
//! | [`mask`] | secrets as the format's own programs define them |
//!
//! Start reading at [`artifact`], then [`hash_walk`].

pub mod artifact;
pub mod bundle;
pub mod canonical;
pub mod hash_walk;
pub mod hmac;
pub mod mask;
pub mod migrate;
mod object_builder;
pub mod step;
pub mod structure;
pub mod stub_replay;
pub mod version;
pub mod write;

pub use artifact::{RpkHead, RpkReadError, RpkRunView};
pub use hmac::HmacKey;
pub use step::{RpkStepItem, RpkStepView};
pub use structure::RpkStructureFault;

use crate::Profile;
use crate::format::{Format, FormatId, RecognitionRule, Support};

/// Row of `.rpk`: any three of its members, or a checksum with the format's prefix and one member more.
pub static FORMAT: Format = Format {
    id: FormatId::Rpk,
    name: "rpk",
    report_name: "rpk",
    support: Support::Full,
    dialect: FormatId::Rpk,
    profile: Profile::Rpk,
    recognition: RecognitionRule::WeightedMembers {
        names: &[("checksum", 1), ("metadata", 1), ("payload", 1), ("version", 1)],
        prefixes: &[("checksum", HASH_PREFIX)],
        threshold: 3,
    },
    folder: None,
    main_file: "run.rpk",
    endings: &[".rpk"],
};

/// Types of steps in the specification.
pub const STEP_TYPES: [&str; 7] = [
    "prompt.render",
    "model.request",
    "model.response",
    "tool.request",
    "tool.response",
    "error.event",
    "output.final",
];

/// Eighth type of step, which programs write and the specification does not list.
pub const AGENT_COMMAND: &str = "agent.command";

/// Beginning of a checksum and of a step's hash.
pub const HASH_PREFIX: &str = "sha256:";

/// Beginning of a signature's value.
pub const SIGNATURE_PREFIX: &str = "hmac-sha256:";
