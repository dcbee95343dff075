//! The order of events: a run begins and ends, a policy decides before an action, each call returns once.

use std::collections::BTreeMap;

use reenact_formats::rer::envelope::decide::Action;

use super::step::{Step, What};
use super::tracker::Tracker;
use crate::audit::RuleVerdict;

pub(super) struct Order {
    tracker: Tracker,
    /// Whether a policy had to decide on each action.
    policed: bool,
    /// Decisions that no action has followed yet, by step.
    decided: BTreeMap<Vec<u8>, bool>,
    /// Calls that have not returned, by step, with the event that began them.
    open: BTreeMap<Vec<u8>, usize>,
    /// The same for calls that name no step: they return in the order in which they began.
    unnamed: [Vec<usize>; 2],
    gap: bool,
}

impl Order {
    pub(super) fn new(policed: bool) -> Self {
        Self {
            tracker: Tracker::new("event_order"),
            policed,
            decided: BTreeMap::new(),
            open: BTreeMap::new(),
            unnamed: [Vec::new(), Vec::new()],
            gap: false,
        }
    }

    pub(super) fn walk(mut self, steps: &[Step<'_>], events: usize) -> RuleVerdict {
        if !steps.first().is_some_and(|first| first.index == 0 && first.what == What::RunStarted) {
            self.tracker.fail(0, "the first event is not rer.run.started");
        }
        if !steps.last().is_some_and(|last| last.index + 1 == events && last.what == What::RunEnded) {
            self.tracker.fail(events.saturating_sub(1), "the last event is not rer.run.ended");
        }
        for step in steps {
            self.see(step, events);
        }
        let unreturned = self.open.values().chain(self.unnamed.iter().flatten()).min().copied();
        match unreturned {
            Some(event) if self.gap => {
                self.tracker.doubt(Some(event), "this call never returned, but something was not captured")
            }
            Some(event) => self.tracker.fail(event, "this call never returned"),
            None => {}
        }
        self.tracker.conclude("every action was decided, began and returned in order")
    }

    fn see(&mut self, step: &Step<'_>, events: usize) {
        match step.what {
            What::RunStarted if step.index > 0 => {
                self.tracker.fail(step.index, "the run begins a second time")
            }
            What::RunEnded if step.index + 1 < events => {
                self.tracker.fail(step.index, "the run goes on after its end")
            }
            What::Gap => self.gap = true,
            What::Evaluated => self.evaluated(step),
            What::Called(action) => self.called(step, action),
            What::Returned(action) => self.returned(step, action),
            What::Blocked => {
                // A block without a decision is odd, but it harms nobody.
                step.step_key().map(|key| self.decided.remove(&key));
            }
            _ => {}
        }
    }

    fn evaluated(&mut self, step: &Step<'_>) {
        match (step.step_key(), step.allows()) {
            (Some(key), Some(allows)) => {
                self.decided.insert(key, allows);
            }
            _ => self.tracker.doubt(Some(step.index), "the decision does not tell its step, or what it was"),
        }
    }

    fn called(&mut self, step: &Step<'_>, action: Action) {
        let Some(key) = step.step_key() else {
            if self.policed || step.withheld {
                self.tracker.doubt(
                    Some(step.index),
                    "the call does not tell its step, so no decision can be matched with it",
                );
            }
            self.unnamed[action as usize].push(step.index);
            return;
        };
        match self.decided.remove(&key) {
            Some(true) => {}
            Some(false) => self.tracker.fail(step.index, "the policy had denied this action"),
            None if self.policed => {
                self.tracker.fail(step.index, "no policy decision came before this action")
            }
            None => {}
        }
        if self.open.insert(key, step.index).is_some() {
            self.tracker.fail(step.index, "the same step begins again before it has returned");
        }
    }

    fn returned(&mut self, step: &Step<'_>, action: Action) {
        let known = match step.step_key() {
            Some(key) => self.open.remove(&key).is_some(),
            None => {
                let calls = &mut self.unnamed[action as usize];
                let any = !calls.is_empty();
                if any {
                    calls.remove(0);
                } else if step.withheld && !self.open.is_empty() {
                    self.tracker.doubt(
                        Some(step.index),
                        "the payload is withheld, so it does not tell which call returned",
                    );
                    return;
                }
                any
            }
        };
        if !known {
            self.tracker.fail(step.index, "something returned that was not called");
        }
    }
}
