//! What an answer says, whichever vendor said it.

/// A model's answer, put together from a body or a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The model that the vendor says answered.
    pub model: Option<String>,
    /// The text, all of it in order.
    pub text: String,
    /// The tools that it asks for, in order.
    pub tool_calls: Vec<ToolCall>,
    /// What it took, as the vendor counts.
    pub usage: Option<Usage>,
    /// Why it ended, in the vendor's own word.
    pub stop_reason: Option<String>,
    /// What went wrong, in the vendor's own words.
    pub error: Option<VendorError>,
    /// Whether the answer was seen to its end.
    pub complete: bool,
}

/// A tool that a model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// By which the result will name it.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// Its input, as the JSON text that the model wrote; it may not be JSON.
    pub input: String,
}

/// A tool's result, as an agent hands it to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The call that it answers.
    pub id: String,
    /// What the tool said: text, or the JSON of what was handed over.
    pub output: String,
    /// Whether the agent says that it failed.
    pub is_error: bool,
}

/// Tokens, as the vendor counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Read, cached ones included where the vendor includes them.
    pub input_tokens: u64,
    /// Written.
    pub output_tokens: u64,
    /// Read from a cache.
    pub cached_input_tokens: u64,
    /// Written to a cache.
    pub cache_write_tokens: u64,
}

/// An error in a vendor's own shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorError {
    /// Its type, such as `rate_limit_error`.
    pub kind: String,
    /// Its text.
    pub message: String,
}
