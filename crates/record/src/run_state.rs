//! The state of a run that all its event writers share: one journal with one writer, the open steps, the counts.
//!
//! `RunState` decides whether an event may be written at this point of the run, and gives steps their numbers. The same
//! rules are applied to the events of a journal that is resumed (`resume_event`), so a resumed run has the state that
//! it had before the kill.

use std::collections::{BTreeMap, BTreeSet};

use reenact_formats::rer::EventType;
use reenact_formats::rer::envelope::money::{Money, Rounding};
use reenact_formats::rer::payload::{
    CaptureGap, CaptureGapView, EventSource, PayloadMember, RunRecovered, SpendCountedView, ToolCalledView,
    ToolReturned,
};
use reenact_json::Value;

use crate::error::RecordError;
use crate::exchange::{CallKind, StepId};
use crate::journal::{Journal, JournalDigest, JournalSpace};
use crate::mask::{MaskedJson, MaskedText};
use crate::payload::MaskedPayloadWriter;
use crate::withhold::Withholding;

/// Counts of a run, so far or in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunCounts {
    /// Number of requests to models.
    pub model_calls: u64,
    /// Number of requests to vendors that ask no model, such as for a list of models.
    pub http_calls: u64,
    /// Number of tool calls.
    pub tool_calls: u64,
    /// Number of recorded errors.
    pub errors: u64,
    /// Number of capture gaps.
    pub gaps: u64,
    /// Number of events of all types.
    pub events: u64,
    /// Bytes of events in the journal, line feeds included and the head excluded.
    pub bytes: u64,
}

/// Reason of the one gap that is recorded when the journal is full.
const JOURNAL_FULL: &str = "the run is too long for one artifact";

/// Reason of the gap for events that were in the journal, by the marks of the log, and are not there any more.
const JOURNAL_SHORT: &str =
    "the journal was shorter than its recorder had left it; events that bore these numbers are gone";

/// Name and reason of the gap for a step that did not return before the run ended.
const RETURN_GAP: &str = "return";
const NOT_RETURNED: &str = "the run ended before this step returned";

/// Output of an inferred tool call whose result was never seen.
const NO_RESULT_SEEN: &str = "the run ended before a result was seen";

/// Step that has not returned.
pub(crate) enum OpenStep {
    /// Request to a model or a vendor.
    Exchange(CallKind),
    /// Tool call, with the members that its return repeats.
    Tool { tool_call_id: MaskedText, tool: MaskedText, source: EventSource },
}

impl OpenStep {
    /// Reads the call of a tool from a payload in the journal.
    fn from_tool_payload(payload: Value<'_>) -> Option<Self> {
        let called = ToolCalledView::read(payload);
        let text = |member: PayloadMember<'_>| {
            Some(MaskedText::from_journal(member.required_text().ok()?.into_owned()))
        };
        let source = called.source.word()?;
        Some(Self::Tool { tool_call_id: text(called.tool_call_id)?, tool: text(called.tool)?, source })
    }

    /// Returns a tool call whose payload was withheld, so that its id and name are unknown.
    fn unnamed_tool() -> Self {
        let nothing = || MaskedText::constant("");
        Self::Tool { tool_call_id: nothing(), tool: nothing(), source: EventSource::Observed }
    }

    /// Returns the id of a tool's call; `None` for an exchange.
    fn tool_call_id(&self) -> Option<&str> {
        match self {
            Self::Tool { tool_call_id, .. } => Some(tool_call_id.as_str()),
            Self::Exchange(_) => None,
        }
    }

    /// Returns the type of the event with which the step returns.
    fn return_event(&self) -> EventType {
        match self {
            Self::Exchange(kind) => kind.returned_event(),
            Self::Tool { .. } => EventType::ToolReturned,
        }
    }
}

/// Returns the step that a payload names, whatever its event type.
fn step_of(payload: Value<'_>) -> Option<StepId> {
    StepId::of(payload.member("step_id")?)
}

/// State of a run that is being recorded, with its journal. All event writers share it, under one lock.
pub(crate) struct RunState {
    pub(crate) journal: Journal,
    /// Highest step number so far; 0 before the first step.
    last_step: u64,
    /// Steps that have begun, and have not returned.
    open: BTreeMap<StepId, OpenStep>,
    /// Steps that were decided on, and have neither begun nor been blocked.
    decided_steps: BTreeSet<StepId>,
    /// Steps that were allowed, have begun, and have not returned.
    admitted_steps: BTreeSet<StepId>,
    /// Ids of all tool calls that were in the journal when it was resumed.
    resumed_tool_ids: Vec<String>,
    /// Sum of all recorded costs; `None` if no cost was recorded.
    total_spend: Option<Money>,
    /// Number of recorded costs.
    costs: u64,
    /// True if some recorded cost is an estimate.
    has_estimate: bool,
    /// Counts of events by type; the totals of events and bytes are the journal's.
    counts: RunCounts,
    /// True once the last event is written.
    has_ended: bool,
    /// True if an event in the journal says that the run was recovered.
    is_recovered: bool,
    /// Number of the last job in the journal, by the mark of the log at which the run was resumed.
    pub(crate) resumed_job: Option<u64>,
    /// Digest of the whole journal, once the run has ended.
    pub(crate) journal_digest: Option<JournalDigest>,
    /// True if the gap was recorded that says that the journal is full.
    has_overflowed: bool,
    /// Payloads that are withheld in this run.
    pub(crate) withholding: Withholding,
}

impl RunState {
    /// Returns the state of a run without steps, over a journal without events.
    pub(crate) fn new(journal: Journal) -> Self {
        Self {
            journal,
            last_step: 0,
            open: BTreeMap::new(),
            decided_steps: BTreeSet::new(),
            admitted_steps: BTreeSet::new(),
            resumed_tool_ids: Vec::new(),
            total_spend: None,
            costs: 0,
            has_estimate: false,
            counts: RunCounts::default(),
            has_ended: false,
            is_recovered: false,
            resumed_job: None,
            journal_digest: None,
            has_overflowed: false,
            withholding: Withholding::default(),
        }
    }

    /// Returns the counts so far.
    pub(crate) fn counts(&self) -> RunCounts {
        RunCounts { events: self.journal.events(), bytes: self.journal.bytes(), ..self.counts }
    }

    /// Appends an event to a run that has not ended. The first event that does not fit is replaced by a gap that says
    /// so.
    pub(crate) fn append(
        &mut self,
        event_type: EventType,
        members: impl Fn(&mut MaskedPayloadWriter<'_>),
    ) -> Result<(), RecordError> {
        if self.has_ended {
            return Err(RecordError::Ended);
        }
        let withheld = self.withholding.take_withheld(event_type);
        let written = self.journal.append_as(event_type, JournalSpace::Common, withheld, members);
        if matches!(written, Err(RecordError::Full { .. })) && !self.has_overflowed {
            self.has_overflowed = true;
            self.append_gap(None, &MaskedText::constant("events"), &MaskedText::constant(JOURNAL_FULL))?;
        }
        written?;
        self.count(event_type);
        Ok(())
    }

    /// Counts an event by its type.
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

    /// Appends a gap. Gaps may use the reserve, so that a full journal can still say that it is full.
    fn append_gap(
        &mut self,
        step_id: Option<StepId>,
        what: &MaskedText,
        why: &MaskedText,
    ) -> Result<(), RecordError> {
        let gap = CaptureGap { source: EventSource::Observed, step_id, what, why };
        self.journal.append(EventType::CaptureGap, JournalSpace::Reserve, |payload| gap.write(payload))?;
        self.count(EventType::CaptureGap);
        Ok(())
    }

    /// Flushes the journal to the disk.
    pub(crate) fn sync(&mut self) -> Result<(), RecordError> {
        self.journal.sync()
    }

    /// Applies an event that is in the journal already. Returns `None`, and changes nothing, if the event cannot come
    /// next: a step out of turn, a return without a call, anything after the end.
    pub(crate) fn resume_event(&mut self, event_type: &str, payload: Option<Value<'_>>) -> Option<()> {
        let is_first = self.journal.events() == 0;
        if self.has_ended || is_first != (event_type == EventType::RunStarted.name()) {
            return None;
        }
        let known = EventType::of_name(event_type);
        let Some(payload) = payload else {
            self.resume_withheld(known)?;
            known.into_iter().for_each(|known| self.count(known));
            return Some(());
        };
        match known {
            Some(EventType::ModelCalled) => self.resume_call(payload, OpenStep::Exchange(CallKind::Model))?,
            Some(EventType::HttpCalled) => self.resume_call(payload, OpenStep::Exchange(CallKind::Http))?,
            Some(EventType::ToolCalled) => {
                let open = OpenStep::from_tool_payload(payload)?;
                let id = open.tool_call_id().map(str::to_owned);
                self.resume_call(payload, open)?;
                self.resumed_tool_ids.extend(id);
            }
            Some(
                returned @ (EventType::ModelReturned | EventType::HttpReturned | EventType::ToolReturned),
            ) => {
                let step = step_of(payload)?;
                self.open.get(&step).filter(|open| open.return_event() == returned)?;
                self.open.remove(&step);
            }
            Some(EventType::PolicyEvaluated) => {
                let step = step_of(payload).filter(|step| step.0 == self.last_step + 1)?;
                self.last_step = step.0;
                self.decided_steps.insert(step);
            }
            Some(EventType::StepBlocked) => {
                self.decided_steps.remove(&step_of(payload)?);
            }
            Some(EventType::SpendCounted) => {
                let counted = SpendCountedView::read(payload);
                let is_exact = counted.is_estimate.value().and_then(|flag| flag.boolean()) == Some(false);
                self.add_spend(Money::of(counted.spend_usd.value()?, Rounding::Up)?, !is_exact);
            }
            Some(EventType::CaptureGap) => {
                // `end_run` writes such a gap for each open step: the step is closed, so that a second end does not
                // write it again.
                let gap = CaptureGapView::read(payload);
                let is_of_return = gap.what.raw().is_some_and(|what| what.is_string(RETURN_GAP));
                if let Some(step) = gap.step_id.raw().and_then(StepId::of).filter(|_| is_of_return) {
                    self.open.remove(&step);
                }
                self.has_overflowed |= gap.why.raw().is_some_and(|why| why.is_string(JOURNAL_FULL));
            }
            Some(EventType::RunRecovered) => self.is_recovered = true,
            // `resume` keeps the end of a run apart: it is written anew.
            Some(EventType::RunEnded) => return None,
            _ => {}
        }
        known.into_iter().for_each(|known| self.count(known));
        Some(())
    }

    /// Applies a call in the journal: opens its step, which must be an allowed one or the next.
    fn resume_call(&mut self, payload: Value<'_>, open: OpenStep) -> Option<()> {
        let step = step_of(payload)
            .filter(|step| self.decided_steps.contains(step) || step.0 == self.last_step + 1)?;
        if self.decided_steps.remove(&step) {
            self.admitted_steps.insert(step);
        }
        self.last_step = self.last_step.max(step.0);
        self.open.insert(step, open);
        Some(())
    }

    /// Applies an event whose payload was withheld, so that its step is unknown: a call gets the next number, and a
    /// return closes the first step that it can belong to, preferably one whose call was withheld too.
    fn resume_withheld(&mut self, event_type: Option<EventType>) -> Option<()> {
        let begun = match event_type {
            Some(EventType::ModelCalled) => OpenStep::Exchange(CallKind::Model),
            Some(EventType::HttpCalled) => OpenStep::Exchange(CallKind::Http),
            Some(EventType::ToolCalled) => OpenStep::unnamed_tool(),
            Some(
                returned @ (EventType::ModelReturned | EventType::HttpReturned | EventType::ToolReturned),
            ) => {
                let mut may_be = self.open.iter().filter(|(_, open)| open.return_event() == returned);
                let first = may_be.clone().next().map(|(step, _)| *step);
                let withheld =
                    may_be.find(|(step, _)| self.withholding.has_step(**step)).map(|(step, _)| *step);
                let step = withheld.or(first)?;
                self.open.remove(&step);
                self.withholding.remove_step(step);
                return Some(());
            }
            // The end of a run is never withheld.
            Some(EventType::RunEnded) => return None,
            _ => return Some(()),
        };
        let step = StepId(self.last_step + 1);
        self.last_step = step.0;
        self.open.insert(step, begun);
        self.withholding.add_step(step);
        Some(())
    }

    /// Returns true if a run could end here: nothing is open.
    pub(crate) fn may_end(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the ids of all tool calls that were in the journal when it was resumed.
    pub(crate) fn resumed_tool_ids(&self) -> &[String] {
        &self.resumed_tool_ids
    }

    /// Returns the number of the last job in the journal, by the mark of the log at which the run was resumed.
    pub(crate) fn resumed_job(&self) -> Option<u64> {
        self.resumed_job
    }

    /// Appends the gap for events that the journal once had, from the event at `first` on, and that are in no log.
    pub(crate) fn append_lost_events(&mut self, first: u64, lost: Option<u64>) -> Result<(), RecordError> {
        let what = match lost {
            Some(1) => format!("event {first} of the journal"),
            Some(count) => format!("events {first} to {} of the journal", first + count.saturating_sub(1)),
            None => format!("events of the journal, from event {first} on"),
        };
        self.append_gap(None, &MaskedText::of_numbers(what), &MaskedText::constant(JOURNAL_SHORT))
    }

    /// Returns the steps that have not returned, in the order in which they began.
    pub(crate) fn open_steps(&self) -> impl Iterator<Item = StepId> {
        self.open.keys().copied()
    }

    /// Returns true if the return of this step will be withheld. True for unknown steps, to be on the safe side.
    pub(crate) fn will_withhold(&self, step: StepId) -> bool {
        self.open.get(&step).is_none_or(|open| self.withholding.will_withhold(step, open.return_event()))
    }

    /// Appends the decision on the next step. The step's number is used up only if that succeeds.
    pub(crate) fn append_decision(
        &mut self,
        members: impl Fn(StepId, &mut MaskedPayloadWriter<'_>),
    ) -> Result<StepId, RecordError> {
        let step = StepId(self.last_step + 1);
        self.append(EventType::PolicyEvaluated, |payload| members(step, payload))?;
        self.last_step = step.0;
        self.decided_steps.insert(step);
        Ok(step)
    }

    /// Appends the event that a step was blocked, and forgets the step.
    pub(crate) fn append_block(
        &mut self,
        step: StepId,
        members: impl Fn(&mut MaskedPayloadWriter<'_>),
    ) -> Result<(), RecordError> {
        self.append(EventType::StepBlocked, members)?;
        self.decided_steps.remove(&step);
        Ok(())
    }

    /// Adds a cost to the total spend.
    pub(crate) fn add_spend(&mut self, amount: Money, is_estimate: bool) {
        self.total_spend = Some(self.total_spend.unwrap_or_default().plus(amount));
        self.costs += 1;
        self.has_estimate |= is_estimate;
    }

    /// Returns true if costs were recorded and more may have been spent: some cost is an estimate, or some model call has
    /// none.
    pub(crate) fn is_spend_partial(&self) -> bool {
        self.total_spend.is_some() && (self.has_estimate || self.costs < self.counts.model_calls)
    }

    /// Returns the total spend; `None` if no cost was recorded.
    pub(crate) fn total_spend(&self) -> Option<Money> {
        self.total_spend
    }

    /// Returns the open step of a tool's call that was allowed, by the call's masked id: the last one, if several calls
    /// have that id.
    pub(crate) fn open_tool_call(&self, id: &str) -> Option<StepId> {
        let is_called = |(step, open): &(&StepId, &OpenStep)| {
            open.tool_call_id() == Some(id) && self.admitted_steps.contains(*step)
        };
        self.open.iter().rev().find(is_called).map(|(step, _)| *step)
    }

    /// Appends the event that opens a step: one that was allowed, or the next one if `decided` is `None`. A new number
    /// is used up only if that succeeds.
    ///
    /// # Errors
    /// [`RecordError::NotOpen`] if `decided` is not a step that waits to begin.
    pub(crate) fn begin_step(
        &mut self,
        decided: Option<StepId>,
        event_type: EventType,
        open: OpenStep,
        members: impl Fn(StepId, &OpenStep, &mut MaskedPayloadWriter<'_>),
    ) -> Result<StepId, RecordError> {
        let step = match decided {
            Some(step) if self.decided_steps.contains(&step) => step,
            Some(step) => return Err(RecordError::NotOpen { step }),
            None => StepId(self.last_step + 1),
        };
        let withheld = self.withholding.is_next_step_withheld();
        self.append(event_type, |payload| members(step, &open, payload))?;
        if withheld {
            self.withholding.add_step(step);
        }
        if self.decided_steps.remove(&step) {
            self.admitted_steps.insert(step);
        }
        self.last_step = self.last_step.max(step.0);
        self.open.insert(step, open);
        Ok(step)
    }

    /// Appends the event that closes a step. `event_type` returns its type, or `None` if the step is of another kind.
    /// The step stays open after an error.
    pub(crate) fn return_step(
        &mut self,
        step: StepId,
        event_type: impl FnOnce(&OpenStep) -> Option<EventType>,
        members: impl Fn(&OpenStep, &mut MaskedPayloadWriter<'_>),
    ) -> Result<(), RecordError> {
        if self.has_ended {
            return Err(RecordError::Ended);
        }
        let open = self.open.remove(&step).ok_or(RecordError::NotOpen { step })?;
        let written = match event_type(&open) {
            Some(event_type) => {
                self.withholding.expect_return(step);
                self.append(event_type, |payload| members(&open, payload))
            }
            None => Err(RecordError::NotOpen { step }),
        };
        match &written {
            Ok(()) => {
                self.withholding.remove_step(step);
                self.admitted_steps.remove(&step);
            }
            Err(_) => {
                self.open.insert(step, open);
            }
        }
        written
    }

    /// Appends the last event of the run, after a gap for each step that is still open. Before them comes the event
    /// that the run was recovered, if it was and no event says so yet. Uses the reserve of the journal.
    pub(crate) fn end_run(
        &mut self,
        recovered: Option<RunRecovered>,
        members: impl Fn(&RunCounts, &mut MaskedPayloadWriter<'_>),
    ) -> Result<(), RecordError> {
        if self.has_ended {
            return Err(RecordError::Ended);
        }
        self.journal.set_event_time(None);
        if let Some(recovered) = recovered.filter(|_| !self.is_recovered) {
            self.journal.append(EventType::RunRecovered, JournalSpace::Reserve, |payload| {
                recovered.write(payload);
            })?;
            self.is_recovered = true;
        }
        while let Some((step, open)) = self.open.pop_first() {
            // An inferred call that was allowed and has no result was not lost by the recorder: the agent never
            // reported one. That is no gap.
            if let OpenStep::Tool { tool_call_id, tool, source } = &open
                && *source == EventSource::Inferred
                && self.admitted_steps.contains(&step)
            {
                let returned = ToolReturned {
                    is_error: true,
                    latency_ms: None,
                    output: &MaskedJson::Text(MaskedText::constant(NO_RESULT_SEEN)),
                    source: *source,
                    step_id: step,
                    tool,
                    tool_call_id,
                };
                self.journal.append(EventType::ToolReturned, JournalSpace::Reserve, |payload| {
                    returned.write(payload)
                })?;
                continue;
            }
            self.append_gap(
                Some(step),
                &MaskedText::constant(RETURN_GAP),
                &MaskedText::constant(NOT_RETURNED),
            )?;
        }
        let counts = self.counts();
        self.journal
            .append(EventType::RunEnded, JournalSpace::Reserve, |payload| members(&counts, payload))?;
        self.has_ended = true;
        Ok(())
    }
}
