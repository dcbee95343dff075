//! Payloads of errors, of gaps in the capture, and of recoveries.

use super::payload;
use super::vocabulary::{EventSource, RecoverySource};

payload! {
    /// Payload of `rer.error.raised`.
    ErrorRaised, ErrorRaisedView;
    /// Place of the error, such as `upstream`.
    boundary: required text,
    /// Type of the error.
    error_type: required text,
    /// Message of the error.
    message: required text,
    /// Origin of the event.
    source: required word(EventSource),
}

payload! {
    /// Payload of `rer.capture.gap`.
    CaptureGap, CaptureGapView;
    /// Origin of the event.
    source: required word(EventSource),
    /// Step that did not return, if the gap is one step's.
    step_id: optional step,
    /// Description of the missing part.
    what: required text,
    /// Reason in words.
    why: required text,
}

payload! {
    /// Payload of `rer.run.recovered`, which comes before `rer.run.ended`.
    RunRecovered, RunRecoveredView without text;
    /// Origin of what a recovery knew of the run.
    from: required word(RecoverySource),
    /// Number of events that the journal once had and that are gone; left out if none is known to be.
    lost: optional whole,
    /// Origin of the event.
    source: required word(EventSource),
}

payload! {
    /// Payload of `rer.journal.changed`.
    JournalChanged, JournalChangedView without text;
    /// Index of the first event that is not known to be what was written.
    at: required whole,
    /// Number of events before this one that are what was written.
    kept: required whole,
    /// Origin of the event.
    source: required word(EventSource),
}
