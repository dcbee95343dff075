//! What all pens of a run share: one journal with one writer, the steps that are under way, the counts.

use std::collections::{BTreeMap, BTreeSet};

use reenact_formats::rer::EventType;
use reenact_formats::rer::envelope::money::{Money, Rounding};
use reenact_formats::rer::payload::{
    CaptureGap, CaptureGapView, Member, Source, SpendCountedView, ToolCalledView, ToolReturned,
};
use reenact_json::Value;

use crate::error::RecordError;
use crate::exchange::{Exchange, StepId};
use crate::journal::{Journal, Room};
use crate::mask::{Masked, MaskedJson};
use crate::payload::Payload;
use crate::withhold::Withholding;

/// What a run consists of, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Requests to models.
    pub model_calls: u64,
    /// Requests that ask no model.
    pub http_calls: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Errors.
    pub errors: u64,
    /// Gaps in capture.
    pub gaps: u64,
    /// Events of all types.
    pub events: u64,
    /// Bytes of events in the journal.
    pub bytes: u64,
}

/// What is said, once, where the journal is full.
const TOO_LONG: &str = "the run is too long for one artifact";

/// What is missing where a step did not return before the run ended, and what is said of it.
const RETURN: &str = "return";
const NOT_RETURNED: &str = "the run ended before this step returned";

/// What is said to have come of a tool's call that its agent told nothing of.
const UNTOLD: &str = "the run ended before a result was seen";

/// A step that has not returned.
pub(crate) enum Open {
    Exchange(Exchange),
    Tool { tool_call_id: Masked, tool: Masked, source: Source },
}

impl Open {
    /// The call of a tool that was written down.
    fn tool(payload: Value<'_>) -> Option<Self> {
        let called = ToolCalledView::read(payload);
        let text = |member: Member<'_>| Some(Masked::recorded(member.needed_text().ok()?.into_owned()));
        let source = called.source.word()?;
        Some(Self::Tool { tool_call_id: text(called.tool_call_id)?, tool: text(called.tool)?, source })
    }

    /// The call of a tool of which nothing was written down.
    fn unnamed_tool() -> Self {
        let nothing = || Masked::constant("");
        Self::Tool { tool_call_id: nothing(), tool: nothing(), source: Source::Observed }
    }

    /// The id of a tool's call.
    fn tool_call_id(&self) -> Option<&str> {
        match self {
            Self::Tool { tool_call_id, .. } => Some(tool_call_id.as_str()),
            Self::Exchange(_) => None,
        }
    }

    /// The event with which it returns.
    fn returns(&self) -> EventType {
        match self {
            Self::Exchange(kind) => kind.returned(),
            Self::Tool { .. } => EventType::ToolReturned,
        }
    }
}

/// The step that a payload names, whichever event it is of.
fn step(payload: Value<'_>) -> Option<StepId> {
    StepId::of(payload.member("step_id")?)
}

pub(crate) struct Ledger {
    pub(crate) journal: Journal,
    last_step: u64,
    open: BTreeMap<StepId, Open>,
    /// Steps that were decided on, and have not begun.
    decided: BTreeSet<StepId>,
    /// Steps that were decided on, have begun and have not returned.
    policed: BTreeSet<StepId>,
    /// Ids of all calls of tools that were taken up out of the journal.
    resumed_tools: Vec<String>,
    /// What was spent, where that is counted.
    spent: Option<Money>,
    counts: Counts,
    ended: bool,
    /// Whether the gap was noted that begins where the journal is full.
    overflowed: bool,
    pub(crate) withholding: Withholding,
}

impl Ledger {
    pub(crate) fn new(journal: Journal) -> Self {
        Self {
            journal,
            last_step: 0,
            open: BTreeMap::new(),
            decided: BTreeSet::new(),
            policed: BTreeSet::new(),
            resumed_tools: Vec::new(),
            spent: None,
            counts: Counts::default(),
            ended: false,
            overflowed: false,
            withholding: Withholding::default(),
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts { events: self.journal.events(), bytes: self.journal.bytes(), ..self.counts }
    }

    /// Writes an event of a run that has not ended.
    pub(crate) fn append(
        &mut self,
        event_type: EventType,
        members: impl Fn(&mut Payload<'_>),
    ) -> Result<(), RecordError> {
        if self.ended {
            return Err(RecordError::Ended);
        }
        let withheld = self.withholding.is_withheld(event_type);
        let written = self.journal.append_as(event_type, Room::Common, withheld, members);
        if matches!(written, Err(RecordError::Full { .. })) && !self.overflowed {
            self.overflowed = true;
            self.gap(None, &Masked::constant("events"), &Masked::constant(TOO_LONG))?;
        }
        written?;
        self.count(event_type);
        Ok(())
    }

    fn count(&mut self, event_type: EventType) {
        let counts = &mut self.counts;
        match event_type {
            EventType::ModelCalled => counts.model_calls += 1,
            EventType::HttpCalled => counts.http_calls += 1,
            EventType::ToolCalled => counts.tool_calls += 1,
            EventType::ErrorRaised => counts.errors += 1,
            EventType::CaptureGap => counts.gaps += 1,
            _ => {}
        }
    }

    /// Writes a gap, also where the journal is full.
    fn gap(&mut self, step_id: Option<StepId>, what: &Masked, why: &Masked) -> Result<(), RecordError> {
        let gap = CaptureGap { source: Source::Observed, step_id, what, why };
        self.journal.append(EventType::CaptureGap, Room::Reserve, |payload| gap.write(payload))?;
        self.count(EventType::CaptureGap);
        Ok(())
    }

    /// Returns when the disk has all that was written so far.
    pub(crate) fn sync(&mut self) -> Result<(), RecordError> {
        self.journal.sync()
    }

    /// Takes up what an event says that is in the journal already. `None`, and nothing has changed, if it cannot stand there:
    /// a step out of its turn, a return of what was not called, anything after the end.
    pub(crate) fn take_up(&mut self, event_type: &str, payload: Option<Value<'_>>) -> Option<()> {
        let is_first = self.journal.events() == 0;
        if self.ended || is_first != (event_type == EventType::RunStarted.name()) {
            return None;
        }
        let known = EventType::of_name(event_type);
        let Some(payload) = payload else {
            self.take_up_withheld(known)?;
            known.into_iter().for_each(|known| self.count(known));
            return Some(());
        };
        match known {
            Some(EventType::ModelCalled) => self.take_up_call(payload, Open::Exchange(Exchange::Model))?,
            Some(EventType::HttpCalled) => self.take_up_call(payload, Open::Exchange(Exchange::Http))?,
            Some(EventType::ToolCalled) => {
                let open = Open::tool(payload)?;
                let id = open.tool_call_id().map(str::to_owned);
                self.take_up_call(payload, open)?;
                self.resumed_tools.extend(id);
            }
            Some(
                returned @ (EventType::ModelReturned | EventType::HttpReturned | EventType::ToolReturned),
            ) => {
                let step = step(payload)?;
                self.open.get(&step).filter(|open| open.returns() == returned)?;
                self.open.remove(&step);
            }
            Some(EventType::PolicyEvaluated) => {
                let step = step(payload).filter(|step| step.0 == self.last_step + 1)?;
                self.last_step = step.0;
                self.decided.insert(step);
            }
            Some(EventType::StepBlocked) => {
                self.decided.remove(&step(payload)?);
            }
            Some(EventType::SpendCounted) => {
                let amount = SpendCountedView::read(payload).spend_usd.value();
                self.spend(Money::of(amount?, Rounding::Up)?);
            }
            Some(EventType::CaptureGap) => {
                // Written at the end of a run for each step that is open, and not to be written twice.
                let gap = CaptureGapView::read(payload);
                let is_of_return = gap.what.raw().is_some_and(|what| what.is_string(RETURN));
                if let Some(step) = gap.step_id.raw().and_then(StepId::of).filter(|_| is_of_return) {
                    self.open.remove(&step);
                }
                self.overflowed |= gap.why.raw().is_some_and(|why| why.is_string(TOO_LONG));
            }
            Some(EventType::RunEnded) => {
                if !self.open.is_empty() {
                    return None;
                }
                self.ended = true;
            }
            _ => {}
        }
        known.into_iter().for_each(|known| self.count(known));
        Some(())
    }

    fn take_up_call(&mut self, payload: Value<'_>, open: Open) -> Option<()> {
        let step =
            step(payload).filter(|step| self.decided.contains(step) || step.0 == self.last_step + 1)?;
        if self.decided.remove(&step) {
            self.policed.insert(step);
        }
        self.last_step = self.last_step.max(step.0);
        self.open.insert(step, open);
        Some(())
    }

    /// Takes up an event that does not say of which step it is: a call is the next one, a return the first that may be meant.
    fn take_up_withheld(&mut self, event_type: Option<EventType>) -> Option<()> {
        let begun = match event_type {
            Some(EventType::ModelCalled) => Open::Exchange(Exchange::Model),
            Some(EventType::HttpCalled) => Open::Exchange(Exchange::Http),
            Some(EventType::ToolCalled) => Open::unnamed_tool(),
            Some(
                returned @ (EventType::ModelReturned | EventType::HttpReturned | EventType::ToolReturned),
            ) => {
                let mut may_be = self.open.iter().filter(|(_, open)| open.returns() == returned);
                let first = may_be.clone().next().map(|(step, _)| *step);
                let withheld = may_be.find(|(step, _)| self.withholding.has(**step)).map(|(step, _)| *step);
                let step = withheld.or(first)?;
                self.open.remove(&step);
                self.withholding.forget(step);
                return Some(());
            }
            // Nobody withholds how a run ended.
            Some(EventType::RunEnded) => return None,
            _ => return Some(()),
        };
        let step = StepId(self.last_step + 1);
        self.last_step = step.0;
        self.open.insert(step, begun);
        self.withholding.begun(step);
        Some(())
    }

    /// Ids of all calls of tools that were in the journal when it was taken up.
    pub(crate) fn resumed_tools(&self) -> &[String] {
        &self.resumed_tools
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The steps that have not returned, in the order in which they began.
    pub(crate) fn open_steps(&self) -> impl Iterator<Item = StepId> {
        self.open.keys().copied()
    }

    /// Whether what a step returns with will be withheld.
    pub(crate) fn will_withhold(&self, step: StepId) -> bool {
        self.open.get(&step).is_none_or(|open| self.withholding.will_withhold(step, open.returns()))
    }

    /// Writes what was decided on the step that comes next. The number is used up only if that succeeds.
    pub(crate) fn decide(
        &mut self,
        members: impl Fn(StepId, &mut Payload<'_>),
    ) -> Result<StepId, RecordError> {
        let step = StepId(self.last_step + 1);
        self.append(EventType::PolicyEvaluated, |payload| members(step, payload))?;
        self.last_step = step.0;
        self.decided.insert(step);
        Ok(step)
    }

    /// Writes that a step was blocked that was decided on.
    pub(crate) fn block(
        &mut self,
        step: StepId,
        members: impl Fn(&mut Payload<'_>),
    ) -> Result<(), RecordError> {
        self.append(EventType::StepBlocked, members)?;
        self.decided.remove(&step);
        Ok(())
    }

    /// Counts what was spent.
    pub(crate) fn spend(&mut self, amount: Money) {
        self.spent = Some(self.spent.unwrap_or_default().plus(amount));
    }

    /// What was spent, where that is counted.
    pub(crate) fn spent(&self) -> Option<Money> {
        self.spent
    }

    /// Returns the step of a tool's call that was decided on and has not returned, by its masked id: the last one, if several
    /// calls have that id.
    pub(crate) fn open_tool(&self, id: &str) -> Option<StepId> {
        let is_called =
            |(step, open): &(&StepId, &Open)| open.tool_call_id() == Some(id) && self.policed.contains(*step);
        self.open.iter().rev().find(is_called).map(|(step, _)| *step)
    }

    /// Writes the event with which a step begins: one that was decided on, or the next. The number is used up only if that
    /// succeeds.
    pub(crate) fn begin(
        &mut self,
        decided: Option<StepId>,
        event_type: EventType,
        open: Open,
        members: impl Fn(StepId, &Open, &mut Payload<'_>),
    ) -> Result<StepId, RecordError> {
        let step = match decided {
            Some(step) if self.decided.contains(&step) => step,
            Some(step) => return Err(RecordError::NotOpen { step }),
            None => StepId(self.last_step + 1),
        };
        let withheld = self.withholding.next_step();
        self.append(event_type, |payload| members(step, &open, payload))?;
        if withheld {
            self.withholding.begun(step);
        }
        if self.decided.remove(&step) {
            self.policed.insert(step);
        }
        self.last_step = self.last_step.max(step.0);
        self.open.insert(step, open);
        Ok(step)
    }

    /// Writes the event with which a step returns, once. `event_type` tells which, or that the step is of another kind.
    pub(crate) fn conclude(
        &mut self,
        step: StepId,
        event_type: impl FnOnce(&Open) -> Option<EventType>,
        members: impl Fn(&Open, &mut Payload<'_>),
    ) -> Result<(), RecordError> {
        if self.ended {
            return Err(RecordError::Ended);
        }
        let open = self.open.remove(&step).ok_or(RecordError::NotOpen { step })?;
        let written = match event_type(&open) {
            Some(event_type) => {
                self.withholding.concludes(step);
                self.append(event_type, |payload| members(&open, payload))
            }
            None => Err(RecordError::NotOpen { step }),
        };
        match &written {
            Ok(()) => {
                self.withholding.forget(step);
                self.policed.remove(&step);
            }
            Err(_) => {
                self.open.insert(step, open);
            }
        }
        written
    }

    /// Writes the last event, after a gap for each step that is still under way. Nothing comes after it.
    pub(crate) fn end(&mut self, members: impl Fn(&Counts, &mut Payload<'_>)) -> Result<(), RecordError> {
        if self.ended {
            return Err(RecordError::Ended);
        }
        self.journal.happened(None);
        while let Some((step, open)) = self.open.pop_first() {
            // A call that was allowed and that nobody told of came to nothing: that is no gap in what was seen.
            if let Open::Tool { tool_call_id, tool, source } = &open
                && *source == Source::Inferred
                && self.policed.contains(&step)
            {
                let returned = ToolReturned {
                    is_error: true,
                    latency_ms: None,
                    output: &MaskedJson::Text(Masked::constant(UNTOLD)),
                    source: *source,
                    step_id: step,
                    tool,
                    tool_call_id,
                };
                self.journal
                    .append(EventType::ToolReturned, Room::Reserve, |payload| returned.write(payload))?;
                continue;
            }
            self.gap(Some(step), &Masked::constant(RETURN), &Masked::constant(NOT_RETURNED))?;
        }
        let counts = self.counts();
        self.journal.append(EventType::RunEnded, Room::Reserve, |payload| members(&counts, payload))?;
        self.ended = true;
        Ok(())
    }
}
