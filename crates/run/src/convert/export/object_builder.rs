//! Objects as one expression, over [`ObjectWriter`].

use reenact_json::canonical::write_string;
use reenact_json::writer::ObjectWriter;

/// An object in the making.
pub(in crate::convert) struct ObjectBuilder(ObjectWriter);

impl ObjectBuilder {
    pub(in crate::convert) fn new() -> Self {
        Self(ObjectWriter::new())
    }

    /// A member whose value is JSON text.
    pub(in crate::convert) fn raw(mut self, name: &str, value: &[u8]) -> Self {
        self.0.raw(name, value);
        self
    }

    /// A member that is a string.
    pub(in crate::convert) fn string(mut self, name: &str, value: &str) -> Self {
        self.0.string(name, value);
        self
    }

    /// A member that is a string, if there is one that is not empty.
    pub(in crate::convert) fn optional_string(self, name: &str, value: Option<&str>) -> Self {
        match value.filter(|value| !value.is_empty()) {
            Some(value) => self.string(name, value),
            None => self,
        }
    }

    /// A member that is a number, if there is one.
    pub(in crate::convert) fn optional_number(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.raw(name, value.to_string().as_bytes()),
            None => self,
        }
    }

    pub(in crate::convert) fn close(self) -> Vec<u8> {
        self.0.close()
    }
}

/// A string as JSON.
pub(in crate::convert) fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_string(text, &mut out);
    out
}
