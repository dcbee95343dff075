//! The profile `model-io`: the text of RFC 8785, with every number read as the nearest double.
//!
//! The producer of this format knows no other numbers, so 9007199254740993 and 9007199254740992 are one value with
//! one text. A text is canonical under this profile if and only if it is canonical under RFC 8785, so canonical text
//! is hashed in place, without a copy. Lone surrogates and duplicate names, which that producer accepts, never pass
//! our scanner.

use reenact_json::canonical::{ByteSink, IntegerPolicy, rewrite};
use reenact_json::{CanonicalFault, CanonicalForm, Value, ValueKind};

/// Canonical form of Model IO: the text of RFC 8785, with integers that doubles cannot hold rounded to the nearest
/// double.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelIoForm;

impl CanonicalForm for ModelIoForm {
    fn write<S: ByteSink>(self, value: Value<'_>, out: &mut S) -> Result<(), CanonicalFault> {
        if value.is_canonical() {
            out.put(value.text());
            return Ok(());
        }
        rewrite(value, IntegerPolicy::Nearest, &[], out)
    }

    fn is_already_canonical(self, value: Value<'_>) -> bool {
        value.is_canonical()
    }
}

/// Returns the text of a number as ECMAScript prints the double nearest to it, `Infinity` included; `None` for any
/// other kind of value.
pub fn number_text(value: Value<'_>) -> Option<String> {
    if value.kind() != ValueKind::Number {
        return None;
    }
    let infinite = if value.text().starts_with(b"-") { "-Infinity" } else { "Infinity" };
    Some(value.nearest_double_text().unwrap_or_else(|| infinite.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_json::digest::Hasher;
    use reenact_json::{Digest, Limits, NumberFault, canonical};

    fn parsed(text: &str) -> Value<'_> {
        Value::parse(text.as_bytes(), &Limits::default()).unwrap()
    }

    #[test]
    fn integers_become_the_nearest_double() {
        let value = parsed(r#"{"b":[9007199254740993,-18446744073709551615],"a":1.0}"#);
        let expected = br#"{"a":1,"b":[9007199254740992,-18446744073709552000]}"#;
        assert_eq!(canonical::to_vec(value, ModelIoForm).unwrap(), expected);
        assert_eq!(
            canonical::digest(value, ModelIoForm, &mut Hasher::new()),
            Ok(Digest::of(expected.as_slice()))
        );
    }

    #[test]
    fn what_exceeds_the_doubles_is_refused() {
        assert_eq!(
            canonical::to_vec(parsed(r#"{"a":{"b":[0,-1e999]}}"#), ModelIoForm),
            Err(CanonicalFault::Number {
                path: "$.a.b[1]".into(),
                literal: "-1e999".into(),
                fault: NumberFault::Overflow
            })
        );
    }

    #[test]
    fn numbers_as_text() {
        for (literal, expected) in [
            ("-0", Some("0")),
            ("1e21", Some("1e+21")),
            ("9007199254740993", Some("9007199254740992")),
            ("1e400", Some("Infinity")),
            ("-1e400", Some("-Infinity")),
            ("\"1\"", None),
        ] {
            assert_eq!(number_text(parsed(literal)).as_deref(), expected, "{literal}");
        }
    }
}
