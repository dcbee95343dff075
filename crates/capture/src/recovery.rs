//! Recovery: the observations that a killed recorder left in its log, written into the journal after all.
//!
//! They go through the same [event builder](crate::event_builder) as live ones, in the order of the log. Jobs that the journal
//! has already are skipped; exchanges whose end never came are cut.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use reenact_record::wal::{self, Place};
use reenact_record::{Observation, Pen, RecordError, RunId, StepId};

use crate::DEFAULT_MAX_BODY_BYTES;
use crate::event_builder::EventBuilder;

/// The log that a recorder left.
pub struct LeftoverLog {
    /// Last job in the journal, and the bytes of events that the journal had then.
    journaled: Option<(u64, u64)>,
    /// Steps of exchanges whose requests are in the journal.
    steps: BTreeMap<u64, StepId>,
    observations: Vec<(u64, Observation<'static>)>,
}

/// Numbers of a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovered {
    /// Requests that were not in the journal.
    pub requests: usize,
    /// Answers that had come to their end, and were not in the journal.
    pub answers: usize,
    /// Answers that had not come to their end.
    pub cut: usize,
}

impl LeftoverLog {
    /// Reads the log of a run; `None` if there is none.
    pub fn read(place: &Place, run_id: RunId) -> io::Result<Option<Self>> {
        let mut log = Self { journaled: None, steps: BTreeMap::new(), observations: Vec::new() };
        let is_there = wal::read(place, run_id, |id, observation| log.take(id, observation))?;
        Ok(is_there.then_some(log))
    }

    fn take(&mut self, id: u64, observation: Observation<'_>) {
        match observation {
            Observation::Journaled { job, bytes, step } => {
                self.journaled = Some((job, bytes));
                self.steps.extend(step.map(|step| (id, step)));
            }
            observation => self.observations.push((id, observation.into_owned())),
        }
    }

    /// Returns the bytes of events that the journal has for sure. Bytes behind them may be half of a job, which is written
    /// again.
    pub fn journal_bytes(&self) -> Option<u64> {
        self.journaled.map(|(_, bytes)| bytes)
    }

    /// Writes the missing events into a run that was resumed. `tool_calls` are the ids of calls that are in its journal: an agent
    /// repeats its history, and its tools ran once.
    ///
    /// # Errors
    /// Returns the first error of the journal, after writing what could be written.
    pub fn write<'t>(
        self,
        pen: &Pen,
        tool_calls: impl IntoIterator<Item = &'t str>,
    ) -> Result<Recovered, RecordError> {
        self.make_known(pen);
        let done = self.journaled.map_or(0, |(job, _)| job);
        let recovered = self.count(done);
        let has_note = |(id, it): &(u64, Observation<'_>)| it.stands_alone() && *id > done;
        if recovered != Recovered::default() || self.observations.iter().any(has_note) {
            pen.gap(
                "recorder",
                "it did not come to the end: what follows is from its log, and was written down later",
            )?;
        }
        let mut first = None;
        let mut failed = |error| {
            // A run that is too long has its gap, as it would have had.
            if !matches!(error, RecordError::Full { .. }) {
                first.get_or_insert(error);
            }
        };
        let mut builder = EventBuilder::watching(pen.clone(), DEFAULT_MAX_BODY_BYTES);
        builder.skip_tool_calls(tool_calls);
        for (id, observation) in self.observations {
            match &observation {
                Observation::Request(request) if id <= done => {
                    // Without a step the request could not be written then either.
                    if let Some(step) = self.steps.get(&id) {
                        builder.resume(id, *step, request);
                    }
                    continue;
                }
                Observation::End(end) if end.job <= done => {
                    builder.forget(id);
                    continue;
                }
                note if note.stands_alone() && id <= done => continue,
                _ => {}
            }
            // The time of a decision is part of it; the other times are lost.
            let at = observation.decided_at();
            builder.take(id, at, observation, None, &mut failed);
        }
        for exchange in builder.unfinished() {
            builder.cut(exchange, &mut failed);
        }
        first.map_or(Ok(recovered), Err)
    }

    /// Makes all secrets known, those in requests that are in the journal too: their answers are masked with them.
    fn make_known(&self, pen: &Pen) {
        for (_, observation) in &self.observations {
            match observation {
                Observation::Known { rule, value } => pen.know_again(rule, value),
                Observation::Request(request) => pen.know_credentials(&request.headers.pairs()),
                _ => {}
            }
        }
    }

    fn count(&self, done: u64) -> Recovered {
        let mut recovered = Recovered::default();
        let mut open = BTreeSet::new();
        for (id, observation) in &self.observations {
            match observation {
                Observation::Request(_) if *id > done || self.steps.contains_key(id) => {
                    recovered.requests += usize::from(*id > done);
                    open.insert(*id);
                }
                Observation::End(end) if open.remove(id) => {
                    recovered.answers += usize::from(end.job > done);
                }
                _ => {}
            }
        }
        recovered.cut = open.len();
        recovered
    }
}
