//! What a member may be called: a relative path that means the same on every system and cannot leave its folder.

use crate::error::{PackError, quoted};
use crate::limits::Limit;
use crate::rules::Rules;

/// Why a name is not safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameFault {
    /// Nothing.
    #[error("it is empty")]
    Empty,
    /// Begins with a slash.
    #[error("it is absolute")]
    Absolute,
    /// `a//b`, or a slash at the end of a file's name.
    #[error("it has an empty segment")]
    EmptySegment,
    /// `.` or `..` between slashes.
    #[error("it has a segment that is `.` or `..`")]
    DotSegment,
    /// A backslash: a separator on some systems, a character on others.
    #[error("it contains a backslash")]
    Backslash,
    /// A colon in the first segment: a drive letter or a scheme.
    #[error("it has a colon in its first segment")]
    Colon,
    /// NUL, newline, escape and other control characters.
    #[error("it contains a control character")]
    Control,
    /// Bytes that are not UTF-8, or that a zip does not declare as UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
}

/// What is wrong with a member name, if anything. The readers and writers all use this; so can a reader of a list of names.
#[must_use]
pub fn name_fault(name: &str) -> Option<NameFault> {
    if name.is_empty() {
        return Some(NameFault::Empty);
    }
    if name.chars().any(char::is_control) {
        return Some(NameFault::Control);
    }
    if name.contains('\\') {
        return Some(NameFault::Backslash);
    }
    if name.starts_with('/') {
        return Some(NameFault::Absolute);
    }
    for (at, segment) in name.split('/').enumerate() {
        match segment {
            "" => return Some(NameFault::EmptySegment),
            "." | ".." => return Some(NameFault::DotSegment),
            _ if at == 0 && segment.contains(':') => return Some(NameFault::Colon),
            _ => {}
        }
    }
    None
}

/// A name as it is used, from the bytes in a tar header or a zip entry. A folder's name loses its trailing slash; the
/// folder `./` is the archive's root and has no name: `None`.
pub(crate) fn accepted(
    raw: &[u8],
    folder: bool,
    strip_dot_slash: bool,
    rules: &Rules,
) -> Result<Option<String>, PackError> {
    let unsafe_name = |fault| PackError::UnsafeName { name: quoted(raw), fault };
    let length = u64::try_from(raw.len()).unwrap_or(u64::MAX);
    Limit::NameBytes.hold(length, rules.limits.name_bytes).map_err(|e| e.within(&quoted(raw)))?;
    let mut name = std::str::from_utf8(raw).map_err(|_| unsafe_name(NameFault::NotUtf8))?;
    if folder {
        if strip_dot_slash && (name == "./" || name == ".") {
            return Ok(None);
        }
        name = name.strip_suffix('/').unwrap_or(name);
    }
    if strip_dot_slash {
        name = name.strip_prefix("./").unwrap_or(name);
    }
    name_fault(name).map_or_else(|| Ok(Some(name.to_owned())), |fault| Err(unsafe_name(fault)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_by_name() {
        for (name, fault) in [
            ("", NameFault::Empty),
            ("/a", NameFault::Absolute),
            ("//a", NameFault::Absolute),
            ("a//b", NameFault::EmptySegment),
            ("a/", NameFault::EmptySegment),
            (".", NameFault::DotSegment),
            ("./a", NameFault::DotSegment),
            ("a/./b", NameFault::DotSegment),
            ("..", NameFault::DotSegment),
            ("a/../b", NameFault::DotSegment),
            ("a/..", NameFault::DotSegment),
            ("a\\b", NameFault::Backslash),
            ("..\\b", NameFault::Backslash),
            ("C:", NameFault::Colon),
            ("C:/a", NameFault::Colon),
            ("file:a/b", NameFault::Colon),
            ("a\0b", NameFault::Control),
            ("a\nb", NameFault::Control),
            ("a\u{1b}[31m", NameFault::Control),
            ("a\u{7f}", NameFault::Control),
            ("a\u{85}", NameFault::Control),
        ] {
            assert_eq!(name_fault(name), Some(fault), "{name:?}");
        }
        for name in ["a", "a/b", "a..b", "...", ".a", "a.", "files/a:b", "é", "a b", "~"] {
            assert_eq!(name_fault(name), None, "{name:?}");
        }
    }

    #[test]
    fn one_dot_slash_is_stripped_where_asked() {
        let rules = Rules::default();
        assert_eq!(accepted(b"./a/b", false, true, &rules), Ok(Some("a/b".to_owned())));
        assert_eq!(accepted(b"./", true, true, &rules), Ok(None));
        assert_eq!(accepted(b"./a/", true, true, &rules), Ok(Some("a".to_owned())));
        let refused = |name: &str, fault| Err(PackError::UnsafeName { name: name.to_owned(), fault });
        assert_eq!(accepted(b"././a", false, true, &rules), refused("././a", NameFault::DotSegment));
        assert_eq!(accepted(b"./a", false, false, &rules), refused("./a", NameFault::DotSegment));
        assert_eq!(accepted(b"./", true, false, &rules), refused("./", NameFault::DotSegment));
        assert_eq!(accepted(b"./", false, true, &rules), refused("./", NameFault::Empty));
        assert_eq!(accepted(b".//a", false, true, &rules), refused(".//a", NameFault::Absolute));
    }
}
