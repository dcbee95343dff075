//! Mistral: OpenAI's interfaces, but for a few members.

use super::{BaseVariable, VendorRow};
use crate::protocol::openai::COMPATIBLE;

/// Row of Mistral in the table of vendors.
pub(crate) static VENDOR: VendorRow = VendorRow {
    name: "mistral",
    name_words: &["mistral"],
    base_variables: &[BaseVariable::base("MISTRAL_API_BASE"), BaseVariable::base("MISTRAL_BASE_URL")],
    key_variables: &["MISTRAL_API_KEY"],
    origin: Some("https://api.mistral.ai"),
    base_path: "/v1",
    version: "/v1",
    ..COMPATIBLE
};
