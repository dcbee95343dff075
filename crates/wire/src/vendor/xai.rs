//! xAI: OpenAI's and Anthropic's interfaces.

use super::{BaseVariable, KeyAlphabet, KeyShape, VendorRow};
use crate::protocol::openai::COMPATIBLE;

/// Row of xAI in the table of vendors.
pub(crate) static VENDOR: VendorRow = VendorRow {
    name: "xai",
    name_words: &["api.x.ai", "xai"],
    base_variables: &[BaseVariable::base("XAI_API_BASE"), BaseVariable::base("XAI_HOST")],
    key_variables: &["XAI_API_KEY"],
    key_shapes: &[KeyShape { prefix: "xai-", length: 80, alphabet: KeyAlphabet::Alphanumeric, end: "" }],
    speaks: &["openai", "anthropic"],
    origin: Some("https://api.x.ai"),
    base_path: "/v1",
    version: "/v1",
    ..COMPATIBLE
};
