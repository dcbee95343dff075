//! Decisions on actions, and the approvals that some of them wait for.

use core::time::Duration;
use std::borrow::Cow;

use super::text;
use crate::warden::{Action, SignerType};

/// A decision on an action that is no request that goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDecision<'a> {
    /// Time of the decision, since 1970.
    pub at: Duration,
    /// Kind of the action.
    pub action: Action,
    /// Name of the model or tool.
    pub name: Cow<'a, str>,
    /// Rule that denies the action, and why; `None` if it is allowed.
    pub denial: Option<(Cow<'a, str>, Cow<'a, str>)>,
    /// Approval that was needed.
    pub approval_id: Option<Cow<'a, str>>,
    /// Id and input of a tool's call.
    pub call: Option<(Cow<'a, str>, Cow<'a, str>)>,
}

/// News of an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalNews<'a> {
    /// The approval is asked for.
    Requested {
        /// Kind of the action.
        action: Action,
        /// Name of the model or tool.
        name: Cow<'a, str>,
        /// SHA-256 of the input, in hexadecimal.
        input_hash: Cow<'a, str>,
        /// Rule that asks for the approval.
        rule: Cow<'a, str>,
        /// Kinds of signers who may approve; empty for anyone.
        signer_types: Vec<SignerType>,
    },
    /// The approval was granted.
    Granted {
        /// The approver's signed token.
        token: Cow<'a, str>,
    },
    /// The approval was not granted.
    Denied {
        /// Reason.
        reason: Cow<'a, str>,
    },
    /// An answer came that does not hold.
    Refused {
        /// Name of the fault, for programs.
        code: Cow<'a, str>,
        /// The fault, for people.
        why: Cow<'a, str>,
    },
}

impl PolicyDecision<'_> {
    /// Returns the same with nothing borrowed.
    pub fn into_owned(self) -> PolicyDecision<'static> {
        let pair = |(first, second)| (text(first), text(second));
        PolicyDecision {
            at: self.at,
            action: self.action,
            name: text(self.name),
            denial: self.denial.map(pair),
            approval_id: self.approval_id.map(text),
            call: self.call.map(pair),
        }
    }
}

impl ApprovalNews<'_> {
    /// Returns the same with nothing borrowed.
    pub fn into_owned(self) -> ApprovalNews<'static> {
        match self {
            Self::Requested { action, name, input_hash, rule, signer_types } => ApprovalNews::Requested {
                action,
                name: text(name),
                input_hash: text(input_hash),
                rule: text(rule),
                signer_types,
            },
            Self::Granted { token } => ApprovalNews::Granted { token: text(token) },
            Self::Denied { reason } => ApprovalNews::Denied { reason: text(reason) },
            Self::Refused { code, why } => ApprovalNews::Refused { code: text(code), why: text(why) },
        }
    }
}
