//! Comparison of expected and actual text.
//!
//! `[..]` within a line matches anything; a line `...` matches any number of lines.

/// Mark that matches anything within a line.
const ANYTHING: &str = "[..]";
/// Line that matches any number of lines.
const ANY_LINES: &str = "...";

/// Returns true if the text is as expected, to the last line feed.
pub(crate) fn matches(expected: &str, actual: &str) -> bool {
    let (expected, actual): (Vec<&str>, Vec<&str>) = (lines(expected), lines(actual));
    lines_match(&expected, &actual)
}

fn lines_match(expected: &[&str], actual: &[&str]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((&ANY_LINES, rest)) => (0..=actual.len()).any(|skip| lines_match(rest, &actual[skip..])),
        Some((line, rest)) => {
            actual.first().is_some_and(|found| line_matches(line, found)) && lines_match(rest, &actual[1..])
        }
    }
}

fn line_matches(expected: &str, actual: &str) -> bool {
    let mut pieces = expected.split(ANYTHING);
    let Some(mut rest) = pieces.next().and_then(|first| actual.strip_prefix(first)) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some((_, after)) = rest.split_once(piece) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// Returns the lines with their line feeds, so that a missing line feed is a difference.
fn lines(text: &str) -> Vec<&str> {
    // A document on another system may have been checked out with carriage returns; the marks must still match.
    text.split_inclusive('\n')
        .map(|line| if line.trim_end() == ANY_LINES { ANY_LINES } else { line })
        .collect()
}

/// Returns the lines that are missing (`-`) and those that came instead (`+`), in the order of the text.
pub(crate) fn difference(expected: &str, actual: &str) -> String {
    let (expected, actual) = (lines(expected), lines(actual));
    // longest[i][j]: how many lines of expected[i..] and actual[j..] can be paired.
    let mut longest = vec![vec![0_usize; actual.len() + 1]; expected.len() + 1];
    for i in (0..expected.len()).rev() {
        for j in (0..actual.len()).rev() {
            longest[i][j] = match line_matches(expected[i], actual[j]) {
                true => longest[i + 1][j + 1] + 1,
                false => longest[i + 1][j].max(longest[i][j + 1]),
            };
        }
    }
    let mut text = String::new();
    let (mut i, mut j) = (0, 0);
    while i < expected.len() || j < actual.len() {
        let both = i < expected.len() && j < actual.len();
        if both && line_matches(expected[i], actual[j]) {
            push(&mut text, ' ', actual[j]);
            (i, j) = (i + 1, j + 1);
        } else if j == actual.len() || both && longest[i + 1][j] >= longest[i][j + 1] {
            push(&mut text, '-', expected[i]);
            i += 1;
        } else {
            push(&mut text, '+', actual[j]);
            j += 1;
        }
    }
    text
}

fn push(text: &mut String, mark: char, line: &str) {
    let (line, end) = match line.strip_suffix('\n') {
        Some(line) => (line, ""),
        None => (line, " (no line feed)"),
    };
    text.push_str(&format!("    {mark} {line}{end}\n"));
}

/// Returns the first character that acts on a terminal or changes the direction of text. Commands print none
/// but the line feed, whatever their input is.
pub(crate) fn first_unsafe(text: &str) -> Option<char> {
    let turns = |c: char| matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    text.chars().find(|&c| c != '\n' && (c.is_control() || turns(c)))
}
