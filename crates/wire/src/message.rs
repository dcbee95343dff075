//! Answers, tool calls and token counts, in one form for all vendors.
//!
//! The parsers in [`crate::protocol`] produce these types, and [`crate::render`] writes them back. Start
//! reading at [`ModelAnswer`].

/// Answer of a model, parsed from a document or assembled from a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelAnswer {
    /// Model that answered, as the vendor names it.
    pub model: Option<String>,
    /// Text of the answer, all parts in order, without thoughts.
    pub text: String,
    /// Tool calls that the model asks for, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Tokens that the answer took, as the vendor counted them.
    pub usage: Option<Usage>,
    /// Reason for the end of the answer, in the vendor's own word.
    pub stop_reason: Option<String>,
    /// Error in the vendor's own words, if the answer reports one.
    pub error: Option<VendorError>,
    /// True if the answer was seen to its end.
    pub is_complete: bool,
}

impl ModelAnswer {
    /// Returns the bytes of text and tool calls, which the vendor wrote as tokens.
    pub fn text_bytes(&self) -> usize {
        self.tool_calls.iter().map(ToolCall::text_bytes).fold(self.text.len(), usize::saturating_add)
    }
}

/// Facts of an answer that its cost depends on, as far as the answer was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CostFacts<'a> {
    /// Model that answered, as the answer names it first.
    pub model: Option<&'a str>,
    /// Tokens that the vendor counted so far.
    pub usage: Option<Usage>,
    /// Bytes of text and tool calls; 0 for a document that has a usage, since no cost depends on them then.
    pub text_bytes: usize,
}

/// Call of a tool that a model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// Id by which the result names the call; empty if the vendor gives none.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Input as the JSON text that the model wrote. Models make mistakes, so the text may not be JSON.
    pub input: String,
}

impl ToolCall {
    /// Returns the bytes that the model wrote for the call.
    pub(crate) fn text_bytes(&self) -> usize {
        self.name.len().saturating_add(self.input.len())
    }
}

/// Result of a tool, as an agent hands it to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// Id of the call that the result answers; empty if it names none.
    pub id: String,
    /// Output of the tool: its text, or the JSON that was handed over.
    pub output: String,
    /// True if the agent says that the tool failed.
    pub is_error: bool,
}

/// Numbers of tokens, as the vendor counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens read. OpenAI and Gemini include those from a cache, Anthropic does not.
    pub input_tokens: u64,
    /// Tokens written, including thoughts.
    pub output_tokens: u64,
    /// Tokens read from a cache.
    pub cached_input_tokens: u64,
    /// Tokens written to a cache.
    pub cache_write_tokens: u64,
}

/// Error that a vendor reports in the body of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorError {
    /// Type of the error, such as `rate_limit_error`.
    pub kind: String,
    /// Text for people.
    pub message: String,
}
