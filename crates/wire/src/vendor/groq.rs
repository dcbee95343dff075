//! Groq: OpenAI's interfaces.

use super::{BaseVariable, KeyAlphabet, KeyShape, VendorRow};
use crate::protocol::openai::COMPATIBLE;

/// Row of Groq in the table of vendors.
pub(crate) static VENDOR: VendorRow = VendorRow {
    name: "groq",
    name_words: &["groq"],
    base_variables: &[
        BaseVariable::without("GROQ_BASE_URL", "/openai/v1"),
        BaseVariable::base("GROQ_API_BASE"),
    ],
    key_variables: &["GROQ_API_KEY"],
    key_shapes: &[KeyShape { prefix: "gsk_", length: 52, alphabet: KeyAlphabet::Alphanumeric, end: "" }],
    origin: Some("https://api.groq.com"),
    base_path: "/openai/v1",
    version: "/openai/v1",
    path_prefixes: &["/openai/v1"],
    ..COMPATIBLE
};
