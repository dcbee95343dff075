//! Builder of JSON objects from parts of documents and from text of our own. The canonical writer normalizes the
//! result later.

use reenact_json::{Value, ValueKind};

use super::canonical;

/// JSON object that grows member by member.
#[derive(Debug)]
pub(super) struct RpkObjectBuilder {
    text: Vec<u8>,
}

impl RpkObjectBuilder {
    pub(super) fn new() -> Self {
        Self { text: b"{".to_vec() }
    }

    /// Appends a member whose value is JSON text.
    pub(super) fn raw(&mut self, name: &str, value: &[u8]) -> &mut Self {
        self.put_separator();
        canonical::write_text(name, &mut self.text);
        self.text.push(b':');
        self.text.extend_from_slice(value);
        self
    }

    /// Appends a member whose value is a string.
    pub(super) fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.raw(name, &json_string(value))
    }

    /// Appends a member as it stands in a document.
    pub(super) fn member(&mut self, name: Value<'_>, value: Value<'_>) -> &mut Self {
        self.put_separator();
        self.text.extend_from_slice(name.text());
        self.text.push(b':');
        self.text.extend_from_slice(value.text());
        self
    }

    fn put_separator(&mut self) {
        if self.text.len() > 1 {
            self.text.push(b',');
        }
    }

    /// Returns the object as if it were closed now.
    pub(super) fn closed_copy(&self) -> Vec<u8> {
        let mut text = self.text.clone();
        text.push(b'}');
        text
    }

    pub(super) fn close(mut self) -> Vec<u8> {
        self.text.push(b'}');
        self.text
    }
}

/// Returns a string as JSON.
pub(super) fn json_string(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    canonical::write_text(text, &mut out);
    out
}

/// Returns values as a JSON list.
pub(super) fn json_list(items: &[Vec<u8>]) -> Vec<u8> {
    let mut text = b"[".to_vec();
    text.extend_from_slice(&items.join(&b','));
    text.push(b']');
    text
}

/// Top-level names of the environment that every program of the format leaves out when it writes: they tell whose
/// machine it was.
const MACHINE_NAMES: [&str; 7] = ["cwd", "pwd", "home", "user", "username", "host", "hostname"];

/// Returns an environment without the names that tell whose machine it was, and without those for which `is_more`
/// returns true; pushes these to `removed`. Names are compared in lower case.
pub(super) fn without_machine_names(
    environment: Value<'_>,
    is_more: impl Fn(&str) -> bool,
    removed: &mut Vec<String>,
) -> Vec<u8> {
    if environment.kind() != ValueKind::Object {
        return environment.text().to_vec();
    }
    let mut builder = RpkObjectBuilder::new();
    for (name, value) in environment.members() {
        let spelled = name.string().unwrap_or_default();
        let folded = spelled.trim().to_lowercase();
        if MACHINE_NAMES.contains(&folded.as_str()) || is_more(&folded) {
            removed.push(spelled.into_owned());
        } else {
            builder.member(name, value);
        }
    }
    builder.close()
}
