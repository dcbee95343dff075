//! Values in messages, as the reference spells them: by ECMAScript's conversion to a string.

use reenact_formats::model_io::canonical::number_text;
use reenact_json::canonical::Sink;
use reenact_json::{Kind, Limits, Scanner, SyntaxError, Value};

/// What `typeof` says of a member.
pub(super) fn type_of(value: Option<Value<'_>>) -> &'static str {
    match value.map(|value| value.kind()) {
        None => "undefined",
        Some(Kind::True | Kind::False) => "boolean",
        Some(Kind::Number) => "number",
        Some(Kind::String) => "string",
        Some(Kind::Null | Kind::Array | Kind::Object) => "object",
    }
}

/// How many bytes of a value a message holds. Whoever wants to read more of it has the file.
const LONGEST: usize = 1_000;

/// A member as a string; what is long is cut and says how long it is.
pub(super) fn text_of(value: Option<Value<'_>>) -> String {
    let mut cut = Cut { kept: Vec::new(), bytes: 0 };
    write(value, &mut cut);
    let whole = cut.bytes == cut.kept.len() as u64;
    match core::str::from_utf8(&cut.kept) {
        Ok(text) if whole => text.to_owned(),
        Ok(text) => format!("{text}… ({} bytes)", cut.bytes),
        // Cut within a character.
        Err(error) => {
            let text = String::from_utf8_lossy(cut.kept.get(..error.valid_up_to()).unwrap_or_default());
            format!("{text}… ({} bytes)", cut.bytes)
        }
    }
}

struct Cut {
    kept: Vec<u8>,
    bytes: u64,
}

impl Sink for Cut {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let room = LONGEST.saturating_sub(self.kept.len());
        self.kept.extend(bytes.iter().take(room));
    }
}

/// Writes a member as a string, all of it.
pub(super) fn write<S: Sink>(value: Option<Value<'_>>, out: &mut S) {
    let Some(value) = value else { return out.put(b"undefined") };
    match value.kind() {
        Kind::Null | Kind::True | Kind::False => out.put(value.text()),
        Kind::String => value.write_string(out),
        Kind::Number => out.put(number_text(value).unwrap_or_default().as_bytes()),
        Kind::Object => out.put(b"[object Object]"),
        Kind::Array => {
            let limits = Limits { depth: Limits::DEEPEST, bytes: Limits::LARGEST };
            // The text was scanned before and cannot fail now.
            let _ = Scanner::new(value.text(), &limits).and_then(|mut scanner| elements(&mut scanner, out));
        }
    }
}

/// Elements joined by commas; lists in them are joined the same way, and null is nothing. One walk, however deep.
fn elements<S: Sink>(scanner: &mut Scanner<'_>, out: &mut S) -> Result<(), SyntaxError> {
    let mut array = scanner.enter_array()?;
    let mut before: &[u8] = b"";
    while scanner.next_element(&mut array)? {
        out.put(before);
        before = b",";
        match scanner.kind()? {
            Kind::Array => elements(scanner, out)?,
            Kind::Null => {
                scanner.value()?;
            }
            _ => write(Some(scanner.value()?), out),
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
