//! Canonical form of a small text, built in memory in one pass.

use core::ops::Range;

use super::{ByteSink, CanonicalFault};
use crate::name_order;
use crate::number::IntegerPolicy;
use crate::string;
use crate::token;
use crate::value::{Value, ValueKind};

/// Writes the RFC 8785 form of `value`. See [`super::rewrite`].
pub(super) fn write<S: ByteSink>(
    value: Value<'_>,
    integers: IntegerPolicy,
    omitted: &[&str],
    out: &mut S,
) -> Result<(), CanonicalFault> {
    let text = value.text();
    let written = Vec::with_capacity(text.len());
    let mut writer =
        InMemoryWriter { text, integers, omitted, out: written, members: Vec::new(), scratch: Vec::new() };
    writer.value(0)?;
    out.put(&writer.out);
    Ok(())
}

/// Writer for one text that was scanned.
struct InMemoryWriter<'a> {
    text: &'a [u8],
    integers: IntegerPolicy,
    /// Names of the members of the outermost object that are left out.
    omitted: &'a [&'a str],
    out: Vec<u8>,
    /// Members of the open objects, innermost object last.
    members: Vec<WrittenMember>,
    /// Buffer in which the members of one object are put in order.
    scratch: Vec<u8>,
}

/// Member of an open object that is in the output already.
#[derive(Clone)]
struct WrittenMember {
    /// Sort key of the name; zero for a name that is not plain.
    sort_key: u64,
    /// Range of the name in the text, between its quotes.
    name: Range<usize>,
    /// Range of the member in the output, with the comma before it.
    written: Range<usize>,
}

impl InMemoryWriter<'_> {
    /// Writes the value that begins at `at`; returns the offset behind it.
    fn value(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let at = token::skip_space(self.text, at);
        let Some(kind) = self.text.get(at).and_then(|&byte| ValueKind::of_first_byte(byte)) else {
            return Ok(self.text.len());
        };
        match kind {
            ValueKind::String => Ok(token::write_string(self.text, at, &mut self.out)),
            ValueKind::Number => token::write_number(self.text, at, self.integers, &mut self.out),
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

    fn array(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        self.out.push(b'[');
        let mut at = token::skip_space(self.text, at + 1);
        while let Some(&byte) = self.text.get(at)
            && byte != b']'
        {
            if byte == b',' {
                self.out.push(b',');
                at += 1;
            }
            at = self.value(at)?;
            at = token::skip_space(self.text, at);
        }
        self.out.push(b']');
        Ok(at + 1)
    }

    fn object(&mut self, start: usize) -> Result<usize, CanonicalFault> {
        let base = self.members.len();
        let begin = self.out.len();
        let (mut sorted, mut plain) = (true, true);
        let mut at = token::skip_space(self.text, start + 1);
        while let Some(&byte) = self.text.get(at)
            && byte != b'}'
        {
            if byte == b',' {
                at = token::skip_space(self.text, at + 1);
            }
            if start == 0 && !self.omitted.is_empty() && token::is_named(self.text, at, self.omitted) {
                at = token::member_end(self.text, at);
            } else {
                let (name, key) = self.name(at);
                plain &= key.is_some();
                let key = key.unwrap_or_default();
                let before = self.members.last().filter(|_| self.members.len() > base);
                sorted = sorted && before.is_none_or(|before| self.comes_before(before, key, &name, plain));
                let from = self.out.len();
                self.out.push(b',');
                let end = token::write_string(self.text, at, &mut self.out);
                self.out.push(b':');
                let colon = token::skip_space(self.text, end);
                at = self.value(colon + 1)?;
                self.members.push(WrittenMember { sort_key: key, name, written: from..self.out.len() });
            }
            at = token::skip_space(self.text, at);
        }
        if !sorted {
            self.sort_members(base, begin, plain);
        }
        self.members.truncate(base);
        // The opening brace takes the place of the comma before the first member.
        match self.out.get_mut(begin) {
            Some(first) => *first = b'{',
            None => self.out.push(b'{'),
        }
        self.out.push(b'}');
        Ok(at + 1)
    }

    /// Returns the range of the name whose opening quote is at `at`, and its sort key if it is plain.
    fn name(&self, at: usize) -> (Range<usize>, Option<u64>) {
        match string::scan_plain(self.text, at + 1) {
            Some((end, key)) => (at + 1..end, Some(key)),
            None => {
                let end = string::scan(self.text, at + 1).map_or(self.text.len(), |span| span.end);
                (at + 1..end, None)
            }
        }
    }

    /// Returns true if a member with that name and key may follow `before` in canonical order.
    fn comes_before(&self, before: &WrittenMember, key: u64, name: &Range<usize>, plain: bool) -> bool {
        let (a, b) = (&self.text[before.name.clone()], &self.text[name.clone()]);
        if plain {
            before.sort_key < key || before.sort_key == key && a < b
        } else {
            name_order::compare_utf16(a, b).is_lt()
        }
    }

    /// Sorts the members from index `base` on, which are in the output from offset `begin` on, into canonical order.
    fn sort_members(&mut self, base: usize, begin: usize, plain: bool) {
        let text = self.text;
        let members = &mut self.members[base..];
        let spelled = |member: &WrittenMember| &text[member.name.clone()];
        if plain {
            members.sort_by(|a, b| a.sort_key.cmp(&b.sort_key).then_with(|| spelled(a).cmp(spelled(b))));
        } else {
            members.sort_by(|a, b| name_order::compare_utf16(spelled(a), spelled(b)));
        }
        self.scratch.clear();
        for member in members {
            self.scratch.extend_from_slice(&self.out[member.written.clone()]);
        }
        self.out.truncate(begin);
        self.out.extend_from_slice(&self.scratch);
    }
}
