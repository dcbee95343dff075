//! How an `.rpk` is laid out on lines, and how large that may make it: each level of nesting costs two spaces a line, so that a
//! small document may be hundreds of times as large.

use reenact_formats::rpk::write::indent;
use reenact_json::canonical::ByteSink;

use super::error::ConvertError;

/// What any run may come to.
const MAX_INDENTED_BYTES: usize = 512 << 20;
/// A run that is large already may grow by so much: far more than any that was not made to.
const MAX_GROWTH_FACTOR: usize = 8;

/// Compact JSON on lines.
pub(super) fn indented(compact: &[u8]) -> Result<Vec<u8>, ConvertError> {
    let bytes = indented_length(compact, 0);
    check_growth(bytes, compact.len())?;
    let mut written = Vec::with_capacity(bytes);
    indent(compact, &mut written);
    Ok(written)
}

/// Refuses what grows out of proportion.
pub(super) fn check_growth(bytes: usize, compact: usize) -> Result<(), ConvertError> {
    let limit = MAX_INDENTED_BYTES.max(compact.saturating_mul(MAX_GROWTH_FACTOR));
    if bytes > limit {
        return Err(ConvertError::IndentedTooLarge { bytes, limit });
    }
    Ok(())
}

/// How many bytes compact JSON is on lines, so many levels deep.
pub(super) fn indented_length(compact: &[u8], depth: usize) -> usize {
    let mut length = IndentCounter { bytes: 0, lines: 0 };
    indent(compact, &mut length);
    length.bytes.saturating_add(length.lines.saturating_mul(2 * depth))
}

/// Counts what it is given.
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
