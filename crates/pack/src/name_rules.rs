//! Rules for member names: a relative path that means the same on every system and cannot leave its folder.

use crate::error::{PackError, shortened};
use crate::limits::ArchiveLimit;
use crate::rules::ArchiveRules;

/// Reason why a member name is not safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameFault {
    /// The empty name.
    #[error("it is empty")]
    Empty,
    /// A slash at the beginning.
    #[error("it is absolute")]
    Absolute,
    /// `a//b`, or a slash at the end of a file's name.
    #[error("it has an empty segment")]
    EmptySegment,
    /// A segment that is `.` or `..`.
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

/// Returns the first fault of a member name; `None` if the name is safe. All readers and writers use this; so can a reader of a
/// list of names.
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

/// Checks the bytes of a name from a tar header or a zip entry and returns the name to use. The name of a folder loses its
/// trailing slash; the folder `./` is the root of the archive and has no name: `None`.
///
/// # Errors
/// [`PackError::UnsafeName`], or [`PackError::Limit`] for a name that is too long.
pub(crate) fn parse_name(
    raw: &[u8],
    folder: bool,
    strip_dot_slash: bool,
    rules: &ArchiveRules,
) -> Result<Option<String>, PackError> {
    let unsafe_name = |fault| PackError::UnsafeName { name: shortened(raw), fault };
    let length = u64::try_from(raw.len()).unwrap_or(u64::MAX);
    ArchiveLimit::NameBytes
        .check(length, rules.limits.name_bytes)
        .map_err(|e| e.in_member(&shortened(raw)))?;
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
        let rules = ArchiveRules::default();
        assert_eq!(parse_name(b"./a/b", false, true, &rules), Ok(Some("a/b".to_owned())));
        assert_eq!(parse_name(b"./", true, true, &rules), Ok(None));
        assert_eq!(parse_name(b"./a/", true, true, &rules), Ok(Some("a".to_owned())));
        let refused = |name: &str, fault| Err(PackError::UnsafeName { name: name.to_owned(), fault });
        assert_eq!(parse_name(b"././a", false, true, &rules), refused("././a", NameFault::DotSegment));
        assert_eq!(parse_name(b"./a", false, false, &rules), refused("./a", NameFault::DotSegment));
        assert_eq!(parse_name(b"./", true, false, &rules), refused("./", NameFault::DotSegment));
        assert_eq!(parse_name(b"./", false, true, &rules), refused("./", NameFault::Empty));
        assert_eq!(parse_name(b".//a", false, true, &rules), refused(".//a", NameFault::Absolute));
    }
}
