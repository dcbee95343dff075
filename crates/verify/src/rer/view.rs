//! [`ArtifactView`]: the members of an artifact, for code that needs a verified one.

use reenact_formats::rer::{RerArtifactReader, RerEventItem, RerHead};
use reenact_json::Limits;

use super::RerBatchReader;
use crate::{Keys, NotVerified, Options, Verified};

/// Members of an RER artifact, borrowed from its bytes.
#[derive(Debug)]
pub struct ArtifactView<'a> {
    /// Text that was verified.
    bytes: &'a [u8],
    /// Limits under which the text was read.
    limits: Limits,
    /// Members beside the events.
    head: RerHead<'a>,
}

impl<'a> ArtifactView<'a> {
    /// Returns the members beside the events.
    pub fn head(&self) -> &RerHead<'a> {
        &self.head
    }

    /// Returns the events in order, read from the very bytes that were verified.
    pub fn events(&self) -> impl Iterator<Item = RerEventItem<'a>> + use<'a> {
        let mut reader = RerArtifactReader::open(self.bytes, &self.limits).ok();
        core::iter::from_fn(move || reader.as_mut()?.next_event().ok().flatten())
    }
}

/// Verifies an RER artifact and returns it only if every check holds.
///
/// ```
/// use reenact_verify::{Keys, Options, verify_or_err};
///
/// let refused = verify_or_err(b"{}", &Keys::default(), &Options::default()).unwrap_err();
/// assert!(!refused.report().pass());
/// ```
///
/// # Errors
/// [`NotVerified`] with the report if any check fails.
pub fn verify_or_err<'a>(
    bytes: &'a [u8],
    keys: &Keys,
    options: &Options,
) -> Result<Verified<ArtifactView<'a>>, NotVerified> {
    let refused =
        |head: &RerHead<'_>, error| NotVerified::from(super::unreadable_report(bytes, head, &error));
    let mut reader =
        RerBatchReader::open(bytes, options).map_err(|error| refused(&RerHead::default(), error))?;
    let findings = match super::check_in_order(&mut reader) {
        Ok(findings) => findings,
        Err(error) => return Err(refused(reader.head(), error.into())),
    };
    let inner = ArtifactView { bytes, limits: options.limits, head: reader.head().clone() };
    let report = reader.into_report(findings, keys);
    Verified::if_pass(inner, report)
}
