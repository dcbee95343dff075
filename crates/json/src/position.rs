//! Positions in a text for error messages: line, column and JSON path of a byte offset.

use core::fmt;
use core::ops::Range;

use crate::limits::Limits;
use crate::shown::Shown;
use crate::string;

/// Returns the byte range of `part` in the `text` that it was borrowed from; `None` if it lies elsewhere.
///
/// Only the addresses are compared, and no byte is read. The range, if there is one, is always within `text`.
pub fn range_in(part: &[u8], text: &[u8]) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let end = start.checked_add(part.len())?;
    (end <= text.len()).then_some(start..end)
}

/// Position in a JSON text: line and column as an editor counts them, and the path of the enclosing value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Line, counted from 1.
    pub line: usize,
    /// Column, counted from 1, in characters; a byte that is no part of a character counts as one.
    pub column: usize,
    /// JSON path such as `$.events[3].payload`, cut if it is long. Safe to print.
    pub path: String,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {} ({})", self.line, self.column, self.path)
    }
}

impl Position {
    /// Computes the position of a byte offset; an offset beyond the text counts as its end. The text before it must be valid JSON
    /// as far as it goes, which a scan that stopped there has shown; for other text, the path is a guess.
    pub fn of(input: &[u8], offset: usize) -> Self {
        let before = &input[..offset.min(input.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        Self {
            line: 1 + before.iter().filter(|&&byte| byte == b'\n').count(),
            column: 1 + String::from_utf8_lossy(&before[line_start..]).chars().count(),
            path: json_path(input, offset),
        }
    }
}

/// Step of a JSON path; a member has no name before its name was read.
enum PathStep {
    Element(usize),
    Member(Option<String>),
}

/// Length after which a path is cut, in bytes. Longer paths help little, and a hostile text may nest names of any length.
const MAX_PATH_BYTES: usize = 120;

/// Returns the JSON path of an offset, found by a tolerant pass over the text before it.
fn json_path(input: &[u8], offset: usize) -> String {
    let mut steps: Vec<PathStep> = Vec::new();
    let mut at = 0;
    let mut name_due = false;
    // The depth is bounded here, too: a text that was refused for its size was never scanned.
    while at < offset.min(input.len()) && steps.len() <= Limits::MAX_DEPTH as usize {
        match input[at] {
            b'{' => {
                steps.push(PathStep::Member(None));
                name_due = true;
            }
            b'[' => {
                steps.push(PathStep::Element(0));
                name_due = false;
            }
            b'}' | b']' => {
                steps.pop();
                name_due = false;
            }
            b',' => match steps.last_mut() {
                Some(PathStep::Element(index)) => *index += 1,
                Some(PathStep::Member(name)) => {
                    name_due = true;
                    *name = None;
                }
                None => {}
            },
            b'"' => {
                let Ok(span) = string::scan(input, at + 1) else { break };
                if name_due && let Some(PathStep::Member(name)) = steps.last_mut() {
                    *name = Some(string::UnescapedChars::new(&input[at + 1..span.end]).take(100).collect());
                    name_due = false;
                }
                at = span.end;
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = String::from("$");
    for step in &steps {
        if path.len() > MAX_PATH_BYTES {
            path.push('…');
            break;
        }
        match step {
            PathStep::Element(index) => path.push_str(&format!("[{index}]")),
            PathStep::Member(None) => {}
            PathStep::Member(Some(name)) if is_plain(name) => path.push_str(&format!(".{name}")),
            PathStep::Member(Some(name)) => path.push_str(&format!("[\"{}\"]", Shown::new(name))),
        }
    }
    path
}

/// Returns true if a name can stand behind a point without quotes.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_a_place_only_in_their_own_text() {
        let (text, other) = (b"abcdef".to_vec(), b"abcdef".to_vec());
        assert_eq!(range_in(&text[2..4], &text), Some(2..4));
        assert_eq!(range_in(&text[6..], &text), Some(6..6));
        assert_eq!(range_in(&text, &text[..5]), None);
        assert_eq!(range_in(&text, &text[1..]), None);
        assert_eq!(range_in(&text, &other), None);
    }

    #[test]
    fn line_column_and_path() {
        let text = "{\n  \"events\": [\n    {}, {\"payload\": {\"ä b\": [1, tru]}}]}";
        let at = text.find("tru").unwrap();
        let position = Position::of(text.as_bytes(), at);
        assert_eq!(position.to_string(), "line 3, column 33 ($.events[1].payload[\"ä b\"][1])");
    }

    #[test]
    fn names_are_safe_to_print() {
        let text = "{\"\\u001b[31m\": {\"x\": ?";
        assert_eq!(Position::of(text.as_bytes(), text.len() - 1).path, "$[\"\\u{1b}[31m\"].x");
    }

    #[test]
    fn outside_of_everything() {
        assert_eq!(Position::of(b"[1] x", 4).path, "$");
        assert_eq!(Position::of(b"", 9), Position { line: 1, column: 1, path: "$".into() });
        assert_eq!(Position::of(b"\xff\xff?", 2).column, 3);
    }

    #[test]
    fn deep_paths_are_cut() {
        let text = "[".repeat(500);
        let path = Position::of(text.as_bytes(), 500).path;
        assert!(path.ends_with('…') && path.len() < MAX_PATH_BYTES + 10, "{path}");
    }
}
