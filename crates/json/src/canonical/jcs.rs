//! RFC 8785, the JSON Canonicalization Scheme.

use super::{CanonicalFault, CanonicalForm, Integers, Sink, rewrite};
use crate::value::Value;

/// RFC 8785: names by UTF-16 code units, numbers as ECMAScript prints them, minimal escapes. Integers that doubles cannot hold are
/// refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jcs;

impl CanonicalForm for Jcs {
    fn write<S: Sink>(self, value: Value<'_>, out: &mut S) -> Result<(), CanonicalFault> {
        if value.is_canonical() {
            out.put(value.text());
            return Ok(());
        }
        rewrite(value, Integers::Exact, &[], out)
    }

    fn is_own_text(self, value: Value<'_>) -> bool {
        value.is_canonical()
    }
}
