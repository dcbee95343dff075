//! What all pens of a run share: one journal with one writer, the steps that are under way, the counts.

use std::collections::BTreeMap;

use crate::error::RecordError;
use crate::event::EventType;
use crate::exchange::{Exchange, StepId};
use crate::journal::{Journal, Room};
use crate::mask::Masked;
use crate::payload::Payload;

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
    /// Bytes in the journal.
    pub bytes: u64,
}

/// A step that has not returned.
pub(crate) enum Open {
    Exchange(Exchange),
    Tool { tool_call_id: Masked, tool: Masked, source: &'static str },
}

pub(crate) struct Ledger {
    pub(crate) journal: Journal,
    last_step: u64,
    open: BTreeMap<StepId, Open>,
    counts: Counts,
    ended: bool,
    /// Whether the gap was noted that begins where the journal is full.
    overflowed: bool,
}

impl Ledger {
    pub(crate) fn new(journal: Journal) -> Self {
        Self {
            journal,
            last_step: 0,
            open: BTreeMap::new(),
            counts: Counts::default(),
            ended: false,
            overflowed: false,
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts { events: self.journal.events(), bytes: self.journal.bytes(), ..self.counts }
    }

    /// Writes an event of a run that has not ended.
    pub(crate) fn append(
        &mut self,
        event_type: EventType,
        members: impl FnOnce(&mut Payload<'_>),
    ) -> Result<(), RecordError> {
        if self.ended {
            return Err(RecordError::Ended);
        }
        let written = self.journal.append(event_type, Room::Common, members);
        if matches!(written, Err(RecordError::Full { .. })) && !self.overflowed {
            self.overflowed = true;
            self.gap(Room::Reserve, |gap| {
                gap.salt();
                gap.constant("source", "observed");
                gap.constant("what", "events");
                gap.constant("why", "the run is too long for one artifact");
            })?;
        }
        written?;
        let counts = &mut self.counts;
        match event_type {
            EventType::ModelCalled => counts.model_calls += 1,
            EventType::HttpCalled => counts.http_calls += 1,
            EventType::ToolCalled => counts.tool_calls += 1,
            EventType::ErrorRaised => counts.errors += 1,
            EventType::CaptureGap => counts.gaps += 1,
            _ => {}
        }
        Ok(())
    }

    fn gap(&mut self, room: Room, members: impl FnOnce(&mut Payload<'_>)) -> Result<(), RecordError> {
        self.journal.append(EventType::CaptureGap, room, members)?;
        self.counts.gaps += 1;
        Ok(())
    }

    /// Writes the event with which a step begins. The number is used up only if that succeeds.
    pub(crate) fn begin(
        &mut self,
        event_type: EventType,
        open: Open,
        members: impl FnOnce(StepId, &Open, &mut Payload<'_>),
    ) -> Result<StepId, RecordError> {
        let step = StepId(self.last_step + 1);
        self.append(event_type, |payload| members(step, &open, payload))?;
        self.last_step = step.0;
        self.open.insert(step, open);
        Ok(step)
    }

    /// Writes the event with which a step returns, once. `event_type` tells which, or that the step is of another kind.
    pub(crate) fn conclude(
        &mut self,
        step: StepId,
        event_type: impl FnOnce(&Open) -> Option<EventType>,
        members: impl FnOnce(&Open, &mut Payload<'_>),
    ) -> Result<(), RecordError> {
        if self.ended {
            return Err(RecordError::Ended);
        }
        let open = self.open.remove(&step).ok_or(RecordError::NotOpen { step })?;
        let written = match event_type(&open) {
            Some(event_type) => self.append(event_type, |payload| members(&open, payload)),
            None => Err(RecordError::NotOpen { step }),
        };
        if written.is_err() {
            self.open.insert(step, open);
        }
        written
    }

    /// Writes the last event, after a gap for each step that is still under way. Nothing comes after it.
    pub(crate) fn end(&mut self, members: impl FnOnce(&Counts, &mut Payload<'_>)) -> Result<(), RecordError> {
        if self.ended {
            return Err(RecordError::Ended);
        }
        while let Some((step, _)) = self.open.pop_first() {
            self.gap(Room::Reserve, |gap| {
                gap.salt();
                gap.constant("source", "observed");
                gap.step(step);
                gap.constant("what", "return");
                gap.constant("why", "the run ended before this step returned");
            })?;
        }
        let counts = self.counts();
        self.journal.append(EventType::RunEnded, Room::Reserve, |payload| members(&counts, payload))?;
        self.ended = true;
        Ok(())
    }
}
