//! Text that a scanner has passed, for canonical writers that pass over it again.

use crate::unsorted_objects::UnsortedObjects;
use crate::value::{Value, ValueKind};

/// Text up to the cursor of a [`crate::Scanner`], with the list of its objects that are not sorted by code points.
///
/// Made by [`crate::Scanner::into_scanned`] or [`ScannedText::rescan`].
#[derive(Debug, Default)]
pub struct ScannedText<'a> {
    text: &'a [u8],
    unsorted: UnsortedObjects,
}

impl<'a> ScannedText<'a> {
    pub(crate) fn new(text: &'a [u8], unsorted: UnsortedObjects) -> Self {
        Self { text, unsorted }
    }

    /// Scans the text of a value again and records its unsorted objects.
    pub fn rescan(value: Value<'a>) -> Self {
        let mut scanner = value.rescan().with_code_point_order();
        // The text was scanned before and cannot fail now.
        let _ = scanner.value();
        scanner.into_scanned()
    }

    /// Returns the scanned bytes.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Returns the offsets of the names of the object at `start`, sorted by code points; `None` if the text has them in that order
    /// already. Each offset is the first byte behind the opening quote.
    #[inline]
    pub fn sorted_names(&self, start: usize) -> Option<&[u32]> {
        self.unsorted.sorted_names(start)
    }

    /// Returns the string whose opening quote is at `at` and whose text ends before `end`, behind the closing quote. `None` if the
    /// range is not in the text. The caller vouches for the range and for `is_escaped`.
    #[inline]
    pub fn string(&self, at: usize, end: usize, is_escaped: bool) -> Option<Value<'a>> {
        Some(Value::from_scan(self.text.get(at..end)?, ValueKind::String, false, is_escaped))
    }

    /// Returns the value from `at` to `end`, which a pass over this text has found; `None` if the range is not in the text or no
    /// value begins there.
    pub fn value(&self, at: usize, end: usize) -> Option<Value<'a>> {
        let text = self.text.get(at..end)?;
        let kind = ValueKind::of_first_byte(*text.first()?)?;
        let is_escaped = kind == ValueKind::String && text.contains(&b'\\');
        Some(Value::from_scan(text, kind, false, is_escaped))
    }
}
