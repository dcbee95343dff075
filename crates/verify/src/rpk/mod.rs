//! `.rpk` artifacts: parse, version, shape, checksum, the hash of every step, the signature.
//!
//! The text is scanned once and walked once; nothing of it is kept. A version that cannot be read ends the matter: what the
//! members of another major mean, nobody here knows.

mod judge;

pub use judge::verify;

use reenact_formats::FormatId;

use crate::checker::{Checker, no_members};

/// What judges `.rpk`.
pub(crate) static CHECKER: Checker = Checker {
    id: FormatId::Rpk,
    document: |bytes, keys, options, _| verify(bytes, keys, options),
    members: no_members,
    broken: None,
};

/// It is strict JSON, and an object.
pub const PARSE: &str = "parse";
/// It is of a version that can be read.
pub const VERSION: &str = "version";
/// It has the published shape.
pub const SCHEMA_VALID: &str = "schema_valid";
/// Its checksum holds.
pub const CHECKSUM: &str = "checksum";
/// The hash of every step holds.
pub const STEP_HASHES: &str = "step_hashes";
/// Its signature holds.
pub const SIGNATURE: &str = "signature";

/// The six, in order, with what each asks.
pub const CHECKS: [(&str, &str); 6] = [
    (PARSE, "the text is strict JSON, and an object"),
    (VERSION, "the version is one that can be read here"),
    (SCHEMA_VALID, "the document has the published shape"),
    (CHECKSUM, "version, metadata and payload are those that were summed"),
    (STEP_HASHES, "every step is the one that was hashed"),
    (SIGNATURE, "the document is signed with the key that you share"),
];
