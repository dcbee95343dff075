//! JSON that keeps the order of its members: vendors do not sort theirs, and `serde_json` does.

use std::fmt;

/// JSON value to be written.
#[derive(Debug, Clone)]
pub(crate) enum OrderedJson {
    Null,
    Bool(bool),
    Number(u64),
    String(String),
    /// Text that is JSON already.
    Raw(String),
    Array(Vec<OrderedJson>),
    Object(Vec<(&'static str, OrderedJson)>),
}

impl OrderedJson {
    /// Returns a text as JSON if it is valid; an empty object otherwise.
    pub(crate) fn raw_or_empty_object(text: &str) -> Self {
        match serde_json::from_str::<serde_json::Value>(text) {
            Ok(_) => Self::Raw(text.to_owned()),
            Err(_) => Self::Object(Vec::new()),
        }
    }

    /// Appends a member to an object; other values stay as they are.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<OrderedJson>) -> Self {
        if let Self::Object(members) = &mut self {
            members.push((name, value.into()));
        }
        self
    }
}

/// Creates an object: `object! { "name": value, … }`.
macro_rules! object {
    ($($name:literal: $value:expr),* $(,)?) => {
        $crate::json::OrderedJson::Object(vec![$(($name, $crate::json::OrderedJson::from($value))),*])
    };
}
pub(crate) use object;

impl From<bool> for OrderedJson {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<u64> for OrderedJson {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for OrderedJson {
    fn from(number: usize) -> Self {
        Self::Number(number as u64)
    }
}

impl From<&str> for OrderedJson {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for OrderedJson {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl<T: Into<OrderedJson>> From<Vec<T>> for OrderedJson {
    fn from(list: Vec<T>) -> Self {
        Self::Array(list.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<OrderedJson>> From<Option<T>> for OrderedJson {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl fmt::Display for OrderedJson {
    /// Writes compact JSON.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Bool(flag) => write!(out, "{flag}"),
            Self::Number(number) => write!(out, "{number}"),
            Self::String(text) => quoted(text, out),
            Self::Raw(text) => out.write_str(text),
            Self::Array(list) => {
                out.write_str("[")?;
                for (at, item) in list.iter().enumerate() {
                    write!(out, "{}{item}", if at == 0 { "" } else { "," })?;
                }
                out.write_str("]")
            }
            Self::Object(members) => {
                out.write_str("{")?;
                for (at, (name, value)) in members.iter().enumerate() {
                    write!(out, "{}\"{name}\":{value}", if at == 0 { "" } else { "," })?;
                }
                out.write_str("}")
            }
        }
    }
}

/// Writes a string with the escapes that JSON demands, and no others.
fn quoted(text: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    out.write_str("\"")?;
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate().filter(|(_, byte)| matches!(byte, 0..=0x1f | b'"' | b'\\')) {
        out.write_str(&text[from..at])?;
        match byte {
            b'"' => out.write_str("\\\"")?,
            b'\\' => out.write_str("\\\\")?,
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            _ => write!(out, "\\u{byte:04x}")?,
        }
        from = at + 1;
    }
    out.write_str(&text[from..])?;
    out.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_text_its_meaning() {
        let text = "a\"b\\c\n\t\r\u{1}é🦀";
        let value = object! { "z": 1_u64, "a": text, "n": OrderedJson::Null, "l": vec![true, false], "o": object! {} };
        assert_eq!(
            value.to_string(),
            r#"{"z":1,"a":"a\"b\\c\n\t\r\u0001é🦀","n":null,"l":[true,false],"o":{}}"#
        );
        let read: serde_json::Value = serde_json::from_str(&value.to_string()).unwrap();
        assert_eq!(read["a"], text);
    }

    #[test]
    fn what_is_not_json_does_not_pass_as_such() {
        assert_eq!(OrderedJson::raw_or_empty_object("{\"a\": 1}").to_string(), "{\"a\": 1}");
        assert_eq!(OrderedJson::raw_or_empty_object("{\"a\": ").to_string(), "{}");
    }
}
