//! `.rpk` artifacts: parse, version, shape, checksum, the hash of every step, the signature.
//!
//! The text is parsed once and walked once, and none of it is kept. An unknown version ends the
//! verification, since the members of another major version have no known meaning. Start reading at
//! [`verify`].

mod checks;
mod step_hash;

pub use checks::verify;
pub use step_hash::{RpkHashFault, RpkHashRule, check_step_hash};

use reenact_formats::FormatId;

use crate::check::CheckId;
use crate::checker::{Checker, refuse_members};

/// Row of `.rpk` in the table of checkers.
pub(crate) static CHECKER: Checker = Checker {
    id: FormatId::Rpk,
    document: |bytes, keys, options, _| verify(bytes, keys, options),
    members: refuse_members,
    broken_report: None,
};

/// Check 1: the text is strict JSON, and an object.
pub const PARSE: CheckId = CheckId::new("parse", "the text is strict JSON, and an object");
/// Check 2: the version is one that this build can read.
pub const VERSION: CheckId = CheckId::new("version", "the version is one that can be read here");
/// Check 3: the document has the published shape.
pub const SCHEMA_VALID: CheckId = CheckId::new("schema_valid", "the document has the published shape");
/// Check 4: the checksum covers version, metadata and payload as they are.
pub const CHECKSUM: CheckId =
    CheckId::new("checksum", "version, metadata and payload are those that were summed");
/// Check 5: every step has the hash that it carries.
pub const STEP_HASHES: CheckId = CheckId::new("step_hashes", "every step is the one that was hashed");
/// Check 6: the HMAC signature holds. Void for unsigned documents.
pub const SIGNATURE: CheckId =
    CheckId::new("signature", "the document is signed with the key that you share");

/// The six checks in order.
pub const CHECKS: [CheckId; 6] = [PARSE, VERSION, SCHEMA_VALID, CHECKSUM, STEP_HASHES, SIGNATURE];
