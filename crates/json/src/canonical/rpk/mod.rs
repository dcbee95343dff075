//! The two forms of `.rpk`: with every member, and without the volatile ones.
//!
//! They are what CPython's `json.dumps(…, sort_keys=True, ensure_ascii=True)` writes of a document whose values were brought
//! into one spelling first, by the names that they stand under: paths, times, line ends, floats, lists that are sets. A
//! [`Walk`] writes either form, or both at once: the checksum of a file and the hashes of its steps then cost one walk.

mod list;
mod name;
mod number;
mod path;
mod text;
mod time;
mod walk;

pub use walk::{Found, List, Object, Walk};

use super::{CanonicalFault, Sink};
use crate::scanner::Disorder;
use crate::value::Value;

/// A sink for the form that nobody asked for.
#[derive(Debug, Default)]
pub struct Nowhere;

impl Sink for Nowhere {
    #[inline]
    fn put(&mut self, _: &[u8]) {}
}

/// Which of the two forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// With every member.
    Whole,
    /// Without volatile members.
    Stripped,
}

pub(super) fn write<S: Sink>(value: Value<'_>, form: Form, out: &mut S) -> Result<(), CanonicalFault> {
    // The text was scanned before and cannot fail now.
    let mut scanner = value.rescan().noting_disorder();
    let _ = scanner.value();
    let disorder = scanner.into_disorder();
    match form {
        Form::Whole => all(value, &disorder, out, &mut Nowhere, (true, false)),
        Form::Stripped => all(value, &disorder, &mut Nowhere, out, (false, true)),
    }
}

fn all<W: Sink, T: Sink>(
    value: Value<'_>,
    disorder: &Disorder,
    whole: &mut W,
    stripped: &mut T,
    forms: (bool, bool),
) -> Result<(), CanonicalFault> {
    let mut walk = Walk::new(value.text(), disorder, whole, stripped);
    walk.turn(forms.0, forms.1);
    walk.value(0).map(|_| ())
}

/// Writes text of ours as a string of these forms.
pub fn write_text<S: Sink>(text: &str, out: &mut S) {
    text::write_text(text, out);
}
