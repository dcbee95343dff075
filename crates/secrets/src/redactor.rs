//! [`Redactor`]: replaces the secrets of a text by marks and numbers the values.
//!
//! The search itself is in `search`; here the findings become marks. Start reading at
//! [`Redactor::redact`].

use crate::known_values::KnownValues;
use crate::search::{self, Secret, TextLayout};
use crate::{RulePack, SecretFinding, escape, mapped_text, mask_mark};
use core::fmt;
use core::ops::Range;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Masks texts with the rules of a pack and with values that are known to be secret.
///
/// A redactor remembers which value has which number, so one redactor serves a whole run.
///
/// ```
/// use reenact_secrets::{Redactor, RulePack};
///
/// let mut redactor = Redactor::new(RulePack::standard());
/// let redacted = redactor.redact(b"url: postgres://app:hunter2@db/main");
/// assert_eq!(&redacted.bytes[..], b"url: postgres://app:[masked:url-password:1]@db/main");
/// assert_eq!(redacted.result_offset(20), 20);
/// assert_eq!(redacted.result_offset(27), 43);
/// ```
pub struct Redactor {
    /// Rules to search with.
    pack: Arc<RulePack>,
    /// Values that are secret whatever they look like.
    known: KnownValues,
    /// Numbers given out, by rule.
    numbers: HashMap<Cow<'static, str>, RuleNumbers>,
}

/// Numbers that one rule has given out.
#[derive(Default)]
struct RuleNumbers {
    /// Number of each value, by the decoded value.
    by_value: HashMap<Vec<u8>, usize>,
    /// Highest number in use, by a value or by a mark whose value is not known to this redactor.
    highest: usize,
}

/// Largest number that [`Redactor::reserve_numbers`] reserves. A run has no million secrets of one
/// kind, but a hostile text may hold a mark that claims so; the next numbers must still fit into a
/// mark.
const MAX_RESERVED_NUMBER: usize = 999_999;

/// Text whose secrets are replaced by marks, with a record of every replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedText<'t> {
    /// Masked text; borrowed from the input if nothing was masked.
    pub bytes: Cow<'t, [u8]>,
    /// Replaced spans, in order and without overlap.
    pub masked_spans: Vec<MaskedSpan>,
}

/// Replaced span of a text: a secret, or one part of a secret that is cut into parts.
///
/// A mark replaces the first part; the other parts are removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedSpan {
    /// Name of the rule that found the secret, or under which the value was made known.
    pub rule: Cow<'static, str>,
    /// Byte span of the secret in the source.
    pub source_span: Range<usize>,
    /// Byte span of the mark in the result; empty for every part but the first.
    pub result_span: Range<usize>,
}

impl RedactedText<'_> {
    /// Returns the offset in the result of an offset in the source. An offset inside a masked span
    /// maps to the end of its mark.
    pub fn result_offset(&self, source: usize) -> usize {
        MaskedSpan::result_offset(&self.masked_spans, source)
    }
}

impl MaskedSpan {
    /// Returns the offset in the result of an offset in the source, for masked spans in order. An
    /// offset inside a masked span maps to the end of its mark.
    ///
    /// For callers that keep the spans without the text, as
    /// [`RedactionWindow`](crate::RedactionWindow) hands them out.
    pub fn result_offset(masked_spans: &[MaskedSpan], source: usize) -> usize {
        let before = masked_spans.partition_point(|cut| cut.source_span.start < source);
        match before.checked_sub(1).and_then(|last| masked_spans.get(last)) {
            None => source,
            Some(cut) => cut.result_span.end + source.saturating_sub(cut.source_span.end),
        }
    }
}

impl Redactor {
    /// Creates a redactor without known values and without numbers.
    pub fn new(pack: Arc<RulePack>) -> Self {
        Self { pack, known: KnownValues::default(), numbers: HashMap::new() }
    }

    /// Adds a known secret value, under the name of a rule.
    ///
    /// The value is masked wherever it appears: as it is, escaped as in JSON, percent-encoded, or
    /// inside base64. Values of less than 8 bytes are ignored, because they would be found inside
    /// ordinary words. A value that is added twice keeps its first rule.
    pub fn add_known(&mut self, rule: impl Into<Cow<'static, str>>, value: &[u8]) {
        self.known.add(rule.into(), value);
    }

    /// Reserves the numbers of all marks in a text, so that none of them is given to a new value.
    ///
    /// For a redactor that continues a run which another redactor began. Marks are those of the
    /// pack's rules and of `other_rules`.
    ///
    /// ```
    /// use reenact_secrets::{Redactor, RulePack};
    ///
    /// let mut redactor = Redactor::new(RulePack::standard());
    /// redactor.reserve_numbers(b"app:[masked:url-password:3]@db, [masked:environment:1]", &["environment"]);
    /// redactor.add_known("environment", b"correct horse");
    /// let redacted = redactor.redact(b"postgres://app:hunter2@db/ correct horse");
    /// assert_eq!(&redacted.bytes[..], b"postgres://app:[masked:url-password:4]@db/ [masked:environment:2]");
    /// ```
    pub fn reserve_numbers(&mut self, text: &[u8], other_rules: &[&str]) {
        for mark in mask_mark::find_marks(text) {
            let (Ok(rule), Ok(number)) = (str::from_utf8(mark.rule), str::from_utf8(mark.number)) else {
                continue;
            };
            let Some(number) = number.parse::<usize>().ok().filter(|number| *number <= MAX_RESERVED_NUMBER)
            else {
                continue;
            };
            match self.numbers.get_mut(rule) {
                Some(numbers) => numbers.highest = numbers.highest.max(number),
                // Marks of unknown rules are ignored: a hostile text could name any number of them.
                None if !self
                    .pack
                    .scan_with_marks(&text[mark.span.clone()], other_rules)
                    .marks
                    .is_empty() =>
                {
                    let numbers = RuleNumbers { highest: number, ..RuleNumbers::default() };
                    self.numbers.insert(Cow::Owned(rule.to_owned()), numbers);
                }
                None => {}
            }
        }
    }

    /// Returns the known values with their rules, in the order in which they were added.
    pub fn known_values(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.known.values()
    }

    /// Masks every known value and everything that a rule finds. Marks that are in the text already
    /// stay as they are.
    ///
    /// JSON escapes are decoded for the search. In a stream of server-sent events, the strings of
    /// the events are joined for the search: of a secret that is cut over several events, the first
    /// part becomes the mark and the other parts are removed. In a JSON document, strings at the same path are joined alike,
    /// such as the parts of a message.
    ///
    /// ```
    /// use reenact_secrets::{Redactor, RulePack};
    ///
    /// let mut redactor = Redactor::new(RulePack::standard());
    /// redactor.add_known("environment", b"correct horse");
    /// let redacted = redactor.redact(b"data: {\"text\":\"a corr\"}\n\ndata: {\"text\":\"ect h\\u006frse!\"}\n\n");
    /// assert_eq!(&redacted.bytes[..], b"data: {\"text\":\"a [masked:environment:1]\"}\n\ndata: {\"text\":\"!\"}\n\n");
    /// ```
    pub fn redact<'t>(&mut self, text: &'t [u8]) -> RedactedText<'t> {
        self.redact_with(text, Vec::new())
    }

    /// Masks a text as [`Redactor::redact`] does, and also the findings that the caller made, such
    /// as a header's value.
    pub(crate) fn redact_with<'t>(&mut self, text: &'t [u8], forced: Vec<SecretFinding>) -> RedactedText<'t> {
        let secrets = search::find_secrets(&self.pack, &mut self.known, text, forced, TextLayout::of(text));
        if secrets.is_empty() {
            return RedactedText { bytes: Cow::Borrowed(text), masked_spans: Vec::new() };
        }
        let mut bytes = Vec::with_capacity(text.len());
        let mut masked_spans = Vec::with_capacity(secrets.len());
        self.append_masked(text, &secrets, 0..text.len(), 0, &mut bytes, &mut masked_spans);
        RedactedText { bytes: Cow::Owned(bytes), masked_spans }
    }

    /// Returns everything in a part of a text that must be masked, in order. Strings that stand apart are not joined.
    pub(crate) fn find_secrets(&mut self, text: &[u8]) -> Vec<Secret> {
        search::find_secrets(&self.pack, &mut self.known, text, Vec::new(), TextLayout::Plain)
    }

    /// Returns the length in bytes of the longest known value; 0 if there is none.
    pub(crate) fn max_known_bytes(&self) -> usize {
        self.known_values().map(|(_, value)| value.len()).max().unwrap_or(0)
    }

    /// Appends the bytes `part` of a text to `bytes`, with marks in the place of secrets, and the
    /// replaced spans to `masked_spans`.
    ///
    /// Bytes before `masked_until` are left out: they belong to a secret whose mark was appended with the
    /// part before. Offsets in `masked_spans` count from the start of `text` and of `bytes`.
    pub(crate) fn append_masked(
        &mut self,
        text: &[u8],
        secrets: &[Secret],
        part: Range<usize>,
        masked_until: usize,
        bytes: &mut Vec<u8>,
        masked_spans: &mut Vec<MaskedSpan>,
    ) {
        let mut copied = part.start.max(masked_until).min(part.end);
        let rest = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        // All spans in order. The first span of a secret gets the mark, the others get nothing.
        let mut spans: Vec<(&Range<usize>, Option<&Secret>, &Cow<'static, str>)> =
            Vec::with_capacity(secrets.len());
        for secret in secrets {
            for (at, span) in secret.spans.iter().enumerate() {
                spans.push((span, (at == 0).then_some(secret), &secret.rule));
            }
        }
        spans.retain(|(span, ..)| span.start < part.end && span.end > copied);
        spans.sort_unstable_by_key(|(span, ..)| span.start);
        for (span, first, rule) in spans {
            let from = span.start.max(copied);
            bytes.extend_from_slice(rest(copied, from));
            let start = bytes.len();
            if let Some(secret) = first.filter(|_| span.start >= masked_until) {
                let known =
                    secret.known_id.and_then(|id| self.known.value(id)).map(|(_, value)| value.clone());
                let value = known.unwrap_or_else(|| {
                    let parts = secret.spans.iter().filter_map(|span| text.get(span.clone()));
                    mapped_text::decode_percent(&escape::fully_unescaped(parts.collect::<Vec<_>>().concat()))
                        .text
                });
                let number = number_of(&mut self.numbers, rule.clone(), value);
                bytes.extend_from_slice(mask_mark::format_mark(rule, number).as_bytes());
            }
            copied = span.end.min(part.end);
            masked_spans.push(MaskedSpan {
                rule: rule.clone(),
                source_span: from..copied,
                result_span: start..bytes.len(),
            });
        }
        bytes.extend_from_slice(rest(copied, part.end));
    }
}

/// Returns the number of a value under a rule, a new one if the value has none.
fn number_of(
    numbers: &mut HashMap<Cow<'static, str>, RuleNumbers>,
    rule: Cow<'static, str>,
    value: Vec<u8>,
) -> usize {
    let numbers = numbers.entry(rule).or_default();
    if let Some(number) = numbers.by_value.get(&value) {
        return *number;
    }
    numbers.highest += 1;
    numbers.by_value.insert(value, numbers.highest);
    numbers.highest
}

impl fmt::Debug for Redactor {
    /// Leaves the values out: debug output may reach a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("pack", &self.pack).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_behind_those_that_are_taken() {
        let mut redactor = Redactor::new(RulePack::standard());
        redactor.add_known("known", b"correct horse");
        assert_eq!(&redactor.redact(b"correct horse").bytes[..], b"[masked:known:1]");
        redactor.reserve_numbers(
            b"[masked:known:7][masked:known:3] [masked:credential:2",
            &["known", "credential"],
        );
        redactor.add_known("known", b"battery staple");
        redactor.add_known("credential", b"made-up credential");
        let redacted = redactor.redact(b"correct horse, battery staple, made-up credential");
        assert_eq!(&redacted.bytes[..], b"[masked:known:1], [masked:known:8], [masked:credential:1]");
    }

    /// A masked text may hold marks that somebody made up.
    #[test]
    fn made_up_marks_take_neither_memory_nor_numbers_out_of_reach() {
        let mut redactor = Redactor::new(RulePack::standard());
        redactor.reserve_numbers(
            b"[masked:of-nobody:1] [masked:known:9999999] [masked:known:1000000]",
            &["known"],
        );
        assert!(redactor.numbers.is_empty());
        redactor.reserve_numbers(b"[masked:known:999999]", &["known"]);
        redactor.add_known("known", b"correct horse");
        assert_eq!(&redactor.redact(b"correct horse").bytes[..], b"[masked:known:1000000]");
    }
}
