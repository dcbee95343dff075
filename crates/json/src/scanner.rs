//! The strict scanner: the only front door for untrusted JSON.
//!
//! It pulls: a caller who knows the shape of a document enters its objects and arrays and takes each value as a span;
//! whatever the caller does not look into is still checked to the last byte. On top of RFC 8259 it refuses a byte order
//! mark, duplicate names (however they are spelled), lone surrogates and what exceeds its [`Limits`], and it tells of
//! each value whether its text is already canonical (RFC 8785), so that it can be hashed where it lies.
//!
//! Memory: eight bytes for each member of the objects that are open. Nothing is kept of a value that was read.

use crate::disorder::Disorder;
use crate::limits::Limits;
pub use crate::names::Room;
use crate::names::{self, Place, offset, spelled};
use crate::number;
pub use crate::open::{OpenArray, OpenObject};
use crate::order::Order;
use crate::run::{is_one_space, skip_spaces};
use crate::scanned::Scanned;
use crate::string::{self, Characters};
use crate::syntax::{SyntaxError, SyntaxFault};
use crate::value::{Kind, Value};

/// A position in one JSON text, and what is needed to go on from there.
pub struct Scanner<'a> {
    input: &'a [u8],
    at: usize,
    depth: u32,
    limits: Limits,
    /// Where the names of the open objects begin and end, innermost object last. Needed only when an object turns out
    /// not to be in order, but then all of them are needed.
    names: Vec<Place>,
    /// Whether what was read since a mark is canonical.
    canonical: bool,
    /// Whether the last string had an escape.
    escaped: bool,
    /// What objects were out of order, for the canonical writer.
    disorder: Option<Disorder>,
    /// What names are held to.
    order: Order,
}

type Result<T> = core::result::Result<T, SyntaxError>;

/// What the inner walk gives; see `From<Box<SyntaxError>>`.
type Checked<T> = core::result::Result<T, Box<SyntaxError>>;

impl<'a> Scanner<'a> {
    /// Stands before the first byte of a text.
    pub fn new(input: &'a [u8], limits: &Limits) -> Result<Self> {
        let limits =
            Limits { depth: limits.depth.min(Limits::DEEPEST), bytes: limits.bytes.min(Limits::LARGEST) };
        if input.len() > limits.bytes {
            let fault = SyntaxFault::TooLarge { bytes: input.len(), limit: limits.bytes };
            return Err(SyntaxError { offset: limits.bytes, fault });
        }
        let refused = match input {
            [0xEF, 0xBB, 0xBF, ..] => Some(SyntaxFault::ByteOrderMark),
            [0xFE, 0xFF, ..] | [0xFF, 0xFE, ..] | [0, _, ..] | [_, 0, ..] => Some(SyntaxFault::Utf16),
            _ => None,
        };
        match refused {
            Some(fault) => Err(SyntaxError { offset: 0, fault }),
            None => Ok(Self::over(input, 0, limits)),
        }
    }

    /// Stands at `at` in a text that was scanned before.
    pub(crate) fn over(input: &'a [u8], at: usize, limits: Limits) -> Self {
        Self {
            input,
            at,
            depth: 0,
            limits,
            names: Vec::new(),
            canonical: true,
            escaped: false,
            disorder: None,
            order: Order::Utf16,
        }
    }

    /// Takes over the room that another scanner has left.
    pub fn within(mut self, room: Room) -> Self {
        self.names = room.into_places();
        self
    }

    /// Leaves its room to the next.
    pub fn into_room(self) -> Room {
        Room::of(self.names)
    }

    /// From here on, holds names to the order of code points, and notes which objects stand in another: the canonical
    /// writers of profiles that sort so need it. No value is then called canonical whose names are not all plain ASCII.
    pub fn noting_disorder(mut self) -> Self {
        self.order = Order::CodePoints;
        self.disorder = Some(Disorder::default());
        self
    }

    /// The text up to here, for a writer that walks over it again. Only a scanner that is [`Scanner::noting_disorder`] knows which
    /// objects are out of order.
    pub fn into_scanned(self) -> Scanned<'a> {
        let text = self.input.get(..self.at).unwrap_or_default();
        Scanned::new(text, self.disorder.unwrap_or_default().arranged())
    }

    /// The offset of the next byte to read.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Whether all that was read so far, white space included, is canonical.
    pub fn is_canonical(&self) -> bool {
        self.canonical
    }

    /// What kind of value comes next, by its first byte.
    pub fn kind(&mut self) -> Result<Kind> {
        self.skip_space();
        self.peek().and_then(Kind::of_first_byte).ok_or_else(|| *self.no_value())
    }

    #[cold]
    fn no_value(&self) -> Box<SyntaxError> {
        if self.at == self.input.len() && self.depth == 0 {
            return self.fault(SyntaxFault::Empty);
        }
        self.unexpected("a value")
    }

    /// Takes the next value whole, checked to its last byte.
    #[inline]
    pub fn value(&mut self) -> Result<Value<'a>> {
        // Plain strings, which most values of a format's own members are, need none of the care below.
        if self.peek() == Some(b'"')
            && let Some((end, _)) = string::scan_plain(self.input, self.at + 1)
        {
            let text = &self.input[self.at..=end];
            self.at = end + 1;
            return Ok(Value::scanned(text, Kind::String, true, false));
        }
        self.other_value()
    }

    #[inline(never)]
    fn other_value(&mut self) -> Result<Value<'a>> {
        self.skip_space();
        let start = self.at;
        let outside = core::mem::replace(&mut self.canonical, true);
        let Some(kind) = self.peek().and_then(Kind::of_first_byte) else {
            self.canonical = outside;
            return Err(*self.no_value());
        };
        self.any()?;
        let canonical = self.canonical;
        self.canonical = outside && canonical;
        let text = &self.input[start..self.at];
        let escaped = kind == Kind::String && self.escaped;
        Ok(Value::scanned(text, kind, canonical, escaped))
    }

    /// As [`Scanner::value`]; of an object, tells `note` each member's name as it stands between its quotes, whether it
    /// has escapes, and where its value begins, counted from the start of the object. One walk then does for two.
    pub fn value_noting(&mut self, note: &mut impl FnMut(&'a [u8], bool, usize)) -> Result<Value<'a>> {
        self.skip_space();
        if self.peek() != Some(b'{') {
            return self.value();
        }
        let start = self.at;
        let outside = core::mem::replace(&mut self.canonical, true);
        self.object_noting(note)?;
        let canonical = self.canonical;
        self.canonical = outside && canonical;
        Ok(Value::scanned(&self.input[start..self.at], Kind::Object, canonical, false))
    }

    /// Enters the object that comes next.
    pub fn enter_object(&mut self) -> Result<OpenObject> {
        self.skip_space();
        let start = self.at;
        self.consume(b'{', "an object")?;
        self.descend()?;
        Ok(OpenObject::at(start, self.names.len()))
    }

    /// The name of the next member, whose value comes next; `None` at the end of the object, which is then left.
    pub fn next_name(&mut self, object: &mut OpenObject) -> Result<Option<Value<'a>>> {
        if object.left {
            return Ok(None);
        }
        self.skip_space();
        match (self.peek(), object.first) {
            (Some(b'}'), _) => {
                self.at += 1;
                object.left = true;
                object.end = self.at;
                self.leave_object(object)?;
                return Ok(None);
            }
            (Some(b','), false) => {
                self.at += 1;
                self.skip_space();
            }
            (_, false) => return Err(*self.unexpected("a comma or the end of the object")),
            (_, true) => {}
        }
        object.first = false;
        let quote = self.at;
        if self.peek() != Some(b'"') {
            return Err(*self.unexpected("a member name in quotes"));
        }
        let outside = core::mem::replace(&mut self.canonical, true);
        self.name(object)?;
        let name = &self.input[quote..self.at];
        let name = Value::scanned(name, Kind::String, self.canonical, self.escaped);
        self.canonical &= outside;
        self.skip_space();
        self.consume(b':', "a colon")?;
        Ok(Some(name))
    }

    /// Enters the next member if it is the one that a reader expects, given as `"name":`, and nothing stands between. A
    /// format's own members mostly come in their canonical order: whoever asks for them in that order is spared reading
    /// each name to find out which it is. If not, nothing happened, and [`Scanner::next_name`] tells what is there.
    #[inline(always)]
    pub fn takes<const N: usize>(&mut self, object: &mut OpenObject, member: &[u8; N]) -> bool {
        let quote = if object.first { self.at } else { self.at + 1 };
        let separated = object.first || self.peek() == Some(b',');
        let is_next = self.input.get(quote..).and_then(<[u8]>::first_chunk::<N>) == Some(member);
        if object.left || !separated || !is_next {
            return false;
        }
        object.first = false;
        let (start, end) = (quote + 1, quote + N - 2);
        let key = string::key_of(member.get(1..N - 2).unwrap_or_default());
        let ascends = object.plain && object.key < key;
        object.key = key;
        self.named(object, start, end, ascends);
        self.at = quote + N;
        true
    }

    /// The whole of an object that was entered and has been left. It counts as canonical only if all that was read
    /// since the start of the text is.
    pub fn left(&self, object: &OpenObject) -> Option<Value<'a>> {
        let text = self.input.get(object.start..object.end).filter(|_| object.left)?;
        Some(Value::scanned(text, Kind::Object, self.canonical, false))
    }

    /// Enters the array that comes next.
    pub fn enter_array(&mut self) -> Result<OpenArray> {
        self.skip_space();
        self.consume(b'[', "an array")?;
        self.descend()?;
        Ok(OpenArray { first: true, left: false })
    }

    /// Whether another element comes next; if not, the array is left.
    pub fn next_element(&mut self, array: &mut OpenArray) -> Result<bool> {
        if array.left {
            return Ok(false);
        }
        self.skip_space();
        match (self.peek(), array.first) {
            (Some(b']'), _) => {
                self.at += 1;
                self.depth -= 1;
                array.left = true;
                Ok(false)
            }
            (Some(b','), false) => {
                self.at += 1;
                Ok(true)
            }
            (_, false) => Err(*self.unexpected("a comma or the end of the array")),
            (_, true) => {
                array.first = false;
                Ok(true)
            }
        }
    }

    /// Nothing but white space may follow.
    pub fn finish(&mut self) -> Result<()> {
        self.skip_space();
        if self.at < self.input.len() { Err(*self.fault(SyntaxFault::TrailingData)) } else { Ok(()) }
    }

    /// Checks the value at the current place again and tells which of its objects are out of order.
    pub(crate) fn disorder(mut self) -> Result<Disorder> {
        self.disorder = Some(Disorder::default());
        self.value()?;
        Ok(self.disorder.unwrap_or_default().arranged())
    }

    /// Checks the value that comes next. Inlined into the walks of objects and arrays, so that scalars, which most values
    /// are, cost no call.
    #[inline(always)]
    fn any(&mut self) -> Checked<()> {
        if self.peek() == Some(b'"') {
            return self.string();
        }
        match self.next_byte() {
            Some(b'"') => self.string(),
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal(b"true", "`true`"),
            Some(b'f') => self.literal(b"false", "`false`"),
            Some(b'n') => self.literal(b"null", "`null`"),
            _ => Err(self.unexpected("a value")),
        }
    }

    #[inline(always)]
    fn string(&mut self) -> Checked<()> {
        let start = self.at;
        if let Some((end, _)) = string::scan_plain(self.input, start + 1) {
            self.escaped = false;
            self.at = end + 1;
            return Ok(());
        }
        let span = string::scan(self.input, start + 1)?;
        self.canonical &= span.canonical;
        self.escaped = span.escaped;
        self.at = span.end + 1;
        Ok(())
    }

    #[inline(never)]
    fn object(&mut self) -> Checked<()> {
        self.object_noting(&mut |_, _, _| {})
    }

    #[inline(always)]
    fn object_noting(&mut self, note: &mut impl FnMut(&'a [u8], bool, usize)) -> Checked<()> {
        let mut object = OpenObject::at(self.at, self.names.len());
        self.at += 1;
        self.descend()?;
        if self.next_byte() == Some(b'}') {
            self.at += 1;
            return self.leave_object(&mut object);
        }
        loop {
            if !self.is_next(b'"') {
                return Err(self.unexpected("a member name in quotes"));
            }
            self.name(&mut object)?;
            let place = self.names.last().copied().unwrap_or_default();
            if !self.is_next(b':') {
                return Err(self.unexpected("a colon"));
            }
            self.at += 1;
            note(spelled(self.input, place), self.escaped, self.at - object.start);
            self.any()?;
            if self.is_next(b',') {
                self.at += 1;
            } else if self.peek() == Some(b'}') {
                self.at += 1;
                return self.leave_object(&mut object);
            } else {
                return Err(self.unexpected("a comma or the end of the object"));
            }
        }
    }

    #[inline(never)]
    fn array(&mut self) -> Checked<()> {
        self.at += 1;
        self.descend()?;
        if self.next_byte() == Some(b']') {
            self.at += 1;
            self.depth -= 1;
            return Ok(());
        }
        loop {
            self.any()?;
            if self.is_next(b',') {
                self.at += 1;
            } else if self.peek() == Some(b']') {
                self.at += 1;
                self.depth -= 1;
                return Ok(());
            } else {
                return Err(self.unexpected("a comma or the end of the array"));
            }
        }
    }

    #[inline]
    fn descend(&mut self) -> Checked<()> {
        if self.depth >= self.limits.depth {
            let fault = SyntaxFault::TooDeep { limit: self.limits.depth };
            return Err(Box::new(SyntaxError { offset: self.at - 1, fault }));
        }
        self.depth += 1;
        Ok(())
    }

    /// Reads the name whose opening quote comes next and compares it with the one before.
    #[inline(always)]
    fn name(&mut self, object: &mut OpenObject) -> Checked<()> {
        let start = self.at + 1;
        if let Some((end, key)) = string::scan_plain(self.input, start) {
            self.escaped = false;
            // Most neighbours differ in their first eight bytes.
            let ascends = object.plain && object.key < key;
            object.key = key;
            self.named(object, start, end, ascends);
            return Ok(());
        }
        let span = string::scan(self.input, start)?;
        self.escaped = span.escaped;
        self.canonical &= span.canonical;
        object.plain = false;
        self.named(object, start, span.end, false);
        Ok(())
    }

    #[inline(always)]
    fn named(&mut self, object: &mut OpenObject, start: usize, end: usize, ascends: bool) {
        if !ascends && object.sorted && self.names.len() > object.base {
            let name = &self.input[start..end];
            let before = self.names.last().map_or(&[][..], |&before| spelled(self.input, before));
            object.sorted =
                if object.plain { before < name } else { self.order.compare(before, name).is_lt() };
        }
        self.names.push((offset(start), offset(end)));
        self.at = end + 1;
    }

    #[inline]
    fn leave_object(&mut self, object: &mut OpenObject) -> Checked<()> {
        if !object.sorted {
            self.canonical = false;
            self.sort_names(object)?;
        } else if !object.plain && self.order != Order::Utf16 {
            self.canonical = false;
        }
        self.names.truncate(object.base);
        self.depth -= 1;
        Ok(())
    }

    /// Names that do not ascend may repeat. Sorting brings equal names together, whatever stands between them.
    fn sort_names(&mut self, object: &OpenObject) -> Checked<()> {
        let (input, order) = (self.input, self.order);
        let names = self.names.get_mut(object.base..).unwrap_or_default();
        if let Some(name) = names::sort(input, names, object.plain, order) {
            let offset = name.0 as usize - 1;
            let name = Characters::new(spelled(input, name)).take(100).collect();
            return Err(Box::new(SyntaxError { offset, fault: SyntaxFault::DuplicateName { name } }));
        }
        if let Some(disorder) = &mut self.disorder {
            disorder.note(object.start, names);
        }
        Ok(())
    }

    #[inline]
    fn number(&mut self) -> Checked<()> {
        let Some(span) = number::scan(self.input, self.at) else {
            return Err(self.fault(SyntaxFault::Number));
        };
        if self.canonical {
            self.canonical = number::is_canonical(&self.input[self.at..span.end], span.integer);
        }
        self.at = span.end;
        Ok(())
    }

    #[inline]
    fn literal(&mut self, text: &[u8], wanted: &'static str) -> Checked<()> {
        if !self.input[self.at..].starts_with(text) {
            return Err(self.unexpected(wanted));
        }
        self.at += text.len();
        Ok(())
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    /// The next byte after white space.
    #[inline]
    fn next_byte(&mut self) -> Option<u8> {
        self.skip_space();
        self.peek()
    }

    /// Whether that byte comes next after white space, of which there mostly is none.
    #[inline(always)]
    fn is_next(&mut self, wanted: u8) -> bool {
        self.peek() == Some(wanted) || self.next_byte() == Some(wanted)
    }

    #[inline(always)]
    fn skip_space(&mut self) {
        if let Some(byte) = self.peek()
            && byte <= b' '
        {
            // One space, as after a colon, is not worth a call.
            if is_one_space(self.input, self.at, byte) {
                (self.at, self.canonical) = (self.at + 1, false);
            } else {
                self.skip_run_of_space();
            }
        }
    }

    /// Indentation is one byte of another kind and a run of spaces.
    #[inline(never)]
    fn skip_run_of_space(&mut self) {
        let mut at = self.at;
        while matches!(self.input.get(at), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            at = skip_spaces(self.input, at + 1);
        }
        self.canonical &= at == self.at;
        self.at = at;
    }

    #[inline]
    fn consume(&mut self, byte: u8, wanted: &'static str) -> Checked<()> {
        if self.peek() != Some(byte) {
            return Err(self.unexpected(wanted));
        }
        self.at += 1;
        Ok(())
    }

    #[cold]
    fn fault(&self, fault: SyntaxFault) -> Box<SyntaxError> {
        Box::new(SyntaxError { offset: self.at, fault })
    }

    #[cold]
    fn unexpected(&self, wanted: &'static str) -> Box<SyntaxError> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let not_utf8 = core::str::from_utf8(rest).is_err_and(|error| error.valid_up_to() == 0);
        self.fault(match rest.first() {
            Some(_) if not_utf8 => SyntaxFault::NotUtf8,
            Some(&found) => SyntaxFault::Unexpected { found, wanted },
            None => SyntaxFault::End { wanted },
        })
    }
}
