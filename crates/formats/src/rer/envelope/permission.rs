//! What an envelope permits, read from a document of the published shape.

use std::collections::BTreeSet;

use reenact_json::{Kind, Value};

use super::money::{Money, Rounding};
use crate::rer::structure::{self, Place, Problem, StructureFault};
use crate::rer::{Version, time};

/// The permissions and limits of a run (§5.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Models that may be called, by their exact names. Empty: none.
    pub allowed_models: BTreeSet<String>,
    /// Tools that may be called, by their exact names. Empty: none.
    pub allowed_tools: BTreeSet<String>,
    /// How many actions (calls of models and tools) there may be.
    pub max_steps: Option<u64>,
    /// What the run may cost. Zero: nothing.
    pub max_spend: Option<Money>,
    /// How many actions there may be in any 60 seconds.
    pub rate_limit_rpm: Option<u64>,
    /// When the permission ends, in nanoseconds since 1970; the moment itself is no longer permitted.
    pub expiry: Option<i128>,
    /// What needs an approval.
    pub required_approvals: Vec<ApprovalRule>,
    /// Who must have approved something by the end of the run.
    pub required_signer_types: Vec<SignerType>,
    /// Whether the runtime enforced it, as it says itself.
    pub enforcement: Enforcement,
}

/// An action that needs an approval (§8.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRule {
    /// The action, such as `tool.call`.
    pub action: String,
    /// Which tools; `None` all of them.
    pub tool_pattern: Option<String>,
    /// Which models; `None` all of them.
    pub model_pattern: Option<String>,
    /// Who may approve; `None` anyone.
    pub signer_types: Option<Vec<SignerType>>,
}

/// Who approves (§5.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignerType {
    /// A person.
    Human,
    /// Someone or something on a person's behalf.
    Delegate,
    /// A program.
    Automated,
}

impl SignerType {
    /// The identifier.
    pub fn name(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Delegate => "delegate",
            Self::Automated => "automated",
        }
    }

    /// The type of that identifier.
    pub fn of(value: Value<'_>) -> Option<Self> {
        [Self::Human, Self::Delegate, Self::Automated].into_iter().find(|known| value.is_string(known.name()))
    }
}

/// What became of the permissions while the run went on (`metadata.reenact.enforcement`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// They were enforced, or nothing says otherwise.
    Enforced,
    /// The run was only watched; the lists are `["*"]` and restrict nothing.
    Observed,
    /// The run comes from another format, which knew no permissions.
    Imported,
}

impl Envelope {
    /// Reads an envelope; its first fault if it is not of the published shape.
    pub fn read(envelope: Value<'_>) -> Result<Self, StructureFault> {
        let mut fault = None;
        let version = Version::of(envelope.member("envelope_version"), Version::envelope);
        structure::envelope(Some(envelope), version, &mut |found| {
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
            max_steps: limit("max_steps").and_then(|limit| limit.whole()),
            max_spend: limit("max_spend_usd").and_then(|limit| Money::of(limit, Rounding::Down)),
            rate_limit_rpm: limit("rate_limit_rpm").and_then(|limit| limit.whole()),
            expiry: envelope.member("expiry").map(expiry).transpose()?,
            required_approvals: approval_rules(envelope.member("required_approvals")),
            required_signer_types: signer_types(envelope.member("required_signer_types")).unwrap_or_default(),
            enforcement: enforcement(envelope),
        })
    }
}

/// The syntax allows the 30th of February; an expiry on that day must not read as none.
fn expiry(expiry: Value<'_>) -> Result<i128, StructureFault> {
    let fault = || StructureFault {
        place: Place::Member("envelope.expiry"),
        problem: Problem::Value { wanted: "a day that the calendar has" },
    };
    expiry.string().and_then(|text| time::instant(&text)).ok_or_else(fault)
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

fn enforcement(envelope: Value<'_>) -> Enforcement {
    let said = envelope
        .member("metadata")
        .and_then(|metadata| metadata.member("reenact"))
        .filter(|ours| ours.kind() == Kind::Object)
        .and_then(|ours| ours.member("enforcement"));
    match said {
        Some(word) if word.is_string("observe") => Enforcement::Observed,
        Some(word) if word.is_string("imported") => Enforcement::Imported,
        _ => Enforcement::Enforced,
    }
}
