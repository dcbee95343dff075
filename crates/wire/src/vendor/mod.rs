//! Table of vendors: addresses, environment variables, prices, and the rules that all interfaces of one vendor
//! share.
//!
//! A vendor with interfaces of its own has its row beside them, in [`crate::protocol`]; a vendor that speaks those of others has a
//! file here. A new vendor is one `VendorRow` and one entry in [`VENDORS`]. Start reading at `VendorRow`.

mod azure;
mod base_variable;
mod deepseek;
mod groq;
mod key_shape;
mod mistral;
mod ollama;
mod openrouter;
mod vertex;
mod xai;

use core::fmt;

pub use self::base_variable::BaseVariable;
pub(crate) use self::key_shape::{KeyAlphabet, KeyShape};
use crate::error_reply::ErrorReply;
use crate::message::Usage;
use crate::price::ListPrice;
use crate::protocol::{Endpoint, anthropic, gemini, openai};

/// All vendors whose interfaces are parsed.
pub const VENDORS: [Vendor; 11] = [
    Vendor::OPENAI,
    Vendor::ANTHROPIC,
    Vendor::GEMINI,
    Vendor::AZURE,
    Vendor::VERTEX,
    Vendor::OPENROUTER,
    Vendor::GROQ,
    Vendor::MISTRAL,
    Vendor::DEEPSEEK,
    Vendor::XAI,
    Vendor::OLLAMA,
];

impl Vendor {
    /// OpenAI, and every server that speaks OpenAI's interface.
    pub const OPENAI: Self = Self(&openai::VENDOR);
    /// Anthropic.
    pub const ANTHROPIC: Self = Self(&anthropic::VENDOR);
    /// Google's Gemini API.
    pub const GEMINI: Self = Self(&gemini::VENDOR);
    /// Azure OpenAI.
    pub const AZURE: Self = Self(&azure::VENDOR);
    /// Google's Vertex AI.
    pub const VERTEX: Self = Self(&vertex::VENDOR);
    /// OpenRouter.
    pub const OPENROUTER: Self = Self(&openrouter::VENDOR);
    /// Groq.
    pub const GROQ: Self = Self(&groq::VENDOR);
    /// Mistral.
    pub const MISTRAL: Self = Self(&mistral::VENDOR);
    /// DeepSeek.
    pub const DEEPSEEK: Self = Self(&deepseek::VENDOR);
    /// xAI.
    pub const XAI: Self = Self(&xai::VENDOR);
    /// Ollama.
    pub const OLLAMA: Self = Self(&ollama::VENDOR);
}

/// Vendor: a copyable reference to a row of [`VENDORS`]. Two vendors are equal if their names are.
#[derive(Clone, Copy)]
pub struct Vendor(pub(crate) &'static VendorRow);

/// Facts that depend on the vendor, and not on one of its interfaces.
///
/// To add a vendor, write a row, and add a constant and an entry to [`VENDORS`].
pub(crate) struct VendorRow {
    /// Name in payloads and on the command line.
    pub(crate) name: &'static str,
    /// Words that identify the vendor in a host name, or in the provider name of a foreign record.
    pub(crate) name_words: &'static [&'static str],
    /// Environment variables from which clients read the base address. The first is the one to name to people.
    pub(crate) base_variables: &'static [BaseVariable],
    /// Environment variables from which clients read the credential. One is enough; the first is preferred.
    pub(crate) key_variables: &'static [&'static str],
    /// Shapes of keys, the usual one first; a key of none of them is given the usual one.
    pub(crate) key_shapes: &'static [KeyShape],
    /// Names of the vendors whose interfaces are spoken, besides those of its own.
    pub(crate) speaks: &'static [&'static str],
    /// Scheme and host of the vendor's own servers, without a path; `None` if every customer or region has an address of its own.
    pub(crate) origin: Option<&'static str>,
    /// Path of the default base address behind the origin; empty, or with a leading slash.
    pub(crate) base_path: &'static str,
    /// Beginning of every path of the interfaces, such as `/v1`. It is the end of the base address, or else clients add it. Empty if there
    /// is none, or several.
    pub(crate) version: &'static str,
    /// Beginnings that a path may have behind the upstream's base path, under an envelope, each with a leading slash; the empty one
    /// counts without being named. A segment `*` names a model.
    pub(crate) path_prefixes: &'static [&'static str],
    /// Request headers that change the answer, and so are part of a match key.
    pub(crate) match_key_headers: &'static [&'static str],
    /// Path segments below which no model is called, whatever is sent: files, caches.
    pub(crate) non_model_segments: &'static [&'static str],
    /// Members of a query that are known: they change neither the model nor the tools.
    pub(crate) query_names: &'static [&'static str],
    /// Returns the name that the price list has for an edition of a model; `None` if the name has no edition.
    pub(crate) model_without_edition: fn(model: &str) -> Option<&str>,
    /// List prices.
    pub(crate) prices: &'static [ListPrice],
    /// True if the vendor's input token count includes tokens that were read from a cache or written to one, false if those are
    /// counted separately.
    pub(crate) counts_cached_as_input: bool,
    /// Returns the model that a path names; `None` for vendors whose request bodies name the model.
    pub(crate) model_in_path: fn(path: &str) -> Option<String>,
    /// Writes the body of an error.
    pub(crate) error_body: fn(&ErrorReply<'_>) -> String,
    /// Returns the status of a denial that [`VendorRow::error_body`] wrote, given the document's `error`
    /// member; `None` for other errors.
    pub(crate) denied_status: fn(error: reenact_json::Value<'_>) -> Option<u16>,
}

impl Vendor {
    /// Returns the vendor with this exact name.
    pub fn of_name(name: &str) -> Option<Self> {
        VENDORS.into_iter().find(|vendor| vendor.name() == name)
    }

    /// Returns the vendor that a host name, or the provider name of a foreign record, mentions: the one with the longest word.
    pub fn named_in(text: &str) -> Option<Self> {
        let longest = |vendor: &Self| {
            let words = vendor.0.name_words.iter().filter(|word| text.contains(**word));
            words.map(|word| word.len()).max()
        };
        let named = VENDORS.into_iter().filter_map(|vendor| Some((longest(&vendor)?, vendor)));
        // Of two words of one length the earlier row's counts.
        named.rev().max_by_key(|(length, _)| *length).map(|(_, vendor)| vendor)
    }

    /// Returns the vendor of a route. Routes with other names speak OpenAI's interface, as most other servers
    /// do.
    pub fn of_route(name: &str) -> Self {
        Self::of_name(name).unwrap_or(Self::OPENAI)
    }

    /// Returns the name that payloads carry, such as `openai`.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns true if the vendor has interfaces of its own, rather than those of others.
    pub fn has_own_interfaces(self) -> bool {
        self.0.speaks.is_empty()
    }

    /// Returns true if the vendor speaks the interfaces of `owner`.
    pub(crate) fn speaks(self, owner: Self) -> bool {
        self == owner || self.0.speaks.contains(&owner.name())
    }

    /// Returns the environment variables from which clients read the base address. The first is the one to name to people.
    pub fn base_variables(self) -> &'static [BaseVariable] {
        self.0.base_variables
    }

    /// Returns the environment variables from which clients read the credential, the preferred name first.
    pub fn key_variables(self) -> &'static [&'static str] {
        self.0.key_variables
    }

    /// Returns a key of the vendor's shape that no server knows, for the variable `name`. Of several shapes the one is taken that `like`
    /// has.
    ///
    /// ```
    /// use reenact_wire::Vendor;
    ///
    /// let dummy = Vendor::OPENAI.dummy_key("OPENAI_API_KEY", "sk-svcacct-0123");
    /// assert!(dummy.starts_with("sk-svcacct-reenact-dummy-"));
    /// ```
    pub fn dummy_key(self, name: &str, like: &str) -> String {
        let shapes = self.0.key_shapes;
        let known = shapes.iter().find(|shape| !shape.prefix.is_empty() && like.starts_with(shape.prefix));
        known.or(shapes.first()).map_or_else(String::new, |shape| shape.dummy(name))
    }

    /// Returns a dummy for the credential that a variable holds: of the shape of the vendor whose variable it is, or whose key it looks
    /// like; a plain word for any other.
    ///
    /// ```
    /// use reenact_wire::Vendor;
    ///
    /// assert!(Vendor::dummy_credential("CODEX_API_KEY", "sk-proj-0123").starts_with("sk-proj-reenact-dummy-"));
    /// assert_eq!(Vendor::dummy_credential("DB_PASSWORD", "hunter22"), "reenact-dummy-DB_PASSWORD");
    /// ```
    pub fn dummy_credential(name: &str, value: &str) -> String {
        let vendor = VENDORS.into_iter().find(|vendor| vendor.key_variables().contains(&name));
        match vendor.or_else(|| Self::of_key(value)) {
            Some(vendor) => vendor.dummy_key(name, value),
            None => format!("reenact-dummy-{name}"),
        }
    }

    /// Returns the vendor whose keys begin as this one does: the one with the longest such prefix.
    pub fn of_key(key: &str) -> Option<Self> {
        let longest = |vendor: &Self| {
            let prefixes = vendor.0.key_shapes.iter().map(|shape| shape.prefix);
            prefixes.filter(|prefix| !prefix.is_empty() && key.starts_with(prefix)).map(str::len).max()
        };
        let found = VENDORS.into_iter().filter_map(|vendor| Some((longest(&vendor)?, vendor)));
        // Of two prefixes of one length the earlier row's counts.
        found.rev().max_by_key(|(length, _)| *length).map(|(_, vendor)| vendor)
    }

    /// Returns the vendor's own scheme and host, such as `https://api.openai.com`; `None` if every customer or region has an address of
    /// its own.
    pub fn origin(self) -> Option<&'static str> {
        self.0.origin
    }

    /// Returns the path of the default base address behind the origin; empty, or with a leading slash.
    pub fn base_path(self) -> &'static str {
        self.0.base_path
    }

    /// Returns the base address that clients use by default: origin and base path. `None` if there is no origin.
    pub fn base_url(self) -> Option<String> {
        Some(format!("{}{}", self.0.origin?, self.0.base_path))
    }

    /// Returns true if an answer that names the model `answering` may be that of a request for `asked`: the names are the same, but for
    /// an edition at the end of one of them (`gpt-5` and `gpt-5-2025-08-07`), or at the end of both if `asked` ends in `-latest`.
    ///
    /// ```
    /// use reenact_wire::Vendor;
    ///
    /// assert!(Vendor::OPENAI.is_same_model("gpt-5", "gpt-5-2025-08-07"));
    /// assert!(!Vendor::OPENAI.is_same_model("gpt-5", "gpt-5-mini"));
    /// ```
    pub fn is_same_model(self, asked: &str, answering: &str) -> bool {
        // Vertex AI writes an edition behind an `@`.
        let plain = |name: &str| name.strip_prefix("models/").unwrap_or(name).replace('@', "-");
        let (asked, answering) = (plain(asked), plain(answering));
        let [asked, answering] = [asked.as_str(), answering.as_str()];
        let edition_of = |name| (self.0.model_without_edition)(name);
        asked == answering
            || edition_of(answering) == Some(asked)
            || edition_of(asked) == Some(answering)
            || asked.ends_with("-latest") && edition_of(asked) == edition_of(answering)
    }

    /// Returns true if a request calls a model, as far as method and path tell. Every request but `GET`, `HEAD`
    /// and `OPTIONS` does, except to paths below which the vendor only stores things.
    pub fn calls_a_model(self, method: &str, path: &str) -> bool {
        let is_stored = |segment: &str| self.0.non_model_segments.contains(&segment);
        !matches!(method, "GET" | "HEAD" | "OPTIONS") && !path_without_query(path).split('/').any(is_stored)
    }

    /// Returns the model that a path names; `None` if it names none.
    pub fn model_in_path(self, path: &str) -> Option<String> {
        (self.0.model_in_path)(path)
    }

    /// Returns true if requests to this path of a provider cost nothing, whatever model they name. Of a provider that is no vendor of
    /// the table nobody knows that.
    pub fn is_free_path(provider: &str, path: &str) -> bool {
        Self::of_name(provider).is_some_and(|vendor| {
            Endpoint::of(vendor, "POST", path).is_some_and(|endpoint| endpoint.is_free_at(vendor))
        })
    }

    /// Returns true if the vendor's input token count includes the tokens of a cache.
    pub(crate) fn counts_cached_as_input(self) -> bool {
        self.0.counts_cached_as_input
    }

    /// Returns the input tokens that are charged at the full price, that is, without those from a cache.
    pub(crate) fn full_price_input_tokens(self, usage: &Usage) -> u64 {
        if self.counts_cached_as_input() {
            usage.input_tokens.saturating_sub(usage.cached_input_tokens)
        } else {
            usage.input_tokens
        }
    }
}

/// Returns a path without its query and without trailing slashes.
pub(crate) fn path_without_query(path: &str) -> &str {
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
    fn an_edition_belongs_to_its_model() {
        let (openai, anthropic, gemini) = (Vendor::OPENAI, Vendor::ANTHROPIC, Vendor::GEMINI);
        for (vendor, asked, answering, is_same) in [
            (openai, "gpt-5", "gpt-5", true),
            (openai, "gpt-5", "gpt-5-2025-08-07", true),
            (openai, "gpt-5-2025-08-07", "gpt-5", true),
            (openai, "gpt-5-2025-08-07", "gpt-5-2025-11-11", false),
            (openai, "gpt-5", "gpt-5-mini", false),
            (openai, "gpt-5", "gpt-5-mini-2025-08-07", false),
            (openai, "gpt-5", "GPT-5", false),
            (openai, "gpt-5", "", false),
            (anthropic, "claude-sonnet-4-5", "claude-sonnet-4-5-20250929", true),
            (anthropic, "claude-sonnet-4-5", "claude-opus-4-5-20251101", false),
            (anthropic, "claude-3-5-haiku-latest", "claude-3-5-haiku-20241022", true),
            (anthropic, "claude-3-5-haiku-20241022", "claude-3-5-haiku-20250101", false),
            (gemini, "gemini-2.5-flash", "models/gemini-2.5-flash", true),
            (gemini, "models/gemini-2.0-flash", "gemini-2.0-flash-001", true),
            (gemini, "gemini-2.5-flash", "gemini-2.5-flash-lite", false),
            (Vendor::VERTEX, "claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929", true),
            (Vendor::VERTEX, "claude-sonnet-4-5@20250929", "claude-sonnet-4-5", true),
            (Vendor::VERTEX, "claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20260101", false),
        ] {
            assert_eq!(vendor.is_same_model(asked, answering), is_same, "{asked} {answering}");
        }
    }

    #[test]
    fn every_name_is_found_again() {
        for vendor in VENDORS {
            assert_eq!(Vendor::of_name(vendor.name()), Some(vendor));
            assert_eq!(Vendor::named_in(vendor.origin().unwrap_or(vendor.name())), Some(vendor));
            assert!(vendor.0.speaks.iter().all(|name| Vendor::of_name(name).is_some()), "{vendor:?}");
        }
        assert_eq!(Vendor::of_name("OpenAI"), None);
        assert_eq!(Vendor::named_in("azure-openai"), Some(Vendor::AZURE));
        assert_eq!(Vendor::named_in("me.openai.azure.com"), Some(Vendor::AZURE));
        assert_eq!(Vendor::named_in("us-east5-aiplatform.googleapis.com"), Some(Vendor::VERTEX));
        assert_eq!(Vendor::named_in("localhost"), None);
    }

    #[test]
    fn default_addresses() {
        assert_eq!(
            VENDORS.into_iter().filter_map(Vendor::base_url).collect::<Vec<_>>(),
            [
                "https://api.openai.com/v1",
                "https://api.anthropic.com",
                "https://generativelanguage.googleapis.com",
                "https://openrouter.ai/api/v1",
                "https://api.groq.com/openai/v1",
                "https://api.mistral.ai/v1",
                "https://api.deepseek.com",
                "https://api.x.ai/v1",
                "http://localhost:11434",
            ]
        );
    }

    #[test]
    fn counting_tokens_is_free_and_asking_is_not() {
        assert!(Vendor::is_free_path("anthropic", "/v1/messages/count_tokens?beta=true"));
        assert!(Vendor::is_free_path("gemini", "/v1beta/models/g:countTokens"));
        assert!(Vendor::is_free_path(
            "vertex",
            "/v1/projects/p/locations/l/publishers/google/models/g:countTokens"
        ));
        assert!(Vendor::is_free_path("openai", "/v1/responses/input_tokens"));
        assert!(Vendor::is_free_path("openai", "/v1/moderations"));
        assert!(!Vendor::is_free_path("openai", "/v1/embeddings"));
        assert!(!Vendor::is_free_path("anthropic", "/v1/messages"));
    }

    #[test]
    fn what_one_vendor_gives_away_another_may_charge() {
        for provider in ["mistral", "openrouter", "a-server-of-mine"] {
            assert!(!Vendor::is_free_path(provider, "/v1/moderations"), "{provider}");
        }
        assert!(!Vendor::is_free_path("openrouter", "/api/v1/messages/count_tokens"));
    }

    #[test]
    fn what_is_only_kept_calls_no_model() {
        let calls = Vendor::calls_a_model;
        assert!(calls(Vendor::OPENAI, "POST", "/v1/files") && !calls(Vendor::OPENAI, "GET", "/v1/responses"));
        assert!(calls(Vendor::GEMINI, "POST", "/v1beta/models/g:embedContent"));
        assert!(!calls(Vendor::GEMINI, "POST", "/v1beta/cachedContents?key=x"));
        assert!(!calls(Vendor::GEMINI, "POST", "/upload/v1beta/files"));
    }
}
