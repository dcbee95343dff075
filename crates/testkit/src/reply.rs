//! Replies of a model, independent of the vendor's format.
//!
//! Start reading at [`ScriptedReply::answer`], which renders a reply as the request wants it.

use reenact_wire::Usage;

use crate::answer::ScriptedAnswer;
use crate::failure::VendorFailure;
use crate::request::VendorRequest;
use crate::vendor_format;

/// Block of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyBlock {
    /// Reasoning. OpenAI's chat completions do not show it.
    Thinking(String),
    /// Text for the user.
    Text(String),
    /// Call of a tool.
    Call {
        /// Name of the tool.
        name: String,
        /// Input, as the text of a JSON object.
        input: String,
    },
}

/// Reply of a model to one request.
///
/// ```
/// use reenact_testkit::ScriptedReply;
///
/// let reply = ScriptedReply::thinking("I need the weather.")
///     .and_text("Let me look that up.")
///     .and_call("lookup", r#"{"city":"Vienna"}"#);
/// assert_eq!(reply.blocks.len(), 3);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScriptedReply {
    /// Blocks in order.
    pub blocks: Vec<ReplyBlock>,
    /// Texts of further choices, for a chat completion that asks for several. Past the last one,
    /// the first text repeats.
    pub other_choices: Vec<String>,
    /// Token counts; by default they are estimated from the number of bytes.
    pub usage: Option<Usage>,
    /// Stop reason in the vendor's own word; `None` means the ordinary one.
    pub stop_reason: Option<String>,
}

impl ScriptedReply {
    /// Creates a reply with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and_text(text)
    }

    /// Creates a reply that calls this tool; the input is JSON text.
    pub fn call(name: impl Into<String>, input: impl Into<String>) -> Self {
        Self::default().and_call(name, input)
    }

    /// Creates a reply that begins with this reasoning.
    pub fn thinking(thought: impl Into<String>) -> Self {
        Self { blocks: vec![ReplyBlock::Thinking(thought.into())], ..Self::default() }
    }

    /// Appends a text.
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(ReplyBlock::Text(text.into()));
        self
    }

    /// Appends a tool call; several calls of one reply run in parallel.
    pub fn and_call(mut self, name: impl Into<String>, input: impl Into<String>) -> Self {
        self.blocks.push(ReplyBlock::Call { name: name.into(), input: input.into() });
        self
    }

    /// Adds the text of one more choice, where several are asked for.
    pub fn or_text(mut self, text: impl Into<String>) -> Self {
        self.other_choices.push(text.into());
        self
    }

    /// Sets the token counts.
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Sets a stop reason other than the ordinary one, such as `length` or `max_tokens`.
    pub fn with_stop_reason(mut self, reason: impl Into<String>) -> Self {
        self.stop_reason = Some(reason.into());
        self
    }

    /// Renders the reply in the format that the request asks for, as a stream if it asks for one.
    ///
    /// A request that calls no model gets the vendor's answer to it: lists of models, counts of
    /// tokens, otherwise a 404.
    pub fn answer(&self, request: &VendorRequest) -> ScriptedAnswer {
        let of_model = request
            .endpoint()
            .and_then(|endpoint| vendor_format::format_of(request).answer(endpoint, self, request));
        let answer = of_model.or_else(|| vendor_format::catalogue(request));
        answer.unwrap_or_else(|| VendorFailure::not_found().answer(request))
    }

    /// Returns the text for the user, without reasoning.
    pub(crate) fn visible_text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            ReplyBlock::Text(text) => Some(text.as_str()),
            ReplyBlock::Thinking(_) | ReplyBlock::Call { .. } => None,
        });
        texts.collect()
    }

    /// Returns name and input of each tool call.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (&str, &str)> {
        self.blocks.iter().filter_map(|block| match block {
            ReplyBlock::Call { name, input } => Some((name.as_str(), input.as_str())),
            ReplyBlock::Thinking(_) | ReplyBlock::Text(_) => None,
        })
    }

    /// Returns the token counts: as given, otherwise one token for every four bytes.
    pub(crate) fn usage_or_estimate(&self, request: &VendorRequest) -> Usage {
        let tokens = |bytes: usize| (bytes / 4 + 1) as u64;
        let written = self.blocks.iter().map(|block| match block {
            ReplyBlock::Thinking(text) | ReplyBlock::Text(text) => text.len(),
            ReplyBlock::Call { name, input } => name.len() + input.len(),
        });
        self.usage.unwrap_or_else(|| Usage {
            input_tokens: tokens(request.body.len()),
            output_tokens: tokens(written.sum()),
            ..Usage::default()
        })
    }
}

/// Returns a readable text of exactly this many bytes, the same each time.
pub fn long_text(bytes: usize) -> String {
    const SENTENCE: &str = "The quick brown fox jumps over the lazy dog. ";
    let mut text = SENTENCE.repeat(bytes / SENTENCE.len() + 1);
    text.truncate(bytes);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_as_long_as_asked_for() {
        assert_eq!(long_text(5), "The q");
        assert_eq!(long_text(0), "");
        assert_eq!(long_text(5_000_000).len(), 5_000_000);
    }
}
