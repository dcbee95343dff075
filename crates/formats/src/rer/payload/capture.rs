//! Payloads of errors, of gaps in the capture, of recoveries, and of what went past the models: input and connections.

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

payload! {
    /// Payload of `rer.stdin.read`: what was piped into the command.
    StdinRead, StdinReadView;
    /// Bytes that the command was given, from the first on.
    body: required body,
    /// True if the body is all that came before the end of the input, or of the run.
    complete: required flag,
    /// Origin of the event.
    source: required word(EventSource),
}

payload! {
    /// Payload of `rer.net.seen`: connections of the command's processes that did not go through the recorder.
    NetSeen, NetSeenView without text;
    /// Addresses at the other end, each with its port, sorted.
    addresses: required addresses,
    /// True: the tables of the system were looked at now and then, so that short connections may be missing.
    sampled: required flag,
    /// Origin of the event.
    source: required word(EventSource),
}
