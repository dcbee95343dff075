//! RFC 8785, the JSON Canonicalization Scheme.

use super::{ByteSink, CanonicalFault, CanonicalForm, IntegerPolicy, rewrite};
use crate::value::Value;

/// RFC 8785: names sorted by UTF-16 code units, numbers as ECMAScript prints them, minimal escapes. Integers that doubles
/// cannot represent are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jcs;

impl CanonicalForm for Jcs {
    fn write<S: ByteSink>(self, value: Value<'_>, out: &mut S) -> Result<(), CanonicalFault> {
        if value.is_canonical() {
            out.put(value.text());
            return Ok(());
        }
        rewrite(value, IntegerPolicy::Exact, &[], out)
    }

    fn is_already_canonical(self, value: Value<'_>) -> bool {
        value.is_canonical()
    }
}
