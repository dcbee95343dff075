//! What the model says, whichever vendor's format it is said in.

use reenact_wire::Usage;

use crate::answer::Answer;
use crate::failure::Failure;
use crate::request::Request;
use crate::shape;

/// A part of what the model says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// What it thought. OpenAI's chat completions do not show it.
    Thinking(String),
    /// What it says.
    Text(String),
    /// A tool that it asks for; the input is JSON text.
    Call {
        /// Which tool.
        name: String,
        /// A JSON object.
        input: String,
    },
}

/// What the model says to one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// In order.
    pub blocks: Vec<Block>,
    /// Texts of further choices, for a chat completion that asks for several; past the last one the first text repeats.
    pub others: Vec<String>,
    /// What it took; by default a count that follows from the bytes.
    pub usage: Option<Usage>,
    /// Why it ended, in the vendor's own word, if not for the ordinary reason.
    pub stop_reason: Option<String>,
}

impl Reply {
    /// Says this.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and_text(text)
    }

    /// Asks for this tool; the input is JSON text.
    pub fn call(name: impl Into<String>, input: impl Into<String>) -> Self {
        Self::default().and_call(name, input)
    }

    /// Thinks this first.
    pub fn thinking(thought: impl Into<String>) -> Self {
        Self { blocks: vec![Block::Thinking(thought.into())], ..Self::default() }
    }

    /// Says this too.
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Text(text.into()));
        self
    }

    /// Asks for this tool too, at the same time.
    pub fn and_call(mut self, name: impl Into<String>, input: impl Into<String>) -> Self {
        self.blocks.push(Block::Call { name: name.into(), input: input.into() });
        self
    }

    /// Says this in the next choice, where several are asked for.
    pub fn or_text(mut self, text: impl Into<String>) -> Self {
        self.others.push(text.into());
        self
    }

    /// Took this much.
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Ended for another reason than the ordinary one, such as `length` or `max_tokens`.
    pub fn stopping(mut self, reason: impl Into<String>) -> Self {
        self.stop_reason = Some(reason.into());
        self
    }

    /// The answer in the format that the request asks for, as a stream if it asks for one. A request that asks no model gets
    /// what a vendor says to it: lists of models, counts of tokens, else that there is no such thing.
    pub fn answer(&self, request: &Request) -> Answer {
        let of_model =
            request.endpoint().and_then(|endpoint| shape::of(request).answer(endpoint, self, request));
        let answer = of_model.or_else(|| shape::catalogue(request));
        answer.unwrap_or_else(|| Failure::not_found().answer(request))
    }

    /// All that it says, without thoughts.
    pub(crate) fn said(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            Block::Thinking(_) | Block::Call { .. } => None,
        });
        texts.collect()
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = (&str, &str)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call { name, input } => Some((name.as_str(), input.as_str())),
            Block::Thinking(_) | Block::Text(_) => None,
        })
    }

    /// What it took: as given, else a token for every four bytes, as a rule of thumb has it.
    pub(crate) fn tokens(&self, request: &Request) -> Usage {
        let tokens = |bytes: usize| (bytes / 4 + 1) as u64;
        let written = self.blocks.iter().map(|block| match block {
            Block::Thinking(text) | Block::Text(text) => text.len(),
            Block::Call { name, input } => name.len() + input.len(),
        });
        self.usage.unwrap_or_else(|| Usage {
            input_tokens: tokens(request.body.len()),
            output_tokens: tokens(written.sum()),
            ..Usage::default()
        })
    }
}

/// A readable text of exactly this many bytes, the same each time.
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
