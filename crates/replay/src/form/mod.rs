//! Forms of requests: what is equal in every run, and the words that may differ.
//!
//! Two requests can be the same at a level beyond `exact` only if their skeletons are equal: the destination, and the body without
//! the members that the rules leave out, with a placeholder for each token and for each result of a tool. Then their tokens are
//! compared, pair by pair. White space and the order of members do not count; numbers and strings do as they are written.
//!
//! | module | content |
//! |---|---|
//! | [`rules`] | members that change no answer, and words that an agent makes up |
//! | [`token`] | words that may differ |
//! | `spelling`, [`moment`] | dates and times among them, and the moments that they may mean |
//! | [`compare`] | comparison of two forms with equal skeletons |
//! | [`index`] | the recorded requests by their skeletons |
//! | [`thread`] | conversations whose requests extend one another |
//!
//! Start reading at [`RequestForm::of`], then [`compare::compare`].

pub(crate) mod compare;
pub(crate) mod index;
pub(crate) mod moment;
pub(crate) mod rules;
mod spelling;
pub(crate) mod thread;
pub(crate) mod token;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;
use reenact_json::path_pattern::PathProgress;
use reenact_json::{Digest, Limits, Value, ValueKind};
use reenact_secrets::renumbered;
use reenact_wire::key::{MatchKeyParts, match_key_headers};
use reenact_wire::{Endpoint, request_parts};

use self::rules::{EndpointRules, MatchRules, PlaceRule};
use self::token::{TextRules, TokenKind, TokenPiece, split};

/// Form of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestForm {
    /// Digest of all that is equal in every run. Of results of tools only their number and places count.
    pub(crate) skeleton: Digest,
    /// Digest of provider, method, path, headers and model.
    pub(crate) destination: Digest,
    /// Skeleton of each message of the conversation, in order.
    pub(crate) messages: Vec<Digest>,
    /// Tokens outside of results of tools, in the order of the walk.
    pub(crate) tokens: Vec<FormToken>,
    /// Results of tools, in order.
    pub(crate) results: Vec<ResultForm>,
    /// Texts of all tokens.
    texts: String,
}

/// Form of a result of a tool.
#[derive(Debug, Clone)]
pub(crate) struct ResultForm {
    /// Digest of all that is equal in every run.
    pub(crate) skeleton: Digest,
    pub(crate) tokens: Vec<FormToken>,
}

/// Word that may differ.
#[derive(Debug, Clone)]
pub(crate) struct FormToken {
    pub(crate) kind: TokenKind,
    /// True if the word came from a recorded answer, so that it is equal in every run.
    pub(crate) is_from_answer: bool,
    /// Place in [`RequestForm::texts`].
    text: Range<usize>,
}

impl RequestForm {
    /// Returns the form of a masked request; `None` if its body is no JSON.
    pub(crate) fn of(
        parts: &MatchKeyParts<'_>,
        endpoint: Option<Endpoint>,
        rules: &MatchRules,
    ) -> Option<Self> {
        let body = renumbered(parts.body);
        let document = Value::parse(&body, &Limits::default()).ok()?;
        let rules = rules.of_endpoint(endpoint);
        let mut builder = FormBuilder::new(rules, endpoint, document);
        let mut out = Hasher::new();
        put_text(&mut out, parts.provider.as_bytes());
        put_text(&mut out, parts.method.as_bytes());
        put_text(&mut out, &renumbered(parts.path.as_bytes()));
        for (name, value) in match_key_headers(parts.headers) {
            put_text(&mut out, name.as_bytes());
            put_text(&mut out, value.as_bytes());
        }
        let model = document.member("model").and_then(|model| model.string()).unwrap_or_default();
        put_text(&mut out, model.as_bytes());
        let destination = out.finish();
        out.put(destination.as_bytes());
        let mut tokens = Vec::new();
        builder.write(document, &rules.patterns.at_root(), Zone::Plain, &mut out, &mut tokens);
        let FormBuilder { results, texts, messages, .. } = builder;
        Some(Self { skeleton: out.finish(), destination, messages, tokens, results, texts })
    }

    /// Returns the text of a token of this form.
    pub(crate) fn text(&self, token: &FormToken) -> &str {
        self.texts.get(token.text.clone()).unwrap_or_default()
    }

    /// Returns all tokens, those of results last.
    pub(crate) fn all_tokens(&self) -> impl Iterator<Item = &FormToken> {
        self.tokens.iter().chain(self.results.iter().flat_map(|result| &result.tokens))
    }

    /// Marks the tokens for whose text `is_from_answer` holds.
    pub(crate) fn mark_answer_values(&mut self, is_from_answer: impl Fn(&str) -> bool) {
        let texts = &self.texts;
        let results = self.results.iter_mut().flat_map(|result| &mut result.tokens);
        for token in self.tokens.iter_mut().chain(results) {
            token.is_from_answer = texts.get(token.text.clone()).is_some_and(&is_from_answer);
        }
    }
}

/// Writer of a part of a request, by who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zone {
    /// The user, the agent, or nobody knows.
    Plain,
    /// The model: words of recorded answers, which are equal in every run.
    Answer,
    /// A tool, which ran again.
    Result,
}

/// Builder of a form, in one walk over the body.
struct FormBuilder<'r> {
    rules: &'r EndpointRules,
    number_labels: &'r [String],
    /// Parts that somebody else wrote, by the address of their first byte.
    zones: HashMap<usize, Zone>,
    /// Addresses of the messages of the conversation.
    message_addresses: HashSet<usize>,
    messages: Vec<Digest>,
    results: Vec<ResultForm>,
    texts: String,
}

/// Returns the address of the first byte of a value, which no other value of the document has.
fn address(value: Value<'_>) -> usize {
    value.text().as_ptr().addr()
}

impl<'r> FormBuilder<'r> {
    fn new(rules: &'r EndpointRules, endpoint: Option<Endpoint>, document: Value<'_>) -> Self {
        let parts = endpoint.map(|endpoint| request_parts::request_parts(endpoint, document));
        let parts = parts.unwrap_or_default();
        let answers = parts.answers.iter().map(|value| (address(*value), Zone::Answer));
        let results = parts.tool_results.iter().map(|value| (address(*value), Zone::Result));
        Self {
            rules,
            number_labels: &rules.number_labels,
            zones: answers.chain(results).collect(),
            message_addresses: parts.messages.iter().map(|value| address(*value)).collect(),
            messages: Vec::new(),
            results: Vec::new(),
            texts: String::new(),
        }
    }

    /// Writes the skeleton of a value to `out`, and its tokens to `tokens`.
    fn write(
        &mut self,
        value: Value<'_>,
        progress: &PathProgress,
        zone: Zone,
        out: &mut Hasher,
        tokens: &mut Vec<FormToken>,
    ) {
        let zone = match self.zones.get(&address(value)) {
            Some(Zone::Result) if zone == Zone::Plain => {
                let (mut inner, mut found) = (Hasher::new(), Vec::new());
                self.write_inside(value, progress, Zone::Result, &mut inner, &mut found);
                self.results.push(ResultForm { skeleton: inner.finish(), tokens: found });
                out.put(b"R");
                return;
            }
            Some(Zone::Answer) if zone == Zone::Plain => Zone::Answer,
            _ => zone,
        };
        if self.message_addresses.contains(&address(value)) {
            let mut message = Hasher::new();
            self.write_inside(value, progress, zone, &mut message, tokens);
            let digest = message.finish();
            out.put(digest.as_bytes());
            self.messages.push(digest);
            return;
        }
        self.write_inside(value, progress, zone, out, tokens);
    }

    /// Writes a value whose zone is known.
    fn write_inside(
        &mut self,
        value: Value<'_>,
        progress: &PathProgress,
        zone: Zone,
        out: &mut Hasher,
        tokens: &mut Vec<FormToken>,
    ) {
        match value.kind() {
            ValueKind::Object => {
                let named = value.members().map(|(name, member)| (name.string().unwrap_or_default(), member));
                let mut members: Vec<_> = named.collect();
                members.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
                out.put(b"{");
                for (name, member) in members {
                    let progress = self.rules.patterns.at_member(progress, &name);
                    if self.rules.place(&progress).is_some_and(|rule| *rule == PlaceRule::Free) {
                        continue;
                    }
                    put_text(out, name.as_bytes());
                    self.write(member, &progress, zone, out, tokens);
                }
                out.put(b"}");
            }
            ValueKind::Array => {
                out.put(b"[");
                for (index, element) in value.elements().enumerate() {
                    let progress = self.rules.patterns.at_element(progress, index);
                    match self.rules.place(&progress) {
                        Some(PlaceRule::Free) => out.put(b"_"),
                        _ => self.write(element, &progress, zone, out, tokens),
                    }
                }
                out.put(b"]");
            }
            ValueKind::String => {
                let text = value.string().unwrap_or_default();
                out.put(b"\"");
                match self.rules.place(progress) {
                    Some(PlaceRule::Id) => self.add_token(TokenKind::Id, &text, out, tokens),
                    place => {
                        let labels = match place {
                            Some(PlaceRule::After(labels)) => labels.as_slice(),
                            _ => &[],
                        };
                        self.write_text(&text, labels, zone, out, tokens);
                    }
                }
                out.put(b"\"");
            }
            ValueKind::Number => {
                let text = core::str::from_utf8(value.text()).unwrap_or_default();
                out.put(b"#");
                self.write_text(text, &[], zone, out, tokens);
                out.put(b"#");
            }
            ValueKind::Null | ValueKind::True | ValueKind::False => out.put(value.text()),
        }
    }

    /// Writes a text: its literal parts as they are, its tokens as placeholders.
    fn write_text(
        &mut self,
        text: &str,
        word_labels: &[(String, TokenKind)],
        zone: Zone,
        out: &mut Hasher,
        tokens: &mut Vec<FormToken>,
    ) {
        if zone == Zone::Answer && word_labels.is_empty() {
            return put_text(out, text.as_bytes());
        }
        let rules = TextRules {
            is_tool_result: zone == Zone::Result,
            number_labels: self.number_labels,
            word_labels,
        };
        split(text, &rules, |piece| match piece {
            TokenPiece::Literal(range) => put_text(out, text[range].as_bytes()),
            // Of what a model said, only the words behind labels differ.
            TokenPiece::Token(kind, range)
                if zone == Zone::Answer && !matches!(kind, TokenKind::Id | TokenKind::Free) =>
            {
                put_text(out, text[range].as_bytes());
            }
            TokenPiece::Token(kind, range) => self.add_token(kind, &text[range], out, tokens),
        });
    }

    fn add_token(&mut self, kind: TokenKind, text: &str, out: &mut Hasher, tokens: &mut Vec<FormToken>) {
        let start = self.texts.len();
        self.texts.push_str(text);
        tokens.push(FormToken { kind, is_from_answer: false, text: start..self.texts.len() });
        out.put(&[b'?', kind.code()]);
        if kind == TokenKind::Moment {
            put_text(out, spelling::spelling(text).as_bytes());
        }
    }
}

/// Writes bytes with their length before them, so that two texts in a row are not one.
fn put_text(out: &mut Hasher, bytes: &[u8]) {
    out.put(b"'");
    out.put(&(bytes.len() as u64).to_le_bytes());
    out.put(bytes);
}
