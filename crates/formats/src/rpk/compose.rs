//! JSON put together from pieces of documents and from text of our own. The canonical writer brings it into form later.

use reenact_json::{Kind, Value};

use super::canonical;

/// An object that grows member by member.
#[derive(Debug)]
pub(super) struct Composed {
    text: Vec<u8>,
}

impl Composed {
    pub(super) fn new() -> Self {
        Self { text: b"{".to_vec() }
    }

    /// A member whose value is JSON text.
    pub(super) fn raw(&mut self, name: &str, value: &[u8]) -> &mut Self {
        self.part();
        canonical::write_text(name, &mut self.text);
        self.text.push(b':');
        self.text.extend_from_slice(value);
        self
    }

    /// A member whose value is a string.
    pub(super) fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.raw(name, &quoted(value))
    }

    /// A member as it stands in a document.
    pub(super) fn member(&mut self, name: Value<'_>, value: Value<'_>) -> &mut Self {
        self.part();
        self.text.extend_from_slice(name.text());
        self.text.push(b':');
        self.text.extend_from_slice(value.text());
        self
    }

    fn part(&mut self) {
        if self.text.len() > 1 {
            self.text.push(b',');
        }
    }

    /// The object as it would be if it were closed now.
    pub(super) fn closed(&self) -> Vec<u8> {
        let mut text = self.text.clone();
        text.push(b'}');
        text
    }

    pub(super) fn close(mut self) -> Vec<u8> {
        self.text.push(b'}');
        self.text
    }
}

/// A string as JSON.
pub(super) fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    canonical::write_text(text, &mut out);
    out
}

/// Values as a list.
pub(super) fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let mut text = b"[".to_vec();
    text.extend_from_slice(&items.join(&b','));
    text.push(b']');
    text
}

/// The top-level names of the environment that every program of the format leaves out when it writes: they say whose
/// machine it was.
const OF_THE_MACHINE: [&str; 7] = ["cwd", "pwd", "home", "user", "username", "host", "hostname"];

/// An environment without what says whose machine it was; `removed` takes the names.
pub(super) fn environment(environment: Value<'_>, removed: &mut Vec<String>) -> Vec<u8> {
    if environment.kind() != Kind::Object {
        return environment.text().to_vec();
    }
    let mut kept = Composed::new();
    for (name, value) in environment.members() {
        let spelled = name.string().unwrap_or_default();
        if OF_THE_MACHINE.contains(&spelled.trim().to_lowercase().as_str()) {
            removed.push(spelled.into_owned());
        } else {
            kept.member(name, value);
        }
    }
    kept.close()
}
