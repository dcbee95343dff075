//! Decisions on actions, and the approvals that some of them wait for.

use core::time::Duration;
use std::borrow::Cow;

use super::owned_text;
use crate::policy_engine::{Action, SignerType};

/// Decision on an action that is no outgoing request, such as a tool call in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionDecision<'a> {
    /// Time of the decision, since 1970.
    pub at: Duration,
    /// Kind of the action.
    pub action: Action,
    /// Name of the model or tool.
    pub name: Cow<'a, str>,
    /// Name of the rule that denies the action, and the reason; `None` if the action is allowed.
    pub denial: Option<(Cow<'a, str>, Cow<'a, str>)>,
    /// False if a denied action happens all the same.
    pub is_enforced: bool,
    /// Id of the approval that was needed.
    pub approval_id: Option<Cow<'a, str>>,
    /// Id and input of a tool call.
    pub call: Option<(Cow<'a, str>, Cow<'a, str>)>,
}

/// New state of an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalUpdate<'a> {
    /// The approval is asked for.
    Requested {
        /// Kind of the action.
        action: Action,
        /// Name of the model or tool.
        name: Cow<'a, str>,
        /// SHA-256 of the input, in hexadecimal.
        input_hash: Cow<'a, str>,
        /// Rule that requires the approval.
        rule: Cow<'a, str>,
        /// Types of signers who may approve; empty for any.
        signer_types: Vec<SignerType>,
    },
    /// The approval was granted.
    Granted {
        /// Signed token of the approver.
        token: Cow<'a, str>,
    },
    /// The approval was denied, or not given in time.
    Denied {
        /// Reason in words.
        reason: Cow<'a, str>,
    },
    /// An invalid answer came.
    Refused {
        /// Short name of the fault, for programs.
        code: Cow<'a, str>,
        /// Description of the fault, for people.
        why: Cow<'a, str>,
    },
}

impl ActionDecision<'_> {
    /// Returns a copy that borrows nothing.
    pub fn into_owned(self) -> ActionDecision<'static> {
        let pair = |(first, second)| (owned_text(first), owned_text(second));
        ActionDecision {
            at: self.at,
            action: self.action,
            name: owned_text(self.name),
            denial: self.denial.map(pair),
            is_enforced: self.is_enforced,
            approval_id: self.approval_id.map(owned_text),
            call: self.call.map(pair),
        }
    }
}

impl ApprovalUpdate<'_> {
    /// Returns a copy that borrows nothing.
    pub fn into_owned(self) -> ApprovalUpdate<'static> {
        match self {
            Self::Requested { action, name, input_hash, rule, signer_types } => ApprovalUpdate::Requested {
                action,
                name: owned_text(name),
                input_hash: owned_text(input_hash),
                rule: owned_text(rule),
                signer_types,
            },
            Self::Granted { token } => ApprovalUpdate::Granted { token: owned_text(token) },
            Self::Denied { reason } => ApprovalUpdate::Denied { reason: owned_text(reason) },
            Self::Refused { code, why } => {
                ApprovalUpdate::Refused { code: owned_text(code), why: owned_text(why) }
            }
        }
    }
}
