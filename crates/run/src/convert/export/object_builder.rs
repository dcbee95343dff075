//! Builder of JSON objects as one expression, over [`ObjectWriter`].

use reenact_json::canonical::write_string;
use reenact_json::writer::ObjectWriter;

/// JSON object under construction. Names must be unique; they are not checked.
pub(in crate::convert) struct ObjectBuilder(ObjectWriter);

impl ObjectBuilder {
    /// Begins an object.
    pub(in crate::convert) fn new() -> Self {
        Self(ObjectWriter::new())
    }

    /// Adds a member whose value is JSON text.
    pub(in crate::convert) fn raw(mut self, name: &str, value: &[u8]) -> Self {
        self.0.raw(name, value);
        self
    }

    /// Adds a member that is a string.
    pub(in crate::convert) fn string(mut self, name: &str, value: &str) -> Self {
        self.0.string(name, value);
        self
    }

    /// Adds a member that is a string, unless the string is absent or empty.
    pub(in crate::convert) fn optional_string(self, name: &str, value: Option<&str>) -> Self {
        match value.filter(|value| !value.is_empty()) {
            Some(value) => self.string(name, value),
            None => self,
        }
    }

    /// Adds a member that is a number, if there is one.
    pub(in crate::convert) fn optional_number(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.raw(name, value.to_string().as_bytes()),
            None => self,
        }
    }

    /// Ends the object, and returns its text.
    pub(in crate::convert) fn close(self) -> Vec<u8> {
        self.0.close()
    }
}

/// Returns a string as JSON.
pub(in crate::convert) fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_string(text, &mut out);
    out
}
