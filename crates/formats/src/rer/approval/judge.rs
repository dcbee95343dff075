//! Whether a token answers a question. Pure: everything it knows is in its arguments.

use super::token::{Decision, Token, TokenFault};
use crate::key::{KeyId, PublicKey};
use crate::rer::envelope::decide::Action;
use crate::rer::envelope::permission::SignerType;
use reenact_json::Digest;

/// Someone whose word counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approver {
    /// The key that they sign with.
    pub key: PublicKey,
    /// What they are, as it is registered with the key.
    pub signer_type: SignerType,
}

/// The question: what a token must be bound to.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The run.
    pub run_id: &'a str,
    /// The question's own id.
    pub approval_id: &'a str,
    /// What is to happen.
    pub action: Action,
    /// Of which model or tool.
    pub name: &'a str,
    /// With what.
    pub input_hash: Digest,
    /// Who may answer; `None` any approver.
    pub signer_types: Option<&'a [SignerType]>,
}

/// An answer that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may happen, once.
    Granted {
        /// What the approver is.
        signer_type: SignerType,
    },
    /// It may not.
    Denied {
        /// What the approver is.
        signer_type: SignerType,
        /// Why, in the approver's words.
        reason: Option<String>,
    },
}

/// Why a token is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No token at all.
    #[error("the token {0}")]
    Malformed(TokenFault),
    /// Signed with a key that is none of the approvers'.
    #[error("the token is signed with the key {key_id}, which is none of the approvers'")]
    Foreign {
        /// The key that it names.
        key_id: KeyId,
    },
    /// The signature is not that of the key that it names.
    #[error("the token's signature is forged, or the token was changed after it was signed")]
    Forged,
    /// The answer to another question.
    #[error("the token answers another question")]
    OtherApproval,
    /// Of another run.
    #[error("the token is of another run")]
    OtherRun,
    /// For another action.
    #[error("the token is for another action")]
    OtherAction,
    /// For another model or tool.
    #[error("the token is for another model or tool")]
    OtherName,
    /// For the same action with another input.
    #[error("the token is for another input")]
    OtherInput,
    /// It claims a type that is not the one registered with its key.
    #[error("the token says that its signer is of type {}, the key is registered as {}", .said.name(), .registered.name())]
    WrongSignerType {
        /// What the token says.
        said: SignerType,
        /// What is known of the key.
        registered: SignerType,
    },
    /// An approver of a type that may not approve this.
    #[error("a signer of type {} may not approve this", .signer_type.name())]
    SignerTypeNotAllowed {
        /// The type.
        signer_type: SignerType,
    },
    /// Signed later than now.
    #[error("the token is not valid yet: it was issued in the future")]
    NotYetValid,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
}

impl Refusal {
    /// A word that a program may branch on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::Foreign { .. } => "foreign",
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

/// How far the approver's clock may be ahead of ours. A token that is bound to a question cannot be older than it, so
/// nothing is won by one from the near future.
pub const SKEW: i128 = 60_000_000_000;

/// Whether a token answers a question now, in nanoseconds since 1970.
pub fn judge(
    token: &[u8],
    expected: &Expected<'_>,
    approvers: &[Approver],
    now: i128,
) -> Result<Verdict, Refusal> {
    let token = Token::read(token).map_err(Refusal::Malformed)?;
    let known = || approvers.iter().filter(|approver| approver.key.id() == token.key_id);
    let Some(first) = known().next() else { return Err(Refusal::Foreign { key_id: token.key_id }) };
    if !token.is_signed_by(&first.key) {
        return Err(Refusal::Forged);
    }
    for (differs, refusal) in [
        (token.run_id != expected.run_id, Refusal::OtherRun),
        (token.approval_id != expected.approval_id, Refusal::OtherApproval),
        (token.action != expected.action, Refusal::OtherAction),
        (token.name != expected.name, Refusal::OtherName),
        (token.input_hash != expected.input_hash, Refusal::OtherInput),
    ] {
        if differs {
            return Err(refusal);
        }
    }
    let signer_type = token.signer_type;
    // One key may be registered under two names, and two types.
    if !known().any(|approver| approver.signer_type == signer_type) {
        return Err(Refusal::WrongSignerType { said: signer_type, registered: first.signer_type });
    }
    if expected.signer_types.is_some_and(|types| !types.contains(&signer_type)) {
        return Err(Refusal::SignerTypeNotAllowed { signer_type });
    }
    if token.issued_at > now.saturating_add(SKEW) {
        return Err(Refusal::NotYetValid);
    }
    if now >= token.expires_at {
        return Err(Refusal::Expired);
    }
    Ok(match token.decision {
        Decision::Granted => Verdict::Granted { signer_type },
        Decision::Denied { reason } => Verdict::Denied { signer_type, reason },
    })
}
