//! Pinned approvers: the keys that may approve an action, in `metadata.approvers`.
//!
//! ```json
//! [{"action":"tool.call","keys":["…"],"tool_pattern":"pay_*"}]
//! ```
//!
//! An entry covers actions just as an approval rule does. A call may be approved by the keys of every entry that covers
//! it, and by no other key. Start reading at [`pinned_keys`] and [`unpinned_rules`].

use std::collections::BTreeSet;

use reenact_json::{Shown, Value, ValueKind};

use super::glob;
use super::permission::{ApprovalRule, Envelope};
use super::policy::Action;
use crate::key::KeyId;

/// Keys that may approve some actions: one entry of `metadata.approvers`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApproverPin {
    /// Kind of action, such as `tool.call`.
    pub action: String,
    /// Pattern of tool names; `None` for all tools.
    pub tool_pattern: Option<String>,
    /// Pattern of model names; `None` for all models.
    pub model_pattern: Option<String>,
    /// Keys of the approvers.
    pub keys: BTreeSet<KeyId>,
}

/// Content of `metadata.approvers`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PinnedApprovers {
    /// There is no such member, as in every envelope of 0.1.0: nobody said whose approvals count.
    #[default]
    Absent,
    /// The member cannot be read, so that nobody may approve.
    Unreadable(ApproverPinFault),
    /// Entries of the member.
    Listed(Vec<ApproverPin>),
}

impl PinnedApprovers {
    /// Reads `metadata.approvers` of an envelope.
    pub fn read(envelope: Value<'_>) -> Self {
        match ApproverPin::read_all(envelope) {
            Ok(None) => Self::Absent,
            Ok(Some(entries)) => Self::Listed(entries),
            Err(fault) => Self::Unreadable(fault),
        }
    }

    /// Returns the entries; none if the member is absent or cannot be read.
    pub fn entries(&self) -> &[ApproverPin] {
        match self {
            Self::Listed(entries) => entries,
            Self::Absent | Self::Unreadable(_) => &[],
        }
    }
}

/// Fault of `metadata.approvers`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("metadata.approvers{}: {wanted}", Shown::new(.path))]
pub struct ApproverPinFault {
    /// Path below `metadata.approvers`, such as `[0].keys[1]`. Untrusted text if a member is unknown.
    pub path: String,
    /// Right values, in words.
    pub wanted: &'static str,
}

impl ApproverPin {
    /// Reads all entries of an envelope; `None` if it has no such member.
    ///
    /// # Errors
    ///
    /// [`ApproverPinFault`] at the first fault: an approver who is misspelt must not be left out unnoticed.
    pub fn read_all(envelope: Value<'_>) -> Result<Option<Vec<Self>>, ApproverPinFault> {
        let metadata = envelope.member("metadata");
        let Some(list) = metadata.and_then(|metadata| metadata.member("approvers")) else {
            return Ok(None);
        };
        if list.kind() != ValueKind::Array {
            return Err(ApproverPinFault { path: String::new(), wanted: "must be a list" });
        }
        list.elements()
            .enumerate()
            .map(|(at, entry)| Self::read(entry, at))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    fn read(entry: Value<'_>, at: usize) -> Result<Self, ApproverPinFault> {
        let fault = |member: &str, wanted| ApproverPinFault { path: format!("[{at}]{member}"), wanted };
        if entry.kind() != ValueKind::Object {
            return Err(fault("", "must be an object with action and keys"));
        }
        let known = ["action", "keys", "model_pattern", "tool_pattern"];
        let mut names = entry.members().map(|(name, _)| name);
        if let Some(name) = names.find(|name| !known.iter().any(|known| name.is_string(known))) {
            let name = name.string().unwrap_or_default();
            return Err(fault(&format!(".{name}"), "there is no such member"));
        }
        let text = |name: &'static str| match entry.member(name) {
            None => Ok(None),
            Some(value) => match value.string() {
                Some(text) => Ok(Some(text.into_owned())),
                None => Err(fault(&format!(".{name}"), "must be a string")),
            },
        };
        let keys = entry.member("keys").filter(|keys| keys.kind() == ValueKind::Array);
        let keys = keys.ok_or_else(|| fault(".keys", "must be a list of key ids"))?;
        let key = |(index, key): (usize, Value<'_>)| {
            let id = key.string().and_then(|id| KeyId::parse(&id));
            id.ok_or_else(|| fault(&format!(".keys[{index}]"), "must be the id of an approver's key"))
        };
        Ok(Self {
            action: text("action")?.ok_or_else(|| fault(".action", "is missing"))?,
            tool_pattern: text("tool_pattern")?,
            model_pattern: text("model_pattern")?,
            keys: keys.elements().enumerate().map(key).collect::<Result<_, _>>()?,
        })
    }

    /// Returns true if the entry covers an action. Of its two patterns only the one for that kind of action counts.
    pub fn covers(&self, action: Action, name: &str) -> bool {
        let pattern = match action {
            Action::Model => &self.model_pattern,
            Action::Tool => &self.tool_pattern,
        };
        self.action == action.name() && pattern.as_ref().is_none_or(|pattern| glob::matches(pattern, name))
    }

    /// Returns true if the entry has a key, and is known to cover every action that a rule covers.
    fn covers_rule(&self, rule: &ApprovalRule) -> bool {
        let (own, theirs) = match rule.action == Action::Model.name() {
            true => (&self.model_pattern, &rule.model_pattern),
            false => (&self.tool_pattern, &rule.tool_pattern),
        };
        let covers = match (own, theirs) {
            (None, _) => true,
            (Some(own), theirs) => glob::includes(own, theirs.as_deref().unwrap_or("*")),
        };
        self.action == rule.action && !self.keys.is_empty() && covers
    }
}

/// Returns the keys that may approve an action.
pub fn pinned_keys(envelope: &Envelope, action: Action, name: &str) -> BTreeSet<KeyId> {
    let covering = envelope.approvers.entries().iter().filter(|pin| pin.covers(action, name));
    covering.flat_map(|pin| &pin.keys).copied().collect()
}

/// Returns the approval rules for which nobody is pinned, by their index: some action that they cover could be approved
/// by no key.
pub fn unpinned_rules(envelope: &Envelope) -> Vec<usize> {
    let is_pinned =
        |rule: &ApprovalRule| envelope.approvers.entries().iter().any(|pin| pin.covers_rule(rule));
    let rules = envelope.required_approvals.iter().enumerate();
    rules.filter(|(_, rule)| !is_pinned(rule)).map(|(at, _)| at).collect()
}
