//! Paths of forms, such as `$.input[].type=mcp`: what a refusal prints, and what an envelope allows.
//!
//! A path names a member at each step; `[]` stands for all elements of a list. `=TEXT` at the end is the text of a `type` or a
//! `role`. A name or text that is not made of letters, digits, `_`, `-` and `.` alone is quoted, so that it cannot imitate
//! another path.

use core::fmt::Write;

use reenact_json::{Shown, Value};

/// Longest path, in bytes. A longer path is cut, and cannot be allowed.
const MAX_PATH_BYTES: usize = 300;

/// Step from a value into it.
#[derive(Debug, Clone, Copy)]
pub(super) enum FormStep<'a> {
    /// Member of an object, by its name.
    Member(Value<'a>),
    /// Any element of a list.
    Element,
}

/// Path of a form, as text.
pub(super) struct FormPath {
    /// Text that is safe to print.
    pub(super) text: String,
    /// True if the text is only the beginning of the path.
    pub(super) is_cut: bool,
}

/// Returns the path of a value, or with `tag` that of a member with a text that is not known.
pub(super) fn form_path(steps: &[FormStep<'_>], tag: Option<(&str, Option<Value<'_>>)>) -> FormPath {
    let mut text = String::from("$");
    for step in steps {
        match step {
            FormStep::Element => text.push_str("[]"),
            FormStep::Member(name) => {
                let name = name.string().unwrap_or_default();
                if is_plain(&name, false) {
                    text.push('.');
                    text.push_str(&name);
                } else {
                    text.push('[');
                    push_quoted(&name, &mut text);
                    text.push(']');
                }
            }
        }
        if text.len() > MAX_PATH_BYTES {
            break;
        }
    }
    if let Some((tag, found)) = tag {
        text.push('.');
        text.push_str(tag);
        let found = found.map(|found| found.string().unwrap_or_else(|| found.kind().name().into()));
        text.push('=');
        match found.as_deref() {
            Some(word) if is_plain(word, true) => text.push_str(word),
            Some(word) => push_quoted(word, &mut text),
            None => {}
        }
    }
    let is_cut = text.len() > MAX_PATH_BYTES;
    if is_cut {
        text.truncate(text.floor_char_boundary(MAX_PATH_BYTES));
        text.push('…');
    }
    FormPath { text, is_cut }
}

/// Returns true for a text that needs no quotes.
fn is_plain(text: &str, may_have_dots: bool) -> bool {
    let is_plain = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || may_have_dots && byte == b'.'
    };
    !text.is_empty() && text.bytes().all(is_plain)
}

/// Appends a text in quotes, cut if it is long. Quotes in the text are escaped as other unsafe characters are.
fn push_quoted(text: &str, out: &mut String) {
    let shown = Shown::new(text).to_string().replace('\'', "\\u{27}");
    // Writing to a string cannot fail.
    let _ = write!(out, "'{shown}'");
}
