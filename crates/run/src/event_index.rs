//! A few words for each event: where its parts lie in the bytes, and which event ends what it begins.
//!
//! All of a run's payloads may be gigabytes. The index is 32 bytes for each event.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use reenact_formats::rer::{Callee, EventType, Role};
use reenact_json::{Limits, Value};

/// A place in a run's bytes. Empty: nothing is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ByteSpan {
    start: u32,
    length: u32,
}

impl ByteSpan {
    /// Where a value lies in the text that it was read from. Texts beyond 4 GiB are refused by the scanner.
    pub(crate) fn of(value: Option<Value<'_>>, bytes: &[u8]) -> Self {
        let place = value.and_then(|value| value.range_in(bytes));
        place.map_or(Self::default(), |place| Self::at(place.start, place.len()))
    }

    /// The place of so many bytes; empty if it is beyond 4 GiB.
    pub(crate) fn at(start: usize, length: usize) -> Self {
        match (u32::try_from(start), u32::try_from(length)) {
            (Ok(start), Ok(length)) => Self { start, length },
            _ => Self::default(),
        }
    }

    /// The place so many bytes behind this one.
    pub(crate) fn shifted_forward(self, by: usize) -> Self {
        if self == Self::default() {
            self
        } else {
            Self::at((self.start as usize).saturating_add(by), self.length as usize)
        }
    }

    /// The place so many bytes before this one.
    pub(crate) fn shifted_back(self, by: usize) -> Self {
        (self.start as usize)
            .checked_sub(by)
            .map_or(Self::default(), |start| Self::at(start, self.length as usize))
    }

    /// The bytes there.
    pub(crate) fn bytes(self, bytes: &[u8]) -> &[u8] {
        let rest = bytes.get(self.start as usize..).unwrap_or_default();
        rest.get(..self.length as usize).unwrap_or_default()
    }

    /// The value there.
    pub(crate) fn value(self, bytes: &[u8]) -> Option<Value<'_>> {
        let limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };
        // An empty span is an empty text, which is no value.
        Value::parse(self.bytes(bytes), &limits).ok()
    }
}

/// What is kept of an event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventEntry {
    /// Its name in the format that it was read from.
    pub(crate) name: ByteSpan,
    pub(crate) time: ByteSpan,
    pub(crate) payload: ByteSpan,
    /// The event that belongs to this one: of a call its return, of a return its call; itself, if it is both.
    partner: u32,
    pub(crate) kind: Option<EventType>,
    pub(crate) withheld: bool,
    /// Whether the payload speaks the run's own dialect. In a run that was imported, all but the frame does.
    pub(crate) in_payload_format: bool,
}

impl EventEntry {
    const NO_PARTNER: u32 = u32::MAX;

    pub(crate) fn partner(&self) -> Option<usize> {
        (self.partner != Self::NO_PARTNER).then_some(self.partner as usize)
    }
}

/// What a reader finds of an event.
#[derive(Debug, Clone)]
pub(crate) struct ScannedEvent {
    pub(crate) kind: Option<EventType>,
    pub(crate) name: ByteSpan,
    pub(crate) time: ByteSpan,
    pub(crate) payload: ByteSpan,
    pub(crate) withheld: bool,
    pub(crate) in_payload_format: bool,
    pub(crate) pairing: Pairing,
}

impl ScannedEvent {
    /// Something of which nothing is known.
    pub(crate) fn unknown() -> Self {
        let none = ByteSpan::default();
        Self {
            kind: None,
            name: none,
            time: none,
            payload: none,
            withheld: false,
            in_payload_format: true,
            pairing: Pairing::None,
        }
    }
}

/// How the two ends of an action find each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// Not at all.
    None,
    /// By a name that both have; of several calls of one name the last one is meant.
    LastNamed(Vec<u8>),
    /// By a name if both have one, else in their order.
    NamedOrInOrder(Vec<u8>),
    /// The event is both ends.
    Itself,
    /// The event is withheld, and with it by which name. It is an end still: what comes after it must not take its place.
    Withheld(WithheldEnd),
}

/// What is known of an event that is withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WithheldEnd {
    /// What it may be an end of.
    pub(crate) callees: &'static [Callee],
    /// Whether several calls may have the same name, so that names alone find nothing once the order is lost.
    pub(crate) names_repeat: bool,
}

impl Pairing {
    /// The last one of a name, if there is a name.
    pub(crate) fn last_named(name: Option<Value<'_>>) -> Self {
        name.and_then(|name| name.string_bytes())
            .map_or(Self::None, |name| Self::LastNamed(name.into_owned()))
    }
}

/// The events of a run, in order.
#[derive(Debug, Default)]
pub(crate) struct EventIndexBuilder {
    entries: Vec<EventEntry>,
    open: BTreeMap<(Callee, Vec<u8>), VecDeque<u32>>,
    /// A call that is withheld, of which not even the action is sure.
    unplaced_call: Option<(u32, WithheldEnd)>,
    /// Of which actions it can no longer be told by the order what belongs together, and whether not by names either.
    unordered: BTreeSet<(Callee, bool)>,
}

impl EventIndexBuilder {
    /// Appends an event, and ties it to the one that it ends.
    pub(crate) fn push(&mut self, found: ScannedEvent) {
        let at = u32::try_from(self.entries.len()).unwrap_or(EventEntry::NO_PARTNER);
        let ScannedEvent { kind, name, time, payload, withheld, in_payload_format: foreign, pairing: tie } =
            found;
        let partner = match (kind.map(EventType::role), tie) {
            (Some(Role::Call(_) | Role::Return(_)), Pairing::Itself) => Some(at),
            (Some(Role::Call(callee)), Pairing::LastNamed(step)) => {
                self.open.insert((callee, step), VecDeque::from([at]));
                None
            }
            (Some(Role::Call(callee)), Pairing::NamedOrInOrder(step)) => {
                self.open.entry((callee, step)).or_default().push_back(at);
                None
            }
            (Some(Role::Call(_)), Pairing::Withheld(hidden)) => {
                self.open_withheld(at, hidden);
                None
            }
            (Some(Role::Return(callee)), Pairing::LastNamed(step)) => self.take_open((callee, step)),
            (Some(Role::Return(callee)), Pairing::NamedOrInOrder(step)) => {
                self.take_open_in_order(callee, step)
            }
            (Some(Role::Return(_)), Pairing::Withheld(hidden)) => self.close_withheld(hidden),
            _ => None,
        };
        if let Some(call) = partner
            && let Some(entry) = self.entries.get_mut(call as usize)
        {
            entry.partner = at;
        }
        let partner = partner.unwrap_or(EventEntry::NO_PARTNER);
        self.entries.push(EventEntry {
            name,
            time,
            payload,
            partner,
            kind,
            withheld,
            in_payload_format: foreign,
        });
    }

    /// Takes the first open one of a key.
    fn take_open(&mut self, key: (Callee, Vec<u8>)) -> Option<u32> {
        let open = self.open.get_mut(&key)?;
        let call = open.pop_front();
        if open.is_empty() {
            self.open.remove(&key);
        }
        call
    }

    /// Takes the open one of a name, else the first that has none. Where a withheld call may be meant as well, nothing is taken: no
    /// answer is better than one to another question.
    fn take_open_in_order(&mut self, action: Callee, step: Vec<u8>) -> Option<u32> {
        let floating = self.unplaced_call.filter(|(_, hidden)| hidden.callees.contains(&action));
        let key = (action, step);
        if self.unordered.contains(&(action, true)) {
            return None;
        }
        if self.open.contains_key(&key) && !key.1.is_empty() {
            return match floating {
                Some((_, hidden)) if hidden.names_repeat => self.mark_unordered(hidden),
                _ => self.take_open(key),
            };
        }
        if self.unordered.contains(&(action, false)) {
            return None;
        }
        let nameless = (action, Vec::new());
        let Some(queue) = self.open.get(&nameless) else {
            self.unplaced_call = self.unplaced_call.filter(|_| floating.is_none());
            return floating.map(|(at, _)| at);
        };
        if let Some((_, hidden)) = floating {
            return self.mark_unordered(hidden);
        }
        let is_hidden = |at: &u32| self.entries.get(*at as usize).is_some_and(|entry| entry.withheld);
        if !key.1.is_empty()
            && queue.len() > 1
            && (queue.front().is_some_and(is_hidden) || queue.back().is_some_and(is_hidden))
        {
            self.mark_callee_unordered(action, false);
            return None;
        }
        self.take_open(nameless)
    }

    /// A withheld call: one more in the order, where nothing but the order counts.
    fn open_withheld(&mut self, at: u32, hidden: WithheldEnd) {
        let open = self.open_keys(hidden);
        let has_names = open.iter().any(|(_, name)| !name.is_empty());
        match *hidden.callees {
            [action] if !hidden.names_repeat && !has_names && self.unplaced_call.is_none() => {
                self.open.entry((action, Vec::new())).or_default().push_back(at);
            }
            _ if open.is_empty() && self.unplaced_call.is_none() => self.unplaced_call = Some((at, hidden)),
            _ => {
                self.mark_unordered(hidden);
            }
        }
    }

    /// The call that a withheld end must belong to.
    fn close_withheld(&mut self, hidden: WithheldEnd) -> Option<u32> {
        let mut open = self.open_keys(hidden);
        match (open.len(), self.unplaced_call) {
            (0, Some((at, _))) => {
                self.unplaced_call = None;
                Some(at)
            }
            (1, None) => self.take_open(open.swap_remove(0)),
            (0, None) => None,
            _ => self.mark_unordered(hidden),
        }
    }

    /// The names under which something is open, at most two of each action: more are not needed to know that it is not one.
    fn open_keys(&self, hidden: WithheldEnd) -> Vec<(Callee, Vec<u8>)> {
        let of = |action: Callee| {
            let keys = self.open.range((action, Vec::new())..).map(|(key, _)| key);
            keys.take_while(move |(other, _)| *other == action).take(2)
        };
        hidden.callees.iter().flat_map(|action| of(*action)).cloned().collect()
    }

    /// From here on the order of these actions tells nothing.
    fn mark_unordered(&mut self, hidden: WithheldEnd) -> Option<u32> {
        self.unplaced_call = None;
        for action in hidden.callees {
            self.mark_callee_unordered(*action, hidden.names_repeat);
        }
        None
    }

    fn mark_callee_unordered(&mut self, action: Callee, names: bool) {
        if self.unordered.insert((action, names)) && names {
            self.open.retain(|(other, _), _| *other != action);
        }
        self.open.remove(&(action, Vec::new()));
    }

    /// How many there are so far.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries, when all are there.
    pub(crate) fn finish(mut self) -> Box<[EventEntry]> {
        self.entries.shrink_to_fit();
        self.entries.into_boxed_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_takes_no_more_than_32_bytes() {
        assert_eq!(size_of::<EventEntry>(), 32);
    }

    /// The partners of a few events.
    fn partners(events: &[(Option<EventType>, Pairing)]) -> Vec<Option<usize>> {
        let mut index = EventIndexBuilder::default();
        for (kind, tie) in events {
            index.push(ScannedEvent { kind: *kind, pairing: tie.clone(), ..ScannedEvent::unknown() });
        }
        index.finish().iter().map(EventEntry::partner).collect()
    }

    #[test]
    fn ends_find_their_beginnings() {
        const CALL: Option<EventType> = Some(EventType::ModelCalled);
        const RETURN: Option<EventType> = Some(EventType::ModelReturned);
        let in_order = |name: &str| Pairing::NamedOrInOrder(name.as_bytes().to_vec());
        assert_eq!(
            partners(&[
                (CALL, in_order("")),
                (CALL, in_order("")),
                (RETURN, in_order("")),
                (RETURN, in_order(""))
            ]),
            [Some(2), Some(3), Some(0), Some(1)]
        );
        // A name counts before the order; an end of a name that nobody has takes what has none.
        assert_eq!(
            partners(&[
                (CALL, in_order("")),
                (CALL, in_order("b")),
                (RETURN, in_order("b")),
                (RETURN, in_order("c"))
            ]),
            [Some(3), Some(2), Some(1), Some(0)]
        );
        let last = |name: &str| Pairing::LastNamed(name.as_bytes().to_vec());
        assert_eq!(
            partners(&[(CALL, last("s")), (CALL, last("s")), (RETURN, last("s")), (RETURN, last("s"))]),
            [None, Some(2), Some(1), None]
        );
        assert_eq!(partners(&[(CALL, Pairing::Itself), (RETURN, in_order(""))]), [Some(0), None]);
        assert_eq!(
            partners(&[(CALL, in_order("a")), (Some(EventType::ToolReturned), in_order("a"))]),
            [None, None]
        );
        assert_eq!(partners(&[(None, Pairing::Itself)]), [None]);
    }

    /// The partners of events of which some are withheld: `C` and `R` of a model, `T` and `t` of a tool, with a name; `?` for one that
    /// is withheld.
    fn redacted(events: &[&str]) -> Vec<Option<usize>> {
        let mut index = EventIndexBuilder::default();
        for event in events {
            let (what, name) = event.split_at(1);
            let (kind, actions): (_, &'static [Callee]) = match what {
                "C" => (Some(EventType::ModelCalled), &[Callee::Model]),
                "R" => (Some(EventType::ModelReturned), &[Callee::Model]),
                "T" => (Some(EventType::ToolCalled), &[Callee::Tool, Callee::Http, Callee::Model]),
                _ => (Some(EventType::ToolReturned), &[Callee::Tool, Callee::Http, Callee::Model]),
            };
            let withheld = name == "?";
            let tie = match withheld {
                true => Pairing::Withheld(WithheldEnd { callees: actions, names_repeat: false }),
                false => Pairing::NamedOrInOrder(name.as_bytes().to_vec()),
            };
            index.push(ScannedEvent { kind, pairing: tie, withheld, ..ScannedEvent::unknown() });
        }
        index.finish().iter().map(EventEntry::partner).collect()
    }

    #[test]
    fn what_is_withheld_keeps_its_place() {
        // A return, a call, and both of them.
        assert_eq!(redacted(&["C", "R?", "C", "R"]), [Some(1), Some(0), Some(3), Some(2)]);
        assert_eq!(redacted(&["C?", "R", "C", "R"]), [Some(1), Some(0), Some(3), Some(2)]);
        assert_eq!(redacted(&["C", "C", "R?", "R"]), [Some(2), Some(3), Some(0), Some(1)]);
        assert_eq!(redacted(&["C?", "C", "R", "R?"]), [Some(2), Some(3), Some(0), Some(1)]);
        // Names are found whatever is withheld between them.
        assert_eq!(redacted(&["Ca", "R?", "Cb", "Rb"]), [Some(1), Some(0), Some(3), Some(2)]);
        assert_eq!(redacted(&["Ca", "Cb", "R?", "Rb"]), [None, Some(3), None, Some(1)]);
        assert_eq!(redacted(&["Ca", "C?", "Rb", "Ra"]), [Some(3), None, None, Some(0)]);
        // A tool may be a call of a model.
        assert_eq!(redacted(&["T?", "R", "C", "R"]), [Some(1), Some(0), Some(3), Some(2)]);
        assert_eq!(redacted(&["C", "t?", "T", "t"]), [Some(1), Some(0), Some(3), Some(2)]);
        // Where it cannot be told, nothing is tied, then and later.
        assert_eq!(redacted(&["C", "Cb", "R?", "C", "R", "Rb"]), [None, Some(5), None, None, None, Some(1)]);
        assert_eq!(redacted(&["T?", "C", "R", "t"]), [None; 4]);
    }
}
