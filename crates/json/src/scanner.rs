//! The strict scanner: the only front door for untrusted JSON.
//!
//! It pulls: a caller who knows the shape of a document enters its objects and arrays and takes each value as a span;
//! whatever the caller does not look into is still checked to the last byte. On top of RFC 8259 it refuses a byte order
//! mark, duplicate names (however they are spelled), lone surrogates and what exceeds its [`Limits`], and it tells of
//! each value whether its text is already canonical (RFC 8785), so that it can be hashed where it lies.
//!
//! Memory: four bytes for each member of the objects that are open. Nothing is kept of a value that was read.

use crate::limits::Limits;
use crate::number;
use crate::order::{self, RawName};
use crate::string::{self, Characters, StringSpan};
use crate::syntax::{SyntaxError, SyntaxFault};
use crate::value::{Kind, Value};

/// A position in one JSON text, and what is needed to go on from there.
pub struct Scanner<'a> {
    input: &'a [u8],
    at: usize,
    depth: u32,
    limits: Limits,
    /// Where the names of the open objects begin, innermost object last. Needed only when an object turns out not to
    /// be in order, but then all of them are needed.
    names: Vec<u32>,
    /// Room to sort the names of an object in.
    sorting: Vec<(u32, RawName<'a>)>,
    /// Whether what was read since a mark is canonical.
    canonical: bool,
    /// What objects were out of order, for the canonical writer.
    disorder: Option<Disorder>,
}

/// An object that the caller has entered.
#[derive(Debug, Clone, Copy)]
pub struct OpenObject {
    /// Where this object's names begin in [`Scanner::names`].
    base: usize,
    start: usize,
    first: bool,
    sorted: bool,
    previous: (usize, usize, bool),
}

/// An array that the caller has entered.
#[derive(Debug, Clone, Copy)]
pub struct OpenArray {
    first: bool,
}

/// The objects whose members do not stand in canonical order, and the order in which they should.
#[derive(Debug, Default)]
pub(crate) struct Disorder {
    /// For each such object: where it begins, and where its list begins in `members`.
    objects: Vec<(u32, u32)>,
    /// The offsets of names, object after object, each in canonical order.
    members: Vec<u32>,
}

impl Disorder {
    /// The offsets of the names of the object at `start` in canonical order, if they need another order at all.
    pub(crate) fn names_of(&self, start: usize) -> Option<&[u32]> {
        let start = offset(start);
        let found = self.objects.binary_search_by_key(&start, |(at, _)| *at).ok()?;
        let from = self.objects[found].1;
        let count = self.members.get(from as usize)?;
        self.members.get(from as usize + 1..from as usize + 1 + *count as usize)
    }
}

/// Offsets fit, because no text is longer than [`Limits::LARGEST`].
#[inline]
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Up to this many names are looked up once before they are sorted. More are looked up at each comparison: the room
/// that their places take would come to more than their text.
const FEW: usize = 1024;

type Result<T> = core::result::Result<T, SyntaxError>;

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
            sorting: Vec::new(),
            canonical: true,
            disorder: None,
        }
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
        let first = self.input.get(self.at);
        match first.and_then(|&byte| Kind::of_first_byte(byte)) {
            Some(kind) => Ok(kind),
            None if self.at == self.input.len() && self.depth == 0 => Err(self.fault(SyntaxFault::Empty)),
            None => Err(self.unexpected("a value")),
        }
    }

    /// Takes the next value whole, checked to its last byte.
    pub fn value(&mut self) -> Result<Value<'a>> {
        let kind = self.kind()?;
        let start = self.at;
        let outside = core::mem::replace(&mut self.canonical, true);
        self.any(kind)?;
        let canonical = self.canonical;
        self.canonical = outside && canonical;
        Ok(Value::scanned(&self.input[start..self.at], kind, canonical))
    }

    /// Enters the object that comes next.
    pub fn enter_object(&mut self) -> Result<OpenObject> {
        self.skip_space();
        let start = self.at;
        self.expect(b'{', "an object")?;
        self.descend()?;
        let base = self.names.len();
        Ok(OpenObject { base, start, first: true, sorted: true, previous: (0, 0, false) })
    }

    /// The name of the next member, whose value comes next; `None` at the end of the object, which is then left.
    pub fn next_name(&mut self, object: &mut OpenObject) -> Result<Option<Value<'a>>> {
        self.skip_space();
        match (self.peek(), object.first) {
            (Some(b'}'), _) => {
                self.at += 1;
                self.leave_object(object)?;
                return Ok(None);
            }
            (Some(b','), false) => {
                self.at += 1;
                self.skip_space();
            }
            (_, false) => return Err(self.unexpected("a comma or the end of the object")),
            (_, true) => {}
        }
        object.first = false;
        let quote = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a member name in quotes"));
        }
        let name = self.name(object)?;
        self.skip_space();
        self.expect(b':', "a colon")?;
        Ok(Some(Value::scanned(&self.input[quote..=name.end], Kind::String, name.canonical)))
    }

    /// Enters the array that comes next.
    pub fn enter_array(&mut self) -> Result<OpenArray> {
        self.skip_space();
        self.expect(b'[', "an array")?;
        self.descend()?;
        Ok(OpenArray { first: true })
    }

    /// Whether another element comes next; if not, the array is left.
    pub fn next_element(&mut self, array: &mut OpenArray) -> Result<bool> {
        self.skip_space();
        match (self.peek(), array.first) {
            (Some(b']'), _) => {
                self.at += 1;
                self.depth -= 1;
                Ok(false)
            }
            (Some(b','), false) => {
                self.at += 1;
                Ok(true)
            }
            (_, false) => Err(self.unexpected("a comma or the end of the array")),
            (_, true) => {
                array.first = false;
                Ok(true)
            }
        }
    }

    /// Nothing but white space may follow.
    pub fn finish(&mut self) -> Result<()> {
        self.skip_space();
        if self.at < self.input.len() { Err(self.fault(SyntaxFault::TrailingData)) } else { Ok(()) }
    }

    /// Checks the value at the current place again and tells which of its objects are out of order.
    pub(crate) fn disorder(mut self) -> Result<Disorder> {
        self.disorder = Some(Disorder::default());
        self.value()?;
        let mut disorder = self.disorder.unwrap_or_default();
        // Inner objects end first; look-ups go by where they begin.
        disorder.objects.sort_unstable();
        Ok(disorder)
    }

    fn any(&mut self, kind: Kind) -> Result<()> {
        match kind {
            Kind::String => {
                let span = string::scan(self.input, self.at + 1)?;
                self.canonical &= span.canonical;
                self.at = span.end + 1;
                Ok(())
            }
            Kind::Number => self.number(),
            Kind::Object => self.object(),
            Kind::Array => self.array(),
            Kind::True => self.literal(b"true", "`true`"),
            Kind::False => self.literal(b"false", "`false`"),
            Kind::Null => self.literal(b"null", "`null`"),
        }
    }

    fn object(&mut self) -> Result<()> {
        let mut object = OpenObject {
            base: self.names.len(),
            start: self.at,
            first: true,
            sorted: true,
            previous: (0, 0, false),
        };
        self.at += 1;
        self.descend()?;
        if self.next_byte() == Some(b'}') {
            self.at += 1;
            return self.leave_object(&mut object);
        }
        loop {
            if self.next_byte() != Some(b'"') {
                return Err(self.unexpected("a member name in quotes"));
            }
            self.name(&mut object)?;
            if self.next_byte() != Some(b':') {
                return Err(self.unexpected("a colon"));
            }
            self.at += 1;
            let kind = self.kind()?;
            self.any(kind)?;
            match self.next_byte() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return self.leave_object(&mut object);
                }
                _ => return Err(self.unexpected("a comma or the end of the object")),
            }
        }
    }

    fn array(&mut self) -> Result<()> {
        self.at += 1;
        self.descend()?;
        if self.next_byte() == Some(b']') {
            self.at += 1;
            self.depth -= 1;
            return Ok(());
        }
        loop {
            let kind = self.kind()?;
            self.any(kind)?;
            match self.next_byte() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(());
                }
                _ => return Err(self.unexpected("a comma or the end of the array")),
            }
        }
    }

    fn descend(&mut self) -> Result<()> {
        if self.depth >= self.limits.depth {
            let fault = SyntaxFault::TooDeep { limit: self.limits.depth };
            return Err(SyntaxError { offset: self.at - 1, fault });
        }
        self.depth += 1;
        Ok(())
    }

    /// Reads the name whose opening quote comes next and compares it with the one before.
    #[inline]
    fn name(&mut self, object: &mut OpenObject) -> Result<StringSpan> {
        let start = self.at + 1;
        let span = string::scan(self.input, start)?;
        self.canonical &= span.canonical;
        if object.sorted && self.names.len() > object.base {
            let (from, to, escaped) = object.previous;
            let before = RawName { text: &self.input[from..to], escaped };
            let name = RawName { text: &self.input[start..span.end], escaped: span.escaped };
            object.sorted = order::compare(before, name).is_lt();
        }
        object.previous = (start, span.end, span.escaped);
        self.names.push(offset(start));
        self.at = span.end + 1;
        Ok(span)
    }

    fn leave_object(&mut self, object: &mut OpenObject) -> Result<()> {
        if !object.sorted {
            self.canonical = false;
            self.sort_names(object)?;
        }
        self.names.truncate(object.base);
        self.depth -= 1;
        Ok(())
    }

    /// Names that do not ascend may repeat. Sorting brings equal names together, whatever stands between them.
    fn sort_names(&mut self, object: &OpenObject) -> Result<()> {
        let input = self.input;
        let names = self.names.get_mut(object.base..).unwrap_or_default();
        // Equal names stay in the order of the text, so that the later one is the one reported.
        if names.len() <= FEW {
            self.sorting.clear();
            self.sorting.extend(names.iter().map(|&start| (start, raw_name(input, start))));
            self.sorting.sort_by(|(_, a), (_, b)| order::compare(*a, *b));
            for (name, (sorted, _)) in names.iter_mut().zip(&self.sorting) {
                *name = *sorted;
            }
        } else {
            names.sort_by(|&a, &b| order::compare_at(input, a as usize, b as usize));
        }
        for pair in names.windows(2) {
            let (first, second) = (raw_name(input, pair[0]), raw_name(input, pair[1]));
            if order::compare(first, second).is_eq() {
                let name = Characters::new(second.text).take(100).collect();
                let offset = pair[1] as usize - 1;
                return Err(SyntaxError { offset, fault: SyntaxFault::DuplicateName { name } });
            }
        }
        if let Some(disorder) = &mut self.disorder {
            disorder.objects.push((offset(object.start), offset(disorder.members.len())));
            disorder.members.push(offset(names.len()));
            disorder.members.extend_from_slice(names);
        }
        Ok(())
    }

    fn number(&mut self) -> Result<()> {
        let Some(span) = number::scan(self.input, self.at) else {
            return Err(self.fault(SyntaxFault::Number));
        };
        if self.canonical {
            self.canonical = number::is_canonical(&self.input[self.at..span.end], span.integer);
        }
        self.at = span.end;
        Ok(())
    }

    fn literal(&mut self, text: &[u8], wanted: &'static str) -> Result<()> {
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

    #[inline]
    fn skip_space(&mut self) {
        if self.peek().is_some_and(|byte| byte <= b' ') {
            self.skip_run_of_space();
        }
    }

    #[inline(never)]
    fn skip_run_of_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.canonical = false;
            self.at += 1;
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8, wanted: &'static str) -> Result<()> {
        if self.peek() != Some(byte) {
            return Err(self.unexpected(wanted));
        }
        self.at += 1;
        Ok(())
    }

    #[cold]
    fn fault(&self, fault: SyntaxFault) -> SyntaxError {
        SyntaxError { offset: self.at, fault }
    }

    #[cold]
    fn unexpected(&self, wanted: &'static str) -> SyntaxError {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let not_utf8 = core::str::from_utf8(rest).is_err_and(|error| error.valid_up_to() == 0);
        self.fault(match rest.first() {
            Some(_) if not_utf8 => SyntaxFault::NotUtf8,
            Some(&found) => SyntaxFault::Unexpected { found, wanted },
            None => SyntaxFault::End { wanted },
        })
    }
}

/// The name that begins at `start`, in a text that was scanned.
pub(crate) fn raw_name(input: &[u8], start: u32) -> RawName<'_> {
    let start = start as usize;
    match string::scan(input, start) {
        Ok(span) => RawName { text: &input[start..span.end], escaped: span.escaped },
        Err(_) => RawName { text: &[], escaped: false },
    }
}
