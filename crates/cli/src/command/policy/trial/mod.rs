//! Trial of an envelope on a recorded run: the events of the run, told to the gate's own trial one by one.
//!
//! A record may hold less than the gate would have seen: payloads are withheld, other formats hold no requests, and what was denied
//! when it was recorded never happened. Such places are findings of their own, since what cannot be told is not allowed. Start
//! reading at [`try_envelope`].

mod finding;
mod walk;

use reenact_capture::TrialTotals;
use reenact_formats::rer::envelope::permission::Envelope;
use reenact_record::PolicyEngine;
use reenact_run::Run;
use reenact_wire::price::PriceTable;

pub(super) use finding::{TrialFinding, TrialOutcome, TrialVerdict};
pub(super) use walk::PermissionNeeds;
use walk::RunWalk;

/// Result of a trial.
pub(super) struct EnvelopeTrial {
    /// Findings in the order of the events. What the envelope allows is no finding.
    pub(super) findings: Vec<TrialFinding>,
    /// Sums over the actions.
    pub(super) totals: TrialTotals,
    /// Permissions without which something would have been denied.
    pub(super) needs: PermissionNeeds,
    /// Base paths of upstreams that the trial assumes, since the record does not tell them, by provider. Only those that are not the
    /// vendor's own.
    pub(super) assumed_bases: Vec<(String, String)>,
    /// True if every action tells its time.
    pub(super) has_times: bool,
}

impl EnvelopeTrial {
    /// Returns the verdict on the run: the worst of its findings.
    pub(super) fn verdict(&self) -> TrialVerdict {
        self.findings.iter().map(TrialFinding::verdict).max().unwrap_or(TrialVerdict::Kept)
    }
}

/// Tries an envelope on a run. Every action counts as done, whatever the decision on it is.
pub(super) fn try_envelope(envelope: &Envelope, run: &Run, prices: &PriceTable) -> EnvelopeTrial {
    let depends_on_time =
        envelope.expiry.is_some() || envelope.rate_limit_rpm.is_some() || envelope.authorised_until.is_some();
    RunWalk::new(PolicyEngine::new(envelope.clone()), prices, depends_on_time).through(run)
}
