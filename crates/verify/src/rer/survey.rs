//! One strict walk over an artifact's text, handing out its events in batches.

use reenact_formats::rer::artifact::ReadError;
use reenact_formats::rer::{ArtifactReader, Head, Item};
use reenact_json::{Shown, SyntaxError, Value};

use super::job::{Findings, Job};
use super::{CHECKS, SCHEMA_VALID, audit, judge};
use crate::report::NOTHING_TO_CHECK;
use crate::{Keys, Options, Report, Signer, Trust};

/// A batch is worth a thread's attention, and small enough to stay in a core's cache until it is judged.
const BATCH_BYTES: usize = 64 * 1024;
const BATCH_EVENTS: usize = 128;

/// The walk. Call [`Survey::next_job`] until it gives none, then [`Survey::conclude`].
pub struct Survey<'a> {
    reader: ArtifactReader<'a>,
    next: usize,
    before: Option<Before<'a>>,
    /// What time it is, if the caller said so.
    at: Option<i128>,
}

/// What the next event must follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before<'a> {
    pub(super) event_hash: Option<Value<'a>>,
    pub(super) step_index: Option<Value<'a>>,
}

impl<'a> Survey<'a> {
    /// Begins.
    pub fn open(bytes: &'a [u8], options: &Options) -> Result<Self, ReadError> {
        let reader = ArtifactReader::open(bytes, &options.limits)?;
        Ok(Self { reader, next: 0, before: None, at: options.at })
    }

    /// The next batch of events; `None` when all is read. After an error nothing of the document counts: text that is
    /// not good JSON to its end has no members.
    pub fn next_job(&mut self) -> Result<Option<Job<'a>>, SyntaxError> {
        let items = Vec::with_capacity(BATCH_EVENTS);
        let mut job = Job { first: self.next, items, before: self.before, envelope: None };
        let mut start = None;
        while let Some(item) = self.reader.next_event()? {
            self.next += 1;
            job.items.push(item);
            self.before = Some(match item {
                Item::Event(event) => Before { event_hash: event.event_hash, step_index: event.step_index },
                Item::NotAnObject(_) => Before { event_hash: None, step_index: None },
            });
            let start = *start.get_or_insert(self.reader.offset());
            if self.reader.offset() - start >= BATCH_BYTES || job.items.len() >= BATCH_EVENTS {
                break;
            }
        }
        job.envelope = self.reader.head().envelope;
        Ok((!job.items.is_empty()).then_some(job))
    }

    /// How far the text has been read, in bytes.
    pub fn offset(&self) -> usize {
        self.reader.offset()
    }

    /// Puts the findings of all jobs, absorbed in their order, together with everything else.
    pub fn conclude(self, findings: Findings<'a>, keys: &Keys) -> Report {
        let Findings { all, auditor } = findings;
        let head = self.reader.into_head();
        let audit = auditor.conclude(&head, all.events, keys);
        judge::conclude(&head, &all, audit, keys, self.at)
    }

    /// The members read so far.
    pub fn head(&self) -> &Head<'a> {
        self.reader.head()
    }
}

/// The report on a text that cannot be read as an artifact: seven checks, none of which holds. `head` is what was read
/// before the fault; it names the format, and nothing of it counts.
pub fn unreadable(bytes: &[u8], head: &Head<'_>, error: &ReadError) -> Report {
    let mut report = Report::new(format(head), &CHECKS);
    let what = match error {
        ReadError::Syntax(error) => format!("not JSON that can be trusted: {}", error.describe(bytes)),
        other => other.to_string(),
    };
    report.fail(SCHEMA_VALID, &what);
    for (name, _) in &CHECKS[1..] {
        report.fail(name, NOTHING_TO_CHECK);
    }
    report.signer = Some(Signer { key_id: None, trust: Trust::Unknown, label: None });
    report.audit = Some(audit::unreadable());
    report.verdict = "the document could not be read".into();
    report
}

/// The format of an artifact as its version says it, right or wrong.
pub(super) fn format(head: &Head<'_>) -> String {
    let version = head.artifact_version.and_then(|version| version.string());
    match version.as_deref().and_then(|text| text.strip_prefix("rer-artifact/")) {
        Some(number) if number.len() <= 20 => format!("rer-artifact/{}", Shown::new(number)),
        _ => "rer-artifact/?".into(),
    }
}
