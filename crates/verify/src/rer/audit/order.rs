//! The order of events: a run begins and ends, a policy decides before an action, each call returns once.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use reenact_formats::rer::EventType;
use reenact_formats::rer::envelope::decide::Action;

use super::step::{Step, StepKind};
use super::tracker::Tracker;
use crate::audit::RuleVerdict;

pub(super) struct Order<'a> {
    tracker: Tracker,
    /// Whether a policy had to decide on each action.
    policed: bool,
    /// Decisions that no action has followed yet, by step.
    decided: BTreeMap<Cow<'a, [u8]>, Decided<'a>>,
    /// Decisions that may have allowed some step, without telling which.
    untold: usize,
    /// Calls that have not returned, by kind and step, with the event that began them.
    open: BTreeMap<(Action, Cow<'a, [u8]>), usize>,
    /// The same for calls that name no step: they return in the order in which they began.
    unnamed: [VecDeque<usize>; 2],
    /// The first call of each kind whose payload is withheld: it may be what any later return answers.
    withheld: [Option<usize>; 2],
    /// Calls that have not returned, of each kind, whichever they are.
    running: [usize; 2],
    gap: bool,
    /// The last step so far, and whether it ends the run.
    last: Option<(usize, bool)>,
}

const NO_START: &str = "the first event is not rer.run.started";
const GOES_ON: &str = "the run goes on after its end";

/// What a policy decided on a step.
struct Decided<'a> {
    allows: bool,
    /// On which model or tool, if it says so.
    name: Option<Cow<'a, [u8]>>,
}

impl<'a> Order<'a> {
    pub(super) fn new(policed: bool) -> Self {
        Self {
            tracker: Tracker::new("event_order"),
            policed,
            decided: BTreeMap::new(),
            untold: 0,
            open: BTreeMap::new(),
            unnamed: [VecDeque::new(), VecDeque::new()],
            withheld: [None, None],
            running: [0, 0],
            gap: false,
            last: None,
        }
    }

    /// The verdict on a log of that many events.
    pub(super) fn conclude(mut self, events: usize) -> RuleVerdict {
        if self.last.is_none() {
            self.tracker.fail(0, NO_START);
        }
        match self.last {
            Some((index, true)) if index + 1 == events => {}
            Some((index, true)) => self.tracker.fail(index, GOES_ON),
            _ => self.tracker.fail(events.saturating_sub(1), "the last event is not rer.run.ended"),
        }
        // Where payloads are withheld, calls and returns cannot all be paired; their numbers must fit all the same.
        if self.running != [0, 0] {
            let of_kind = |kind: Action| self.running[kind as usize] > 0;
            let open = self.open.iter().filter(|((kind, _), _)| of_kind(*kind)).map(|(_, event)| event);
            let others = [Action::Model, Action::Tool].into_iter().filter(|kind| of_kind(*kind));
            let others = others.flat_map(|kind| {
                self.unnamed[kind as usize].front().into_iter().chain(&self.withheld[kind as usize])
            });
            let event = open.chain(others).min().copied().unwrap_or_default();
            if self.gap {
                self.tracker.doubt(Some(event), "this call never returned, but something was not captured");
            } else {
                self.tracker.fail(event, "this call never returned");
            }
        }
        self.tracker.conclude("every action was decided, began and returned in order")
    }

    /// The next step.
    pub(super) fn see(&mut self, step: &Step<'a>) {
        match self.last {
            None if step.index != 0 || step.kind != StepKind::Event(EventType::RunStarted) => {
                self.tracker.fail(0, NO_START)
            }
            Some((ended, true)) => self.tracker.fail(ended, GOES_ON),
            _ => {}
        }
        self.last = Some((step.index, step.kind == StepKind::Event(EventType::RunEnded)));
        match step.kind {
            StepKind::Event(EventType::RunStarted) if step.index > 0 => {
                self.tracker.fail(step.index, "the run begins a second time")
            }
            StepKind::Event(EventType::CaptureGap) => self.gap = true,
            StepKind::Strange => {
                let reason = format!("it is of {}, and may be an action", step.strange_type());
                self.tracker.doubt(Some(step.index), &reason);
            }
            StepKind::Event(EventType::PolicyEvaluated) => self.evaluated(step),
            StepKind::Called(action) => self.called(step, action),
            StepKind::Returned(action) => self.returned(step, action),
            StepKind::Event(EventType::StepBlocked) => {
                // A block without a decision is odd, but it harms nobody.
                step.step_key().map(|key| self.decided.remove(&key));
            }
            _ => {}
        }
    }

    fn evaluated(&mut self, step: &Step<'a>) {
        let key = step.step_key();
        // What may have allowed a step that it does not tell must not make that step look undecided.
        self.untold += usize::from(key.is_none() && (step.withheld || step.allows() == Some(true)));
        match (key, step.allows()) {
            (Some(key), Some(allows)) => {
                let name = step.name.and_then(|name| name.string_bytes());
                self.decided.insert(key, Decided { allows, name });
            }
            _ => self.tracker.doubt(Some(step.index), "the decision does not tell its step, or what it was"),
        }
    }

    fn called(&mut self, step: &Step<'a>, action: Action) {
        self.running[action as usize] += 1;
        let Some(key) = step.step_key() else {
            if self.policed || step.withheld {
                self.tracker.doubt(
                    Some(step.index),
                    "the call does not tell its step, so no decision can be matched with it",
                );
            }
            if step.withheld {
                self.withheld[action as usize].get_or_insert(step.index);
            } else {
                self.unnamed[action as usize].push_back(step.index);
            }
            return;
        };
        self.decision(step, &key);
        if self.open.insert((action, key), step.index).is_some() {
            self.tracker.fail(step.index, "the same step begins again before it has returned");
        }
    }

    fn decision(&mut self, step: &Step<'a>, key: &[u8]) {
        match self.decided.remove(key) {
            Some(Decided { allows: false, .. }) => {
                self.tracker.fail(step.index, "the policy had denied this action");
            }
            Some(Decided { name: Some(name), .. })
                if step.name.and_then(|own| own.string_bytes()).is_some_and(|own| *own != *name) =>
            {
                self.tracker.fail(step.index, "the policy had decided on another model or tool");
            }
            Some(_) => {}
            None if !self.policed => {}
            None if self.untold > 0 => {
                self.untold -= 1;
                self.tracker
                    .doubt(Some(step.index), "no decision on this action can be told from the record");
            }
            None => self.tracker.fail(step.index, "no policy decision came before this action"),
        }
    }

    fn returned(&mut self, step: &Step<'a>, action: Action) {
        let kind = action as usize;
        let key = step.step_key();
        let known = match key {
            Some(key) => self.open.remove(&(action, key)).is_some(),
            None if step.withheld => false,
            None => self.unnamed[kind].pop_front().is_some(),
        };
        // It may answer a call whose payload is withheld; or its own is, and it may answer any.
        let may_be_known = self.running[kind] > 0 && (step.withheld || self.withheld[kind].is_some());
        if known || may_be_known {
            self.running[kind] = self.running[kind].saturating_sub(1);
        }
        if !known && may_be_known {
            self.tracker
                .doubt(Some(step.index), "a payload is withheld, so it cannot be told which call returned");
        } else if !known {
            self.tracker.fail(step.index, "something returned that was not called");
        }
    }
}
