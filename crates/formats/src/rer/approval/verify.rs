//! Verification of a token against an approval question. Pure: all inputs are arguments, the time included.
//!
//! Start reading at [`verify_token`].

use std::collections::BTreeSet;

use super::token::{ApprovalDecision, ApprovalToken, TokenFault};
use crate::key::{KeyId, PublicKey};
use crate::rer::envelope::permission::SignerType;
use crate::rer::envelope::policy::Action;
use reenact_json::Digest;

/// Key whose approvals count, and the kind of its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approver {
    /// Key that the approver signs with.
    pub key: PublicKey,
    /// Kind of approver, as registered with the key.
    pub signer_type: SignerType,
}

/// Approval question: the facts that a token must be bound to.
#[derive(Debug, Clone, Copy)]
pub struct ApprovalQuestion<'a> {
    /// Id of the run.
    pub run_id: &'a str,
    /// Id of the question.
    pub approval_id: &'a str,
    /// Kind of action.
    pub action: Action,
    /// Name of the model or tool.
    pub name: &'a str,
    /// Hash of the action's input; see [`input_hash`](super::input_hash).
    pub input_hash: Digest,
    /// Kinds of approver that may answer; `None` for any.
    pub signer_types: Option<&'a [SignerType]>,
    /// Keys that may answer: those that the envelope pins for this action and name.
    pub pinned: &'a BTreeSet<KeyId>,
}

/// Valid answer to an approval question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalVerdict {
    /// The action may happen, once.
    Granted {
        /// Kind of approver.
        signer_type: SignerType,
    },
    /// The action may not happen.
    Denied {
        /// Kind of approver.
        signer_type: SignerType,
        /// Reason, in the approver's words.
        reason: Option<String>,
    },
}

/// Reason why a token is not a valid answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenRefusal {
    /// The bytes are not a token.
    #[error("the token {0}")]
    Malformed(TokenFault),
    /// The key is none of the approvers'.
    #[error("the token is signed with the key {key_id}, which is none of the approvers'")]
    UnknownKey {
        /// Key that the token names.
        key_id: KeyId,
    },
    /// The key is an approver's, but the envelope does not pin it for this action.
    #[error(
        "the token is signed with the key {key_id}, which the envelope does not pin as an approver of this"
    )]
    NotPinned {
        /// Key that signed.
        key_id: KeyId,
    },
    /// The signature is not that of the named key over this token.
    #[error("the token's signature is forged, or the token was changed after it was signed")]
    Forged,
    /// The token answers another question.
    #[error("the token answers another question")]
    OtherApproval,
    /// The token is of another run.
    #[error("the token is of another run")]
    OtherRun,
    /// The token is for another action.
    #[error("the token is for another action")]
    OtherAction,
    /// The token is for another model or tool.
    #[error("the token is for another model or tool")]
    OtherName,
    /// The token is for the same action with another input.
    #[error("the token is for another input")]
    OtherInput,
    /// The token claims another kind of approver than its key is registered with.
    #[error("the token says that its signer is of type {}, the key is registered as {}", .claimed.name(), .registered.name())]
    WrongSignerType {
        /// Kind that the token claims.
        claimed: SignerType,
        /// Kind that the key is registered with.
        registered: SignerType,
    },
    /// Approvers of this kind may not approve the action.
    #[error("a signer of type {} may not approve this", .signer_type.name())]
    SignerTypeNotAllowed {
        /// Kind of approver.
        signer_type: SignerType,
    },
    /// The token was issued later than now.
    #[error("the token is not valid yet: it was issued in the future")]
    NotYetValid,
    /// The token has expired.
    #[error("the token has expired")]
    Expired,
}

impl TokenRefusal {
    /// Returns a stable word for programs to branch on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::UnknownKey { .. } => "foreign",
            Self::NotPinned { .. } => "not_pinned",
            Self::Forged => "forged",
            Self::OtherApproval => "other_approval",
            Self::OtherRun => "other_run",
            Self::OtherAction => "other_action",
            Self::OtherName => "other_name",
            Self::OtherInput => "other_input",
            Self::WrongSignerType { .. } => "wrong_signer_type",
            Self::SignerTypeNotAllowed { .. } => "signer_type_not_allowed",
            Self::NotYetValid => "not_yet_valid",
            Self::Expired => "expired",
        }
    }
}

/// Largest difference by which the approver's clock may be ahead of ours, in nanoseconds: one minute. A token that is
/// bound to a question cannot be older than the question, so nothing is gained by one from the near future.
pub const MAX_CLOCK_SKEW_NANOS: i128 = 60_000_000_000;

/// Verifies that a token is a valid answer to a question. `now` is in nanoseconds since 1970.
///
/// # Errors
///
/// [`TokenRefusal`], the first reason in this order: form, key, signature, pin, binding, kind of approver, time.
pub fn verify_token(
    token: &[u8],
    expected: &ApprovalQuestion<'_>,
    approvers: &[Approver],
    now: i128,
) -> Result<ApprovalVerdict, TokenRefusal> {
    let token = ApprovalToken::read(token).map_err(TokenRefusal::Malformed)?;
    let known = || approvers.iter().filter(|approver| approver.key.id() == token.key_id);
    let Some(first) = known().next() else { return Err(TokenRefusal::UnknownKey { key_id: token.key_id }) };
    if !token.is_signed_by(&first.key) {
        return Err(TokenRefusal::Forged);
    }
    if !expected.pinned.contains(&token.key_id) {
        return Err(TokenRefusal::NotPinned { key_id: token.key_id });
    }
    if token.run_id != expected.run_id {
        return Err(TokenRefusal::OtherRun);
    }
    token.check_binding(expected.approval_id, expected.action, expected.name)?;
    token.check_input(&expected.input_hash)?;
    let signer_type = token.signer_type;
    // One key may be registered under two names, and two types.
    if !known().any(|approver| approver.signer_type == signer_type) {
        return Err(TokenRefusal::WrongSignerType { claimed: signer_type, registered: first.signer_type });
    }
    if expected.signer_types.is_some_and(|types| !types.contains(&signer_type)) {
        return Err(TokenRefusal::SignerTypeNotAllowed { signer_type });
    }
    token.check_time(now)?;
    Ok(match token.decision {
        ApprovalDecision::Granted => ApprovalVerdict::Granted { signer_type },
        ApprovalDecision::Denied { reason } => ApprovalVerdict::Denied { signer_type, reason },
    })
}

impl ApprovalToken {
    /// Checks that the token answers this question about this action.
    ///
    /// # Errors
    ///
    /// [`TokenRefusal`] with the first difference.
    pub fn check_binding(&self, approval_id: &str, action: Action, name: &str) -> Result<(), TokenRefusal> {
        match () {
            () if self.approval_id != approval_id => Err(TokenRefusal::OtherApproval),
            () if self.action != action => Err(TokenRefusal::OtherAction),
            () if self.name != name => Err(TokenRefusal::OtherName),
            () => Ok(()),
        }
    }

    /// Checks that the token is for an input, by its hash. Takes the same time wherever the hashes differ (RER §11.7).
    ///
    /// # Errors
    ///
    /// [`TokenRefusal::OtherInput`].
    pub fn check_input(&self, input_hash: &Digest) -> Result<(), TokenRefusal> {
        if self.input_hash.is_hex(&input_hash.hex()) { Ok(()) } else { Err(TokenRefusal::OtherInput) }
    }

    /// Checks that the token was valid at a moment, in nanoseconds since 1970.
    ///
    /// # Errors
    ///
    /// [`TokenRefusal::NotYetValid`] or [`TokenRefusal::Expired`].
    pub fn check_time(&self, at: i128) -> Result<(), TokenRefusal> {
        if self.issued_at > at.saturating_add(MAX_CLOCK_SKEW_NANOS) {
            return Err(TokenRefusal::NotYetValid);
        }
        if at >= self.expires_at { Err(TokenRefusal::Expired) } else { Ok(()) }
    }
}
