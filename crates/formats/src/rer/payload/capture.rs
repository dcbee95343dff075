//! Errors, and gaps in what was captured.

use super::payload;
use super::words::Source;

payload! {
    /// Payload of `rer.error.raised`.
    ErrorRaised, ErrorRaisedView;
    /// Place where it went wrong, such as `upstream`.
    boundary: required text,
    /// Type of the error.
    error_type: required text,
    /// What was said.
    message: required text,
    /// How the error is known.
    source: required word(Source),
}

payload! {
    /// Payload of `rer.capture.gap`.
    CaptureGap, CaptureGapView;
    /// How the gap is known.
    source: required word(Source),
    /// Step that did not return, if the gap is one step's.
    step_id: optional step,
    /// What was not captured.
    what: required text,
    /// Reason in words.
    why: required text,
}
