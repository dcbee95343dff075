//! Google's Vertex AI: Gemini's interface, and Anthropic's with the model in the path.
//!
//! Paths are `/v1/projects/P/locations/L/publishers/google|anthropic/models/M:VERB`.

use super::{BaseVariable, VendorRow, path_without_query};
use crate::price::without_date;
use crate::protocol::gemini::{VENDOR as GEMINI, model_and_verb};

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
    model_without_edition: without_edition,
    model_in_path,
    prices: &[],
    ..GEMINI
};

/// Returns a model's name without its edition, as in `claude-sonnet-4-5@20250929` and `gemini-2.0-flash-001`.
fn without_edition(model: &str) -> Option<&str> {
    let undated = model.split_once('@').map(|(name, _)| name);
    undated.or_else(|| without_date(model)).or_else(|| (GEMINI.model_without_edition)(model))
}

/// Returns the model of `…/models/{model}:{verb}`. Anthropic's count of tokens stands there, too, and is none.
fn model_in_path(path: &str) -> Option<String> {
    let (model, _) = model_and_verb(path_without_query(path))?;
    (model != "count-tokens").then_some(model)
}
