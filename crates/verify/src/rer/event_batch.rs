//! A batch of events, checked by itself: structure, chain and payloads (checks 1, 4 and 7).
//!
//! Start reading at [`RerEventBatch::check`].

use core::fmt;

use reenact_formats::rer::structure::{self, RerStructureFault};
use reenact_formats::rer::{EventType, IndexedMember, RerEventItem, RerEventView, RerHashFault, RerVersion};
use reenact_json::digest::{Hasher, constant_time_eq};
use reenact_json::{CanonicalFault, Digest, Value};

use super::audit::{AuditedEvent, Auditor};
use super::batch_reader::PreviousEvent;
use super::recovery::RecoverySign;
use crate::capped::Capped;
use crate::report::shown_carried;

/// Consecutive events, with the members of the event before them that the first one must follow.
pub struct RerEventBatch<'a> {
    /// Index of the first event in the artifact, 0-based.
    pub(super) first_index: usize,
    /// Events in order; an element that is not an object is kept by its kind.
    pub(super) items: Vec<RerEventItem<'a>>,
    /// Event before the batch; `None` for the first batch.
    pub(super) previous: Option<PreviousEvent<'a>>,
    /// Envelope of the artifact, if it stands before the events in the text.
    pub(super) envelope: Option<Value<'a>>,
}

/// Findings in a batch of events.
#[derive(Debug, Default)]
pub struct RerBatchFindings<'a> {
    /// Index of the first event, 0-based.
    pub(super) first_index: usize,
    /// Number of events.
    pub(super) events: usize,
    /// Deviations from the published shape (check 1).
    pub(super) structure: Capped<RerStructureFault>,
    /// Links that do not hold, by event index (check 4).
    pub(super) chain: Capped<(usize, ChainFault)>,
    /// Payloads that do not fit their hash, by event index (check 7).
    pub(super) payloads: Capped<(usize, PayloadFault)>,
    /// Indices of events whose payload is withheld.
    pub(super) redacted: Capped<usize>,
    /// Index of the first event of version 0.1, and of the first of version 0.2.
    pub(super) versions: [Option<usize>; 2],
    /// Blobs that `rer.artifact.written` events name, by event index, or the reason why they name none.
    pub(super) written_blobs: Vec<(usize, Result<Digest, &'static str>)>,
    /// Signs that the recorder did not vouch for the end of the run, by event index.
    pub(super) recovery: Capped<(usize, RecoverySign)>,
    /// Last end of the run that is such a sign in records of 0.1.0.
    pub(super) old_recovery: Option<(usize, RecoverySign)>,
    /// Members of the events that the audit needs.
    audited_events: Vec<AuditedEvent<'a>>,
    /// Envelope of the artifact, if the text has shown it by then.
    envelope: Option<Value<'a>>,
    /// First event of the batch.
    pub(super) first_item: Option<RerEventItem<'a>>,
    /// Last event of the batch.
    pub(super) last_event: Option<LastEvent<'a>>,
}

/// Last event so far, from which the head of the log is computed.
#[derive(Debug)]
pub(super) struct LastEvent<'a> {
    /// The event.
    pub(super) item: RerEventItem<'a>,
    /// Recomputed hash of the event, or why it has none.
    pub(super) computed: Result<Digest, RerHashFault>,
}

/// Reason why a link of the chain does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChainFault {
    /// A batch before this event was lost, so its events were not checked.
    NotChecked,
    /// The element is not an object.
    NotAnEvent,
    /// The event has no canonical form, so its hash cannot be computed.
    Uncomputable(RerHashFault),
    /// The carried hash differs from the computed one.
    Hash { carried: String, computed: Digest },
    /// The first event names a parent.
    FirstParent { carried: String },
    /// The event does not name the one before it.
    Parent { carried: String, previous: String },
    /// The step index is not greater than that of the event before.
    StepIndex { carried: String, previous: String },
}

impl fmt::Display for ChainFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotChecked => write!(f, "was not judged: its batch is missing or out of order"),
            Self::NotAnEvent => write!(f, "is not an object, so it cannot be a link of the chain"),
            Self::Uncomputable(fault) => write!(f, "event_hash cannot be recomputed: {fault}"),
            Self::Hash { carried, computed } => write!(f, "event_hash is {carried}, recomputed {computed}"),
            Self::FirstParent { carried } => {
                write!(f, "parent_event_hash is {carried}; the first event must have null")
            }
            Self::Parent { carried, previous: before } => {
                write!(f, "parent_event_hash is {carried}, but event_hash of the event before is {before}")
            }
            Self::StepIndex { carried, previous: before } => {
                write!(f, "step_index is {carried}, which does not come after {before}")
            }
        }
    }
}

/// Reason why a payload does not fit its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PayloadFault {
    /// The element is not an object.
    NotAnEvent,
    /// The payload has no canonical form.
    Uncomputable(CanonicalFault),
    /// The carried hash differs from the computed one.
    Hash { carried: String, computed: Digest },
}

impl fmt::Display for PayloadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnEvent => write!(f, "is not an object, so it has no payload to check"),
            Self::Uncomputable(fault) => write!(f, "payload has no canonical form: {fault}"),
            Self::Hash { carried, computed } => write!(f, "payload_hash is {carried}, recomputed {computed}"),
        }
    }
}

/// Findings in all events so far, and the audit that follows them.
#[derive(Default)]
pub struct RerFindings<'a> {
    /// Findings of all batches together.
    pub(super) total: RerBatchFindings<'a>,
    /// Audit of the events in order.
    pub(super) auditor: Auditor<'a>,
}

impl<'a> RerFindings<'a> {
    /// Appends the findings of the batch that follows. A gap between batches fails the chain.
    pub fn append(&mut self, later: RerBatchFindings<'a>) {
        let all = &mut self.total;
        let due = all.first_index + all.events;
        if later.first_index != due {
            // A batch was lost: its events were not checked, and must not look as if they were.
            all.chain.push((due, ChainFault::NotChecked));
        }
        all.events += later.events;
        all.structure.append(later.structure);
        all.chain.append(later.chain);
        all.payloads.append(later.payloads);
        all.redacted.append(later.redacted);
        for (first, found) in all.versions.iter_mut().zip(later.versions) {
            *first = first.or(found);
        }
        all.written_blobs.extend(later.written_blobs);
        all.recovery.append(later.recovery);
        all.old_recovery = later.old_recovery.or(all.old_recovery);
        self.auditor.add(later.audited_events, later.envelope);
        all.first_item = all.first_item.or(later.first_item);
        all.last_event = later.last_event.or(all.last_event.take());
    }
}

impl<'a> RerEventBatch<'a> {
    /// Returns the number of events in the batch.
    pub fn events(&self) -> usize {
        self.items.len()
    }

    /// Checks every event of the batch.
    pub fn check(&self) -> RerBatchFindings<'a> {
        let mut finding = RerBatchFindings {
            first_index: self.first_index,
            events: self.items.len(),
            first_item: self.items.first().copied(),
            audited_events: Vec::with_capacity(self.items.len()),
            envelope: self.envelope,
            ..RerBatchFindings::default()
        };
        let mut hasher = Hasher::new();
        let mut before = self.previous;
        for (index, item) in (self.first_index..).zip(&self.items) {
            structure::check_event(index, item, &mut |fault| finding.structure.push(fault));
            let computed = match item {
                RerEventItem::Event(event) => {
                    finding.check_payload(index, event, &mut hasher);
                    finding.add_written_blob(index, event);
                    match RecoverySign::of(event) {
                        Some(sign) if sign.is_of_old_records() => finding.old_recovery = Some((index, sign)),
                        Some(sign) => finding.recovery.push((index, sign)),
                        None => {}
                    }
                    finding.audited_events.extend(AuditedEvent::of(index, event));
                    let computed = event.hash(&mut hasher);
                    finding.check_link(index, event, before, &computed);
                    before =
                        Some(PreviousEvent { event_hash: event.event_hash, step_index: event.step_index });
                    computed
                }
                RerEventItem::NotAnObject(kind) => {
                    finding.chain.push((index, ChainFault::NotAnEvent));
                    finding.payloads.push((index, PayloadFault::NotAnEvent));
                    before = Some(PreviousEvent { event_hash: None, step_index: None });
                    Err(RerHashFault::NotAnObject { what: "the last event", found: kind.name() })
                }
            };
            if index + 1 == self.first_index + self.items.len() {
                finding.last_event = Some(LastEvent { item: *item, computed });
            }
        }
        finding
    }
}

impl<'a> RerBatchFindings<'a> {
    /// Check 7: the payload has its hash. Notes the version of the event and withheld payloads, too.
    fn check_payload(&mut self, index: usize, event: &RerEventView<'a>, hasher: &mut Hasher) {
        match RerVersion::of(event.event_version, RerVersion::event) {
            Some(RerVersion::V01) => self.versions[0] = self.versions[0].or(Some(index)),
            Some(RerVersion::V02) => self.versions[1] = self.versions[1].or(Some(index)),
            None => {}
        }
        if event.is_redacted() {
            self.redacted.push(index);
            return;
        }
        match event.payload_digest(hasher) {
            Ok(computed) if is_digest(event.payload_hash, &computed) => {}
            Ok(computed) => {
                let carried = shown_value(event.payload_hash);
                self.payloads.push((index, PayloadFault::Hash { carried, computed }));
            }
            Err(fault) => self.payloads.push((index, PayloadFault::Uncomputable(fault))),
        }
    }

    /// Notes the blob that an event says it wrote, which a bundle must list. A withheld payload names
    /// none.
    fn add_written_blob(&mut self, index: usize, event: &RerEventView<'a>) {
        let is_written =
            event.event_type.is_some_and(|found| found.is_string(EventType::ArtifactWritten.name()));
        if event.is_redacted() || !is_written {
            return;
        }
        let hash = event.indexed_member(IndexedMember::ArtifactHash).and_then(|hash| hash.string());
        let hash = hash.ok_or("the payload names no artifact_hash");
        let hash = hash.and_then(|hash| {
            Digest::from_hex(&hash).ok_or("artifact_hash is not 64 lower-case hexadecimal digits")
        });
        self.written_blobs.push((index, hash));
    }

    /// Check 4: the event's own hash, the link to the event before, and the order of step indices.
    fn check_link(
        &mut self,
        index: usize,
        event: &RerEventView<'a>,
        before: Option<PreviousEvent<'a>>,
        computed: &Result<Digest, RerHashFault>,
    ) {
        match computed {
            Ok(computed) if is_digest(event.event_hash, computed) => {}
            Ok(computed) => {
                let (carried, computed) = (shown_value(event.event_hash), *computed);
                self.chain.push((index, ChainFault::Hash { carried, computed }));
            }
            Err(fault) => self.chain.push((index, ChainFault::Uncomputable(fault.clone()))),
        }
        let Some(before) = before else {
            if !event.parent_event_hash.is_some_and(|parent| parent.is_null()) {
                let carried = shown_value(event.parent_event_hash);
                self.chain.push((index, ChainFault::FirstParent { carried }));
            }
            return;
        };
        if !is_same_hash(event.parent_event_hash, before.event_hash) {
            let fault = ChainFault::Parent {
                carried: shown_value(event.parent_event_hash),
                previous: shown_value(before.event_hash),
            };
            self.chain.push((index, fault));
        }
        if event.step_index.is_some_and(|this| before.step_index.is_some_and(|last| is_not_after(this, last)))
        {
            let fault = ChainFault::StepIndex {
                carried: shown_value(event.step_index),
                previous: shown_value(before.step_index),
            };
            self.chain.push((index, fault));
        }
    }
}

/// Returns true if one step index does not come after another. Values that are no numbers are not
/// compared: check 1 reports them.
fn is_not_after(this: Value<'_>, last: Value<'_>) -> bool {
    match (this.unsigned_integer(), last.unsigned_integer()) {
        (Some(this), Some(last)) => this <= last,
        _ => matches!((this.double(), last.double()), (Some(this), Some(last)) if this <= last),
    }
}

/// Returns true if a carried value is the digest in hexadecimal. Compares in constant time.
pub(super) fn is_digest(value: Option<Value<'_>>, digest: &Digest) -> bool {
    value.and_then(|value| value.with_string_bytes(|text| digest.is_hex(text))) == Some(true)
}

/// Returns true if two carried hashes are the same string. Compares in constant time.
pub(super) fn is_same_hash(a: Option<Value<'_>>, b: Option<Value<'_>>) -> bool {
    let (a, b) = (a.and_then(|a| a.string_bytes()), b.and_then(|b| b.string_bytes()));
    matches!((a, b), (Some(a), Some(b)) if constant_time_eq(&a, &b))
}

/// Returns a carried value for a reason: a string shortened and escaped, a number as written, anything
/// else by its kind.
pub(super) fn shown_value(value: Option<Value<'_>>) -> String {
    match value {
        None => "missing".into(),
        Some(value) => match value.string() {
            Some(text) if text.is_empty() => "an empty string".into(),
            Some(text) => shown_carried(&text),
            None => value.number_text().unwrap_or_else(|| value.kind().name().into()),
        },
    }
}
