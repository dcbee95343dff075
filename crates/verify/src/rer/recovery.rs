//! Signs in the events that the recorder did not vouch for the end of the run.
//!
//! Types of events are chained and survive withholding, so two types of their own say it. Records of 0.1.0 have no such
//! types: there the payload of `rer.run.ended` tells, and a withheld one could hide it.

use core::fmt;

use reenact_formats::rer::payload::{PayloadWord, RunStatus};
use reenact_formats::rer::{EventType, RerEventItem, RerEventView};

/// Reason why the verdict on a record that holds is `recovered`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecoverySign {
    /// The run was sealed after its recorder had stopped.
    Recovered,
    /// Someone changed the journal while the run was recorded.
    JournalChanged,
    /// The run ended as recovered runs of 0.1.0 do.
    Crashed,
    /// The end of the run is withheld, so that it may have ended as [`RecoverySign::Crashed`].
    WithheldEnd,
}

impl RecoverySign {
    /// Returns the sign that an event is; `None` for nearly all events.
    pub(super) fn of(event: &RerEventView<'_>) -> Option<Self> {
        match EventType::of(event.event_type?)? {
            EventType::RunRecovered => Some(Self::Recovered),
            EventType::JournalChanged => Some(Self::JournalChanged),
            EventType::RunEnded if event.is_redacted() => Some(Self::WithheldEnd),
            EventType::RunEnded => {
                let payload = event.payload?;
                let status = payload.member("status").and_then(RunStatus::of);
                // An agent that a signal ended has that status, too; the recorder saw its end.
                let reason = payload.member("reason").and_then(|reason| reason.string());
                let by_signal = reason.is_some_and(|reason| reason.starts_with("signal "));
                (status == Some(RunStatus::Crashed) && !by_signal).then_some(Self::Crashed)
            }
            _ => None,
        }
    }

    /// Returns true if the sign counts in records of 0.1.0 alone, whose recovered runs have no event of their own.
    pub(super) fn is_of_old_records(self) -> bool {
        matches!(self, Self::Crashed | Self::WithheldEnd)
    }
}

/// Returns true unless the first event of a record says, by its member `payloads`, that the record is newer than 0.1.0.
pub(super) fn may_be_old_record(first: Option<&RerEventItem<'_>>) -> bool {
    match first {
        Some(RerEventItem::Event(event)) if !event.is_redacted() => {
            event.payload.is_none_or(|payload| payload.member("payloads").is_none())
        }
        _ => true,
    }
}

impl fmt::Display for RecoverySign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Recovered => "the run was recovered: it was sealed after its recorder had stopped",
            Self::JournalChanged => {
                "the journal was changed while the run was recorded; the recorder kept what it could vouch for"
            }
            Self::Crashed => "the run ended as crashed: it was sealed after its recorder had stopped",
            Self::WithheldEnd => "the end of the run is withheld: it may have been recovered",
        })
    }
}
