//! Export of a run that is being recorded: a line of REPLAY.jsonl for each event of its journal, as soon as it can be
//! written.
//!
//! The lines are those that a conversion of the sealed run writes, by the same exporter. One thing takes time: the utility
//! of a result, which an agent reports later. Results wait for theirs, and all lines behind them, from the agent's first
//! report of a plan or a step on, but never more than 16 of them. A utility that comes after its
//! result was written is in a conversion, and not in the live file.
//!
//! Start reading at [`LiveReplay::take_line`].

use std::collections::VecDeque;

use reenact_formats::replay_jsonl::writer::ReplayStore;
use reenact_formats::rer::{EventType, RerEventView};
use reenact_json::{Limits, Value};

use super::exporter::{ReplayJsonlExporter, SessionFacts, WrittenReplay};
use super::session_status;
use crate::convert::error::ConvertError;
use crate::convert::event_time;
use crate::convert::loss::Losses;
use crate::event::Event;
use crate::event_index::{EventEntry, EventIndexBuilder, ScannedEvent};
use crate::reader::rer::scanned_event;
use crate::run::Run;
use crate::step_utility::{SettledUtility, StepUtilities};

/// Largest number of results that wait for a utility.
const MAX_WAITING_RESULTS: usize = 16;

/// Largest number of events that wait behind a result.
const MAX_WAITING_EVENTS: usize = 64;

/// Event types that have a place in the format.
const EXPORTED_EVENTS: [EventType; 7] = [
    EventType::RunStarted,
    EventType::PlanStarted,
    EventType::ToolCalled,
    EventType::ToolReturned,
    EventType::StepCompleted,
    EventType::VerificationRan,
    EventType::RunEnded,
];

/// Beginning of an event in canonical form, up to its hash, and between its hash and its type.
const EVENT_BEGINNING: (&[u8], &[u8]) = (b"{\"event_hash\":\"", b"\",\"event_type\":\"");
/// Number of digits of the hash.
const HASH_DIGITS: usize = 64;

/// Writer of a REPLAY.jsonl while its run is recorded.
pub struct LiveReplay<W> {
    /// Destination, until the run's first event.
    out: Option<W>,
    exporter: Option<ReplayJsonlExporter<W>>,
    session_id: String,
    version: &'static str,
    index: EventIndexBuilder,
    utilities: StepUtilities,
    /// Events that are not written yet: the first is a result that waits.
    waiting: VecDeque<JournalEvent>,
    /// Number of results in `waiting`.
    waiting_results: usize,
    /// Event that ended the run.
    ended: Option<JournalEvent>,
}

/// Files beside a replay, to be written when the replay is on the disk.
#[derive(Debug)]
pub struct ReplayCompanions {
    /// Content of RECEIPT.json.
    pub receipt: Vec<u8>,
    /// Content of PR_SUMMARY.md.
    pub summary: String,
}

/// One event of a journal.
struct JournalEvent {
    run: Run,
    entry: EventEntry,
    index: usize,
}

impl JournalEvent {
    fn event(&self) -> Event<'_> {
        self.run.event_of(self.index, &self.entry)
    }

    fn is(&self, event_type: EventType) -> bool {
        self.entry.kind == Some(event_type)
    }
}

impl<W: ReplayStore> LiveReplay<W> {
    /// Makes a writer of the run with this id into a new file. `version` is that of the program.
    pub fn new(out: W, run_id: String, version: &'static str) -> Self {
        Self {
            out: Some(out),
            exporter: None,
            session_id: run_id,
            version,
            index: EventIndexBuilder::default(),
            utilities: StepUtilities::default(),
            waiting: VecDeque::new(),
            waiting_results: 0,
            ended: None,
        }
    }

    /// Takes the next event of the journal as its line, without the line feed, and writes all lines that need wait no
    /// longer. Only the beginning of a line is needed where its type has no place in the format.
    ///
    /// # Errors
    /// If a line cannot be written. Nothing more can be taken then.
    pub fn take_line(&mut self, line: &[u8]) -> Result<(), ConvertError> {
        let index = self.index.len();
        let event_type = event_type_of(line);
        if !event_type.is_some_and(|event_type| EXPORTED_EVENTS.contains(&event_type)) {
            self.index.push(ScannedEvent::unknown());
            if event_type == Some(EventType::ModelReturned) {
                self.utilities.take_answer(index);
            }
            return Ok(());
        }
        let limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };
        let scanned = Value::parse(line, &limits).map_or_else(
            |_| ScannedEvent::unknown(),
            |value| scanned_event(&RerEventView::of(value), line, None),
        );
        self.index.push(scanned);
        let Some(entry) = self.index.last() else { return Ok(()) };
        let event = JournalEvent { run: Run::of_event(line.to_vec()), entry, index };
        self.utilities.take(&event.event());
        if event.is(EventType::RunEnded) {
            self.ended = Some(event);
            return Ok(());
        }
        self.waiting_results += usize::from(event.is(EventType::ToolReturned));
        self.waiting.push_back(event);
        self.write_waiting(MAX_WAITING_RESULTS)
    }

    /// Returns true once the event was taken that ends the run.
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Ends the replay of a run that has ended and is sealed: writes what waits and the last line, and syncs the file.
    ///
    /// # Errors
    /// If the run has not ended, or a line cannot be written.
    pub fn end(mut self) -> Result<ReplayCompanions, ConvertError> {
        let Some(ended) = self.ended.take() else { return Err(unended()) };
        self.write_waiting(0)?;
        let Some(mut exporter) = self.exporter else { return Err(unended()) };
        let event = ended.event();
        exporter.write_event(&ended.run, &event, None)?;
        let payload = event.payload().value();
        let status = session_status(payload, exporter.losses());
        let ended_at = event.time().as_deref().and_then(event_time::event_timestamp);
        let WrittenReplay { receipt, summary, .. } = exporter.end(ended_at, status, payload)?;
        Ok(ReplayCompanions { receipt, summary })
    }

    /// Writes the events that wait, up to the first result that is to wait for its utility; at most `max_results` results may
    /// wait.
    fn write_waiting(&mut self, max_results: usize) -> Result<(), ConvertError> {
        while let Some(first) = self.waiting.pop_front() {
            let mut utility = None;
            if first.is(EventType::ToolReturned) {
                match self.utility_of(&first) {
                    SettledUtility::Known(known) => utility = Some(known),
                    SettledUtility::Unknown => {}
                    SettledUtility::Open if max_results == 0 => utility = self.utility_at_the_end(&first),
                    SettledUtility::Open
                        if self.waiting_results > max_results || self.waiting.len() >= MAX_WAITING_EVENTS => {
                    }
                    SettledUtility::Open => {
                        self.waiting.push_front(first);
                        return Ok(());
                    }
                }
                self.waiting_results -= 1;
            }
            self.write_event(&first, utility)?;
        }
        Ok(())
    }

    fn utility_of(&self, result: &JournalEvent) -> SettledUtility {
        let Some(called) = result.entry.partner() else { return SettledUtility::Unknown };
        self.utilities.settled(tool_call_id(result).as_deref(), called, result.index)
    }

    fn utility_at_the_end(&self, result: &JournalEvent) -> Option<f32> {
        self.utilities.of_call(tool_call_id(result).as_deref(), result.entry.partner())
    }

    fn write_event(&mut self, event: &JournalEvent, utility: Option<f32>) -> Result<(), ConvertError> {
        if let Some(out) = self.out.take_if(|_| event.is(EventType::RunStarted)) {
            let time = event.event().time();
            let session = SessionFacts {
                session_id: self.session_id.clone(),
                policy: None,
                confidence: None,
                started_at: time.as_deref().and_then(event_time::event_timestamp).unwrap_or_default(),
                version: self.version,
            };
            self.exporter = Some(ReplayJsonlExporter::start(out, &session, Losses::new())?);
        }
        match &mut self.exporter {
            Some(exporter) => exporter.write_event(&event.run, &event.event(), utility),
            None => Ok(()),
        }
    }
}

/// Returns the id that the model gave the call of a result.
fn tool_call_id(result: &JournalEvent) -> Option<String> {
    let id = result.event().payload().value()?.member("tool_call_id")?.string()?;
    Some(id.into_owned())
}

/// Returns the type of an event from the beginning of its line, as a journal has it.
fn event_type_of(line: &[u8]) -> Option<EventType> {
    let (before, between) = EVENT_BEGINNING;
    let rest = line.strip_prefix(before)?.get(HASH_DIGITS..)?.strip_prefix(between)?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    EventType::of_name(str::from_utf8(rest.get(..end)?).ok()?)
}

/// Returns the error for a run whose last event is not there.
fn unended() -> ConvertError {
    ConvertError::Unreadable("the run has not ended".into())
}
