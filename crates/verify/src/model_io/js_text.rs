//! Values in messages, converted to strings as ECMAScript does.
//!
//! The reference implementation puts values into its messages by ECMAScript's conversion to a string,
//! and the messages here must be the same.

use reenact_formats::model_io::canonical::number_text;
use reenact_json::canonical::ByteSink;
use reenact_json::{Limits, Scanner, SyntaxError, Value, ValueKind};

/// Returns the result of `typeof` for a member; `undefined` if it is absent.
pub(super) fn type_of(value: Option<Value<'_>>) -> &'static str {
    match value.map(|value| value.kind()) {
        None => "undefined",
        Some(ValueKind::True | ValueKind::False) => "boolean",
        Some(ValueKind::Number) => "number",
        Some(ValueKind::String) => "string",
        Some(ValueKind::Null | ValueKind::Array | ValueKind::Object) => "object",
    }
}

/// Largest number of bytes of a value in a message. The file itself has the rest.
const MAX_TEXT_BYTES: usize = 1_000;

/// Returns a member as a string. Long text is cut and followed by its full length in bytes.
pub(super) fn text_of(value: Option<Value<'_>>) -> String {
    let mut cut = TruncatingSink { prefix: Vec::new(), total_bytes: 0 };
    write_text(value, &mut cut);
    let whole = cut.total_bytes == cut.prefix.len() as u64;
    match core::str::from_utf8(&cut.prefix) {
        Ok(text) if whole => text.to_owned(),
        Ok(text) => format!("{text}… ({} bytes)", cut.total_bytes),
        // The cut is inside a character, which is dropped.
        Err(error) => {
            let text = String::from_utf8_lossy(cut.prefix.get(..error.valid_up_to()).unwrap_or_default());
            format!("{text}… ({} bytes)", cut.total_bytes)
        }
    }
}

/// Sink that keeps the first [`MAX_TEXT_BYTES`] and counts all bytes.
struct TruncatingSink {
    /// First bytes.
    prefix: Vec<u8>,
    /// Number of all bytes.
    total_bytes: u64,
}

impl ByteSink for TruncatingSink {
    fn put(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        let free_bytes = MAX_TEXT_BYTES.saturating_sub(self.prefix.len());
        self.prefix.extend(bytes.iter().take(free_bytes));
    }
}

/// Writes a member as a string without cutting.
pub(super) fn write_text<S: ByteSink>(value: Option<Value<'_>>, out: &mut S) {
    let Some(value) = value else { return out.put(b"undefined") };
    match value.kind() {
        ValueKind::Null | ValueKind::True | ValueKind::False => out.put(value.text()),
        ValueKind::String => value.write_string(out),
        ValueKind::Number => out.put(number_text(value).unwrap_or_default().as_bytes()),
        ValueKind::Object => out.put(b"[object Object]"),
        ValueKind::Array => {
            let limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };
            // The text was parsed before, so parsing cannot fail.
            let _ =
                Scanner::new(value.text(), &limits).and_then(|mut scanner| write_elements(&mut scanner, out));
        }
    }
}

/// Writes the elements of an array joined by commas. Inner arrays are joined the same way, and null is
/// empty. One walk suffices, however deep the nesting.
fn write_elements<S: ByteSink>(scanner: &mut Scanner<'_>, out: &mut S) -> Result<(), SyntaxError> {
    let mut array = scanner.enter_array()?;
    let mut before: &[u8] = b"";
    while scanner.next_element(&mut array)? {
        out.put(before);
        before = b",";
        match scanner.kind()? {
            ValueKind::Array => write_elements(scanner, out)?,
            ValueKind::Null => {
                scanner.value()?;
            }
            _ => write_text(Some(scanner.value()?), out),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> String {
        text_of(Some(Value::parse(text.as_bytes(), &Limits::default()).unwrap()))
    }

    #[test]
    fn conversions() {
        for (text, expected) in [
            ("null", "null"),
            ("true", "true"),
            ("-0", "0"),
            ("1e21", "1e+21"),
            ("1e400", "Infinity"),
            ("-1e400", "-Infinity"),
            ("9007199254740993", "9007199254740992"),
            (r#""a\u0041""#, "aA"),
            ("{\"toString\":1}", "[object Object]"),
            ("[]", ""),
            ("[1,null,[2,[null,3.0]],{},\"x\",true]", "1,,2,,3,[object Object],x,true"),
            ("[[[]],[]]", ","),
        ] {
            assert_eq!(spelled(text), expected, "{text}");
        }
        assert_eq!(text_of(None), "undefined");
    }

    #[test]
    fn what_is_long_is_cut() {
        assert_eq!(spelled(&format!("\"{}\"", "x".repeat(1_000))), "x".repeat(1_000));
        let cut = format!("{}… (1001 bytes)", "x".repeat(1_000));
        assert_eq!(spelled(&format!("\"{}\"", "x".repeat(1_001))), cut);
        let cut = format!("{}… (1002 bytes)", "€".repeat(333));
        assert_eq!(spelled(&format!("\"{}\"", "€".repeat(334))), cut);
    }

    #[test]
    fn types() {
        for (text, expected) in
            [("null", "object"), ("[]", "object"), ("{}", "object"), ("1", "number"), ("false", "boolean")]
        {
            let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
            assert_eq!(type_of(Some(value)), expected);
        }
        assert_eq!(type_of(None), "undefined");
    }
}
