//! The rule `event_order`: a run begins and ends once, a policy decides before each action, and each
//! call returns once.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use reenact_formats::rer::EventType;
use reenact_formats::rer::envelope::policy::Action;

use super::audited_event::{AuditedEvent, AuditedKind};
use super::tracker::RuleTracker;
use crate::audit::RuleVerdict;

/// State of the rule `event_order`.
///
/// Payloads may be withheld, so not every call can be paired with its return. Where a pair cannot be
/// found, the numbers of calls and returns must still agree.
pub(super) struct EventOrder<'a> {
    /// Verdict so far.
    tracker: RuleTracker,
    /// True if a policy had to decide on each action.
    requires_decisions: bool,
    /// True if denials had no effect in this run, so that a denied action may follow.
    is_warn_run: bool,
    /// Decisions that no action has followed yet, by step id.
    decisions: BTreeMap<Cow<'a, [u8]>, StepDecision<'a>>,
    /// Number of decisions that may have allowed a step without naming it.
    unidentified_allows: usize,
    /// Calls that have not returned, by kind and step id, with the index of the call.
    open_calls: BTreeMap<(Action, Cow<'a, [u8]>), usize>,
    /// Calls of each kind that name no step. They return in the order in which they began.
    unnamed_calls: [VecDeque<usize>; 2],
    /// First call of each kind whose payload is withheld. Any later return may answer it.
    withheld_calls: [Option<usize>; 2],
    /// Number of calls of each kind that have not returned.
    open_counts: [usize; 2],
    /// True after a capture gap.
    has_gap: bool,
    /// Index of the last event, and true if it ends the run.
    last_event: Option<(usize, bool)>,
}

/// Reason if the log does not begin with the start of the run.
const NO_START: &str = "the first event is not rer.run.started";
/// Reason if events follow the end of the run.
const CONTINUES_AFTER_END: &str = "the run goes on after its end";

/// Decision of a policy on a step.
struct StepDecision<'a> {
    /// True if the action was allowed.
    allows: bool,
    /// Model or tool that the decision names.
    name: Option<Cow<'a, [u8]>>,
}

impl<'a> EventOrder<'a> {
    /// Creates the rule. `requires_decisions` is true if an envelope was enforced.
    pub(super) fn new(requires_decisions: bool) -> Self {
        Self {
            tracker: RuleTracker::new("event_order"),
            requires_decisions,
            is_warn_run: false,
            decisions: BTreeMap::new(),
            unidentified_allows: 0,
            open_calls: BTreeMap::new(),
            unnamed_calls: [VecDeque::new(), VecDeque::new()],
            withheld_calls: [None, None],
            open_counts: [0, 0],
            has_gap: false,
            last_event: None,
        }
    }

    /// Returns the verdict on a log with this number of events.
    pub(super) fn conclude(mut self, events: usize) -> RuleVerdict {
        if self.last_event.is_none() {
            self.tracker.fail(0, NO_START);
        }
        match self.last_event {
            Some((index, true)) if index + 1 == events => {}
            Some((index, true)) => self.tracker.fail(index, CONTINUES_AFTER_END),
            _ => self.tracker.fail(events.saturating_sub(1), "the last event is not rer.run.ended"),
        }
        // Withheld payloads prevent pairing, but the numbers of calls and returns must still agree.
        if self.open_counts != [0, 0] {
            let of_kind = |kind: Action| self.open_counts[kind as usize] > 0;
            let open = self.open_calls.iter().filter(|((kind, _), _)| of_kind(*kind)).map(|(_, event)| event);
            let others = [Action::Model, Action::Tool].into_iter().filter(|kind| of_kind(*kind));
            let others = others.flat_map(|kind| {
                self.unnamed_calls[kind as usize]
                    .front()
                    .into_iter()
                    .chain(&self.withheld_calls[kind as usize])
            });
            let event = open.chain(others).min().copied().unwrap_or_default();
            if self.has_gap {
                self.tracker.mark_inconclusive(
                    Some(event),
                    "this call never returned, but something was not captured",
                );
            } else {
                self.tracker.fail(event, "this call never returned");
            }
        }
        self.tracker.into_verdict("every action was decided, began and returned in order")
    }

    /// Observes the next event.
    pub(super) fn observe(&mut self, event: &AuditedEvent<'a>) {
        match self.last_event {
            None if event.index != 0 || event.kind != AuditedKind::Event(EventType::RunStarted) => {
                self.tracker.fail(0, NO_START)
            }
            Some((ended, true)) => self.tracker.fail(ended, CONTINUES_AFTER_END),
            _ => {}
        }
        self.last_event = Some((event.index, event.kind == AuditedKind::Event(EventType::RunEnded)));
        self.is_warn_run |= event.index == 0 && event.begins_warn_run();
        match event.kind {
            AuditedKind::Event(EventType::RunStarted) if event.index > 0 => {
                self.tracker.fail(event.index, "the run begins a second time")
            }
            AuditedKind::Event(known) if known.marks_missing_events() => self.has_gap = true,
            AuditedKind::UnknownType => {
                let reason = format!("it is of {}, and may be an action", event.unknown_type_text());
                self.tracker.mark_inconclusive(Some(event.index), &reason);
            }
            AuditedKind::Event(EventType::PolicyEvaluated) => self.on_decision(event),
            AuditedKind::Call(action) => self.on_call(event, action),
            AuditedKind::Return(action) => self.on_return(event, action),
            AuditedKind::Event(EventType::StepBlocked) => {
                // A block without a decision is odd but harmless.
                event.step_id_bytes().map(|key| self.decisions.remove(&key));
            }
            _ => {}
        }
    }

    /// Remembers a policy decision by its step.
    fn on_decision(&mut self, event: &AuditedEvent<'a>) {
        let key = event.step_id_bytes();
        // A decision that hides its step may be the one that a later call needs.
        self.unidentified_allows +=
            usize::from(key.is_none() && (event.is_withheld || event.allows() == Some(true)));
        match (key, event.allows()) {
            (Some(key), Some(allows)) => {
                let name = event.name.and_then(|name| name.string_bytes());
                self.decisions.insert(key, StepDecision { allows, name });
            }
            _ => self
                .tracker
                .mark_inconclusive(Some(event.index), "the decision does not tell its step, or what it was"),
        }
    }

    /// Opens a call and checks the decision on it.
    fn on_call(&mut self, event: &AuditedEvent<'a>, action: Action) {
        self.open_counts[action as usize] += 1;
        let Some(key) = event.step_id_bytes() else {
            if self.requires_decisions || event.is_withheld {
                self.tracker.mark_inconclusive(
                    Some(event.index),
                    "the call does not tell its step, so no decision can be matched with it",
                );
            }
            if event.is_withheld {
                self.withheld_calls[action as usize].get_or_insert(event.index);
            } else {
                self.unnamed_calls[action as usize].push_back(event.index);
            }
            return;
        };
        self.check_decision(event, &key);
        if self.open_calls.insert((action, key), event.index).is_some() {
            self.tracker.fail(event.index, "the same step begins again before it has returned");
        }
    }

    /// Checks that the policy allowed this very action, and removes the decision.
    fn check_decision(&mut self, event: &AuditedEvent<'a>, key: &[u8]) {
        match self.decisions.remove(key) {
            Some(StepDecision { allows: false, .. }) if !self.is_warn_run => {
                self.tracker.fail(event.index, "the policy had denied this action");
            }
            Some(StepDecision { name: Some(name), .. })
                if event.name.and_then(|own| own.string_bytes()).is_some_and(|own| *own != *name) =>
            {
                self.tracker.fail(event.index, "the policy had decided on another model or tool");
            }
            Some(_) => {}
            None if !self.requires_decisions => {}
            None if self.unidentified_allows > 0 => {
                self.unidentified_allows -= 1;
                self.tracker.mark_inconclusive(
                    Some(event.index),
                    "no decision on this action can be told from the record",
                );
            }
            None => self.tracker.fail(event.index, "no policy decision came before this action"),
        }
    }

    /// Closes a call. Something that returns must have been called.
    fn on_return(&mut self, event: &AuditedEvent<'a>, action: Action) {
        let kind = action as usize;
        let key = event.step_id_bytes();
        let known = match key {
            Some(key) => self.open_calls.remove(&(action, key)).is_some(),
            None if event.is_withheld => false,
            None => self.unnamed_calls[kind].pop_front().is_some(),
        };
        // If its own payload or that of an open call is withheld, the return may answer that call.
        let may_be_known =
            self.open_counts[kind] > 0 && (event.is_withheld || self.withheld_calls[kind].is_some());
        if known || may_be_known {
            self.open_counts[kind] = self.open_counts[kind].saturating_sub(1);
        }
        if !known && may_be_known {
            self.tracker.mark_inconclusive(
                Some(event.index),
                "a payload is withheld, so it cannot be told which call returned",
            );
        } else if !known {
            self.tracker.fail(event.index, "something returned that was not called");
        }
    }
}
