//! The two canonical forms of `.rpk`: with every member, and without the volatile ones.
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

pub use text::write_text;
pub use walk::{Found, List, Object, Walk};

use reenact_json::canonical::Sink;
use reenact_json::{CanonicalFault, CanonicalForm, Scanned, Value};

/// Canonical form of checksums: every member. It is not idempotent: paths may change each time they are brought into form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RpkForm;

/// Canonical form of step hashes: [`RpkForm`] without volatile members, at any depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RpkStepForm;

impl CanonicalForm for RpkForm {
    fn write<S: Sink>(self, value: Value<'_>, out: &mut S) -> Result<(), CanonicalFault> {
        write(value, (out, &mut Nowhere), (true, false)).map(|_| ())
    }
}

impl CanonicalForm for RpkStepForm {
    fn write<S: Sink>(self, value: Value<'_>, out: &mut S) -> Result<(), CanonicalFault> {
        write(value, (&mut Nowhere, out), (false, true)).map(|_| ())
    }
}

/// Writes the form of checksums; returns true if any value or order was another than in the text, white space aside.
pub(crate) fn write_noting<S: Sink>(value: Value<'_>, out: &mut S) -> Result<bool, CanonicalFault> {
    write(value, (out, &mut Nowhere), (true, false))
}

fn write<W: Sink, T: Sink>(
    value: Value<'_>,
    (whole, stripped): (&mut W, &mut T),
    forms: (bool, bool),
) -> Result<bool, CanonicalFault> {
    let scanned = Scanned::of(value);
    let mut walk = Walk::new(&scanned, whole, stripped);
    walk.turn(forms.0, forms.1);
    walk.value(0)?;
    Ok(walk.is_respelled())
}

/// A sink for the form that nobody asked for.
struct Nowhere;

impl Sink for Nowhere {
    #[inline]
    fn put(&mut self, _: &[u8]) {}
}
