//! One interaction: a prompt, by its hash, and the response (§3.3).

use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Scanner, SyntaxError, Value, ValueKind};

/// Members of an interaction as they stand, right or wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct InteractionView<'a> {
    /// `i`
    pub i: Option<Value<'a>>,
    /// `prompt_hash`
    pub prompt_hash: Option<Value<'a>>,
    /// `response_hash`
    pub response_hash: Option<Value<'a>>,
    /// `response_content`
    pub response_content: Option<Value<'a>>,
    /// `tokens_input`, which no hash covers.
    pub tokens_input: Option<Value<'a>>,
    /// `tokens_output`, which no hash covers.
    pub tokens_output: Option<Value<'a>>,
    /// `latency_ms`, which no hash covers.
    pub latency_ms: Option<Value<'a>>,
}

impl<'a> InteractionView<'a> {
    /// Reads the element that comes next. An element that is not an object has no members.
    pub(super) fn read(scanner: &mut Scanner<'a>) -> Result<Self, SyntaxError> {
        let mut view = Self::default();
        if scanner.kind()? != ValueKind::Object {
            scanner.value()?;
            return Ok(view);
        }
        let mut object = scanner.enter_object()?;
        while let Some(name) = scanner.next_name(&mut object)? {
            let value = scanner.value()?;
            if let Some(slot) = view.slot(name) {
                *slot = Some(value);
            }
        }
        Ok(view)
    }

    fn slot(&mut self, name: Value<'_>) -> Option<&mut Option<Value<'a>>> {
        name.with_string_bytes(|name| match name {
            b"i" => Some(&mut self.i),
            b"prompt_hash" => Some(&mut self.prompt_hash),
            b"response_hash" => Some(&mut self.response_hash),
            b"response_content" => Some(&mut self.response_content),
            b"tokens_input" => Some(&mut self.tokens_input),
            b"tokens_output" => Some(&mut self.tokens_output),
            b"latency_ms" => Some(&mut self.latency_ms),
            _ => None,
        })?
    }

    /// Returns `response_content` if it is a string.
    pub fn response(&self) -> Option<Value<'a>> {
        self.response_content.filter(|content| content.kind() == ValueKind::String)
    }
}

/// Returns the digest of the UTF-8 that a response spells (§4.5), and its length in bytes.
///
/// The text is not copied. `hasher` is only borrowed to reuse its buffers: it is cleared first and left empty.
pub fn response_digest(content: Value<'_>, hasher: &mut Hasher) -> (Digest, u64) {
    if let Some(text) = content.borrowed_string_bytes() {
        return (Digest::of(text), text.len() as u64);
    }
    hasher.clear();
    let mut counted = CountingSink { bytes: 0, out: hasher };
    content.write_string(&mut counted);
    let bytes = counted.bytes;
    (hasher.finish(), bytes)
}

/// Returns the number of UTF-8 bytes that a response spells.
pub fn response_bytes(content: Value<'_>) -> u64 {
    let mut counted = CountingSink { bytes: 0, out: &mut ModelIoNullSink };
    content.write_string(&mut counted);
    counted.bytes
}

struct CountingSink<'s, S> {
    bytes: u64,
    out: &'s mut S,
}

impl<S: ByteSink> ByteSink for CountingSink<'_, S> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.out.put(bytes);
    }
}

struct ModelIoNullSink;

impl ByteSink for ModelIoNullSink {
    fn put(&mut self, _: &[u8]) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_json::Limits;

    #[test]
    fn a_response_counts_as_the_utf8_that_it_spells() {
        for (written, spelled) in [
            (r#""""#, ""),
            (r#""Hello!""#, "Hello!"),
            (r#""é""#, "é"),
            (r#""\u00e9\n\ud83d\ude00""#, "é\n😀"),
            (r#""a\"b\\c\/d\b\f\r\t\u0000""#, "a\"b\\c/d\u{8}\u{c}\r\t\0"),
        ] {
            let value = Value::parse(written.as_bytes(), &Limits::default()).unwrap();
            let mut hasher = Hasher::new();
            hasher.put(b"left over");
            let expected = (Digest::of(spelled.as_bytes()), spelled.len() as u64);
            assert_eq!(response_digest(value, &mut hasher), expected, "{written}");
            assert_eq!(response_bytes(value), expected.1, "{written}");
        }
    }
}
