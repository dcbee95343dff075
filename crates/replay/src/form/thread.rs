//! Threads: conversations whose requests extend one another.
//!
//! A request extends another if its messages begin with all messages of the other. So a request has a place: the request that it
//! extends, and its number of messages. Start reading at [`ThreadIndex`].

use std::collections::HashMap;

use reenact_json::Digest;

use super::RequestForm;

/// Requests by their conversations.
#[derive(Debug, Default)]
pub(crate) struct ThreadIndex {
    /// Index of the exchange whose request was the last with just these messages to this destination.
    by_conversation: HashMap<Digest, usize>,
}

/// Place of a request in its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadPlace {
    /// Exchange whose request this one extends; `None` for the first of a thread.
    pub(crate) extends: Option<usize>,
    /// Number of messages.
    pub(crate) messages: usize,
    /// Destination and model.
    pub(crate) destination: Digest,
}

impl ThreadIndex {
    /// Returns the place of a request among those that were added so far.
    pub(crate) fn place(&self, form: &RequestForm) -> ThreadPlace {
        let prefixes = prefixes(form);
        let shorter = prefixes.iter().rev().skip(1);
        let extends = shorter.filter_map(|prefix| self.by_conversation.get(prefix)).next().copied();
        ThreadPlace { extends, messages: prefixes.len(), destination: form.destination }
    }

    /// Adds the request of an exchange.
    pub(crate) fn add(&mut self, form: &RequestForm, at: usize) {
        if let Some(whole) = prefixes(form).last() {
            self.by_conversation.insert(*whole, at);
        }
    }
}

/// Returns a digest for each beginning of a conversation, the shortest first; each depends on the destination.
fn prefixes(form: &RequestForm) -> Vec<Digest> {
    let mut before = form.destination;
    let next = form.messages.iter().map(|message| {
        before = Digest::of(&[*before.as_bytes(), *message.as_bytes()].concat());
        before
    });
    next.collect()
}
