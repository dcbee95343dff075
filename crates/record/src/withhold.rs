//! What is sealed without its payload: its hash is in the chain, its bytes are nowhere.
//!
//! Masks take secrets out of a payload; this takes the payload. Nothing of it reaches the journal: a line of it is an event whose
//! payload is withheld, from the beginning.

use std::collections::BTreeSet;

use reenact_formats::rer::EventType;
use reenact_formats::rer::envelope::glob;

use crate::exchange::StepId;

/// Which payloads are withheld: whatever one of these says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Withhold {
    /// Types of event, out of [`Withhold::allowed_events`].
    pub events: Vec<String>,
    /// Tools whose calls and returns are withheld. `*` stands for any characters, `?` for one.
    pub tools: Vec<String>,
    /// Models, the same.
    pub models: Vec<String>,
}

impl Withhold {
    /// Names of the events whose payloads can be withheld, in alphabetical order. Those that say how a run went as a whole, what
    /// was not seen, and what was permitted, cannot: without them nobody could judge the rest.
    pub fn allowed_events() -> Vec<&'static str> {
        EventType::names(EventType::may_be_withheld)
    }

    /// Whether nothing is withheld.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.tools.is_empty() && self.models.is_empty()
    }

    fn covers_event(&self, event_type: EventType) -> bool {
        event_type.may_be_withheld() && self.events.iter().any(|event| event == event_type.name())
    }
}

/// What is withheld of a run that goes on.
#[derive(Debug, Default)]
pub(crate) struct Withholding {
    what: Withhold,
    /// The steps under way whose call was withheld: their return is, too.
    steps: BTreeSet<StepId>,
    /// Whether the next event is one of those.
    is_next: bool,
}

impl Withholding {
    pub(crate) fn new(what: Withhold) -> Self {
        Self { what, ..Self::default() }
    }

    /// The next event is a call of this model.
    pub(crate) fn expect_model(&mut self, model: Option<&str>) {
        self.is_next =
            model.is_some_and(|model| self.what.models.iter().any(|pattern| glob::covers(pattern, model)));
    }

    /// The next event is a call of this tool.
    pub(crate) fn expect_tool(&mut self, tool: &str) {
        self.is_next = self.what.tools.iter().any(|pattern| glob::covers(pattern, tool));
    }

    /// Whether the step that the next event begins is withheld.
    pub(crate) fn next_step(&self) -> bool {
        self.is_next
    }

    /// The next event is the return of this step.
    pub(crate) fn concludes(&mut self, step: StepId) {
        self.is_next = self.has(step);
    }

    /// Whether an event that is written now is withheld.
    pub(crate) fn is_withheld(&mut self, event_type: EventType) -> bool {
        core::mem::take(&mut self.is_next) || self.what.covers_event(event_type)
    }

    /// A step began, withheld.
    pub(crate) fn begun(&mut self, step: StepId) {
        self.steps.insert(step);
    }

    /// Whether the call of a step was withheld.
    pub(crate) fn has(&self, step: StepId) -> bool {
        self.steps.contains(&step)
    }

    /// Whether the return of a step will be withheld, by an event of that type.
    pub(crate) fn will_withhold(&self, step: StepId, event_type: EventType) -> bool {
        self.has(step) || self.what.covers_event(event_type)
    }

    /// A step is over.
    pub(crate) fn forget(&mut self, step: StepId) {
        self.steps.remove(&step);
    }
}
