//! What a recorder that was killed left in its log, written into the journal after all.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use reenact_record::wal::{self, Entry, Place};
use reenact_record::{Pen, RecordError, RunId, StepId};
use reenact_wire::Vendor;

use super::job::{Answered, Asked, Decided, Ended, Head, Job, Logged, Withheld, noted};
use super::notebook::{Notebook, pairs};
use super::scribe;
use crate::work::Limits;

/// What is left of a run in its log.
pub struct Remains {
    /// The last job that is in the journal, and how long the journal was then.
    journaled: Option<(u64, u64)>,
    known: Vec<(String, Vec<u8>)>,
    exchanges: BTreeMap<u64, Left>,
    notes: BTreeMap<u64, Job>,
}

/// What is left of an exchange.
struct Left {
    asked: Asked,
    /// Its step, if the request is in the journal.
    step: Option<StepId>,
    answer: Answered,
    /// The job that was to write its end down; `None` if it did not come to its end.
    end: Option<u64>,
}

/// What was recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovered {
    /// Requests that were not in the journal.
    pub requests: usize,
    /// Answers that had come to their end.
    pub answers: usize,
    /// Answers that had not.
    pub cut: usize,
}

impl Remains {
    /// Reads the log of a run; `None` if there is none.
    pub fn read(place: &Place, run_id: RunId) -> io::Result<Option<Self>> {
        let mut remains =
            Self { journaled: None, known: Vec::new(), exchanges: BTreeMap::new(), notes: BTreeMap::new() };
        let is_there = wal::read(place, run_id, |id, entry| remains.take(id, &entry))?;
        Ok(is_there.then_some(remains))
    }

    /// How many bytes of events the journal has for sure. What stands behind them may be half of what a job writes, and is
    /// written again.
    pub fn journal_bytes(&self) -> Option<u64> {
        self.journaled.map(|(_, bytes)| bytes)
    }

    fn take(&mut self, id: u64, entry: &Entry<'_>) {
        match entry {
            Entry::Known { rule, value } => self.known.push(((*rule).to_owned(), value.to_vec())),
            Entry::Journaled { job, bytes, step } => {
                self.journaled = Some((*job, *bytes));
                if let (Some(step), Some(left)) = (step, self.exchanges.get_mut(&id)) {
                    left.step = Some(*step);
                }
            }
            Entry::Request { .. } => {
                if let Some(left) = Left::begin(id, entry) {
                    self.exchanges.insert(id, left);
                }
            }
            other => {
                if let Some(job) = noted(other) {
                    self.notes.insert(id, job);
                } else if let Some(left) = self.exchanges.get_mut(&id) {
                    left.take(other);
                }
            }
        }
    }

    /// Writes what is missing into a run that was taken up again. `told` are the tool calls that are in its journal: an agent
    /// repeats its history, and its tools ran once.
    pub fn write<'t>(
        self,
        pen: &Pen,
        told: impl IntoIterator<Item = &'t str>,
    ) -> Result<Recovered, RecordError> {
        for (rule, value) in &self.known {
            pen.know_again(rule, value);
        }
        // Answers are masked with the credentials of their own requests, also of those that are in the journal.
        for left in self.exchanges.values() {
            pen.know_credentials(&pairs(&left.asked.headers));
        }
        let mut notebook = Notebook::new(pen.clone(), Limits::default().answer_bytes);
        notebook.tell(told);
        let done = self.journaled.map_or(0, |(job, _)| job);
        let mut jobs: Vec<(u64, Job)> = Vec::new();
        let mut cut = Vec::new();
        let mut recovered = Recovered::default();
        jobs.extend(self.notes);
        for (id, left) in self.exchanges {
            match left.step.filter(|_| id <= done) {
                Some(step) => notebook.take_up(id, step, &left.asked),
                // Its request could not be written then either.
                None if id <= done => continue,
                None => {
                    recovered.requests += 1;
                    jobs.push((id, Job::Request(left.asked)));
                }
            }
            match left.end {
                Some(end) if end <= done => {}
                Some(end) => {
                    recovered.answers += 1;
                    jobs.push((end, Job::Answer(left.answer)));
                }
                None => {
                    recovered.cut += 1;
                    cut.push(Job::Answer(left.answer));
                }
            }
        }
        jobs.retain(|(number, _)| *number > done);
        jobs.sort_by_key(|(number, _)| *number);
        if !jobs.is_empty() || !cut.is_empty() {
            pen.gap(
                "recorder",
                "it did not come to the end: what follows is from its log, and was written down later",
            )?;
        }
        let mut first = None;
        let last = jobs.last().map_or(done, |(number, _)| *number);
        for (number, job) in jobs.into_iter().chain((last + 1..).zip(cut)) {
            // When a decision was made is part of it; when the rest happened nobody knows any more.
            let at = job.decided_at();
            notebook.write(number, at, job, |error| {
                // A run that is too long has its gap, as it would have had.
                if !matches!(error, RecordError::Full { .. }) {
                    first.get_or_insert(error);
                }
            });
        }
        first.map_or(Ok(recovered), Err)
    }
}

impl Left {
    fn begin(id: u64, entry: &Entry<'_>) -> Option<Self> {
        let Entry::Request { provider, method, path, headers, has_trailers, decided, body } = entry else {
            return None;
        };
        let asked = Asked {
            provider: (*provider).to_owned(),
            vendor: Vendor::of_name(provider)?,
            method: (*method).to_owned(),
            path: (*path).to_owned(),
            headers: map(headers),
            body: Bytes::copy_from_slice(body),
            has_trailers: *has_trailers,
            decided: decided.as_ref().map(Decided::read),
        };
        let answer = Answered {
            exchange: id,
            head: None,
            body: Vec::new(),
            reads: Vec::new(),
            logged: Logged::default(),
            is_too_long: false,
            trailers: HeaderMap::new(),
            withheld: None,
            ended: Ended::Killed,
            latency: Duration::ZERO,
        };
        Some(Self { asked, step: None, answer, end: None })
    }

    fn take(&mut self, entry: &Entry<'_>) {
        let answer = &mut self.answer;
        match entry {
            Entry::Head { status, version, headers } => {
                answer.head = StatusCode::from_u16(*status).ok().map(|status| Head {
                    status,
                    version: VERSIONS.into_iter().find(|known| known == version).unwrap_or("1.1"),
                    headers: map(headers),
                });
            }
            Entry::Piece { at, bytes } => {
                answer.body.extend_from_slice(bytes);
                answer.reads.push((*at, answer.body.len()));
                answer.latency = *at;
            }
            Entry::Trailers { headers } => answer.trailers = map(headers),
            Entry::Withheld { delivered, instead } => {
                let delivered = usize::try_from(*delivered).unwrap_or(usize::MAX);
                answer.withheld = Some(Withheld { delivered, instead: instead.to_vec() });
            }
            Entry::End(ending) => {
                answer.ended = scribe::ended(ending);
                answer.latency = ending.latency;
                answer.is_too_long = ending.is_too_long;
                self.end = Some(ending.job);
            }
            _ => {}
        }
    }
}

/// The versions that a head can name.
const VERSIONS: [&str; 5] = ["0.9", "1.0", "1.1", "2", "3"];

/// Headers as they came; what was none could not have come.
fn map(pairs: &[(&str, &[u8])]) -> HeaderMap {
    let pair = |(name, value): &(&str, &[u8])| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_bytes(value).ok()?))
    };
    let mut map = HeaderMap::with_capacity(pairs.len());
    for (name, value) in pairs.iter().filter_map(pair) {
        map.append(name, value);
    }
    map
}
