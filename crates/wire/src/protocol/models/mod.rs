//! Lists of models: `GET /models`, of all vendors. They call no model, and are told apart from what is not known.

use reenact_json::Value;

use super::Protocol;
use super::reading::is_list;
use crate::exchange::Request;
use crate::vendor::Vendor;

pub(crate) struct Models;

impl Protocol for Models {
    fn name(&self) -> &'static str {
        "models"
    }

    fn vendor(&self) -> Option<Vendor> {
        None
    }

    fn fits(&self, method: &str, path: &str) -> bool {
        method == "GET" && super::ends(path, "models")
    }

    fn calls_a_model(&self) -> bool {
        false
    }

    fn request(&self, _path: &str, document: Value<'_>) -> Request {
        Request::plain(document)
    }

    fn is_answer(&self, document: Value<'_>) -> bool {
        is_list(document, "data")
    }
}
