//! Text that a scanner has passed, for writers that walk over it again.

use crate::disorder::Disorder;
use crate::value::{Kind, Value};

/// A text up to where a [`crate::Scanner`] has read it, and which of its objects stand out of the order of code points.
#[derive(Debug, Default)]
pub struct Scanned<'a> {
    text: &'a [u8],
    disorder: Disorder,
}

impl<'a> Scanned<'a> {
    pub(crate) fn new(text: &'a [u8], disorder: Disorder) -> Self {
        Self { text, disorder }
    }

    /// Scans the text of a value again, and notes the order of its names.
    pub fn of(value: Value<'a>) -> Self {
        let mut scanner = value.rescan().noting_disorder();
        // The text was scanned before and cannot fail now.
        let _ = scanner.value();
        scanner.into_scanned()
    }

    /// The text.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// The offsets of the names of the object at `start`, each behind its quote, in the order of code points; `None` if they stand
    /// in that order.
    #[inline]
    pub fn names_of(&self, start: usize) -> Option<&[u32]> {
        self.disorder.names_of(start)
    }

    /// The string from its opening quote at `at` to behind its closing one at `end`.
    #[inline]
    pub fn string(&self, at: usize, end: usize, is_escaped: bool) -> Option<Value<'a>> {
        Some(Value::scanned(self.text.get(at..end)?, Kind::String, false, is_escaped))
    }

    /// The value that a walk found from `at` to `end`.
    pub fn value(&self, at: usize, end: usize) -> Option<Value<'a>> {
        let text = self.text.get(at..end)?;
        let kind = Kind::of_first_byte(*text.first()?)?;
        let is_escaped = kind == Kind::String && text.contains(&b'\\');
        Some(Value::scanned(text, kind, false, is_escaped))
    }
}
