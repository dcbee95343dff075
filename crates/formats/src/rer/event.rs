//! One event of the log (§4).

use reenact_json::canonical::{self, Part};
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, Digest, Profile, Scanner, SyntaxError, Value};

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
}

impl<'a> EventView<'a> {
    /// Reads the event object that comes next.
    pub(super) fn read(scanner: &mut Scanner<'a>) -> Result<Self, SyntaxError> {
        let mut view = Self::default();
        let mut object = scanner.enter_object()?;
        while let Some(name) = scanner.next_name(&mut object)? {
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
        view
    }

    fn slot(&mut self, name: Value<'_>) -> Option<&mut Option<Value<'a>>> {
        match name.unescaped() {
            Some(name) => self.slot_of(name),
            None => self.slot_of(&name.string_bytes()?),
        }
    }

    #[inline]
    fn slot_of(&mut self, name: &[u8]) -> Option<&mut Option<Value<'a>>> {
        Some(match name {
            b"event_version" => &mut self.event_version,
            b"step_index" => &mut self.step_index,
            b"event_type" => &mut self.event_type,
            b"parent_event_hash" => &mut self.parent_event_hash,
            b"timestamp" => &mut self.timestamp,
            b"payload" => &mut self.payload,
            b"payload_redacted" => &mut self.payload_redacted,
            b"payload_hash" => &mut self.payload_hash,
            b"event_hash" => &mut self.event_hash,
            _ => return None,
        })
    }

    /// Whether the payload is withheld. Only the literal `true` says so; anything else must show its payload.
    pub fn is_redacted(&self) -> bool {
        self.payload_redacted.and_then(|flag| flag.boolean()) == Some(true)
    }

    /// SHA-256 over the six members of the event header (§4.1), taken as carried.
    pub fn hash(&self, hasher: &mut Hasher) -> Result<Digest, HashFault> {
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
        hasher.clear();
        canonical::write_object(&header, hasher)?;
        Ok(hasher.finish())
    }

    /// SHA-256 over the payload's canonical form. An event without data hashes `null` (§4.1).
    pub fn payload_digest(&self, hasher: &mut Hasher) -> Result<Digest, CanonicalFault> {
        match self.payload {
            Some(payload) => canonical::digest(payload, Profile::Jcs, hasher),
            None => Ok(Digest::of(b"null")),
        }
    }
}
