//! JSON that we send, with its members in the order in which they were put: vendors do not sort theirs.

use std::fmt;

/// A value that will be written.
#[derive(Debug, Clone)]
pub(crate) enum Json {
    Null,
    Flag(bool),
    Number(u64),
    Text(String),
    /// Text that is JSON already.
    Ready(String),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    /// Text that someone says is JSON; anything else becomes an empty object.
    pub(crate) fn ready(text: &str) -> Self {
        match serde_json::from_str::<serde_json::Value>(text) {
            Ok(_) => Self::Ready(text.to_owned()),
            Err(_) => Self::Object(Vec::new()),
        }
    }

    /// An object with one more member.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Json>) -> Self {
        if let Self::Object(members) = &mut self {
            members.push((name, value.into()));
        }
        self
    }
}

/// An object: `object! { "name": value, … }`.
macro_rules! object {
    ($($name:literal: $value:expr),* $(,)?) => {
        $crate::json::Json::Object(vec![$(($name, $crate::json::Json::from($value))),*])
    };
}
pub(crate) use object;

impl From<bool> for Json {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Json {
    fn from(number: usize) -> Self {
        Self::Number(number as u64)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(list: Vec<T>) -> Self {
        Self::List(list.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Flag(flag) => write!(out, "{flag}"),
            Self::Number(number) => write!(out, "{number}"),
            Self::Text(text) => quoted(text, out),
            Self::Ready(text) => out.write_str(text),
            Self::List(list) => {
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

/// A string with the escapes that JSON demands, and no others.
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
        let value =
            object! { "z": 1_u64, "a": text, "n": Json::Null, "l": vec![true, false], "o": object! {} };
        assert_eq!(
            value.to_string(),
            r#"{"z":1,"a":"a\"b\\c\n\t\r\u0001é🦀","n":null,"l":[true,false],"o":{}}"#
        );
        let read: serde_json::Value = serde_json::from_str(&value.to_string()).unwrap();
        assert_eq!(read["a"], text);
    }

    #[test]
    fn what_is_not_json_does_not_pass_as_such() {
        assert_eq!(Json::ready("{\"a\": 1}").to_string(), "{\"a\": 1}");
        assert_eq!(Json::ready("{\"a\": ").to_string(), "{}");
    }
}
