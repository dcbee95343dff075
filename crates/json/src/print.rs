//! The JSON that we write ourselves: reports, one object a line.
//!
//! What is printed may be read by a person on a terminal, so strings escape all that [`crate::shown`] would: it is
//! still the same JSON value.

use crate::shown::is_unsafe;

/// Appends `text` as a JSON string, with everything escaped that could act on a terminal.
pub fn string(text: &str, out: &mut String) {
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

/// Appends items between brackets, with commas.
pub fn list<T>(items: impl IntoIterator<Item = T>, out: &mut String, mut item: impl FnMut(T, &mut String)) {
    out.push('[');
    for (at, next) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        item(next, out);
    }
    out.push(']');
}

/// Appends an object, member by member, in the order given.
pub struct Object<'a> {
    out: &'a mut String,
    empty: bool,
}

impl<'a> Object<'a> {
    /// Opens an object.
    pub fn open(out: &'a mut String) -> Self {
        out.push('{');
        Self { out, empty: true }
    }

    /// Appends a name; what is written to the result becomes its value.
    pub fn name(&mut self, name: &str) -> &mut String {
        if !self.empty {
            self.out.push(',');
        }
        self.empty = false;
        string(name, self.out);
        self.out.push(':');
        self.out
    }

    /// A member that is a string, or null.
    pub fn string<'s>(&mut self, name: &str, text: impl Into<Option<&'s str>>) {
        let out = self.name(name);
        match text.into() {
            Some(text) => string(text, out),
            None => out.push_str("null"),
        }
    }

    /// A member that is true, false, or null.
    pub fn boolean(&mut self, name: &str, value: impl Into<Option<bool>>) {
        self.name(name).push_str(match value.into() {
            Some(true) => "true",
            Some(false) => "false",
            None => "null",
        });
    }

    /// A member that is a list of strings.
    pub fn strings<S: AsRef<str>>(&mut self, name: &str, texts: &[S]) {
        list(texts, self.name(name), |text, out| string(text.as_ref(), out));
    }

    /// Closes the object.
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
            string(&text, &mut out);
            let value = Value::parse(out.as_bytes(), &Limits::default()).unwrap();
            prop_assert_eq!(value.string().unwrap(), text);
            prop_assert!(!out.chars().any(is_unsafe));
        }
    }

    #[test]
    fn objects() {
        let mut out = String::new();
        let mut object = Object::open(&mut out);
        object.string("a", "x");
        object.string("b", None);
        object.boolean("c", Some(true));
        object.strings("d", &["1", "2"]);
        Object::open(object.name("e")).close();
        object.close();
        assert_eq!(out, r#"{"a":"x","b":null,"c":true,"d":["1","2"],"e":{}}"#);
    }
}
