//! One event of the log (§4): its members and its hash.

use reenact_json::canonical::{self, ByteSink, ObjectPart};
use reenact_json::digest::Hasher;
use reenact_json::scanner::OpenObject;
use reenact_json::{CanonicalFault, Digest, Jcs, Scanner, SyntaxError, Value};

use super::RerHashFault;

/// Members of an event as they stand, right or wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct RerEventView<'a> {
    /// `event_version`
    pub event_version: Option<Value<'a>>,
    /// `step_index`
    pub step_index: Option<Value<'a>>,
    /// `event_type`
    pub event_type: Option<Value<'a>>,
    /// `parent_event_hash`
    pub parent_event_hash: Option<Value<'a>>,
    /// `timestamp`
    pub timestamp: Option<Value<'a>>,
    /// `payload`; an absent payload and `null` have the same hash.
    pub payload: Option<Value<'a>>,
    /// `payload_redacted`
    pub payload_redacted: Option<Value<'a>>,
    /// `payload_hash`
    pub payload_hash: Option<Value<'a>>,
    /// `event_hash`
    pub event_hash: Option<Value<'a>>,
    /// First member name that the format does not know. No hash covers such members.
    pub unknown_member: Option<Value<'a>>,
    /// Offsets of the payload members that a verifier asks for.
    payload_index: PayloadIndex,
}

/// Payload members with a meaning for verification (§4.1, §8.4; the rest is opaque).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexedMember {
    /// `model`
    Model,
    /// `tool`
    Tool,
    /// `step_id`
    StepId,
    /// `decision`
    Decision,
    /// `approval_id`
    ApprovalId,
    /// `token`
    Token,
    /// `spend_usd`
    SpendUsd,
    /// `total_spend_usd`
    TotalSpendUsd,
    /// `artifact_hash`
    ArtifactHash,
}

impl IndexedMember {
    const COUNT: usize = 9;

    /// Every member, in the order of the enum.
    #[cfg(test)]
    pub(super) const ALL: [Self; Self::COUNT] = [
        Self::Model,
        Self::Tool,
        Self::StepId,
        Self::Decision,
        Self::ApprovalId,
        Self::Token,
        Self::SpendUsd,
        Self::TotalSpendUsd,
        Self::ArtifactHash,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Tool => "tool",
            Self::StepId => "step_id",
            Self::Decision => "decision",
            Self::ApprovalId => "approval_id",
            Self::Token => "token",
            Self::SpendUsd => "spend_usd",
            Self::TotalSpendUsd => "total_spend_usd",
            Self::ArtifactHash => "artifact_hash",
        }
    }

    #[inline]
    fn of_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"model" => Self::Model,
            b"tool" => Self::Tool,
            b"step_id" => Self::StepId,
            b"decision" => Self::Decision,
            b"approval_id" => Self::ApprovalId,
            b"token" => Self::Token,
            b"spend_usd" => Self::SpendUsd,
            b"total_spend_usd" => Self::TotalSpendUsd,
            b"artifact_hash" => Self::ArtifactHash,
            _ => return None,
        })
    }
}

/// Offsets of members in a payload, noted while it was scanned: a later lookup would need another scan.
#[derive(Debug, Clone, Copy, Default)]
struct PayloadIndex {
    /// Offset of each member's value; 0 if the member is absent.
    offsets: [u32; IndexedMember::COUNT],
    /// True if a name is spelled with escapes, so that the offsets are incomplete and a full lookup must decide.
    has_escaped_name: bool,
}

impl PayloadIndex {
    #[inline]
    fn record(&mut self, name: &[u8], escaped: bool, offset: usize) {
        self.has_escaped_name |= escaped;
        if let Some(noted) = IndexedMember::of_name(name) {
            self.offsets[noted as usize] = u32::try_from(offset).unwrap_or_default();
        }
    }
}

/// Reads the members of an event in their canonical order. A member that is not next is skipped.
struct ExpectedMembers<'s, 'a> {
    scanner: &'s mut Scanner<'a>,
    object: &'s mut OpenObject,
}

impl<'a> ExpectedMembers<'_, 'a> {
    #[inline(always)]
    fn take<const N: usize>(
        &mut self,
        member: &[u8; N],
        slot: &mut Option<Value<'a>>,
    ) -> Result<(), SyntaxError> {
        if self.scanner.take_member_if_next(self.object, member) {
            *slot = Some(self.scanner.value()?);
        }
        Ok(())
    }
}

impl<'a> RerEventView<'a> {
    /// Reads the event object that comes next.
    pub(super) fn read(scanner: &mut Scanner<'a>) -> Result<Self, SyntaxError> {
        let mut view = Self::default();
        let mut object = scanner.enter_object()?;
        let mut members = ExpectedMembers { scanner, object: &mut object };
        members.take(b"\"event_hash\":", &mut view.event_hash)?;
        members.take(b"\"event_type\":", &mut view.event_type)?;
        members.take(b"\"event_version\":", &mut view.event_version)?;
        members.take(b"\"parent_event_hash\":", &mut view.parent_event_hash)?;
        if scanner.take_member_if_next(&mut object, b"\"payload\":") {
            view.read_payload(scanner)?;
        }
        let mut members = ExpectedMembers { scanner, object: &mut object };
        members.take(b"\"payload_hash\":", &mut view.payload_hash)?;
        members.take(b"\"payload_redacted\":", &mut view.payload_redacted)?;
        members.take(b"\"step_index\":", &mut view.step_index)?;
        members.take(b"\"timestamp\":", &mut view.timestamp)?;
        while let Some(name) = scanner.next_name(&mut object)? {
            if name.is_string("payload") {
                view.read_payload(scanner)?;
                continue;
            }
            let value = scanner.value()?;
            match view.slot(name) {
                Some(slot) => *slot = Some(value),
                None => {
                    view.unknown_member.get_or_insert(name);
                }
            }
        }
        Ok(view)
    }

    #[inline]
    fn read_payload(&mut self, scanner: &mut Scanner<'a>) -> Result<(), SyntaxError> {
        let notes = &mut self.payload_index;
        let note = &mut |name: &[u8], escaped, offset| notes.record(name, escaped, offset);
        self.payload = Some(scanner.value_visiting_members(note)?);
        Ok(())
    }

    /// Builds the view of an event that was parsed on its own.
    pub fn of(event: Value<'a>) -> Self {
        let mut view = Self::default();
        for (name, value) in event.members() {
            match view.slot(name) {
                Some(slot) => *slot = Some(value),
                None => {
                    view.unknown_member.get_or_insert(name);
                }
            }
        }
        view.payload_index.has_escaped_name = true;
        view
    }

    /// Returns a payload member, unless the payload is withheld.
    pub fn indexed_member(&self, noted: IndexedMember) -> Option<Value<'a>> {
        let payload = self.payload.filter(|_| !self.is_redacted())?;
        if self.payload_index.has_escaped_name {
            return payload.member(noted.name());
        }
        match self.payload_index.offsets[noted as usize] {
            0 => None,
            offset => payload.value_at(offset as usize),
        }
    }

    fn slot(&mut self, name: Value<'_>) -> Option<&mut Option<Value<'a>>> {
        name.with_string_bytes(|name| match name {
            b"event_version" => Some(&mut self.event_version),
            b"step_index" => Some(&mut self.step_index),
            b"event_type" => Some(&mut self.event_type),
            b"parent_event_hash" => Some(&mut self.parent_event_hash),
            b"timestamp" => Some(&mut self.timestamp),
            b"payload" => Some(&mut self.payload),
            b"payload_redacted" => Some(&mut self.payload_redacted),
            b"payload_hash" => Some(&mut self.payload_hash),
            b"event_hash" => Some(&mut self.event_hash),
            _ => None,
        })?
    }

    /// Returns true if the payload is withheld. Only the literal `true` says so; any other value must show its
    /// payload.
    pub fn is_redacted(&self) -> bool {
        self.payload_redacted.and_then(|flag| flag.boolean()) == Some(true)
    }

    /// Returns the SHA-256 of the six members of the event header (§4.1), as they are carried.
    ///
    /// # Errors
    ///
    /// [`RerHashFault`] if one of them is missing or has no canonical form.
    pub fn hash(&self, hasher: &mut Hasher) -> Result<Digest, RerHashFault> {
        hasher.clear();
        if self.put_canonical_header(hasher) {
            return Ok(hasher.finish());
        }
        hasher.clear();
        let of = |member, value: Option<Value<'a>>| match value {
            Some(value) => Ok((member, ObjectPart::Value(value))),
            None => Err(RerHashFault::Missing { member }),
        };
        let header = [
            of("event_type", self.event_type)?,
            of("event_version", self.event_version)?,
            of("parent_event_hash", self.parent_event_hash)?,
            of("payload_hash", self.payload_hash)?,
            of("step_index", self.step_index)?,
            of("timestamp", self.timestamp)?,
        ];
        canonical::write_object(&header, hasher)?;
        Ok(hasher.finish())
    }

    /// Writes the header from members that are all canonical as they stand, as nearly always; names and punctuation
    /// are then written as they are. Returns false if a member is missing or not canonical; the output must then be
    /// discarded.
    fn put_canonical_header(&self, out: &mut impl ByteSink) -> bool {
        let members: [(&[u8], _); 6] = [
            (b"{\"event_type\":", self.event_type),
            (b",\"event_version\":", self.event_version),
            (b",\"parent_event_hash\":", self.parent_event_hash),
            (b",\"payload_hash\":", self.payload_hash),
            (b",\"step_index\":", self.step_index),
            (b",\"timestamp\":", self.timestamp),
        ];
        for (name, value) in members {
            let Some(value) = value.filter(Value::is_canonical) else { return false };
            out.put(name);
            out.put(value.text());
        }
        out.put(b"}");
        true
    }

    /// Returns the SHA-256 of the payload's canonical form. An event without a payload hashes `null` (§4.1).
    ///
    /// # Errors
    ///
    /// [`CanonicalFault`] if the payload has no canonical form.
    pub fn payload_digest(&self, hasher: &mut Hasher) -> Result<Digest, CanonicalFault> {
        match self.payload {
            Some(payload) => canonical::digest(payload, Jcs, hasher),
            None => Ok(Digest::of(b"null")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use reenact_json::Limits;

    const NAMES: [&str; 6] =
        ["event_type", "event_version", "parent_event_hash", "payload_hash", "step_index", "timestamp"];

    /// Returns the canonical text of a header, which is what is hashed, by the general canonical writer.
    fn canonical_text(document: &str) -> Option<Vec<u8>> {
        let value = Value::parse(document.as_bytes(), &Limits::default()).unwrap();
        canonical::to_vec(value, Jcs).ok()
    }

    proptest! {
        /// The hash is that of the canonical text, however members are spelled and ordered.
        #[test]
        fn the_hash_is_that_of_the_canonical_header(
            values in prop::collection::vec(
                prop::sample::select(vec![
                    "\"a\"", "\"\\u0061\"", "null", "7", "7.0", "1e999", "[1, 2]", "{\"b\":1,\"a\":2}", "\"\u{20AC}\"", "true",
                ]),
                6,
            ),
            turn in 0..6_usize,
        ) {
            let mut members: Vec<String> =
                NAMES.iter().zip(&values).map(|(name, value)| format!("\"{name}\":{value}")).collect();
            let expected = canonical_text(&format!("{{{}}}", members.join(",")));
            members.rotate_left(turn);
            members.push("\"payload\":{}".into());
            let text = format!("{{{}}}", members.join(","));
            let event = RerEventView::of(Value::parse(text.as_bytes(), &Limits::default()).unwrap());
            let found = event.hash(&mut Hasher::new());
            prop_assert_eq!(found.ok(), expected.map(|text| Digest::of(&text)));
        }
    }

    #[test]
    fn a_header_with_a_member_missing_has_no_hash() {
        for missing in NAMES {
            let members: Vec<String> =
                NAMES.iter().filter(|name| **name != missing).map(|name| format!("\"{name}\":1")).collect();
            let text = format!("{{{}}}", members.join(","));
            let event = RerEventView::of(Value::parse(text.as_bytes(), &Limits::default()).unwrap());
            assert_eq!(event.hash(&mut Hasher::new()), Err(RerHashFault::Missing { member: missing }));
        }
    }
}
