//! A batch of events, judged by itself: structure, chain, payloads (checks 1, 4 and 7).

use core::fmt;

use reenact_formats::rer::structure::{self, StructureFault};
use reenact_formats::rer::{EventType, EventView, HashFault, Item, Noted, Version};
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, Digest, Value};

use super::audit::{Auditor, Step};
use super::survey::Before;
use crate::capped::Capped;
use crate::report::carried;

/// Consecutive events, and the one before them.
pub struct Job<'a> {
    pub(super) first: usize,
    pub(super) items: Vec<Item<'a>>,
    pub(super) before: Option<Before<'a>>,
    /// The envelope, if the text has shown it before the events.
    pub(super) envelope: Option<Value<'a>>,
}

/// What was found in a batch of events.
#[derive(Debug, Default)]
pub struct Finding<'a> {
    /// The index of the first event.
    pub(super) start: usize,
    pub(super) events: usize,
    pub(super) structure: Capped<StructureFault>,
    pub(super) chain: Capped<(usize, ChainFault)>,
    pub(super) payloads: Capped<(usize, PayloadFault)>,
    pub(super) redacted: Capped<usize>,
    /// The first event of version 0.1, and of 0.2.
    pub(super) versions: [Option<usize>; 2],
    /// What `rer.artifact.written` events name, or why they name nothing.
    pub(super) written: Vec<(usize, Result<Digest, &'static str>)>,
    /// What the audit needs of the events.
    steps: Vec<Step<'a>>,
    envelope: Option<Value<'a>>,
    pub(super) first: Option<Item<'a>>,
    pub(super) last: Option<Last<'a>>,
}

/// The last event, from which the head of the log is computed.
#[derive(Debug)]
pub(super) struct Last<'a> {
    pub(super) item: Item<'a>,
    pub(super) computed: Result<Digest, HashFault>,
}

/// Why a link of the chain does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChainFault {
    NotJudged,
    NotAnEvent,
    Uncomputable(HashFault),
    Hash { carried: String, computed: Digest },
    FirstParent { carried: String },
    Parent { carried: String, before: String },
    StepIndex { carried: String, before: String },
}

impl fmt::Display for ChainFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJudged => write!(f, "was not judged: its batch is missing or out of order"),
            Self::NotAnEvent => write!(f, "is not an object, so it cannot be a link of the chain"),
            Self::Uncomputable(fault) => write!(f, "event_hash cannot be recomputed: {fault}"),
            Self::Hash { carried, computed } => write!(f, "event_hash is {carried}, recomputed {computed}"),
            Self::FirstParent { carried } => {
                write!(f, "parent_event_hash is {carried}; the first event must have null")
            }
            Self::Parent { carried, before } => {
                write!(f, "parent_event_hash is {carried}, but event_hash of the event before is {before}")
            }
            Self::StepIndex { carried, before } => {
                write!(f, "step_index is {carried}, which does not come after {before}")
            }
        }
    }
}

/// Why a payload does not fit its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PayloadFault {
    NotAnEvent,
    Uncomputable(CanonicalFault),
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

/// What was found in all events so far.
#[derive(Default)]
pub struct Findings<'a> {
    pub(super) all: Finding<'a>,
    pub(super) auditor: Auditor<'a>,
}

impl<'a> Findings<'a> {
    /// Appends what was found in the events that follow.
    pub fn absorb(&mut self, later: Finding<'a>) {
        let all = &mut self.all;
        let due = all.start + all.events;
        if later.start != due {
            // Whoever ran the jobs lost one: its events were not judged, and must not look as if they were.
            all.chain.push((due, ChainFault::NotJudged));
        }
        all.events += later.events;
        all.structure.absorb(later.structure);
        all.chain.absorb(later.chain);
        all.payloads.absorb(later.payloads);
        all.redacted.absorb(later.redacted);
        for (first, found) in all.versions.iter_mut().zip(later.versions) {
            *first = first.or(found);
        }
        all.written.extend(later.written);
        self.auditor.take(later.steps, later.envelope);
        all.first = all.first.or(later.first);
        all.last = later.last.or(all.last.take());
    }
}

impl<'a> Job<'a> {
    /// How many events.
    pub fn events(&self) -> usize {
        self.items.len()
    }

    /// Judges every event of the batch.
    pub fn run(&self) -> Finding<'a> {
        let mut finding = Finding {
            start: self.first,
            events: self.items.len(),
            first: self.items.first().copied(),
            steps: Vec::with_capacity(self.items.len()),
            envelope: self.envelope,
            ..Finding::default()
        };
        let mut hasher = Hasher::new();
        let mut before = self.before;
        for (index, item) in (self.first..).zip(&self.items) {
            structure::event(index, item, &mut |fault| finding.structure.push(fault));
            let computed = match item {
                Item::Event(event) => {
                    finding.payload(index, event, &mut hasher);
                    finding.blob(index, event);
                    finding.steps.extend(Step::of(index, event));
                    let computed = event.hash(&mut hasher);
                    finding.link(index, event, before, &computed);
                    before = Some(Before { event_hash: event.event_hash, step_index: event.step_index });
                    computed
                }
                Item::NotAnObject(kind) => {
                    finding.chain.push((index, ChainFault::NotAnEvent));
                    finding.payloads.push((index, PayloadFault::NotAnEvent));
                    before = Some(Before { event_hash: None, step_index: None });
                    Err(HashFault::NotAnObject { what: "the last event", found: kind.name() })
                }
            };
            if index + 1 == self.first + self.items.len() {
                finding.last = Some(Last { item: *item, computed });
            }
        }
        finding
    }
}

impl<'a> Finding<'a> {
    /// Check 7: the payload's own bytes.
    fn payload(&mut self, index: usize, event: &EventView<'a>, hasher: &mut Hasher) {
        match Version::of(event.event_version, Version::event) {
            Some(Version::V01) => self.versions[0] = self.versions[0].or(Some(index)),
            Some(Version::V02) => self.versions[1] = self.versions[1].or(Some(index)),
            None => {}
        }
        if event.is_redacted() {
            self.redacted.push(index);
            return;
        }
        match event.payload_digest(hasher) {
            Ok(computed) if is_digest(event.payload_hash, &computed) => {}
            Ok(computed) => {
                let carried = spelled(event.payload_hash);
                self.payloads.push((index, PayloadFault::Hash { carried, computed }));
            }
            Err(fault) => self.payloads.push((index, PayloadFault::Uncomputable(fault))),
        }
    }

    /// What a bundle must list: the blob that an event says it wrote. A withheld payload names none.
    fn blob(&mut self, index: usize, event: &EventView<'a>) {
        let is_written =
            event.event_type.is_some_and(|found| found.is_string(EventType::ArtifactWritten.name()));
        if event.is_redacted() || !is_written {
            return;
        }
        let hash = event.noted(Noted::ArtifactHash).and_then(|hash| hash.string());
        let hash = hash.ok_or("the payload names no artifact_hash");
        let hash = hash.and_then(|hash| {
            Digest::from_hex(&hash).ok_or("artifact_hash is not 64 lower-case hexadecimal digits")
        });
        self.written.push((index, hash));
    }

    /// Check 4: the event's own hash, the link to the event before, the order of steps.
    fn link(
        &mut self,
        index: usize,
        event: &EventView<'a>,
        before: Option<Before<'a>>,
        computed: &Result<Digest, HashFault>,
    ) {
        match computed {
            Ok(computed) if is_digest(event.event_hash, computed) => {}
            Ok(computed) => {
                let (carried, computed) = (spelled(event.event_hash), *computed);
                self.chain.push((index, ChainFault::Hash { carried, computed }));
            }
            Err(fault) => self.chain.push((index, ChainFault::Uncomputable(fault.clone()))),
        }
        let Some(before) = before else {
            if !event.parent_event_hash.is_some_and(|parent| parent.is_null()) {
                let carried = spelled(event.parent_event_hash);
                self.chain.push((index, ChainFault::FirstParent { carried }));
            }
            return;
        };
        if !same_text(event.parent_event_hash, before.event_hash) {
            let fault = ChainFault::Parent {
                carried: spelled(event.parent_event_hash),
                before: spelled(before.event_hash),
            };
            self.chain.push((index, fault));
        }
        if event.step_index.is_some_and(|this| before.step_index.is_some_and(|last| is_not_after(this, last)))
        {
            let fault = ChainFault::StepIndex {
                carried: spelled(event.step_index),
                before: spelled(before.step_index),
            };
            self.chain.push((index, fault));
        }
    }
}

/// Whether one step index does not come after another. What is no number is not compared: the structure says so.
fn is_not_after(this: Value<'_>, last: Value<'_>) -> bool {
    match (this.whole(), last.whole()) {
        (Some(this), Some(last)) => this <= last,
        _ => matches!((this.double(), last.double()), (Some(this), Some(last)) if this <= last),
    }
}

/// Whether a carried value is the hexadecimal form of a digest, in constant time.
pub(super) fn is_digest(value: Option<Value<'_>>, digest: &Digest) -> bool {
    value.and_then(|value| value.read_string(|text| digest.is_hex(text))) == Some(true)
}

/// Whether two carried values are the same string. Both are public, so time tells nothing here.
pub(super) fn same_text(a: Option<Value<'_>>, b: Option<Value<'_>>) -> bool {
    matches!((a.and_then(|a| a.string_bytes()), b.and_then(|b| b.string_bytes())), (Some(a), Some(b)) if a == b)
}

/// A carried value for a reason: a string as it reads, anything else by its kind.
pub(super) fn spelled(value: Option<Value<'_>>) -> String {
    match value {
        None => "missing".into(),
        Some(value) => match value.string() {
            Some(text) if text.is_empty() => "an empty string".into(),
            Some(text) => carried(&text),
            None => value.number_text().unwrap_or_else(|| value.kind().name().into()),
        },
    }
}
