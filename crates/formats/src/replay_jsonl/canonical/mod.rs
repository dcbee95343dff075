//! Canonical form of REPLAY.jsonl: member names sorted by code point in their escaped spelling, no white space,
//! numbers as serde_json 1.0.140 prints them. Strings are spelled as in RFC 8785.
//!
//! A first pass ([`is_canonical`]) finds out if a text has this form already and, for objects out of order, the right
//! order of their members; a second pass writes. Neither needs memory for the result.

mod number;

use reenact_json::canonical::ByteSink;
use reenact_json::token::{self, NameOrder, scan_number, scan_plain, scan_string};
use reenact_json::{CanonicalFault, CanonicalForm, Position, Value, ValueKind};

/// Returns true if the text of a value is its own canonical form.
pub fn is_canonical(value: Value<'_>) -> bool {
    CanonicalScan::of(value.text()).is_canonical
}

/// Canonical form of REPLAY.jsonl: names sorted by code point, escapes as in RFC 8785, numbers as serde_json 1.0.140
/// prints them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayJsonlForm;

impl CanonicalForm for ReplayJsonlForm {
    fn write<S: ByteSink>(self, value: Value<'_>, out: &mut S) -> Result<(), CanonicalFault> {
        let scan = CanonicalScan::of(value.text());
        if scan.is_canonical {
            out.put(value.text());
            return Ok(());
        }
        ReplayJsonlCanonicalWriter { scan: &scan, omitted: &[], out }.value(0).map(|_| ())
    }
}

/// Writes an object in canonical form without the members named in `omitted`. A value that is not an object is
/// written whole.
///
/// # Errors
///
/// [`CanonicalFault`] at the first number without a canonical text.
pub fn write_without<S: ByteSink>(
    object: Value<'_>,
    omitted: &[&str],
    out: &mut S,
) -> Result<(), CanonicalFault> {
    let scan = CanonicalScan::of(object.text());
    ReplayJsonlCanonicalWriter { scan: &scan, omitted, out }.value(0).map(|_| ())
}

/// Two offsets into the text: the start and end of a name, or the start of an object and of its list. Offsets fit
/// into 32 bits, because no text is longer than [`reenact_json::Limits::MAX_BYTES`].
type OffsetPair = (u32, u32);

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Result of the first pass over a scanned text.
struct CanonicalScan<'a> {
    text: &'a [u8],
    is_canonical: bool,
    /// Names of the open objects, those of the innermost object last.
    open_names: Vec<OffsetPair>,
    /// Objects out of order: the offset where each begins, and the index where its list begins in `sorted_members`.
    unsorted_objects: Vec<OffsetPair>,
    /// One list after the other, each of an object out of order: the number of its members, then the offsets of their
    /// names in sorted order.
    sorted_members: Vec<u32>,
}

impl<'a> CanonicalScan<'a> {
    fn of(text: &'a [u8]) -> Self {
        let mut scan = Self {
            text,
            is_canonical: true,
            open_names: Vec::new(),
            unsorted_objects: Vec::new(),
            sorted_members: Vec::new(),
        };
        scan.value(0);
        // Inner objects end first; the binary search needs them by where they begin.
        scan.unsorted_objects.sort_unstable();
        scan
    }

    /// Returns the offsets of the names of an object out of order, sorted; `None` for objects in order.
    fn sorted_names(&self, object: usize) -> Option<&[u32]> {
        let found = self.unsorted_objects.binary_search_by_key(&offset(object), |(at, _)| *at).ok()?;
        let from = self.unsorted_objects[found].1 as usize;
        let count = *self.sorted_members.get(from)? as usize;
        self.sorted_members.get(from + 1..from + 1 + count)
    }

    fn name_text(&self, (start, end): OffsetPair) -> &'a [u8] {
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Returns the offset of the next byte that is not white space. White space is not canonical, so any is noted.
    fn skip_space(&mut self, at: usize) -> usize {
        if self.text.get(at).is_none_or(|byte| *byte > b' ') {
            return at;
        }
        self.is_canonical = false;
        token::skip_space(self.text, at)
    }

    /// Scans the value at `at`; returns the offset behind it. The text has been scanned before, so syntax errors
    /// cannot occur and are passed over.
    fn value(&mut self, at: usize) -> usize {
        let at = self.skip_space(at);
        match self.text.get(at).and_then(|&byte| ValueKind::of_first_byte(byte)) {
            None => self.text.len(),
            Some(ValueKind::String) => self.string(at) + 1,
            Some(ValueKind::Number) => match scan_number(self.text, at) {
                Some(span) => {
                    let literal = &self.text[at..span.end];
                    self.is_canonical =
                        self.is_canonical && number::is_canonical_number(literal, span.is_integer);
                    span.end
                }
                None => self.text.len(),
            },
            Some(ValueKind::True | ValueKind::Null) => at + 4,
            Some(ValueKind::False) => at + 5,
            Some(ValueKind::Array) => self.array(at),
            Some(ValueKind::Object) => self.object(at),
        }
    }

    /// Scans the string at `at`; returns the offset of its closing quote.
    fn string(&mut self, at: usize) -> usize {
        if let Some((end, _)) = scan_plain(self.text, at + 1) {
            return end;
        }
        let Ok(span) = scan_string(self.text, at + 1) else { return self.text.len() };
        self.is_canonical &= span.canonical;
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
        let base = self.open_names.len();
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
            let before = self.open_names.last().filter(|_| sorted && self.open_names.len() > base);
            if let Some(&before) = before {
                sorted = NameOrder::CodePoints.compare(self.name_text(before), self.name_text(name)).is_lt();
            }
            self.open_names.push(name);
            let colon = self.skip_space(end + 1);
            at = self.value(colon + 1);
            at = self.skip_space(at);
        }
        if !sorted {
            self.note_sorted_names(start, base);
        }
        self.open_names.truncate(base);
        at + 1
    }

    /// Sorts the names of an object out of order, and keeps their order for the second pass.
    fn note_sorted_names(&mut self, object: usize, base: usize) {
        self.is_canonical = false;
        let text = self.text;
        let spelled = |(start, end): OffsetPair| text.get(start as usize..end as usize).unwrap_or_default();
        let names = &mut self.open_names[base..];
        names.sort_by(|a, b| NameOrder::CodePoints.compare(spelled(*a), spelled(*b)));
        self.unsorted_objects.push((offset(object), offset(self.sorted_members.len())));
        self.sorted_members.push(offset(names.len()));
        self.sorted_members.extend(names.iter().map(|(start, _)| *start));
    }
}

/// Second pass: writes the values of a text that the first pass has scanned.
struct ReplayJsonlCanonicalWriter<'a, S> {
    scan: &'a CanonicalScan<'a>,
    /// Names to leave out of the outermost object.
    omitted: &'a [&'a str],
    out: &'a mut S,
}

impl<S: ByteSink> ReplayJsonlCanonicalWriter<'_, S> {
    /// Writes the value at `at`; returns the offset behind it.
    fn value(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let text = self.scan.text;
        let at = token::skip_space(text, at);
        let Some(kind) = text.get(at).and_then(|&byte| ValueKind::of_first_byte(byte)) else {
            return Ok(text.len());
        };
        match kind {
            ValueKind::String => Ok(token::write_string(text, at, self.out)),
            ValueKind::Number => self.number(at),
            ValueKind::Object => self.object(at),
            ValueKind::Array => self.array(at),
            ValueKind::True | ValueKind::Null => Ok(self.literal(at, 4)),
            ValueKind::False => Ok(self.literal(at, 5)),
        }
    }

    fn literal(&mut self, at: usize, length: usize) -> usize {
        self.out.put(self.scan.text.get(at..at + length).unwrap_or_default());
        at + length
    }

    fn number(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let text = self.scan.text;
        let Some(span) = scan_number(text, at) else { return Ok(text.len()) };
        let literal = &text[at..span.end];
        if number::is_canonical_number(literal, span.is_integer) {
            self.out.put(literal);
            return Ok(span.end);
        }
        match number::canonical_number(literal) {
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
        let text = self.scan.text;
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
        let scan = self.scan;
        let mut end = token::skip_space(scan.text, start + 1);
        let mut before: &[u8] = b"{";
        if let Some(names) = scan.sorted_names(start) {
            for &name in names {
                // The object ends behind the member that comes last in the text, whichever is written last.
                end = end.max(self.member(start, name as usize - 1, &mut before)?);
            }
            end = token::skip_space(scan.text, end);
        } else {
            while let Some(&byte) = scan.text.get(end)
                && byte != b'}'
            {
                if byte == b',' {
                    end = token::skip_space(scan.text, end + 1);
                }
                end = self.member(start, end, &mut before)?;
                end = token::skip_space(scan.text, end);
            }
        }
        self.out.put(if before == b"{" { b"{}" } else { b"}" });
        Ok(end + 1)
    }

    /// Writes the member of `object` whose name's opening quote is at `at`, unless the name is to be left out;
    /// returns the offset behind the member.
    fn member(
        &mut self,
        object: usize,
        at: usize,
        before: &mut &'static [u8],
    ) -> Result<usize, CanonicalFault> {
        let text = self.scan.text;
        if object == 0 && !self.omitted.is_empty() && token::is_named(text, at, self.omitted) {
            return Ok(token::member_end(text, at));
        }
        self.out.put(core::mem::replace(before, b","));
        let colon = token::skip_space(text, token::write_string(text, at, self.out));
        self.out.put(b":");
        self.value(colon + 1)
    }
}
