//! Lists of models: `GET /models` of all vendors, and `GET /models/{model}`.
//!
//! These requests call no model. The row exists so that they are told apart from requests to unknown
//! interfaces.

use reenact_json::Value;

use super::Protocol;
use super::reading::is_list;
use crate::exchange::ParsedRequest;
use crate::request_form::{Form, RequestForms};
use crate::vendor::Vendor;

/// Row of the lists of models.
pub(crate) struct ModelsProtocol;

impl Protocol for ModelsProtocol {
    fn name(&self) -> &'static str {
        "models"
    }

    fn vendor(&self) -> Option<Vendor> {
        None
    }

    fn method(&self) -> &'static str {
        "GET"
    }

    fn paths(&self) -> &'static [&'static str] {
        &["models", "models/*"]
    }

    fn calls_a_model(&self) -> bool {
        false
    }

    fn is_side_call(&self) -> bool {
        true
    }

    /// A list of models is asked for without a body.
    fn request_forms(&self) -> &'static RequestForms {
        static FORMS: RequestForms =
            RequestForms { body: Form::Object(&[]), tool: Form::Any, has_two_spellings: false };
        &FORMS
    }

    fn parse_request(&self, _path: &str, document: Value<'_>) -> ParsedRequest {
        ParsedRequest::from_document(document)
    }

    fn is_answer(&self, document: Value<'_>) -> bool {
        is_list(document, "data")
    }
}
