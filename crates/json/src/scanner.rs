//! The strict scanner: the only entry point for untrusted JSON.
//!
//! [`Scanner`] is a pull parser: a caller that knows the shape of a document enters its objects and arrays and takes each
//! value as a span; a value that the caller does not enter is still checked to its last byte. On top of RFC 8259 the scanner
//! refuses a byte order mark, duplicate names (compared after unescaping), lone surrogates and texts beyond the [`Limits`]. It
//! also finds out for each value if its text is already canonical (RFC 8785), so that the text can be hashed in place.
//!
//! Memory: eight bytes for each member of the objects that are open. Nothing is kept of a value that was read. Start reading
//! at [`Scanner::value`], and at [`Scanner::enter_object`] with [`Scanner::next_name`].

use crate::byte_scan::{is_one_space, skip_spaces};
use crate::limits::Limits;
pub use crate::member_names::ScannerBuffers;
use crate::member_names::{self, NameSpan, name_text, to_u32};
use crate::name_order::NameOrder;
use crate::number;
pub use crate::open_containers::{OpenArray, OpenObject};
use crate::scanned_text::ScannedText;
use crate::string::{self, UnescapedChars};
use crate::syntax::{SyntaxError, SyntaxFault};
use crate::unsorted_objects::UnsortedObjects;
use crate::value::{Value, ValueKind};

/// Cursor in one JSON text, with the state that is needed to continue from there.
///
/// After an error the cursor stands anywhere, and the scanner must be dropped.
pub struct Scanner<'a> {
    input: &'a [u8],
    at: usize,
    depth: u32,
    limits: Limits,
    /// Spans of the names of all open objects, innermost object last. They are needed only if an object turns out to be unsorted,
    /// but then all of its names are.
    names: Vec<NameSpan>,
    /// True if all bytes since the start of the text, or of the value that is being read, are canonical.
    is_canonical: bool,
    /// True if the last string that was read has an escape.
    is_last_string_escaped: bool,
    /// Objects whose members are out of order, for a canonical writer; `None` if no writer needs them.
    unsorted: Option<UnsortedObjects>,
    /// Order in which names count as canonical.
    name_order: NameOrder,
}

/// Largest number of names for which memory is kept after their object; a scan of the same object would need as much again.
const MAX_KEPT_NAMES: usize = 1 << 16;

type Result<T> = core::result::Result<T, SyntaxError>;

/// Result of the recursive functions. The error is boxed, which keeps the result of good input small: see
/// `From<Box<SyntaxError>>`.
type ScanResult<T> = core::result::Result<T, Box<SyntaxError>>;

impl<'a> Scanner<'a> {
    /// Creates a scanner before the first byte of `input`. Limits beyond [`Limits::MAX_DEPTH`] and [`Limits::MAX_BYTES`] are cut
    /// to these.
    ///
    /// # Errors
    /// Offset and fault if the text is too large, begins with a byte order mark, or looks like UTF-16.
    pub fn new(input: &'a [u8], limits: &Limits) -> Result<Self> {
        let limits = Limits {
            max_depth: limits.max_depth.min(Limits::MAX_DEPTH),
            max_bytes: limits.max_bytes.min(Limits::MAX_BYTES),
        };
        if input.len() > limits.max_bytes {
            let fault = SyntaxFault::TooLarge { bytes: input.len(), limit: limits.max_bytes };
            return Err(SyntaxError { offset: limits.max_bytes, fault });
        }
        let refused = match input {
            [0xEF, 0xBB, 0xBF, ..] => Some(SyntaxFault::ByteOrderMark),
            [0xFE, 0xFF, ..] | [0xFF, 0xFE, ..] | [0, _, ..] | [_, 0, ..] => Some(SyntaxFault::Utf16),
            _ => None,
        };
        match refused {
            Some(fault) => Err(SyntaxError { offset: 0, fault }),
            None => Ok(Self::at_offset(input, 0, limits)),
        }
    }

    /// Creates a scanner at the offset `at` of a text that was scanned before, so that its beginning needs no checks.
    pub(crate) fn at_offset(input: &'a [u8], at: usize, limits: Limits) -> Self {
        Self {
            input,
            at,
            depth: 0,
            limits,
            names: Vec::new(),
            is_canonical: true,
            is_last_string_escaped: false,
            unsorted: None,
            name_order: NameOrder::Utf16,
        }
    }

    /// Reuses the buffers of an earlier scanner, which saves an allocation for each of many short texts.
    pub fn with_buffers(mut self, buffers: ScannerBuffers) -> Self {
        self.names = buffers.into_name_spans();
        self
    }

    /// Ends the scan and returns the buffers for the next scanner.
    pub fn into_buffers(self) -> ScannerBuffers {
        ScannerBuffers::new(self.names)
    }

    /// Compares names by code points from here on, and records the objects that are not sorted so: writers of canonical forms
    /// with that order need the list. A value whose names are not all plain ASCII then never counts as canonical, since the two
    /// orders differ only there.
    pub fn with_code_point_order(mut self) -> Self {
        self.name_order = NameOrder::CodePoints;
        self.unsorted = Some(UnsortedObjects::default());
        self
    }

    /// Ends the scan and returns the text up to the cursor, for a writer that passes over it again. The list of unsorted objects
    /// is complete only after [`Scanner::with_code_point_order`].
    pub fn into_scanned(self) -> ScannedText<'a> {
        let text = self.input.get(..self.at).unwrap_or_default();
        ScannedText::new(text, self.unsorted.unwrap_or_default().indexed())
    }

    /// Returns the offset of the next byte to read.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Returns true if all bytes before the cursor, white space included, are canonical.
    pub fn is_canonical(&self) -> bool {
        self.is_canonical
    }

    /// Skips white space and returns the kind of the next value, by its first byte. The value itself is not checked.
    ///
    /// # Errors
    /// The fault at the cursor if no value begins there.
    pub fn kind(&mut self) -> Result<ValueKind> {
        self.skip_space();
        self.peek().and_then(ValueKind::of_first_byte).ok_or_else(|| *self.missing_value_error())
    }

    /// Returns the error for a cursor at which no value begins: an empty text has a fault of its own.
    #[cold]
    fn missing_value_error(&self) -> Box<SyntaxError> {
        if self.at == self.input.len() && self.depth == 0 {
            return self.error_here(SyntaxFault::Empty);
        }
        self.unexpected_error("a value")
    }

    /// Takes the next value, whatever its kind, checked to its last byte.
    ///
    /// # Errors
    /// The first fault in the value, or at the cursor if no value begins there.
    #[inline]
    pub fn value(&mut self) -> Result<Value<'a>> {
        // Fast path: most values are plain strings, which need no further checks.
        if self.peek() == Some(b'"')
            && let Some((end, _)) = string::scan_plain(self.input, self.at + 1)
        {
            let text = &self.input[self.at..=end];
            self.at = end + 1;
            return Ok(Value::from_scan(text, ValueKind::String, true, false));
        }
        self.any_value()
    }

    /// Takes a value that is no plain string. Kept apart from [`Scanner::value`], which is inlined.
    #[inline(never)]
    fn any_value(&mut self) -> Result<Value<'a>> {
        self.skip_space();
        let start = self.at;
        let outside = core::mem::replace(&mut self.is_canonical, true);
        let Some(kind) = self.peek().and_then(ValueKind::of_first_byte) else {
            self.is_canonical = outside;
            return Err(*self.missing_value_error());
        };
        self.skip_any()?;
        let canonical = self.is_canonical;
        self.is_canonical = outside && canonical;
        let text = &self.input[start..self.at];
        let escaped = kind == ValueKind::String && self.is_last_string_escaped;
        Ok(Value::from_scan(text, kind, canonical, escaped))
    }

    /// Takes the next value like [`Scanner::value`], and calls `on_member` for each member if the value is an object: with the
    /// name as written between its quotes, true if the name has escapes, and the offset behind the colon, relative to the start of
    /// the object ([`Value::value_at`] takes it). This saves the second scan that [`Value::members`] would need.
    ///
    /// # Errors
    /// Those of [`Scanner::value`].
    pub fn value_visiting_members(
        &mut self,
        on_member: &mut impl FnMut(&'a [u8], bool, usize),
    ) -> Result<Value<'a>> {
        self.skip_space();
        if self.peek() != Some(b'{') {
            return self.value();
        }
        let start = self.at;
        let outside = core::mem::replace(&mut self.is_canonical, true);
        self.skip_object_visiting(on_member)?;
        let canonical = self.is_canonical;
        self.is_canonical = outside && canonical;
        Ok(Value::from_scan(&self.input[start..self.at], ValueKind::Object, canonical, false))
    }

    /// Enters the object that comes next; [`Scanner::next_name`] then reads its members.
    ///
    /// # Errors
    /// A fault if the next value is no object, or if it is nested too deep.
    pub fn enter_object(&mut self) -> Result<OpenObject> {
        self.skip_space();
        let start = self.at;
        self.consume(b'{', "an object")?;
        self.enter_level()?;
        Ok(OpenObject::new(start, self.names.len()))
    }

    /// Reads the name of the next member and its colon; the value comes next and must be taken or entered. Returns `None` at the
    /// end of the object, which is then finished.
    ///
    /// # Errors
    /// A syntax fault, or at the end of the object a repeated name ([`SyntaxFault::DuplicateName`]).
    pub fn next_name(&mut self, object: &mut OpenObject) -> Result<Option<Value<'a>>> {
        if object.is_finished {
            return Ok(None);
        }
        self.skip_space();
        match (self.peek(), object.has_no_member_yet) {
            (Some(b'}'), _) => {
                self.at += 1;
                object.is_finished = true;
                object.end = self.at;
                self.leave_object(object)?;
                return Ok(None);
            }
            (Some(b','), false) => {
                self.at += 1;
                self.skip_space();
            }
            (_, false) => return Err(*self.unexpected_error("a comma or the end of the object")),
            (_, true) => {}
        }
        object.has_no_member_yet = false;
        let quote = self.at;
        if self.peek() != Some(b'"') {
            return Err(*self.unexpected_error("a member name in quotes"));
        }
        let outside = core::mem::replace(&mut self.is_canonical, true);
        self.scan_name(object)?;
        let name = &self.input[quote..self.at];
        let name = Value::from_scan(name, ValueKind::String, self.is_canonical, self.is_last_string_escaped);
        self.is_canonical &= outside;
        self.skip_space();
        self.consume(b':', "a colon")?;
        Ok(Some(name))
    }

    /// Consumes the name of the next member and returns true if it is exactly `member`, given as `"name":`, without white space.
    /// Otherwise returns false and consumes nothing, and [`Scanner::next_name`] reads the name.
    ///
    /// A fast path: the members of a format mostly come in canonical order, and a reader that asks for them in that order
    /// compares a few bytes where it would scan each name. The name must be plain ASCII.
    #[inline(always)]
    pub fn take_member_if_next<const N: usize>(&mut self, object: &mut OpenObject, member: &[u8; N]) -> bool {
        let quote = if object.has_no_member_yet { self.at } else { self.at + 1 };
        let separated = object.has_no_member_yet || self.peek() == Some(b',');
        let is_next = self.input.get(quote..).and_then(<[u8]>::first_chunk::<N>) == Some(member);
        if object.is_finished || !separated || !is_next {
            return false;
        }
        object.has_no_member_yet = false;
        let (start, end) = (quote + 1, quote + N - 2);
        let key = string::sort_key_of(member.get(1..N - 2).unwrap_or_default());
        let ascends = object.is_plain && object.last_key < key;
        object.last_key = key;
        self.push_name(object, start, end, ascends);
        self.at = quote + N;
        true
    }

    /// Returns the value of an object that was entered and is finished; `None` before its end. It counts as canonical only if all
    /// bytes since the start of the text are.
    pub fn finished_object(&self, object: &OpenObject) -> Option<Value<'a>> {
        let text = self.input.get(object.start..object.end).filter(|_| object.is_finished)?;
        Some(Value::from_scan(text, ValueKind::Object, self.is_canonical, false))
    }

    /// Enters the array that comes next; [`Scanner::next_element`] then moves through it.
    ///
    /// # Errors
    /// A fault if the next value is no array, or if it is nested too deep.
    pub fn enter_array(&mut self) -> Result<OpenArray> {
        self.skip_space();
        self.consume(b'[', "an array")?;
        self.enter_level()?;
        Ok(OpenArray { is_empty_so_far: true, is_finished: false })
    }

    /// Returns true if another element comes next, which must be taken or entered; false at the end of the array, which is then
    /// finished.
    ///
    /// # Errors
    /// A fault if neither a comma nor the end of the array follows the last element.
    pub fn next_element(&mut self, array: &mut OpenArray) -> Result<bool> {
        if array.is_finished {
            return Ok(false);
        }
        self.skip_space();
        match (self.peek(), array.is_empty_so_far) {
            (Some(b']'), _) => {
                self.at += 1;
                self.depth -= 1;
                array.is_finished = true;
                Ok(false)
            }
            (Some(b','), false) => {
                self.at += 1;
                Ok(true)
            }
            (_, false) => Err(*self.unexpected_error("a comma or the end of the array")),
            (_, true) => {
                array.is_empty_so_far = false;
                Ok(true)
            }
        }
    }

    /// Checks that only white space is left.
    ///
    /// # Errors
    /// [`SyntaxFault::TrailingData`] at the first other byte.
    pub fn finish(&mut self) -> Result<()> {
        self.skip_space();
        if self.at < self.input.len() { Err(*self.error_here(SyntaxFault::TrailingData)) } else { Ok(()) }
    }

    /// Scans the next value and returns those of its objects that are out of order, indexed for look-up.
    pub(crate) fn unsorted_objects(mut self) -> Result<UnsortedObjects> {
        self.unsorted = Some(UnsortedObjects::default());
        self.value()?;
        Ok(self.unsorted.unwrap_or_default().indexed())
    }

    /// Checks and skips the next value. Inlined into the loops over members and elements, so that scalars, which most values are,
    /// cost no call.
    #[inline(always)]
    fn skip_any(&mut self) -> ScanResult<()> {
        if self.peek() == Some(b'"') {
            return self.skip_string();
        }
        match self.next_byte_after_space() {
            Some(b'"') => self.skip_string(),
            Some(b'{') => self.skip_object(),
            Some(b'[') => self.skip_array(),
            Some(b'-' | b'0'..=b'9') => self.skip_number(),
            Some(b't') => self.skip_literal(b"true", "`true`"),
            Some(b'f') => self.skip_literal(b"false", "`false`"),
            Some(b'n') => self.skip_literal(b"null", "`null`"),
            _ => Err(self.unexpected_error("a value")),
        }
    }

    #[inline(always)]
    fn skip_string(&mut self) -> ScanResult<()> {
        let start = self.at;
        if let Some((end, _)) = string::scan_plain(self.input, start + 1) {
            self.is_last_string_escaped = false;
            self.at = end + 1;
            return Ok(());
        }
        let span = string::scan(self.input, start + 1)?;
        self.is_canonical &= span.canonical;
        self.is_last_string_escaped = span.escaped;
        self.at = span.end + 1;
        Ok(())
    }

    #[inline(never)]
    fn skip_object(&mut self) -> ScanResult<()> {
        self.skip_object_visiting(&mut |_, _, _| {})
    }

    /// Checks and skips an object; `on_member` as in [`Scanner::value_visiting_members`].
    #[inline(always)]
    fn skip_object_visiting(&mut self, on_member: &mut impl FnMut(&'a [u8], bool, usize)) -> ScanResult<()> {
        let mut object = OpenObject::new(self.at, self.names.len());
        self.at += 1;
        self.enter_level()?;
        if self.next_byte_after_space() == Some(b'}') {
            self.at += 1;
            return self.leave_object(&mut object);
        }
        loop {
            if !self.is_next_after_space(b'"') {
                return Err(self.unexpected_error("a member name in quotes"));
            }
            self.scan_name(&mut object)?;
            let name_span = self.names.last().copied().unwrap_or_default();
            if !self.is_next_after_space(b':') {
                return Err(self.unexpected_error("a colon"));
            }
            self.at += 1;
            on_member(name_text(self.input, name_span), self.is_last_string_escaped, self.at - object.start);
            self.skip_any()?;
            if self.is_next_after_space(b',') {
                self.at += 1;
            } else if self.peek() == Some(b'}') {
                self.at += 1;
                return self.leave_object(&mut object);
            } else {
                return Err(self.unexpected_error("a comma or the end of the object"));
            }
        }
    }

    #[inline(never)]
    fn skip_array(&mut self) -> ScanResult<()> {
        self.at += 1;
        self.enter_level()?;
        if self.next_byte_after_space() == Some(b']') {
            self.at += 1;
            self.depth -= 1;
            return Ok(());
        }
        loop {
            self.skip_any()?;
            if self.is_next_after_space(b',') {
                self.at += 1;
            } else if self.peek() == Some(b']') {
                self.at += 1;
                self.depth -= 1;
                return Ok(());
            } else {
                return Err(self.unexpected_error("a comma or the end of the array"));
            }
        }
    }

    /// Counts one more level. The opening bracket must be consumed already: the error points at it.
    #[inline]
    fn enter_level(&mut self) -> ScanResult<()> {
        if self.depth >= self.limits.max_depth {
            let fault = SyntaxFault::TooDeep { limit: self.limits.max_depth };
            return Err(Box::new(SyntaxError { offset: self.at - 1, fault }));
        }
        self.depth += 1;
        Ok(())
    }

    /// Reads the name whose opening quote comes next and compares it with the name before.
    #[inline(always)]
    fn scan_name(&mut self, object: &mut OpenObject) -> ScanResult<()> {
        let start = self.at + 1;
        if let Some((end, key)) = string::scan_plain(self.input, start) {
            self.is_last_string_escaped = false;
            // Most neighbouring names differ in their first eight bytes, so that their keys decide.
            let ascends = object.is_plain && object.last_key < key;
            object.last_key = key;
            self.push_name(object, start, end, ascends);
            return Ok(());
        }
        let span = string::scan(self.input, start)?;
        self.is_last_string_escaped = span.escaped;
        self.is_canonical &= span.canonical;
        object.is_plain = false;
        self.push_name(object, start, span.end, false);
        Ok(())
    }

    /// Records a name from `start` to `end` (its closing quote), and moves behind it. `ascends` is true if the sort keys alone
    /// show that the name comes after the one before.
    #[inline(always)]
    fn push_name(&mut self, object: &mut OpenObject, start: usize, end: usize, ascends: bool) {
        if !ascends && object.is_sorted && self.names.len() > object.names_start {
            let name = &self.input[start..end];
            let before = self.names.last().map_or(&[][..], |&before| name_text(self.input, before));
            object.is_sorted =
                if object.is_plain { before < name } else { self.name_order.compare(before, name).is_lt() };
        }
        self.names.push((to_u32(start), to_u32(end)));
        self.at = end + 1;
    }

    /// Ends an object: checks an unsorted one for duplicates, forgets its names, and goes up one level.
    #[inline]
    fn leave_object(&mut self, object: &mut OpenObject) -> ScanResult<()> {
        if !object.is_sorted {
            self.is_canonical = false;
            self.sort_names(object)?;
        } else if !object.is_plain && self.name_order != NameOrder::Utf16 {
            self.is_canonical = false;
        }
        self.names.truncate(object.names_start);
        self.depth -= 1;
        Ok(())
    }

    /// Sorts the names of an unsorted object to find duplicates: sorting brings equal names together, whatever stands between
    /// them. Names that ascend cannot repeat and are never sorted.
    fn sort_names(&mut self, object: &OpenObject) -> ScanResult<()> {
        let (input, order) = (self.input, self.name_order);
        let names = self.names.get_mut(object.names_start..).unwrap_or_default();
        if let Some(name) = member_names::sort_names(input, names, object.is_plain, order) {
            let offset = name.0 as usize - 1;
            let name = UnescapedChars::new(name_text(input, name)).take(100).collect();
            return Err(Box::new(SyntaxError { offset, fault: SyntaxFault::DuplicateName { name } }));
        }
        if let Some(disorder) = &mut self.unsorted {
            disorder.push(object.start, names);
        }
        if names.len() > MAX_KEPT_NAMES {
            self.names.truncate(object.names_start);
            self.names.shrink_to(MAX_KEPT_NAMES);
        }
        Ok(())
    }

    #[inline]
    fn skip_number(&mut self) -> ScanResult<()> {
        let Some(span) = number::scan(self.input, self.at) else {
            return Err(self.error_here(SyntaxFault::Number));
        };
        if self.is_canonical {
            self.is_canonical = number::is_canonical(&self.input[self.at..span.end], span.is_integer);
        }
        self.at = span.end;
        Ok(())
    }

    #[inline]
    fn skip_literal(&mut self, text: &[u8], wanted: &'static str) -> ScanResult<()> {
        if !self.input[self.at..].starts_with(text) {
            return Err(self.unexpected_error(wanted));
        }
        self.at += text.len();
        Ok(())
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    /// Skips white space and returns the next byte without consuming it.
    #[inline]
    fn next_byte_after_space(&mut self) -> Option<u8> {
        self.skip_space();
        self.peek()
    }

    /// Skips white space, of which there mostly is none, and returns true if `wanted` comes next.
    #[inline(always)]
    fn is_next_after_space(&mut self, wanted: u8) -> bool {
        self.peek() == Some(wanted) || self.next_byte_after_space() == Some(wanted)
    }

    #[inline(always)]
    fn skip_space(&mut self) {
        if let Some(byte) = self.peek()
            && byte <= b' '
        {
            // A single space, as after a colon, is common and not worth a call.
            if is_one_space(self.input, self.at, byte) {
                (self.at, self.is_canonical) = (self.at + 1, false);
            } else {
                self.skip_run_of_space();
            }
        }
    }

    /// Skips any white space. Optimised for indentation: one newline and a run of spaces.
    #[inline(never)]
    fn skip_run_of_space(&mut self) {
        let mut at = self.at;
        while matches!(self.input.get(at), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            at = skip_spaces(self.input, at + 1);
        }
        self.is_canonical &= at == self.at;
        self.at = at;
    }

    #[inline]
    fn consume(&mut self, byte: u8, wanted: &'static str) -> ScanResult<()> {
        if self.peek() != Some(byte) {
            return Err(self.unexpected_error(wanted));
        }
        self.at += 1;
        Ok(())
    }

    #[cold]
    fn error_here(&self, fault: SyntaxFault) -> Box<SyntaxError> {
        Box::new(SyntaxError { offset: self.at, fault })
    }

    /// Returns the error for a byte that the grammar does not allow at the cursor: end of text, bytes that are not UTF-8, or the
    /// byte itself.
    #[cold]
    fn unexpected_error(&self, wanted: &'static str) -> Box<SyntaxError> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let not_utf8 = core::str::from_utf8(rest).is_err_and(|error| error.valid_up_to() == 0);
        self.error_here(match rest.first() {
            Some(_) if not_utf8 => SyntaxFault::NotUtf8,
            Some(&found) => SyntaxFault::Unexpected { found, wanted },
            None => SyntaxFault::End { wanted },
        })
    }
}
