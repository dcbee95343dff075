//! The canonical form of a large text, straight to its sink.

use super::{CanonicalFault, Sink};
use crate::disorder::Disorder;
use crate::number::Integers;
use crate::token;
use crate::value::{Kind, Value};

pub(super) fn write<S: Sink>(
    value: Value<'_>,
    integers: Integers,
    omitted: &[&str],
    out: &mut S,
) -> Result<(), CanonicalFault> {
    // The text was scanned before and cannot fail now.
    let disorder = value.rescan().disorder().unwrap_or_default();
    Writer { text: value.text(), integers, disorder: &disorder, omitted, out }.value(0).map(|_| ())
}

/// Writes the values of one scanned text.
struct Writer<'a, S> {
    text: &'a [u8],
    integers: Integers,
    disorder: &'a Disorder,
    /// Names to leave out of the outermost object.
    omitted: &'a [&'a str],
    out: &'a mut S,
}

impl<S: Sink> Writer<'_, S> {
    /// Writes the value that begins at `at`; returns where it ends. Every text here was scanned, so that what cannot
    /// be there is simply passed over.
    fn value(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let at = token::skip_space(self.text, at);
        let Some(kind) = self.text.get(at).and_then(|&byte| Kind::of_first_byte(byte)) else {
            return Ok(self.text.len());
        };
        match kind {
            Kind::String => Ok(self.string(at)),
            Kind::Number => token::write_number(self.text, at, self.integers, self.out),
            Kind::Object => self.object(at),
            Kind::Array => self.array(at),
            Kind::True | Kind::Null => Ok(self.literal(at, 4)),
            Kind::False => Ok(self.literal(at, 5)),
        }
    }

    fn literal(&mut self, at: usize, length: usize) -> usize {
        self.out.put(self.text.get(at..at + length).unwrap_or_default());
        at + length
    }

    fn string(&mut self, at: usize) -> usize {
        token::write_string(self.text, at, self.out)
    }

    fn array(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        self.out.put(b"[");
        let mut at = token::skip_space(self.text, at + 1);
        while self.text.get(at).is_some_and(|&byte| byte != b']') {
            if self.text[at] == b',' {
                self.out.put(b",");
                at += 1;
            }
            at = self.value(at)?;
            at = token::skip_space(self.text, at);
        }
        self.out.put(b"]");
        Ok(at + 1)
    }

    fn object(&mut self, start: usize) -> Result<usize, CanonicalFault> {
        self.out.put(b"{");
        let mut end = token::skip_space(self.text, start + 1);
        let mut written = 0;
        if let Some(names) = self.disorder.names_of(start) {
            for &name in names {
                // The object ends after the member that stands last in the text, whenever that one is written.
                end = end.max(self.next_member(start, name as usize - 1, &mut written)?);
            }
            end = token::skip_space(self.text, end);
        } else {
            while self.text.get(end).is_some_and(|&byte| byte != b'}') {
                if self.text[end] == b',' {
                    end = token::skip_space(self.text, end + 1);
                }
                end = self.next_member(start, end, &mut written)?;
                end = token::skip_space(self.text, end);
            }
        }
        self.out.put(b"}");
        Ok(end + 1)
    }

    /// Writes one more member of the object at `object`, unless it is one to leave out.
    fn next_member(
        &mut self,
        object: usize,
        at: usize,
        written: &mut usize,
    ) -> Result<usize, CanonicalFault> {
        if object == 0 && !self.omitted.is_empty() && token::is_named(self.text, at, self.omitted) {
            return Ok(token::end_of_member(self.text, at));
        }
        if *written > 0 {
            self.out.put(b",");
        }
        *written += 1;
        self.member(at)
    }

    /// Writes the member whose name's opening quote lies at `at`; returns where its value ends.
    fn member(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let colon = self.string(at);
        let colon = token::skip_space(self.text, colon);
        self.out.put(b":");
        self.value(colon + 1)
    }
}
