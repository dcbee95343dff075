//! `.rpk` artifacts: parse, version, shape, checksum, the hash of every step, the signature.
//!
//! The text is parsed once and walked once, and none of it is kept. An unknown version ends the
//! verification, since the members of another major version have no known meaning. Start reading at
//! [`verify`].

mod checks;

pub use checks::verify;

use reenact_formats::FormatId;

use crate::checker::{Checker, refuse_members};

/// Row of `.rpk` in the table of checkers.
pub(crate) static CHECKER: Checker = Checker {
    id: FormatId::Rpk,
    document: |bytes, keys, options, _| verify(bytes, keys, options),
    members: refuse_members,
    broken: None,
};

/// Check 1: the text is strict JSON, and an object.
pub const PARSE: &str = "parse";
/// Check 2: the version is one that this build can read.
pub const VERSION: &str = "version";
/// Check 3: the document has the published shape.
pub const SCHEMA_VALID: &str = "schema_valid";
/// Check 4: the checksum covers version, metadata and payload as they are.
pub const CHECKSUM: &str = "checksum";
/// Check 5: every step has the hash that it carries.
pub const STEP_HASHES: &str = "step_hashes";
/// Check 6: the HMAC signature holds. Void for unsigned documents.
pub const SIGNATURE: &str = "signature";

/// The six checks in order, each with its question.
pub const CHECKS: [(&str, &str); 6] = [
    (PARSE, "the text is strict JSON, and an object"),
    (VERSION, "the version is one that can be read here"),
    (SCHEMA_VALID, "the document has the published shape"),
    (CHECKSUM, "version, metadata and payload are those that were summed"),
    (STEP_HASHES, "every step is the one that was hashed"),
    (SIGNATURE, "the document is signed with the key that you share"),
];
