//! The audit of an RER artifact: its events compared with its envelope, rule by rule.
//!
//! [`Auditor`] sees the events in order. Eight rules restrict what may happen ([`RestrictionRules`]).
//! `event_order` needs only to know whether the envelope was enforced, and `authorization` the times of
//! calls.
//!
//! | module | content |
//! |---|---|
//! | `audited_event` | the members of an event that the rules need |
//! | `order` | the rule `event_order` |
//! | `call_costs` | costs of model calls, for the rule `max_spend_usd` |
//! | `approval_token` | the tokens of approvals: what they approve, and who signed them |
//! | `approvals` | the rules `required_approvals` and `required_signer_types` |
//! | `authorization` | the rule `authorization` |
//! | `rule_cache` | which approval rules cover an action, within bounds |
//! | `tracker` | the verdict on one rule so far |
//! | `warnings` | denials that had no effect, in a run that only warned |

mod approval_token;
mod approvals;
mod audited_event;
mod authorization;
mod call_costs;
mod order;
mod rule_cache;
mod tracker;
mod warnings;

use std::sync::Arc;

use reenact_formats::rer::envelope::money::Money;
use reenact_formats::rer::envelope::permission::{Envelope, EnvelopeEnforcement};
use reenact_formats::rer::envelope::policy::{
    Action, ActionHistory, CostEstimate, EnvelopeRule, PolicyRequest, broken_rules,
};
use reenact_formats::rer::time;
use reenact_formats::rer::{EventType, RerHead};
use reenact_json::{Shown, Value};

use crate::Keys;
use crate::audit::{Audit, RuleVerdict};
use approval_token::ApprovalContext;
use approvals::ApprovalRules;
use audited_event::StatedCost;
pub(super) use audited_event::{AuditedEvent, AuditedKind};
use authorization::AuthorizedPeriod;
use call_costs::CallCosts;
use order::EventOrder;
use tracker::RuleTracker;
use warnings::Warnings;

/// Part of the audit that judges a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleSource {
    /// [`RestrictionRules`]; without a restriction the rule is inconclusive.
    Restriction,
    /// [`EventOrder`].
    Order,
    /// [`authorization::check`].
    Authorization,
}

/// Names of the rules, in the order in which reports list them, each with the part that judges it.
const RULES: &[(&str, RuleSource)] = &[
    ("allowed_models", RuleSource::Restriction),
    ("allowed_tools", RuleSource::Restriction),
    ("max_steps", RuleSource::Restriction),
    ("max_spend_usd", RuleSource::Restriction),
    ("rate_limit_rpm", RuleSource::Restriction),
    ("expiry", RuleSource::Restriction),
    ("required_approvals", RuleSource::Restriction),
    ("required_signer_types", RuleSource::Restriction),
    ("event_order", RuleSource::Order),
    ("authorization", RuleSource::Authorization),
];

/// Returns the rules that `is_wanted` selects by the part that judges them, all inconclusive for the same reason.
fn inconclusive_rules(reason: &str, is_wanted: impl Fn(RuleSource) -> bool) -> Vec<RuleVerdict> {
    let wanted = RULES.iter().filter(|(_, source)| is_wanted(*source));
    let verdict = |(rule, _): &(&'static str, RuleSource)| {
        let mut tracker = RuleTracker::new(rule);
        tracker.mark_inconclusive(None, reason);
        tracker.into_verdict("")
    };
    wanted.map(verdict).collect()
}

/// Reason why a capture gap makes every restriction inconclusive.
const UNCAPTURED: &str = "something was not captured here, and may have broken any rule";

/// Reason why a call under an envelope with `metadata.allowed_forms` is inconclusive: whatever such a form means to the vendor,
/// neither the recorder nor the auditor knows it.
const UNKNOWN_FORMS: &str =
    "the envelope allows forms that the recorder does not know, which may bring any tool, model or cost";

/// Returns the audit of a document that could not be read: every rule is inconclusive.
pub(super) fn unreadable_audit() -> Audit {
    Audit { rules: inconclusive_rules("the document could not be read", |_| true), is_unrestricted: false }
}

/// Audit of one run while its events are read.
///
/// The rules need the envelope, which stands before the events in canonical order. Events are then
/// observed as they come and forgotten. Only if the envelope comes later in the text are they kept
/// until it is read.
#[derive(Default)]
pub(super) struct Auditor<'a> {
    /// Events that wait for the envelope, in batches.
    pending: Vec<Vec<AuditedEvent<'a>>>,
    /// Rules, once the envelope was read.
    rules: Option<AuditRules<'a>>,
}

impl<'a> Auditor<'a> {
    /// Observes the events that follow. `envelope` is set once the text has shown it.
    pub(super) fn add(&mut self, events: Vec<AuditedEvent<'a>>, envelope: Option<Value<'a>>) {
        if self.rules.is_none() && envelope.is_some() {
            self.start_rules(envelope);
        }
        match &mut self.rules {
            Some(rules) => events.iter().for_each(|event| rules.observe(event)),
            None => self.pending.push(events),
        }
    }

    /// Creates the rules from the envelope and lets them observe the pending events.
    fn start_rules(&mut self, envelope: Option<Value<'a>>) -> &mut AuditRules<'a> {
        let mut rules = AuditRules::from_envelope(envelope);
        core::mem::take(&mut self.pending).iter().flatten().for_each(|event| rules.observe(event));
        self.rules.insert(rules)
    }

    /// Returns the audit of a log with this number of events.
    pub(super) fn conclude(mut self, head: &RerHead<'a>, events: usize, keys: &Keys) -> Audit {
        if self.rules.is_none() {
            self.start_rules(head.envelope);
        }
        let is_unrestricted = self.rules.as_ref().is_some_and(|rules| rules.is_unrestricted);
        let rules = self.rules.map_or_else(Vec::new, |rules| rules.conclude(events, head, keys));
        Audit { rules, is_unrestricted }
    }
}

/// The ten rules.
struct AuditRules<'a> {
    /// The eight restrictions, or the reason why there are none.
    restrictions: Result<RestrictionRules, String>,
    /// True if an envelope that can be read restricts nothing.
    is_unrestricted: bool,
    /// The rule `event_order`.
    order: EventOrder<'a>,
    /// Times that the rule `authorization` needs.
    period: AuthorizedPeriod,
}

impl<'a> AuditRules<'a> {
    /// Creates the rules from an envelope. One that cannot be read, or that was not enforced, restricts
    /// nothing.
    fn from_envelope(envelope: Option<Value<'a>>) -> Self {
        let period = AuthorizedPeriod::from_envelope(envelope);
        let envelope = match envelope.map(Envelope::read) {
            Some(Ok(envelope)) => Ok(envelope),
            Some(Err(fault)) => Err(format!("the envelope cannot be read: {fault}")),
            None => Err("there is no envelope".into()),
        };
        let is_unrestricted = envelope
            .as_ref()
            .is_ok_and(|envelope| !matches!(envelope.enforcement, EnvelopeEnforcement::Enforced));
        let restrictions = envelope.and_then(|envelope| match envelope.enforcement {
            EnvelopeEnforcement::Enforced => Ok(RestrictionRules::new(Arc::new(envelope))),
            EnvelopeEnforcement::Observed => Err("nothing was restricted (observe-only)".into()),
            EnvelopeEnforcement::Imported => {
                Err("nothing was restricted (imported from another format)".into())
            }
        });
        Self { order: EventOrder::new(restrictions.is_ok()), restrictions, is_unrestricted, period }
    }

    /// Passes an event to all rules.
    fn observe(&mut self, event: &AuditedEvent<'a>) {
        if let Ok(restrictions) = &mut self.restrictions {
            restrictions.observe(event);
        }
        self.order.observe(event);
        self.period.observe(event);
    }

    /// Returns the verdicts in the order of [`RULES`].
    fn conclude(self, events: usize, head: &RerHead<'_>, keys: &Keys) -> Vec<RuleVerdict> {
        let mut rules = match self.restrictions {
            Ok(restrictions) => restrictions.conclude(&ApprovalContext::of(head, keys)),
            Err(reason) => inconclusive_rules(&reason, |source| source == RuleSource::Restriction),
        };
        rules.push(self.order.conclude(events));
        rules.push(authorization::check(head, &self.period, keys));
        rules
    }
}

/// The eight rules that restrict what may happen.
struct RestrictionRules {
    /// Envelope with the permissions and limits.
    envelope: Arc<Envelope>,
    /// Actions, their times and their cost so far.
    history: ActionHistory,
    /// Verdict on `allowed_models`.
    models: RuleTracker,
    /// Verdict on `allowed_tools`.
    tools: RuleTracker,
    /// Verdict on `max_steps`.
    steps: RuleTracker,
    /// Verdict on `max_spend_usd`.
    spend: RuleTracker,
    /// Verdict on `rate_limit_rpm`.
    rate: RuleTracker,
    /// Verdict on `expiry`.
    expiry: RuleTracker,
    /// Verdicts on `required_approvals` and `required_signer_types`.
    approvals: ApprovalRules,
    /// Denials that had no effect.
    warnings: Warnings,
    /// Total cost that the end of the run states.
    stated_total: Option<Money>,
    /// Model calls and their costs.
    call_costs: CallCosts,
    /// Index of the first tool call that may have had a cost, since its payload is withheld.
    first_withheld_return: Option<usize>,
    /// Index of the event that ends the run, if it states that its total is partial.
    partial_total: Option<usize>,
    /// Latest timestamp so far, in nanoseconds since 1970.
    latest_time: Option<i128>,
    /// Index of the last event.
    last_index: Option<usize>,
    /// Index of the last event that ends the run.
    run_ended_index: Option<usize>,
}

impl RestrictionRules {
    /// Creates the rules of an enforced envelope; all of them pass so far.
    fn new(envelope: Arc<Envelope>) -> Self {
        Self {
            history: ActionHistory::default(),
            models: RuleTracker::new("allowed_models"),
            tools: RuleTracker::new("allowed_tools"),
            steps: RuleTracker::new("max_steps"),
            spend: RuleTracker::new("max_spend_usd"),
            rate: RuleTracker::new("rate_limit_rpm"),
            expiry: RuleTracker::new("expiry"),
            approvals: ApprovalRules::new(&envelope),
            warnings: Warnings::default(),
            envelope,
            stated_total: None,
            call_costs: CallCosts::default(),
            first_withheld_return: None,
            partial_total: None,
            latest_time: None,
            last_index: None,
            run_ended_index: None,
        }
    }

    /// Observes the next event.
    fn observe(&mut self, event: &AuditedEvent<'_>) {
        self.last_index = Some(event.index);
        self.warnings.observe(event);
        match event.kind {
            AuditedKind::Event(EventType::RunStarted) => self.on_run_started(event),
            AuditedKind::Call(action) => self.on_call(event, action),
            AuditedKind::Return(_) | AuditedKind::Event(EventType::SpendCounted | EventType::RunEnded) => {
                self.on_cost(event)
            }
            AuditedKind::Event(known) if known.marks_missing_events() => self.on_gap(event),
            _ => {
                self.event_time(event);
            }
        }
        self.approvals.observe(event);
    }

    /// Returns the eight verdicts in the order of [`RULES`].
    fn conclude(mut self, context: &ApprovalContext<'_>) -> Vec<RuleVerdict> {
        self.check_total_spend();
        for warning in std::mem::take(&mut self.warnings).unfollowed() {
            self.fail_warned(&warning.rule, warning.event, warning.reason);
        }
        let none = |set: bool, kept: &'static str, absent: &'static str| if set { kept } else { absent };
        let limits = Arc::clone(&self.envelope);
        let (approvals, signers) = self.approvals.conclude(context);
        vec![
            self.models.into_verdict("every model that was called is on the list"),
            self.tools.into_verdict("every tool that was called is on the list"),
            self.steps.into_verdict(none(
                limits.max_steps.is_some(),
                "the limit was kept",
                "there is no limit",
            )),
            self.spend.into_verdict(none(
                limits.max_spend.is_some(),
                "the limit was kept",
                "there is no limit",
            )),
            self.rate.into_verdict(none(
                limits.rate_limit_rpm.is_some(),
                "the limit was kept",
                "there is no limit",
            )),
            self.expiry.into_verdict(none(
                limits.expiry.is_some(),
                "everything began before it",
                "there is none",
            )),
            approvals,
            signers,
        ]
    }

    /// Observes a capture gap: any action may have happened in it.
    fn on_gap(&mut self, event: &AuditedEvent<'_>) {
        let limits = Arc::clone(&self.envelope);
        let restricting = [
            (&mut self.models, true),
            (&mut self.tools, true),
            (&mut self.steps, limits.max_steps.is_some()),
            (&mut self.spend, limits.max_spend.is_some()),
            (&mut self.rate, limits.rate_limit_rpm.is_some()),
            (&mut self.expiry, limits.expiry.is_some()),
        ];
        for (rule, _) in restricting.into_iter().filter(|(_, restricts)| *restricts) {
            rule.mark_inconclusive(Some(event.index), UNCAPTURED);
        }
        self.approvals.on_gap(event);
    }

    /// Fails `expiry` if the run began after the envelope had expired.
    fn on_run_started(&mut self, event: &AuditedEvent<'_>) {
        if let (Some(expiry), Some(at)) = (self.envelope.expiry, self.event_time(event))
            && at >= expiry
        {
            self.expiry.fail(event.index, "the run began after the envelope had expired");
        }
    }

    /// Returns the time of an event in nanoseconds since 1970; 0 if no rule depends on time, `None` if the time is unknown.
    ///
    /// Timestamps are the recorder's word and may run backwards. The elapsed time is then unknown, and
    /// rules that depend on it become inconclusive.
    fn event_time(&mut self, event: &AuditedEvent<'_>) -> Option<i128> {
        let (expiry, rated) = (self.envelope.expiry, self.envelope.rate_limit_rpm.is_some());
        if expiry.is_none() && !rated {
            return Some(0);
        }
        let at = event.timestamp.and_then(|timestamp| time::instant(&timestamp.string()?));
        let matters = matches!(event.kind, AuditedKind::Event(EventType::RunStarted) | AuditedKind::Call(_));
        match (at, self.latest_time) {
            (None, _) if matters => {
                if rated {
                    self.rate.mark_inconclusive(Some(event.index), "the timestamp names no moment");
                }
                if expiry.is_some() {
                    self.expiry.mark_inconclusive(Some(event.index), "the timestamp names no moment");
                }
            }
            (Some(at), Some(latest)) if at < latest => {
                if rated {
                    self.rate.mark_inconclusive(
                        Some(event.index),
                        "time runs backwards here, so no rate can be told",
                    );
                }
                if matters && expiry.is_some_and(|expiry| at < expiry && expiry <= latest) {
                    self.expiry.mark_inconclusive(
                        Some(event.index),
                        "time runs backwards here, from after the envelope had expired",
                    );
                }
            }
            (Some(at), _) => self.latest_time = Some(at),
            (None, _) => {}
        }
        at
    }

    /// Checks a call of a model or a tool against all restrictions.
    fn on_call(&mut self, event: &AuditedEvent<'_>, action: Action) {
        let at = self.event_time(event).or(self.latest_time).unwrap_or_default();
        let name = event.name.and_then(|name| name.string());
        let request = PolicyRequest {
            action,
            name: name.as_deref().unwrap_or_default(),
            at,
            cost: CostEstimate::Counted,
        };
        if name.is_none() {
            let list = if action == Action::Model { &mut self.models } else { &mut self.tools };
            list.mark_inconclusive(Some(event.index), event.unnamed_reason());
        }
        if action == Action::Model && !self.envelope.allowed_forms.is_empty() {
            let spend = self.envelope.max_spend.is_some().then_some(&mut self.spend);
            for rule in [Some(&mut self.models), Some(&mut self.tools), spend].into_iter().flatten() {
                rule.mark_inconclusive(Some(event.index), UNKNOWN_FORMS);
            }
        }
        if event.names_both {
            let other = if action == Action::Model { &mut self.tools } else { &mut self.models };
            other.mark_inconclusive(Some(event.index), "it names both a model and a tool");
        }
        for rule in broken_rules(&self.envelope, &self.history, &request) {
            let what = Shown::new(request.name);
            match rule {
                EnvelopeRule::AllowedModels if name.is_some() => {
                    self.models.fail(event.index, &format!("the model \"{what}\" is not on the list"));
                }
                EnvelopeRule::AllowedTools if name.is_some() => {
                    self.tools.fail(event.index, &format!("the tool \"{what}\" is not on the list"));
                }
                // The end of an authorization belongs to a rule of its own.
                EnvelopeRule::AllowedModels | EnvelopeRule::AllowedTools | EnvelopeRule::Authorization => {}
                EnvelopeRule::MaxSteps => {
                    let limit = self.envelope.max_steps.unwrap_or_default();
                    let reason =
                        format!("this is action {}, allowed are {limit}", self.history.actions() + 1);
                    self.steps.fail(event.index, &reason);
                }
                EnvelopeRule::MaxSpend => {
                    let reason = format!("{} were spent already", self.history.spent());
                    self.spend.fail(event.index, &reason);
                }
                EnvelopeRule::RateLimit => {
                    let limit = self.envelope.rate_limit_rpm.unwrap_or_default();
                    let actions = if limit == 1 { "action" } else { "actions" };
                    let reason = format!("{limit} {actions} had begun in the 60 seconds before");
                    self.rate.fail(event.index, &reason);
                }
                EnvelopeRule::Expiry => {
                    self.expiry.fail(event.index, "it began after the envelope had expired")
                }
            }
        }
        self.approvals.on_call(event, action, name.as_deref());
        if action == Action::Model && self.envelope.max_spend.is_some() {
            self.call_costs.on_call(event);
        }
        // Rules that the events alone do not show to be broken, such as those on the form of a request.
        if let Some(warning) = event.step_id_bytes().and_then(|step_id| self.warnings.take(&step_id)) {
            self.fail_warned(&warning.rule, event.index, warning.reason);
        }
        self.history.record_action(at);
    }

    /// Fails the rule that denied an action which happened all the same.
    fn fail_warned(&mut self, rule: &str, event: usize, reason: &str) {
        let tracker = match rule {
            "allowed_models" => &mut self.models,
            "max_steps" => &mut self.steps,
            "max_spend_usd" => &mut self.spend,
            "rate_limit_rpm" => &mut self.rate,
            "expiry" => &mut self.expiry,
            "required_approvals" => return self.approvals.fail_warned(event, reason),
            // Every other rule is about a form that may ask for any tool.
            _ => &mut self.tools,
        };
        tracker.fail(event, reason);
    }

    /// Adds the cost that a return, a count or the end of the run states.
    fn on_cost(&mut self, event: &AuditedEvent<'_>) {
        self.event_time(event);
        if event.kind == AuditedKind::Event(EventType::RunEnded) {
            self.run_ended_index = Some(event.index);
            self.partial_total = Some(event.index).filter(|_| event.is_estimate);
        }
        match (event.kind, event.stated_cost()) {
            (_, StatedCost::Invalid) if self.envelope.max_spend.is_some() => {
                self.spend
                    .mark_inconclusive(Some(event.index), "what it says of the cost is no amount of money");
            }
            (AuditedKind::Event(EventType::RunEnded), StatedCost::Amount(total)) => {
                self.stated_total = Some(total)
            }
            (_, StatedCost::Amount(amount)) => {
                self.history.record_cost(amount);
                if self.envelope.max_spend.is_some() {
                    self.call_costs.on_cost(event);
                }
            }
            // A tool call without a stated cost is free, unless its payload is withheld.
            (AuditedKind::Return(Action::Tool), StatedCost::Absent) if event.is_withheld => {
                self.first_withheld_return.get_or_insert(event.index);
            }
            _ => {}
        }
    }

    /// Checks the total cost: the sum of what the events state, or the total at the end of the run if that is more. A total
    /// alone does not tell what each call cost, and an estimate is the least that a call can have cost.
    fn check_total_spend(&mut self) {
        let Some(limit) = self.envelope.max_spend else { return };
        let spent = self.history.spent().max(self.stated_total.unwrap_or_default());
        if spent > limit {
            let event = self.run_ended_index.or(self.last_index).unwrap_or_default();
            self.spend.fail(event, &format!("{spent} were spent, allowed were {limit}"));
        } else if let Some(event) = self.call_costs.first_unstated() {
            self.spend.mark_inconclusive(Some(event), "nothing tells what this call cost");
        } else if let Some(event) = self.call_costs.first_estimate() {
            self.spend.mark_inconclusive(
                Some(event),
                "the vendor did not tell what this call cost; it is an estimate, and it may have been more",
            );
        } else if let Some(event) = self.partial_total {
            self.spend.mark_inconclusive(Some(event), "it says that more may have been spent than it counts");
        } else if self.stated_total.is_none()
            && let Some(event) = self.first_withheld_return
        {
            self.spend
                .mark_inconclusive(Some(event), "nothing tells what this call cost, nor what the run did");
        }
    }
}
