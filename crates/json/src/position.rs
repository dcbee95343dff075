//! Where in a text something stands, for people.

use core::fmt;
use core::ops::Range;

use crate::limits::Limits;
use crate::shown::Shown;
use crate::string;

/// Returns the place of a part in the text that it was borrowed from; `None` if it lies elsewhere.
///
/// Spans are compared by their addresses, and nothing is read through them: a part of another text never gives a place that is not
/// there.
pub fn range_in(part: &[u8], text: &[u8]) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let end = start.checked_add(part.len())?;
    (end <= text.len()).then_some(start..end)
}

/// A place in a JSON text: line and column as an editor counts them, and the path of the value it lies in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters; a byte that is no part of one counts as one.
    pub column: usize,
    /// Such as `$.events[3].payload`. Safe to print.
    pub path: String,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {} ({})", self.line, self.column, self.path)
    }
}

impl Position {
    /// Finds the place of a byte. The text before it must be good JSON as far as it goes, which is what a scan that
    /// stopped there has shown; of other text, the path is a guess.
    pub fn of(input: &[u8], offset: usize) -> Self {
        let before = &input[..offset.min(input.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        Self {
            line: 1 + before.iter().filter(|&&byte| byte == b'\n').count(),
            column: 1 + String::from_utf8_lossy(&before[line_start..]).chars().count(),
            path: path(input, offset),
        }
    }
}

enum Step {
    Element(usize),
    Member(Option<String>),
}

/// Longer paths say little more, and a hostile text may nest names of any length.
const LONGEST_PATH: usize = 120;

fn path(input: &[u8], offset: usize) -> String {
    let mut steps: Vec<Step> = Vec::new();
    let mut at = 0;
    let mut name_due = false;
    // Text that no scan has bounded (it may be over the limit of bytes) must not bring a step for each bracket.
    while at < offset.min(input.len()) && steps.len() <= Limits::DEEPEST as usize {
        match input[at] {
            b'{' => {
                steps.push(Step::Member(None));
                name_due = true;
            }
            b'[' => {
                steps.push(Step::Element(0));
                name_due = false;
            }
            b'}' | b']' => {
                steps.pop();
                name_due = false;
            }
            b',' => match steps.last_mut() {
                Some(Step::Element(index)) => *index += 1,
                Some(Step::Member(name)) => {
                    name_due = true;
                    *name = None;
                }
                None => {}
            },
            b'"' => {
                let Ok(span) = string::scan(input, at + 1) else { break };
                if name_due && let Some(Step::Member(name)) = steps.last_mut() {
                    *name = Some(string::Characters::new(&input[at + 1..span.end]).take(100).collect());
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
        if path.len() > LONGEST_PATH {
            path.push('…');
            break;
        }
        match step {
            Step::Element(index) => path.push_str(&format!("[{index}]")),
            Step::Member(None) => {}
            Step::Member(Some(name)) if is_plain(name) => path.push_str(&format!(".{name}")),
            Step::Member(Some(name)) => path.push_str(&format!("[\"{}\"]", Shown::new(name))),
        }
    }
    path
}

/// Whether a name can stand behind a point without quotes.
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
        assert!(path.ends_with('…') && path.len() < LONGEST_PATH + 10, "{path}");
    }
}
