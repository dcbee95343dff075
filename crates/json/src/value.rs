//! [`Value`]: a JSON value as a span of its text, with accessors that decode on demand.
//!
//! Nothing is decoded or allocated until an accessor asks for it, and members are found by scanning the span again. A reader
//! that needs many members of a large object takes [`Value::select_members`] or a [`Scanner`], which pass over the text once.

use core::ops::Range;
use std::borrow::Cow;

use crate::canonical::ByteSink;
use crate::limits::Limits;
use crate::number::{self, IntegerPolicy};
use crate::position;
use crate::scanner::{OpenArray, OpenObject, Scanner};
use crate::string::UnescapedChars;
use crate::syntax::SyntaxError;
use crate::unescape;

/// Kind of a JSON value. `true` and `false` are kinds of their own, so that the first byte determines the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// `null`.
    Null,
    /// `true`.
    True,
    /// `false`.
    False,
    /// A number (RFC 8259 §6).
    Number,
    /// A string (RFC 8259 §7).
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl ValueKind {
    #[inline]
    /// Returns the kind of the value that begins with `byte`; `None` if no value does.
    pub fn of_first_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            b'"' => Self::String,
            b'-' | b'0'..=b'9' => Self::Number,
            b'{' => Self::Object,
            b'[' => Self::Array,
            b't' => Self::True,
            b'f' => Self::False,
            b'n' => Self::Null,
            _ => return None,
        })
    }

    /// Returns the kind in words for messages, with its article: `an object`, `a number`, `null`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::True => "true",
            Self::False => "false",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// Text of one value that the [`Scanner`] has checked to its last byte, with its kind and a flag for canonical text.
///
/// Only a scan makes a `Value`, so its text is known to be valid JSON and UTF-8. A `Value` borrows the document, is small and
/// is `Copy`.
#[derive(Debug, Clone, Copy)]
pub struct Value<'a> {
    text: &'a [u8],
    kind: ValueKind,
    canonical: bool,
    /// True if the value is a string that contains an escape.
    escaped: bool,
}

impl<'a> Value<'a> {
    #[inline]
    pub(crate) fn from_scan(text: &'a [u8], kind: ValueKind, canonical: bool, escaped: bool) -> Self {
        Self { text, kind, canonical, escaped }
    }

    /// Parses a whole document: one value, and nothing but white space around it.
    ///
    /// ```
    /// use reenact_json::{Limits, Value};
    ///
    /// let value = Value::parse(br#"{"a": [1, 2]}"#, &Limits::default()).unwrap();
    /// assert_eq!(value.member("a").unwrap().elements().count(), 2);
    /// ```
    ///
    /// # Errors
    /// The first [`SyntaxError`] in the text, which may also be an exceeded limit or a repeated member name.
    pub fn parse(input: &'a [u8], limits: &Limits) -> Result<Self, SyntaxError> {
        let mut scanner = Scanner::new(input, limits)?;
        let value = scanner.value()?;
        scanner.finish()?;
        Ok(value)
    }

    /// Returns the bytes of the value as they stand in the document, without the white space around them.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Returns the byte range of this value in `document`; `None` if the value was read from another buffer.
    pub fn range_in(&self, document: &[u8]) -> Option<Range<usize>> {
        position::range_in(self.text, document)
    }

    /// Returns the kind of the value.
    pub fn kind(&self) -> ValueKind {
        self.kind
    }

    /// Returns true if the text is known to be its own RFC 8785 form; false may also mean that this was not determined.
    pub fn is_canonical(&self) -> bool {
        self.canonical
    }

    /// Returns true for `null`.
    pub fn is_null(&self) -> bool {
        self.kind == ValueKind::Null
    }

    /// Returns the bytes between the quotes of a string, with escapes as written; `None` for other kinds.
    #[inline]
    pub(crate) fn string_content(&self) -> Option<&'a [u8]> {
        (self.kind == ValueKind::String)
            .then(|| self.text.get(1..self.text.len().saturating_sub(1)).unwrap_or_default())
    }

    /// Returns the decoded text of a string; `None` for other kinds. Borrows the document if the string has no escapes.
    pub fn string(&self) -> Option<Cow<'a, str>> {
        let quoted = self.string_content()?;
        if self.escaped {
            return Some(Cow::Owned(UnescapedChars::new(quoted).collect()));
        }
        Some(Cow::Borrowed(core::str::from_utf8(quoted).unwrap_or_default()))
    }

    /// Returns the bytes of a string that has no escapes, borrowed from the document; `None` for every other value. For secrets,
    /// of which no copy may be made.
    #[inline]
    pub fn borrowed_string_bytes(&self) -> Option<&'a [u8]> {
        if self.escaped { None } else { self.string_content() }
    }

    /// Calls `read` with the decoded UTF-8 of a string and returns its result; `None` for other kinds. Most strings have no
    /// escapes and are passed without a copy.
    #[inline]
    pub fn with_string_bytes<T>(&self, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let quoted = self.string_content()?;
        if self.escaped {
            return Some(read(UnescapedChars::new(quoted).collect::<String>().as_bytes()));
        }
        Some(read(quoted))
    }

    /// Returns the decoded UTF-8 of a string; `None` for other kinds. Cheaper than [`Value::string`], which checks UTF-8 again.
    #[inline]
    pub fn string_bytes(&self) -> Option<Cow<'a, [u8]>> {
        let quoted = self.string_content()?;
        if self.escaped {
            return Some(Cow::Owned(UnescapedChars::new(quoted).collect::<String>().into_bytes()));
        }
        Some(Cow::Borrowed(quoted))
    }

    /// Writes the decoded UTF-8 of a string to `out` in pieces, so that no copy of a long string is made. Writes nothing for
    /// other kinds.
    pub fn write_string<S: ByteSink>(&self, out: &mut S) {
        match self.string_content() {
            Some(quoted) if self.escaped => unescape::write_unescaped(quoted, out),
            Some(quoted) => out.put(quoted),
            None => {}
        }
    }

    /// Returns true if the value is a string whose decoded text is `text`, whatever escapes it is written with.
    #[inline]
    pub fn is_string(&self, text: &str) -> bool {
        match self.string_content() {
            None => false,
            Some(quoted) if self.escaped => UnescapedChars::new(quoted).eq(text.chars()),
            Some(quoted) => quoted == text.as_bytes(),
        }
    }

    /// Returns the value of `true` or `false`; `None` for other kinds.
    pub fn boolean(&self) -> Option<bool> {
        match self.kind {
            ValueKind::True => Some(true),
            ValueKind::False => Some(false),
            _ => None,
        }
    }

    /// Returns the IEEE 754 double nearest to a number; `None` for other kinds and for numbers beyond the largest double.
    pub fn double(&self) -> Option<f64> {
        if self.kind != ValueKind::Number {
            return None;
        }
        if let Some(short) = number::short_decimal(self.text) {
            return Some(short);
        }
        core::str::from_utf8(self.text).ok()?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Returns a number without a fraction, in any spelling (`4`, `4.0`, `4e0`), from 0 to 2⁵³−1; `None` for all else. This is an
    /// integer of JSON Schema within the exact range of I-JSON.
    pub fn unsigned_integer(&self) -> Option<u64> {
        if let Some(short) = self.short_integer() {
            return Some(short);
        }
        let double = self.double()?;
        let exact = (0.0..=9_007_199_254_740_991.0).contains(&double) && double.fract() == 0.0;
        // In that range the double is an integer, and the cast is exact.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        exact.then_some(double as u64)
    }

    /// Returns a number that is written with at most 15 digits and nothing else; `None` for all others. A fast path: nearly all
    /// integers are written so.
    #[inline]
    pub fn short_integer(&self) -> Option<u64> {
        if self.kind == ValueKind::Number { number::short_integer(self.text) } else { None }
    }

    /// Returns the RFC 8785 text of a number; `None` for other kinds and for numbers that have none ([`crate::NumberFault`]).
    pub fn number_text(&self) -> Option<String> {
        let mut buffer = ryu_js::Buffer::new();
        let text = (self.kind == ValueKind::Number)
            .then(|| number::canonical_text(self.text, IntegerPolicy::Exact, &mut buffer).ok())??;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// Returns the text that ECMAScript prints for the double nearest to a number; `None` for other kinds and for numbers beyond
    /// the largest double.
    pub fn nearest_double_text(&self) -> Option<String> {
        let mut buffer = ryu_js::Buffer::new();
        let text = (self.kind == ValueKind::Number)
            .then(|| number::canonical_text(self.text, IntegerPolicy::Nearest, &mut buffer).ok())??;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// Iterates over the members of an object in the order of the text; empty for other kinds.
    pub fn members(&self) -> Members<'a> {
        let mut scanner = self.rescan();
        let object = (self.kind == ValueKind::Object).then(|| scanner.enter_object().ok()).flatten();
        Members { scanner, object }
    }

    /// Returns the value that begins at a byte offset of this value's text, as [`Scanner::value_visiting_members`] reported it.
    pub fn value_at(&self, offset: usize) -> Option<Value<'a>> {
        let limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };
        Scanner::at_offset(self.text, offset, limits).value().ok()
    }

    /// Returns the value of the member named `name`; `None` if there is none or the value is no object. Scans the members before
    /// it, so a reader of several members takes [`Value::select_members`].
    pub fn member(&self, name: &str) -> Option<Value<'a>> {
        self.members().find_map(|(found, value)| found.is_string(name).then_some(value))
    }

    /// Returns the values of the members named in `names`, in that order, `None` for each that is missing. Scans the object once
    /// and stops after the last name that it finds.
    pub fn select_members<const N: usize>(&self, names: [&str; N]) -> [Option<Value<'a>>; N] {
        let mut picked = [None; N];
        let mut missing = N;
        for (name, value) in self.members() {
            let wanted = picked.iter_mut().zip(names).find(|(_, wanted)| name.is_string(wanted));
            if let Some((slot, _)) = wanted {
                *slot = Some(value);
                missing -= 1;
                if missing == 0 {
                    break;
                }
            }
        }
        picked
    }

    /// Iterates over the elements of an array, in order; empty for other kinds.
    pub fn elements(&self) -> Elements<'a> {
        let mut scanner = self.rescan();
        let array = (self.kind == ValueKind::Array).then(|| scanner.enter_array().ok()).flatten();
        Elements { scanner, array }
    }

    /// Returns a scanner over the text of this value. The largest limits apply, since the text was within those of the first scan.
    pub(crate) fn rescan(&self) -> Scanner<'a> {
        Scanner::at_offset(
            self.text,
            0,
            Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES },
        )
    }
}

/// Iterator over the members of an object: each name (always a string) and its value.
pub struct Members<'a> {
    scanner: Scanner<'a>,
    object: Option<OpenObject>,
}

impl<'a> Iterator for Members<'a> {
    type Item = (Value<'a>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let name = self.scanner.next_name(self.object.as_mut()?).ok().flatten();
        match name.and_then(|name| Some((name, self.scanner.value().ok()?))) {
            Some(member) => Some(member),
            None => {
                self.object = None;
                None
            }
        }
    }
}

/// Iterator over the elements of an array.
pub struct Elements<'a> {
    scanner: Scanner<'a>,
    array: Option<OpenArray>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let another = self.scanner.next_element(self.array.as_mut()?).unwrap_or(false);
        match another.then(|| self.scanner.value().ok()).flatten() {
            Some(element) => Some(element),
            None => {
                self.array = None;
                None
            }
        }
    }
}
