//! JSON of reports, composed member by member, that is safe to print on a terminal.
//!
//! Strings escape every character that [`crate::shown`] would, as `\uXXXX`, which changes the text and not the JSON value. The
//! JSON of artifacts is written by [`crate::writer`]. Start at [`PrintObjectWriter`].

use crate::shown::is_unsafe;

/// Appends `text` as a JSON string, with every character escaped that could act on a terminal.
pub fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if is_unsafe(character) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// Appends an array; `item` appends each element, and the commas are added here.
pub fn write_list<T>(
    items: impl IntoIterator<Item = T>,
    out: &mut String,
    mut item: impl FnMut(T, &mut String),
) {
    out.push('[');
    for (at, next) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        item(next, out);
    }
    out.push(']');
}

/// Appends an object to a string, member by member, in the order of the calls.
pub struct PrintObjectWriter<'a> {
    out: &'a mut String,
    is_empty: bool,
}

impl<'a> PrintObjectWriter<'a> {
    /// Appends the opening brace. [`PrintObjectWriter::close`] must be called at the end.
    pub fn open(out: &'a mut String) -> Self {
        out.push('{');
        Self { out, is_empty: true }
    }

    /// Appends a member name and its colon; the caller appends the value to the string that is returned.
    pub fn name(&mut self, name: &str) -> &mut String {
        if !self.is_empty {
            self.out.push(',');
        }
        self.is_empty = false;
        write_string(name, self.out);
        self.out.push(':');
        self.out
    }

    /// Appends a member that is a string, or `null` for `None`.
    pub fn string<'s>(&mut self, name: &str, text: impl Into<Option<&'s str>>) {
        let out = self.name(name);
        match text.into() {
            Some(text) => write_string(text, out),
            None => out.push_str("null"),
        }
    }

    /// Appends a member that is true, false, or `null` for `None`.
    pub fn boolean(&mut self, name: &str, value: impl Into<Option<bool>>) {
        self.name(name).push_str(match value.into() {
            Some(true) => "true",
            Some(false) => "false",
            None => "null",
        });
    }

    /// Appends a member that is an array of strings.
    pub fn strings<S: AsRef<str>>(&mut self, name: &str, texts: &[S]) {
        write_list(texts, self.name(name), |text, out| write_string(text.as_ref(), out));
    }

    /// Appends the closing brace.
    pub fn close(self) {
        self.out.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Value};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_comes_back(text in any::<String>()) {
            let mut out = String::new();
            write_string(&text, &mut out);
            let value = Value::parse(out.as_bytes(), &Limits::default()).unwrap();
            prop_assert_eq!(value.string().unwrap(), text);
            prop_assert!(!out.chars().any(is_unsafe));
        }
    }

    #[test]
    fn objects() {
        let mut out = String::new();
        let mut object = PrintObjectWriter::open(&mut out);
        object.string("a", "x");
        object.string("b", None);
        object.boolean("c", Some(true));
        object.strings("d", &["1", "2"]);
        PrintObjectWriter::open(object.name("e")).close();
        object.close();
        assert_eq!(out, r#"{"a":"x","b":null,"c":true,"d":["1","2"],"e":{}}"#);
    }
}
