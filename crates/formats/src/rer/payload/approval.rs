//! Payloads of approvals: requested, granted, denied.

use super::payload;
use super::vocabulary::EventSource;
use crate::rer::envelope::policy::Action;

payload! {
    /// Payload of `rer.approval.requested`.
    ApprovalRequested, ApprovalRequestedView;
    /// Kind of action.
    action: required word(Action),
    /// Id of the approval question.
    approval_id: required text,
    /// SHA-256 of the action's input, in hexadecimal.
    input_hash: required text,
    /// Model that is to be called, if it is one.
    model: optional text,
    /// Paths in the envelope of the rules that ask for the approval, joined by commas.
    rule: required text,
    /// Kinds of signer that may approve; empty for anyone.
    signer_types: required texts,
    /// Origin of the event.
    source: required word(EventSource),
    /// Tool that is to be called, if it is one.
    tool: optional text,
}

payload! {
    /// Payload of `rer.approval.granted`.
    ApprovalGranted, ApprovalGrantedView;
    /// Id of the approval.
    approval_id: required text,
    /// Origin of the event.
    source: required word(EventSource),
    /// Signed token; see [`ApprovalToken`](crate::rer::approval::ApprovalToken).
    token: required json,
}

payload! {
    /// Payload of `rer.approval.denied`.
    ApprovalDenied, ApprovalDeniedView;
    /// Id of the approval.
    approval_id: required text,
    /// Reason in words.
    reason: required text,
    /// Origin of the event.
    source: required word(EventSource),
}
