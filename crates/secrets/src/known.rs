//! Values that are known to be secret, found in every form in which they may be written.

use crate::Finding;
use crate::base64;
use crate::literals::{Literal, LiteralSet};
use core::fmt::Write;
use std::borrow::Cow;

/// Values under this length would be found inside words.
pub(crate) const SHORTEST: usize = 8;
/// Below this length the letters that a value leaves in base64 are too few to be told from others.
const SHORTEST_IN_BASE64: usize = 12;

/// Known values, and where to look for them.
#[derive(Default)]
pub(crate) struct Known {
    rules: Vec<Cow<'static, str>>,
    values: Vec<(Cow<'static, str>, Vec<u8>)>,
    /// The forms of all values, and of which value each is.
    forms: Vec<(usize, Vec<u8>)>,
    /// The literals of a pack and, behind them, the forms; built at the first search after a value was added.
    literals: Option<LiteralSet>,
    is_changed_by_urls: bool,
}

impl Known {
    /// Adds a value, unless it is too short or known already.
    pub(crate) fn add(&mut self, rule: Cow<'static, str>, value: &[u8]) {
        if value.len() < SHORTEST || self.values.iter().any(|(_, known)| known == value) {
            return;
        }
        if !self.rules.contains(&rule) {
            self.rules.push(rule.clone());
        }
        let id = self.values.len();
        self.values.push((rule, value.to_vec()));
        for form in forms(value) {
            if !self.forms.iter().any(|(_, known)| *known == form) {
                self.forms.push((id, form));
            }
        }
        self.literals = None;
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        self.is_changed_by_urls |= !value.iter().all(is_plain);
    }

    /// The rules under which values are known.
    pub(crate) fn rules(&self) -> Vec<&str> {
        self.rules.iter().map(|rule| &**rule).collect()
    }

    /// All of them.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.values.iter().map(|(rule, value)| (&**rule, value.as_slice()))
    }

    /// The value of this id.
    pub(crate) fn value(&self, id: usize) -> Option<&(Cow<'static, str>, Vec<u8>)> {
        self.values.get(id)
    }

    /// Whether a value has bytes that are written otherwise in a URL.
    pub(crate) fn is_changed_by_urls(&self) -> bool {
        self.is_changed_by_urls
    }

    /// A value that the end of a text cuts off, when more than half of it is there.
    pub(crate) fn cut_off(&self, text: &[u8]) -> Option<(usize, Finding)> {
        let last = text.last()?;
        self.values.iter().enumerate().find_map(|(id, (rule, value))| {
            let least = (value.len() / 2 + 1).max(SHORTEST);
            let length = (least..value.len())
                .rev()
                .find(|length| value.get(length - 1) == Some(last) && text.ends_with(&value[..*length]))?;
            Some((id, Finding { rule: rule.clone(), span: text.len() - length..text.len() }))
        })
    }

    /// The literals of a pack and all forms of the values behind them, for one pass; `None` if nothing is known.
    pub(crate) fn beside(&mut self, pack: &LiteralSet) -> Option<&LiteralSet> {
        if self.values.is_empty() {
            return None;
        }
        let forms = self.forms.iter().map(|(_, form)| Literal { bytes: form, any_case: false });
        Some(self.literals.get_or_insert_with(|| LiteralSet::new(pack.literals().chain(forms))))
    }

    /// The value whose form was found somewhere, with its id.
    pub(crate) fn finding(&self, form: usize, start: usize) -> Option<(usize, Finding)> {
        let (id, form) = self.forms.get(form)?;
        let (rule, _) = self.values.get(*id)?;
        Some((*id, Finding { rule: rule.clone(), span: start..start + form.len() }))
    }
}

/// A value as it is, in JSON, in JSON inside JSON, in URLs and forms, and in base64; each form once.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec()];
    let mut add = |form: Vec<u8>| {
        if form.len() >= SHORTEST && !forms.contains(&form) {
            forms.push(form);
        }
    };
    for escape in [Escape::Needed, Escape::Slashes, Escape::Html, Escape::Ascii, Escape::AsciiCapitals] {
        let once = in_json(value, escape);
        add(in_json(&once, Escape::Needed));
        add(once);
    }
    for capitals in [true, false] {
        for plus in [true, false] {
            add(in_url(value, capitals, plus));
        }
    }
    if value.len() >= SHORTEST_IN_BASE64 {
        for shift in 0..3 {
            add(base64::inner_letters(value, shift, base64::STANDARD));
            add(base64::inner_letters(value, shift, base64::URL));
        }
    }
    forms
}

/// What a writer of JSON escapes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    /// What must be.
    Needed,
    /// Slashes, too.
    Slashes,
    /// What HTML would act on, too.
    Html,
    /// All that is not ASCII.
    Ascii,
    /// The same with capital digits.
    AsciiCapitals,
}

/// A value as it stands in a JSON string; bytes that are not UTF-8 stay.
fn in_json(value: &[u8], escape: Escape) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len());
    for chunk in value.utf8_chunks() {
        for character in chunk.valid().chars() {
            json_character(&mut text, character, escape);
        }
        text.extend_from_slice(chunk.invalid());
    }
    text
}

fn json_character(text: &mut Vec<u8>, character: char, escape: Escape) {
    let is_ascii_only = matches!(escape, Escape::Ascii | Escape::AsciiCapitals);
    match character {
        '"' | '\\' => text.extend([b'\\', character as u8]),
        '/' if escape == Escape::Slashes => text.extend(b"\\/"),
        '\n' => text.extend(b"\\n"),
        '\r' => text.extend(b"\\r"),
        '\t' => text.extend(b"\\t"),
        '\u{8}' => text.extend(b"\\b"),
        '\u{c}' => text.extend(b"\\f"),
        _ if character < ' '
            || (escape == Escape::Html && matches!(character, '<' | '>' | '&' | '\u{2028}' | '\u{2029}'))
            || (is_ascii_only && (!character.is_ascii() || character == '\u{7f}')) =>
        {
            let mut escaped = String::new();
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = match escape {
                    Escape::AsciiCapitals => write!(escaped, "\\u{unit:04X}"),
                    _ => write!(escaped, "\\u{unit:04x}"),
                };
            }
            text.extend(escaped.into_bytes());
        }
        _ => text.extend(character.encode_utf8(&mut [0; 4]).bytes()),
    }
}

/// A value as it stands in a URL; in a form a blank may be a plus.
fn in_url(value: &[u8], capitals: bool, plus: bool) -> Vec<u8> {
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
        forms(value.as_bytes()).into_iter().map(|form| String::from_utf8(form).unwrap()).collect()
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
        let mut known = Known::default();
        known.add("x".into(), b"1234567");
        assert!(known.beside(&LiteralSet::new([])).is_none());
        known.add("x".into(), b"12345678");
        let mut found = Vec::new();
        let literals = known.beside(&LiteralSet::new([])).unwrap();
        literals.search(b"a12345678", |form, start| found.push((form, start)));
        assert_eq!(found, [(0, 1)]);
        assert_eq!(known.finding(0, 1), Some((0, Finding { rule: "x".into(), span: 1..9 })));
        assert_eq!(known.finding(1, 1), None);
    }
}
