//! Payloads of errors, and of gaps in the capture.

use super::payload;
use super::vocabulary::EventSource;

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
