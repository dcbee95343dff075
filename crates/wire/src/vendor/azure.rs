//! Azure OpenAI: OpenAI's interfaces at an address of one's own, with the model in the path as a deployment.

use super::{BaseVariable, KeyAlphabet, KeyShape, VendorRow};
use crate::protocol::openai::COMPATIBLE;

/// Row of Azure OpenAI in the table of vendors.
pub(crate) static VENDOR: VendorRow = VendorRow {
    name: "azure",
    name_words: &["openai.azure.com", "azure-openai", "azure_openai", "azure"],
    base_variables: &[BaseVariable::base("AZURE_OPENAI_ENDPOINT"), BaseVariable::base("AZURE_API_BASE")],
    key_variables: &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"],
    key_shapes: &[KeyShape { prefix: "", length: 32, alphabet: KeyAlphabet::Hex, end: "" }],
    // Every customer has an address of their own.
    origin: None,
    base_path: "",
    path_prefixes: &["/openai/deployments/*", "/openai/v1", "/openai", "/deployments/*"],
    ..COMPATIBLE
};
