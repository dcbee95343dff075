//! Check of one step's hash, as the check `step_hashes` and a replay of the steps make it.
//!
//! Start reading at [`check_step_hash`].

use core::fmt;

use reenact_formats::rpk::{HASH_PREFIX, RpkStepView};
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, Digest, Value};

use crate::report::shown_carried;

/// Way in which a step's hash holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RpkHashRule {
    /// The hash is the one that the programs of the format compute.
    Programs,
    /// The hash fits the text of the specification alone, which drops volatile members from the metadata only.
    SpecificationText,
}

/// Reason why the hash of a step does not hold. Its text is safe to print.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RpkHashFault {
    /// The element is not an object.
    NotAStep,
    /// The step has no canonical form.
    Uncomputable(CanonicalFault),
    /// The carried hash differs from the computed one.
    Hash {
        /// Carried value, in words.
        carried: String,
        /// Hash that the step should carry.
        computed: Digest,
    },
}

impl fmt::Display for RpkHashFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAStep => write!(f, "is not an object, so it has no hash"),
            Self::Uncomputable(fault) => write!(f, "hash cannot be recomputed: {fault}"),
            Self::Hash { carried, computed } => {
                write!(f, "hash is {carried}, recomputed {HASH_PREFIX}{computed}")
            }
        }
    }
}

/// Recomputes the hash of an element of `steps`, and compares it with the one that the step carries.
///
/// # Errors
///
/// [`RpkHashFault`] if the hash does not hold, or there is none to compute.
pub fn check_step_hash(step: Value<'_>, hasher: &mut Hasher) -> Result<RpkHashRule, RpkHashFault> {
    if step.kind() != reenact_json::ValueKind::Object {
        return Err(RpkHashFault::NotAStep);
    }
    let step = RpkStepView::of(step);
    let computed = step.digest(hasher);
    compare(&step, computed, hasher)
}

/// Compares the hash that a step carries with the one that was computed by the rule of the format's programs.
pub(super) fn compare(
    step: &RpkStepView<'_>,
    computed: Result<Digest, CanonicalFault>,
    hasher: &mut Hasher,
) -> Result<RpkHashRule, RpkHashFault> {
    let computed = computed.map_err(RpkHashFault::Uncomputable)?;
    if is_hash(step.hash, HASH_PREFIX, &computed) {
        return Ok(RpkHashRule::Programs);
    }
    let by_text = step.digest_by_specification(hasher);
    if by_text.is_ok_and(|by_text| is_hash(step.hash, HASH_PREFIX, &by_text)) {
        return Ok(RpkHashRule::SpecificationText);
    }
    Err(RpkHashFault::Hash { carried: shown_value(step.hash), computed })
}

/// Returns true if a carried value is `prefix` followed by the digest in hexadecimal. Compares in
/// constant time.
pub(super) fn is_hash(value: Option<Value<'_>>, prefix: &str, digest: &Digest) -> bool {
    let is_it = |text: &[u8]| text.strip_prefix(prefix.as_bytes()).is_some_and(|hex| digest.is_hex(hex));
    value.and_then(|value| value.with_string_bytes(is_it)) == Some(true)
}

/// Returns a carried value for a reason: a string shortened and escaped, anything else by its kind.
pub(super) fn shown_value(value: Option<Value<'_>>) -> String {
    match value {
        None => "missing".into(),
        Some(value) => match value.string() {
            Some(text) if text.is_empty() => "an empty string".into(),
            Some(text) => shown_carried(&text),
            None => value.kind().name().into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_json::Limits;

    fn check(text: &str) -> Result<RpkHashRule, RpkHashFault> {
        check_step_hash(Value::parse(text.as_bytes(), &Limits::default()).unwrap(), &mut Hasher::new())
    }

    /// Hash of an empty step of type `output.final`.
    const EMPTY: &str = "sha256:c541a9ca442337d90887ddab05bf18ee7ccabbf44a0ebe6ca95942a651962796";

    #[test]
    fn a_hash_holds_or_says_what_it_should_be() {
        let step = |hash: &str| {
            format!(r#"{{"type":"output.final","input":{{}},"output":{{}},"metadata":{{}}{hash}}}"#)
        };
        assert_eq!(check(&step(&format!(",\"hash\":\"{EMPTY}\""))), Ok(RpkHashRule::Programs));
        let fault = check(&step("")).unwrap_err();
        assert_eq!(fault.to_string(), format!("hash is missing, recomputed {EMPTY}"));
        let fault = check(&step(",\"hash\":7")).unwrap_err();
        assert_eq!(fault.to_string(), format!("hash is a number, recomputed {EMPTY}"));
    }

    #[test]
    fn what_is_no_step_has_no_hash() {
        assert_eq!(check("[1]"), Err(RpkHashFault::NotAStep));
        let overflow = check(r#"{"type":"output.final","input":1e999,"output":{},"metadata":{},"hash":""}"#);
        assert!(matches!(overflow, Err(RpkHashFault::Uncomputable(_))), "{overflow:?}");
    }
}
