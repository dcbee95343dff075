//! How an `.rpk` is laid out on lines, and how large that may make it: each level of nesting costs two spaces a line, so that a
//! small document may be hundreds of times as large.

use reenact_formats::rpk::write::indent;
use reenact_json::canonical::Sink;

use super::fault::ConvertError;

/// What any run may come to.
const LARGEST: usize = 512 << 20;
/// A run that is large already may grow by so much: far more than any that was not made to.
const GROWTH: usize = 8;

/// Compact JSON on lines.
pub(super) fn laid_out(compact: &[u8]) -> Result<Vec<u8>, ConvertError> {
    let bytes = length(compact, 0);
    must_fit(bytes, compact.len())?;
    let mut written = Vec::with_capacity(bytes);
    indent(compact, &mut written);
    Ok(written)
}

/// Refuses what grows out of proportion.
pub(super) fn must_fit(bytes: usize, compact: usize) -> Result<(), ConvertError> {
    let limit = LARGEST.max(compact.saturating_mul(GROWTH));
    if bytes > limit {
        return Err(ConvertError::LaidOut { bytes, limit });
    }
    Ok(())
}

/// How many bytes compact JSON is on lines, so many levels deep.
pub(super) fn length(compact: &[u8], depth: usize) -> usize {
    let mut length = Length { bytes: 0, lines: 0 };
    indent(compact, &mut length);
    length.bytes.saturating_add(length.lines.saturating_mul(2 * depth))
}

/// Counts what it is given.
struct Length {
    bytes: usize,
    lines: usize,
}

impl Sink for Length {
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
        assert_eq!(laid_out(text).unwrap().len(), length(text, 0));
        let deep = [b"[".repeat(480), b"1,".repeat(600_000), b"1".to_vec(), b"]".repeat(480)].concat();
        let bytes = length(&deep, 0);
        assert_eq!(laid_out(&deep), Err(ConvertError::LaidOut { bytes, limit: LARGEST }));
        assert_eq!(must_fit(LARGEST + 1, LARGEST), Ok(()));
    }
}
