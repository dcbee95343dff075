//! Findings of a trial: actions that would have been denied, and places where nobody can tell.

use reenact_capture::TrialDecision;
use reenact_record::policy_engine::Action;

/// Verdict on a run, from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::command::policy) enum TrialVerdict {
    /// Nothing would have been denied.
    Kept,
    /// Nothing is known to be denied, and not everything is known.
    Unclear,
    /// Something would have been denied.
    Blocked,
}

impl TrialVerdict {
    /// Returns the word of reports.
    pub(in crate::command::policy) fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Unclear => "unclear",
            Self::Blocked => "blocked",
        }
    }
}

/// Finding at one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::command::policy) struct TrialFinding {
    /// Index of the event, from 0, as `verify` names events.
    pub(in crate::command::policy) event: usize,
    /// Kind of the action; `None` if the record does not tell.
    pub(in crate::command::policy) action: Option<Action>,
    /// Model or tool. Untrusted text; empty if the record does not tell.
    pub(in crate::command::policy) name: String,
    /// Denial, or the reason why nobody can tell.
    pub(in crate::command::policy) outcome: TrialOutcome,
}

/// Kind of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::command::policy) enum TrialOutcome {
    /// The envelope would have denied the action, or held it until someone approves it.
    Denied {
        /// Rule, such as `allowed_models`.
        rule: String,
        /// Reason, as a refusal words it. Safe to print.
        reason: String,
    },
    /// No answer: the record does not tell.
    Unknown {
        /// Reason. Safe to print.
        reason: String,
    },
}

impl TrialFinding {
    /// Returns the finding of a decision; `None` if it allows the action.
    pub(super) fn of(event: usize, decision: TrialDecision) -> Option<Self> {
        let (rule, reason) = decision.denial?;
        let outcome = TrialOutcome::Denied { rule, reason };
        Some(Self { event, action: Some(decision.action), name: decision.name, outcome })
    }

    /// Returns a finding that says why nobody can tell.
    pub(super) fn unknown(event: usize, action: Option<Action>, reason: impl Into<String>) -> Self {
        let outcome = TrialOutcome::Unknown { reason: reason.into() };
        Self { event, action, name: String::new(), outcome }
    }

    /// Returns the verdict on a run with this finding alone.
    pub(in crate::command::policy) fn verdict(&self) -> TrialVerdict {
        match self.outcome {
            TrialOutcome::Denied { .. } => TrialVerdict::Blocked,
            TrialOutcome::Unknown { .. } => TrialVerdict::Unclear,
        }
    }
}
