//! One strict walk over the text of an artifact that hands out its events in batches.

use reenact_formats::rer::artifact::RerReadError;
use reenact_formats::rer::{RerArtifactReader, RerEventItem, RerHead};
use reenact_json::{Shown, SyntaxError, Value};

use super::event_batch::{RerEventBatch, RerFindings};
use super::{CHECKS, SCHEMA_VALID, audit, verdict};
use crate::report::NOTHING_TO_CHECK;
use crate::{Keys, Options, RecordSigner, Report, Trust};

/// Size of a batch in bytes of text. Large enough to be worth a thread's attention, small enough to
/// stay in a core's cache until it is checked.
const BATCH_BYTES: usize = 64 * 1024;
/// Largest number of events in a batch.
const BATCH_EVENTS: usize = 128;

/// Reader of an artifact's events in batches.
///
/// Call [`RerBatchReader::next_batch`] until it returns `None`, then [`RerBatchReader::into_report`].
pub struct RerBatchReader<'a> {
    /// Reader over the text of the artifact.
    reader: RerArtifactReader<'a>,
    /// Index of the next event, 0-based.
    next_index: usize,
    /// Last event of the batch before; `None` before the first event.
    previous: Option<PreviousEvent<'a>>,
    /// Current time in nanoseconds since 1970, if the caller knows it.
    now: Option<i128>,
}

/// Members of an event that the next event must follow. Both are `None` if the event is not an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct PreviousEvent<'a> {
    /// Hash that the event carries, which need not be its true hash.
    pub(super) event_hash: Option<Value<'a>>,
    /// Step index that the event carries.
    pub(super) step_index: Option<Value<'a>>,
}

impl<'a> RerBatchReader<'a> {
    /// Begins to read an artifact.
    ///
    /// # Errors
    /// Fails if the text is larger than the limits allow, or not a JSON object.
    pub fn open(bytes: &'a [u8], options: &Options) -> Result<Self, RerReadError> {
        let reader = RerArtifactReader::open(bytes, &options.limits)?;
        Ok(Self { reader, next_index: 0, previous: None, now: options.now })
    }

    /// Returns the next batch of events; `None` at the end of the document.
    ///
    /// # Errors
    /// Fails at the first syntax error. Nothing of the document counts then: text that is not good JSON
    /// to its end has no members.
    pub fn next_batch(&mut self) -> Result<Option<RerEventBatch<'a>>, SyntaxError> {
        let items = Vec::with_capacity(BATCH_EVENTS);
        let mut job =
            RerEventBatch { first_index: self.next_index, items, previous: self.previous, envelope: None };
        let mut start = None;
        while let Some(item) = self.reader.next_event()? {
            self.next_index += 1;
            job.items.push(item);
            self.previous = Some(match item {
                RerEventItem::Event(event) => {
                    PreviousEvent { event_hash: event.event_hash, step_index: event.step_index }
                }
                RerEventItem::NotAnObject(_) => PreviousEvent { event_hash: None, step_index: None },
            });
            let start = *start.get_or_insert(self.reader.offset());
            if self.reader.offset() - start >= BATCH_BYTES || job.items.len() >= BATCH_EVENTS {
                break;
            }
        }
        job.envelope = self.reader.head().envelope;
        Ok((!job.items.is_empty()).then_some(job))
    }

    /// Returns the number of bytes read so far.
    pub fn offset(&self) -> usize {
        self.reader.offset()
    }

    /// Combines the findings of all batches, appended in their order, with the remaining checks.
    pub fn into_report(self, findings: RerFindings<'a>, keys: &Keys) -> Report {
        let RerFindings { total: all, auditor } = findings;
        let head = self.reader.into_head();
        let audit = auditor.conclude(&head, all.events, keys);
        verdict::finish_report(&head, &all, audit, keys, self.now)
    }

    /// Returns the members beside the events that were read so far.
    pub fn head(&self) -> &RerHead<'a> {
        self.reader.head()
    }
}

/// Returns the report on text that cannot be read as an artifact: none of the seven checks holds.
///
/// `head` holds the members read before the error. They name the format, and count for nothing else.
pub fn unreadable_report(bytes: &[u8], head: &RerHead<'_>, error: &RerReadError) -> Report {
    let mut report = Report::new(format_name(head), &CHECKS);
    let what = match error {
        RerReadError::Syntax(error) => format!("not JSON that can be trusted: {}", error.describe(bytes)),
        other => other.to_string(),
    };
    report.fail(SCHEMA_VALID, &what);
    for id in CHECKS.into_iter().skip(1) {
        report.fail(id, NOTHING_TO_CHECK);
    }
    report.signer = Some(RecordSigner { key_id: None, trust: Trust::Unknown, label: None });
    report.audit = Some(audit::unreadable_audit());
    report.summary = "the document could not be read".into();
    report
}

/// Returns the format with the version that the artifact states, right or wrong.
pub(super) fn format_name(head: &RerHead<'_>) -> String {
    let version = head.artifact_version.and_then(|version| version.string());
    match version.as_deref().and_then(|text| text.strip_prefix("rer-artifact/")) {
        Some(number) if number.len() <= 20 => format!("rer-artifact/{}", Shown::new(number)),
        _ => "rer-artifact/?".into(),
    }
}
