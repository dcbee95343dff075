//! DeepSeek: OpenAI's interfaces, and below `/anthropic` Anthropic's.

use super::{BaseVariable, KeyAlphabet, KeyShape, VendorRow};
use crate::protocol::openai::COMPATIBLE;

/// Row of DeepSeek in the table of vendors.
pub(crate) static VENDOR: VendorRow = VendorRow {
    name: "deepseek",
    name_words: &["deepseek"],
    base_variables: &[BaseVariable::base("DEEPSEEK_API_BASE"), BaseVariable::base("DEEPSEEK_BASE_URL")],
    key_variables: &["DEEPSEEK_API_KEY"],
    key_shapes: &[KeyShape { prefix: "sk-", length: 32, alphabet: KeyAlphabet::Hex, end: "" }],
    speaks: &["openai", "anthropic"],
    origin: Some("https://api.deepseek.com"),
    base_path: "",
    path_prefixes: &["/v1", "/beta", "/anthropic", "/anthropic/v1"],
    ..COMPATIBLE
};
