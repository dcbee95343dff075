//! The table of vendors: who serves models, where, and what all interfaces of one vendor have in common.
//!
//! A row lives with the vendor's interfaces in [`crate::protocol`]; the table here is the one line that names it. Start with
//! `VendorRow`.

use core::fmt;

use crate::message::Usage;
use crate::price::Listed;
use crate::protocol::{anthropic, gemini, openai};
use crate::refusal::Refusal;

/// All vendors whose interfaces are read.
pub const VENDORS: [Vendor; 3] = [Vendor::OPENAI, Vendor::ANTHROPIC, Vendor::GEMINI];

impl Vendor {
    /// OpenAI, and everyone who speaks its interface.
    pub const OPENAI: Self = Self(&openai::VENDOR);
    /// Anthropic.
    pub const ANTHROPIC: Self = Self(&anthropic::VENDOR);
    /// Google's Gemini API.
    pub const GEMINI: Self = Self(&gemini::VENDOR);
}

/// A vendor: a reference to its row.
#[derive(Clone, Copy)]
pub struct Vendor(pub(crate) &'static VendorRow);

/// Everything that depends on the vendor, and not on one of its interfaces.
pub(crate) struct VendorRow {
    /// The name that payloads carry and that the command line takes.
    pub(crate) name: &'static str,
    /// Words by which a host name, or a name that others give their provider, tells that it is this vendor.
    pub(crate) marks: &'static [&'static str],
    /// Variables that clients read the base address from. The first is what current clients read, the others are older names.
    pub(crate) base_variables: &'static [&'static str],
    /// Variables that clients read the credential from. One is enough; the first is preferred.
    pub(crate) key_variables: &'static [&'static str],
    /// The vendor's own address, without a path.
    pub(crate) origin: &'static str,
    /// The path that a base address has beyond the origin; empty, or with a slash before it.
    pub(crate) base_path: &'static str,
    /// Request headers that change what is answered, and so are part of a match key.
    pub(crate) headers: &'static [&'static str],
    /// Segments of paths that call no model, whatever is sent there: files, caches.
    pub(crate) without_models: &'static [&'static str],
    /// Ends of paths that take a `POST`, are read by no interface of the table, and can ask for no tools.
    pub(crate) without_tools: &'static [&'static str],
    /// Segments of paths behind which answers of models are kept, to be fetched later.
    pub(crate) kept_answers: &'static [&'static str],
    /// Returns the name that a price list has for an edition of a model; `None` if the name names no edition.
    pub(crate) unedited: fn(model: &str) -> Option<&str>,
    /// List prices.
    pub(crate) prices: &'static [Listed],
    /// True if tokens from a cache are counted among the input tokens, false if they are counted beside them.
    pub(crate) counts_cached_as_input: bool,
    /// Reads the model that a path names; `None` where bodies name it.
    pub(crate) model_in_path: fn(path: &str) -> Option<String>,
    /// Writes the body of an error.
    pub(crate) error_body: fn(&Refusal<'_>) -> String,
    /// Returns the status of a denial that [`VendorRow::error_body`] wrote, given the document's `error`.
    pub(crate) denied_status: fn(error: reenact_json::Value<'_>) -> Option<u16>,
}

impl Vendor {
    /// The vendor of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        VENDORS.into_iter().find(|vendor| vendor.name() == name)
    }

    /// The vendor that a host name, or the name of a provider in someone else's record, speaks of.
    pub fn of_mark(text: &str) -> Option<Self> {
        VENDORS.into_iter().find(|vendor| vendor.0.marks.iter().any(|mark| text.contains(mark)))
    }

    /// The vendor of a route. Routes of other names speak OpenAI's interface, as most others do.
    pub fn of_route(name: &str) -> Self {
        Self::of_name(name).unwrap_or(Self::OPENAI)
    }

    /// The name that payloads carry.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Variables that clients read the base address from, the current name first.
    pub fn base_variables(self) -> &'static [&'static str] {
        self.0.base_variables
    }

    /// Variables that clients read the credential from, the preferred name first.
    pub fn key_variables(self) -> &'static [&'static str] {
        self.0.key_variables
    }

    /// The vendor's own address, without a path.
    pub fn origin(self) -> &'static str {
        self.0.origin
    }

    /// The path that a base address has beyond the origin; empty, or with a slash before it.
    pub fn base_path(self) -> &'static str {
        self.0.base_path
    }

    /// The base address that clients have by default.
    pub fn base_url(self) -> String {
        format!("{}{}", self.0.origin, self.0.base_path)
    }

    /// Returns true if a request calls a model, as far as method and path tell: whatever changes something does, but for what a
    /// vendor only keeps.
    pub fn calls_a_model(self, method: &str, path: &str) -> bool {
        let is_kept = |segment: &str| self.0.without_models.contains(&segment);
        !matches!(method, "GET" | "HEAD" | "OPTIONS") && !route(path).split('/').any(is_kept)
    }

    /// Returns true if a `POST` to this path can ask for no tools, though no interface of the table reads it: embeddings, counts.
    pub fn is_without_tools(self, path: &str) -> bool {
        let path = route(path);
        self.0.without_tools.iter().any(|end| path.ends_with(end))
    }

    /// Input tokens that are charged at the full price.
    pub(crate) fn uncached_input(self, usage: &Usage) -> u64 {
        if self.0.counts_cached_as_input {
            usage.input_tokens.saturating_sub(usage.cached_input_tokens)
        } else {
            usage.input_tokens
        }
    }
}

/// Returns true if a path leads to answers that some vendor keeps, or is spelled so that it may: what was held back could be
/// fetched there.
pub fn fetches_answers(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let is_kept = |segment: &str| {
        let mut kept = VENDORS.iter().flat_map(|vendor| vendor.0.kept_answers);
        kept.any(|kept| kept.eq_ignore_ascii_case(segment))
    };
    path.contains('%') || path.split('/').any(is_kept)
}

/// A path without its query and without slashes at its end.
pub(crate) fn route(path: &str) -> &str {
    path.split('?').next().unwrap_or(path).trim_end_matches('/')
}

impl PartialEq for Vendor {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Vendor {}

impl core::hash::Hash for Vendor {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Vendor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Vendor({})", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_again() {
        for vendor in VENDORS {
            assert_eq!(Vendor::of_name(vendor.name()), Some(vendor));
            assert_eq!(Vendor::of_mark(vendor.origin()), Some(vendor));
        }
        assert_eq!(Vendor::of_name("OpenAI"), None);
        assert_eq!(Vendor::of_mark("azure-openai"), Some(Vendor::OPENAI));
        assert_eq!(Vendor::of_mark("localhost"), None);
    }

    #[test]
    fn default_addresses() {
        assert_eq!(
            VENDORS.map(Vendor::base_url),
            [
                "https://api.openai.com/v1",
                "https://api.anthropic.com",
                "https://generativelanguage.googleapis.com"
            ]
        );
    }

    #[test]
    fn interfaces_without_tools_are_their_vendors_own() {
        assert!(Vendor::OPENAI.is_without_tools("/v1/embeddings?x=/chat"));
        assert!(Vendor::ANTHROPIC.is_without_tools("/v1/messages/count_tokens/"));
        assert!(Vendor::GEMINI.is_without_tools("/v1beta/models/g:countTokens"));
        assert!(!Vendor::OPENAI.is_without_tools("/v1/xembeddings"));
        assert!(!Vendor::OPENAI.is_without_tools("/v1beta/models/g:countTokens"));
        assert!(!Vendor::GEMINI.is_without_tools("/v1beta/models/g:generateContent"));
    }

    #[test]
    fn what_is_only_kept_calls_no_model() {
        let calls = Vendor::calls_a_model;
        assert!(calls(Vendor::OPENAI, "POST", "/v1/files") && !calls(Vendor::OPENAI, "GET", "/v1/responses"));
        assert!(calls(Vendor::GEMINI, "POST", "/v1beta/models/g:embedContent"));
        assert!(!calls(Vendor::GEMINI, "POST", "/v1beta/cachedContents?key=x"));
        assert!(!calls(Vendor::GEMINI, "POST", "/upload/v1beta/files"));
    }

    #[test]
    fn kept_answers_in_any_spelling() {
        assert!(fetches_answers("/v1/Responses/resp_1"));
        assert!(fetches_answers("/v1/r%65sponses/resp_1"));
        assert!(!fetches_answers("/v1/models?x=responses"));
    }
}
