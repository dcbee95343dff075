//! Google's Vertex AI: Gemini's interface, and Anthropic's with the model in the path.
//!
//! Paths are `/v1/projects/P/locations/L/publishers/google|anthropic/models/M:VERB`.

use super::{BaseVariable, VendorRow};
use crate::protocol::gemini::VENDOR as GEMINI;

/// Row of Vertex AI in the table of vendors.
pub(crate) static VENDOR: VendorRow = VendorRow {
    name: "vertex",
    name_words: &["aiplatform.googleapis", "vertex"],
    // Not `VERTEXAI_API_BASE`: LiteLLM leaves out project and model if the address in it has a path.
    base_variables: &[
        BaseVariable::base("GOOGLE_VERTEX_BASE_URL"),
        BaseVariable::with("ANTHROPIC_VERTEX_BASE_URL", "/v1"),
    ],
    // Clients log in to Google.
    key_variables: &[],
    speaks: &["gemini", "anthropic"],
    // Every region has an address of its own.
    origin: None,
    version: "",
    path_prefixes: &[
        "/v1/projects/*/locations/*/publishers/google",
        "/v1beta1/projects/*/locations/*/publishers/google",
        "/v1beta1/publishers/google",
        "/v1/projects/*/locations/*",
        "/v1beta1/projects/*/locations/*",
    ],
    prices: &[],
    ..GEMINI
};
