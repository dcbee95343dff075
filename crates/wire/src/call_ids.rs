//! Ids for tool calls whose vendor gives none: conversation, tool name and a count.
//!
//! A call in an answer and the same call in the history of the next request must get the same id, and calls of
//! two conversations that run in parallel must get different ones. So an id consists of a digest of the
//! conversation's first message, the name of the tool, and the number of earlier calls with that name. Start
//! reading at [`CallIds::fill`].

use std::collections::BTreeMap;

use reenact_json::{Digest, Jcs, Value, canonical};

use crate::message::ToolCall;

/// Generator of call ids for one conversation; counts the calls by tool name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallIds {
    /// First 12 hexadecimal digits of the digest of the conversation's beginning.
    conversation_digest: String,
    counts: BTreeMap<String, usize>,
}

impl CallIds {
    /// Makes the generator of the conversation whose first message is `beginning`.
    pub fn of(beginning: &[u8]) -> Self {
        let conversation_digest = Digest::of(beginning).to_string().chars().take(12).collect();
        Self { conversation_digest, counts: BTreeMap::new() }
    }

    /// Makes the generator of the conversation that begins with this message, in whatever way the message is spelled. All
    /// requests of one conversation begin with it.
    pub(crate) fn of_message(message: Value<'_>) -> Self {
        Self::of(&canonical::to_vec(message, Jcs).unwrap_or_else(|_| message.text().to_vec()))
    }

    /// Counts the next calls of the conversation, and sets the id of those that have none to
    /// `{name}-{count}-{conversation}`.
    pub fn fill(&mut self, calls: &mut [ToolCall]) {
        for call in calls {
            let count = self.counts.entry(call.name.clone()).or_default();
            *count += 1;
            if call.id.is_empty() {
                call.id = format!("{}-{count}-{}", call.name, self.conversation_digest);
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
