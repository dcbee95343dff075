//! Canonical form of a large text, written straight to its sink in memory that does not grow with the text.

use super::{ByteSink, CanonicalFault};
use crate::number::IntegerPolicy;
use crate::token;
use crate::unsorted_objects::UnsortedObjects;
use crate::value::{Value, ValueKind};

/// Writes the RFC 8785 form of `value`. See [`super::rewrite`].
pub(super) fn write<S: ByteSink>(
    value: Value<'_>,
    integers: IntegerPolicy,
    omitted: &[&str],
    out: &mut S,
) -> Result<(), CanonicalFault> {
    // The text was scanned before and cannot fail now.
    let disorder = value.rescan().unsorted_objects().unwrap_or_default();
    StreamingWriter { text: value.text(), integers, unsorted: &disorder, omitted, out }.value(0).map(|_| ())
}

/// Writer for one text that was scanned.
struct StreamingWriter<'a, S> {
    text: &'a [u8],
    integers: IntegerPolicy,
    unsorted: &'a UnsortedObjects,
    /// Names of the members of the outermost object that are left out.
    omitted: &'a [&'a str],
    out: &'a mut S,
}

impl<S: ByteSink> StreamingWriter<'_, S> {
    /// Writes the value that begins at `at` and returns the offset behind it. The text was scanned before, so that a byte that
    /// begins no value cannot occur; it would end the walk.
    fn value(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let at = token::skip_space(self.text, at);
        let Some(kind) = self.text.get(at).and_then(|&byte| ValueKind::of_first_byte(byte)) else {
            return Ok(self.text.len());
        };
        match kind {
            ValueKind::String => Ok(self.string(at)),
            ValueKind::Number => token::write_number(self.text, at, self.integers, self.out),
            ValueKind::Object => self.object(at),
            ValueKind::Array => self.array(at),
            ValueKind::True | ValueKind::Null => Ok(self.literal(at, 4)),
            ValueKind::False => Ok(self.literal(at, 5)),
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
        if let Some(names) = self.unsorted.sorted_names(start) {
            for &name in names {
                // The object ends behind the member that is last in the text, which need not be written last.
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

    /// Writes the member at `at` of the object at `object`, with a comma if it is not the first, unless it is to be left out.
    /// Returns the offset behind its value.
    fn next_member(
        &mut self,
        object: usize,
        at: usize,
        written: &mut usize,
    ) -> Result<usize, CanonicalFault> {
        if object == 0 && !self.omitted.is_empty() && token::is_named(self.text, at, self.omitted) {
            return Ok(token::member_end(self.text, at));
        }
        if *written > 0 {
            self.out.put(b",");
        }
        *written += 1;
        self.member(at)
    }

    /// Writes the member whose name has its opening quote at `at`; returns the offset behind its value.
    fn member(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let colon = self.string(at);
        let colon = token::skip_space(self.text, colon);
        self.out.put(b":");
        self.value(colon + 1)
    }
}
