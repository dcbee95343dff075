//! Utilities that an agent reports of its steps, and the tool calls that each belongs to.
//!
//! An agent reports `rer.step.completed` with a name of its own and a utility; a recorder never sees which tool calls it
//! means. Two ways lead from a report to calls, and a call that neither reaches has no utility:
//!
//! | the step is named | calls |
//! |---|---|
//! | as a call, by the id that the model gave it | that call; the first report of an id counts |
//! | in any other way, such as a step of the plan | those that were asked for and answered since the step before it was completed, or since the plan began |
//!
//! A call in whose midst a step was completed may belong to either side, so it gets nothing by the second way. Of a call
//! that was inferred from a conversation the record holds both ends only when its result went to the model; it began
//! no later than the model's last answer before.
//!
//! Events are taken one by one, so that a run can be followed while it is recorded. Start reading at
//! [`StepUtilities::take`].

use std::collections::{HashMap, HashSet};

use reenact_formats::FormatId;
use reenact_formats::rer::EventType;
use reenact_formats::rer::payload::{EventSource, StepCompletedView};
use reenact_json::{Value, ValueKind};

use crate::event::Event;
use crate::reader::replay_jsonl::finite_f32;

/// Members by which an object in a plan names its step.
const NAME_MEMBERS: [&str; 3] = ["step_id", "id", "name"];

/// Utilities of a run's tool calls, as far as its events were taken.
#[derive(Debug, Default)]
pub(crate) struct StepUtilities {
    /// Ids that models gave to tool calls.
    call_ids: HashSet<String>,
    /// Names of steps that a plan announced.
    planned: HashSet<String>,
    /// First utility that was reported under each name.
    reported: HashMap<String, f32>,
    /// Step, and its utility, of each call that lies between two completed steps; by the index of the call.
    by_order: HashMap<usize, (String, f32)>,
    /// Steps in `by_order`.
    used: HashSet<String>,
    /// Index of the event at which each open call began at the latest, by the index of the call.
    open: HashMap<usize, usize>,
    /// Calls that began and returned since [`StepUtilities::boundary`].
    since: Vec<usize>,
    /// Index of the last event at which a step was completed or a plan began.
    boundary: Option<usize>,
    /// Index of the last answer of a model.
    last_answer: Option<usize>,
}

/// Utility of a call in a run that goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SettledUtility {
    /// The agent reported it.
    Known(f32),
    /// The agent tells of its steps, and may still report it.
    Open,
    /// Nothing says that one will come.
    Unknown,
}

impl StepUtilities {
    /// Takes all events of a run.
    pub(crate) fn of<'r>(events: impl Iterator<Item = Event<'r>> + Clone) -> Self {
        let mut utilities = Self::default();
        if !events.clone().any(|event| event.kind() == Some(EventType::StepCompleted)) {
            return utilities;
        }
        // A report may name a call before the record holds that call.
        events.clone().for_each(|event| utilities.take_call_id(&event));
        events.for_each(|event| utilities.take(&event));
        utilities
    }

    /// Takes the next event. Events whose payload is not RER's are ignored: other formats say utilities themselves.
    pub(crate) fn take(&mut self, event: &Event<'_>) {
        if event.payload_format() != FormatId::Rer {
            return;
        }
        match event.kind() {
            Some(EventType::ModelReturned) => self.take_answer(event.index()),
            Some(EventType::ToolCalled) => self.begin_call(event),
            Some(EventType::ToolReturned) => self.end_call(event),
            Some(EventType::PlanStarted) => self.begin_plan(event),
            Some(EventType::StepCompleted) => self.complete_step(event),
            _ => {}
        }
    }

    /// Returns the utility of a call; `tool_call_id` is the id that the model gave it, `called` the index of its event.
    pub(crate) fn of_call(&self, tool_call_id: Option<&str>, called: Option<usize>) -> Option<f32> {
        let named = tool_call_id.and_then(|id| self.reported.get(id).copied());
        let by_order = || {
            let (step, utility) = self.by_order.get(&called?)?;
            (!self.names_a_call(step)).then_some(*utility)
        };
        named.or_else(by_order)
    }

    /// Returns true if the utility of some call is that of the step of this name.
    pub(crate) fn is_used(&self, step: &str) -> bool {
        self.names_a_call(step) || self.used.contains(step)
    }

    /// Returns true if a step is named as a call. A step that a plan announced is not.
    fn names_a_call(&self, step: &str) -> bool {
        self.call_ids.contains(step) && !self.planned.contains(step)
    }

    /// Returns the utility of a call as far as no later event can change it.
    pub(crate) fn settled(
        &self,
        tool_call_id: Option<&str>,
        called: usize,
        returned: usize,
    ) -> SettledUtility {
        if let Some(utility) = tool_call_id.and_then(|id| self.reported.get(id).copied()) {
            return SettledUtility::Known(utility);
        }
        let is_told_of_steps = self.boundary.is_some() || !self.reported.is_empty();
        match self.by_order.get(&called) {
            Some((step, utility)) if self.planned.contains(step) => SettledUtility::Known(*utility),
            // The name of the step may turn out to be that of a call.
            Some(_) => SettledUtility::Open,
            None if is_told_of_steps && self.boundary.is_none_or(|boundary| boundary < returned) => {
                SettledUtility::Open
            }
            None => SettledUtility::Unknown,
        }
    }

    /// Takes the answer of a model, without its content.
    pub(crate) fn take_answer(&mut self, index: usize) {
        self.last_answer = Some(index);
    }

    fn take_call_id(&mut self, event: &Event<'_>) {
        if event.kind() == Some(EventType::ToolCalled)
            && event.payload_format() == FormatId::Rer
            && let Some(id) = tool_call_id(event)
        {
            self.call_ids.insert(id);
        }
    }

    fn begin_call(&mut self, event: &Event<'_>) {
        self.take_call_id(event);
        let is_inferred = event.source() == Some(EventSource::Inferred);
        let began = self.last_answer.filter(|_| is_inferred).unwrap_or_else(|| event.index());
        self.open.insert(event.index(), began);
    }

    fn end_call(&mut self, event: &Event<'_>) {
        let Some(called) = event.partner() else { return };
        let Some(began) = self.open.remove(&called) else { return };
        if self.boundary.is_none_or(|boundary| boundary < began) {
            self.since.push(called);
        }
    }

    fn begin_plan(&mut self, event: &Event<'_>) {
        let steps = event.payload().value().and_then(|payload| payload.member("steps"));
        let list = steps.filter(|steps| steps.kind() == ValueKind::Array);
        let names = list.into_iter().flat_map(|list| list.elements()).filter_map(name_of_step);
        self.planned.extend(names);
        self.since.clear();
        self.boundary = Some(event.index());
    }

    fn complete_step(&mut self, event: &Event<'_>) {
        let completed = event.payload().value().map(StepCompletedView::read);
        let name = completed.and_then(|completed| Some(completed.step_id.value()?.string()?.into_owned()));
        let utility = completed.and_then(|completed| finite_f32(completed.utility.value()?));
        let utility = utility.filter(|utility| (-1.0..=1.0).contains(utility));
        // A withheld report may be of any step.
        let Some(name) = name else {
            self.since.clear();
            self.boundary = Some(event.index());
            return;
        };
        let is_planned = self.planned.contains(&name);
        if !is_planned && let Some(utility) = utility {
            self.reported.entry(name.clone()).or_insert(utility);
        }
        if self.names_a_call(&name) {
            return;
        }
        for called in self.since.drain(..) {
            if let Some(utility) = utility {
                self.by_order.insert(called, (name.clone(), utility));
                self.used.insert(name.clone());
            }
        }
        self.boundary = Some(event.index());
    }
}

/// Returns the id that the model gave a tool call.
fn tool_call_id(event: &Event<'_>) -> Option<String> {
    let id = event.payload().value()?.member("tool_call_id")?.string()?;
    (!id.is_empty()).then(|| id.into_owned())
}

/// Returns the name of a step in a plan: the step itself if it is a string, else a member of it.
fn name_of_step(step: Value<'_>) -> Option<String> {
    let named = || NAME_MEMBERS.iter().find_map(|name| step.member(name)?.string());
    step.string().or_else(named).map(|name| name.into_owned())
}
