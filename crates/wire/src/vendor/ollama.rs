//! Ollama: OpenAI's and Anthropic's interfaces on this machine, and interfaces of its own, which are recorded as bytes.

use super::{BaseVariable, VendorRow};
use crate::protocol::openai::COMPATIBLE;

/// Row of Ollama in the table of vendors.
pub(crate) static VENDOR: VendorRow = VendorRow {
    name: "ollama",
    name_words: &["ollama", "localhost:11434", "127.0.0.1:11434"],
    base_variables: &[
        BaseVariable::base("OLLAMA_API_BASE"),
        BaseVariable::base("OLLAMA_BASE_URL"),
        BaseVariable::listen("OLLAMA_HOST", 11_434),
    ],
    key_variables: &["OLLAMA_API_KEY"],
    speaks: &["openai", "anthropic"],
    origin: Some("http://localhost:11434"),
    base_path: "",
    ..COMPATIBLE
};
