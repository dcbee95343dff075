//! All digests of a document in one pass over its text: the checksum, the hash of each step, and the HMAC of the
//! signature if a key is given.

use reenact_json::canonical::ByteSink;
use reenact_json::digest::{Hasher, Hmac};
use reenact_json::{CanonicalFault, CanonicalForm, Digest, ValueKind};

use super::canonical::{RpkCanonicalWriter, RpkForm, RpkMemberRef};
use super::{HmacKey, RpkHead, RpkStepItem, RpkStepView};

/// Digests of a document as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpkDigests {
    /// Checksum, or the reason why there is none.
    pub checksum: Result<Digest, CanonicalFault>,
    /// HMAC of the signature under the given key; `None` without a key or a checksum.
    pub hmac: Option<Digest>,
    /// True if the spelling of what the checksum covers differs from its canonical form, white space aside.
    pub is_respelled: bool,
}

/// Computes all digests. `each` is called for every element of `steps`, in order, with its index and recomputed hash.
pub fn compute_digests<'a>(
    head: &'a RpkHead<'a>,
    key: Option<&HmacKey>,
    each: impl FnMut(usize, RpkStepItem<'a>, Result<Digest, CanonicalFault>),
) -> RpkDigests {
    let mut whole = ChecksumSink::new(key);
    let mut stripped = Hasher::new();
    let walk = RpkCanonicalWriter::new(&head.scanned, &mut whole, &mut stripped);
    let mut surveyor = RpkHashWalk { writer: walk, fault: None, on_step: each };
    surveyor.root(head);
    let is_respelled = surveyor.writer.is_respelled();
    let fault = surveyor.fault;
    whole.finish(fault, is_respelled)
}

/// Sink of the canonical text of `metadata`, `payload` and `version`: hashes it, and computes the HMAC.
struct ChecksumSink {
    hasher: Hasher,
    hmac: Option<Hmac>,
}

impl ChecksumSink {
    fn new(key: Option<&HmacKey>) -> Self {
        Self { hasher: Hasher::new(), hmac: key.map(HmacKey::begin_message) }
    }

    /// Writes the beginning of both messages, before the first of those members.
    fn begin(&mut self, head: &RpkHead<'_>) {
        self.hasher.put(b"{");
        if let Some(code) = &mut self.hmac {
            code.put(b"{\"checksum\":");
            match head.checksum {
                // A checksum without a canonical form cannot have been signed.
                Some(checksum) => drop(RpkForm.write(checksum, code)),
                None => code.put(b"null"),
            }
            code.put(b",");
        }
    }

    /// Returns the digests, unless there was a fault.
    fn finish(mut self, fault: Option<CanonicalFault>, is_respelled: bool) -> RpkDigests {
        let checksum = match fault {
            Some(fault) => Err(fault),
            None => Ok(self.hasher.finish()),
        };
        let code = self.hmac.filter(|_| checksum.is_ok()).map(Hmac::finish);
        RpkDigests { checksum, hmac: code, is_respelled }
    }
}

impl ByteSink for ChecksumSink {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.hasher.put(bytes);
        if let Some(code) = &mut self.hmac {
            code.put(bytes);
        }
    }
}

/// Pass over a document. The whole form gets everything that the checksum covers, the stripped form one step after
/// the other.
struct RpkHashWalk<'a, 's, F> {
    writer: RpkCanonicalWriter<'a, 's, ChecksumSink, Hasher>,
    /// First value without a canonical form: from there on the whole form is void and no longer written. Locating a
    /// fault takes a scan of all text before it, which must not be done for each of many.
    fault: Option<CanonicalFault>,
    on_step: F,
}

impl<'a, F: FnMut(usize, RpkStepItem<'a>, Result<Digest, CanonicalFault>)> RpkHashWalk<'a, '_, F> {
    fn root(&mut self, head: &RpkHead<'a>) {
        self.writer.enable_forms(false, false);
        let mut root = self.writer.open_object(0);
        self.writer.whole().begin(head);
        while let Some(member) = self.writer.next_member(&mut root) {
            let is_payload = member.name.is_string("payload");
            if !is_payload && !member.name.is_string("metadata") && !member.name.is_string("version") {
                self.writer.skip_member(&mut root, &member);
                continue;
            }
            self.writer.enable_forms(true, false);
            self.writer.write_name(&mut root, &member);
            let end = if is_payload && self.writer.kind(member.value_start) == Some(ValueKind::Object) {
                self.payload(member.value_start)
            } else {
                self.member(&member)
            };
            self.writer.finish_member(&mut root, end);
        }
        self.writer.whole().put(b"}");
    }

    /// Writes a member's value; returns the offset behind it.
    fn member(&mut self, member: &RpkMemberRef<'a>) -> usize {
        if self.fault.is_some() {
            return self.writer.end_of(member.value_start);
        }
        match self.writer.write_member_value(member) {
            Ok(end) => end,
            Err(fault) => self.record_fault(fault, member.value_start),
        }
    }

    fn record_fault(&mut self, fault: CanonicalFault, at: usize) -> usize {
        self.fault.get_or_insert(fault);
        self.writer.enable_forms(true, false);
        self.writer.end_of(at)
    }

    fn payload(&mut self, at: usize) -> usize {
        let mut payload = self.writer.open_object(at);
        while let Some(member) = self.writer.next_member(&mut payload) {
            self.writer.write_name(&mut payload, &member);
            let is_run = member.name.is_string("run")
                && self.writer.kind(member.value_start) == Some(ValueKind::Object);
            let end = if is_run { self.run(member.value_start) } else { self.member(&member) };
            self.writer.finish_member(&mut payload, end);
        }
        self.writer.close_object(payload)
    }

    fn run(&mut self, at: usize) -> usize {
        let mut run = self.writer.open_object(at);
        while let Some(member) = self.writer.next_member(&mut run) {
            self.writer.write_name(&mut run, &member);
            let is_steps = member.name.is_string("steps")
                && self.writer.kind(member.value_start) == Some(ValueKind::Array);
            let end = if is_steps { self.steps(member.value_start) } else { self.member(&member) };
            self.writer.finish_member(&mut run, end);
        }
        self.writer.close_object(run)
    }

    fn steps(&mut self, at: usize) -> usize {
        let mut steps = self.writer.open_list(at);
        let mut index = 0;
        while let Some(at) = self.writer.next_element(&mut steps) {
            let kind = self.writer.kind(at).unwrap_or(ValueKind::Null);
            let (end, item, digest) = if kind == ValueKind::Object {
                self.step(at)
            } else {
                (self.element(at), RpkStepItem::NotAnObject(kind), Ok(Digest::of(b"")))
            };
            self.writer.enable_forms(true, false);
            (self.on_step)(index, item, digest);
            self.writer.finish_element(&mut steps, end);
            index += 1;
        }
        self.writer.close_list(steps)
    }

    /// Writes an element that is not a step.
    fn element(&mut self, at: usize) -> usize {
        if self.fault.is_some() {
            return self.writer.end_of(at);
        }
        self.writer.write_value(at).unwrap_or_else(|fault| self.record_fault(fault, at))
    }

    fn step(&mut self, at: usize) -> (usize, RpkStepItem<'a>, Result<Digest, CanonicalFault>) {
        let mut view = RpkStepView::default();
        self.writer.stripped().clear();
        let end = if self.fault.is_some() {
            self.writer.end_of(at)
        } else {
            match self.write_step(at, &mut view) {
                Ok(end) if view.is_complete() => {
                    let digest = self.writer.stripped().finish();
                    return (end, RpkStepItem::Step(view), Ok(digest));
                }
                Ok(end) => end,
                Err(fault) => self.record_fault(fault, at),
            }
        };
        // A member is missing or has no canonical form: the hash may still be computable, if it does not cover that
        // member.
        let view = self.writer.value_between(at, end).map(RpkStepView::of).unwrap_or_default();
        let digest = view.digest(self.writer.stripped());
        (end, RpkStepItem::Step(view), digest)
    }

    fn write_step(&mut self, at: usize, view: &mut RpkStepView<'a>) -> Result<usize, CanonicalFault> {
        let walk = &mut self.writer;
        walk.enable_forms(true, true);
        let mut step = walk.open_object(at);
        while let Some(member) = walk.next_member(&mut step) {
            let slot = view.slot(member.name);
            walk.enable_forms(true, slot.as_ref().is_some_and(|(_, is_covered)| *is_covered));
            walk.write_name(&mut step, &member);
            let end = walk.write_member_value(&member)?;
            walk.finish_member(&mut step, end);
            if let Some((slot, _)) = slot {
                *slot = walk.value_between(member.value_start, end);
            }
        }
        walk.enable_forms(true, true);
        Ok(walk.close_object(step))
    }
}
