//! Parts of one JSON document: a secret may be cut over two strings, as over two parts of a message's content.
//!
//! Strings at the same path, whatever their positions in lists, are the parts of one text: those at `messages[].content[].text`
//! and others. They are joined only where the cut may go through a word, and only near it. Like the walk over a stream, this
//! reads what is no strict JSON, too. Start reading at [`for_each_joined`].

use super::event_walker::{combine_hashes, hash_bytes, string_end};
use crate::escape;
use crate::mapped_text::MappedText;
use core::ops::Range;
use memchr::memmem;
use std::collections::HashMap;

/// Largest depth; deeper objects and lists count as parts of the one at this depth.
const MAX_DEPTH: usize = 64;
/// Bytes of a part that are joined at either end of it. The longest token of a rule is shorter.
const MAX_EDGE_BYTES: usize = 20 << 10;

/// Returns true if a text begins like a JSON object or list.
pub(crate) fn is_document(text: &[u8]) -> bool {
    matches!(text.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// Calls `each` with every text that is joined from at least two parts.
pub(crate) fn for_each_joined(text: &[u8], each: &mut impl FnMut(&MappedText)) {
    let mut reading = MappedText::default();
    for parts in parts_by_path(text) {
        reading.clear();
        let mut is_joined = false;
        for pair in parts.windows(2) {
            let [one, two] = pair else { continue };
            if !is_cut(text, one, two) {
                is_joined = false;
                continue;
            }
            if !is_joined {
                reading.push_separator();
                push_edge(text, one.end.saturating_sub(MAX_EDGE_BYTES).max(one.start)..one.end, &mut reading);
            }
            if two.len() > 2 * MAX_EDGE_BYTES {
                push_edge(text, two.start..two.start + MAX_EDGE_BYTES, &mut reading);
                reading.push_separator();
                push_edge(text, two.end - MAX_EDGE_BYTES..two.end, &mut reading);
            } else {
                push_edge(text, two.clone(), &mut reading);
            }
            is_joined = true;
        }
        if !reading.text.is_empty() {
            each(&reading);
        }
    }
}

/// Appends a part, or one end of it, with its escapes decoded.
fn push_edge(text: &[u8], span: Range<usize>, reading: &mut MappedText) {
    escape::unescape_into(text.get(span.clone()).unwrap_or_default(), span.start, reading);
}

/// Returns true if the cut between two parts may go through a secret: through a word, or through a private key.
fn is_cut(text: &[u8], one: &Range<usize>, two: &Range<usize>) -> bool {
    let (one, two) = (text.get(one.clone()).unwrap_or_default(), text.get(two.clone()).unwrap_or_default());
    let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    // A line break is written `\n`.
    let ends_line = matches!(one, [.., b'\\', b'n' | b'r' | b't']);
    (is_word(one.last()) && is_word(two.first()) && !ends_line) || memmem::rfind(one, b"-----BEGIN").is_some()
}

/// Object or list that is open.
struct OpenNode {
    is_list: bool,
    /// Hash of the names that lead here; positions in lists are left out.
    path_hash: u64,
    /// In an object: hash of the name that was read last.
    member: u64,
    /// True behind the colon of a member.
    awaits_value: bool,
}

/// Returns the strings of a document that stand at the same path, for each path with two or more of them.
fn parts_by_path(text: &[u8]) -> Vec<Vec<Range<usize>>> {
    let mut groups: Vec<Vec<Range<usize>>> = Vec::new();
    let mut by_path: HashMap<u64, usize> = HashMap::new();
    let mut open: Vec<OpenNode> = Vec::new();
    let mut skipped_depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at += 1;
        let value_path = open.last().map_or(0, |node| match node.is_list {
            true => node.path_hash,
            false => combine_hashes(node.path_hash, node.member),
        });
        match byte {
            b'"' => {
                let end = string_end(text, at);
                match open.last_mut() {
                    Some(node) if !node.is_list && !node.awaits_value => {
                        node.member = hash_bytes(text.get(at..end).unwrap_or_default());
                    }
                    _ => {
                        let next = groups.len();
                        let group = *by_path.entry(value_path).or_insert(next);
                        if group == next {
                            groups.push(Vec::new());
                        }
                        // An empty string is no part of anything.
                        if let Some(group) = groups.get_mut(group).filter(|_| end > at) {
                            group.push(at..end);
                        }
                    }
                }
                at = end + 1;
            }
            b'{' | b'[' if open.len() < MAX_DEPTH => {
                let is_list = *byte == b'[';
                let path_hash = combine_hashes(value_path, u64::from(is_list));
                open.push(OpenNode { is_list, path_hash, member: 0, awaits_value: false });
            }
            b'{' | b'[' => skipped_depth += 1,
            b'}' | b']' if skipped_depth > 0 => skipped_depth -= 1,
            b'}' | b']' => {
                open.pop();
            }
            b':' | b',' => {
                if let Some(node) = open.last_mut() {
                    node.awaits_value = *byte == b':';
                }
            }
            _ => {}
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for_each_joined(text.as_bytes(), &mut |reading| {
            found.push(String::from_utf8_lossy(&reading.text).replace('\0', "|"));
        });
        found
    }

    #[test]
    fn parts_of_one_path_are_joined_where_a_word_may_be_cut() {
        let text = r#"{"a":[{"t":"one gh","x":"y"},{"t":"p_\u0031"},{"t":"2 two."},{"t":" three"},{"b":{"t":"q"}}]}"#;
        assert_eq!(joined(text), ["|one ghp_12 two."]);
        assert_eq!(joined(r#"["ab","cd",["ef"],["gh"]]"#), ["|abcd", "|efgh"]);
        assert_eq!(joined(r#"{"a":["line\n","next"],"b":["x ","y"],"c":["","z",""]}"#), Vec::<String>::new());
    }

    #[test]
    fn of_long_parts_the_ends_are_joined() {
        let long = "x".repeat(3 * MAX_EDGE_BYTES);
        let found = joined(&format!(r#"["{long}","{long}","{long}"]"#));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].len(), 5 * MAX_EDGE_BYTES + 3 - MAX_EDGE_BYTES + MAX_EDGE_BYTES);
    }
}
