//! Known secret values, found in every encoding in which they may be written.
//!
//! Each value is expanded into its encoded forms, and all forms are literals behind those of the
//! pack, so that one pass of the automaton finds both.

use crate::SecretFinding;
use crate::base64;
use crate::literals::{Literal, LiteralSet};
use core::fmt::Write;
use std::borrow::Cow;

/// Shortest known value, in bytes; shorter ones would be found inside words.
pub(crate) const MIN_KNOWN_BYTES: usize = 8;
/// Shortest value, in bytes, that is looked for in base64: of a shorter one too few letters are
/// independent of its neighbours.
const MIN_BASE64_BYTES: usize = 12;

/// Known values with their encoded forms.
#[derive(Default)]
pub(crate) struct KnownValues {
    /// Rules of the values, each once.
    rules: Vec<Cow<'static, str>>,
    /// Rule and bytes of each value; the index is the value's id.
    values: Vec<(Cow<'static, str>, Vec<u8>)>,
    /// Encoded forms, each with the id of its value.
    forms: Vec<(usize, Vec<u8>)>,
    /// Literals of a pack and, behind them, the forms; built by the first search after a value was
    /// added.
    literals: Option<LiteralSet>,
}

impl KnownValues {
    /// Adds a value, unless it is too short or already known.
    pub(crate) fn add(&mut self, rule: Cow<'static, str>, value: &[u8]) {
        if value.len() < MIN_KNOWN_BYTES || self.values.iter().any(|(_, known)| known == value) {
            return;
        }
        if !self.rules.contains(&rule) {
            self.rules.push(rule.clone());
        }
        let id = self.values.len();
        self.values.push((rule, value.to_vec()));
        for form in encoded_forms(value) {
            if !self.forms.iter().any(|(_, known)| *known == form) {
                self.forms.push((id, form));
            }
        }
        self.literals = None;
    }

    /// Returns the names of the rules under which values are known.
    pub(crate) fn rules(&self) -> Vec<&str> {
        self.rules.iter().map(|rule| &**rule).collect()
    }

    /// Returns the values with their rules.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.values.iter().map(|(rule, value)| (&**rule, value.as_slice()))
    }

    /// Returns the rule and the bytes of the value with this id.
    pub(crate) fn value(&self, id: usize) -> Option<&(Cow<'static, str>, Vec<u8>)> {
        self.values.get(id)
    }

    /// Returns the known value that the end of a text truncates, if more than half of it is there.
    pub(crate) fn truncated_at_end(&self, text: &[u8]) -> Option<(usize, SecretFinding)> {
        let last = text.last()?;
        self.values.iter().enumerate().find_map(|(id, (rule, value))| {
            let least = (value.len() / 2 + 1).max(MIN_KNOWN_BYTES);
            let length = (least..value.len())
                .rev()
                .find(|length| value.get(length - 1) == Some(last) && text.ends_with(&value[..*length]))?;
            Some((id, SecretFinding { rule: rule.clone(), span: text.len() - length..text.len() }))
        })
    }

    /// Returns the literals of a pack with all encoded forms behind them, for one pass; `None` if
    /// no value is known.
    pub(crate) fn literals_with_pack(&mut self, pack: &LiteralSet) -> Option<&LiteralSet> {
        if self.values.is_empty() {
            return None;
        }
        let forms = self.forms.iter().map(|(_, form)| Literal { bytes: form, any_case: false });
        Some(self.literals.get_or_insert_with(|| LiteralSet::new(pack.literals().chain(forms))))
    }

    /// Returns the id of the value whose form was found at `start`, and the finding.
    pub(crate) fn finding_of_form(&self, form: usize, start: usize) -> Option<(usize, SecretFinding)> {
        let (id, form) = self.forms.get(form)?;
        let (rule, _) = self.values.get(*id)?;
        Some((*id, SecretFinding { rule: rule.clone(), span: start..start + form.len() }))
    }
}

/// Returns a value as it is, in JSON, in JSON inside JSON, percent-encoded and in base64; each form
/// once.
fn encoded_forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec()];
    let mut add = |form: Vec<u8>| {
        if form.len() >= MIN_KNOWN_BYTES && !forms.contains(&form) {
            forms.push(form);
        }
    };
    for escape in [
        JsonEscaping::Minimal,
        JsonEscaping::Slashes,
        JsonEscaping::Html,
        JsonEscaping::NonAscii,
        JsonEscaping::NonAsciiUppercase,
    ] {
        let once = json_escaped(value, escape);
        add(json_escaped(&once, JsonEscaping::Minimal));
        add(once);
    }
    for capitals in [true, false] {
        for plus in [true, false] {
            add(percent_encoded(value, capitals, plus));
        }
    }
    if value.len() >= MIN_BASE64_BYTES {
        for shift in 0..3 {
            add(base64::inner_letters(value, shift, base64::STANDARD));
            add(base64::inner_letters(value, shift, base64::URL));
        }
    }
    forms
}

/// Characters that a JSON writer escapes beyond those that it must.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonEscaping {
    /// None beyond those that must be escaped.
    Minimal,
    /// Slashes.
    Slashes,
    /// Characters that HTML would act on.
    Html,
    /// All characters outside of ASCII, and DEL.
    NonAscii,
    /// Those of [`Self::NonAscii`], with hexadecimal digits in capitals.
    NonAsciiUppercase,
}

/// Returns a value as it stands in a JSON string; bytes that are not UTF-8 stay.
fn json_escaped(value: &[u8], escape: JsonEscaping) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len());
    for chunk in value.utf8_chunks() {
        for character in chunk.valid().chars() {
            push_json_char(&mut text, character, escape);
        }
        text.extend_from_slice(chunk.invalid());
    }
    text
}

/// Appends one character as a JSON string holds it.
fn push_json_char(text: &mut Vec<u8>, character: char, escape: JsonEscaping) {
    let is_ascii_only = matches!(escape, JsonEscaping::NonAscii | JsonEscaping::NonAsciiUppercase);
    match character {
        '"' | '\\' => text.extend([b'\\', character as u8]),
        '/' if escape == JsonEscaping::Slashes => text.extend(b"\\/"),
        '\n' => text.extend(b"\\n"),
        '\r' => text.extend(b"\\r"),
        '\t' => text.extend(b"\\t"),
        '\u{8}' => text.extend(b"\\b"),
        '\u{c}' => text.extend(b"\\f"),
        _ if character < ' '
            || (escape == JsonEscaping::Html
                && matches!(character, '<' | '>' | '&' | '\u{2028}' | '\u{2029}'))
            || (is_ascii_only && (!character.is_ascii() || character == '\u{7f}')) =>
        {
            let mut escaped = String::new();
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = match escape {
                    JsonEscaping::NonAsciiUppercase => write!(escaped, "\\u{unit:04X}"),
                    _ => write!(escaped, "\\u{unit:04x}"),
                };
            }
            text.extend(escaped.into_bytes());
        }
        _ => text.extend(character.encode_utf8(&mut [0; 4]).bytes()),
    }
}

/// Returns a value percent-encoded as in a URL. In a form, a blank may be a plus.
fn percent_encoded(value: &[u8], capitals: bool, plus: bool) -> Vec<u8> {
    let digits: &[u8; 16] = if capitals { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    let mut text = Vec::with_capacity(value.len());
    for byte in value {
        match byte {
            b'-' | b'.' | b'_' | b'~' => text.push(*byte),
            b' ' if plus => text.push(b'+'),
            _ if byte.is_ascii_alphanumeric() => text.push(*byte),
            _ => text.extend([b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(value: &str) -> Vec<String> {
        encoded_forms(value.as_bytes()).into_iter().map(|form| String::from_utf8(form).unwrap()).collect()
    }

    #[test]
    fn each_form_once() {
        assert_eq!(texts("plain-key"), ["plain-key"]);
        assert_eq!(
            texts("a/\"é &"),
            [
                "a/\"é &",
                "a/\\\\\\\"é &",
                "a/\\\"é &",
                "a\\\\/\\\\\\\"é &",
                "a\\/\\\"é &",
                "a/\\\\\\\"é \\\\u0026",
                "a/\\\"é \\u0026",
                "a/\\\\\\\"\\\\u00e9 &",
                "a/\\\"\\u00e9 &",
                "a/\\\\\\\"\\\\u00E9 &",
                "a/\\\"\\u00E9 &",
                "a%2F%22%C3%A9+%26",
                "a%2F%22%C3%A9%20%26",
                "a%2f%22%c3%a9+%26",
                "a%2f%22%c3%a9%20%26",
            ]
        );
    }

    #[test]
    fn a_longer_value_is_known_in_base64() {
        let forms = texts("user-and-password");
        assert_eq!(forms.len(), 4);
        assert!("eDp1c2VyLWFuZC1wYXNzd29yZA==".contains(&forms[3]), "{forms:?}");
    }

    #[test]
    fn short_values_are_not_known() {
        let mut known = KnownValues::default();
        known.add("x".into(), b"1234567");
        assert!(known.literals_with_pack(&LiteralSet::new([])).is_none());
        known.add("x".into(), b"12345678");
        let mut found = Vec::new();
        let literals = known.literals_with_pack(&LiteralSet::new([])).unwrap();
        literals.search(b"a12345678", |form, start| found.push((form, start)));
        assert_eq!(found, [(0, 1)]);
        assert_eq!(known.finding_of_form(0, 1), Some((0, SecretFinding { rule: "x".into(), span: 1..9 })));
        assert_eq!(known.finding_of_form(1, 1), None);
    }
}
