//! Withheld payloads: the hash of such a payload is in the chain, its bytes are in no file.
//!
//! Masks take the secrets out of a payload; withholding leaves out the whole payload, from the first write on. A salt
//! in each payload keeps its content from being guessed from the hash.

use std::collections::BTreeSet;

use reenact_formats::rer::EventType;
use reenact_formats::rer::envelope::glob;

use crate::exchange::StepId;

/// Payloads that a project withholds: those of the listed event types, tools and models.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Withhold {
    /// Event types, out of [`Withhold::allowed_events`].
    pub events: Vec<String>,
    /// Patterns of tools whose calls and returns are withheld. `*` stands for any characters, `?` for one.
    pub tools: Vec<String>,
    /// Patterns of models whose calls and returns are withheld, in the same form.
    pub models: Vec<String>,
}

impl Withhold {
    /// Returns the names of the event types whose payloads can be withheld, in alphabetical order. Events about the run
    /// as a whole, about capture gaps and about permissions are not among them: without them the rest of the record
    /// cannot be judged.
    pub fn allowed_events() -> Vec<&'static str> {
        EventType::names(EventType::may_be_withheld)
    }

    /// Returns true if nothing is withheld.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.tools.is_empty() && self.models.is_empty()
    }

    fn covers_event(&self, event_type: EventType) -> bool {
        event_type.may_be_withheld() && self.events.iter().any(|event| event == event_type.name())
    }
}

/// Withholding in a run that is being recorded: the settings, and the open steps that they apply to.
#[derive(Debug, Default)]
pub(crate) struct Withholding {
    rules: Withhold,
    /// Open steps whose call was withheld; their return is withheld too.
    withheld_steps: BTreeSet<StepId>,
    /// True if the event that is appended next belongs to a withheld call.
    is_next_withheld: bool,
}

impl Withholding {
    pub(crate) fn new(rules: Withhold) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Announces that the next event is a call of this model.
    pub(crate) fn expect_model(&mut self, model: Option<&str>) {
        self.is_next_withheld =
            model.is_some_and(|model| self.rules.models.iter().any(|pattern| glob::matches(pattern, model)));
    }

    /// Announces that the next event is a call of this tool.
    pub(crate) fn expect_tool(&mut self, tool: &str) {
        self.is_next_withheld = self.rules.tools.iter().any(|pattern| glob::matches(pattern, tool));
    }

    /// Returns true if the step that the next event opens is withheld.
    pub(crate) fn is_next_step_withheld(&self) -> bool {
        self.is_next_withheld
    }

    /// Announces that the next event is the return of this step.
    pub(crate) fn expect_return(&mut self, step: StepId) {
        self.is_next_withheld = self.has_step(step);
    }

    /// Returns true if the event that is appended now is withheld. Resets the announcement.
    pub(crate) fn take_withheld(&mut self, event_type: EventType) -> bool {
        core::mem::take(&mut self.is_next_withheld) || self.rules.covers_event(event_type)
    }

    /// Adds an open step whose call was withheld.
    pub(crate) fn add_step(&mut self, step: StepId) {
        self.withheld_steps.insert(step);
    }

    /// Returns true if the call of this open step was withheld.
    pub(crate) fn has_step(&self, step: StepId) -> bool {
        self.withheld_steps.contains(&step)
    }

    /// Returns true if the return of this step, an event of the given type, will be withheld.
    pub(crate) fn will_withhold(&self, step: StepId, event_type: EventType) -> bool {
        self.has_step(step) || self.rules.covers_event(event_type)
    }

    /// Removes a step that has returned.
    pub(crate) fn remove_step(&mut self, step: StepId) {
        self.withheld_steps.remove(&step);
    }
}
