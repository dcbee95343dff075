//! Long output shortened for display. Hashes are always of the whole.

use std::borrow::Cow;

/// Returns an output for display: up to 2000 characters as they are, else the first and the last 1000.
pub fn output(text: &str) -> Cow<'_, str> {
    shortened(text, 1_000)
}

/// Returns a standard stream for display: up to 10000 characters as they are, else the first and the last 5000.
pub fn stream(text: &str) -> Cow<'_, str> {
    shortened(text, 5_000)
}

/// Shortens a text to its first and last `half_chars` Unicode scalar values. A cut at a byte count could break a
/// character.
fn shortened(text: &str, half_chars: usize) -> Cow<'_, str> {
    if text.len() <= 2 * half_chars || text.chars().nth(2 * half_chars).is_none() {
        return Cow::Borrowed(text);
    }
    let offset = |found: Option<(usize, char)>| found.map_or(0, |(at, _)| at);
    let head = offset(text.char_indices().nth(half_chars));
    let tail = offset(text.char_indices().nth_back(half_chars - 1));
    Cow::Owned(format!("{}...{}", &text[..head], &text[tail..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_between_characters() {
        for character in ["a", "é", "😀"] {
            let fits = character.repeat(2_000);
            assert_eq!(output(&fits), fits);
            let long = format!("{}x{}", character.repeat(1_000), character.repeat(1_000));
            let half = character.repeat(1_000);
            assert_eq!(output(&long), format!("{half}...{half}"));
        }
        let long = format!("{}{}", "a".repeat(5_001), "z".repeat(5_000));
        assert_eq!(stream(&long), format!("{}...{}", "a".repeat(5_000), "z".repeat(5_000)));
        assert_eq!(stream(&long[1..]), &long[1..]);
    }
}
