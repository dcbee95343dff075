//! [`ReplayView`]: the events of a replay, for code that needs a verified one.

use reenact_formats::replay_jsonl::{ReplayJsonlEventView, ReplayTotals};
use reenact_json::Limits;

use super::ReplayJsonlOptions;
use super::verifier::ReplayVerifier;
use crate::{NotVerified, Options, Verified};

/// Events of a REPLAY.jsonl, borrowed from its bytes.
#[derive(Debug)]
pub struct ReplayView<'a> {
    /// Text that was verified.
    bytes: &'a [u8],
    /// Limits under which the text was read.
    limits: Limits,
    /// Numbers that sum up the session.
    totals: ReplayTotals,
}

impl<'a> ReplayView<'a> {
    /// Returns the events in order, read from the very bytes that were verified.
    pub fn events(&self) -> impl Iterator<Item = ReplayJsonlEventView<'a>> + use<'a> {
        let limits = self.limits;
        let lines = self.bytes.split(|byte| *byte == b'\n');
        // Every line was read before, so only blank lines fail here.
        lines.filter_map(move |line| ReplayJsonlEventView::read(line, &limits).ok())
    }

    /// Returns the numbers that sum up the session.
    pub fn totals(&self) -> &ReplayTotals {
        &self.totals
    }
}

/// Verifies bytes that should be a replay and returns it only if every check holds. Without a receipt,
/// the replay is compared only with itself.
///
/// # Errors
/// [`NotVerified`] with the report if any check fails.
pub fn verify_or_err<'a>(
    bytes: &'a [u8],
    replay_options: &ReplayJsonlOptions<'_>,
    options: &Options,
) -> Result<Verified<ReplayView<'a>>, NotVerified> {
    match ReplayVerifier::new(replay_options, options).run(bytes) {
        Ok((report, totals)) => {
            Verified::if_pass(ReplayView { bytes, limits: options.limits, totals }, report)
        }
        Err(error) => Err(super::read_error_report(&error).into()),
    }
}
