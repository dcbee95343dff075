//! [`KnownValueSearch`]: tells whether a text holds one of some values, in any of the spellings that masks find.

use std::sync::Arc;

use crate::RulePack;
use crate::known_values::KnownValues;
use crate::search::{self, TextLayout};

/// Search for some values and for nothing else, for a text that was masked when they were not known yet.
///
/// ```
/// use reenact_secrets::KnownValueSearch;
///
/// let mut search = KnownValueSearch::new([&b"correct/horse"[..]]);
/// assert!(search.is_in(b"q=correct%2Fhorse"));
/// assert!(search.is_in(br#"{"token":"correct\/h\u006frse"}"#));
/// assert!(!search.is_in(b"[masked:credential:1]"));
/// ```
pub struct KnownValueSearch {
    /// Pack without rules.
    pack: Arc<RulePack>,
    /// Values to search for.
    values: KnownValues,
}

impl KnownValueSearch {
    /// Creates a search for these values. Those of less than 8 bytes are ignored, as masks ignore them.
    pub fn new<'v>(values: impl IntoIterator<Item = &'v [u8]>) -> Self {
        let mut known = KnownValues::default();
        for value in values {
            known.add("known".into(), value);
        }
        Self { pack: RulePack::without_rules(), values: known }
    }

    /// Returns true if a text holds one of the values: as it is, escaped as in JSON, percent-encoded, inside base64, or
    /// over several events of a stream.
    pub fn is_in(&mut self, text: &[u8]) -> bool {
        let layout = TextLayout::of(text);
        !search::find_secrets(&self.pack, &mut self.values, text, Vec::new(), layout).is_empty()
    }
}

impl core::fmt::Debug for KnownValueSearch {
    /// Leaves the values out: debug output may reach a log.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("KnownValueSearch").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_that_masks_find_is_found_and_no_rule_is_applied() {
        let mut search = KnownValueSearch::new([&b"correct/horse battery"[..], b"short"]);
        for text in [
            "say correct/horse battery.",
            "a=1&q=correct%2Fhorse+battery",
            r#"{"text":"{\"key\":\"correct\\/horse battery\"}"}"#,
            "Y29ycmVjdC9ob3JzZSBiYXR0ZXJ5",
            "data: {\"text\":\"a correct/h\"}\n\ndata: {\"text\":\"orse battery\"}\n\n",
        ] {
            assert!(search.is_in(text.as_bytes()), "{text}");
        }
        for text in ["correct horse", "short", "password=hunter2hunter2", "postgres://app:hunter2@db/", ""] {
            assert!(!search.is_in(text.as_bytes()), "{text}");
        }
    }
}
