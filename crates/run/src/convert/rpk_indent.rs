//! Indentation of `.rpk` files, and the size that it leads to.
//!
//! Each level of nesting costs two spaces a line, so that a small document of deep values may become hundreds
//! of times as large. The size is computed before anything is written.

use reenact_formats::rpk::write::indent;
use reenact_json::canonical::ByteSink;

use super::error::ConvertError;

/// Size that every `.rpk` may have, in bytes: 512 MiB.
const MAX_INDENTED_BYTES: usize = 512 << 20;
/// Factor by which a larger document may grow. Documents that are not crafted to grow stay far below.
const MAX_GROWTH_FACTOR: usize = 8;

/// Returns compact JSON with indentation.
///
/// # Errors
/// As [`check_growth`].
pub(super) fn indented(compact: &[u8]) -> Result<Vec<u8>, ConvertError> {
    let bytes = indented_length(compact, 0);
    check_growth(bytes, compact.len())?;
    let mut written = Vec::with_capacity(bytes);
    indent(compact, &mut written);
    Ok(written)
}

/// Checks the size of an indented document against its compact size, both in bytes.
///
/// # Errors
/// [`ConvertError::IndentedTooLarge`] if the document grows out of proportion.
pub(super) fn check_growth(bytes: usize, compact: usize) -> Result<(), ConvertError> {
    let limit = MAX_INDENTED_BYTES.max(compact.saturating_mul(MAX_GROWTH_FACTOR));
    if bytes > limit {
        return Err(ConvertError::IndentedTooLarge { bytes, limit });
    }
    Ok(())
}

/// Returns the size in bytes of compact JSON with indentation, if it lies at a depth of nesting.
pub(super) fn indented_length(compact: &[u8], depth: usize) -> usize {
    let mut length = IndentCounter { bytes: 0, lines: 0 };
    indent(compact, &mut length);
    length.bytes.saturating_add(length.lines.saturating_mul(2 * depth))
}

/// Sink that counts bytes and lines instead of storing them.
struct IndentCounter {
    bytes: usize,
    lines: usize,
}

impl ByteSink for IndentCounter {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(bytes.len());
        self.lines += usize::from(bytes == b"\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_deep_is_large() {
        let text = br#"{"a":[1,{"b":[]}]}"#;
        assert_eq!(indented(text).unwrap().len(), indented_length(text, 0));
        let deep = [b"[".repeat(480), b"1,".repeat(600_000), b"1".to_vec(), b"]".repeat(480)].concat();
        let bytes = indented_length(&deep, 0);
        assert_eq!(indented(&deep), Err(ConvertError::IndentedTooLarge { bytes, limit: MAX_INDENTED_BYTES }));
        assert_eq!(check_growth(MAX_INDENTED_BYTES + 1, MAX_INDENTED_BYTES), Ok(()));
    }
}
