//! A walk over scanned text that writes it anew.

use reenact_json::canonical::Sink;
use reenact_json::token::{end_of_value, scan_number, scan_string, skip_space};
use reenact_json::{CanonicalFault, Kind, Position, Scanned, Value};

use super::list;
use super::name::{self, Class, Rule};
use super::text::{self, LineEnds};
use super::{number, path, time};

/// Writes the values of one text that a scanner has passed: in the whole form, in the stripped form, or in both at once.
///
/// A caller that knows the shape of a document opens its objects and lists and decides of each member where it goes; any
/// value is written by [`Walk::value`].
pub struct Walk<'a, 's, W, T> {
    pub(super) text: &'a [u8],
    pub(super) scanned: &'a Scanned<'a>,
    whole: &'s mut W,
    stripped: &'s mut T,
    is_whole: bool,
    is_stripped: bool,
    is_respelled: bool,
    /// What is to go to the forms that are turned on: they take few large pieces faster than many small ones.
    gathered: Vec<u8>,
}

/// How much is gathered.
const GATHER: usize = 8 * 1024;
/// Most names and values are no longer.
const SHORT: usize = 32;

/// An object that is being written.
#[derive(Debug)]
pub struct Object<'a> {
    /// The names that are still to come, if they stand out of order.
    names: Option<core::slice::Iter<'a, u32>>,
    /// The furthest that its members have been read.
    end: usize,
    /// Whether a member was written, in each form.
    has_whole: bool,
    has_stripped: bool,
}

/// A member that comes next and is not written yet.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// Its name.
    pub name: Value<'a>,
    /// Where its value begins.
    pub at: usize,
    /// Where its name begins.
    start: usize,
    is_plain: bool,
    class: Class,
}

/// A list that is being written.
#[derive(Debug, Clone, Copy)]
pub struct List {
    end: usize,
    is_first: bool,
}

impl<'a, 's, W: Sink, T: Sink> Walk<'a, 's, W, T> {
    /// A walk that writes both forms.
    pub fn new(scanned: &'a Scanned<'a>, whole: &'s mut W, stripped: &'s mut T) -> Self {
        let gathered = Vec::with_capacity(GATHER);
        Self {
            text: scanned.text(),
            scanned,
            whole,
            stripped,
            is_whole: true,
            is_stripped: true,
            is_respelled: false,
            gathered,
        }
    }

    /// Turns the writing of each form on or off.
    #[inline]
    pub fn turn(&mut self, whole: bool, stripped: bool) {
        if (whole, stripped) == self.forms() {
            return;
        }
        self.flush();
        self.is_whole = whole;
        self.is_stripped = stripped;
    }

    /// Whether each form is being written.
    #[inline]
    pub(super) fn forms(&self) -> (bool, bool) {
        (self.is_whole, self.is_stripped)
    }

    /// Whether any value or order was another than in the text, white space aside.
    pub fn is_respelled(&self) -> bool {
        self.is_respelled
    }

    /// Notes that something was another than in the text.
    pub(super) fn respelled(&mut self, is_respelled: bool) {
        self.is_respelled |= is_respelled;
    }

    /// The sink of the stripped form, with all that was written to it.
    pub fn stripped(&mut self) -> &mut T {
        self.flush();
        self.stripped
    }

    /// The sink of the whole form, with all that was written to it.
    pub fn whole(&mut self) -> &mut W {
        self.flush();
        self.whole
    }

    /// Hands on what was gathered.
    fn flush(&mut self) {
        if self.is_whole {
            self.whole.put(&self.gathered);
        }
        if self.is_stripped {
            self.stripped.put(&self.gathered);
        }
        self.gathered.clear();
    }

    /// Writes to the forms that are turned on.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        if self.gathered.len() + bytes.len() > GATHER && self.pour(bytes) {
            return;
        }
        self.gathered.extend_from_slice(bytes);
    }

    /// Writes what stands in the text from `from` to `to`.
    #[inline]
    pub(super) fn put_text(&mut self, from: usize, to: usize) {
        let length = to - from;
        let Some(chunk) =
            self.text.get(from..).and_then(<[u8]>::first_chunk::<SHORT>).filter(|_| length <= SHORT)
        else {
            self.put(self.text.get(from..to).unwrap_or_default());
            return;
        };
        // As many bytes for every short piece: how long one is cannot be foreseen, and a copy of just that length would
        // have to find out.
        if self.gathered.len() + SHORT > GATHER {
            self.flush();
        }
        let end = self.gathered.len() + length;
        self.gathered.extend_from_slice(chunk);
        self.gathered.truncate(end);
    }

    /// Hands on what was gathered, and `bytes` too if they are many; says whether they were.
    #[cold]
    fn pour(&mut self, bytes: &[u8]) -> bool {
        self.flush();
        let are_many = bytes.len() >= GATHER / 2;
        if are_many && self.is_whole {
            self.whole.put(bytes);
        }
        if are_many && self.is_stripped {
            self.stripped.put(bytes);
        }
        are_many
    }

    /// What stands at `at`; white space may come first.
    pub fn kind(&self, at: usize) -> Option<Kind> {
        self.text.get(skip_space(self.text, at)).and_then(|&byte| Kind::of_first_byte(byte))
    }

    /// What stands from `at` to `end`, where writing it has found its end.
    pub fn span(&self, at: usize, end: usize) -> Option<Value<'a>> {
        self.scanned.value(skip_space(self.text, at), end)
    }

    /// Where the value at `at` ends, by reading it again.
    pub fn end_of(&self, at: usize) -> usize {
        end_of_value(self.text, at)
    }

    /// Writes the value at `at`, which stands under no name; returns where it ends. After an error, what was written is to be
    /// thrown away.
    pub fn value(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let end = self.value_by(at, Rule::Plain)?;
        self.flush();
        Ok(end)
    }

    /// Writes the value of a member.
    pub fn member(&mut self, member: &Found<'_>) -> Result<usize, CanonicalFault> {
        self.value_by(member.at, member.class.rule)
    }

    pub(super) fn value_by(&mut self, at: usize, rule: Rule) -> Result<usize, CanonicalFault> {
        let at = skip_space(self.text, at);
        let Some(kind) = self.text.get(at).and_then(|&byte| Kind::of_first_byte(byte)) else {
            return Ok(self.text.len());
        };
        match kind {
            Kind::String => self.string(at, rule),
            Kind::Number => self.number(at),
            Kind::Object => self.object(at),
            Kind::Array if rule == Rule::Unordered => list::write(self, at),
            Kind::Array => self.array(at),
            Kind::True | Kind::Null => Ok(self.literal(at, 4)),
            Kind::False => Ok(self.literal(at, 5)),
        }
    }

    fn literal(&mut self, at: usize, length: usize) -> usize {
        self.put_text(at, at + length);
        at + length
    }

    #[inline]
    fn string(&mut self, at: usize, rule: Rule) -> Result<usize, CanonicalFault> {
        if matches!(rule, Rule::Path | Rule::Time) {
            return self.string_by(at, rule);
        }
        if let Some(end) = text::plain(self.text, at) {
            self.put_text(at, end);
            return Ok(end);
        }
        let text = self.text;
        let (end, is_respelled) = text::write(text, at, LineEnds::Unified, self);
        self.respelled(is_respelled);
        Ok(end)
    }

    /// A path or a time.
    fn string_by(&mut self, at: usize, rule: Rule) -> Result<usize, CanonicalFault> {
        let is_normal = if rule == Rule::Path { path::is_normal } else { time::is_normal };
        if let Some(end) = text::plain(self.text, at)
            && is_normal(&self.text[at + 1..end - 1])
        {
            self.put(&self.text[at..end]);
            return Ok(end);
        }
        let Ok(span) = scan_string(self.text, at + 1) else { return Ok(self.text.len()) };
        let text = text::unified(&self.text[at + 1..span.end]);
        let normal = match rule {
            Rule::Path => path::normal(&text),
            _ => time::normal(&text).map_err(|_| CanonicalFault::Time {
                path: Position::of(self.text, at).path,
                text: text.chars().take(60).collect(),
            })?,
        };
        let mut spelled = Vec::with_capacity(normal.len() + 2);
        text::write_text(&normal, &mut spelled);
        self.respelled(self.text.get(at..=span.end) != Some(&spelled));
        self.put(&spelled);
        Ok(span.end + 1)
    }

    fn number(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let Some(span) = scan_number(self.text, at) else { return Ok(self.text.len()) };
        let literal = &self.text[at..span.end];
        let mut buffer = [0; 40];
        match number::text(literal, span.integer, &mut buffer) {
            Ok(text) => {
                self.respelled(text != literal);
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

    fn array(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let mut list = self.open_list(at);
        while let Some(at) = self.next_element(&mut list) {
            let end = self.value_by(at, Rule::Plain)?;
            self.wrote_element(&mut list, end);
        }
        Ok(self.close_list(list))
    }

    /// Opens the list at `at`.
    pub fn open_list(&mut self, at: usize) -> List {
        self.put(b"[");
        List { end: skip_space(self.text, at) + 1, is_first: true }
    }

    /// Where the next element begins. Whoever gets one writes it and says where it ended.
    #[inline]
    pub fn next_element(&mut self, list: &mut List) -> Option<usize> {
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

    /// Goes on behind an element.
    #[inline]
    pub fn wrote_element(&mut self, list: &mut List, end: usize) {
        list.end = end;
        list.is_first = false;
    }

    /// Closes a list; returns where it ends.
    pub fn close_list(&mut self, list: List) -> usize {
        self.put(b"]");
        list.end + 1
    }

    fn object(&mut self, at: usize) -> Result<usize, CanonicalFault> {
        let forms = self.forms();
        let mut object = self.open_object(at);
        while let Some(member) = self.next_member(&mut object) {
            if member.class.volatile && forms.1 {
                if !forms.0 {
                    self.pass_over(&mut object, &member);
                    continue;
                }
                self.turn(true, false);
            }
            self.write_name(&mut object, &member);
            let end = self.member(&member)?;
            self.wrote_member(&mut object, end);
            self.turn(forms.0, forms.1);
        }
        Ok(self.close_object(object))
    }

    /// Opens the object at `at`.
    #[inline]
    pub fn open_object(&mut self, at: usize) -> Object<'a> {
        let at = skip_space(self.text, at);
        self.put(b"{");
        let names = self.scanned.names_of(at).map(<[u32]>::iter);
        self.respelled(names.is_some());
        Object { names, end: at + 1, has_whole: false, has_stripped: false }
    }

    /// The next member in the order of code points. Whoever gets one either writes it, its name first, or passes it over.
    #[inline]
    pub fn next_member(&mut self, object: &mut Object<'a>) -> Option<Found<'a>> {
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
        let plain = text::plain(self.text, at);
        let end = match plain {
            Some(end) => end,
            None => scan_string(self.text, at + 1).ok()?.end + 1,
        };
        let class = name::class(self.text.get(at + 1..end - 1).unwrap_or_default(), plain.is_some());
        let name = self.scanned.string(at, end, plain.is_none())?;
        let is_plain = plain.is_some();
        Some(Found { name, at: skip_space(self.text, end) + 1, start: at, is_plain, class })
    }

    /// Writes the name of a member to the forms that are turned on.
    #[inline]
    pub fn write_name(&mut self, object: &mut Object<'a>, member: &Found<'a>) {
        let Found { start, is_plain, at, .. } = *member;
        let end = start + member.name.text().len();
        if object.has_whole == object.has_stripped || self.forms() != (true, true) {
            let is_first = if self.is_whole { !object.has_whole } else { !object.has_stripped };
            if !is_first {
                self.put(b",");
            }
        } else {
            // One form has lost all members before this one.
            self.flush();
            if object.has_whole {
                self.whole.put(b",");
            } else {
                self.stripped.put(b",");
            }
        }
        object.has_whole |= self.is_whole;
        object.has_stripped |= self.is_stripped;
        if is_plain && end + 1 == at {
            // Name and colon as they stand.
            self.put_text(start, at);
            return;
        }
        if is_plain {
            self.put_text(start, end);
        } else {
            let (_, is_respelled) = text::write(self.text, start, LineEnds::Kept, self);
            self.respelled(is_respelled);
        }
        self.put(b":");
    }

    /// Goes on behind a member whose value ends at `end`.
    #[inline]
    pub fn wrote_member(&mut self, object: &mut Object<'a>, end: usize) {
        // Members out of order end where they end; the object ends behind the last one of the text.
        object.end = object.end.max(end);
    }

    /// Leaves a member out.
    pub fn pass_over(&mut self, object: &mut Object<'a>, member: &Found<'a>) {
        let end = self.end_of(member.at);
        self.wrote_member(object, end);
    }

    /// Closes an object; returns where it ends.
    #[inline]
    pub fn close_object(&mut self, object: Object<'a>) -> usize {
        self.put(b"}");
        skip_space(self.text, object.end) + 1
    }
}

impl<W: Sink, T: Sink> Sink for Walk<'_, '_, W, T> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        Walk::put(self, bytes);
    }
}
