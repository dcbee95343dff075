//! Index of the recorded requests by their skeletons, and the search for the one that an incoming request is.
//!
//! The index is built when the first request comes that no recorded one equals byte for byte. Start reading at
//! [`FormIndex::find`].

use std::collections::HashMap;

use reenact_json::Digest;
use reenact_run::{Exchange, ExchangeRequest, ExchangeRequestBody, Run};
use reenact_wire::{Endpoint, Vendor};

use super::RequestForm;
use super::compare::{CompareContext, NewPairs, compare, is_same_form};
use super::moment::TimeWindow;
use super::rules::MatchRules;
use super::thread::{ThreadIndex, ThreadPlace};
use super::token::{TextRules, TokenKind, TokenPiece, split};
use crate::match_level::MatchLevel;
use crate::recorded_exchanges::RecordedExchanges;
use crate::request_key::key_parts;

/// Recorded requests by their skeletons.
pub(crate) struct FormIndex {
    /// Forms by index into [`RecordedExchanges::entries`]; `None` where the record does not hold the whole request.
    forms: Vec<Option<RecordedForm>>,
    by_skeleton: HashMap<Digest, Vec<usize>>,
    threads: ThreadIndex,
    /// Words of the record, and whether an answer held each before any request did.
    words: HashMap<Box<str>, bool>,
}

/// Form of a recorded request.
struct RecordedForm {
    form: RequestForm,
    /// Indices in the run of the events that began and ended the exchange.
    events: (usize, usize),
    place: ThreadPlace,
}

/// Result of a search.
pub(crate) enum FormMatch<'f> {
    /// No recorded request fits.
    Nothing,
    /// This one is next.
    One {
        /// Index into [`RecordedExchanges::entries`].
        at: usize,
        level: MatchLevel,
        pairs: NewPairs<'f>,
    },
    /// Several fit that differ from each other; holds the indices of two of them.
    Several([usize; 2], MatchLevel),
}

impl FormIndex {
    /// Reads the forms of all whole requests of a run, in recorded order, and the words of its answers.
    pub(crate) fn build(exchanges: &RecordedExchanges, rules: &MatchRules) -> Self {
        let run = &exchanges.run;
        let mut index = Self {
            forms: Vec::new(),
            by_skeleton: HashMap::new(),
            threads: ThreadIndex::default(),
            words: HashMap::new(),
        };
        index.forms.resize_with(exchanges.entries.len(), || None);
        if exchanges.is_repeatable() {
            return index;
        }
        // Requests and answers in the order of their events, which tells where a word was seen first.
        let mut steps: Vec<(usize, usize, bool)> = Vec::new();
        for (at, entry) in exchanges.entries.iter().enumerate().filter(|(_, entry)| entry.group.is_some()) {
            steps.push((entry.event_index, at, false));
            if let Some(answered) = run.event(entry.event_index).and_then(|event| event.partner()) {
                steps.push((answered, at, true));
            }
        }
        steps.sort_unstable();
        for (event, at, is_answer) in steps {
            let Some(exchange) = exchanges.exchange(at) else { continue };
            if is_answer {
                index.add_answer(&exchange);
                if let Some(Some(form)) = index.forms.get_mut(at) {
                    form.events.1 = event;
                }
            } else if let Ok(request) = exchange.request() {
                index.add_request(at, event, run, &request, rules);
            }
        }
        index
    }

    /// Adds the form of a request.
    fn add_request(
        &mut self,
        at: usize,
        event: usize,
        run: &Run,
        request: &ExchangeRequest<'_>,
        rules: &MatchRules,
    ) {
        let is_whole = matches!(request.body, ExchangeRequestBody::Bytes(_))
            && (run.payload_format() == reenact_run::FormatId::Rer || request.source.is_some());
        if !is_whole {
            return;
        }
        let parts = key_parts(request);
        let endpoint = request.endpoint.or_else(|| endpoint_of(parts.provider, parts.method, parts.path));
        let Some(mut form) = RequestForm::of(&parts, endpoint, rules) else { return };
        for token in form.all_tokens() {
            let text = form.text(token);
            if !self.words.contains_key(text) {
                self.words.insert(text.into(), false);
            }
        }
        form.mark_answer_values(|text| self.words.get(text).copied().unwrap_or_default());
        self.by_skeleton.entry(form.skeleton).or_default().push(at);
        let place = self.threads.place(&form);
        self.threads.add(&form, at);
        if let Some(slot) = self.forms.get_mut(at) {
            *slot = Some(RecordedForm { form, events: (event, usize::MAX), place });
        }
    }

    /// Adds the words of an answer: ids and uuids wherever they stand, dates and times of what the model said.
    fn add_answer(&mut self, exchange: &Exchange<'_>) {
        let mut add = |word: &str| {
            if !self.words.contains_key(word) {
                self.words.insert(word.into(), true);
            }
        };
        if let Ok(answer) = exchange.answer() {
            ids(&answer.body, &mut add);
            ids(&without_escapes(&answer.body), &mut add);
        }
        // A stream may have cut a word into pieces.
        let Some(message) = exchange.message() else { return };
        let inputs = message.tool_calls.iter().flat_map(|call| [call.input.as_str(), call.id.as_str()]);
        let mut add_text = |text: &str| {
            ids(text.as_bytes(), &mut add);
            split(text, &TextRules::default(), |piece| {
                if let TokenPiece::Token(_, range) = piece {
                    add(&text[range]);
                }
            });
        };
        for text in inputs {
            add_text(text);
            add_text(&String::from_utf8_lossy(&without_escapes(text.as_bytes())));
        }
        add_text(&message.text);
    }

    /// Returns true for a word of the record that may be an id.
    pub(crate) fn is_recorded_word(&self, word: &str) -> bool {
        self.words.contains_key(word)
    }

    /// Returns the uuids and ids of a recorded request.
    pub(crate) fn ids_of(&self, at: usize) -> impl Iterator<Item = &str> {
        let form = self.forms.get(at).and_then(Option::as_ref).map(|recorded| &recorded.form);
        form.into_iter().flat_map(|form| {
            let ids = form.all_tokens().filter(|token| matches!(token.kind, TokenKind::Uuid | TokenKind::Id));
            ids.map(|token| form.text(token))
        })
    }

    /// Returns the recorded request that an incoming one is, at the strictest level that one fits, up to `last`.
    ///
    /// Requests that are equal at a level are one queue in recorded order. `is_served` answers for an index into
    /// [`RecordedExchanges::entries`].
    pub(crate) fn find<'f>(
        &'f self,
        asked: &'f RequestForm,
        last: MatchLevel,
        context: &CompareContext<'_>,
        is_served: impl Fn(usize) -> bool,
    ) -> FormMatch<'f> {
        let candidates = self.by_skeleton.get(&asked.skeleton).map(Vec::as_slice).unwrap_or_default();
        let mut best: Option<(MatchLevel, usize, NewPairs<'f>)> = None;
        // Others at the level of the best.
        let mut others: Vec<usize> = Vec::new();
        for &at in candidates.iter().filter(|at| !is_served(**at)) {
            let Some(Some(recorded)) = self.forms.get(at) else { continue };
            let Some((level, pairs)) = compare(&recorded.form, asked, context) else { continue };
            match &best {
                _ if level > last => {}
                Some((found, ..)) if level > *found => {}
                Some((found, ..)) if level == *found => others.push(at),
                _ => {
                    best = Some((level, at, pairs));
                    others.clear();
                }
            }
        }
        let Some((level, at, pairs)) = best else { return FormMatch::Nothing };
        match others.into_iter().find(|other| !self.is_one_queue(at, *other, context.recorded_window)) {
            Some(other) => FormMatch::Several([at, other], level),
            None => FormMatch::One { at, level, pairs },
        }
    }

    /// Returns the only recorded request at a place that was not served; `None` if there is none or several.
    pub(crate) fn at_place(&self, place: ThreadPlace, is_served: impl Fn(usize) -> bool) -> Option<usize> {
        let is_there = |at: &usize| {
            self.forms.get(*at).is_some_and(|form| form.as_ref().is_some_and(|form| form.place == place))
        };
        let mut found = (0..self.forms.len()).filter(|at| !is_served(*at)).filter(is_there);
        let only = found.next()?;
        found.next().is_none().then_some(only)
    }

    /// Returns true if two recorded requests are equal to a replay.
    fn is_one_queue(&self, first: usize, second: usize, window: Option<&TimeWindow>) -> bool {
        let (Some(Some(first)), Some(Some(second))) = (self.forms.get(first), self.forms.get(second)) else {
            return false;
        };
        let is_parallel = first.events.0 < second.events.1 && second.events.0 < first.events.1;
        is_same_form(&first.form, &second.form, window, is_parallel)
    }
}

/// Returns the endpoint of a request by its route, as far as it is known.
pub(crate) fn endpoint_of(provider: &str, method: &str, path: &str) -> Option<Endpoint> {
    Endpoint::of(Vendor::of_route(provider), method, path)
}

/// Shortest word that is taken for an id, in bytes.
const MIN_ID_BYTES: usize = 6;
/// Longest word that is taken for an id, in bytes.
const MAX_ID_BYTES: usize = 200;

/// Returns a text with blanks for the escapes of JSON, so that the `n` of `\\n` does not join the word behind it.
fn without_escapes(text: &[u8]) -> Vec<u8> {
    let mut blanked = text.to_vec();
    let mut at = 0;
    while let Some(found) = blanked.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        let start = at + found;
        // Escapes within escapes have several in a row.
        let slashes = blanked[start..].iter().take_while(|byte| **byte == b'\\').count();
        let length = slashes
            + match blanked.get(start + slashes) {
                Some(b'u') => 5,
                Some(b'b' | b'f' | b'n' | b'r' | b't') => 1,
                _ => 0,
            };
        let end = blanked.len().min(start + length);
        let is_ascii = blanked[start..end].is_ascii();
        at = if is_ascii { end } else { start + slashes };
        blanked[start..at].fill(b' ');
    }
    blanked
}

/// Finds the words of a text that may be ids: runs of letters, digits, `_` and `-` with a digit among them, and the uuids at
/// their ends.
fn ids(text: &[u8], mut found: impl FnMut(&str)) {
    let is_id_byte = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'-';
    for word in text.split(|byte| !is_id_byte(byte)) {
        let has_length = (MIN_ID_BYTES..=MAX_ID_BYTES).contains(&word.len());
        if !has_length || !word.iter().any(u8::is_ascii_digit) {
            continue;
        }
        let Ok(word) = core::str::from_utf8(word) else { continue };
        found(word);
        split(word, &TextRules::default(), |piece| {
            if let TokenPiece::Token(TokenKind::Uuid, range) = piece {
                found(&word[range]);
            }
        });
    }
}
