//! Canonical bytes, written to a sink.
//!
//! Text that is already canonical goes through as it lies. Other text is written anew, member by member in canonical
//! order, straight from its spans: one more scan tells which objects are out of order (most are not), then a single
//! walk writes each value once. Time is linear in the text; memory is what the objects in disorder need, four bytes a
//! member.

use crate::digest::{Digest, Hasher};
use crate::limits::Limits;
use crate::number::{self, NumberFault};
use crate::profile::Profile;
use crate::scanner::{Disorder, Scanner};
use crate::string;
use crate::value::{Kind, Value};

/// Something that takes canonical bytes, piece by piece.
pub trait Sink {
    /// Takes the next piece.
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Why a value that is good JSON has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalFault {
    /// A number without canonical text. `literal` is cut when it is long.
    #[error("the number {literal} {fault}")]
    Number {
        /// The number as it stands in the text.
        literal: String,
        /// What is wrong with it.
        fault: NumberFault,
    },
}

/// Writes the canonical form of a value. After an error, what was written is to be thrown away.
pub fn write<S: Sink>(value: Value<'_>, profile: Profile, out: &mut S) -> Result<(), CanonicalFault> {
    match profile {
        Profile::Jcs => write_jcs(value, out),
    }
}

fn write_jcs<S: Sink>(value: Value<'_>, out: &mut S) -> Result<(), CanonicalFault> {
    if value.is_canonical() {
        out.put(value.text());
        return Ok(());
    }
    rewrite(value, &[], out)
}

fn rewrite<S: Sink>(value: Value<'_>, omitted: &[&str], out: &mut S) -> Result<(), CanonicalFault> {
    let disorder = match value.kind() {
        // The text was scanned before and cannot fail now.
        Kind::Object | Kind::Array => value.rescan().disorder().unwrap_or_default(),
        _ => Disorder::default(),
    };
    Writer { text: value.text(), disorder: &disorder, omitted, out }.value(0).map(|_| ())
}

/// The canonical form as bytes.
pub fn to_vec(value: Value<'_>, profile: Profile) -> Result<Vec<u8>, CanonicalFault> {
    let mut out = Vec::new();
    write(value, profile, &mut out)?;
    Ok(out)
}

/// What stands behind a name in an object that is put together from parts.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// A value from a document.
    Value(Value<'a>),
    /// Text of our own.
    Text(&'a str),
}

/// Writes an object of chosen members under RFC 8785. The names must be given in canonical order, each once, and need
/// no escapes: they are the constants of a format, not input.
pub fn write_object<S: Sink>(members: &[(&str, Part<'_>)], out: &mut S) -> Result<(), CanonicalFault> {
    debug_assert!(members.is_sorted_by(|(a, _), (b, _)| a.encode_utf16().lt(b.encode_utf16())));
    let mut before: &[u8] = b"{\"";
    for (name, part) in members {
        out.put(before);
        out.put(name.as_bytes());
        out.put(b"\":");
        match part {
            Part::Value(value) => write_jcs(*value, out)?,
            Part::Text(text) => string::write_text(text, out),
        }
        before = b",\"";
    }
    out.put(if members.is_empty() { b"{}" } else { b"}" });
    Ok(())
}

/// Writes an object without some of its members under RFC 8785: canonical text as the slices around them. A value that
/// is no object has no members to leave out and is written whole.
pub fn write_without<S: Sink>(
    object: Value<'_>,
    omitted: &[&str],
    out: &mut S,
) -> Result<(), CanonicalFault> {
    if !object.is_canonical() || object.kind() != Kind::Object {
        return rewrite(object, omitted, out);
    }
    let mut before: &[u8] = b"{";
    for (name, value) in object.members() {
        if !omitted.iter().any(|omitted| name.is_string(omitted)) {
            out.put(before);
            out.put(name.text());
            out.put(b":");
            out.put(value.text());
            before = b",";
        }
    }
    out.put(if before == b"{" { b"{}" } else { b"}" });
    Ok(())
}

/// The digest of a value's canonical form. `hasher` lends its room and is left empty.
pub fn digest(value: Value<'_>, profile: Profile, hasher: &mut Hasher) -> Result<Digest, CanonicalFault> {
    if profile == Profile::Jcs && value.is_canonical() {
        return Ok(Digest::of(value.text()));
    }
    hasher.clear();
    let written = write(value, profile, hasher);
    let digest = hasher.finish();
    written.map(|()| digest)
}

/// Writes the values of one scanned text.
struct Writer<'a, S> {
    text: &'a [u8],
    disorder: &'a Disorder,
    /// Names to leave out of the outermost object.
    omitted: &'a [&'a str],
    out: &'a mut S,
}

impl<S: Sink> Writer<'_, S> {
    /// Writes the value that begins at `at`; returns where it ends. Every text here was scanned, so that what cannot
    /// be there is simply passed over.
    fn value(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let at = self.skip_space(at);
        let Some(kind) = self.text.get(at).and_then(|&byte| Kind::of_first_byte(byte)) else {
            return Ok(self.text.len());
        };
        match kind {
            Kind::String => Ok(self.string(at)),
            Kind::Number => self.number(at),
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
        let Ok(span) = string::scan(self.text, at + 1) else { return self.text.len() };
        if span.canonical {
            self.out.put(&self.text[at..=span.end]);
        } else {
            string::write_scanned(&self.text[at + 1..span.end], self.out);
        }
        span.end + 1
    }

    fn number(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let Some(span) = number::scan(self.text, at) else { return Ok(self.text.len()) };
        let literal = &self.text[at..span.end];
        if number::is_canonical(literal, span.integer) {
            self.out.put(literal);
            return Ok(span.end);
        }
        let mut buffer = ryu_js::Buffer::new();
        match number::canonical(literal, &mut buffer) {
            Ok(text) => self.out.put(text),
            Err(fault) => {
                let literal = literal.iter().take(60).map(|&byte| char::from(byte)).collect();
                return Err(CanonicalFault::Number { literal, fault });
            }
        }
        Ok(span.end)
    }

    fn array(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        self.out.put(b"[");
        let mut at = self.skip_space(at + 1);
        while self.text.get(at).is_some_and(|&byte| byte != b']') {
            if self.text[at] == b',' {
                self.out.put(b",");
                at += 1;
            }
            at = self.value(at)?;
            at = self.skip_space(at);
        }
        self.out.put(b"]");
        Ok(at + 1)
    }

    fn object(&mut self, start: usize) -> Result<usize, CanonicalFault> {
        self.out.put(b"{");
        let mut end = self.skip_space(start + 1);
        let mut written = 0;
        if let Some(names) = self.disorder.names_of(start) {
            for &name in names {
                // The object ends after the member that stands last in the text, whenever that one is written.
                end = end.max(self.next_member(start, name as usize - 1, &mut written)?);
            }
            end = self.skip_space(end);
        } else {
            while self.text.get(end).is_some_and(|&byte| byte != b'}') {
                if self.text[end] == b',' {
                    end = self.skip_space(end + 1);
                }
                end = self.next_member(start, end, &mut written)?;
                end = self.skip_space(end);
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
        if object == 0 && !self.omitted.is_empty() && self.is_omitted(at) {
            return Ok(self.end_of_member(at));
        }
        if *written > 0 {
            self.out.put(b",");
        }
        *written += 1;
        self.member(at)
    }

    fn is_omitted(&self, at: usize) -> bool {
        let name = self.scanned(at);
        self.omitted.iter().any(|omitted| name.is_some_and(|name| name.is_string(omitted)))
    }

    fn scanned(&self, at: usize) -> Option<Value<'_>> {
        let limits = Limits { depth: Limits::DEEPEST, bytes: Limits::LARGEST };
        Scanner::over(self.text, at, limits).value().ok()
    }

    fn end_of_member(&self, at: usize) -> usize {
        let colon = self.scanned(at).map_or(self.text.len(), |name| self.skip_space(at + name.text().len()));
        let value = self.skip_space(colon + 1);
        self.scanned(value).map_or(self.text.len(), |found| value + found.text().len())
    }

    /// Writes the member whose name's opening quote lies at `at`; returns where its value ends.
    fn member(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let colon = self.string(at);
        let colon = self.skip_space(colon);
        self.out.put(b":");
        self.value(colon + 1)
    }

    #[inline]
    fn skip_space(&self, mut at: usize) -> usize {
        while matches!(self.text.get(at), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            at += 1;
        }
        at
    }
}
