//! The two canonical forms of `.rpk`: the whole form with every member, and the stripped form without the volatile
//! ones.
//!
//! They are what CPython's `json.dumps(…, sort_keys=True, ensure_ascii=True)` writes of a document whose values were
//! normalized first, according to the names that they stand under: paths, times, line ends, floats, lists that are
//! sets. An [`RpkCanonicalWriter`] writes either form, or both at once: the checksum of a file and the hashes of its
//! steps then cost one pass. Start reading at [`RpkCanonicalWriter`].

mod canonical_writer;
mod name_class;
mod number;
mod path;
mod sorted_list;
mod text;
mod time;

pub use canonical_writer::{OpenRpkList, OpenRpkObject, RpkCanonicalWriter, RpkMemberRef};
pub use text::write_text;

use reenact_json::canonical::ByteSink;
use reenact_json::{CanonicalFault, CanonicalForm, ScannedText, Value};

/// Canonical form of checksums: every member. It is not idempotent: a path may change each time it is normalized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RpkForm;

/// Canonical form of step hashes: [`RpkForm`] without volatile members, at any depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RpkStepForm;

impl CanonicalForm for RpkForm {
    fn write<S: ByteSink>(self, value: Value<'_>, out: &mut S) -> Result<(), CanonicalFault> {
        write(value, (out, &mut RpkNullSink), (true, false)).map(|_| ())
    }
}

impl CanonicalForm for RpkStepForm {
    fn write<S: ByteSink>(self, value: Value<'_>, out: &mut S) -> Result<(), CanonicalFault> {
        write(value, (&mut RpkNullSink, out), (false, true)).map(|_| ())
    }
}

/// Writes the form of checksums; returns true if any value or order differs from the text, white space aside.
pub(crate) fn write_reporting_respelling<S: ByteSink>(
    value: Value<'_>,
    out: &mut S,
) -> Result<bool, CanonicalFault> {
    write(value, (out, &mut RpkNullSink), (true, false))
}

fn write<W: ByteSink, T: ByteSink>(
    value: Value<'_>,
    (whole, stripped): (&mut W, &mut T),
    forms: (bool, bool),
) -> Result<bool, CanonicalFault> {
    let scanned = ScannedText::rescan(value);
    let mut walk = RpkCanonicalWriter::new(&scanned, whole, stripped);
    walk.enable_forms(forms.0, forms.1);
    walk.write_value(0)?;
    Ok(walk.is_respelled())
}

/// Sink for the form that is not wanted.
struct RpkNullSink;

impl ByteSink for RpkNullSink {
    #[inline]
    fn put(&mut self, _: &[u8]) {}
}
