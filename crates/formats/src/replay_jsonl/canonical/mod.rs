//! The form that REPLAY.jsonl hashes: names by code point and escaped, no white space, numbers as serde_json 1.0.140
//! prints them. Strings are spelled as RFC 8785 spells them.
//!
//! One walk tells whether a text has this form already, and where not, in which order the members of its objects belong;
//! a second one writes. Neither needs room for the result.

mod number;

use reenact_json::canonical::Sink;
use reenact_json::token::{self, Order, scan_number, scan_plain, scan_string};
use reenact_json::{CanonicalFault, CanonicalForm, Kind, Position, Value};

/// Whether the text of a value is its own canonical form.
pub fn is_canonical(value: Value<'_>) -> bool {
    Survey::of(value.text()).canonical
}

/// Canonical form of REPLAY.jsonl: names by code point, escapes as RFC 8785, numbers as serde_json 1.0.140 prints them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayJsonlForm;

impl CanonicalForm for ReplayJsonlForm {
    fn write<S: Sink>(self, value: Value<'_>, out: &mut S) -> Result<(), CanonicalFault> {
        let survey = Survey::of(value.text());
        if survey.canonical {
            out.put(value.text());
            return Ok(());
        }
        Writer { survey: &survey, omitted: &[], out }.value(0).map(|_| ())
    }
}

/// Writes an object without some of its members. A value that is no object is written whole.
pub fn write_without<S: Sink>(
    object: Value<'_>,
    omitted: &[&str],
    out: &mut S,
) -> Result<(), CanonicalFault> {
    let survey = Survey::of(object.text());
    Writer { survey: &survey, omitted, out }.value(0).map(|_| ())
}

/// Where the text of a name begins and ends. Offsets fit, because no text is longer than [`reenact_json::Limits::LARGEST`].
type Place = (u32, u32);

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// What the first walk over a scanned text finds.
struct Survey<'a> {
    text: &'a [u8],
    canonical: bool,
    /// The names of the open objects, innermost object last.
    names: Vec<Place>,
    /// For each object out of order: where it begins, and where its list begins in `members`.
    objects: Vec<Place>,
    /// How many members, and where their names begin, in the order in which they belong; object after object.
    members: Vec<u32>,
}

impl<'a> Survey<'a> {
    fn of(text: &'a [u8]) -> Self {
        let mut survey =
            Self { text, canonical: true, names: Vec::new(), objects: Vec::new(), members: Vec::new() };
        survey.value(0);
        // Inner objects end first; look-ups go by where they begin.
        survey.objects.sort_unstable();
        survey
    }

    fn names_of(&self, object: usize) -> Option<&[u32]> {
        let found = self.objects.binary_search_by_key(&offset(object), |(at, _)| *at).ok()?;
        let from = self.objects[found].1 as usize;
        let count = *self.members.get(from)? as usize;
        self.members.get(from + 1..from + 1 + count)
    }

    fn spelled(&self, (start, end): Place) -> &'a [u8] {
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The next byte that is not white space, of which there should be none.
    fn skip_space(&mut self, at: usize) -> usize {
        if self.text.get(at).is_none_or(|byte| *byte > b' ') {
            return at;
        }
        self.canonical = false;
        token::skip_space(self.text, at)
    }

    /// Walks over the value that begins at `at`; returns where it ends. The text was scanned, so that what cannot be
    /// there is passed over.
    fn value(&mut self, at: usize) -> usize {
        let at = self.skip_space(at);
        match self.text.get(at).and_then(|&byte| Kind::of_first_byte(byte)) {
            None => self.text.len(),
            Some(Kind::String) => self.string(at) + 1,
            Some(Kind::Number) => match scan_number(self.text, at) {
                Some(span) => {
                    let literal = &self.text[at..span.end];
                    self.canonical = self.canonical && number::is_own(literal, span.integer);
                    span.end
                }
                None => self.text.len(),
            },
            Some(Kind::True | Kind::Null) => at + 4,
            Some(Kind::False) => at + 5,
            Some(Kind::Array) => self.array(at),
            Some(Kind::Object) => self.object(at),
        }
    }

    /// The offset of the closing quote.
    fn string(&mut self, at: usize) -> usize {
        if let Some((end, _)) = scan_plain(self.text, at + 1) {
            return end;
        }
        let Ok(span) = scan_string(self.text, at + 1) else { return self.text.len() };
        self.canonical &= span.canonical;
        span.end
    }

    fn array(&mut self, at: usize) -> usize {
        let mut at = self.skip_space(at + 1);
        while let Some(&byte) = self.text.get(at)
            && byte != b']'
        {
            at = self.value(if byte == b',' { at + 1 } else { at });
            at = self.skip_space(at);
        }
        at + 1
    }

    fn object(&mut self, start: usize) -> usize {
        let base = self.names.len();
        let mut sorted = true;
        let mut at = self.skip_space(start + 1);
        while let Some(&byte) = self.text.get(at)
            && byte != b'}'
        {
            if byte == b',' {
                at = self.skip_space(at + 1);
            }
            let end = self.string(at);
            let name = (offset(at + 1), offset(end));
            let before = self.names.last().filter(|_| sorted && self.names.len() > base);
            if let Some(&before) = before {
                sorted = Order::CodePoints.compare(self.spelled(before), self.spelled(name)).is_lt();
            }
            self.names.push(name);
            let colon = self.skip_space(end + 1);
            at = self.value(colon + 1);
            at = self.skip_space(at);
        }
        if !sorted {
            self.sort(start, base);
        }
        self.names.truncate(base);
        at + 1
    }

    fn sort(&mut self, object: usize, base: usize) {
        self.canonical = false;
        let text = self.text;
        let spelled = |(start, end): Place| text.get(start as usize..end as usize).unwrap_or_default();
        let names = &mut self.names[base..];
        names.sort_by(|a, b| Order::CodePoints.compare(spelled(*a), spelled(*b)));
        self.objects.push((offset(object), offset(self.members.len())));
        self.members.push(offset(names.len()));
        self.members.extend(names.iter().map(|(start, _)| *start));
    }
}

/// Writes the values of a text that was surveyed.
struct Writer<'a, S> {
    survey: &'a Survey<'a>,
    /// Names to leave out of the outermost object.
    omitted: &'a [&'a str],
    out: &'a mut S,
}

impl<S: Sink> Writer<'_, S> {
    /// Writes the value that begins at `at`; returns where it ends.
    fn value(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let text = self.survey.text;
        let at = token::skip_space(text, at);
        let Some(kind) = text.get(at).and_then(|&byte| Kind::of_first_byte(byte)) else {
            return Ok(text.len());
        };
        match kind {
            Kind::String => Ok(token::write_string(text, at, self.out)),
            Kind::Number => self.number(at),
            Kind::Object => self.object(at),
            Kind::Array => self.array(at),
            Kind::True | Kind::Null => Ok(self.literal(at, 4)),
            Kind::False => Ok(self.literal(at, 5)),
        }
    }

    fn literal(&mut self, at: usize, length: usize) -> usize {
        self.out.put(self.survey.text.get(at..at + length).unwrap_or_default());
        at + length
    }

    fn number(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let text = self.survey.text;
        let Some(span) = scan_number(text, at) else { return Ok(text.len()) };
        let literal = &text[at..span.end];
        if number::is_own(literal, span.integer) {
            self.out.put(literal);
            return Ok(span.end);
        }
        match number::text(literal) {
            Ok(printed) => self.out.put(printed.as_bytes()),
            Err(fault) => {
                let literal = literal.iter().take(60).map(|&byte| char::from(byte)).collect();
                let path = Position::of(text, at).path;
                return Err(CanonicalFault::Number { path, literal, fault });
            }
        }
        Ok(span.end)
    }

    fn array(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let text = self.survey.text;
        self.out.put(b"[");
        let mut at = token::skip_space(text, at + 1);
        while let Some(&byte) = text.get(at)
            && byte != b']'
        {
            if byte == b',' {
                self.out.put(b",");
                at += 1;
            }
            at = self.value(at)?;
            at = token::skip_space(text, at);
        }
        self.out.put(b"]");
        Ok(at + 1)
    }

    fn object(&mut self, start: usize) -> Result<usize, CanonicalFault> {
        let survey = self.survey;
        let mut end = token::skip_space(survey.text, start + 1);
        let mut before: &[u8] = b"{";
        if let Some(names) = survey.names_of(start) {
            for &name in names {
                // The object ends after the member that stands last in the text, whenever that one is written.
                end = end.max(self.member(start, name as usize - 1, &mut before)?);
            }
            end = token::skip_space(survey.text, end);
        } else {
            while let Some(&byte) = survey.text.get(end)
                && byte != b'}'
            {
                if byte == b',' {
                    end = token::skip_space(survey.text, end + 1);
                }
                end = self.member(start, end, &mut before)?;
                end = token::skip_space(survey.text, end);
            }
        }
        self.out.put(if before == b"{" { b"{}" } else { b"}" });
        Ok(end + 1)
    }

    /// Writes the member of `object` whose name's opening quote lies at `at`, unless it is one to leave out.
    fn member(
        &mut self,
        object: usize,
        at: usize,
        before: &mut &'static [u8],
    ) -> Result<usize, CanonicalFault> {
        let text = self.survey.text;
        if object == 0 && !self.omitted.is_empty() && token::is_named(text, at, self.omitted) {
            return Ok(token::end_of_member(text, at));
        }
        self.out.put(core::mem::replace(before, b","));
        let colon = token::skip_space(text, token::write_string(text, at, self.out));
        self.out.put(b":");
        self.value(colon + 1)
    }
}
