//! Groq: OpenAI's interfaces.

use super::{BaseVariable, VendorRow};
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
    origin: Some("https://api.groq.com"),
    base_path: "/openai/v1",
    version: "/openai/v1",
    path_prefixes: &["/openai/v1"],
    ..COMPATIBLE
};
