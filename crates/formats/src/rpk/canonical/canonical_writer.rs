//! Canonical writer: walks over scanned text and writes it in one form or in both.

use reenact_json::canonical::ByteSink;
use reenact_json::token::{scan_number, scan_string, skip_space, value_end};
use reenact_json::{CanonicalFault, Position, ScannedText, Value, ValueKind};

use super::name_class::{self, RpkNameClass, RpkValueRule};
use super::sorted_list;
use super::text::{self, LineEndPolicy};
use super::{number, path, time};

/// Writer of the values of one scanned text: in the whole form, in the stripped form, or in both at once.
///
/// A caller that knows the shape of a document opens its objects and lists and decides for each member which form it
/// goes to; any other value is written by [`RpkCanonicalWriter::write_value`].
pub struct RpkCanonicalWriter<'a, 's, W, T> {
    pub(super) text: &'a [u8],
    pub(super) scanned: &'a ScannedText<'a>,
    whole: &'s mut W,
    stripped: &'s mut T,
    writes_whole: bool,
    writes_stripped: bool,
    is_respelled: bool,
    /// Output for the enabled forms, not flushed yet: hashers take few large pieces faster than many small ones.
    buffer: Vec<u8>,
}

/// Capacity of the buffer, in bytes.
const BUFFER_BYTES: usize = 8 * 1024;
/// Length that most names and values do not exceed, in bytes.
const SHORT_BYTES: usize = 32;

/// Object that is being written.
#[derive(Debug)]
pub struct OpenRpkObject<'a> {
    /// Offsets of the names still to come, if they are out of order in the text.
    names: Option<core::slice::Iter<'a, u32>>,
    /// Largest offset up to which members have been read.
    end: usize,
    /// True if a member was written to the whole form; the next flag says the same of the stripped form.
    has_whole_member: bool,
    has_stripped_member: bool,
}

/// Next member, not written yet.
#[derive(Debug, Clone, Copy)]
pub struct RpkMemberRef<'a> {
    /// Name of the member.
    pub name: Value<'a>,
    /// Offset where the value begins.
    pub value_start: usize,
    /// Offset where the name begins.
    name_start: usize,
    is_plain: bool,
    class: RpkNameClass,
}

/// List that is being written.
#[derive(Debug, Clone, Copy)]
pub struct OpenRpkList {
    end: usize,
    is_first: bool,
}

impl<'a, 's, W: ByteSink, T: ByteSink> RpkCanonicalWriter<'a, 's, W, T> {
    /// Makes a writer with both forms enabled.
    pub fn new(scanned: &'a ScannedText<'a>, whole: &'s mut W, stripped: &'s mut T) -> Self {
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        Self {
            text: scanned.text(),
            scanned,
            whole,
            stripped,
            writes_whole: true,
            writes_stripped: true,
            is_respelled: false,
            buffer,
        }
    }

    /// Enables or disables each form.
    #[inline]
    pub fn enable_forms(&mut self, whole: bool, stripped: bool) {
        if (whole, stripped) == self.enabled_forms() {
            return;
        }
        self.flush();
        self.writes_whole = whole;
        self.writes_stripped = stripped;
    }

    /// Returns true for each form that is enabled.
    #[inline]
    pub(super) fn enabled_forms(&self) -> (bool, bool) {
        (self.writes_whole, self.writes_stripped)
    }

    /// Returns true if any value or order differed from the text so far, white space aside.
    pub fn is_respelled(&self) -> bool {
        self.is_respelled
    }

    /// Notes a difference from the text, if there is one.
    pub(super) fn note_respelling(&mut self, is_respelled: bool) {
        self.is_respelled |= is_respelled;
    }

    /// Flushes; returns the sink of the stripped form.
    pub fn stripped(&mut self) -> &mut T {
        self.flush();
        self.stripped
    }

    /// Flushes; returns the sink of the whole form.
    pub fn whole(&mut self) -> &mut W {
        self.flush();
        self.whole
    }

    /// Flushes the buffer to the enabled forms.
    fn flush(&mut self) {
        if self.writes_whole {
            self.whole.put(&self.buffer);
        }
        if self.writes_stripped {
            self.stripped.put(&self.buffer);
        }
        self.buffer.clear();
    }

    /// Writes bytes to the enabled forms.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES && self.flush_before(bytes) {
            return;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Writes the text from `from` to `to`.
    #[inline]
    pub(super) fn put_text(&mut self, from: usize, to: usize) {
        let length = to - from;
        let Some(chunk) = self
            .text
            .get(from..)
            .and_then(<[u8]>::first_chunk::<SHORT_BYTES>)
            .filter(|_| length <= SHORT_BYTES)
        else {
            self.put(self.text.get(from..to).unwrap_or_default());
            return;
        };
        // A short piece is copied with a fixed length and then truncated: its own length is unpredictable, and a copy
        // of just that length would branch on it.
        if self.buffer.len() + SHORT_BYTES > BUFFER_BYTES {
            self.flush();
        }
        let end = self.buffer.len() + length;
        self.buffer.extend_from_slice(chunk);
        self.buffer.truncate(end);
    }

    /// Flushes the buffer, and writes `bytes` directly if they are many; returns true if it did.
    #[cold]
    fn flush_before(&mut self, bytes: &[u8]) -> bool {
        self.flush();
        let are_many = bytes.len() >= BUFFER_BYTES / 2;
        if are_many && self.writes_whole {
            self.whole.put(bytes);
        }
        if are_many && self.writes_stripped {
            self.stripped.put(bytes);
        }
        are_many
    }

    /// Returns the kind of the value at `at`; white space may come first.
    pub fn kind(&self, at: usize) -> Option<ValueKind> {
        self.text.get(skip_space(self.text, at)).and_then(|&byte| ValueKind::of_first_byte(byte))
    }

    /// Returns the value from `at` to `end`, where writing it has found its end.
    pub fn value_between(&self, at: usize, end: usize) -> Option<Value<'a>> {
        self.scanned.value(skip_space(self.text, at), end)
    }

    /// Returns the offset behind the value at `at`, by scanning it again.
    pub fn end_of(&self, at: usize) -> usize {
        value_end(self.text, at)
    }

    /// Writes the value at `at`, which stands under no name; returns the offset behind it.
    ///
    /// # Errors
    ///
    /// [`CanonicalFault`] if a value has no canonical form. The output must then be discarded.
    pub fn write_value(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let end = self.write_value_by(at, RpkValueRule::Plain)?;
        self.flush();
        Ok(end)
    }

    /// Writes the value of a member; returns the offset behind it.
    ///
    /// # Errors
    ///
    /// As [`RpkCanonicalWriter::write_value`].
    pub fn write_member_value(&mut self, member: &RpkMemberRef<'_>) -> Result<usize, CanonicalFault> {
        self.write_value_by(member.value_start, member.class.rule)
    }

    pub(super) fn write_value_by(&mut self, at: usize, rule: RpkValueRule) -> Result<usize, CanonicalFault> {
        let at = skip_space(self.text, at);
        let Some(kind) = self.text.get(at).and_then(|&byte| ValueKind::of_first_byte(byte)) else {
            return Ok(self.text.len());
        };
        match kind {
            ValueKind::String => self.write_string(at, rule),
            ValueKind::Number => self.write_number(at),
            ValueKind::Object => self.write_object(at),
            ValueKind::Array if rule == RpkValueRule::Unordered => sorted_list::write_sorted_list(self, at),
            ValueKind::Array => self.write_array(at),
            ValueKind::True | ValueKind::Null => Ok(self.write_literal(at, 4)),
            ValueKind::False => Ok(self.write_literal(at, 5)),
        }
    }

    fn write_literal(&mut self, at: usize, length: usize) -> usize {
        self.put_text(at, at + length);
        at + length
    }

    #[inline]
    fn write_string(&mut self, at: usize, rule: RpkValueRule) -> Result<usize, CanonicalFault> {
        if matches!(rule, RpkValueRule::Path | RpkValueRule::Time) {
            return self.write_path_or_time(at, rule);
        }
        if let Some(end) = text::plain_string_end(self.text, at) {
            self.put_text(at, end);
            return Ok(end);
        }
        let text = self.text;
        let (end, is_respelled) = text::write_string(text, at, LineEndPolicy::Unified, self);
        self.note_respelling(is_respelled);
        Ok(end)
    }

    /// Writes a string that is a path or a time.
    fn write_path_or_time(&mut self, at: usize, rule: RpkValueRule) -> Result<usize, CanonicalFault> {
        let is_normal = if rule == RpkValueRule::Path { path::is_normalized } else { time::is_normalized };
        if let Some(end) = text::plain_string_end(self.text, at)
            && is_normal(&self.text[at + 1..end - 1])
        {
            self.put(&self.text[at..end]);
            return Ok(end);
        }
        let Ok(span) = scan_string(self.text, at + 1) else { return Ok(self.text.len()) };
        let text = text::unescaped_with_line_feeds(&self.text[at + 1..span.end]);
        let normal = match rule {
            RpkValueRule::Path => path::normalized(&text),
            _ => time::normalized(&text).map_err(|_| CanonicalFault::Time {
                path: Position::of(self.text, at).path,
                text: text.chars().take(60).collect(),
            })?,
        };
        let mut spelled = Vec::with_capacity(normal.len() + 2);
        text::write_text(&normal, &mut spelled);
        self.note_respelling(self.text.get(at..=span.end) != Some(&spelled));
        self.put(&spelled);
        Ok(span.end + 1)
    }

    fn write_number(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let Some(span) = scan_number(self.text, at) else { return Ok(self.text.len()) };
        let literal = &self.text[at..span.end];
        let mut buffer = [0; 40];
        match number::canonical_number(literal, span.is_integer, &mut buffer) {
            Ok(text) => {
                self.note_respelling(text != literal);
                self.put(text);
                Ok(span.end)
            }
            Err(fault) => Err(CanonicalFault::Number {
                path: Position::of(self.text, at).path,
                literal: literal.iter().take(60).map(|&byte| char::from(byte)).collect(),
                fault,
            }),
        }
    }

    fn write_array(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let mut list = self.open_list(at);
        while let Some(at) = self.next_element(&mut list) {
            let end = self.write_value_by(at, RpkValueRule::Plain)?;
            self.finish_element(&mut list, end);
        }
        Ok(self.close_list(list))
    }

    /// Opens the list at `at`.
    pub fn open_list(&mut self, at: usize) -> OpenRpkList {
        self.put(b"[");
        OpenRpkList { end: skip_space(self.text, at) + 1, is_first: true }
    }

    /// Returns the offset of the next element. The caller writes the element, then calls
    /// [`RpkCanonicalWriter::finish_element`].
    #[inline]
    pub fn next_element(&mut self, list: &mut OpenRpkList) -> Option<usize> {
        let at = skip_space(self.text, list.end);
        match self.text.get(at) {
            Some(b']') | None => {
                list.end = at;
                None
            }
            Some(b',') => {
                self.put(b",");
                Some(skip_space(self.text, at + 1))
            }
            Some(_) if list.is_first => Some(at),
            Some(_) => None,
        }
    }

    /// Continues behind an element that ends at `end`.
    #[inline]
    pub fn finish_element(&mut self, list: &mut OpenRpkList, end: usize) {
        list.end = end;
        list.is_first = false;
    }

    /// Closes a list; returns the offset behind it.
    pub fn close_list(&mut self, list: OpenRpkList) -> usize {
        self.put(b"]");
        list.end + 1
    }

    fn write_object(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let forms = self.enabled_forms();
        let mut object = self.open_object(at);
        while let Some(member) = self.next_member(&mut object) {
            if member.class.volatile && forms.1 {
                if !forms.0 {
                    self.skip_member(&mut object, &member);
                    continue;
                }
                self.enable_forms(true, false);
            }
            self.write_name(&mut object, &member);
            let end = self.write_member_value(&member)?;
            self.finish_member(&mut object, end);
            self.enable_forms(forms.0, forms.1);
        }
        Ok(self.close_object(object))
    }

    /// Opens the object at `at`.
    #[inline]
    pub fn open_object(&mut self, at: usize) -> OpenRpkObject<'a> {
        let at = skip_space(self.text, at);
        self.put(b"{");
        let names = self.scanned.sorted_names(at).map(<[u32]>::iter);
        self.note_respelling(names.is_some());
        OpenRpkObject { names, end: at + 1, has_whole_member: false, has_stripped_member: false }
    }

    /// Returns the next member in the order of code points. The caller either writes it, name first, or skips it.
    #[inline]
    pub fn next_member(&mut self, object: &mut OpenRpkObject<'a>) -> Option<RpkMemberRef<'a>> {
        let at = match &mut object.names {
            Some(names) => *names.next()? as usize - 1,
            None => {
                let at = skip_space(self.text, object.end);
                match self.text.get(at) {
                    Some(b'"') => at,
                    Some(b',') => skip_space(self.text, at + 1),
                    _ => {
                        object.end = at;
                        return None;
                    }
                }
            }
        };
        let plain = text::plain_string_end(self.text, at);
        let end = match plain {
            Some(end) => end,
            None => scan_string(self.text, at + 1).ok()?.end + 1,
        };
        let class = name_class::class(self.text.get(at + 1..end - 1).unwrap_or_default(), plain.is_some());
        let name = self.scanned.string(at, end, plain.is_none())?;
        let is_plain = plain.is_some();
        Some(RpkMemberRef {
            name,
            value_start: skip_space(self.text, end) + 1,
            name_start: at,
            is_plain,
            class,
        })
    }

    /// Writes the name of a member to the enabled forms.
    #[inline]
    pub fn write_name(&mut self, object: &mut OpenRpkObject<'a>, member: &RpkMemberRef<'a>) {
        let RpkMemberRef { name_start: start, is_plain, value_start: at, .. } = *member;
        let end = start + member.name.text().len();
        if object.has_whole_member == object.has_stripped_member || self.enabled_forms() != (true, true) {
            let is_first =
                if self.writes_whole { !object.has_whole_member } else { !object.has_stripped_member };
            if !is_first {
                self.put(b",");
            }
        } else {
            // One form has no members yet, so only the other needs a comma.
            self.flush();
            if object.has_whole_member {
                self.whole.put(b",");
            } else {
                self.stripped.put(b",");
            }
        }
        object.has_whole_member |= self.writes_whole;
        object.has_stripped_member |= self.writes_stripped;
        if is_plain && end + 1 == at {
            // Name and colon as they stand.
            self.put_text(start, at);
            return;
        }
        if is_plain {
            self.put_text(start, end);
        } else {
            let (_, is_respelled) = text::write_string(self.text, start, LineEndPolicy::Kept, self);
            self.note_respelling(is_respelled);
        }
        self.put(b":");
    }

    /// Continues behind a member whose value ends at `end`.
    #[inline]
    pub fn finish_member(&mut self, object: &mut OpenRpkObject<'a>, end: usize) {
        // Members may be visited out of order; the object ends behind the last one of the text.
        object.end = object.end.max(end);
    }

    /// Leaves a member out.
    pub fn skip_member(&mut self, object: &mut OpenRpkObject<'a>, member: &RpkMemberRef<'a>) {
        let end = self.end_of(member.value_start);
        self.finish_member(object, end);
    }

    /// Closes an object; returns the offset behind it.
    #[inline]
    pub fn close_object(&mut self, object: OpenRpkObject<'a>) -> usize {
        self.put(b"}");
        skip_space(self.text, object.end) + 1
    }
}

impl<W: ByteSink, T: ByteSink> ByteSink for RpkCanonicalWriter<'_, '_, W, T> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        RpkCanonicalWriter::put(self, bytes);
    }
}
