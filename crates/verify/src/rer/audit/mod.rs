//! The audit of an RER artifact: its events, held against its envelope, one rule after the other.

mod approvals;
mod authorization;
mod covering;
mod order;
mod step;
mod tracker;

use std::sync::Arc;

use reenact_formats::rer::envelope::decide::{Action, Cost, History, Request, Rule, broken};
use reenact_formats::rer::envelope::money::Money;
use reenact_formats::rer::envelope::permission::{Enforcement, Envelope};
use reenact_formats::rer::time;
use reenact_formats::rer::{EventType, Head};
use reenact_json::{Shown, Value};

use crate::Keys;
use crate::audit::{Audit, RuleVerdict};
use approvals::Approvals;
use order::Order;
use step::Told;
pub(super) use step::{Step, StepKind};
use tracker::Tracker;

/// The rules, in the order of the contract.
const RULES: [&str; 10] = [
    "allowed_models",
    "allowed_tools",
    "max_steps",
    "max_spend_usd",
    "rate_limit_rpm",
    "expiry",
    "required_approvals",
    "required_signer_types",
    "event_order",
    "authorization",
];

/// Why a gap in capture leaves every restriction in doubt.
const UNCAPTURED: &str = "something was not captured here, and may have broken any rule";

/// The audit of a document that could not be read.
pub(super) fn unreadable() -> Audit {
    let rules = RULES.map(|rule| {
        let mut tracker = Tracker::new(rule);
        tracker.doubt(None, "the document could not be read");
        tracker.conclude("")
    });
    Audit { rules: rules.into() }
}

/// The audit of one run, while its events go by.
///
/// It needs the envelope, which stands before the events in canonical order. Then steps are looked at as they come and
/// forgotten; only where the envelope comes late do they wait for it.
#[derive(Default)]
pub(super) struct Auditor<'a> {
    waiting: Vec<Vec<Step<'a>>>,
    rules: Option<Rules<'a>>,
}

impl<'a> Auditor<'a> {
    /// Takes the steps that follow; `envelope` is there if the text had shown it by then.
    pub(super) fn take(&mut self, steps: Vec<Step<'a>>, envelope: Option<Value<'a>>) {
        if self.rules.is_none() && envelope.is_some() {
            self.begin(envelope);
        }
        match &mut self.rules {
            Some(rules) => steps.iter().for_each(|step| rules.see(step)),
            None => self.waiting.push(steps),
        }
    }

    fn begin(&mut self, envelope: Option<Value<'a>>) -> &mut Rules<'a> {
        let mut rules = Rules::of(envelope);
        core::mem::take(&mut self.waiting).iter().flatten().for_each(|step| rules.see(step));
        self.rules.insert(rules)
    }

    /// The audit of a log of that many events.
    pub(super) fn conclude(mut self, head: &Head<'a>, events: usize, keys: &Keys) -> Audit {
        if self.rules.is_none() {
            self.begin(head.envelope);
        }
        let mut rules = self.rules.map_or_else(Vec::new, |rules| rules.conclude(events));
        rules.push(authorization::judge(head, keys));
        Audit { rules }
    }
}

/// What a run is held against.
struct Rules<'a> {
    /// The eight that restrict what may happen; or why there are none.
    restrictions: Result<Restrictions, String>,
    order: Order<'a>,
}

impl<'a> Rules<'a> {
    fn of(envelope: Option<Value<'a>>) -> Self {
        let envelope = match envelope.map(Envelope::read) {
            Some(Ok(envelope)) => Ok(envelope),
            Some(Err(fault)) => Err(format!("the envelope cannot be read: {fault}")),
            None => Err("there is no envelope".into()),
        };
        let restrictions = envelope.and_then(|envelope| match envelope.enforcement {
            Enforcement::Enforced => Ok(Restrictions::new(Arc::new(envelope))),
            Enforcement::Observed => Err("nothing was restricted (observe-only)".into()),
            Enforcement::Imported => Err("nothing was restricted (imported from another format)".into()),
        });
        Self { order: Order::new(restrictions.is_ok()), restrictions }
    }

    fn see(&mut self, step: &Step<'a>) {
        if let Ok(restrictions) = &mut self.restrictions {
            restrictions.see(step);
        }
        self.order.see(step);
    }

    fn conclude(self, events: usize) -> Vec<RuleVerdict> {
        let mut rules = match self.restrictions {
            Ok(restrictions) => restrictions.conclude(),
            Err(reason) => RULES[..8]
                .iter()
                .map(|rule| {
                    let mut tracker = Tracker::new(rule);
                    tracker.doubt(None, &reason);
                    tracker.conclude("")
                })
                .collect(),
        };
        rules.push(self.order.conclude(events));
        rules
    }
}

/// The eight rules that restrict what may happen.
struct Restrictions {
    envelope: Arc<Envelope>,
    history: History,
    models: Tracker,
    tools: Tracker,
    steps: Tracker,
    spend: Tracker,
    rate: Tracker,
    expiry: Tracker,
    approvals: Approvals,
    /// The cost that the end of the run tells.
    total: Option<Money>,
    /// Calls of models whose cost nothing tells.
    uncounted: Option<usize>,
    latest: Option<i128>,
    /// The last step, and the last that ends the run.
    last: Option<usize>,
    ended: Option<usize>,
}

impl Restrictions {
    fn new(envelope: Arc<Envelope>) -> Self {
        Self {
            history: History::default(),
            models: Tracker::new("allowed_models"),
            tools: Tracker::new("allowed_tools"),
            steps: Tracker::new("max_steps"),
            spend: Tracker::new("max_spend_usd"),
            rate: Tracker::new("rate_limit_rpm"),
            expiry: Tracker::new("expiry"),
            approvals: Approvals::new(&envelope),
            envelope,
            total: None,
            uncounted: None,
            latest: None,
            last: None,
            ended: None,
        }
    }

    /// The next step.
    fn see(&mut self, step: &Step<'_>) {
        self.last = Some(step.index);
        match step.kind {
            StepKind::Event(EventType::RunStarted) => self.started(step),
            StepKind::Called(action) => self.called(step, action),
            StepKind::Returned(_) | StepKind::Event(EventType::SpendCounted | EventType::RunEnded) => {
                self.spent(step)
            }
            StepKind::Event(EventType::CaptureGap) => self.gap(step),
            _ => {
                self.moment(step);
            }
        }
        self.approvals.see(step);
    }

    fn conclude(mut self) -> Vec<RuleVerdict> {
        self.spending();
        let none = |set: bool, kept: &'static str, absent: &'static str| if set { kept } else { absent };
        let limits = Arc::clone(&self.envelope);
        let (approvals, signers) = self.approvals.conclude();
        vec![
            self.models.conclude("every model that was called is on the list"),
            self.tools.conclude("every tool that was called is on the list"),
            self.steps.conclude(none(limits.max_steps.is_some(), "the limit was kept", "there is no limit")),
            self.spend.conclude(none(limits.max_spend.is_some(), "the limit was kept", "there is no limit")),
            self.rate.conclude(none(
                limits.rate_limit_rpm.is_some(),
                "the limit was kept",
                "there is no limit",
            )),
            self.expiry.conclude(none(
                limits.expiry.is_some(),
                "everything began before it",
                "there is none",
            )),
            approvals,
            signers,
        ]
    }

    /// Something happened that was not captured: it may have been anything.
    fn gap(&mut self, step: &Step<'_>) {
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
            rule.doubt(Some(step.index), UNCAPTURED);
        }
        self.approvals.gap(step);
    }

    fn started(&mut self, step: &Step<'_>) {
        if let (Some(expiry), Some(at)) = (self.envelope.expiry, self.moment(step))
            && at >= expiry
        {
            self.expiry.fail(step.index, "the run began after the envelope had expired");
        }
    }

    /// When a step happened, where that matters. Timestamps are the recorder's word, and may run backwards: then there is
    /// no telling how much time passed.
    fn moment(&mut self, step: &Step<'_>) -> Option<i128> {
        let (expiry, rated) = (self.envelope.expiry, self.envelope.rate_limit_rpm.is_some());
        if expiry.is_none() && !rated {
            return Some(0);
        }
        let at = step.timestamp.and_then(|timestamp| time::instant(&timestamp.string()?));
        let matters = matches!(step.kind, StepKind::Event(EventType::RunStarted) | StepKind::Called(_));
        match (at, self.latest) {
            (None, _) if matters => {
                if rated {
                    self.rate.doubt(Some(step.index), "the timestamp names no moment");
                }
                if expiry.is_some() {
                    self.expiry.doubt(Some(step.index), "the timestamp names no moment");
                }
            }
            (Some(at), Some(latest)) if at < latest => {
                if rated {
                    self.rate.doubt(Some(step.index), "time runs backwards here, so no rate can be told");
                }
                if matters && expiry.is_some_and(|expiry| at < expiry && expiry <= latest) {
                    self.expiry.doubt(
                        Some(step.index),
                        "time runs backwards here, from after the envelope had expired",
                    );
                }
            }
            (Some(at), _) => self.latest = Some(at),
            (None, _) => {}
        }
        at
    }

    fn called(&mut self, step: &Step<'_>, action: Action) {
        let at = self.moment(step).or(self.latest).unwrap_or_default();
        let name = step.name.and_then(|name| name.string());
        let request = Request { action, name: name.as_deref().unwrap_or_default(), at, cost: Cost::Counted };
        if name.is_none() {
            let list = if action == Action::Model { &mut self.models } else { &mut self.tools };
            list.doubt(Some(step.index), step.why_unnamed());
        }
        if step.names_both {
            let other = if action == Action::Model { &mut self.tools } else { &mut self.models };
            other.doubt(Some(step.index), "it names both a model and a tool");
        }
        for rule in broken(&self.envelope, &self.history, &request) {
            let what = Shown::new(request.name);
            match rule {
                Rule::AllowedModels if name.is_some() => {
                    self.models.fail(step.index, &format!("the model \"{what}\" is not on the list"));
                }
                Rule::AllowedTools if name.is_some() => {
                    self.tools.fail(step.index, &format!("the tool \"{what}\" is not on the list"));
                }
                Rule::AllowedModels | Rule::AllowedTools => {}
                Rule::MaxSteps => {
                    let limit = self.envelope.max_steps.unwrap_or_default();
                    let reason =
                        format!("this is action {}, allowed are {limit}", self.history.actions() + 1);
                    self.steps.fail(step.index, &reason);
                }
                Rule::MaxSpend => {
                    let reason = format!("{} were spent already", self.history.spent());
                    self.spend.fail(step.index, &reason);
                }
                Rule::RateLimit => {
                    let limit = self.envelope.rate_limit_rpm.unwrap_or_default();
                    let reason = format!("{limit} actions had begun in the 60 seconds before");
                    self.rate.fail(step.index, &reason);
                }
                Rule::Expiry => self.expiry.fail(step.index, "it began after the envelope had expired"),
            }
        }
        self.approvals.called(step, action, name.as_deref());
        self.history.began(at);
    }

    fn spent(&mut self, step: &Step<'_>) {
        self.moment(step);
        if step.kind == StepKind::Event(EventType::RunEnded) {
            self.ended = Some(step.index);
        }
        match (step.kind, step.spend()) {
            (_, Told::Nonsense) if self.envelope.max_spend.is_some() => {
                self.spend.doubt(Some(step.index), "what it says of the cost is no amount of money");
            }
            (StepKind::Event(EventType::RunEnded), Told::Amount(total)) => self.total = Some(total),
            (_, Told::Amount(amount)) => self.history.cost(amount),
            // A tool costs nothing unless something says so; a withheld payload may have.
            (StepKind::Returned(action), Told::Nothing) if action == Action::Model || step.withheld => {
                self.uncounted.get_or_insert(step.index);
            }
            _ => {}
        }
    }

    /// What was spent is told by each return, by the end of the run, or by both; the larger counts.
    fn spending(&mut self) {
        let Some(limit) = self.envelope.max_spend else { return };
        let spent = self.history.spent().max(self.total.unwrap_or_default());
        if spent > limit {
            let event = self.ended.or(self.last).unwrap_or_default();
            self.spend.fail(event, &format!("{spent} were spent, allowed were {limit}"));
        } else if self.total.is_none()
            && let Some(event) = self.uncounted
        {
            self.spend.doubt(Some(event), "nothing tells what this call cost, nor what the run did");
        }
    }
}
