//! `.rpk` artifacts, version 1: the steps of one run, each with its hash, under one checksum.
//!
//! | module | what it holds |
//! |---|---|
//! | [`canonical`] | the two canonical forms |
//! | [`artifact`] | the members of a document, in one strict scan |
//! | [`version`] | which versions can be read |
//! | [`structure`] | every way in which a document is not of the published shape |
//! | [`step`] | the members of one step, and its hash |
//! | [`survey`] | the checksum, every step's hash and the code of the signature, in one walk |
//! | [`hmac`] | keys of signatures, and what is signed |
//! | [`write`](mod@write) | writing a document as the format's own programs do, to the byte |
//! | [`migrate`](mod@migrate) | a document of version 0.9 or 1.x as one of version 1.x |
//! | [`bundle`](mod@bundle) | a document with its secrets masked, to hand on |
//! | [`mask`] | what the format's own programs take for a secret |

pub mod artifact;
pub mod bundle;
pub mod canonical;
mod compose;
pub mod hmac;
pub mod mask;
pub mod migrate;
pub mod step;
pub mod structure;
pub mod survey;
pub mod version;
pub mod write;

pub use artifact::{Head, ReadError, RunView};
pub use hmac::HmacKey;
pub use step::{Item, StepView};
pub use structure::StructureFault;

use crate::Profile;
use crate::format::{Format, FormatId, Signs, Support};

/// The row of `.rpk`: any three of its members, or a checksum that begins as they do and one more.
pub static FORMAT: Format = Format {
    id: FormatId::Rpk,
    name: "rpk",
    report_name: "rpk",
    support: Support::Full,
    dialect: FormatId::Rpk,
    profile: Profile::Rpk,
    signs: Signs::Members {
        names: &[("checksum", 1), ("metadata", 1), ("payload", 1), ("version", 1)],
        prefixes: &[("checksum", HASH_PREFIX)],
        enough: 3,
    },
    folder: None,
    main_file: "run.rpk",
    endings: &[".rpk"],
};

/// What a step may be.
pub const STEP_TYPES: [&str; 7] = [
    "prompt.render",
    "model.request",
    "model.response",
    "tool.request",
    "tool.response",
    "error.event",
    "output.final",
];

/// An eighth type that programs write and the specification does not list.
pub const AGENT_COMMAND: &str = "agent.command";

/// What a checksum and a step's hash begin with.
pub const HASH_PREFIX: &str = "sha256:";

/// What the value of a signature begins with.
pub const SIGNATURE_PREFIX: &str = "hmac-sha256:";
