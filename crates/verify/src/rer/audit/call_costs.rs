//! [`CallCosts`]: which model calls of a run have a stated cost, and whether that is all they cost.

use std::collections::{BTreeMap, BTreeSet};

use super::audited_event::AuditedEvent;

/// Model calls and their costs, tied together by their steps. A call without a cost may have cost anything.
#[derive(Debug, Default)]
pub(super) struct CallCosts {
    /// Calls whose cost is not stated so far: the index of the event, by step.
    open_calls: BTreeMap<Box<[u8]>, usize>,
    /// Index of the first call whose step is not known, since its payload is withheld, names none, or names that of
    /// another call.
    first_nameless: Option<usize>,
    /// Number of such calls.
    nameless: usize,
    /// Steps with a cost that belongs to none of `open_calls`. One of these may be that of a nameless call.
    spare_costs: BTreeSet<Box<[u8]>>,
    /// Index of the first cost that is an estimate.
    first_estimate: Option<usize>,
}

impl CallCosts {
    /// Observes a call of a model.
    pub(super) fn on_call(&mut self, event: &AuditedEvent<'_>) {
        match event.step_id_bytes() {
            Some(step) if !self.open_calls.contains_key(&*step) => {
                self.open_calls.insert(step.into_owned().into(), event.index);
            }
            _ => {
                self.nameless += 1;
                self.first_nameless.get_or_insert(event.index);
            }
        }
    }

    /// Observes an event that states the cost of a step.
    pub(super) fn on_cost(&mut self, event: &AuditedEvent<'_>) {
        if event.is_estimate {
            self.first_estimate.get_or_insert(event.index);
        }
        let Some(step) = event.step_id_bytes() else { return };
        if self.open_calls.remove(&*step).is_none() {
            self.spare_costs.insert(step.into_owned().into());
        }
    }

    /// Returns the index of the first call whose cost is not stated.
    pub(super) fn first_unstated(&self) -> Option<usize> {
        let nameless = self.first_nameless.filter(|_| self.nameless > self.spare_costs.len());
        self.open_calls.values().copied().chain(nameless).min()
    }

    /// Returns the index of the first cost that is an estimate.
    pub(super) fn first_estimate(&self) -> Option<usize> {
        self.first_estimate
    }
}
