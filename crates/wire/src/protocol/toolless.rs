//! Interfaces whose answers ask for no tools: embeddings, reranking, counts of tokens, moderation, pictures, sound.
//!
//! They differ in a few facts, which are data: each is a [`ToollessProtocol`] in the folder of its vendor. Their answers are passed on as
//! they come, whatever they are; of those that are JSON the tokens are read.

use reenact_json::{Value, ValueKind};

use super::Protocol;
use super::reading::{count_at, vendor_error};
use crate::exchange::{ParsedRequest, models_of_parts, string_text};
use crate::message::{ModelAnswer, Usage};
use crate::output_bound::OutputBound;
use crate::request_form::RequestForms;
use crate::request_parts::RequestParts;
use crate::vendor::Vendor;

/// Row of an interface whose answers ask for no tools.
pub(crate) struct ToollessProtocol {
    /// Name in payloads.
    pub(crate) name: &'static str,
    /// Vendor whose interface it is.
    pub(crate) owner: Vendor,
    /// Templates of its paths.
    pub(crate) paths: &'static [&'static str],
    /// Forms that a request may hold; the members of the body are also the fields of a form in parts.
    pub(crate) forms: &'static RequestForms,
    /// True if requests may be forms in parts.
    pub(crate) takes_multipart: bool,
    /// Interface whose requests are counted; `None` for an interface that does not count tokens.
    pub(crate) counts: Option<&'static dyn Protocol>,
    /// Cost of a call.
    pub(crate) cost: ToollessCost,
    /// Reader of the tokens of an answer; `None` if answers are not read, because they are no JSON.
    pub(crate) usage: Option<fn(Value<'_>) -> Option<Usage>>,
}

/// Cost of a call whose answer asks for no tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToollessCost {
    /// Nothing at these vendors; elsewhere that of the tokens which the vendor counts.
    FreeAt(&'static [Vendor]),
    /// That of the tokens which the vendor counts.
    Tokens,
    /// One that no count of tokens tells, for this reason.
    Uncountable(&'static str),
}

impl Protocol for ToollessProtocol {
    fn name(&self) -> &'static str {
        self.name
    }

    fn vendor(&self) -> Option<Vendor> {
        Some(self.owner)
    }

    fn paths(&self) -> &'static [&'static str] {
        self.paths
    }

    fn can_ask_for_tools(&self) -> bool {
        false
    }

    fn is_free_at(&self, vendor: Vendor) -> bool {
        matches!(self.cost, ToollessCost::FreeAt(vendors) if vendors.contains(&vendor))
    }

    fn is_answer_read(&self) -> bool {
        self.usage.is_some()
    }

    fn takes_multipart(&self) -> bool {
        self.takes_multipart
    }

    fn request_forms(&self) -> &'static RequestForms {
        self.forms
    }

    /// Reads the model of the path, or else of the body; the parts of a batch may name others.
    fn parse_request(&self, path: &str, document: Value<'_>) -> ParsedRequest {
        let plain = ParsedRequest::from_document(document);
        let named = plain.model.clone();
        let mut request = ParsedRequest { model: self.owner.model_in_path(path).or(plain.model), ..plain };
        request.add_models(named.into_iter().chain(models_of_parts(document)));
        request
    }

    fn output_bound(&self, _document: Value<'_>) -> OutputBound {
        match self.cost {
            ToollessCost::Uncountable(reason) => OutputBound::default().uncountable_if(true, reason),
            ToollessCost::FreeAt(_) | ToollessCost::Tokens => OutputBound::default(),
        }
    }

    fn parse_answer(&self, document: Value<'_>) -> Option<ModelAnswer> {
        let usage = self.usage?;
        Some(ModelAnswer {
            model: string_text(document.member("model")),
            usage: usage(document),
            error: vendor_error(document),
            is_complete: true,
            ..ModelAnswer::default()
        })
    }

    fn is_answer(&self, _document: Value<'_>) -> bool {
        false
    }

    fn request_parts<'d>(&self, document: Value<'d>) -> RequestParts<'d> {
        self.counts.map(|counted| counted.request_parts(document)).unwrap_or_default()
    }

    fn varying_members(&self) -> &'static [&'static str] {
        self.counts.map(|counted| counted.varying_members()).unwrap_or_default()
    }

    fn is_side_call(&self) -> bool {
        self.counts.is_some()
    }

    fn cassette_kind(&self) -> &'static str {
        "other"
    }
}

/// Returns the tokens that were read, by any of the names that vendors have for them; `None` if there is no such count.
pub(crate) fn input_usage(document: Value<'_>) -> Option<Usage> {
    let usage = document.member("usage").filter(|usage| usage.kind() == ValueKind::Object)?;
    let names = ["prompt_tokens", "input_tokens", "total_tokens"];
    let found = names.into_iter().find(|name| usage.member(name).is_some())?;
    Some(Usage { input_tokens: count_at(usage, &[found]), ..Usage::default() })
}

/// Returns no tokens: for answers that are read for nothing else, or are free.
pub(crate) fn no_usage(_document: Value<'_>) -> Option<Usage> {
    None
}
