//! The policy engine of one run: compares the run so far with its envelope, and decides whether an action may happen.
//!
//! The engine decides and counts; it neither waits nor writes. Its caller records the ruling before acting on it. The
//! verifier applies the same rules (`reenact_formats::rer::envelope::policy`) to the finished record. Start reading at
//! [`PolicyEngine::evaluate`].

use core::time::Duration;
use std::collections::BTreeSet;

use reenact_formats::key::KeyId;
use reenact_formats::rer::envelope::approvers::pinned_keys;
pub use reenact_formats::rer::envelope::money::Money;
pub use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::rer::envelope::permission::{ApprovalRule, Envelope};
pub use reenact_formats::rer::envelope::policy::{Action, EnvelopeRule};
use reenact_formats::rer::envelope::policy::{
    ActionHistory, CostEstimate, EnvelopeDecision, PolicyRequest, decide,
};
use reenact_json::Shown;
use reenact_wire::Vendor;
use reenact_wire::request_form::{FormFindings, undated_tool};
use reenact_wire::request_path::PathFault;

/// Name of the rule that denies an action without its approval.
pub const REQUIRED_APPROVALS: &str = "required_approvals";

/// Name of the rule that denies a request with a form that is not known.
pub const UNKNOWN_FORM: &str = "unknown_form";

/// Treatment of actions that the envelope denies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PolicyMode {
    /// Denied actions do not happen.
    #[default]
    Enforce,
    /// Nothing is denied, held back or asked for; the record says what would have been.
    Warn,
}

impl PolicyMode {
    /// Returns the word for `enforcement` in a record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Warn => "warn",
        }
    }

    /// Returns the mode that a word names.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Enforce, Self::Warn].into_iter().find(|mode| mode.name() == name)
    }
}

/// Decides on the actions of one run. A clone can be used to try out what would be decided, without effect on the run.
#[derive(Debug, Clone)]
pub struct PolicyEngine {
    envelope: Envelope,
    mode: PolicyMode,
    history: ActionHistory,
    /// Sum of the highest costs of the actions that are under way.
    reserved_cost: Money,
    /// Calls that are over and whose cost nobody told.
    uncounted: UncountedCalls,
}

/// Calls whose vendor did not tell what they cost. What was reserved for them stays reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct UncountedCalls {
    calls: u64,
    /// Sum of their highest costs.
    reserved: Money,
}

/// Action that an agent wants to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProposedAction<'a> {
    /// Kind of the action.
    pub action: Action,
    /// Name of the model or tool.
    pub name: &'a str,
    /// Time of the decision, since 1970.
    pub at: Duration,
    /// Highest cost that the action may have; `None` if it is unknown. Not used for tools.
    pub expected_cost: Option<Money>,
    /// True if a valid approval was given for this action.
    pub is_approved: bool,
}

/// Decision of a [`PolicyEngine`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// The action may happen.
    Allowed,
    /// The action must not happen.
    Denied(PolicyRefusal),
    /// The action may happen once it is approved.
    NeedsApproval(NeededApproval),
}

/// Reason why an action must not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRefusal {
    /// Name of the rule that denies it.
    pub rule: &'static str,
    /// Reason in words.
    pub reason: String,
    /// Time after which a retry may succeed; `None` if waiting does not help.
    pub retry_after: Option<Duration>,
}

/// Approval that an action needs. One approval must satisfy all rules that cover the action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededApproval {
    /// Names of the rules, with their positions in the envelope.
    pub rule: String,
    /// Types of signers who may approve; `None` for any.
    pub signer_types: Option<Vec<SignerType>>,
    /// Keys that may approve: those that the envelope pins for the action.
    pub pinned: BTreeSet<KeyId>,
}

impl Ruling {
    /// Returns the reason why the action may not happen as it is; `None` if it may.
    pub fn refusal(&self) -> Option<PolicyRefusal> {
        match self {
            Self::Allowed => None,
            Self::Denied(refused) => Some(refused.clone()),
            Self::NeedsApproval(needed) => {
                let reason = format!("{} asks for an approval, and it was called without one", needed.rule);
                Some(PolicyRefusal::unapproved(reason))
            }
        }
    }
}

impl PolicyRefusal {
    /// Refuses an action because the record cannot be written any more.
    pub fn unrecorded() -> Self {
        let reason = "the run cannot be recorded any more".to_owned();
        Self { rule: "event_order", reason, retry_after: None }
    }

    /// Refuses a request of an unknown form: it may ask for tools in a way that is not seen.
    pub fn unknown_form(method: &str, path: &str) -> Self {
        let (method, path) = (Shown::new(method), Shown::new(path));
        let reason = format!("{method} {path} may ask for tools in a way that is not known here");
        Self { rule: EnvelopeRule::AllowedTools.name(), reason, retry_after: None }
    }

    /// Refuses a request that holds forms which are not known: each may bring a tool or a model that is not seen. The paths are
    /// safe to print.
    pub fn unlisted_forms(paths: &[String]) -> Self {
        let list: Vec<String> = paths.iter().map(|path| format!("\"{path}\"")).collect();
        let reason = format!(
            "{} is not known here, and may ask for a tool or a model that is not seen; to allow it, the envelope needs metadata.allowed_forms = [{}]",
            paths.join(", "),
            list.join(", ")
        );
        Self { rule: UNKNOWN_FORM, reason, retry_after: None }
    }

    /// Refuses a path that is not exactly one of the table, below the base path of its upstream.
    pub fn of_path(fault: &PathFault, method: &str, path: &str, base: &str) -> Self {
        let plain = path.split('?').next().unwrap_or_default();
        let (shown, base) = (format!("{} {}", Shown::new(method), Shown::new(plain)), Shown::new(base));
        let reason = match fault {
            PathFault::Unknown => return Self::unknown_form(method, plain),
            PathFault::Query(form) => return Self::unlisted_forms(std::slice::from_ref(form)),
            PathFault::Odd => format!(
                "{shown} has a sign in its path or query that servers read in different ways (%, ;, .., // or the like)"
            ),
            PathFault::OutsideBase => {
                format!("{shown} is outside of {base}, the path that this run was given")
            }
        };
        Self { rule: UNKNOWN_FORM, reason, retry_after: None }
    }

    /// Refuses a request that names two models: nobody knows which of them is asked.
    pub fn two_models(model: &str, other: &str) -> Self {
        let (model, other) = (Shown::new(model), Shown::new(other));
        let reason =
            format!("it names two models, \"{model}\" and \"{other}\", of which the vendor asks one");
        Self { rule: EnvelopeRule::AllowedModels.name(), reason, retry_after: None }
    }

    /// Refuses an answer that cannot be parsed: it may ask for any tool.
    pub fn unreadable() -> Self {
        let reason = "the answer cannot be read, so nobody knows which tools it asks for".to_owned();
        Self { rule: EnvelopeRule::AllowedTools.name(), reason, retry_after: None }
    }

    /// Refuses the result of a tool that answers no call which was seen: nobody knows which tool it is of.
    pub fn unseen_call() -> Self {
        let reason = "a result answers no call that was seen, so nobody knows which tool it is of".to_owned();
        Self { rule: EnvelopeRule::AllowedTools.name(), reason, retry_after: None }
    }

    /// Refuses a call whose cost can be neither bounded nor counted.
    pub fn uncountable(problem: &str) -> Self {
        let reason = format!("nobody could count what this call costs: {problem}");
        Self { rule: EnvelopeRule::MaxSpend.name(), reason, retry_after: None }
    }

    /// Refuses an action whose approval was not given.
    pub fn unapproved(reason: String) -> Self {
        Self { rule: REQUIRED_APPROVALS, reason, retry_after: None }
    }
}

impl PolicyEngine {
    /// Returns an engine for a run that begins now under this envelope.
    pub fn new(envelope: Envelope) -> Self {
        let (reserved_cost, uncounted) = (Money::default(), UncountedCalls::default());
        let (mode, history) = (PolicyMode::Enforce, ActionHistory::default());
        Self { envelope, mode, history, reserved_cost, uncounted }
    }

    /// Returns an engine that permits these models, tools and forms, and limits nothing.
    pub fn permitting(
        allowed_models: BTreeSet<String>,
        allowed_tools: BTreeSet<String>,
        allowed_forms: BTreeSet<String>,
    ) -> Self {
        Self::new(Envelope { allowed_models, allowed_tools, allowed_forms, ..Envelope::PERMITTING_NOTHING })
    }

    /// Returns the actions of the run so far.
    pub fn history(&self) -> &ActionHistory {
        &self.history
    }

    /// Returns the number of actions that began in the 60 seconds before `at` (since 1970).
    pub fn actions_in_last_minute(&self, at: Duration) -> u64 {
        self.history.actions_in_last_minute(i128::try_from(at.as_nanos()).unwrap_or(i128::MAX))
    }

    /// Returns the sum of what was spent, what is reserved for calls under way, and what stays reserved for calls whose cost
    /// nobody told.
    pub fn committed_cost(&self) -> Money {
        self.history.spent().plus(self.reserved_cost).plus(self.uncounted.reserved)
    }

    /// Returns true if the envelope limits spending.
    pub fn limits_spending(&self) -> bool {
        self.envelope.max_spend.is_some()
    }

    /// Sets the treatment of actions that the envelope denies.
    pub fn with_mode(self, mode: PolicyMode) -> Self {
        Self { mode, ..self }
    }

    /// Returns the treatment of actions that the envelope denies. [`PolicyEngine::evaluate`] decides the same in both.
    pub fn mode(&self) -> PolicyMode {
        self.mode
    }

    /// Decides whether an action may happen now. Changes nothing: a caller that acts calls
    /// [`PolicyEngine::begin_action`].
    pub fn evaluate(&self, proposed: &ProposedAction<'_>) -> Ruling {
        let cost = match (proposed.action, proposed.expected_cost) {
            (Action::Tool, _) => CostEstimate::Counted,
            (Action::Model, Some(expected)) => {
                let reserved = self.reserved_cost.plus(self.uncounted.reserved);
                CostEstimate::AtMost(reserved.plus(expected.rounded_up_to_micro()))
            }
            (Action::Model, None) => CostEstimate::Unknown,
        };
        let at = i128::try_from(proposed.at.as_nanos()).unwrap_or(i128::MAX);
        let request = PolicyRequest { action: proposed.action, name: proposed.name, at, cost };
        let EnvelopeDecision { broken_rules: broken, required_approvals: approvals } =
            decide(&self.envelope, &self.history, &request);
        if let Some(rule) = broken.first() {
            return Ruling::Denied(self.refusal(*rule, proposed, at));
        }
        if approvals.is_empty() || proposed.is_approved {
            return Ruling::Allowed;
        }
        let rules: Vec<&ApprovalRule> =
            approvals.iter().filter_map(|index| self.envelope.required_approvals.get(*index)).collect();
        let signer_types = common_signer_types(&rules);
        let paths: Vec<String> =
            approvals.iter().map(|index| format!("{REQUIRED_APPROVALS}[{index}]")).collect();
        if signer_types.as_ref().is_some_and(Vec::is_empty) {
            let reason = format!("no one approval satisfies {}", paths.join(" and "));
            return Ruling::Denied(PolicyRefusal { rule: REQUIRED_APPROVALS, reason, retry_after: None });
        }
        let pinned = pinned_keys(&self.envelope, proposed.action, proposed.name);
        Ruling::NeedsApproval(NeededApproval { rule: paths.join(", "), signer_types, pinned })
    }

    /// Decides as [`PolicyEngine::evaluate`] does. If the action is denied because it may cost more than is left, the
    /// reason ends with this advice on how to ask for less.
    pub fn evaluate_with_advice(
        &self,
        proposed: &ProposedAction<'_>,
        advice: impl FnOnce() -> String,
    ) -> Ruling {
        let mut ruling = self.evaluate(proposed);
        if let Ruling::Denied(refused) = &mut ruling
            && refused.rule == EnvelopeRule::MaxSpend.name()
            && self.envelope.max_spend.is_some_and(|limit| self.history.spent() <= limit)
        {
            let advice = advice();
            if !advice.is_empty() {
                refused.reason = format!("{}; {advice}", refused.reason);
            }
        }
        ruling
    }

    /// Counts an allowed action that begins, and reserves its highest cost.
    pub fn begin_action(&mut self, proposed: &ProposedAction<'_>) {
        self.history.record_action(i128::try_from(proposed.at.as_nanos()).unwrap_or(i128::MAX));
        self.reserved_cost =
            self.reserved_cost.plus(proposed.expected_cost.unwrap_or_default().rounded_up_to_micro());
    }

    /// Replaces the reserved cost of an action by its actual cost. Both are rounded up to micro-dollars, as the record
    /// has them: the sum over the record must not exceed what was allowed here.
    pub fn settle_cost(&mut self, expected: Money, actual: Money) {
        self.release(expected);
        self.history.record_cost(actual.rounded_up_to_micro());
    }

    /// Ends an action whose cost nobody told: what was reserved for it stays reserved for the rest of the run, or `least`
    /// if that is more. `least` is what the record counts.
    pub fn keep_reserved(&mut self, expected: Money, least: Money) {
        self.release(expected);
        let kept = expected.max(least).rounded_up_to_micro();
        self.uncounted.reserved = self.uncounted.reserved.plus(kept);
        self.uncounted.calls += 1;
    }

    /// Releases the reserved cost of an action that is over.
    fn release(&mut self, expected: Money) {
        let expected = expected.rounded_up_to_micro().picodollars();
        self.reserved_cost =
            Money::from_picodollars(self.reserved_cost.picodollars().saturating_sub(expected));
    }

    /// Checks whether a vendor may run a tool on its own servers. Such a call cannot be held back once it is requested,
    /// so the tool must be on the list before the request goes out.
    pub fn check_vendor_tool(&self, name: &str) -> Result<(), PolicyRefusal> {
        let undated = undated_tool(name).is_some_and(|name| self.envelope.allowed_tools.contains(name));
        if undated || self.envelope.allowed_tools.contains(name) {
            return Ok(());
        }
        let reason = format!("the vendor's own tool \"{}\" is not on the list", Shown::new(name));
        Err(PolicyRefusal { rule: EnvelopeRule::AllowedTools.name(), reason, retry_after: None })
    }

    /// Checks whether a model may have answered a request for `asked`: an edition of that, which was judged itself, or one that is
    /// on the list.
    pub fn check_answering_model(
        &self,
        vendor: Vendor,
        asked: &str,
        answering: &str,
    ) -> Result<(), PolicyRefusal> {
        let mut named =
            core::iter::once(asked).chain(self.envelope.allowed_models.iter().map(String::as_str));
        if named.any(|name| vendor.is_same_model(name, answering)) {
            return Ok(());
        }
        let (asked, answering) = (Shown::new(asked), Shown::new(answering));
        let reason = format!("\"{asked}\" was asked, and \"{answering}\" answered, which is not on the list");
        Err(PolicyRefusal { rule: EnvelopeRule::AllowedModels.name(), reason, retry_after: None })
    }

    /// Returns the paths of unknown forms that the envelope allows.
    pub fn allowed_forms(&self) -> &BTreeSet<String> {
        &self.envelope.allowed_forms
    }

    /// Checks the findings in a request: the vendor's own tools and further models must be on the lists, and nothing may be
    /// unknown.
    pub fn check_forms(&self, findings: &FormFindings) -> Result<(), PolicyRefusal> {
        findings.vendor_tools.iter().try_for_each(|name| self.check_vendor_tool(name))?;
        if let Some(model) =
            findings.models.iter().find(|model| !self.envelope.allowed_models.contains(*model))
        {
            let reason = format!("the model \"{}\" is not on the list", Shown::new(model));
            return Err(PolicyRefusal {
                rule: EnvelopeRule::AllowedModels.name(),
                reason,
                retry_after: None,
            });
        }
        if !findings.unknown.is_empty() {
            return Err(PolicyRefusal::unlisted_forms(&findings.unknown));
        }
        match findings.models.first().filter(|_| self.limits_spending()) {
            Some(model) => Err(PolicyRefusal::uncountable(&format!(
                "the model \"{}\" may take part in it, at prices of its own",
                Shown::new(model)
            ))),
            None => Ok(()),
        }
    }

    /// Returns the refusal by a rule, with the reason in words.
    fn refusal(&self, rule: EnvelopeRule, proposed: &ProposedAction<'_>, at: i128) -> PolicyRefusal {
        let name = Shown::new(proposed.name);
        let mut retry_after = None;
        let reason = match rule {
            EnvelopeRule::Expiry => "the envelope has expired".to_owned(),
            EnvelopeRule::Authorization => "the authorization of the envelope has ended".to_owned(),
            EnvelopeRule::AllowedModels if proposed.name.is_empty() => {
                "the request does not tell which model it asks".to_owned()
            }
            EnvelopeRule::AllowedModels => format!("the model \"{name}\" is not on the list"),
            EnvelopeRule::AllowedTools => format!("the tool \"{name}\" is not on the list"),
            EnvelopeRule::MaxSteps => {
                let limit = self.envelope.max_steps.unwrap_or_default();
                used_up(limit, "")
            }
            EnvelopeRule::MaxSpend => self.spend_refusal_reason(proposed),
            EnvelopeRule::RateLimit => {
                let limit = self.envelope.rate_limit_rpm.unwrap_or_default();
                retry_after = self.history.rate_limit_delay(at, limit);
                used_up(limit, " in 60 seconds")
            }
        };
        PolicyRefusal { rule: rule.name(), reason, retry_after }
    }

    /// Returns the reason why an action would cost too much.
    fn spend_refusal_reason(&self, proposed: &ProposedAction<'_>) -> String {
        let (limit, spent) = (self.envelope.max_spend.unwrap_or_default(), self.history.spent());
        if spent > limit {
            return format!("{spent} are spent, and {limit} are allowed");
        }
        match proposed.expected_cost {
            None => {
                let name = Shown::new(proposed.name);
                format!("nobody knows what \"{name}\" costs, and {limit} are allowed; give it a price")
            }
            Some(expected) => {
                let mut reason = format!("{spent} are spent");
                if self.reserved_cost > Money::default() {
                    reason += &format!(", calls under way may cost {}", self.reserved_cost);
                }
                let UncountedCalls { calls, reserved } = self.uncounted;
                if calls > 0 {
                    let calls = if calls == 1 { "a call".to_owned() } else { format!("{calls} calls") };
                    reason += &format!(", {calls} whose cost was not told may have cost {reserved}");
                }
                reason += &format!(", this one may cost {}", expected.rounded_up_to_micro());
                reason + &format!(", and {limit} are allowed")
            }
        }
    }
}

/// Returns the reason why no further action is allowed; `within` is the time that the limit is for.
fn used_up(limit: u64, within: &str) -> String {
    match limit {
        1 => format!("1 action is allowed{within}, and it has begun"),
        limit => format!("{limit} actions are allowed{within}, and as many have begun"),
    }
}

/// Returns the signer types that all rules accept; `None` if any type is, empty if none is.
fn common_signer_types(rules: &[&ApprovalRule]) -> Option<Vec<SignerType>> {
    let mut lists = rules.iter().filter_map(|rule| rule.signer_types.clone());
    let first = lists.next()?;
    Some(lists.fold(first, |common, list| common.into_iter().filter(|it| list.contains(it)).collect()))
}
