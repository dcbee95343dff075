//! JSON that is put together here, member by member.

use reenact_json::canonical::write_string;

/// An object in the making.
pub(in crate::convert) struct Object {
    text: Vec<u8>,
}

impl Object {
    pub(in crate::convert) fn new() -> Self {
        Self { text: b"{".to_vec() }
    }

    /// A member whose value is JSON text.
    pub(in crate::convert) fn raw(mut self, name: &str, value: &[u8]) -> Self {
        if self.text.len() > 1 {
            self.text.push(b',');
        }
        write_string(name, &mut self.text);
        self.text.push(b':');
        self.text.extend_from_slice(value);
        self
    }

    /// A member that is a string.
    pub(in crate::convert) fn text(self, name: &str, value: &str) -> Self {
        self.raw(name, &quoted(value))
    }

    /// A member that is a string, if there is one that is not empty.
    pub(in crate::convert) fn word(self, name: &str, value: Option<&str>) -> Self {
        match value.filter(|value| !value.is_empty()) {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    /// A member that is a number, if there is one.
    pub(in crate::convert) fn number(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.raw(name, value.to_string().as_bytes()),
            None => self,
        }
    }

    pub(in crate::convert) fn close(mut self) -> Vec<u8> {
        self.text.push(b'}');
        self.text
    }
}

/// A string as JSON.
pub(in crate::convert) fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_string(text, &mut out);
    out
}
