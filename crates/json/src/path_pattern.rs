//! Patterns of JSON paths: places in documents, by member names and positions.
//!
//! ```text
//! $.metadata.user_id         one member
//! $.input[*].id              a member of each element
//! $.system[2].text           one element
//! $..cache_control           a member of this name, at any depth
//! $["x-turn"]                a name with other characters than letters, digits, `_` and `-`
//! ```
//!
//! A walk over a document carries a [`PathProgress`] down, so that no path is ever written as text. Start reading at
//! [`PathPatterns`].

use core::fmt;
use core::str::FromStr;

use crate::limits::Limits;
use crate::value::Value;

/// Longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1024;

/// Pattern of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
    steps: Vec<PatternStep>,
}

/// Step of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternStep {
    /// Member of this name.
    Member(String),
    /// Member of this name, here or at any depth below.
    MemberAnywhere(String),
    /// Element at this position.
    Element(usize),
    /// Any element.
    AnyElement,
}

/// Reason for which a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is no path: {problem}; paths look like $.metadata.user_id, $.input[*].id or $..cache_control",
    crate::Shown::whole(text)
)]
pub struct PathPatternError {
    /// The text.
    pub text: String,
    /// Fault of the text.
    pub problem: &'static str,
}

impl FromStr for PathPattern {
    type Err = PathPatternError;

    fn from_str(text: &str) -> Result<Self, PathPatternError> {
        let steps =
            parse_steps(text).map_err(|problem| PathPatternError { text: text.to_owned(), problem })?;
        Ok(Self { text: text.to_owned(), steps })
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Parses the steps of a pattern.
fn parse_steps(text: &str) -> Result<Vec<PatternStep>, &'static str> {
    if text.len() > MAX_PATTERN_BYTES {
        return Err("it is too long");
    }
    let mut rest = text.strip_prefix('$').ok_or("it does not begin with `$`")?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, behind) = if let Some(behind) = rest.strip_prefix("..") {
            let (name, behind) = split_name(behind)?;
            (PatternStep::MemberAnywhere(name.to_owned()), behind)
        } else if let Some(behind) = rest.strip_prefix('.') {
            let (name, behind) = split_name(behind)?;
            (PatternStep::Member(name.to_owned()), behind)
        } else if let Some(behind) = rest.strip_prefix("[*]") {
            (PatternStep::AnyElement, behind)
        } else if let Some(quoted) = rest.strip_prefix("[\"") {
            let end = quoted.find("\"]").ok_or("a bracket is not closed")?;
            let name = Value::parse(format!("\"{}\"", &quoted[..end]).as_bytes(), &Limits::default())
                .ok()
                .and_then(|name| Some(name.string()?.into_owned()))
                .ok_or("a name in brackets is no JSON string")?;
            (PatternStep::Member(name), &quoted[end + 2..])
        } else if let Some(behind) = rest.strip_prefix('[') {
            let (index, behind) = behind.split_once(']').ok_or("a bracket is not closed")?;
            let is_number = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
            let index = index.parse().ok().filter(|_| is_number);
            (PatternStep::Element(index.ok_or("brackets hold a number, `*` or a name in quotes")?), behind)
        } else {
            return Err("a step begins with `.`, `..` or `[`");
        };
        steps.push(step);
        rest = behind;
    }
    Ok(steps)
}

/// Returns the plain name at the beginning of a text, and the rest.
fn split_name(text: &str) -> Result<(&str, &str), &'static str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let end = text.find(|c| !is_plain(c)).unwrap_or(text.len());
    if end == 0 { Err("a name is missing") } else { Ok(text.split_at(end)) }
}

/// Patterns that are looked for in one walk over a document.
#[derive(Debug, Clone, Default)]
pub struct PathPatterns {
    patterns: Vec<PathPattern>,
}

/// Steps that the way from the root to a value has taken, of each pattern that it may still fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathProgress {
    /// Index of a pattern, and number of its steps taken.
    open: Vec<(usize, usize)>,
}

impl PathProgress {
    /// Returns true if no pattern fits the place or anything below it.
    pub fn is_over(&self) -> bool {
        self.open.is_empty()
    }
}

impl PathPatterns {
    /// Takes patterns; those that fit are told by their position.
    pub fn new(patterns: Vec<PathPattern>) -> Self {
        Self { patterns }
    }

    /// Returns the progress at the root of a document.
    pub fn at_root(&self) -> PathProgress {
        PathProgress { open: (0..self.patterns.len()).map(|pattern| (pattern, 0)).collect() }
    }

    /// Returns the progress at a member of the object that `progress` stands at.
    pub fn at_member(&self, progress: &PathProgress, name: &str) -> PathProgress {
        self.advance(progress, |step| match step {
            PatternStep::Member(due) => (due == name, false),
            PatternStep::MemberAnywhere(due) => (due == name, true),
            PatternStep::Element(_) | PatternStep::AnyElement => (false, false),
        })
    }

    /// Returns the progress at an element of the array that `progress` stands at.
    pub fn at_element(&self, progress: &PathProgress, index: usize) -> PathProgress {
        self.advance(progress, |step| match step {
            PatternStep::Element(due) => (*due == index, false),
            PatternStep::AnyElement => (true, false),
            PatternStep::MemberAnywhere(_) => (false, true),
            PatternStep::Member(_) => (false, false),
        })
    }

    /// Takes one step down. `fits` says whether a step fits here, and whether it may fit further down.
    fn advance(&self, progress: &PathProgress, fits: impl Fn(&PatternStep) -> (bool, bool)) -> PathProgress {
        let mut open = Vec::new();
        for &(pattern, taken) in &progress.open {
            let Some(step) = self.patterns.get(pattern).and_then(|pattern| pattern.steps.get(taken)) else {
                continue;
            };
            let (is_here, may_be_below) = fits(step);
            if is_here {
                open.push((pattern, taken + 1));
            }
            if may_be_below {
                open.push((pattern, taken));
            }
        }
        PathProgress { open }
    }

    /// Returns the positions of the patterns that fit the place that `progress` stands at.
    pub fn matches<'p>(&'p self, progress: &'p PathProgress) -> impl Iterator<Item = usize> + 'p {
        let is_whole = |(pattern, taken): &&(usize, usize)| {
            self.patterns.get(*pattern).is_some_and(|pattern| pattern.steps.len() == *taken)
        };
        progress.open.iter().filter(is_whole).map(|(pattern, _)| *pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the texts of all values that a pattern fits, in document order.
    fn found(pattern: &str, document: &str) -> Vec<String> {
        let patterns = PathPatterns::new(vec![pattern.parse().unwrap()]);
        let mut texts = Vec::new();
        let value = Value::parse(document.as_bytes(), &Limits::default()).unwrap();
        walk(&patterns, &patterns.at_root(), value, &mut texts);
        texts
    }

    fn walk(patterns: &PathPatterns, progress: &PathProgress, value: Value<'_>, texts: &mut Vec<String>) {
        if patterns.matches(progress).next().is_some() {
            texts.push(String::from_utf8_lossy(value.text()).into_owned());
        }
        for (name, member) in value.members() {
            walk(patterns, &patterns.at_member(progress, &name.string().unwrap()), member, texts);
        }
        for (index, element) in value.elements().enumerate() {
            walk(patterns, &patterns.at_element(progress, index), element, texts);
        }
    }

    const DOCUMENT: &str =
        r#"{"a":{"id":1},"list":[{"id":2},{"id":3,"deep":{"id":4}}],"x-y":5,"o.k":6,"id":7}"#;

    #[test]
    fn places() {
        for (pattern, expected) in [
            ("$", vec![DOCUMENT]),
            ("$.a.id", vec!["1"]),
            ("$.list[*].id", vec!["2", "3"]),
            ("$.list[1].id", vec!["3"]),
            ("$..id", vec!["1", "2", "3", "4", "7"]),
            ("$.list..id", vec!["2", "3", "4"]),
            ("$..deep.id", vec!["4"]),
            ("$.x-y", vec!["5"]),
            ("$[\"o.k\"]", vec!["6"]),
            ("$.list[2].id", vec![]),
            ("$.none", vec![]),
            ("$[*]", vec![]),
        ] {
            assert_eq!(found(pattern, DOCUMENT), expected, "{pattern}");
        }
    }

    #[test]
    fn texts_that_are_no_paths() {
        for (text, problem) in [
            ("", "it does not begin with `$`"),
            ("metadata", "it does not begin with `$`"),
            ("$metadata", "a step begins with `.`, `..` or `[`"),
            ("$.", "a name is missing"),
            ("$.a..", "a name is missing"),
            ("$.a[", "a bracket is not closed"),
            ("$.a[x]", "brackets hold a number, `*` or a name in quotes"),
            ("$.a[-1]", "brackets hold a number, `*` or a name in quotes"),
            ("$.a[]", "brackets hold a number, `*` or a name in quotes"),
            ("$[\"a]", "a bracket is not closed"),
            ("$.ä", "a name is missing"),
        ] {
            let error = text.parse::<PathPattern>().unwrap_err();
            assert_eq!((error.text.as_str(), error.problem), (text, problem));
        }
        assert!("$.a".repeat(1000).parse::<PathPattern>().is_err());
    }
}
