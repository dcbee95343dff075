//! Permissions and limits of an envelope, read from a document of the published shape.

use std::collections::BTreeSet;

use reenact_json::{Value, ValueKind};

use super::approvers::PinnedApprovers;
use super::authorization::Authorization;
use super::money::{Money, Rounding};
use crate::rer::structure::{self, RerPath, RerStructureFault, RerStructureProblem};
use crate::rer::{RerVersion, time};

/// Permissions and limits of a run (§5.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Models that may be called, by their exact names. Empty: none.
    pub allowed_models: BTreeSet<String>,
    /// Tools that may be called, by their exact names. Empty: none.
    pub allowed_tools: BTreeSet<String>,
    /// Largest number of actions (calls of models and tools).
    pub max_steps: Option<u64>,
    /// Largest amount that the run may cost. Zero: nothing may be spent.
    pub max_spend: Option<Money>,
    /// Largest number of actions in any 60 seconds.
    pub rate_limit_rpm: Option<u64>,
    /// Expiry of the permission, in nanoseconds since 1970; that instant itself is no longer permitted.
    pub expiry: Option<i128>,
    /// Actions that need an approval.
    pub required_approvals: Vec<ApprovalRule>,
    /// Kinds of approver that must have approved something by the end of the run.
    pub required_signer_types: Vec<SignerType>,
    /// Forms in requests that may pass although the recorder does not know them, by their paths (`metadata.allowed_forms`).
    pub allowed_forms: BTreeSet<String>,
    /// Keys that may approve, by action (`metadata.approvers`).
    pub approvers: PinnedApprovers,
    /// Last moment for which a platform authorises the envelope, in nanoseconds since 1970; `None` for no end. It binds even if
    /// the signature does not hold.
    pub authorised_until: Option<i128>,
    /// Enforcement by the runtime, as the runtime itself says.
    pub enforcement: EnvelopeEnforcement,
}

/// Rule for actions that need an approval (§8.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRule {
    /// Kind of action, such as `tool.call`.
    pub action: String,
    /// Pattern of tool names; `None` for all tools.
    pub tool_pattern: Option<String>,
    /// Pattern of model names; `None` for all models.
    pub model_pattern: Option<String>,
    /// Kinds of approver; `None` for any.
    pub signer_types: Option<Vec<SignerType>>,
}

/// Kind of approver (§5.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignerType {
    /// A person.
    Human,
    /// A person, or a program, on a person's behalf.
    Delegate,
    /// A program.
    Automated,
}

impl SignerType {
    /// Returns the identifier in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Delegate => "delegate",
            Self::Automated => "automated",
        }
    }

    /// Returns the kind that a string value names.
    pub fn of(value: Value<'_>) -> Option<Self> {
        [Self::Human, Self::Delegate, Self::Automated].into_iter().find(|known| value.is_string(known.name()))
    }
}

/// Enforcement of the permissions during the run (`metadata.reenact.enforcement`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvelopeEnforcement {
    /// The permissions were enforced, or nothing says otherwise.
    Enforced,
    /// The run was only observed; the lists are `["*"]` and restrict nothing.
    Observed,
    /// The run comes from another format, which has no permissions.
    Imported,
}

impl Envelope {
    /// Enforced envelope that permits no model and no tool, and limits nothing else: the rest of others.
    pub const PERMITTING_NOTHING: Self = Self {
        allowed_models: BTreeSet::new(),
        allowed_tools: BTreeSet::new(),
        max_steps: None,
        max_spend: None,
        rate_limit_rpm: None,
        expiry: None,
        required_approvals: Vec::new(),
        required_signer_types: Vec::new(),
        allowed_forms: BTreeSet::new(),
        approvers: PinnedApprovers::Absent,
        authorised_until: None,
        enforcement: EnvelopeEnforcement::Enforced,
    };

    /// Reads an envelope.
    ///
    /// # Errors
    ///
    /// The first fault, if the envelope is not of the published shape.
    pub fn read(envelope: Value<'_>) -> Result<Self, RerStructureFault> {
        let mut fault = None;
        let version = RerVersion::of(envelope.member("envelope_version"), RerVersion::envelope);
        structure::check_envelope(Some(envelope), version, &mut |found| {
            fault.get_or_insert(found);
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        let permissions = envelope.member("permissions");
        let limits = envelope.member("limits");
        let limit = |name: &str| limits.and_then(|limits| limits.member(name));
        Ok(Self {
            allowed_models: strings(permissions.and_then(|lists| lists.member("allowed_models"))),
            allowed_tools: strings(permissions.and_then(|lists| lists.member("allowed_tools"))),
            max_steps: limit("max_steps").and_then(|limit| limit.unsigned_integer()),
            max_spend: limit("max_spend_usd").and_then(|limit| Money::of(limit, Rounding::Down)),
            rate_limit_rpm: limit("rate_limit_rpm").and_then(|limit| limit.unsigned_integer()),
            expiry: envelope.member("expiry").map(expiry).transpose()?,
            required_approvals: approval_rules(envelope.member("required_approvals")),
            required_signer_types: signer_types(envelope.member("required_signer_types")).unwrap_or_default(),
            allowed_forms: allowed_forms(envelope)?,
            approvers: PinnedApprovers::read(envelope),
            authorised_until: Authorization::read(envelope)
                .ok()
                .flatten()
                .and_then(|authorization| authorization.not_after()),
            enforcement: enforcement(envelope),
        })
    }
}

/// Returns the expiry as an instant. The syntax allows the 30th of February; an expiry on that day must not read as
/// none.
fn expiry(expiry: Value<'_>) -> Result<i128, RerStructureFault> {
    let fault = || RerStructureFault {
        path: RerPath::Member("envelope.expiry"),
        problem: RerStructureProblem::Value { wanted: "a day that the calendar has" },
    };
    expiry.string().and_then(|text| time::instant(&text)).ok_or_else(fault)
}

/// Returns `metadata.allowed_forms`: a list of paths, each of which begins with `$`.
fn allowed_forms(envelope: Value<'_>) -> Result<BTreeSet<String>, RerStructureFault> {
    let list = envelope.member("metadata").and_then(|metadata| metadata.member("allowed_forms"));
    let is_path = |path: Value<'_>| path.string().is_some_and(|path| path.starts_with('$'));
    match list {
        Some(list) if list.kind() != ValueKind::Array || !list.elements().all(is_path) => {
            Err(RerStructureFault {
                path: RerPath::Member("envelope.metadata.allowed_forms"),
                problem: RerStructureProblem::Value { wanted: "a list of paths that begin with $" },
            })
        }
        list => Ok(strings(list)),
    }
}

fn strings(list: Option<Value<'_>>) -> BTreeSet<String> {
    list.into_iter()
        .flat_map(|list| list.elements())
        .filter_map(|item| Some(item.string()?.into_owned()))
        .collect()
}

fn signer_types(list: Option<Value<'_>>) -> Option<Vec<SignerType>> {
    list.map(|list| list.elements().filter_map(SignerType::of).collect())
}

fn approval_rules(list: Option<Value<'_>>) -> Vec<ApprovalRule> {
    let rule = |rule: Value<'_>| {
        let text = |name: &str| Some(rule.member(name)?.string()?.into_owned());
        Some(ApprovalRule {
            action: text("action")?,
            tool_pattern: text("tool_pattern"),
            model_pattern: text("model_pattern"),
            signer_types: signer_types(rule.member("signer_types")),
        })
    };
    list.into_iter().flat_map(|list| list.elements()).filter_map(rule).collect()
}

fn enforcement(envelope: Value<'_>) -> EnvelopeEnforcement {
    let enforcement = envelope
        .member("metadata")
        .and_then(|metadata| metadata.member("reenact"))
        .filter(|ours| ours.kind() == ValueKind::Object)
        .and_then(|ours| ours.member("enforcement"));
    match enforcement {
        Some(word) if word.is_string("observe") => EnvelopeEnforcement::Observed,
        Some(word) if word.is_string("imported") => EnvelopeEnforcement::Imported,
        _ => EnvelopeEnforcement::Enforced,
    }
}
