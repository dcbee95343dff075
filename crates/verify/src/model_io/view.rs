//! [`SessionView`]: the members of a session, for code that needs a verified one.

use reenact_formats::model_io::{InteractionView, ModelIoHead};
use reenact_json::Digest;

use super::{ModelIoScan, run_in_order, verdict};
use crate::{NotVerified, Options, Verified};

/// Members of a Model IO session, borrowed from its bytes.
#[derive(Debug)]
pub struct SessionView<'a> {
    /// Members beside the interactions.
    head: ModelIoHead<'a>,
    /// Interactions in order.
    interactions: Vec<InteractionView<'a>>,
    /// Hash of the session.
    model_io_hash: Digest,
}

impl<'a> SessionView<'a> {
    /// Returns the members beside the interactions.
    pub fn head(&self) -> &ModelIoHead<'a> {
        &self.head
    }

    /// Returns the interactions in order.
    pub fn interactions(&self) -> &[InteractionView<'a>] {
        &self.interactions
    }

    /// Returns the hash of the session, by which a run names it.
    pub fn model_io_hash(&self) -> &Digest {
        &self.model_io_hash
    }
}

/// Verifies bytes that should be a session and returns it only if every check holds.
///
/// # Errors
/// [`NotVerified`] with the report if any check fails.
pub fn verify_or_err<'a>(
    bytes: &'a [u8],
    options: &Options,
) -> Result<Verified<SessionView<'a>>, NotVerified> {
    let mut scan = ModelIoScan::read(bytes, options)
        .map_err(|error| NotVerified::from(verdict::unreadable_report(bytes, &error)))?;
    let findings = run_in_order(&scan.jobs());
    let (head, interactions) = (scan.head, core::mem::take(&mut scan.interactions));
    let model_io_hash = findings.iter().find_map(|finding| finding.core.as_ref()?.as_ref().ok().copied());
    let report = scan.into_report(findings);
    match model_io_hash {
        Some(model_io_hash) => Verified::if_pass(SessionView { head, interactions, model_io_hash }, report),
        None => Err(report.into()),
    }
}
