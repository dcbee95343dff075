//! The warden of one run: holds what happened so far against its envelope, and says what may happen next.
//!
//! It decides and counts; it neither waits nor writes. Whoever asks it writes its ruling down before acting on it.

use core::time::Duration;

pub use reenact_formats::rer::envelope::decide::{Action, Rule};
use reenact_formats::rer::envelope::decide::{Cost, Decision, History, Request, decide};
pub use reenact_formats::rer::envelope::money::Money;
pub use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::rer::envelope::permission::{ApprovalRule, Envelope};
use reenact_json::Shown;

/// The rule under which an action is denied that nobody approved.
pub const REQUIRED_APPROVALS: &str = "required_approvals";

/// Decides on the actions of a run. A copy decides on what would be.
#[derive(Debug, Clone)]
pub struct Warden {
    envelope: Envelope,
    history: History,
    /// What those that are under way are expected to cost.
    expected: Money,
}

/// Something that an agent wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// Which kind of action.
    pub action: Action,
    /// Of which model or tool.
    pub name: &'a str,
    /// Since 1970.
    pub at: Duration,
    /// What it is expected to cost; `None` if nobody knows. What a tool costs does not count here.
    pub expected: Option<Money>,
    /// Whether it was approved.
    pub is_approved: bool,
}

/// What the warden says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// It may happen.
    Allowed,
    /// It may not.
    Denied(Refused),
    /// It may, once someone has approved it.
    NeedsApproval(Needed),
}

/// Why an action may not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The rule of the envelope that says no.
    pub rule: &'static str,
    /// In words.
    pub reason: String,
    /// When it may be tried again, where waiting helps.
    pub retry_after: Option<Duration>,
}

/// The approval that an action needs: one that satisfies all rules that cover it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needed {
    /// The rules, by their places in the envelope.
    pub rule: String,
    /// Who may give it; `None` anyone.
    pub signer_types: Option<Vec<SignerType>>,
}

impl Refused {
    /// The record cannot be written, so that nothing may happen.
    pub fn unrecorded() -> Self {
        let reason = "the run cannot be recorded any more".to_owned();
        Self { rule: "event_order", reason, retry_after: None }
    }

    /// A request of a form that is not known may ask for tools in a way that nobody sees.
    pub fn unknown_form(method: &str, path: &str) -> Self {
        let (method, path) = (Shown::new(method), Shown::new(path));
        let reason = format!("{method} {path} may ask for tools in a way that is not known here");
        Self { rule: Rule::AllowedTools.name(), reason, retry_after: None }
    }

    /// An answer that cannot be read may ask for any tool.
    pub fn unreadable() -> Self {
        let reason = "the answer cannot be read, so nobody knows which tools it asks for".to_owned();
        Self { rule: Rule::AllowedTools.name(), reason, retry_after: None }
    }

    /// An approval that is needed was not given.
    pub fn unapproved(reason: String) -> Self {
        Self { rule: REQUIRED_APPROVALS, reason, retry_after: None }
    }
}

impl Warden {
    /// Over a run that begins now under an envelope.
    pub fn new(envelope: Envelope) -> Self {
        Self { envelope, history: History::default(), expected: Money::default() }
    }

    /// Whether something may happen.
    pub fn rule(&self, wanted: &Wanted<'_>) -> Ruling {
        let cost = match (wanted.action, wanted.expected) {
            (Action::Tool, _) => Cost::Counted,
            (Action::Model, Some(expected)) => Cost::AtMost(self.expected.plus(expected.micro_rounded_up())),
            (Action::Model, None) => Cost::Unknown,
        };
        let at = i128::try_from(wanted.at.as_nanos()).unwrap_or(i128::MAX);
        let request = Request { action: wanted.action, name: wanted.name, at, cost };
        let Decision { broken, approvals } = decide(&self.envelope, &self.history, &request);
        if let Some(rule) = broken.first() {
            return Ruling::Denied(self.refused(*rule, wanted, at));
        }
        if approvals.is_empty() || wanted.is_approved {
            return Ruling::Allowed;
        }
        let rules: Vec<&ApprovalRule> =
            approvals.iter().filter_map(|place| self.envelope.required_approvals.get(*place)).collect();
        let signer_types = common(&rules);
        let places: Vec<String> =
            approvals.iter().map(|place| format!("{REQUIRED_APPROVALS}[{place}]")).collect();
        if signer_types.as_ref().is_some_and(Vec::is_empty) {
            let reason = format!("no one approval satisfies {}", places.join(" and "));
            return Ruling::Denied(Refused { rule: REQUIRED_APPROVALS, reason, retry_after: None });
        }
        Ruling::NeedsApproval(Needed { rule: places.join(", "), signer_types })
    }

    /// Something that was allowed begins.
    pub fn began(&mut self, wanted: &Wanted<'_>) {
        self.history.began(i128::try_from(wanted.at.as_nanos()).unwrap_or(i128::MAX));
        self.expected = self.expected.plus(wanted.expected.unwrap_or_default().micro_rounded_up());
    }

    /// Something that was expected to cost so much did cost so much. What counts is what the record will say, which is rounded up,
    /// also of what is under way: whoever adds it up there must not find more than was allowed here.
    pub fn settled(&mut self, expected: Money, actual: Money) {
        let expected = expected.micro_rounded_up().picodollars();
        self.expected = Money::from_picodollars(self.expected.picodollars().saturating_sub(expected));
        self.history.cost(actual.micro_rounded_up());
    }

    /// Whether a vendor may run a tool of its own. It leaves no trace that could be held back: it is on the list, or it is not
    /// asked for.
    pub fn rule_vendor_tool(&self, name: &str) -> Result<(), Refused> {
        if self.envelope.allowed_tools.contains(name) {
            return Ok(());
        }
        let reason = format!("the vendor's own tool \"{}\" is not on the list", Shown::new(name));
        Err(Refused { rule: Rule::AllowedTools.name(), reason, retry_after: None })
    }

    fn refused(&self, rule: Rule, wanted: &Wanted<'_>, at: i128) -> Refused {
        let name = Shown::new(wanted.name);
        let mut retry_after = None;
        let reason = match rule {
            Rule::Expiry => "the envelope has expired".to_owned(),
            Rule::AllowedModels if wanted.name.is_empty() => {
                "the request does not tell which model it asks".to_owned()
            }
            Rule::AllowedModels => format!("the model \"{name}\" is not on the list"),
            Rule::AllowedTools => format!("the tool \"{name}\" is not on the list"),
            Rule::MaxSteps => {
                let limit = self.envelope.max_steps.unwrap_or_default();
                format!("{limit} actions are allowed, and as many have begun")
            }
            Rule::MaxSpend => self.too_expensive(wanted),
            Rule::RateLimit => {
                let limit = self.envelope.rate_limit_rpm.unwrap_or_default();
                retry_after = self.history.room_after(at, limit);
                format!("{limit} actions are allowed in 60 seconds, and as many have begun")
            }
        };
        Refused { rule: rule.name(), reason, retry_after }
    }

    fn too_expensive(&self, wanted: &Wanted<'_>) -> String {
        let (limit, spent) = (self.envelope.max_spend.unwrap_or_default(), self.history.spent());
        if spent > limit {
            return format!("{spent} are spent, and {limit} are allowed");
        }
        match wanted.expected {
            None => {
                let name = Shown::new(wanted.name);
                format!("nobody knows what \"{name}\" costs, and {limit} are allowed; give it a price")
            }
            Some(expected) => {
                let running = self.expected.plus(expected);
                format!("{spent} are spent, at least {running} would be added, and {limit} are allowed")
            }
        }
    }
}

/// Who may approve under all rules; `None` anyone, empty nobody.
fn common(rules: &[&ApprovalRule]) -> Option<Vec<SignerType>> {
    let mut lists = rules.iter().filter_map(|rule| rule.signer_types.clone());
    let first = lists.next()?;
    Some(lists.fold(first, |common, list| common.into_iter().filter(|it| list.contains(it)).collect()))
}
