//! Ids for tool calls whose vendor gives none: by conversation, name and order.
//!
//! A call that a model makes and the same call in the history of the next request must get the same id, and calls of two
//! conversations that run at the same time must not. So an id is made of what begins the conversation, of the name of the tool, and
//! of the number of calls of that name before it.

use std::collections::BTreeMap;

use reenact_json::Digest;

use crate::message::ToolCall;

/// The calls of one conversation, counted by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallIds {
    /// The beginning of a digest of what begins the conversation.
    thread: String,
    counts: BTreeMap<String, usize>,
}

impl CallIds {
    /// For a conversation that begins so.
    pub fn of(beginning: &[u8]) -> Self {
        let thread = Digest::of(beginning).to_string().chars().take(12).collect();
        Self { thread, counts: BTreeMap::new() }
    }

    /// Counts the next calls of the conversation, and gives ids to those that have none.
    pub fn fill(&mut self, calls: &mut [ToolCall]) {
        for call in calls {
            let count = self.counts.entry(call.name.clone()).or_default();
            *count += 1;
            if call.id.is_empty() {
                call.id = format!("{}-{count}-{}", call.name, self.thread);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_conversation_name_and_order() {
        let call =
            |id: &str, name: &str| ToolCall { id: id.into(), name: name.into(), ..ToolCall::default() };
        let mut calls = [call("", "look"), call("own", "look"), call("", "pay"), call("", "look")];
        CallIds::of(b"a").fill(&mut calls);
        let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["look-1-ca978112ca1b", "own", "pay-1-ca978112ca1b", "look-3-ca978112ca1b",]);
    }
}
