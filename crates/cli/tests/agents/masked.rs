//! Comparison of a text with what a record holds of it: masks stand for values that are not kept.

/// Beginning of a mask.
const MASK: &str = "[masked:";

/// Returns true if `recorded` is `sent` with values masked: every mask stands for one value, the same one wherever it stands.
pub(crate) fn is_recorded_as(sent: &str, recorded: &str) -> bool {
    matches(sent, recorded, &mut Vec::new())
}

/// Compares from the left. `values` are the masks seen so far and what they stand for.
fn matches<'t>(sent: &'t str, recorded: &'t str, values: &mut Vec<(&'t str, &'t str)>) -> bool {
    let Some(at) = recorded.find(MASK) else { return sent == recorded };
    let Some(length) = recorded[at..].find(']') else { return sent == recorded };
    let (before, mask, after) = (&recorded[..at], &recorded[at..=at + length], &recorded[at + length + 1..]);
    let Some(sent) = sent.strip_prefix(before) else { return false };
    if let Some((_, value)) = values.iter().find(|(known, _)| *known == mask) {
        return sent.strip_prefix(value).is_some_and(|rest| matches(rest, after, values));
    }
    // The value ends where the text behind the mask goes on.
    let next = after.find(MASK).map_or(after, |end| &after[..end]);
    let end = if next.is_empty() { Some(sent.len()) } else { sent.find(next) };
    let Some(end) = end.filter(|end| *end > 0) else { return false };
    values.push((mask, &sent[..end]));
    matches(&sent[end..], after, values)
}

#[test]
fn masks_stand_for_one_value_each() {
    assert!(is_recorded_as("a 123 b 123", "a [masked:x:1] b [masked:x:1]"));
    assert!(is_recorded_as("a 123 b 45", "a [masked:x:1] b [masked:y:2]"));
    assert!(is_recorded_as("plain", "plain"));
    assert!(!is_recorded_as("a 123 b 456", "a [masked:x:1] b [masked:x:1]"));
    assert!(!is_recorded_as("a 123 c", "a [masked:x:1] b"));
    assert!(!is_recorded_as("a  b", "a [masked:x:1] b"));
    assert!(!is_recorded_as("plain", "plane"));
}
