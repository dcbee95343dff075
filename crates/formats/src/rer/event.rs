//! One event of the log (§4).

use reenact_json::canonical::{self, Part, Sink};
use reenact_json::digest::Hasher;
use reenact_json::scanner::OpenObject;
use reenact_json::{CanonicalFault, Digest, Jcs, Scanner, SyntaxError, Value};

use super::HashFault;

/// The members of an event as they stand, right or wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventView<'a> {
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
    /// `payload`; its absence and `null` hash alike.
    pub payload: Option<Value<'a>>,
    /// `payload_redacted`
    pub payload_redacted: Option<Value<'a>>,
    /// `payload_hash`
    pub payload_hash: Option<Value<'a>>,
    /// `event_hash`
    pub event_hash: Option<Value<'a>>,
    /// The first member name that the format does not know. Such members are covered by no hash.
    pub unknown: Option<Value<'a>>,
    /// Where the payload holds what a verifier asks for.
    notes: Notes,
}

/// The members of payloads that have a meaning for verification (§4.1, §8.4; the rest is opaque).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noted {
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

impl Noted {
    const COUNT: usize = 9;

    /// All of them.
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

/// Offsets into a payload, taken while it was scanned: looking for them again would mean another scan.
#[derive(Debug, Clone, Copy, Default)]
struct Notes {
    /// Zero: not there.
    at: [u32; Noted::COUNT],
    /// A name is spelled with escapes, so that only a full look can tell.
    odd: bool,
}

impl Notes {
    #[inline]
    fn note(&mut self, name: &[u8], escaped: bool, offset: usize) {
        self.odd |= escaped;
        if let Some(noted) = Noted::of_name(name) {
            self.at[noted as usize] = u32::try_from(offset).unwrap_or_default();
        }
    }
}

/// The members of an event as canonical text has them, one after the other. One that is not there is passed over.
struct Expected<'s, 'a> {
    scanner: &'s mut Scanner<'a>,
    object: &'s mut OpenObject,
}

impl<'a> Expected<'_, 'a> {
    #[inline(always)]
    fn take<const N: usize>(
        &mut self,
        member: &[u8; N],
        slot: &mut Option<Value<'a>>,
    ) -> Result<(), SyntaxError> {
        if self.scanner.takes(self.object, member) {
            *slot = Some(self.scanner.value()?);
        }
        Ok(())
    }
}

impl<'a> EventView<'a> {
    /// Reads the event object that comes next.
    pub(super) fn read(scanner: &mut Scanner<'a>) -> Result<Self, SyntaxError> {
        let mut view = Self::default();
        let mut object = scanner.enter_object()?;
        let mut members = Expected { scanner, object: &mut object };
        members.take(b"\"event_hash\":", &mut view.event_hash)?;
        members.take(b"\"event_type\":", &mut view.event_type)?;
        members.take(b"\"event_version\":", &mut view.event_version)?;
        members.take(b"\"parent_event_hash\":", &mut view.parent_event_hash)?;
        if scanner.takes(&mut object, b"\"payload\":") {
            view.read_payload(scanner)?;
        }
        let mut members = Expected { scanner, object: &mut object };
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
                    view.unknown.get_or_insert(name);
                }
            }
        }
        Ok(view)
    }

    #[inline]
    fn read_payload(&mut self, scanner: &mut Scanner<'a>) -> Result<(), SyntaxError> {
        let notes = &mut self.notes;
        let note = &mut |name: &[u8], escaped, offset| notes.note(name, escaped, offset);
        self.payload = Some(scanner.value_noting(note)?);
        Ok(())
    }

    /// The view of an event that was read on its own.
    pub fn of(event: Value<'a>) -> Self {
        let mut view = Self::default();
        for (name, value) in event.members() {
            match view.slot(name) {
                Some(slot) => *slot = Some(value),
                None => {
                    view.unknown.get_or_insert(name);
                }
            }
        }
        view.notes.odd = true;
        view
    }

    /// What the payload says under a name, unless it is withheld.
    pub fn noted(&self, noted: Noted) -> Option<Value<'a>> {
        let payload = self.payload.filter(|_| !self.is_redacted())?;
        if self.notes.odd {
            return payload.member(noted.name());
        }
        match self.notes.at[noted as usize] {
            0 => None,
            offset => payload.at(offset as usize),
        }
    }

    fn slot(&mut self, name: Value<'_>) -> Option<&mut Option<Value<'a>>> {
        name.read_string(|name| match name {
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

    /// Whether the payload is withheld. Only the literal `true` says so; anything else must show its payload.
    pub fn is_redacted(&self) -> bool {
        self.payload_redacted.and_then(|flag| flag.boolean()) == Some(true)
    }

    /// SHA-256 over the six members of the event header (§4.1), taken as carried.
    pub fn hash(&self, hasher: &mut Hasher) -> Result<Digest, HashFault> {
        hasher.clear();
        if self.put_header(hasher) {
            return Ok(hasher.finish());
        }
        hasher.clear();
        let of = |member, value: Option<Value<'a>>| match value {
            Some(value) => Ok((member, Part::Value(value))),
            None => Err(HashFault::Missing { member }),
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

    /// Puts the header together of members that are all canonical as they stand, as nearly all are: names and what is between
    /// them are then put at once. Says whether it could; if not, what was put is to be thrown away.
    fn put_header(&self, out: &mut impl Sink) -> bool {
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

    /// SHA-256 over the payload's canonical form. An event without data hashes `null` (§4.1).
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

    /// The canonical text of a header, which is what is hashed, by the way that all objects go.
    fn canonical_text(document: &str) -> Option<Vec<u8>> {
        let value = Value::parse(document.as_bytes(), &Limits::default()).unwrap();
        canonical::to_vec(value, Jcs).ok()
    }

    proptest! {
        /// However members are spelled and wherever they stand, the hash is that of their canonical text.
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
            let event = EventView::of(Value::parse(text.as_bytes(), &Limits::default()).unwrap());
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
            let event = EventView::of(Value::parse(text.as_bytes(), &Limits::default()).unwrap());
            assert_eq!(event.hash(&mut Hasher::new()), Err(HashFault::Missing { member: missing }));
        }
    }
}
