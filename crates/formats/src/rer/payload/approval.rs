//! Approvals: asked for, granted, denied.

use super::payload;
use super::words::Source;
use crate::rer::envelope::decide::Action;

payload! {
    /// Payload of `rer.approval.requested`.
    ApprovalRequested, ApprovalRequestedView;
    /// Kind of action.
    action: required word(Action),
    /// Id of the approval.
    approval_id: required text,
    /// SHA-256 of the action's input, in hexadecimal.
    input_hash: required text,
    /// Model that is to be called, if it is one.
    model: optional text,
    /// Place of the rule that asks for the approval, in the envelope.
    rule: required text,
    /// Kinds of signer that may approve; empty for anyone.
    signer_types: required texts,
    /// How the request is known.
    source: required word(Source),
    /// Tool that is to be called, if it is one.
    tool: optional text,
}

payload! {
    /// Payload of `rer.approval.granted`.
    ApprovalGranted, ApprovalGrantedView;
    /// Id of the approval.
    approval_id: required text,
    /// How the approval is known.
    source: required word(Source),
    /// Signed token.
    token: required json,
}

payload! {
    /// Payload of `rer.approval.denied`.
    ApprovalDenied, ApprovalDeniedView;
    /// Id of the approval.
    approval_id: required text,
    /// Reason in words.
    reason: required text,
    /// How the refusal is known.
    source: required word(Source),
}
