//! Canonical forms of values, written to a sink.
//!
//! Text that is already canonical is passed on without a copy. Other text is written anew, in one of two ways:
//!
//! - `in_memory`: in one pass, each object as it stands; its members are then moved into order. Needs memory for the whole
//!   result.
//! - `streaming`: one more scan finds the objects that are out of order, then a pass writes each member in its turn. Needs four
//!   bytes for each member of an unsorted object, whatever the size of the text.
//!
//! Start reading at [`CanonicalForm`] and [`Jcs`].

mod in_memory;
mod jcs;
mod streaming;

use crate::digest::{Digest, Hasher};
use crate::number::NumberFault;
use crate::shown::Shown;
use crate::string;
use crate::value::{Value, ValueKind};

pub use crate::number::IntegerPolicy;
pub use jcs::Jcs;

/// Receiver of canonical bytes, piece by piece: a vector, a hash, an HMAC. Infallible, unlike [`std::io::Write`].
pub trait ByteSink {
    /// Takes the next bytes.
    fn put(&mut self, bytes: &[u8]);
}

impl<S: ByteSink + ?Sized> ByteSink for &mut S {
    fn put(&mut self, bytes: &[u8]) {
        (**self).put(bytes);
    }
}

impl ByteSink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Reason why a valid JSON value has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalFault {
    /// A number without canonical text.
    #[error("the number {literal} at {path} {fault}")]
    Number {
        /// JSON path of the fault, relative to the value that was to be written.
        path: String,
        /// Number as it stands in the text, cut after 60 characters.
        literal: String,
        /// Reason why the number has no canonical text.
        fault: NumberFault,
    },
    /// A time that the form writes in UTC, but that lies outside of the years that UTC text can express.
    #[error("the time \"{}\" at {path} lies outside the years 1 to 9999 in UTC", Shown::new(.text))]
    Time {
        /// JSON path of the fault, relative to the value that was to be written.
        path: String,
        /// Time as it is written; long text is cut.
        text: String,
    },
    /// A list that the form sorts, with more text than a document may have.
    #[error("the list up to {path} is too large to be sorted")]
    TooLarge {
        /// JSON path of the first element that is too much.
        path: String,
    },
}

/// Canonical form of JSON: one text for each value that has one.
///
/// JSON has no single canonical form: each format that hashes JSON defines its own, and they differ in the order of names, the
/// text of numbers and the escapes. A form never selects members: that is up to the hash rules of each format.
pub trait CanonicalForm: Copy {
    /// Writes the canonical text of a value.
    ///
    /// # Errors
    /// The [`CanonicalFault`] of a value that has no such text. The bytes written up to then must be discarded.
    fn write<S: ByteSink>(self, value: Value<'_>, out: &mut S) -> Result<(), CanonicalFault>;

    /// Returns true if the text of a value is known to be its canonical text; false means only that [`CanonicalForm::write`] must
    /// decide. The default is false.
    fn is_already_canonical(self, value: Value<'_>) -> bool {
        let _ = value;
        false
    }
}

/// Writes the canonical text of a value. The same as [`CanonicalForm::write`], for callers without the trait in scope.
///
/// # Errors
/// Those of [`CanonicalForm::write`].
pub fn write<S: ByteSink>(
    value: Value<'_>,
    form: impl CanonicalForm,
    out: &mut S,
) -> Result<(), CanonicalFault> {
    form.write(value, out)
}

/// Largest text that is rewritten in memory, in bytes; larger ones are streamed.
const MAX_IN_MEMORY_BYTES: usize = 1 << 20;

/// Writes the text of RFC 8785 for a value that is not canonical, without the members of the outermost object that `omitted`
/// names.
///
/// # Errors
/// [`CanonicalFault::Number`] for a number without canonical text under `integers`.
pub fn rewrite<S: ByteSink>(
    value: Value<'_>,
    integers: IntegerPolicy,
    omitted: &[&str],
    out: &mut S,
) -> Result<(), CanonicalFault> {
    if value.text().len() <= MAX_IN_MEMORY_BYTES {
        in_memory::write(value, integers, omitted, out)
    } else {
        streaming::write(value, integers, omitted, out)
    }
}

/// Returns the canonical text of a value.
///
/// # Errors
/// Those of [`CanonicalForm::write`].
pub fn to_vec(value: Value<'_>, form: impl CanonicalForm) -> Result<Vec<u8>, CanonicalFault> {
    let mut out = Vec::new();
    form.write(value, &mut out)?;
    Ok(out)
}

/// Value of one member for [`write_object`].
#[derive(Debug, Clone, Copy)]
pub enum ObjectPart<'a> {
    /// A value from a document, written in its canonical form.
    Value(Value<'a>),
    /// A string that did not come from a document, unescaped.
    String(&'a str),
    /// JSON text that is canonical already; this is not checked.
    Canonical(&'a [u8]),
    /// An integer that doubles represent exactly, at most 2^53 - 1.
    Integer(u64),
    /// `true` or `false`.
    Boolean(bool),
    /// `null`.
    Null,
}

/// Writes unescaped text as a canonical JSON string, quotes included.
pub fn write_string<S: ByteSink>(text: &str, out: &mut S) {
    string::write_quoted(text, out);
}

/// Writes an object of the given members under RFC 8785. The names must be in canonical order (checked in debug builds), each
/// once, and need no escapes: they are constants of a format, not input.
///
/// # Errors
/// The fault of an [`ObjectPart::Value`] that has no canonical form.
pub fn write_object<S: ByteSink>(
    members: &[(&str, ObjectPart<'_>)],
    out: &mut S,
) -> Result<(), CanonicalFault> {
    debug_assert!(members.is_sorted_by(|(a, _), (b, _)| a.encode_utf16().lt(b.encode_utf16())));
    let mut before: &[u8] = b"{\"";
    for (name, part) in members {
        out.put(before);
        out.put(name.as_bytes());
        out.put(b"\":");
        match part {
            ObjectPart::Value(value) => Jcs.write(*value, out)?,
            ObjectPart::String(text) => string::write_quoted(text, out),
            ObjectPart::Canonical(text) => out.put(text),
            ObjectPart::Integer(number) => out.put(number.to_string().as_bytes()),
            ObjectPart::Boolean(flag) => out.put(if *flag { b"true" } else { b"false" }),
            ObjectPart::Null => out.put(b"null"),
        }
        before = b",\"";
    }
    out.put(if members.is_empty() { b"{}" } else { b"}" });
    Ok(())
}

/// Writes an object under RFC 8785 without the members that `omitted` names. Canonical text is written as the slices around
/// them. A value that is no object is written whole.
///
/// # Errors
/// Those of [`rewrite`].
pub fn write_without<S: ByteSink>(
    object: Value<'_>,
    omitted: &[&str],
    out: &mut S,
) -> Result<(), CanonicalFault> {
    if !object.is_canonical() || object.kind() != ValueKind::Object {
        return rewrite(object, IntegerPolicy::Exact, omitted, out);
    }
    let mut before: &[u8] = b"{";
    for (name, value) in object.members() {
        if !omitted.iter().any(|omitted| name.is_string(omitted)) {
            out.put(before);
            out.put(name.text());
            out.put(b":");
            out.put(value.text());
            before = b",";
        }
    }
    out.put(if before == b"{" { b"{}" } else { b"}" });
    Ok(())
}

/// Returns the digest of a value's canonical text. `hasher` lends its buffer, and is empty afterwards.
///
/// # Errors
/// Those of [`CanonicalForm::write`].
pub fn digest(
    value: Value<'_>,
    form: impl CanonicalForm,
    hasher: &mut Hasher,
) -> Result<Digest, CanonicalFault> {
    if form.is_already_canonical(value) {
        return Ok(Digest::of(value.text()));
    }
    hasher.clear();
    let written = form.write(value, hasher);
    let digest = hasher.finish();
    written.map(|()| digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use proptest::prelude::*;

    /// Texts with odd spellings and members in any order.
    fn text() -> impl Strategy<Value = String> {
        let space = prop::sample::select(vec!["", "", " ", "\n    ", "\r\n\t            "]);
        let scalar =
            prop::sample::select(vec!["1.0", "-0", "\"\\u0041\"", "\"\\/\"", "null", "true", "1e2", "\"é\""]);
        let leaf = (space.clone(), scalar).prop_map(|(space, scalar)| format!("{space}{scalar}{space}"));
        leaf.prop_recursive(5, 60, 6, move |inner| {
            let name = prop::sample::select(vec![
                "a",
                "aaaaaaaa",
                "aaaaaaaab",
                "aaaaaaaac",
                "b",
                "",
                "\\u0062c",
                "é",
                "\u{FFFF}",
                "\u{10000}",
                "signature",
            ]);
            let space = space.clone();
            let member = (name, inner.clone(), space.clone());
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
                prop::collection::vec(member, 0..9).prop_map(|members| {
                    let mut seen = Vec::new();
                    let members: Vec<String> = members
                        .into_iter()
                        .filter(|(name, ..)| {
                            !seen.contains(name) && {
                                seen.push(*name);
                                true
                            }
                        })
                        .map(|(name, value, space)| format!("{space}\"{name}\"{space}:{value}"))
                        .collect();
                    format!("{{{}}}", members.join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn both_writers_agree(text in text()) {
            let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
            for omitted in [&[][..], &["signature", "b"][..]] {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                in_memory::write(value, IntegerPolicy::Exact, omitted, &mut a).unwrap();
                streaming::write(value, IntegerPolicy::Exact, omitted, &mut b).unwrap();
                prop_assert_eq!(std::str::from_utf8(&a), std::str::from_utf8(&b));
                prop_assert!(Value::parse(&a, &Limits::default()).unwrap().is_canonical());
            }
        }
    }

    #[test]
    fn both_writers_round_integers_alike() {
        let text = br#"{"b":[9007199254740993,-18446744073709551615],"a":1.0}"#;
        let value = Value::parse(text, &Limits::default()).unwrap();
        for write in [in_memory::write::<Vec<u8>>, streaming::write::<Vec<u8>>] {
            let mut out = Vec::new();
            write(value, IntegerPolicy::Nearest, &[], &mut out).unwrap();
            assert_eq!(out, br#"{"a":1,"b":[9007199254740992,-18446744073709552000]}"#);
        }
    }
}
