//! All that is computed of a document, in one walk over its text: the checksum, the hash of each step, and the code of the
//! signature if a key is at hand.

use reenact_json::canonical::Sink;
use reenact_json::digest::{Hasher, Hmac};
use reenact_json::{CanonicalFault, CanonicalForm, Digest, Kind};

use super::canonical::{Found, RpkForm, Walk};
use super::{Head, HmacKey, Item, StepView};

/// What a survey gives of the document as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sums {
    /// The checksum, or why there is none.
    pub checksum: Result<Digest, CanonicalFault>,
    /// The code of the signature under the key that was given.
    pub code: Option<Digest>,
    /// Whether what the checksum covers is spelled otherwise than in its canonical form, white space aside.
    pub is_respelled: bool,
}

/// Computes everything; `each` is told of every element of `steps`, in order, and of a step's recomputed hash.
pub fn survey<'a>(
    head: &'a Head<'a>,
    key: Option<&HmacKey>,
    each: impl FnMut(usize, Item<'a>, Result<Digest, CanonicalFault>),
) -> Sums {
    let mut whole = Whole::new(key);
    let mut stripped = Hasher::new();
    let walk = Walk::new(&head.scanned, &mut whole, &mut stripped);
    let mut surveyor = Surveyor { walk, fault: None, each };
    surveyor.root(head);
    let is_respelled = surveyor.walk.is_respelled();
    let fault = surveyor.fault;
    whole.finish(fault, is_respelled)
}

/// Takes the text of `metadata`, `payload` and `version`.
struct Whole {
    hasher: Hasher,
    code: Option<Hmac>,
}

impl Whole {
    fn new(key: Option<&HmacKey>) -> Self {
        Self { hasher: Hasher::new(), code: key.map(HmacKey::begin) }
    }

    /// What comes before the first of them.
    fn begin(&mut self, head: &Head<'_>) {
        self.hasher.put(b"{");
        if let Some(code) = &mut self.code {
            code.put(b"{\"checksum\":");
            match head.checksum {
                // A checksum that has no form is none that was signed.
                Some(checksum) => drop(RpkForm.write(checksum, code)),
                None => code.put(b"null"),
            }
            code.put(b",");
        }
    }

    /// The sums, unless there was a fault.
    fn finish(mut self, fault: Option<CanonicalFault>, is_respelled: bool) -> Sums {
        let checksum = match fault {
            Some(fault) => Err(fault),
            None => Ok(self.hasher.finish()),
        };
        let code = self.code.filter(|_| checksum.is_ok()).map(Hmac::finish);
        Sums { checksum, code, is_respelled }
    }
}

impl Sink for Whole {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.hasher.put(bytes);
        if let Some(code) = &mut self.code {
            code.put(bytes);
        }
    }
}

/// The one who walks. The whole form gets everything that the checksum covers, the stripped form one step after the other.
struct Surveyor<'a, 's, F> {
    walk: Walk<'a, 's, Whole, Hasher>,
    /// The first value without a canonical form: from there on, the whole form is void, and is not written any more. To say where
    /// a fault stands takes a look at all before it, which must not be done for each of many.
    fault: Option<CanonicalFault>,
    each: F,
}

impl<'a, F: FnMut(usize, Item<'a>, Result<Digest, CanonicalFault>)> Surveyor<'a, '_, F> {
    fn root(&mut self, head: &Head<'a>) {
        self.walk.turn(false, false);
        let mut root = self.walk.open_object(0);
        self.walk.whole().begin(head);
        while let Some(member) = self.walk.next_member(&mut root) {
            let is_payload = member.name.is_string("payload");
            if !is_payload && !member.name.is_string("metadata") && !member.name.is_string("version") {
                self.walk.pass_over(&mut root, &member);
                continue;
            }
            self.walk.turn(true, false);
            self.walk.write_name(&mut root, &member);
            let end = if is_payload && self.walk.kind(member.at) == Some(Kind::Object) {
                self.payload(member.at)
            } else {
                self.member(&member)
            };
            self.walk.wrote_member(&mut root, end);
        }
        self.walk.whole().put(b"}");
    }

    /// Writes a member as it comes; returns where it ends.
    fn member(&mut self, member: &Found<'a>) -> usize {
        if self.fault.is_some() {
            return self.walk.end_of(member.at);
        }
        match self.walk.member(member) {
            Ok(end) => end,
            Err(fault) => self.void(fault, member.at),
        }
    }

    fn void(&mut self, fault: CanonicalFault, at: usize) -> usize {
        self.fault.get_or_insert(fault);
        self.walk.turn(true, false);
        self.walk.end_of(at)
    }

    fn payload(&mut self, at: usize) -> usize {
        let mut payload = self.walk.open_object(at);
        while let Some(member) = self.walk.next_member(&mut payload) {
            self.walk.write_name(&mut payload, &member);
            let is_run = member.name.is_string("run") && self.walk.kind(member.at) == Some(Kind::Object);
            let end = if is_run { self.run(member.at) } else { self.member(&member) };
            self.walk.wrote_member(&mut payload, end);
        }
        self.walk.close_object(payload)
    }

    fn run(&mut self, at: usize) -> usize {
        let mut run = self.walk.open_object(at);
        while let Some(member) = self.walk.next_member(&mut run) {
            self.walk.write_name(&mut run, &member);
            let is_steps = member.name.is_string("steps") && self.walk.kind(member.at) == Some(Kind::Array);
            let end = if is_steps { self.steps(member.at) } else { self.member(&member) };
            self.walk.wrote_member(&mut run, end);
        }
        self.walk.close_object(run)
    }

    fn steps(&mut self, at: usize) -> usize {
        let mut steps = self.walk.open_list(at);
        let mut index = 0;
        while let Some(at) = self.walk.next_element(&mut steps) {
            let kind = self.walk.kind(at).unwrap_or(Kind::Null);
            let (end, item, digest) = if kind == Kind::Object {
                self.step(at)
            } else {
                (self.element(at), Item::NotAnObject(kind), Ok(Digest::of(b"")))
            };
            self.walk.turn(true, false);
            (self.each)(index, item, digest);
            self.walk.wrote_element(&mut steps, end);
            index += 1;
        }
        self.walk.close_list(steps)
    }

    /// Writes an element that is no step.
    fn element(&mut self, at: usize) -> usize {
        if self.fault.is_some() {
            return self.walk.end_of(at);
        }
        self.walk.value(at).unwrap_or_else(|fault| self.void(fault, at))
    }

    fn step(&mut self, at: usize) -> (usize, Item<'a>, Result<Digest, CanonicalFault>) {
        let mut view = StepView::default();
        self.walk.stripped().clear();
        let end = if self.fault.is_some() {
            self.walk.end_of(at)
        } else {
            match self.write_step(at, &mut view) {
                Ok(end) if view.is_complete() => {
                    let digest = self.walk.stripped().finish();
                    return (end, Item::Step(view), Ok(digest));
                }
                Ok(end) => end,
                Err(fault) => self.void(fault, at),
            }
        };
        // Something is missing, or has no form: the hash may still stand, if it does not cover that.
        let view = self.walk.span(at, end).map(StepView::of).unwrap_or_default();
        let digest = view.digest(self.walk.stripped());
        (end, Item::Step(view), digest)
    }

    fn write_step(&mut self, at: usize, view: &mut StepView<'a>) -> Result<usize, CanonicalFault> {
        let walk = &mut self.walk;
        walk.turn(true, true);
        let mut step = walk.open_object(at);
        while let Some(member) = walk.next_member(&mut step) {
            let slot = view.slot(member.name);
            walk.turn(true, slot.as_ref().is_some_and(|(_, is_covered)| *is_covered));
            walk.write_name(&mut step, &member);
            let end = walk.member(&member)?;
            walk.wrote_member(&mut step, end);
            if let Some((slot, _)) = slot {
                *slot = walk.span(member.at, end);
            }
        }
        walk.turn(true, true);
        Ok(walk.close_object(step))
    }
}
