//! Puts marks in the place of secrets.

use crate::known::Known;
use crate::search::{self, Secret};
use crate::{Finding, Pack, escape, placeholder};
use core::fmt;
use core::ops::Range;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// A pack, the values that are known to be secret, and the numbers that were given out.
///
/// ```
/// use reenact_secrets::{Pack, Redactor};
///
/// let mut redactor = Redactor::new(Pack::standard());
/// let redacted = redactor.redact(b"url: postgres://app:hunter2@db/main");
/// assert_eq!(&redacted.bytes[..], b"url: postgres://app:[masked:url-password:1]@db/main");
/// assert_eq!(redacted.position(20), 20);
/// assert_eq!(redacted.position(27), 43);
/// ```
pub struct Redactor {
    pack: Arc<Pack>,
    known: Known,
    numbers: HashMap<Cow<'static, str>, Numbers>,
}

/// The numbers of one rule.
#[derive(Default)]
struct Numbers {
    given: HashMap<Vec<u8>, usize>,
    /// The highest that is taken, by a value or by a mark whose value nobody knows any more.
    last: usize,
}

/// No larger number is reserved. Nobody has a million secrets of one kind, but anybody can write a mark that says so: the
/// numbers behind it must still be numbers of marks.
const LARGEST_RESERVED: usize = 999_999;

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'t> {
    /// The text; borrowed if nothing was cut.
    pub bytes: Cow<'t, [u8]>,
    /// What was cut, in order.
    pub cuts: Vec<Cut>,
}

/// One place where a secret was, or a part of one: a mark took the place of the first part, and nothing that of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The rule that found the secret, or under which it was made known.
    pub rule: Cow<'static, str>,
    /// Where the secret was.
    pub source: Range<usize>,
    /// Where the mark is. Empty for a part that is not the first.
    pub result: Range<usize>,
}

impl Redacted<'_> {
    /// Where an offset of the source lies in the result. An offset inside a cut moves to the cut's end.
    pub fn position(&self, source: usize) -> usize {
        Cut::position(&self.cuts, source)
    }
}

impl Cut {
    /// Where an offset of a source lies when these cuts are made, which are in order. An offset inside a cut moves to its end.
    pub fn position(cuts: &[Cut], source: usize) -> usize {
        let before = cuts.partition_point(|cut| cut.source.start < source);
        match before.checked_sub(1).and_then(|last| cuts.get(last)) {
            None => source,
            Some(cut) => cut.result.end + source.saturating_sub(cut.source.end),
        }
    }
}

impl Redactor {
    /// Begins with no known value and no number given out.
    pub fn new(pack: Arc<Pack>) -> Self {
        Self { pack, known: Known::default(), numbers: HashMap::new() }
    }

    /// Makes a value known: it is masked wherever it appears, also escaped as in JSON, in a URL, or inside
    /// base64. Values under 8 bytes are ignored: they would be found in words. The first rule that a value is
    /// given is its rule.
    pub fn know(&mut self, rule: impl Into<Cow<'static, str>>, value: &[u8]) {
        self.known.add(rule.into(), value);
    }

    /// Takes the numbers of all marks in a text: none of them is given to a value from now on. For whoever goes on with
    /// what another redactor masked. Marks are those of the pack's rules and of `others`.
    ///
    /// ```
    /// use reenact_secrets::{Pack, Redactor};
    ///
    /// let mut redactor = Redactor::new(Pack::standard());
    /// redactor.reserve(b"app:[masked:url-password:3]@db, [masked:environment:1]", &["environment"]);
    /// redactor.know("environment", b"correct horse");
    /// let redacted = redactor.redact(b"postgres://app:hunter2@db/ correct horse");
    /// assert_eq!(&redacted.bytes[..], b"postgres://app:[masked:url-password:4]@db/ [masked:environment:2]");
    /// ```
    pub fn reserve(&mut self, text: &[u8], others: &[&str]) {
        for mark in placeholder::marks(text) {
            let (Ok(rule), Ok(number)) = (str::from_utf8(mark.rule), str::from_utf8(mark.number)) else {
                continue;
            };
            let Some(number) = number.parse::<usize>().ok().filter(|number| *number <= LARGEST_RESERVED)
            else {
                continue;
            };
            match self.numbers.get_mut(rule) {
                Some(numbers) => numbers.last = numbers.last.max(number),
                // Only names that are ours are kept: of others there is no end.
                None if !self.pack.pass(&text[mark.span.clone()], others).marks.is_empty() => {
                    let numbers = Numbers { last: number, ..Numbers::default() };
                    self.numbers.insert(Cow::Owned(rule.to_owned()), numbers);
                }
                None => {}
            }
        }
    }

    /// The values that are known, each under its rule.
    pub fn known(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.known.values()
    }

    /// Masks everything that is known or that a rule finds. Marks that are there already stay as they are.
    ///
    /// What JSON spells with escapes is read as it is meant. In a stream of events, what the events tell together is looked
    /// through: of a secret that is cut over several of them, the first part becomes the mark and the others go.
    ///
    /// ```
    /// use reenact_secrets::{Pack, Redactor};
    ///
    /// let mut redactor = Redactor::new(Pack::standard());
    /// redactor.know("environment", b"correct horse");
    /// let redacted = redactor.redact(b"data: {\"text\":\"a corr\"}\n\ndata: {\"text\":\"ect h\\u006frse!\"}\n\n");
    /// assert_eq!(&redacted.bytes[..], b"data: {\"text\":\"a [masked:environment:1]\"}\n\ndata: {\"text\":\"!\"}\n\n");
    /// ```
    pub fn redact<'t>(&mut self, text: &'t [u8]) -> Redacted<'t> {
        self.masked(text, Vec::new())
    }

    /// Masks what is found, and what the caller found by itself.
    pub(crate) fn masked<'t>(&mut self, text: &'t [u8], forced: Vec<Finding>) -> Redacted<'t> {
        let secrets = search::secrets(&self.pack, &mut self.known, text, forced);
        if secrets.is_empty() {
            return Redacted { bytes: Cow::Borrowed(text), cuts: Vec::new() };
        }
        let mut bytes = Vec::with_capacity(text.len());
        let mut cuts = Vec::with_capacity(secrets.len());
        self.cut(text, &secrets, 0..text.len(), 0, &mut bytes, &mut cuts);
        Redacted { bytes: Cow::Owned(bytes), cuts }
    }

    /// Everything to be masked in a text.
    pub(crate) fn secrets(&mut self, text: &[u8]) -> Vec<Secret> {
        search::secrets(&self.pack, &mut self.known, text, Vec::new())
    }

    /// The longest value that is known.
    pub(crate) fn longest_known(&self) -> usize {
        self.known().map(|(_, value)| value.len()).max().unwrap_or(0)
    }

    /// Appends a part of a text with marks in the place of secrets. What lies before `hidden` is left out: a mark stands for it
    /// already.
    pub(crate) fn cut(
        &mut self,
        text: &[u8],
        secrets: &[Secret],
        part: Range<usize>,
        hidden: usize,
        bytes: &mut Vec<u8>,
        cuts: &mut Vec<Cut>,
    ) {
        let mut copied = part.start.max(hidden).min(part.end);
        let rest = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        // All places in order; the first of a secret gets the mark, the others get nothing.
        let mut places: Vec<(&Range<usize>, Option<&Secret>, &Cow<'static, str>)> =
            Vec::with_capacity(secrets.len());
        for secret in secrets {
            for (at, place) in secret.places.iter().enumerate() {
                places.push((place, (at == 0).then_some(secret), &secret.rule));
            }
        }
        places.retain(|(place, ..)| place.start < part.end && place.end > copied);
        places.sort_unstable_by_key(|(place, ..)| place.start);
        for (place, first, rule) in places {
            let from = place.start.max(copied);
            bytes.extend_from_slice(rest(copied, from));
            let start = bytes.len();
            if let Some(secret) = first.filter(|_| place.start >= hidden) {
                let known = secret.known.and_then(|id| self.known.value(id)).map(|(_, value)| value.clone());
                let value = known.unwrap_or_else(|| {
                    let said = secret.places.iter().filter_map(|place| text.get(place.clone()));
                    escape::spelled_out(said.collect::<Vec<_>>().concat())
                });
                let number = number(&mut self.numbers, rule.clone(), value);
                bytes.extend_from_slice(placeholder::mark(rule, number).as_bytes());
            }
            copied = place.end.min(part.end);
            cuts.push(Cut { rule: rule.clone(), source: from..copied, result: start..bytes.len() });
        }
        bytes.extend_from_slice(rest(copied, part.end));
    }
}

fn number(
    numbers: &mut HashMap<Cow<'static, str>, Numbers>,
    rule: Cow<'static, str>,
    value: Vec<u8>,
) -> usize {
    let numbers = numbers.entry(rule).or_default();
    if let Some(number) = numbers.given.get(&value) {
        return *number;
    }
    numbers.last += 1;
    numbers.given.insert(value, numbers.last);
    numbers.last
}

impl fmt::Debug for Redactor {
    /// Says nothing of the values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("pack", &self.pack).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_behind_those_that_are_taken() {
        let mut redactor = Redactor::new(Pack::standard());
        redactor.know("known", b"correct horse");
        assert_eq!(&redactor.redact(b"correct horse").bytes[..], b"[masked:known:1]");
        redactor.reserve(b"[masked:known:7][masked:known:3] [masked:credential:2", &["known", "credential"]);
        redactor.know("known", b"battery staple");
        redactor.know("credential", b"made-up credential");
        let redacted = redactor.redact(b"correct horse, battery staple, made-up credential");
        assert_eq!(&redacted.bytes[..], b"[masked:known:1], [masked:known:8], [masked:credential:1]");
    }

    /// What is masked may hold marks that someone made up.
    #[test]
    fn made_up_marks_take_neither_memory_nor_numbers_out_of_reach() {
        let mut redactor = Redactor::new(Pack::standard());
        redactor.reserve(b"[masked:of-nobody:1] [masked:known:9999999] [masked:known:1000000]", &["known"]);
        assert!(redactor.numbers.is_empty());
        redactor.reserve(b"[masked:known:999999]", &["known"]);
        redactor.know("known", b"correct horse");
        assert_eq!(&redactor.redact(b"correct horse").bytes[..], b"[masked:known:1000000]");
    }
}
