//! The canonical form of a small text, put together in memory.

use core::ops::Range;

use super::{CanonicalFault, Sink};
use crate::number::Integers;
use crate::order;
use crate::string;
use crate::token;
use crate::value::{Kind, Value};

pub(super) fn write<S: Sink>(
    value: Value<'_>,
    integers: Integers,
    omitted: &[&str],
    out: &mut S,
) -> Result<(), CanonicalFault> {
    let text = value.text();
    let written = Vec::with_capacity(text.len());
    let mut writer = Writer { text, integers, omitted, out: written, members: Vec::new(), spare: Vec::new() };
    writer.value(0)?;
    out.put(&writer.out);
    Ok(())
}

struct Writer<'a> {
    text: &'a [u8],
    integers: Integers,
    /// Names to leave out of the outermost object.
    omitted: &'a [&'a str],
    out: Vec<u8>,
    /// The members of the open objects, innermost object last.
    members: Vec<Member>,
    /// Room to move members in.
    spare: Vec<u8>,
}

/// A member that was written.
#[derive(Clone)]
struct Member {
    /// The first eight bytes of its name, as a number that sorts as they do; of a name that is not plain, nothing.
    key: u64,
    /// Its name, in the text.
    name: Range<usize>,
    /// What was written of it, with the byte that parts it from the one before.
    written: Range<usize>,
}

impl Writer<'_> {
    /// Writes the value that begins at `at`; returns where it ends.
    fn value(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let at = token::skip_space(self.text, at);
        let Some(kind) = self.text.get(at).and_then(|&byte| Kind::of_first_byte(byte)) else {
            return Ok(self.text.len());
        };
        match kind {
            Kind::String => Ok(token::write_string(self.text, at, &mut self.out)),
            Kind::Number => token::write_number(self.text, at, self.integers, &mut self.out),
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
                at = token::end_of_member(self.text, at);
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
                self.members.push(Member { key, name, written: from..self.out.len() });
            }
            at = token::skip_space(self.text, at);
        }
        if !sorted {
            self.rearrange(base, begin, plain);
        }
        self.members.truncate(base);
        // The comma before the first member makes room for the brace.
        match self.out.get_mut(begin) {
            Some(first) => *first = b'{',
            None => self.out.push(b'{'),
        }
        self.out.push(b'}');
        Ok(at + 1)
    }

    /// The place of the name whose opening quote lies at `at`, and its key if it is plain.
    fn name(&self, at: usize) -> (Range<usize>, Option<u64>) {
        match string::scan_plain(self.text, at + 1) {
            Some((end, key)) => (at + 1..end, Some(key)),
            None => {
                let end = string::scan(self.text, at + 1).map_or(self.text.len(), |span| span.end);
                (at + 1..end, None)
            }
        }
    }

    fn comes_before(&self, before: &Member, key: u64, name: &Range<usize>, plain: bool) -> bool {
        let (a, b) = (&self.text[before.name.clone()], &self.text[name.clone()]);
        if plain { before.key < key || before.key == key && a < b } else { order::compare(a, b).is_lt() }
    }

    /// Puts the members from `base` on, which were written from `begin` on, into canonical order.
    fn rearrange(&mut self, base: usize, begin: usize, plain: bool) {
        let text = self.text;
        let members = &mut self.members[base..];
        let spelled = |member: &Member| &text[member.name.clone()];
        if plain {
            members.sort_by(|a, b| a.key.cmp(&b.key).then_with(|| spelled(a).cmp(spelled(b))));
        } else {
            members.sort_by(|a, b| order::compare(spelled(a), spelled(b)));
        }
        self.spare.clear();
        for member in members {
            self.spare.extend_from_slice(&self.out[member.written.clone()]);
        }
        self.out.truncate(begin);
        self.out.extend_from_slice(&self.spare);
    }
}
