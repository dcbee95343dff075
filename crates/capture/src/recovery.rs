//! Recovery: writes the observations that a killed recorder left in its log into the journal.
//!
//! They go through the same [event builder](crate::event_builder) as live ones, in the order of the log. Jobs
//! that the journal already has are skipped, and exchanges without an end are recorded as cut. Start reading at
//! [`LeftoverLog::recover_into`].

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use reenact_record::wal::{self, LoggedJournal, WalDir};
use reenact_record::{EventWriter, Observation, RecordError, RunId, StepId};

use crate::DEFAULT_MAX_BODY_BYTES;
use crate::event_builder::EventBuilder;

/// Log that a killed recorder left behind.
pub struct LeftoverLog {
    /// Marks of what the journal has.
    journal: LoggedJournal,
    /// Numbers of the jobs that the log has.
    jobs: BTreeSet<u64>,
    /// Steps of exchanges whose requests are in the journal, by the number of the exchange.
    steps: BTreeMap<u64, StepId>,
    /// Observations in the order of the log, each with the number of its exchange or note.
    observations: Vec<(u64, Observation<'static>)>,
}

/// Counts of a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovered {
    /// Requests that were not in the journal.
    pub requests: usize,
    /// Answers that had ended and were not in the journal.
    pub answers: usize,
    /// Answers that had not ended.
    pub cut: usize,
}

impl LeftoverLog {
    /// Reads the log of a run; `None` if there is none.
    ///
    /// # Errors
    /// Fails if the log exists and cannot be read.
    pub fn read(dir: &WalDir, run_id: RunId) -> io::Result<Option<Self>> {
        let mut log = Self {
            journal: LoggedJournal::open(dir, run_id),
            jobs: BTreeSet::new(),
            steps: BTreeMap::new(),
            observations: Vec::new(),
        };
        let is_there = wal::read(dir, run_id, |id, observation| log.take(id, observation))?;
        let last = log.journal.last().map_or(0, |mark| mark.job);
        let newest = log.jobs.last().map_or(last, |newest| last.max(*newest));
        // From the newest job back to the first one that is not in the log.
        let complete_from = (0..=newest).rev().find(|job| !log.jobs.contains(job)).unwrap_or(0);
        log.journal.set_complete_from(complete_from);
        Ok(is_there.then_some(log))
    }

    /// Sorts an observation into progress marks and observations to write.
    fn take(&mut self, id: u64, observation: Observation<'_>) {
        match observation {
            // Marks with a step repeat the mark before them.
            Observation::Journaled { step: Some(step), .. } => {
                self.steps.insert(id, step);
            }
            Observation::Journaled { job, position, step: None } => self.journal.add_mark(job, position),
            Observation::JournalCut { job, position, lost } => self.journal.add_cut(job, position, lost),
            observation => {
                match &observation {
                    Observation::Request(_) => self.jobs.insert(id),
                    Observation::End(end) => self.jobs.insert(end.job),
                    note => note.stands_alone() && self.jobs.insert(id),
                };
                self.observations.push((id, observation.into_owned()));
            }
        }
    }

    /// Returns what the log knows of the journal. Events behind its last mark may be half of a job, and that job is
    /// written again.
    pub fn journal(&self) -> LoggedJournal {
        self.journal.clone()
    }

    /// Returns true if the log says how far the journal goes.
    pub fn has_marks(&self) -> bool {
        self.journal.last().is_some()
    }

    /// Writes the missing events into a run that was resumed.
    ///
    /// `tool_calls` are the ids of calls that its journal already has. An agent repeats its history with each
    /// request, and each tool ran once. If anything was missing, a capture gap comes first, because recovered
    /// events, except decisions, have the time of the recovery.
    ///
    /// # Errors
    /// Returns the first error of the journal, after writing all that could be written.
    pub fn recover_into<'t>(
        self,
        writer: &EventWriter,
        tool_calls: impl IntoIterator<Item = &'t str>,
    ) -> Result<Recovered, RecordError> {
        self.register_secrets(writer);
        let last = || self.journal.last().map_or(0, |mark| mark.job);
        let done = writer.resumed_job().unwrap_or_else(last);
        // A step that is not open has returned, or its call was lost with the end of the journal.
        let open: BTreeSet<StepId> = writer.open_steps().into_iter().collect();
        let recovered = self.counts(done);
        let has_note = |(id, it): &(u64, Observation<'_>)| it.stands_alone() && *id > done;
        if recovered != Recovered::default() || self.observations.iter().any(has_note) {
            writer.record_gap(
                "recorder",
                "it did not come to the end: what follows is from its log, and was written down later",
            )?;
        }
        let mut first = None;
        let mut failed = |error| {
            // A run that reached its size limit has a gap, as it would have had live.
            if !matches!(error, RecordError::Full { .. }) {
                first.get_or_insert(error);
            }
        };
        let mut builder = EventBuilder::unenforced(writer.clone(), DEFAULT_MAX_BODY_BYTES);
        builder.skip_tool_calls(tool_calls);
        for (id, observation) in self.observations {
            match &observation {
                Observation::Request(request) if id <= done => {
                    // Without a step the live recorder could not write the request either.
                    if let Some(step) = self.steps.get(&id).filter(|step| open.contains(step)) {
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
            // The time of a decision is part of the observation; other times are lost.
            let at = observation.decided_at();
            builder.take(id, at, observation, None, &mut failed);
        }
        for exchange in builder.unfinished() {
            builder.write_cut_exchange(exchange, &mut failed);
        }
        first.map_or(Ok(recovered), Err)
    }

    /// Registers all secrets with the writer, including those in requests that the journal already has, because
    /// their answers are masked with them.
    fn register_secrets(&self, writer: &EventWriter) {
        for (_, observation) in &self.observations {
            match observation {
                Observation::KnownSecret { rule, value } => writer.restore_secret(rule, value),
                Observation::Request(request) => writer.add_credentials(&request.headers.pairs()),
                _ => {}
            }
        }
    }

    /// Returns the counts for the jobs after number `done`.
    fn counts(&self, done: u64) -> Recovered {
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
