//! A JSON value as a span of its text.

use core::ops::Range;
use std::borrow::Cow;

use crate::canonical::Sink;
use crate::limits::Limits;
use crate::number::{self, Integers};
use crate::position;
use crate::scanner::{OpenArray, OpenObject, Scanner};
use crate::spell;
use crate::string::Characters;
use crate::syntax::SyntaxError;

/// What kind of value a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true`
    True,
    /// `false`
    False,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Kind {
    #[inline]
    /// The kind of a value that begins with that byte.
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

    /// The kind in words, with its article.
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

/// A value that the [`Scanner`] has checked to its last byte: its text, its kind, and whether the text is canonical.
///
/// Only a scan makes one, so what a `Value` says of its text needs no second look.
#[derive(Debug, Clone, Copy)]
pub struct Value<'a> {
    text: &'a [u8],
    kind: Kind,
    canonical: bool,
    /// Of strings: whether any escape occurs.
    escaped: bool,
}

impl<'a> Value<'a> {
    #[inline]
    pub(crate) fn scanned(text: &'a [u8], kind: Kind, canonical: bool, escaped: bool) -> Self {
        Self { text, kind, canonical, escaped }
    }

    /// Reads a whole document: one value and nothing after it.
    pub fn parse(input: &'a [u8], limits: &Limits) -> Result<Self, SyntaxError> {
        let mut scanner = Scanner::new(input, limits)?;
        let value = scanner.value()?;
        scanner.finish()?;
        Ok(value)
    }

    /// The text as it stands in the document, without the white space around it.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Returns the place of the text in the document that it was read from; `None` if that is another one.
    pub fn range_in(&self, document: &[u8]) -> Option<Range<usize>> {
        position::range_in(self.text, document)
    }

    /// What kind of value it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the text is its own RFC 8785 form.
    pub fn is_canonical(&self) -> bool {
        self.canonical
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        self.kind == Kind::Null
    }

    /// The text between the quotes of a string, escapes and all.
    #[inline]
    pub(crate) fn quoted(&self) -> Option<&'a [u8]> {
        (self.kind == Kind::String)
            .then(|| self.text.get(1..self.text.len().saturating_sub(1)).unwrap_or_default())
    }

    /// What a string spells; `None` of anything else.
    pub fn string(&self) -> Option<Cow<'a, str>> {
        let quoted = self.quoted()?;
        if self.escaped {
            return Some(Cow::Owned(Characters::new(quoted).collect()));
        }
        Some(Cow::Borrowed(core::str::from_utf8(quoted).unwrap_or_default()))
    }

    /// The bytes of a string that is written without escapes, where they lie; `None` of any other value. For secrets, of which
    /// no copy may be made.
    #[inline]
    pub fn unescaped(&self) -> Option<&'a [u8]> {
        if self.escaped { None } else { self.quoted() }
    }

    /// What `read` makes of the UTF-8 that a string spells; `None` of anything else. Nearly all strings are written without
    /// escapes: those are read where they lie.
    #[inline]
    pub fn read_string<T>(&self, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let quoted = self.quoted()?;
        if self.escaped {
            return Some(read(Characters::new(quoted).collect::<String>().as_bytes()));
        }
        Some(read(quoted))
    }

    /// What a string spells, as UTF-8; `None` of anything else. Cheaper than [`Value::string`] where bytes will do.
    #[inline]
    pub fn string_bytes(&self) -> Option<Cow<'a, [u8]>> {
        let quoted = self.quoted()?;
        if self.escaped {
            return Some(Cow::Owned(Characters::new(quoted).collect::<String>().into_bytes()));
        }
        Some(Cow::Borrowed(quoted))
    }

    /// Writes the UTF-8 that a string spells, piece by piece: of a long one, no copy is made. Nothing of anything else.
    pub fn write_string<S: Sink>(&self, out: &mut S) {
        match self.quoted() {
            Some(quoted) if self.escaped => spell::write_spelled(quoted, out),
            Some(quoted) => out.put(quoted),
            None => {}
        }
    }

    /// Whether it is a string that spells `text`, however it is written.
    #[inline]
    pub fn is_string(&self, text: &str) -> bool {
        match self.quoted() {
            None => false,
            Some(quoted) if self.escaped => Characters::new(quoted).eq(text.chars()),
            Some(quoted) => quoted == text.as_bytes(),
        }
    }

    /// Which of `true` and `false` it is; `None` of anything else.
    pub fn boolean(&self) -> Option<bool> {
        match self.kind {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }

    /// A number as the nearest double; `None` of anything else and of what exceeds the doubles.
    pub fn double(&self) -> Option<f64> {
        if self.kind != Kind::Number {
            return None;
        }
        if let Some(short) = number::short_decimal(self.text) {
            return Some(short);
        }
        core::str::from_utf8(self.text).ok()?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// A number without a fraction, however it is spelled (`4`, `4.0`, `4e0`), from 0 to 2⁵³−1: what JSON Schema calls an
    /// integer, within what I-JSON calls exact.
    pub fn whole(&self) -> Option<u64> {
        if let Some(short) = self.short_integer() {
            return Some(short);
        }
        let double = self.double()?;
        let exact = (0.0..=9_007_199_254_740_991.0).contains(&double) && double.fract() == 0.0;
        // In that range the double is an integer, and the cast is exact.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        exact.then_some(double as u64)
    }

    /// A number that is written with at most 15 digits and nothing else, as nearly all integers are; `None` of all others.
    #[inline]
    pub fn short_integer(&self) -> Option<u64> {
        if self.kind == Kind::Number { number::short_integer(self.text) } else { None }
    }

    /// A number's canonical text, `None` of anything else and of numbers that have none.
    pub fn number_text(&self) -> Option<String> {
        let mut buffer = ryu_js::Buffer::new();
        let text = (self.kind == Kind::Number)
            .then(|| number::canonical(self.text, Integers::Exact, &mut buffer).ok())??;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// Text that ECMAScript prints for the double nearest to a number; `None` of anything else and of numbers beyond the doubles.
    pub fn double_text(&self) -> Option<String> {
        let mut buffer = ryu_js::Buffer::new();
        let text = (self.kind == Kind::Number)
            .then(|| number::canonical(self.text, Integers::Nearest, &mut buffer).ok())??;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// The members of an object, in the order of the text; none of anything else.
    pub fn members(&self) -> Members<'a> {
        let mut scanner = self.rescan();
        let object = (self.kind == Kind::Object).then(|| scanner.enter_object().ok()).flatten();
        Members { scanner, object }
    }

    /// The value that begins at an offset into this one's text, where [`Scanner::value_noting`] found it.
    pub fn at(&self, offset: usize) -> Option<Value<'a>> {
        let limits = Limits { depth: Limits::DEEPEST, bytes: Limits::LARGEST };
        Scanner::over(self.text, offset, limits).value().ok()
    }

    /// The member of that name.
    pub fn member(&self, name: &str) -> Option<Value<'a>> {
        self.members().find_map(|(found, value)| found.is_string(name).then_some(value))
    }

    /// The members of those names. One walk does for all of them, and ends with the last that is there.
    pub fn pick<const N: usize>(&self, names: [&str; N]) -> [Option<Value<'a>>; N] {
        let mut picked = [None; N];
        let mut missing = N;
        for (name, value) in self.members() {
            let wanted = picked.iter_mut().zip(names).find(|(_, wanted)| name.is_string(wanted));
            if let Some((place, _)) = wanted {
                *place = Some(value);
                missing -= 1;
                if missing == 0 {
                    break;
                }
            }
        }
        picked
    }

    /// The elements of an array, in order; none of anything else.
    pub fn elements(&self) -> Elements<'a> {
        let mut scanner = self.rescan();
        let array = (self.kind == Kind::Array).then(|| scanner.enter_array().ok()).flatten();
        Elements { scanner, array }
    }

    /// A scanner over the text again. It was within the limits of the scan that made it, whatever those were.
    pub(crate) fn rescan(&self) -> Scanner<'a> {
        Scanner::over(self.text, 0, Limits { depth: Limits::DEEPEST, bytes: Limits::LARGEST })
    }
}

/// The members of an object: each name, and its value.
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

/// The elements of an array.
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
