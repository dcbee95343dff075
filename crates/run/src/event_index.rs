//! Index of a run's events: where the parts of each event lie in the bytes, and which event is its partner.
//!
//! The payloads of a run may be gigabytes; the index is 32 bytes for each event. Readers push a
//! [`ScannedEvent`] for each event, and [`EventIndexBuilder`] pairs calls with their returns on the way. Start
//! reading at [`EventIndexBuilder::push`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use reenact_formats::rer::{Callee, EventType, Role};
use reenact_json::{Limits, Value};

/// Range of a run's bytes, below 4 GiB. An empty span means that there is no such part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ByteSpan {
    start: u32,
    length: u32,
}

impl ByteSpan {
    /// Returns the span of a value in the text that it was parsed from; empty if there is no value. The scanner
    /// refuses texts beyond 4 GiB.
    pub(crate) fn of(value: Option<Value<'_>>, bytes: &[u8]) -> Self {
        let range = value.and_then(|value| value.range_in(bytes));
        range.map_or(Self::default(), |range| Self::at(range.start, range.len()))
    }

    /// Returns the span of `length` bytes from `start`; empty if either is 4 GiB or more.
    pub(crate) fn at(start: usize, length: usize) -> Self {
        match (u32::try_from(start), u32::try_from(length)) {
            (Ok(start), Ok(length)) => Self { start, length },
            _ => Self::default(),
        }
    }

    /// Returns the span moved towards the end by a number of bytes. An empty span stays empty.
    pub(crate) fn shifted_forward(self, by: usize) -> Self {
        if self == Self::default() {
            self
        } else {
            Self::at((self.start as usize).saturating_add(by), self.length as usize)
        }
    }

    /// Returns the span moved towards the beginning by a number of bytes; empty if that is before the first
    /// byte.
    pub(crate) fn shifted_back(self, by: usize) -> Self {
        (self.start as usize)
            .checked_sub(by)
            .map_or(Self::default(), |start| Self::at(start, self.length as usize))
    }

    /// Returns the bytes of the span; none if it lies outside of `bytes`.
    pub(crate) fn bytes(self, bytes: &[u8]) -> &[u8] {
        let rest = bytes.get(self.start as usize..).unwrap_or_default();
        rest.get(..self.length as usize).unwrap_or_default()
    }

    /// Parses the JSON value at the span; `None` if there is none.
    pub(crate) fn value(self, bytes: &[u8]) -> Option<Value<'_>> {
        let limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };
        // An empty span is an empty text, which is no value.
        Value::parse(self.bytes(bytes), &limits).ok()
    }
}

/// Entry of one event: the spans of its parts, its type, and its partner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventEntry {
    /// Span of the event's name in its format.
    pub(crate) name: ByteSpan,
    pub(crate) time: ByteSpan,
    pub(crate) payload: ByteSpan,
    /// Index of the partner: of a call its return, of a return its call; of an event that is both, its own.
    /// [`Self::NO_PARTNER`] if there is none.
    partner: u32,
    pub(crate) kind: Option<EventType>,
    pub(crate) withheld: bool,
    /// True if the payload is in the run's payload format. In an imported run, that is every event but those
    /// that begin and end the record.
    pub(crate) in_payload_format: bool,
}

impl EventEntry {
    /// Value of `partner` for an event without one.
    const NO_PARTNER: u32 = u32::MAX;

    /// Returns the index of the partner.
    pub(crate) fn partner(&self) -> Option<usize> {
        (self.partner != Self::NO_PARTNER).then_some(self.partner as usize)
    }
}

/// Event as a reader finds it, before it is paired.
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
    /// Returns an event of which nothing is known, in the run's payload format.
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

/// Way in which the two ends of an action find each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// The event is not paired.
    None,
    /// Both ends have this name. A return pairs with the last call of its name.
    LastNamed(Vec<u8>),
    /// Both ends may have this name; an empty one is no name. Ends without a name pair in order, first call
    /// first.
    NamedOrInOrder(Vec<u8>),
    /// The event has no id. A return pairs with the only call that is open; if several are, or an end may be withheld, with none.
    Sole,
    /// The event is both ends of its action.
    Itself,
    /// The event is withheld, and its name with it. It still is an end: a later event must not pair in its
    /// place.
    Withheld(WithheldEnd),
}

/// Facts about a withheld event that its record still tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WithheldEnd {
    /// Kinds of actions that the event may be an end of.
    pub(crate) callees: &'static [Callee],
    /// True if several calls may have the same name, so that names alone pair nothing once the order is
    /// unknown.
    pub(crate) names_repeat: bool,
}

impl Pairing {
    /// Returns a pairing with the last call of a name, if the value is a string.
    pub(crate) fn last_named(name: Option<Value<'_>>) -> Self {
        name.and_then(|name| name.string_bytes())
            .map_or(Self::None, |name| Self::LastNamed(name.into_owned()))
    }
}

/// Builder of the index: takes events in order, and pairs each return with its call.
#[derive(Debug, Default)]
pub(crate) struct EventIndexBuilder {
    entries: Vec<EventEntry>,
    /// Calls without a return so far, by callee and name; calls without a name under the empty one.
    open: BTreeMap<(Callee, Vec<u8>), VecDeque<u32>>,
    /// Withheld call whose callee is not certain, while no other call is open.
    unplaced_call: Option<(u32, WithheldEnd)>,
    /// Callees of which an end is withheld, and with it any id.
    hidden_ends: BTreeSet<Callee>,
    /// Callees whose ends can no longer be paired by order; with `true`, nor by name.
    unordered: BTreeSet<(Callee, bool)>,
}

impl EventIndexBuilder {
    /// Appends an event, and pairs it with the open call that it returns from.
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
            (Some(Role::Call(callee)), Pairing::Sole) => {
                self.open.entry((callee, Vec::new())).or_default().push_back(at);
                None
            }
            (Some(Role::Return(callee)), Pairing::Sole) => self.take_sole(callee),
            (Some(Role::Call(callee) | Role::Return(callee)), Pairing::None) if withheld => {
                self.hidden_ends.insert(callee);
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

    /// Takes the only open call of a callee. If it is not certain, the calls without a name stay without an answer, so that later ones
    /// can be paired again.
    fn take_sole(&mut self, callee: Callee) -> Option<u32> {
        let mut open = self.open.range((callee, Vec::new())..).take_while(|((other, _), _)| *other == callee);
        let sole = match (open.next(), open.next()) {
            (Some((key, queue)), None) if queue.len() == 1 => Some(key.clone()),
            _ => None,
        };
        match sole.filter(|_| !self.hidden_ends.contains(&callee)) {
            Some(key) => self.take_open(key),
            None => {
                self.open.remove(&(callee, Vec::new()));
                None
            }
        }
    }

    /// Takes the first open call of a callee and name.
    fn take_open(&mut self, key: (Callee, Vec<u8>)) -> Option<u32> {
        let open = self.open.get_mut(&key)?;
        let call = open.pop_front();
        if open.is_empty() {
            self.open.remove(&key);
        }
        call
    }

    /// Takes the open call of a name, else the first that has no name. If a withheld call may be meant as well,
    /// nothing is taken: no answer is better than the answer to another request.
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

    /// Adds a withheld call. Where calls are paired by order alone it takes its place in the order; where it
    /// cannot be placed, the order is unknown from here on.
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

    /// Takes the call that a withheld return must belong to, if only one is open.
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

    /// Returns the keys of open calls of these callees, at most two of each: two are enough to know that the
    /// call is not certain.
    fn open_keys(&self, hidden: WithheldEnd) -> Vec<(Callee, Vec<u8>)> {
        let of = |action: Callee| {
            let keys = self.open.range((action, Vec::new())..).map(|(key, _)| key);
            keys.take_while(move |(other, _)| *other == action).take(2)
        };
        hidden.callees.iter().flat_map(|action| of(*action)).cloned().collect()
    }

    /// Marks all callees of a withheld event as unordered. Returns `None`, the partner of that event.
    fn mark_unordered(&mut self, hidden: WithheldEnd) -> Option<u32> {
        self.unplaced_call = None;
        for action in hidden.callees {
            self.mark_callee_unordered(*action, hidden.names_repeat);
        }
        None
    }

    /// Marks a callee: from here on its ends are not paired by order, and with `names`, nor by name.
    fn mark_callee_unordered(&mut self, action: Callee, names: bool) {
        if self.unordered.insert((action, names)) && names {
            self.open.retain(|(other, _), _| *other != action);
        }
        self.open.remove(&(action, Vec::new()));
    }

    /// Returns the entry of the last event.
    pub(crate) fn last(&self) -> Option<EventEntry> {
        self.entries.last().copied()
    }

    /// Returns the number of events so far.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the entries of all events.
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

    /// Returns the partners of some events.
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
        // A name counts before the order; a return of an unknown name takes the first call without a name.
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

    /// Returns the partners of events of which some are withheld: `C` and `R` call and return of a model, `T`
    /// and `t` of a tool, followed by a name, or by `?` if the event is withheld.
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
    fn ends_without_an_id_are_paired_only_when_certain() {
        const CALL: Option<EventType> = Some(EventType::ModelCalled);
        const RETURN: Option<EventType> = Some(EventType::ModelReturned);
        const TOOL: Option<EventType> = Some(EventType::ToolCalled);
        let (sole, last) = (Pairing::Sole, |name: &str| Pairing::LastNamed(name.as_bytes().to_vec()));
        assert_eq!(
            partners(&[
                (CALL, sole.clone()),
                (TOOL, sole.clone()),
                (RETURN, sole.clone()),
                (RETURN, sole.clone())
            ]),
            [Some(2), None, Some(0), None]
        );
        // Two are open: neither answer is given to either; the next call is paired again.
        assert_eq!(
            partners(&[
                (CALL, sole.clone()),
                (CALL, sole.clone()),
                (RETURN, sole.clone()),
                (RETURN, sole.clone()),
                (CALL, sole.clone()),
                (RETURN, sole.clone())
            ]),
            [None, None, None, None, Some(5), Some(4)]
        );
        assert_eq!(
            partners(&[(CALL, last("a")), (CALL, sole.clone()), (RETURN, sole.clone()), (RETURN, last("a"))]),
            [Some(3), None, None, Some(0)]
        );
        // The answer may be that of the withheld call.
        let mut index = EventIndexBuilder::default();
        for (kind, withheld) in [(CALL, false), (CALL, true), (RETURN, false)] {
            let pairing = if withheld { Pairing::None } else { sole.clone() };
            index.push(ScannedEvent { kind, pairing, withheld, ..ScannedEvent::unknown() });
        }
        assert!(index.finish().iter().all(|entry| entry.partner().is_none()));
    }

    #[test]
    fn what_is_withheld_keeps_its_place() {
        // A withheld return, a withheld call, and both.
        assert_eq!(redacted(&["C", "R?", "C", "R"]), [Some(1), Some(0), Some(3), Some(2)]);
        assert_eq!(redacted(&["C?", "R", "C", "R"]), [Some(1), Some(0), Some(3), Some(2)]);
        assert_eq!(redacted(&["C", "C", "R?", "R"]), [Some(2), Some(3), Some(0), Some(1)]);
        assert_eq!(redacted(&["C?", "C", "R", "R?"]), [Some(2), Some(3), Some(0), Some(1)]);
        // Names are paired, whatever is withheld between them.
        assert_eq!(redacted(&["Ca", "R?", "Cb", "Rb"]), [Some(1), Some(0), Some(3), Some(2)]);
        assert_eq!(redacted(&["Ca", "Cb", "R?", "Rb"]), [None, Some(3), None, Some(1)]);
        assert_eq!(redacted(&["Ca", "C?", "Rb", "Ra"]), [Some(3), None, None, Some(0)]);
        // A withheld tool call may be a call of a model.
        assert_eq!(redacted(&["T?", "R", "C", "R"]), [Some(1), Some(0), Some(3), Some(2)]);
        assert_eq!(redacted(&["C", "t?", "T", "t"]), [Some(1), Some(0), Some(3), Some(2)]);
        // If the call is not certain, nothing is paired from there on.
        assert_eq!(redacted(&["C", "Cb", "R?", "C", "R", "Rb"]), [None, Some(5), None, None, None, Some(1)]);
        assert_eq!(redacted(&["T?", "C", "R", "t"]), [None; 4]);
    }
}
