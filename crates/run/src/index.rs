//! A few words for each event: where its parts lie in the bytes, and which event ends what it begins.
//!
//! All of a run's payloads may be gigabytes. The index is 32 bytes for each event.

use std::collections::HashMap;

use reenact_json::{Limits, Value};

use crate::kind::{Action, Kind};

/// A place in a run's bytes. Empty: nothing is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    start: u32,
    length: u32,
}

impl Span {
    /// Where a value lies in the text that it was read from. Texts beyond 4 GiB are refused by the scanner.
    pub(crate) fn of(value: Option<Value<'_>>, bytes: &[u8]) -> Self {
        let Some(value) = value else { return Self::default() };
        let start = value.text().as_ptr().addr().checked_sub(bytes.as_ptr().addr());
        let start = start.and_then(|start| u32::try_from(start).ok());
        match (start, u32::try_from(value.text().len())) {
            (Some(start), Ok(length)) => Self { start, length },
            _ => Self::default(),
        }
    }

    /// The value there.
    pub(crate) fn value(self, bytes: &[u8]) -> Option<Value<'_>> {
        let text = bytes.get(self.start as usize..)?.get(..self.length as usize)?;
        let limits = Limits { depth: Limits::DEEPEST, bytes: Limits::LARGEST };
        // An empty span is an empty text, which is no value.
        Value::parse(text, &limits).ok()
    }
}

/// What is kept of an event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// Its name in the format that it was read from.
    pub(crate) name: Span,
    pub(crate) time: Span,
    pub(crate) payload: Span,
    /// The event that belongs to this one: of a call its return, of a return its call.
    partner: u32,
    pub(crate) kind: Kind,
    pub(crate) withheld: bool,
}

impl Entry {
    const ALONE: u32 = u32::MAX;

    pub(crate) fn partner(&self) -> Option<usize> {
        (self.partner != Self::ALONE).then_some(self.partner as usize)
    }
}

/// The events of a run, in order.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) entries: Vec<Entry>,
    open: HashMap<(Action, Vec<u8>), u32>,
}

impl Index {
    /// Appends an event. One that ends an action is tied to the last open one of its kind and step.
    pub(crate) fn push(
        &mut self,
        kind: Kind,
        [name, time, payload]: [Span; 3],
        withheld: bool,
        step: Option<Value<'_>>,
    ) {
        let at = u32::try_from(self.entries.len()).unwrap_or(Entry::ALONE);
        let mut partner = Entry::ALONE;
        if let (Some((action, begins)), Some(step)) =
            (kind.action(), step.and_then(|step| step.string_bytes()))
        {
            let key = (action, step.into_owned());
            if begins {
                self.open.insert(key, at);
            } else if let Some(call) = self.open.remove(&key)
                && let Some(entry) = self.entries.get_mut(call as usize)
            {
                entry.partner = at;
                partner = call;
            }
        }
        self.entries.push(Entry { name, time, payload, partner, kind, withheld });
    }

    /// The entries, when all are there.
    pub(crate) fn finish(mut self) -> Box<[Entry]> {
        self.entries.shrink_to_fit();
        self.entries.into_boxed_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_takes_no_more_than_32_bytes() {
        assert_eq!(size_of::<Entry>(), 32);
    }
}
