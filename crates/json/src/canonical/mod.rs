//! Canonical bytes, written to a sink.
//!
//! Text that is already canonical goes through as it lies. Other text is written anew, in one of two ways:
//!
//! - `small`: in one walk, each object as it stands, its members then moved into order. Needs room for the whole result.
//! - `large`: one more scan tells which objects are out of order, then a walk writes each member in its turn. Needs four
//!   bytes for each member of an object in disorder, whatever the size of the text.

mod jcs;
mod large;
mod small;

use crate::digest::{Digest, Hasher};
use crate::number::NumberFault;
use crate::shown::Shown;
use crate::string;
use crate::value::{Kind, Value};

pub use crate::number::Integers;
pub use jcs::Jcs;

/// Something that takes canonical bytes, piece by piece.
pub trait Sink {
    /// Takes the next piece.
    fn put(&mut self, bytes: &[u8]);
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn put(&mut self, bytes: &[u8]) {
        (**self).put(bytes);
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Why a value that is good JSON has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalFault {
    /// A number without canonical text. `literal` is cut when it is long.
    #[error("the number {literal} at {path} {fault}")]
    Number {
        /// Where it stands, as a JSON path from the value that was to be written.
        path: String,
        /// The number as it stands in the text.
        literal: String,
        /// What is wrong with it.
        fault: NumberFault,
    },
    /// A time that the form writes in UTC, and that UTC cannot express. `text` is cut when it is long.
    #[error("the time \"{}\" at {path} lies outside the years 1 to 9999 in UTC", Shown::new(.text))]
    Time {
        /// Where it stands, as a JSON path from the value that was to be written.
        path: String,
        /// The time as it is written.
        text: String,
    },
    /// A list that the form sorts, of which the text is longer than any that can be read.
    #[error("the list up to {path} is too large to be sorted")]
    TooLarge {
        /// The element that is too much.
        path: String,
    },
}

/// A canonical form: one text for each value that has one.
///
/// There is no such thing as *the* canonical form of JSON: each format that hashes JSON says how, and they differ in the order of
/// names, the text of numbers and the escapes. A form never selects members: that is up to each format's own hash rules.
pub trait CanonicalForm: Copy {
    /// Writes the canonical text of a value. After an error, what was written is to be thrown away.
    fn write<S: Sink>(self, value: Value<'_>, out: &mut S) -> Result<(), CanonicalFault>;

    /// Returns true if the text of a value is surely its canonical text; false means only that a closer look is needed.
    fn is_own_text(self, value: Value<'_>) -> bool {
        let _ = value;
        false
    }
}

/// Writes the canonical form of a value. After an error, what was written is to be thrown away.
pub fn write<S: Sink>(value: Value<'_>, form: impl CanonicalForm, out: &mut S) -> Result<(), CanonicalFault> {
    form.write(value, out)
}

/// Up to this size the result is put together in memory.
const SMALL: usize = 1 << 20;

/// Writes the text of RFC 8785 for a value that is not canonical, without some members of the outermost object.
pub fn rewrite<S: Sink>(
    value: Value<'_>,
    integers: Integers,
    omitted: &[&str],
    out: &mut S,
) -> Result<(), CanonicalFault> {
    if value.text().len() <= SMALL {
        small::write(value, integers, omitted, out)
    } else {
        large::write(value, integers, omitted, out)
    }
}

/// The canonical form as bytes.
pub fn to_vec(value: Value<'_>, form: impl CanonicalForm) -> Result<Vec<u8>, CanonicalFault> {
    let mut out = Vec::new();
    form.write(value, &mut out)?;
    Ok(out)
}

/// What stands behind a name in an object that is put together from parts.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// A value from a document.
    Value(Value<'a>),
    /// Text of our own.
    Text(&'a str),
    /// Text of a value that is in canonical form already, by the word of whoever made it.
    Canonical(&'a [u8]),
    /// A whole number that doubles hold exactly, at most 2^53 - 1.
    Whole(u64),
    /// `true` or `false`.
    Flag(bool),
    /// `null`.
    Null,
}

/// Writes a text of our own as a canonical JSON string, quotes included.
pub fn write_string<S: Sink>(text: &str, out: &mut S) {
    string::write_text(text, out);
}

/// Writes an object of chosen members under RFC 8785. The names must be given in canonical order, each once, and need
/// no escapes: they are the constants of a format, not input.
pub fn write_object<S: Sink>(members: &[(&str, Part<'_>)], out: &mut S) -> Result<(), CanonicalFault> {
    debug_assert!(members.is_sorted_by(|(a, _), (b, _)| a.encode_utf16().lt(b.encode_utf16())));
    let mut before: &[u8] = b"{\"";
    for (name, part) in members {
        out.put(before);
        out.put(name.as_bytes());
        out.put(b"\":");
        match part {
            Part::Value(value) => Jcs.write(*value, out)?,
            Part::Text(text) => string::write_text(text, out),
            Part::Canonical(text) => out.put(text),
            Part::Whole(number) => out.put(number.to_string().as_bytes()),
            Part::Flag(flag) => out.put(if *flag { b"true" } else { b"false" }),
            Part::Null => out.put(b"null"),
        }
        before = b",\"";
    }
    out.put(if members.is_empty() { b"{}" } else { b"}" });
    Ok(())
}

/// Writes an object without some of its members under RFC 8785: canonical text as the slices around them. A value that
/// is no object has no members to leave out and is written whole.
pub fn write_without<S: Sink>(
    object: Value<'_>,
    omitted: &[&str],
    out: &mut S,
) -> Result<(), CanonicalFault> {
    if !object.is_canonical() || object.kind() != Kind::Object {
        return rewrite(object, Integers::Exact, omitted, out);
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

/// The digest of a value's canonical form. `hasher` lends its room and is left empty.
pub fn digest(
    value: Value<'_>,
    form: impl CanonicalForm,
    hasher: &mut Hasher,
) -> Result<Digest, CanonicalFault> {
    if form.is_own_text(value) {
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

    /// Texts in which everything may be out of order: a grammar of members, not of documents that someone would write.
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
                small::write(value, Integers::Exact, omitted, &mut a).unwrap();
                large::write(value, Integers::Exact, omitted, &mut b).unwrap();
                prop_assert_eq!(std::str::from_utf8(&a), std::str::from_utf8(&b));
                prop_assert!(Value::parse(&a, &Limits::default()).unwrap().is_canonical());
            }
        }
    }

    #[test]
    fn both_writers_round_integers_alike() {
        let text = br#"{"b":[9007199254740993,-18446744073709551615],"a":1.0}"#;
        let value = Value::parse(text, &Limits::default()).unwrap();
        for write in [small::write::<Vec<u8>>, large::write::<Vec<u8>>] {
            let mut out = Vec::new();
            write(value, Integers::Nearest, &[], &mut out).unwrap();
            assert_eq!(out, br#"{"a":1,"b":[9007199254740992,-18446744073709552000]}"#);
        }
    }
}
