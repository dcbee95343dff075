//! OpenRouter: OpenAI's and Anthropic's interfaces to models of many vendors.

use super::{BaseVariable, KeyAlphabet, KeyShape, VendorRow};
use crate::protocol::openai::COMPATIBLE;

/// Row of OpenRouter in the table of vendors.
pub(crate) static VENDOR: VendorRow = VendorRow {
    name: "openrouter",
    name_words: &["openrouter"],
    base_variables: &[
        BaseVariable::base("OPENROUTER_API_BASE"),
        BaseVariable::base("OPENROUTER_BASE_URL"),
        BaseVariable::without("OPENROUTER_HOST", "/api/v1"),
    ],
    key_variables: &["OPENROUTER_API_KEY"],
    key_shapes: &[KeyShape { prefix: "sk-or-v1-", length: 64, alphabet: KeyAlphabet::Hex, end: "" }],
    speaks: &["openai", "anthropic"],
    origin: Some("https://openrouter.ai"),
    base_path: "/api/v1",
    version: "/api/v1",
    path_prefixes: &["/api/v1"],
    ..COMPATIBLE
};
