//! Set of the names of one archive, to refuse two that would be one file on some file system.
//!
//! Each name is kept case-folded, with its slashes as NUL, the smallest character (names have no control characters). In that
//! order the content of a folder follows the folder directly. So a file that is also the folder of another is always its
//! neighbour, and one look-up to each side finds it, however deep the paths are.

use crate::error::{PackError, shortened};
use crate::limits::{ArchiveLimit, ArchiveLimits};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

/// Set of the names of one archive. All readers and writers use it; so can a reader of a folder.
#[derive(Debug, Default)]
pub struct MemberNames {
    admitted: BTreeMap<String, AdmittedName>,
    stored_bytes: u64,
}

#[derive(Debug)]
struct AdmittedName {
    is_folder: bool,
    /// Name as written; `None` if that is the key.
    original: Option<Box<str>>,
}

impl MemberNames {
    /// Returns the number of files and folders admitted.
    pub(crate) fn count(&self) -> u64 {
        u64::try_from(self.admitted.len()).unwrap_or(u64::MAX)
    }

    /// Adds a name to the set, unless it collides with one that is there.
    ///
    /// # Errors
    /// [`PackError::Duplicate`], [`PackError::CaseCollision`] or [`PackError::FileAndFolder`] for a collision;
    /// [`PackError::Limit`] if one more name exceeds a limit.
    pub fn admit(&mut self, name: &str, folder: bool, limits: &ArchiveLimits) -> Result<(), PackError> {
        ArchiveLimit::Members.check(self.count().saturating_add(1), limits.members)?;
        let key = case_folded(name);
        let spelled = (key != name.replace('/', "\0")).then(|| Box::<str>::from(name));
        let stored = key.len() + spelled.as_ref().map_or(0, |text| text.len());
        self.stored_bytes = self.stored_bytes.saturating_add(u64::try_from(stored).unwrap_or(u64::MAX));
        ArchiveLimit::AllNameBytes.check(self.stored_bytes, limits.all_name_bytes)?;

        if let Some(seen) = self.admitted.get(&key) {
            let other = original_name(&key, seen);
            return Err(if other != name {
                PackError::CaseCollision {
                    name: shortened(name.as_bytes()),
                    other: shortened(other.as_bytes()),
                }
            } else if seen.is_folder == folder {
                PackError::Duplicate { name: shortened(name.as_bytes()) }
            } else {
                PackError::FileAndFolder {
                    file: shortened(name.as_bytes()),
                    inside: shortened(name.as_bytes()),
                }
            });
        }
        if let Some((before, seen)) =
            self.admitted.range::<str, _>((Unbounded, Excluded(key.as_str()))).next_back()
            && !seen.is_folder
            && is_inside(&key, before)
        {
            let file = shortened(original_name(before, seen).as_bytes());
            return Err(PackError::FileAndFolder { file, inside: shortened(name.as_bytes()) });
        }
        if let Some((after, seen)) = self.admitted.range::<str, _>((Excluded(key.as_str()), Unbounded)).next()
            && !folder
            && is_inside(after, &key)
        {
            let inside = shortened(original_name(after, seen).as_bytes());
            return Err(PackError::FileAndFolder { file: shortened(name.as_bytes()), inside });
        }
        self.admitted.insert(key, AdmittedName { is_folder: folder, original: spelled });
        Ok(())
    }
}

/// Returns the name as written.
fn original_name(key: &str, seen: &AdmittedName) -> String {
    seen.original.as_ref().map_or_else(|| key.replace('\0', "/"), |name| name.to_string())
}

/// Returns true if the member with that key is inside the folder with the other key.
fn is_inside(key: &str, folder: &str) -> bool {
    key.strip_prefix(folder).is_some_and(|rest| rest.starts_with('\0'))
}

/// Returns the case-folded name, with slashes as NUL. Lower, upper and lower again: systems disagree on the case in which they
/// compare, and some letters (ſ, ẞ, the Kelvin sign) become equal only on the way.
fn case_folded(name: &str) -> String {
    let mut key = String::with_capacity(name.len());
    for c in name.chars() {
        if c == '/' {
            key.push('\0');
        } else if c.is_ascii() {
            key.push(c.to_ascii_lowercase());
        } else {
            key.extend(c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase));
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(names: &[&str]) -> Result<(), PackError> {
        let mut seen = MemberNames::default();
        for name in names {
            let file = name.strip_suffix('/');
            seen.admit(file.unwrap_or(name), file.is_some(), &ArchiveLimits::default())?;
        }
        Ok(())
    }

    fn collision(name: &str, other: &str) -> Result<(), PackError> {
        Err(PackError::CaseCollision { name: name.to_owned(), other: other.to_owned() })
    }

    fn nested(file: &str, inside: &str) -> Result<(), PackError> {
        Err(PackError::FileAndFolder { file: file.to_owned(), inside: inside.to_owned() })
    }

    #[test]
    fn the_same_name_by_case() {
        assert_eq!(admit(&["a", "b", "a"]), Err(PackError::Duplicate { name: "a".to_owned() }));
        assert_eq!(admit(&["a/b", "A/b"]), collision("A/b", "a/b"));
        assert_eq!(admit(&["Straße", "STRASSE"]), collision("STRASSE", "Straße"));
        assert_eq!(admit(&["ẞ", "ß"]), collision("ß", "ẞ"));
        assert_eq!(admit(&["\u{212a}", "k"]), collision("k", "\u{212a}"));
        assert_eq!(admit(&["ſ", "s"]), collision("s", "ſ"));
        assert_eq!(admit(&["É", "é"]), collision("é", "É"));
        assert_eq!(admit(&["e", "é", "a-b", "a/b", "a.b", "a b"]), Ok(()));
    }

    #[test]
    fn a_file_is_no_folder() {
        assert_eq!(admit(&["a", "a/b"]), nested("a", "a/b"));
        assert_eq!(admit(&["a/b", "a"]), nested("a", "a/b"));
        assert_eq!(admit(&["a/b/c/d", "a-", "a!", "A/B"]), nested("A/B", "a/b/c/d"));
        assert_eq!(admit(&["x/a", "x/a/b/c"]), nested("x/a", "x/a/b/c"));
        assert_eq!(admit(&["a/", "a"]), nested("a", "a"));
        assert_eq!(admit(&["a", "a/b/"]), nested("a", "a/b"));
        assert_eq!(admit(&["a/", "a/b", "a/c/", "a/c/d", "ab", "a!"]), Ok(()));
    }

    #[test]
    fn all_names_together_are_bounded() {
        let limits = ArchiveLimits { all_name_bytes: 10, members: 3, ..ArchiveLimits::default() };
        let mut names = MemberNames::default();
        assert_eq!(names.admit("aaaaa", false, &limits), Ok(()));
        let over = PackError::Limit { limit: ArchiveLimit::AllNameBytes, max: 10, member: None };
        assert_eq!(names.admit("bbbbbb", false, &limits), Err(over));
        let mut names = MemberNames::default();
        for name in ["a", "b", "c"] {
            assert_eq!(names.admit(name, false, &limits), Ok(()));
        }
        let over = PackError::Limit { limit: ArchiveLimit::Members, max: 3, member: None };
        assert_eq!(names.admit("d", false, &limits), Err(over));
    }
}
