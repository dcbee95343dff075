//! Unlikeness of two requests: the measure by which the closest recorded request is chosen.
//!
//! Of several requests that differ from an incoming one in one value each, the one is meant whose value is most like the
//! incoming value. A leaf therefore counts by the share of its text that differs. Start reading at [`text_unlikeness`].

use std::collections::HashMap;

/// Unlikeness of a leaf that only one side has, or of which nothing is the same.
pub(crate) const WHOLE_LEAF: u64 = 1_000;

/// Longest part of a text whose words are compared, in bytes. The rest counts as different.
const MAX_WORD_BYTES: usize = 4 << 10;

/// Returns the share of two different texts that is not the same, from 1 to [`WHOLE_LEAF`].
///
/// The same beginning and the same end count byte for byte; between them, words that both have count wherever they stand.
pub(crate) fn text_unlikeness(recorded: &str, requested: &str) -> u64 {
    let (recorded, requested) = (recorded.as_bytes(), requested.as_bytes());
    let front = recorded.iter().zip(requested).take_while(|(a, b)| a == b).count();
    let (recorded_rest, requested_rest) =
        (recorded.get(front..).unwrap_or_default(), requested.get(front..).unwrap_or_default());
    let back =
        recorded_rest.iter().rev().zip(requested_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let middle = |rest: &'_ [u8]| rest.len().saturating_sub(back).min(MAX_WORD_BYTES);
    let words = shared_word_bytes(
        recorded_rest.get(..middle(recorded_rest)).unwrap_or_default(),
        requested_rest.get(..middle(requested_rest)).unwrap_or_default(),
    );
    let (shared, total) = (2 * (front + back + words), recorded.len() + requested.len());
    let shared = (shared as u64 * WHOLE_LEAF).checked_div(total as u64).unwrap_or_default();
    WHOLE_LEAF.saturating_sub(shared).max(1)
}

/// Returns the length of all words that both texts have, each as often as both have it.
fn shared_word_bytes(recorded: &[u8], requested: &[u8]) -> usize {
    let mut counts: HashMap<&[u8], usize> = HashMap::new();
    words(recorded).for_each(|word| *counts.entry(word).or_default() += 1);
    let mut shared = 0;
    for word in words(requested) {
        if let Some(count) = counts.get_mut(word).filter(|count| **count > 0) {
            *count -= 1;
            shared += word.len();
        }
    }
    shared
}

/// Returns the words of a text: runs of letters, digits and bytes beyond ASCII.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    text.split(move |byte| !is_part(byte)).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_that_differs_counts() {
        for (recorded, requested, unlikeness) in [
            ("1", "2", 1_000),
            ("", "all", 1_000),
            ("now: 10:31", "now: 10:32", 100),
            ("uuid: 1f", "time: 1f", 500),
            ("a b c d", "d c b a", 143 * 3),
            (&"x".repeat(5_000), &("x".repeat(5_000) + "y"), 1),
        ] {
            assert_eq!(text_unlikeness(recorded, requested), unlikeness, "{recorded} {requested}");
        }
    }

    #[test]
    fn bytes_that_begin_a_character_alike_are_no_panic() {
        assert_eq!(text_unlikeness("é", "è"), 500);
    }

    #[test]
    fn words_count_as_often_as_both_have_them() {
        assert_eq!(shared_word_bytes(b"one two two", b"two three two two"), 6);
    }
}
