//! RER bundles: the artifact, its manifest and key, and the files that its events speak of.
//!
//! `inspect` prints them, `extract` unpacks them; both read the bundle with [`read`].

pub(super) mod extract;
pub(super) mod inspect;

use reenact_json::{Limits, Shown, Value};
use reenact_verify::disk::RecordContent;
use reenact_verify::replay_bundle::MemberCopies;
use reenact_verify::{BundleMembers, Keys, Options, Report, verify_members};

use super::{BundleSource, joined_reasons, unreadable};
use crate::output::CommandError;

/// Reads a bundle to its end, and verifies it. Files that are no documents are copied to the writers that `copies` returns.
///
/// The report may say that checks failed.
///
/// # Errors
///
/// If the bundle cannot be read to its end.
fn read(
    source: &BundleSource<'_>,
    keys: &Keys,
    copies: MemberCopies<'_>,
) -> Result<(BundleMembers, Report), CommandError> {
    let options = Options::default();
    match source.members(copies).map_err(unreadable)? {
        RecordContent::Members(members) => {
            let report = verify_members(&members, keys, &options);
            Ok((members, report))
        }
        content => {
            let reasons = joined_reasons(&content.verify(keys, &options));
            let name = source.path.to_string_lossy();
            Err(CommandError::refused(format!("{}: {reasons}", Shown::whole(&name))))
        }
    }
}

/// Parses a document of the bundle; `None` if it is missing, or no JSON. The report says so as well.
fn parse_document(bytes: Option<&[u8]>) -> Option<Value<'_>> {
    Value::parse(bytes?, &Limits::default()).ok()
}
